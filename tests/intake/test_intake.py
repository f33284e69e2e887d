"""The way in: what happens to one row depends on that row alone, and nothing but declared facts comes out.

Each test is a leak that was found in an earlier version: one row told itself apart from none with certainty.
"""

import io
import json
import traceback
from datetime import datetime
from decimal import Decimal

import pandas
import polars
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import sfumato
from helpers_intake import codes_of
from sfumato.errors import DataError, SchemaError
from sfumato.schema.schema import Schema

# Types that may have been guessed are warned of; here they are the point.
pytestmark = pytest.mark.filterwarnings("ignore::sfumato.errors.IntakeWarning")


def schema_of(*columns, **keys):
    named = [{"name": "x"} | column for column in columns]
    return Schema.parse({"name": "t", "columns": named, **keys})


LABELS = {"type": "categorical", "categories": ["1", "2", "B20"]}
WHOLE = {"type": "integer", "min": 0, "max": 9, "nullable": True}
CSV = "x\n" + "1\n2\n" * 50


def pandas_csv(text):
    return pandas.read_csv(io.StringIO(text))


def polars_csv(text):
    return polars.read_csv(text.encode(), infer_schema_length=None)


def column(values, **more):
    return pandas.DataFrame({"x": pandas.Series(values, **more)})


class TestTypes:
    """Finding 1: column types in release.json depended on one value."""

    @pytest.mark.parametrize(
        ("without", "with_one", "keys"),
        [
            (pandas_csv(CSV), pandas_csv(CSV + "B20\n"), LABELS),
            (
                polars.read_csv(CSV.encode()),
                polars.read_csv((CSV + "B20\n").encode(), infer_schema_length=None),
                LABELS,
            ),
            (pa.Table.from_pandas(column([1, 2])), pa.Table.from_pandas(column([1, 2, None])), WHOLE),
            (
                column([None, None], dtype=object),
                column([None, None, True], dtype=object),
                {"type": "boolean", "nullable": True},
            ),
            (column([None, None]), column([None, None, 3]), WHOLE),
            (column([1, 2], dtype="category"), column([1, 2, "B20"], dtype="category"), LABELS),
            (column([1, 2], dtype="int8"), column([1, 300_000], dtype="int32"), WHOLE | {"max": 300_000}),
        ],
        ids=["read_csv", "polars", "missing", "truth", "nothing", "category", "downcast"],
    )
    def test_what_is_published_does_not_depend_on_a_type_that_was_inferred(self, tmp_path, without, with_one, keys):
        schema = schema_of(keys)
        described = []
        for name, data in (("without", without), ("with", with_one)):
            sfumato.fit(data, schema, epsilon=1, method="dpview").save(tmp_path / name, rows=3)
            record = json.loads((tmp_path / name / "release.json").read_text())
            described.append({key: value for key, value in record.items() if key not in ("estimated_rows", "sample")})
            assert {"types", "kind"}.isdisjoint(record)
        assert described[0] == described[1]


