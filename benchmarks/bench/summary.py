"""The table of a bench: means over repeats, one line for each system at each epsilon on each set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import mean

from bench.results import Result
from sfumato.text import one_line

ERRORS = ("1-way", "2-way", "3-way", "range")
SCORES = (*ERRORS, "accuracy")


@dataclass(frozen=True)
class Line:
    """What is known of one system at one epsilon on one set: the ends of all its runs.

    Args:
        set: the data set.
        method: the system.
        epsilon: its budget; empty for a system without one.
        runs: all its runs, done or not.
    """

    set: str
    method: str
    epsilon: str
    runs: tuple[Result, ...]

    @property
    def done(self) -> list[Result]:
        """The runs with scores."""
        return [run for run in self.runs if run.status == "done"]

    def values(self, figure: str) -> list[float]:
        """One figure of all runs that have it."""
        return [run.figures[figure] for run in self.runs if figure in run.figures]

    def mean(self, figure: str) -> float | None:
        """The mean over runs, or None if no run has it."""
        values = self.values(figure)
        return mean(values) if values else None

    @property
    def notes(self) -> str:
        """Why runs have no scores, each reason once."""
        troubles = dict.fromkeys((run.status, run.message) for run in self.runs if run.status != "done")
        return "; ".join(f"{status}: {message}" for status, message in troubles)


def lines(results: Iterable[Result]) -> list[Line]:
    """Sorted by set and epsilon, and inside by two-way error, best first; systems without scores come last."""

    def place(result: Result) -> tuple[str, float, str]:
        return result.key.set, float(result.key.epsilon or "inf"), result.key.method

    found = [
        Line(name, method, group[0].key.epsilon, tuple(group))
        for (name, _, method), runs in groupby(sorted(results, key=place), place)
        if (group := list(runs))
    ]
    return sorted(found, key=lambda line: (line.set, float(line.epsilon or "inf"), _rank(line), line.method))


def _rank(line: Line) -> float:
    error = line.mean("2-way")
    return float("inf") if error is None else error


HEADS = ("set", "ε", "method", "runs", *ERRORS, "accuracy", "2-way spread", "CPU s", "GB", "notes")


def cells(line: Line) -> list[str]:
    """The texts of one line of the table: means; the spread is largest minus smallest; memory is the largest."""

    def number(value: float | None, digits: int) -> str:
        return "" if value is None else f"{value:.{digits}f}"

    pairs, memory = line.values("2-way"), line.values("peak_gigabytes")
    costs = [number(line.mean("cpu_seconds"), 1), number(max(memory, default=None), 2)]
    spread = number(max(pairs) - min(pairs), 4) if len(pairs) > 1 else ""
    runs = f"{len(line.done)}/{len(line.runs)}"
    scores = [number(line.mean(figure), 4) for figure in SCORES]
    return [line.set, line.epsilon, line.method, runs, *scores, spread, *costs, line.notes]


def markdown(table: Sequence[Line]) -> str:
    """The table for a text file."""
    rows = [HEADS, ["---"] * len(HEADS), *map(cells, table)]
    return "".join("| " + " | ".join(one_line(cell).replace("|", "/") for cell in row) + " |\n" for row in rows)
