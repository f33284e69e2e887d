"""Bad values: each has the place that the schema gives it, or the schema is refused before a row is read."""

import gzip

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import sfumato
from helpers_intake import codes_of
from sfumato.errors import DataError, IntakeWarning, SchemaError
from sfumato.fitting import open_ledger
from sfumato.job import Job, recipe_of
from sfumato.privacy.budget import PureDP
from sfumato.schema.schema import Schema

LABELS = {"type": "categorical", "categories": ["a", "b"]}
TRUTH = {"type": "boolean"}
WHOLE = {"type": "integer", "min": 0, "max": 9}
REAL = {"type": "number", "min": 0, "max": 1, "bins": 4}
DAY = {"type": "date", "min": "2020-01-01", "max": "2020-01-31"}
NULLABLE = {"nullable": True}


def schema_of(keys, **more):
    return Schema.parse({"name": "t", "columns": [{"name": "x", **keys}], **more})


def column_codes(values, keys, **more):
    return [code for (code,) in codes_of(pa.table({"x": values}), schema_of(keys, **more))]


@pytest.mark.parametrize(
    ("values", "keys", "codes"),
    [
        # Undeclared, unreadable and missing labels.
        (["a", "z", None], LABELS | NULLABLE | {"on_bad_value": "missing"}, [0, 2, 2]),
        (["a", "z", None], LABELS | {"other": "rest", "on_bad_value": "other"}, [0, 2, 2]),
        (["a", "z", None], LABELS | NULLABLE | {"other": "rest", "on_bad_value": "other"}, [0, 2, 3]),
        (["a", "z", None], LABELS | NULLABLE | {"other": "rest"}, [0, 2, 3]),
        (["a", "z", None], LABELS | NULLABLE | {"other": "rest", "on_bad_value": "missing"}, [0, 2, 3]),
        (["true", "z", None], TRUTH | NULLABLE | {"on_bad_value": "missing"}, [1, 2, 2]),
        # Outside the bounds, unreadable, infinite and missing numbers.
        (["3", "-7", "x", "inf", "", None], WHOLE | NULLABLE | {"on_bad_value": "missing"}, [3] + [10] * 5),
        (["3", "-7", "x", "inf", "", None], WHOLE | NULLABLE | {"on_bad_value": "clip"}, [3, 0, 10, 9, 10, 10]),
        (
            ["3", "-7", "x", "inf", "", None],
            WHOLE | NULLABLE | {"on_bad_value": "missing", "outside": "clip"},
            [3, 0, 10, 9, 10, 10],
        ),
        ([0.3, -7.0, float("inf"), float("nan")], REAL | NULLABLE | {"on_bad_value": "missing"}, [1, 4, 4, 4]),
        ([0.3, -7.0, float("inf"), float("nan")], REAL | NULLABLE | {"on_bad_value": "clip"}, [1, 0, 3, 4]),
        (["2020-01-02", "2019-01-01", "May"], DAY | NULLABLE | {"on_bad_value": "missing"}, [1, 31, 31]),
        (["2020-01-02", "2019-01-01", "May"], DAY | NULLABLE | {"on_bad_value": "clip"}, [1, 0, 31]),
        # A type from which nothing can be read.
        (pa.array([[1], None]), WHOLE | NULLABLE | {"on_bad_value": "missing"}, [10, 10]),
    ],
)
@pytest.mark.filterwarnings("ignore::sfumato.errors.IntakeWarning")
def test_every_bad_value_has_its_place(values, keys, codes):
    assert column_codes(values, keys) == codes
    # The same policy for the whole table; what a column says for itself counts more.
    policy = keys.get("on_bad_value")
    if policy:
        bare = {key: value for key, value in keys.items() if key != "on_bad_value"}
        assert column_codes(values, bare, on_bad_value=policy) == codes
        assert column_codes(values, keys, on_bad_value="refuse") == codes


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (LABELS | {"on_bad_value": "missing"}, "may not be missing"),
        (TRUTH | {"on_bad_value": "missing"}, "may not be missing"),
        (WHOLE | {"on_bad_value": "missing"}, "may not be missing"),
        (WHOLE | {"on_bad_value": "clip"}, "what cannot be read has no place; set nullable to true"),
        (LABELS | {"on_bad_value": "other"}, "no label 'other'; set 'other'"),
        (WHOLE | NULLABLE | {"on_bad_value": "other"}, "no label 'other'"),
        (TRUTH | NULLABLE | {"on_bad_value": "other"}, "no label 'other'"),
        (LABELS | NULLABLE | {"on_bad_value": "clip"}, "no bounds"),
        (TRUTH | NULLABLE | {"on_bad_value": "clip"}, "no bounds"),
    ],
)
def test_a_policy_without_a_place_for_some_value_is_refused_in_public(keys, words):
    bare = {key: value for key, value in keys.items() if key != "on_bad_value"}
    with pytest.raises(SchemaError, match=words) as caught:
        schema_of(keys)
    assert str(caught.value).startswith(f"column 'x': key 'on_bad_value' is '{keys['on_bad_value']}', but")
    with pytest.raises(SchemaError, match=words) as caught:
        schema_of(bare, on_bad_value=keys["on_bad_value"])
    assert "key 'on_bad_value' of the schema is" in str(caught.value)