class TestRows:
    """Finding 2: one row changed the codes of everybody else."""

    @pytest.mark.parametrize(
        ("values", "more", "keys"),
        [
            ([Decimal(1), Decimal(2)], Decimal("0.5"), LABELS | {"other": "?"}),
            ([1, 2], Decimal("5.50"), LABELS | {"other": "?"}),
            ([1, 2], "B20", LABELS),
            ([True, False], "maybe", {"type": "categorical", "categories": ["True", "False", "maybe"]}),
        ],
    )
    def test_an_object_column_is_read_value_by_value(self, values, more, keys):
        schema = schema_of(keys)
        before = codes_of(column(values, dtype=object), schema)
        assert codes_of(column([*values, more], dtype=object), schema)[:-1] == before

    @pytest.mark.parametrize(
        ("values", "more", "keys"),
        [
            (
                [9007199254740993, 9007199254740995],
                None,
                {"type": "categorical", "categories": ["9007199254740993", "9007199254740995"], "nullable": True},
            ),
            (
                [2**53 + 1, 2**53 + 3],
                None,
                {"type": "integer", "min": 0, "max": 2**54, "edges": [0, 2**53 + 2, 2**54], "nullable": True},
            ),
            (
                [datetime(2020, 1, 1), datetime(2020, 1, 2)],
                pandas.Timestamp("2020-01-03T00:00:00.000000001"),
                {"type": "categorical", "categories": ["2020-01-01 00:00:00", "2020-01-02 00:00:00"], "other": "?"},
            ),
        ],
        ids=["labels of sixteen digits", "numbers of sixteen digits", "moments as labels"],
    )
    def test_what_one_more_value_would_spoil_is_treated_alike_with_and_without_it(self, values, more, keys):
        for some in (values, [*values, more]):
            if isinstance(values[0], datetime):  # no moment is a label: all of them are collected
                assert {code for (code,) in codes_of(column(some), schema_of(keys))} == {len(keys["categories"])}
            else:
                with pytest.raises(DataError, match=r"2\^53.* as text"):
                    codes_of(column(some), schema_of(keys))

    def test_codes_with_leading_zeros_cannot_be_read_from_numbers(self):
        schema = schema_of({"type": "categorical", "categories": ["01067", "01069", "SW1A"], "other": "?"})
        text = "x\n01067\n01069\n"
        with pytest.raises(DataError, match="no leading or closing zeros"):
            codes_of(pandas_csv(text), schema)
        safe = pandas.read_csv(io.StringIO(text), dtype=str)
        assert codes_of(safe, schema) == [[0], [1]]

    def test_a_quote_in_one_line_of_a_file_swallows_no_other_line(self, tmp_path):
        schema = schema_of(LABELS | {"other": "?"}, {"name": "y"} | LABELS | {"other": "?"}, on_bad_value="other")
        path = tmp_path / "t.csv"
        path.write_text("x,y\n1,1\n2,1\n2,2\n")
        before = codes_of(path, schema)
        for line in ('5","B20', '"', '"1","2', '1,"2'):
            path.write_text(f"x,y\n{line}\n1,1\n2,1\n2,2\n")
            assert codes_of(path, schema)[-3:] == before


class TestPersons:
    """Finding 3: rows without an identifier counted as one person."""

    SCHEMA = schema_of({"type": "categorical", "categories": ["a", "b"]}, unit={"rows": 1, "column": "id"})

    @pytest.mark.parametrize("blank", ["", " ", "\t ", "\u00a0"])
    def test_blank_identifiers_are_refused_in_every_format(self, tmp_path, blank):
        table = pa.table({"id": [blank, "p1", "p2"], "x": ["a", "b", "b"]})
        parquet.write_table(table, tmp_path / "t.parquet")
        (tmp_path / "t.csv").write_text(f"id,x\n{blank},a\np1,b\np2,b\n")
        frames = [tmp_path / "t.csv", tmp_path / "t.parquet", table, table.to_pandas(), polars.from_arrow(table)]
        frames.append(table.to_pandas().astype(object))
        frames.append(table.to_pandas().astype("category"))
        for data in frames:
            with pytest.raises(DataError, match="'id' identifies persons"):
                codes_of(data, self.SCHEMA)

    @pytest.mark.parametrize("missing", [None, float("nan"), pandas.NA, pandas.NaT])
    def test_missing_identifiers_are_refused(self, missing):
        data = pandas.DataFrame({"id": pandas.Series([missing, 1, 2], dtype=object), "x": ["a", "b", "b"]})
        with pytest.raises(DataError, match="'id' identifies persons"):
            codes_of(data, self.SCHEMA)
        with pytest.raises(DataError, match="'id' identifies persons"):
            codes_of(data.assign(id=[None, 1, 2]), self.SCHEMA)

    def test_who_is_one_person_does_not_depend_on_how_numbers_are_kept(self):
        rows = {"x": ["a", "b", "a", "b"]}
        for ids in ([1, 1, 2, 3], [1.0, 1.0, 2.0, 3.0], ["1", "1", "2", "3"], [1, 1.0, "2", Decimal(3)]):
            data = pandas.DataFrame({"id": pandas.Series(ids), **rows})
            assert codes_of(data, self.SCHEMA) == [[0], [0], [1]]

    def test_numbers_that_floats_cannot_tell_apart_are_no_identifiers(self):
        for ids in ([2**53, 2**53 + 1], [2.0**53, 2.0**53 + 2], [float("inf"), 1.0]):
            with pytest.raises(DataError, match="'id' identifies persons"):
                codes_of(pandas.DataFrame({"id": ids, "x": ["a", "b"]}), self.SCHEMA)
        exact = pa.table({"id": [2**53, 2**53 + 1], "x": ["a", "b"]})  # typed, and never turned into floats
        assert codes_of(exact, self.SCHEMA) == [[0], [1]]


