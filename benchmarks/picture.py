"""Draws docs/images/survey.png: the built-in survey and a synthetic copy of it, side by side, at epsilon 1.

python benchmarks/picture.py
"""

import json
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")

import matplotlib.pyplot as plt

import sfumato
from sfumato.data.records import Records
from sfumato.intake.codec import SchemaCodec
from sfumato.intake.labels import labels
from sfumato.survey import simulate, survey_schema_text

REAL, SYNTHETIC = "#3b5b8c", "#d98e32"
PAIRS = (("age", "employment"), ("education", "income"))


def main() -> None:
    """Release the survey once and draw four histograms and two heat maps of each table."""
    keys = json.loads(survey_schema_text())
    survey = simulate()
    release = sfumato.fit(survey, keys, epsilon=1, delta=1e-9)
    # Rules cut bins where they begin and end to hold; bars of unequal bins would look like gaps.
    schema = sfumato.Schema.parse({key: value for key, value in keys.items() if key != "rules"})
    codec = SchemaCodec(schema)
    real, synthetic = codec.encode(survey), codec.encode(release.sample(seed=1))
    figure, axes = plt.subplots(2, 4, figsize=(13, 6.2), constrained_layout=True)
    for axis, name in zip(axes[0], ("age", "income", "health", "sector"), strict=True):
        histogram(axis, real, synthetic, name, labels(schema[name]))
    for column, (first, second) in enumerate(PAIRS):
        for side, (records, title) in enumerate(((real, "survey"), (synthetic, "synthetic"))):
            heat_map(axes[1][2 * column + side], records, first, second, title)
    axes[0][0].legend(frameon=False)
    figure.suptitle("A simulated survey of 30,000 people, and a synthetic copy with ε = 1, δ = 10⁻⁹", fontsize=13)
    path = Path(__file__).parents[1] / "docs" / "images" / "survey.png"
    figure.savefig(path, dpi=110)
    print(path)


def histogram(axis: plt.Axes, real: Records, synthetic: Records, name: str, names: list[str]) -> None:
    """Shares of each code in both tables."""
    one, two = (records.project((name,)).counts / len(records) for records in (real, synthetic))
    place = np.arange(len(one))
    axis.bar(place - 0.2, one, 0.4, color=REAL, label="survey")
    axis.bar(place + 0.2, two, 0.4, color=SYNTHETIC, label="synthetic")
    axis.set_title(name)
    few = len(names) <= 6
    axis.set_xticks(place if few else [], names if few else [], rotation=30, ha="right", fontsize=8)
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(labelsize=8)


def heat_map(axis: plt.Axes, records: Records, first: str, second: str, title: str) -> None:
    """A pair of columns; the root of the share, so small cells are seen too."""
    share = records.project((second, first)).counts / len(records)
    axis.imshow(np.sqrt(share), aspect="auto", origin="lower", cmap="magma", vmin=0, vmax=np.sqrt(0.06))
    axis.set_title(f"{title}: {first} × {second}", fontsize=10)
    axis.set_xticks([])
    axis.set_yticks([])


if __name__ == "__main__":
    main()
