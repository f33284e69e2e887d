"""A release that drowned in noise says so, from public facts and noisy counts alone."""

import numpy as np
import pyarrow as pa

import sfumato
from sfumato.release.expected import column_noise
from sfumato.report.card import card_of, card_report

COLUMN = {"name": "x", "type": "integer", "min": 0, "max": 99}
SCHEMA = sfumato.Schema.parse({"name": "t", "columns": [COLUMN, {"name": "y", "type": "boolean"}]})


def release_of(rows, epsilon):
    rng = np.random.default_rng(1)
    table = pa.table({"x": rng.integers(0, 99, rows), "y": rng.random(rows) < 0.5})
    return sfumato.fit(table, SCHEMA, epsilon=epsilon, method="dpview")


def test_a_drowned_release_warns_in_the_notebook_and_on_the_card(tmp_path):
    release = release_of(200, "0.05")
    assert "noise drowns" in release.warnings[0]
    assert "times as much would" in release.warnings[0]
    assert "noise drowns" in release._repr_html_()
    assert "Warning: noise drowns" in card_report(card_of(release.save(tmp_path / "r")))


def test_a_good_release_is_silent():
    assert release_of(20_000, "5").warnings == ()


def test_the_forecast_of_a_column_is_what_the_noise_does():
    """Of the noisy table of two columns, summed to one: the mean absolute noise, in rows, halved."""
    release = release_of(5_000, "1")
    forecast = column_noise(release.model.measurements, 5_000)["x"]
    (measured,) = (one for one in release.model.measurements if set(one.clique) == {"x", "y"})
    assert measured.domain.cells() == 200
    deviation = np.sqrt(measured.variance * 2)  # two cells behind each value of x
    assert forecast == np.sqrt(2 * 100 * 100 * measured.variance) * 0.8 / 10_000
    assert abs(forecast / (100 * deviation * 0.8 / 2 / 5_000) - 1) < 1e-9


def test_values_that_were_merged_because_noise_hid_them_have_drowned():
    """The tables that a method measures after merging look exact; the table of all values tells what was lost."""
    rng = np.random.default_rng(1)
    table = pa.table({"x": rng.integers(0, 99, 900), "y": rng.random(900) < 0.5})
    release = sfumato.fit(table, SCHEMA, epsilon="0.2", delta="1e-9", method="privsyn")
    sizes = {one.domain["x"] for one in release.model.measurements if "x" in one.clique}
    assert len(sizes) > 1
    assert column_noise(release.model.measurements, 900)["x"] > 0.2
    assert "x" in release.warnings[0]