def test_a_policy_is_one_of_four():
    with pytest.raises(SchemaError, match="key 'on_bad_value' is 'drop'; give 'missing', 'other', 'clip' or 'refuse'"):
        schema_of(WHOLE, on_bad_value="drop")


@pytest.mark.parametrize(
    ("values", "keys", "advice"),
    [
        (["z"], LABELS, "'other' or 'on_bad_value'"),
        (["z"], TRUTH, "'on_bad_value'"),
        (["99"], WHOLE, "'outside': 'clip' or 'on_bad_value'"),
        (["x"], WHOLE, "'on_bad_value'"),
        (["x"], DAY, "'on_bad_value'"),
        ([None], WHOLE, "'nullable' or 'on_bad_value'"),
    ],
)
def test_a_refusal_advises_to_give_bad_values_a_place_and_not_to_widen_the_schema(values, keys, advice):
    with pytest.raises(DataError) as caught:
        column_codes(pa.array(values, pa.string()), keys)
    message = str(caught.value)
    assert f"Say what becomes of such values: {advice} (docs/schema.md" in message
    assert "is to read it off the data; whoever does so must set 'domain_from' to 'observed'" in message
    for bad_advice in ("add it to", "widen the bounds"):
        assert bad_advice not in message


def test_the_first_kind_of_bad_value_that_is_named_does_not_depend_on_the_order_of_rows():
    messages = set()
    for values in (["x", "99"], ["99", "x"]):
        with pytest.raises(DataError) as caught:
            column_codes(values, WHOLE)
        messages.add(str(caught.value))
    assert len(messages) == 1


TOTAL = {
    "name": "t",
    "on_bad_value": "missing",
    "columns": [{"name": "x", **WHOLE, **NULLABLE}, {"name": "y", **LABELS, "other": "b", **NULLABLE}],
}
PERSONS = TOTAL | {"unit": {"column": "id", "rows": 1, "keep": "first", "order_by": "x"}}
LINES = b'id,x,y\np,1,a\n,2,a\np,3,a\n4,b\nq,5,b,c\n"q,6,b\nr,\xff,\xff\n \t,7,b\n\xff,8,b\ns,9,a\n'


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_lines_and_persons_that_cannot_be_read_are_left_out_if_nothing_may_be_refused(tmp_path, ending):
    path = tmp_path / f"t.{ending}"
    path.write_bytes(gzip.compress(LINES) if ending.endswith("gz") else LINES)
    assert codes_of(path, Schema.parse(PERSONS)) == [[1, 0], [10, 1], [9, 0]]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"1", "more or fewer fields"),
        (b"1,a,b", "more or fewer fields"),
        (b'"1,a', "quotes that do not stand around a whole field"),
        (b"1,\xff", "not UTF-8"),
    ],
)
def test_the_same_lines_are_refused_if_the_table_says_so_though_its_columns_do_not(tmp_path, line, words):
    path = tmp_path / "t.csv"
    path.write_bytes(b"x,y\n2,a\n" + line + b"\n")
    columns = [{**keys, "on_bad_value": "missing"} for keys in TOTAL["columns"]]
    strict = Schema.parse(TOTAL | {"on_bad_value": "refuse", "columns": columns})
    if words == "not UTF-8":  # that is a matter of the column alone
        assert codes_of(path, strict) == [[2, 0], [1, 1]]
        strict = Schema.parse(TOTAL | {"columns": [columns[0], {**columns[1], "on_bad_value": "refuse"}]})
    with pytest.raises(DataError, match=words):
        codes_of(path, strict)


