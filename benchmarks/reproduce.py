"""The figures of two papers, drawn again from our own runs.

    python benchmarks/reproduce.py dpview --data FOLDER --out FOLDER
    python benchmarks/reproduce.py privsyn --data FOLDER --out FOLDER

- dpview: Lin et al., figures 7 (classification), 8 (marginals) and 9 (range queries) on Adult, Census-Income and
  KDDCup99. Accuracy is the mean of four classifiers, not of twelve.
- privsyn: Zhang et al., the figures on marginals, range queries and classification by SVM, on Adult.

Marginals are compared by total variation distance, half of the papers' L1 distance. Of the methods in the papers, those
that this version has are run. Scaled to an hour on two cores: one run on the two large sets, three on Adult. A run that
was interrupted goes on where it stopped.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

from bench.drawing import alone, chart
from bench.results import Result
from bench.runner import Plan, bench
from bench.summary import lines
from bench.systems import known_systems
from bench.writing import write

DELTA, LIMIT = "1e-9", 120.0


@dataclass(frozen=True)
class Paper:
    """What to run for one paper: data sets with their number of repeats, and which score each figure shows."""

    repeats: dict[str, int]
    methods: tuple[str, ...]
    epsilons: tuple[str, ...]
    figures: dict[str, tuple[str, ...]]


PAPERS = {
    "dpview": Paper(
        repeats={"adult": 3, "census_income": 1, "kddcup99": 1},
        methods=("dpview", "dpview+", "privsyn", "privbayes", "pgm", "resample"),
        epsilons=("0.2", "0.5", "1", "2"),
        figures={
            "figure7": ("accuracy", "decision tree", "logistic regression", "support vector machine"),
            "figure8": ("1-way", "2-way", "3-way"),
            "figure9": ("range",),
        },
    ),
    "privsyn": Paper(
        repeats={"adult": 3},
        methods=("privsyn", "dpsyn", "privbayes", "pgm", "independent", "resample"),
        epsilons=("0.2", "0.5", "1", "1.5", "2"),
        figures={"marginals": ("2-way",), "range-queries": ("range",), "classification": ("support vector machine",)},
    ),
}


def run(paper: Paper, data: Path, out: Path) -> list[Result]:
    """All runs of a paper, those that are in the results file already included."""
    methods = tuple(name for name in paper.methods if name in known_systems(None))
    found = []
    for name, repeats in paper.repeats.items():
        plan = Plan(data, (name,), methods, paper.epsilons, DELTA, repeats, LIMIT)
        found += bench(plan, out, lambda result: print(*result.key, result.status, result.message, flush=True))
    return found


def draw(paper: Paper, results: list[Result], out: Path) -> None:
    """One file for each panel of each figure."""
    table = lines(results)
    for name in paper.repeats:
        own = [line for line in table if line.set == name]
        for title, scores in paper.figures.items():
            for score in scores:
                drawing = chart(own, score)
                if drawing:
                    file = out / f"{title}-{name}-{score.replace(' ', '-')}.svg"
                    file.write_text(alone(drawing), encoding="utf-8")


def main() -> None:
    """Run what is missing, and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paper", choices=PAPERS)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    paper = PAPERS[options.paper]
    results = run(paper, options.data, options.out)
    write(results, options.out)
    draw(paper, results, options.out)


if __name__ == "__main__":
    main()
