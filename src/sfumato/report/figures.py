"""The figures of the internal report, as values that are also JSON. They tell of real rows and are not private."""

from __future__ import annotations

import csv
from dataclasses import asdict, dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from sfumato.evaluate.classifiers import Score
from sfumato.evaluate.copies import Copies
from sfumato.evaluate.raw import QUANTILES, RawFigures
from sfumato.evaluate.stages import StageErrors
from sfumato.files import PRIVATE, check_new, write_new
from sfumato.report.coverage import Coverage
from sfumato.report.page import INTERNAL, framed, html_name
from sfumato.report.spending import Spending
from sfumato.report.verdicts import Alert, Verdict
from sfumato.text import json_text

Rows = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class ColumnFigures:
    """The shares of the values of one column, in groups if it has many; `error` is over all values."""

    name: str
    error: float
    labels: tuple[str, ...]
    real: tuple[float, ...]
    synthetic: tuple[float, ...]


@dataclass(frozen=True)
class TableErrors:
    """The total variation distance of all, or of some random, tables over this many columns.

    `halves` is the mean distance between two random halves of the real rows: what chance alone does.
    """

    columns: int
    tables: int
    mean: float
    worst: float
    worst_columns: tuple[str, ...]
    halves: float


@dataclass(frozen=True)
class PairFigures:
    """The shares of a table of two columns, in groups if it is large; `error` is over all cells."""

    columns: tuple[str, ...]
    error: float
    labels: tuple[tuple[str, ...], tuple[str, ...]]
    real: Rows
    synthetic: Rows


@dataclass(frozen=True)
class ClassifierFigures:
    """How well the label of held-out real rows is predicted; `left_out` says why there are no scores."""

    label: str | None
    majority: Score | None = None
    trained_on_real: tuple[Score, ...] = ()
    trained_on_synthetic: tuple[Score, ...] = ()
    left_out: str | None = None


@dataclass(frozen=True)
class RuleFigures:
    """What share of the rows break a rule of the schema."""

    rule: str
    real: float
    synthetic: float


@dataclass(frozen=True)
class ReleaseFigures:
    """What the release folder tells: method, ledger, error after each stage, and coverage of intervals.

    The last two are None where all tables are too large.
    """

    method: str
    spending: Spending
    stages: StageErrors | None
    staged_pairs: int
    intervals: Coverage | None = None


@dataclass(frozen=True)
class MissingFigures:
    """What share of the values of a column are missing."""

    name: str
    real: float
    synthetic: float


@dataclass(frozen=True)
class Assessment:
    """All figures of the internal report."""

    name: str
    fast: bool
    real_rows: int
    synthetic_rows: int
    columns: tuple[ColumnFigures, ...]
    pairs: Rows
    worst_pairs: tuple[PairFigures, ...]
    tables: tuple[TableErrors, ...]
    association_error: float
    ranges: tuple[tuple[float, float], ...]
    range_error: float
    raw: tuple[RawFigures, ...]
    missing: tuple[MissingFigures, ...]
    verdicts: tuple[Verdict, ...]
    alerts: tuple[Alert, ...]
    copies: Copies | None
    rules: tuple[RuleFigures, ...]
    classifiers: ClassifierFigures
    release: ReleaseFigures | None

    def save(self, file: str | Path) -> Path:
        """Write the report to a new .html file, for the owner alone; figures go to .json and .figures.csv beside it."""
        from sfumato.report.internal import internal_report  # which draws these figures, and so imports them

        path = html_name(Path(file))
        contents = {path: internal_report(self), path.with_suffix(".json"): json_text(self.to_dict()) + "\n"}
        contents[path.with_suffix(".figures.csv")] = self.to_csv()
        for one in contents:
            check_new(one)
        write_new(contents, PRIVATE)
        return path

    def to_csv(self) -> str:
        """The figures of all drawings of single columns and numbers, one line each, for spreadsheets."""
        text = StringIO()
        lines = csv.writer(text, lineterminator="\n")
        lines.writerow(("figure", "column", "value", "real", "synthetic"))
        for column in self.columns:
            for label, *shares in zip(column.labels, column.real, column.synthetic, strict=True):
                lines.writerow(("share", column.name, label, *shares))
        for raw in self.raw:
            lines.writerow(("mean", raw.name, "", *raw.mean))
            for share, *numbers in zip(QUANTILES, *raw.quantiles, strict=True):
                lines.writerow(("quantile", raw.name, share, *numbers))
            lines.writerows(("spike", raw.name, one.number, one.real, one.synthetic) for one in raw.spikes)
        lines.writerows(("missing", one.name, "", one.real, one.synthetic) for one in self.missing)
        return text.getvalue()

    def _repr_html_(self) -> str:
        """The report in a frame of its own, for notebooks."""
        from sfumato.report.internal import internal_report

        return framed(internal_report(self))

    def to_dict(self) -> dict[str, Any]:
        """These figures as JSON, with the stamp first."""
        return {"stamp": f"{INTERNAL.words}: {INTERNAL.reason}", **asdict(self)}
