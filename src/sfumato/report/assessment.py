"""An assessment: every figure of the internal report, from real and synthetic rows. It is not private."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.data.records import Records
from sfumato.errors import DataError, MethodError
from sfumato.evaluate.classifiers import CLASSIFIERS, majority_score, scores
from sfumato.evaluate.copies import copies
from sfumato.evaluate.correlations import association_error, associations, numbers_of
from sfumato.evaluate.marginals import marginal_error, pair_errors, worst_pairs
from sfumato.evaluate.nist import matching_share
from sfumato.evaluate.ranges import random_ranges
from sfumato.evaluate.raw import RawFigures, missing_share, raw_figures
from sfumato.evaluate.rules import violations
from sfumato.intake.codec import SchemaCodec
from sfumato.release import Release
from sfumato.report.coverage import coverage
from sfumato.report.figures import (
    Assessment,
    ClassifierFigures,
    ColumnFigures,
    MissingFigures,
    PairFigures,
    ReleaseFigures,
    Rows,
    RuleFigures,
    TableErrors,
)
from sfumato.report.grouping import Floats, Grouping, grouping
from sfumato.report.spending import spending_of
from sfumato.report.staging import errors_by_stage
from sfumato.report.verdicts import (
    Alert,
    Verdict,
    missing_alert,
    model_verdict,
    raw_alerts,
    rule_alert,
    single_value_alert,
    table_verdict,
)
from sfumato.schema.schema import Schema

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Effort:
    """How much work an assessment is.

    Args:
        classifiers: names of the classifiers.
        training_rows: the most rows that each is trained and tested on.
        tables: the most three-column tables that are compared.
        queries: how many range queries are asked.
        staged_pairs: the most pairs that are followed through the stages of a release.
    """

    classifiers: tuple[str, ...]
    training_rows: int
    tables: int
    queries: int
    staged_pairs: int

    @property
    def steps(self) -> int:
        """How often `assess` reports progress: six steps, each classifier, and the stages."""
        return 7 + len(self.classifiers)


FULL = Effort(tuple(CLASSIFIERS), 10_000, 300, 1_000, 120)
FAST = Effort(("decision tree", "LightGBM", "logistic regression", "random forest"), 3_000, 100, 300, 30)

HELD_OUT = 0.3
"""The share of the real rows that no classifier learns from."""

DRAWN, PAIRED, WORST = 48, 16, 5
"""The most groups of a column in its histogram and in a pair, and how many pairs are drawn."""


def assess(
    real_table: pa.Table,
    synthetic_table: pa.Table,
    schema: Schema,
    release: Release | None = None,
    fast: bool = False,
    progress: Progress = lambda step: None,
) -> Assessment:
    """Compare a synthetic table with the real one.

    Args:
        real_table: the real rows.
        synthetic_table: the synthetic rows.
        schema: the public schema of both.
        release: where the synthetic rows came from, for its ledger and the errors of its stages.
        fast: less of everything that takes long.
        progress: called with the name of each of the steps of its effort as it starts.
    """
    progress("encode")
    codec = SchemaCodec(schema)
    real, synthetic = codec.encode(real_table), codec.encode(synthetic_table)
    for rows, whose in ((real, "real"), (synthetic, "synthetic")):
        if not len(rows):
            raise DataError(f"the {whose} table has no rows, so nothing can be compared; give a table with rows")
    effort = FAST if fast else FULL
    progress("columns")
    shares = {name: (_shares(real, name), _shares(synthetic, name)) for name in real.domain}
    columns = tuple(_column(schema, name, *both) for name, both in shares.items())
    progress("pairs")
    errors = pair_errors(real, synthetic, real.domain.names)
    worst = tuple(
        _pair(real, synthetic, schema, pair, error) for pair, error in worst_pairs(errors, real.domain.names, WORST)
    )
    progress("tables")
    tables = tuple(_table_errors(real, synthetic, k, effort) for k in (1, 2, 3) if k <= len(real.domain))
    numbers = numbers_of(schema.columns)
    association = association_error(associations(real, numbers), associations(synthetic, numbers))
    progress("ranges")
    queries = random_ranges(real.domain, _ordered(schema), effort.queries)
    # Row by row: the table over three large columns could not be written down.
    ranges = tuple((matching_share(real, query), matching_share(synthetic, query)) for query in queries)
    progress("copies")
    copied = copies(real, synthetic) if len(real) > 1 else None
    rules = _rules(real_table, synthetic_table, schema)
    classifiers = _classifiers(real, synthetic, schema, effort, progress)
    progress("stages")
    raw = raw_figures(real_table, synthetic_table, schema.columns)
    missing = _missing(real_table, synthetic_table, schema)
    return Assessment(
        name=schema.name,
        fast=fast,
        real_rows=len(real),
        synthetic_rows=len(synthetic),
        columns=columns,
        pairs=_rows(errors),
        worst_pairs=worst,
        tables=tables,
        association_error=association,
        ranges=ranges,
        range_error=float(np.mean([abs(a - b) for a, b in ranges])),
        raw=raw,
        missing=missing,
        verdicts=tuple(_verdicts(tables, raw, classifiers)),
        alerts=tuple(_alerts(shares, raw, missing, rules, release)),
        copies=copied,
        rules=rules,
        classifiers=classifiers,
        release=None if release is None else _release(real, synthetic, release, effort),
    )


def _missing(real: pa.Table, synthetic: pa.Table, schema: Schema) -> tuple[MissingFigures, ...]:
    nullable = [column for column in schema.columns if column.nullable]
    return tuple(MissingFigures(one.name, missing_share(real, one), missing_share(synthetic, one)) for one in nullable)


def _verdicts(
    tables: Sequence[TableErrors], raw: Sequence[RawFigures], classifiers: ClassifierFigures
) -> Iterator[Verdict]:
    """How good the table is for each use; a column of numbers is as bad as its values, not as its bins."""
    inside = sum(one.distance for one in raw) / max(len(raw), 1)
    for one in tables:
        if one.columns < 3:
            use, error = ("single columns", max(one.mean, inside)) if one.columns == 1 else ("crosstabs", one.mean)
            where = "in raw numbers" if error > one.mean else ""
            yield table_verdict(use, error, one.halves, where)
    if classifiers.majority is not None:
        best, reached = (
            max(score.accuracy for score in some)
            for some in (classifiers.trained_on_real, classifiers.trained_on_synthetic)
        )
        yield model_verdict(best, reached)


def _alerts(
    shares: Mapping[str, tuple[Floats, Floats]],
    raw: tuple[RawFigures, ...],
    missing: Sequence[MissingFigures],
    rules: Sequence[RuleFigures],
    release: Release | None,
) -> Iterator[Alert]:
    """What a reader would find wrong, the worst kinds first."""
    found = [rule_alert(one.rule, one.real, one.synthetic) for one in rules]
    yield from filter(None, found)
    yield from raw_alerts(raw)
    yield from filter(None, (missing_alert(one.name, one.real, one.synthetic) for one in missing))
    for name, (real, synthetic) in shares.items():
        code = int(synthetic.argmax())
        alert = single_value_alert(name, float(real[code]), float(synthetic[code]))
        if alert is not None:
            yield alert
    for warning in release.warnings if release is not None else ():
        yield Alert(warning, "plan with fewer values or columns, or with more budget")


def _shares(records: Records, *names: str) -> Floats:
    return records.project(names).counts / np.float64(len(records))


def _rows(matrix: Floats) -> Rows:
    return tuple(tuple(map(float, row)) for row in matrix)


def _ordered(schema: Schema) -> frozenset[str]:
    return frozenset(column.name for column in schema.columns if column.is_ordered)


def _column(schema: Schema, name: str, real: Floats, synthetic: Floats) -> ColumnFigures:
    column = schema[name]
    # Bars want few labels, areas have room for many.
    groups = grouping(column, real, DRAWN if column.is_ordered else 12)
    error = float(np.abs(real - synthetic).sum() / 2)
    return ColumnFigures(
        name, error, groups.labels, tuple(groups.sums(real).tolist()), tuple(groups.sums(synthetic).tolist())
    )


def _pair(real: Records, synthetic: Records, schema: Schema, pair: tuple[str, ...], error: float) -> PairFigures:
    one, two = (grouping(schema[name], _shares(real, name), PAIRED) for name in pair)
    return PairFigures(
        pair, error, (one.labels, two.labels), _grouped(real, pair, one, two), _grouped(synthetic, pair, one, two)
    )


def _grouped(records: Records, pair: tuple[str, ...], one: Grouping, two: Grouping) -> Rows:
    """The table of two columns in groups, counted row by row: it may be too large to write down in codes."""
    counts = np.zeros((len(one.labels), len(two.labels)))
    np.add.at(counts, (one.group[records[pair[0]]], two.group[records[pair[1]]]), 1)
    return _rows(counts / len(records))


def _table_errors(real: Records, synthetic: Records, columns: int, effort: Effort) -> TableErrors:
    most = effort.tables if columns == 3 else None
    found = marginal_error(real, synthetic, columns, most)
    order = np.random.default_rng(0).permutation(len(real))
    one, two = real.take(order[: len(order) // 2]), real.take(order[len(order) // 2 :])
    halves = marginal_error(one, two, columns, effort.tables).mean if len(one) else 0.0
    return TableErrors(columns, found.tables, found.mean, found.worst, found.worst_clique, halves)


def _classifiers(
    real: Records, synthetic: Records, schema: Schema, effort: Effort, progress: Progress
) -> ClassifierFigures:
    label, ordered, rows = schema.label, _ordered(schema), effort.training_rows
    if label is None:
        return ClassifierFigures(None, left_out="the schema names no label; add the key 'label' to it")
    order = np.random.default_rng(0).permutation(len(real))
    cut = round(HELD_OUT * len(real))
    # No more rows than each classifier is tested on: all of them must meet the same ones.
    test, rest = real.take(order[: min(cut, rows)]), real.take(order[cut:])
    on_real, on_synthetic = [], []
    try:
        for name in effort.classifiers:
            progress(name)
            on_real += scores(rest, test, label, ordered, (name,), rows)
            on_synthetic += scores(synthetic, test, label, ordered, (name,), rows)
    except MethodError as problem:  # too few rows, one column, or the extra is not installed: the rest still stands
        return ClassifierFigures(label, left_out=str(problem))
    return ClassifierFigures(label, majority_score(test, label), tuple(on_real), tuple(on_synthetic))


def _rules(real: pa.Table, synthetic: pa.Table, schema: Schema) -> tuple[RuleFigures, ...]:
    broken = (violations(table, schema.rules, schema.columns) for table in (real, synthetic))
    return tuple(RuleFigures(str(rule), *shares) for rule, *shares in zip(schema.rules, *broken, strict=True))


def _release(real: Records, synthetic: Records, release: Release, effort: Effort) -> ReleaseFigures:
    stages, pairs = errors_by_stage(real, synthetic, release, effort.staged_pairs)
    return ReleaseFigures(release.method, spending_of(release.ledger), stages, pairs, coverage(real, release))