def test_parquet_text_that_is_not_unicode_is_a_bad_value(tmp_path):
    raw = pa.array([b"a", b"\xff", None], pa.binary())
    broken = pa.Array.from_buffers(pa.string(), 3, raw.buffers())
    parquet.write_table(pa.table({"x": broken}), tmp_path / "t.parquet")
    for data in (tmp_path / "t.parquet", pa.table({"x": broken}), pa.table({"x": broken.dictionary_encode()})):
        schema = schema_of(LABELS | NULLABLE | {"on_bad_value": "missing"})
        assert codes_of(data, schema) == [[0], [2], [2]]
        with pytest.raises(DataError, match="not among those declared"):
            codes_of(data, schema_of(LABELS | NULLABLE))


def test_values_with_line_breaks_need_a_format_in_which_a_row_cannot_hide_others(tmp_path):
    keys = LABELS | {"categories": ["a", "two\nlines"]} | NULLABLE
    path = tmp_path / "t.csv"
    path.write_text('x\n"two\nlines"\na\n')
    assert codes_of(path, schema_of(keys)) == [[1], [0]]
    with pytest.raises(DataError, match="declares a value with a line break"):
        codes_of(path, schema_of(keys, on_bad_value="missing"))
    parquet.write_table(pa.table({"x": ["two\nlines", "a"]}), tmp_path / "t.parquet")
    assert codes_of(tmp_path / "t.parquet", schema_of(keys, on_bad_value="missing")) == [[1], [0]]


@pytest.mark.parametrize(
    ("change", "noted"),
    [
        ({}, False),
        ({"on_bad_value": "refuse"}, True),
        ({"columns": [{"name": "x", **WHOLE, "on_bad_value": "refuse"}]}, True),
        ({"columns": [{"name": "x", **WHOLE, **NULLABLE, "outside": "clip"}]}, False),
    ],
)
def test_the_ledger_says_whether_a_value_could_have_stopped_the_run(change, noted):
    schema = Schema.parse(TOTAL | change)
    ledger = open_ledger(Job(schema, recipe_of("dpview"), PureDP(1)))
    questions = [event.question for _, event in ledger.statement().entries]
    assert ("a value that breaks the schema would have stopped the run" in questions) == noted


def test_a_release_is_made_of_a_table_in_which_everything_is_bad(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"x,y\n" + b"nothing\n" * 5 + b"\xff,\xff\n" * 5 + b'"\n')
    release = sfumato.fit(tmp_path / "t.csv", Schema.parse(TOTAL), epsilon=1, method="dpview")
    assert release.sample(3).num_rows == 3


def test_names_inside_a_nested_type_are_shown_to_nobody():
    table = pa.table({"x": pa.array([{"4711": 1}])})
    with pytest.raises(DataError, match=r"Arrow type struct\)") as caught:
        codes_of(table, schema_of(WHOLE))
    assert "4711" not in str(caught.value)
    with pytest.warns(IntakeWarning, match=r"no value of x \(struct\) can be read"):
        assert codes_of(table, schema_of(WHOLE | NULLABLE | {"on_bad_value": "missing"})) == [[10]]