class TestObserved:
    """Finding 7: other words for "observed" did not count as such."""

    @pytest.mark.parametrize("word", ["Observed", " observed", "OBSERVED", "observed, rounded outward"])
    def test_every_spelling_of_observed_must_be_accepted_and_is_named_in_the_guarantee(self, word):
        schema = schema_of(LABELS | {"domain_from": word})
        table = pa.table({"x": ["1", "2"]})
        with pytest.raises(SchemaError, match="domain of x was observed"):
            sfumato.fit(table, schema, epsilon=1, method="dpview")
        release = sfumato.fit(table, schema.accepting(["x"], "me", "known"), epsilon=1, method="dpview")
        assert "except that the domain of x was read from the data" in release.ledger.sentence()
        assert release.schema.to_dict()["columns"][0]["domain_from"] == "observed"

    @pytest.mark.parametrize("word", ["seen in the data", "not observed", ""])
    def test_other_words_are_refused(self, word):
        with pytest.raises(SchemaError, match="'declared', 'codebook', 'known' or 'observed'"):
            schema_of(LABELS | {"domain_from": word})


class TestExceptions:
    """Finding 13: the context of an exception quoted values."""

    SECRET = "QX4711XQ"

    @pytest.mark.parametrize(
        ("keys", "text"),
        [
            ({"type": "date", "min": "2020-01-01", "max": "2020-12-31"}, SECRET),
            ({"type": "date", "min": "2020-01-01", "max": "2020-12-31", "format": "%d.%m.%Y"}, SECRET),
            ({"type": "number", "min": 0, "max": 1}, SECRET),
            ({"type": "integer", "min": 0, "max": 1}, SECRET),
            (LABELS, SECRET),
            (LABELS, f"{SECRET},{SECRET}"),
        ],
    )
    def test_an_error_holds_no_value_anywhere(self, tmp_path, keys, text):
        path = tmp_path / "t.csv"
        path.write_text(f"x\n{text}\n")
        with pytest.raises(DataError) as caught:
            codes_of(path, schema_of(keys))
        error = caught.value
        assert error.__cause__ is None
        assert error.__context__ is None
        for frame, _ in traceback.walk_tb(error.__traceback__):
            if "sfumato" in frame.f_code.co_filename and "tests" not in frame.f_code.co_filename:
                assert self.SECRET not in str(frame.f_locals)


def test_the_number_of_rows_cannot_be_published_by_accident():
    """Finding 13: `rows` of the schema was published as it stood."""
    schema = schema_of(LABELS, rows=48_842, splits={"train": [0, 48_842]})
    release = sfumato.fit(pa.table({"x": ["1", "2"]}), schema, epsilon=1, method="dpview")
    for published in (schema.to_dict(), release.schema.to_dict(), release.description(), release.ledger.to_dict()):
        assert "48842" not in json.dumps(published)
    with pytest.raises(SchemaError, match="50000"):
        schema_of(LABELS, rows_guess=48_842)
    assert schema_of(LABELS, rows_guess=50_000).rows_guess == 50_000
