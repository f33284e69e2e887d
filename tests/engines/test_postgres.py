"""Values that only PostgreSQL has, in a real server: each counts as the equal value in memory does."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from helpers_engines import NAMES, Places

import sfumato
from sfumato.data.coding import Coding
from sfumato.errors import DataError
from sfumato.privacy.entropy import SystemEntropy
from sfumato.privacy.opening import open_engine
from sfumato.schema.periods import DAY
from sfumato.tables.objects import mixed

pytestmark = [
    pytest.mark.skipif("postgresql" not in NAMES, reason="make test-engines runs PostgreSQL"),
    pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning"),
]

DAYS = {
    "infinity": 2**31 - 1,
    "-infinity": -(2**31),
    "5874897-12-31": 2_145_031_948,
    "20000-06-01": 6_585_594,
    "9999-12-31": 2_932_896,
    "0001-01-01": -719_162,
    "4713-01-01 BC": -2_440_550,
    "1990-01-01": 7305,
    "1999-12-31": 10956,
    "2000-01-01": 10957,
}
MOMENTS = {
    "infinity": 2**62,
    "-infinity": -(2**62),
    "294276-12-31 23:59:59.999999": 9_224_318_015_999,
    "4713-01-01 00:00:01 BC": -2_440_550 * DAY + 1,
    "9999-12-31 23:59:59.5": 2_932_896 * DAY + 86399,
    "1989-12-31 23:59:59.999999": 7305 * DAY - 1,
    "1990-01-01 00:00:00": 7305 * DAY,
    "1995-02-28 12:30:00": 9189 * DAY + 45000,
}
NUMBERS = ["NaN", "Infinity", "-Infinity", "0", "2.50", "2.4999999999999999999999", "10", "1e130", "-1e-130", "5.000"]


def days(values):
    return pa.array(values, pa.int32()).cast(pa.date32())


def moments(values):
    return pa.array(values, pa.int64()).cast(pa.timestamp("s"))


KINDS = {
    "date": (DAYS, days, {"type": "date", "min": "1990-01-01", "max": "1999-12-31", "bins": 5}),
    "timestamp": (MOMENTS, moments, {"type": "datetime", "min": "1990-01-01", "max": "1999-12-31", "bins": 5}),
    "timestamptz": (
        {key if "inf" in key else key.replace(" BC", "+00 BC") if "BC" in key else f"{key}+00": second
         for key, second in MOMENTS.items()},
        moments,
        {"type": "datetime", "granularity": "month", "min": "1990-01-01T00:00:00", "max": "1999-12-31T23:59:59"},
    ),
    "date as the end of time": (DAYS, days, {"type": "date", "min": "0001-01-01", "max": "9999-12-31", "bins": 5}),
    "timestamp as the end of time": (
        MOMENTS, moments, {"type": "datetime", "min": "0001-01-01", "max": "9999-12-31", "granularity": "year"}
    ),
    "timestamp as date": (MOMENTS, moments, {"type": "date", "min": "1990-01-01", "max": "1999-12-31", "bins": 5}),
    "date as datetime": (
        DAYS, days, {"type": "datetime", "min": "1990-01-01", "max": "1999-12-31", "granularity": "hour", "bins": 7}
    ),
    "numeric": (
        {text: Decimal(text) for text in NUMBERS}, mixed, {"type": "number", "min": 0, "max": 10, "bins": 4}
    ),
    "numeric as integer": (
        {text: Decimal(text) for text in NUMBERS}, mixed, {"type": "integer", "min": 0, "max": 10, "bins": 11}
    ),
    "numeric as label": (
        {text: Decimal(text) for text in NUMBERS}, mixed,
        {"type": "categorical", "categories": ["0", "2.5", "5", "inf"], "other": "others"},
    ),
    "double precision": (
        {text: float(text) for text in NUMBERS}, pa.array, {"type": "number", "min": 0, "max": 10, "bins": 4}
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def server():
    import psycopg

    places = Places()
    with psycopg.connect(host=str(places.postgres()), user="tester", dbname="postgres", autocommit=True) as connection:
        # Neither the zone nor the way in which a server reads days may matter.
        connection.execute("alter database postgres set timezone = 'Asia/Tokyo'")
        connection.execute("alter database postgres set datestyle = 'German, DMY'")
        yield connection
    places.close()


def put(server, kind, texts):
    """A table with a column of the type and one of a domain over it; only the server reads the values."""
    server.execute("drop table if exists odd cascade; drop domain if exists own")
    server.execute(f"set datestyle = 'ISO'; create domain own as {kind}; create table odd (x own, y {kind})")
    server.execute("create view bare as select y as x, y from odd")
    for text in texts:
        server.execute("insert into odd values (%s, %s)", (text, text))
    return "postgresql:///postgres/odd"


def schema_of(column, policy):
    columns = [{"name": name, "nullable": True, "on_bad_value": policy} | column for name in ("x", "y")]
    return sfumato.Schema.parse({"name": "t", "columns": columns})


def outcome(data, schema, engine):
    """The counts of both columns, or the words of a refusal."""
    try:
        opened = open_engine(data, schema, SystemEntropy(), engine)
    except DataError as refused:
        return str(refused)
    try:
        return [one.counts.tolist() for one in opened.count(Coding(opened.domain), [("x",), ("y",), ("x", "y")])]
    finally:
        opened.close()


@pytest.mark.parametrize("policy", ["refuse", "missing", "clip"])
@pytest.mark.parametrize("name", KINDS)
def test_values_that_only_postgresql_has_count_as_equal_ones_in_memory(server, name, policy):
    values, made, column = KINDS[name]
    if policy == "clip" and column["type"] == "categorical":
        policy = "other"
    schema, kind = schema_of(column, policy), name.partition(" as ")[0]
    inside = ["bare"] if kind in ("date", "timestamp", "timestamptz", "double precision") else []
    chosen = [[one] for one in values] if policy == "refuse" else [[*values, None, *values]]
    for texts in chosen:
        source = put(server, kind, texts)
        found = [outcome(source, schema, engine) for engine in ("spool", "memory")]
        found += [outcome(source.replace("odd", view), schema, "sql") for view in inside]
        own = made([None if text is None else values[text] for text in texts])
        wanted = outcome(pa.table({"x": own, "y": own}), schema, "memory")
        assert found == [wanted] * len(found)


def test_values_that_are_refused_are_told_without_being_quoted(server):
    source = put(server, "date", ["infinity"])
    said = outcome(source, schema_of(KINDS["date"][2], "refuse"), "spool")
    assert "outside" in said
    assert "infinity" not in said
    assert "20000" not in said


def test_types_that_only_postgresql_has_come_as_it_writes_them(server):
    server.execute("drop table if exists odd cascade; drop type if exists mood; create type mood as enum ('sad', 'ok')")
    server.execute("create table odd (x mood, y uuid)")
    one = "00000000-0000-0000-0000-000000000001"
    server.execute("insert into odd values ('ok', %s), ('sad', %s), (NULL, NULL)", (one, one))
    columns = [{"name": "x", "type": "categorical", "categories": ["sad", "ok"], "nullable": True},
               {"name": "y", "type": "categorical", "categories": [one], "nullable": True}]  # fmt: skip
    schema = sfumato.Schema.parse({"name": "t", "columns": columns})
    found = outcome("postgresql:///postgres/odd", schema, "spool")
    assert [np.array(one).tolist() for one in found[:2]] == [[1, 1, 1], [2, 1]]


def test_a_table_that_changes_while_it_is_read_is_read_as_it_was(server):
    from sfumato.engines import sql

    source = put(server, "numeric", ["1"] * 5)
    parts = sql.batches(source)
    assert len(next(parts)) == 0
    server.execute("insert into odd select x, y from odd")
    assert sum(map(len, parts)) == 5
