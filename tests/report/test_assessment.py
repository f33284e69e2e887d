import json

import numpy as np
import pyarrow as pa
import pytest

from sfumato.errors import DataError, MethodError
from sfumato.evaluate.classifiers import Score
from sfumato.evaluate.marginals import total_variation
from sfumato.fitting import fit
from sfumato.intake.codec import SchemaCodec
from sfumato.report import assessment
from sfumato.report.assessment import FAST, FULL, assess
from sfumato.schema.schema import Schema
from sfumato.survey import simulate, survey_schema_text


@pytest.fixture(scope="module")
def survey():
    """Schema, two halves of a small survey, and the survey itself."""
    schema = Schema.parse(json.loads(survey_schema_text()))
    table = simulate(rows=600)
    return schema, table.slice(0, 300), table.slice(300), table


@pytest.fixture
def no_training(monkeypatch):
    """Classifiers that only tell their names."""
    asked = []

    def scores(train, test, label, ordered, classifiers, rows):
        asked.append((classifiers[0], len(train), len(test)))
        return [Score(classifiers[0], 0.5, 0.5, 0.5)]

    monkeypatch.setattr(assessment, "scores", scores)
    return asked


def test_the_figures_are_those_of_the_tables(survey, no_training):
    schema, real, synthetic, _ = survey
    found = assess(real, synthetic, schema, fast=True)
    assert [one.name for one in found.columns] == list(schema.names)
    real, synthetic = (SchemaCodec(schema).encode(one) for one in (real, synthetic))
    names = real.domain.names
    for i in (0, 3):
        assert (
            found.pairs[i][i]
            == found.columns[i].error
            == pytest.approx(total_variation(real, synthetic, names[i : i + 1]))
        )
        assert found.pairs[i][5] == found.pairs[5][i] == total_variation(real, synthetic, (names[i], names[5]))
    upper = [found.pairs[i][j] for i in range(len(names)) for j in range(i)]
    assert [pair.error for pair in found.worst_pairs] == sorted(upper, reverse=True)[:5]
    assert found.tables[1].mean == pytest.approx(np.mean(upper))
    for pair in found.worst_pairs:
        assert np.sum(pair.real) == pytest.approx(1)
        assert np.sum(pair.synthetic) == pytest.approx(1)
    assert found.range_error == pytest.approx(np.mean([abs(a - b) for a, b in found.ranges]))


def test_equal_tables_have_no_error(survey, no_training):
    schema, real, _, _ = survey
    found = assess(real, real, schema, fast=True)
    assert found.tables[2].worst == found.range_error == found.association_error == np.max(found.pairs) == 0
    assert found.copies.whole.rows == 1


def test_fast_asks_less(survey, no_training):
    schema, real, synthetic, _ = survey
    steps = []
    fast = assess(real, synthetic, schema, fast=True, progress=steps.append)
    assert len(steps) == FAST.steps
    assert [name for name, *_ in no_training] == [name for name in FAST.classifiers for _ in range(2)]
    assert {(train, test) for _, train, test in no_training} == {(210, 90), (300, 90)}  # rows that were held out
    no_training.clear()
    full = assess(real, synthetic, schema)
    assert len(no_training) == 2 * len(FULL.classifiers) == 24
    assert len(fast.ranges) < len(full.ranges)


def test_everything_is_json(survey, no_training):
    schema, real, synthetic, _ = survey
    figures = json.loads(json.dumps(assess(real, synthetic, schema, fast=True).to_dict()))
    assert next(iter(figures)) == "stamp"
    assert "INTERNAL, NOT PRIVATE" in figures["stamp"]


def test_a_release_adds_its_ledger_and_its_stages(survey, no_training):
    schema, real, synthetic, table = survey
    release = fit(table, schema, epsilon="5", delta="1e-6")
    found = assess(real, synthetic, schema, release, fast=True).release
    assert found.method == "auto"
    assert found.spending.spent == pytest.approx(float(release.ledger.spent))
    assert found.stages.synthesis > 0
    assert 0 < found.staged_pairs <= FAST.staged_pairs


def test_stages_of_a_release_that_recodes_columns_as_one(no_training):
    binary = {"type": "categorical", "categories": ["no", "yes"]}
    columns = [{"name": name, **binary} for name in ("a", "b", "c")]
    recode = [{"name": "a and b", "columns": ["a", "b"]}]
    schema = Schema.parse({"name": "recoded", "columns": columns, "recode": recode})
    table = pa.table({name: ["no", "yes", "yes", "no"] * 100 for name in "abc"})
    release = fit(table, schema, epsilon="50", delta="1e-6")
    found = assess(table, release.sample_arrow(seed=1), schema, release, fast=True).release
    assert found.staged_pairs == 1  # of the attributes "a and b" and "c"
    assert found.stages.synthesis < 0.1


def test_classifiers_are_left_out_with_a_reason(survey, monkeypatch):
    schema, real, synthetic, _ = survey
    without = schema.model_copy(update={"label": None})
    assert "label" in assess(real, synthetic, without, fast=True).classifiers.left_out

    def scores(*_):
        raise MethodError("classifiers need scikit-learn, which is not installed; install sfumato[evaluate]")

    monkeypatch.setattr(assessment, "scores", scores)
    found = assess(real, synthetic, schema, fast=True).classifiers
    assert "sfumato[evaluate]" in found.left_out
    assert found.majority is None


def test_a_table_without_rows_is_refused(survey):
    schema, real, _, _ = survey
    empty = real.slice(0, 0)
    for pair, whose in (((empty, real), "real"), ((real, empty), "synthetic")):
        with pytest.raises(DataError, match=f"the {whose} table has no rows"):
            assess(*pair, schema)


def test_one_column_and_one_row():
    schema = Schema.parse({"name": "one", "columns": [{"name": "sex", "type": "boolean"}], "label": "sex"})
    one = pa.table({"sex": [True]})
    found = assess(one, one, schema, fast=True)
    assert found.worst_pairs == ()
    assert found.copies is None
    assert found.classifiers.left_out


def test_rules_are_counted_on_values(no_training):
    rule = {"less_or_equal": ["low", "high"]}
    bins = {"type": "integer", "min": 0, "max": 9, "bins": 2}
    columns = [{"name": "low", **bins}, {"name": "high", **bins}]
    schema = Schema.parse({"name": "pairs", "columns": columns, "rules": [rule]})
    real = pa.table({"low": [1, 2, 3, 4], "high": [1, 3, 4, 4]})
    synthetic = pa.table({"low": [2, 2, 3, 4], "high": [1, 3, 4, 4]})  # broken inside a bin
    found = assess(real, synthetic, schema, fast=True)
    assert [(one.rule, one.real, one.synthetic) for one in found.rules] == [("low <= high", 0, 0.25)]


def test_rules_are_counted_on_dates_of_a_format(no_training):
    day = {"type": "date", "min": "2024-01-01", "max": "2024-12-31", "format": "%d.%m.%Y"}
    columns = [{"name": "start", **day}, {"name": "end", **day}]
    schema = Schema.parse({"name": "stays", "columns": columns, "rules": [{"less_or_equal": ["start", "end"]}]})
    table = pa.table({"start": ["03.01.2024", "05.02.2024"], "end": ["04.01.2024", "25.01.2024"]})
    found = assess(table, table, schema, fast=True)
    assert [(one.real, one.synthetic) for one in found.rules] == [(0.5, 0.5)]
