"""Numbers kept as text, inside databases: every text has the code that intake gives it, whatever the others are."""

import pyarrow as pa
import pytest
from helpers_engines import INSIDE, NAMES, Places
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import sfumato
from sfumato.data.coding import Coding
from sfumato.engines.written_numbers import written_number
from sfumato.privacy.entropy import SystemEntropy
from sfumato.privacy.opening import open_engine
from sfumato.schema.fields import NUMBER

pytestmark = pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning")

EACH = [one for one in INSIDE if one in NAMES or one != "sql-postgresql"]
HOSTILE = [
    "5", " 5 ", "+5", "-5", "05", "5.0", "5.", ".5", "5.5", "-0", "-0.0", "1e3", "1E+3", "10e-1", "15e-1",
    "1e-0", "0e99999", "", " ", "\u2003\t7", "-9", "-9.0", " -9 ", "NA", " NA", "na", "x", "5x", "5 5", "1_000",
    "1,5", "0x10", "٥", "--5", "+-5", "e5", "5e", "5e+", ".", "+", "nan", "NaN", "inf", "-Infinity", "+INF",
    "infinit", "1e308", "1.7976931348623157e308", "1.7976931348623158e308", "1.7976931348623159e308",
    "-1.8e308", "1e309", "1e400", "-1e99999999", "1e-320", "-4.9e-324", "2.4703282292062327e-324",
    "2.4703282292062328e-324", "-2e-324", "1e-400", "0.1499999999999999999999", "0.15", "9" * 400,
    "-" + "9" * 400, "0" * 400 + "7", "0." + "0" * 400 + "1", "0." + "0" * 400 + "1e401", "4611686018427387903",
    "4611686018427387904", "9223372036854775807", "9223372036854775808", "-9223372036854775809",
    "99999999999999999999.0", "1e18", "123456789012345678e1", "1234567890123456789", "12345678901234567890e-1",
    "1e00000000000000000000001", "0.30e1", "300e-2", "'; drop table people; --", "%s", "\\\\", "\ufffd", None,
]  # fmt: skip
COLUMNS = [
    {"name": "whole", "type": "integer", "min": -3, "max": 4611686018427387904, "edges": [-3, 0, 1, 4, 6, 1000,
     10**17, 1234567890123456789, 4611686018427387904], "special": [3]},
    {"name": "real", "type": "number", "min": -0.5, "max": 10, "edges": [-0.5, 0, 0.15, 1.5, 5, 10]},
    {"name": "huge", "type": "number", "min": -1e308, "max": 1.7976931348623157e308, "bins": 5},
    {"name": "tiny", "type": "number", "min": 0, "max": 1e-300, "edges": [0, 5e-324, 1e-320, 1e-300]},
]  # fmt: skip


@pytest.fixture(scope="module")
def places():
    pytest.importorskip("ibis")
    made = Places()
    yield made
    made.close()


def table_of(texts):
    values = pa.array(texts, pa.string())
    return pa.table({"row": pa.array(range(len(texts)), pa.int64()), **{one["name"]: values for one in COLUMNS}})


def schema_of(rows, policy):
    keys = {"nullable": True, "on_bad_value": policy}
    row = {"name": "row", "type": "integer", "min": 0, "max": max(rows - 1, 1)}
    tokens = {one["name"]: ["", "NA", *([] if one["name"] == "huge" else ["-9"])] for one in COLUMNS}
    columns = [row, *({**one, **keys, "null_values": tokens[one["name"]]} for one in COLUMNS)]
    return sfumato.Schema.parse({"name": "t", "columns": columns, "on_bad_value": "refuse"})


def codes(data, schema, engine):
    """The code of each row in each column."""
    opened = open_engine(data, schema, SystemEntropy(), engine)
    try:
        pairs = [("row", one["name"]) for one in COLUMNS]
        return [one.counts.argmax(axis=1).tolist() for one in opened.count(Coding(opened.domain), pairs)]
    finally:
        opened.close()


def check(name, places, texts, policy):
    table, schema = table_of(texts), schema_of(len(texts), policy)
    found, wanted = codes(places.put(name, table), schema, "sql"), codes(table, schema, "memory")
    for column, one, other in zip(COLUMNS, found, wanted, strict=True):
        wrong = [(text, a, b) for text, a, b in zip(texts, one, other, strict=False) if a != b]
        assert wrong == [], column["name"]


@pytest.mark.parametrize("policy", ["missing", "clip"])
@pytest.mark.parametrize("name", EACH)
def test_hostile_texts_have_the_codes_of_intake(name, places, policy):
    check(name, places, HOSTILE, policy)


FORMS = (
    st.from_regex(f"\\A[ ]?{NUMBER}[ ]?\\Z") | st.text("0123456789.+-eE \u2003x", max_size=12) | st.floats().map(repr)
)


@pytest.mark.parametrize("name", EACH)
@settings(
    max_examples=12, deadline=None, phases=[Phase.generate], suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(texts=st.lists(FORMS | st.integers().map(str) | st.decimals(allow_nan=False).map(str), min_size=1, max_size=40))
def test_texts_have_the_codes_of_intake(name, places, texts):
    check(name, places, texts, "missing")


def test_the_numbers_of_sqlite_are_those_of_intake():
    assert written_number(b" 5.0 ", 1) == 5
    assert written_number(b"0e99999", 1) == 0
    assert written_number(b"5.5", 1) is None
    assert written_number(b"5.5", 0) == 5.5
    assert written_number(b"\xff5", 0) is None
