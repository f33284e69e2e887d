"""Ibis tables counted inside their database: in the caller's own connection, which comes back as it was."""

import sqlite3

import pyarrow as pa
import pytest
from helpers_engines import INSIDE, NAMES, Places

import sfumato
from sfumato.data.coding import Coding
from sfumato.errors import DataError, MethodError
from sfumato.privacy.entropy import SystemEntropy
from sfumato.privacy.opening import open_engine

ibis = pytest.importorskip("ibis")

pytestmark = pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning")

EACH = [one for one in INSIDE if one in NAMES or one != "sql-postgresql"]
SCHEMA = {
    "name": "t",
    "columns": [
        {"name": "age", "type": "integer", "min": 0, "max": 99, "bins": 100},
        {"name": "city", "type": "categorical", "categories": ["Rome", "Oslo%"], "nullable": True},
    ],
}
ROWS = pa.table(
    {"age": list(range(100)), "city": ["Rome", "Oslo%", "Rome", None] * 25, "who": [str(n // 3) for n in range(100)]}
)


@pytest.fixture(scope="module")
def places():
    made = Places()
    yield made
    made.close()


@pytest.fixture(params=EACH)
def table(request, places):
    """A table in a connection of the caller's."""
    name = places.put(request.param, ROWS)
    if request.param == "sql-postgresql":
        connection = ibis.postgres.connect(database="postgres", port=None)  # the rest is in the environment
        yield connection.table(name.rpartition("/")[2])
    else:
        path = name.partition(":///")[2].partition("?")[0]
        connection = (ibis.duckdb if request.param == "sql-duckdb" else ibis.sqlite).connect(path)
        yield connection.table("people")
    connection.disconnect()


def opened(data, engine="sql", **more):
    return open_engine(data, sfumato.Schema.parse(SCHEMA | more), SystemEntropy(), engine)


def counts(engine):
    try:
        return [one.counts.tolist() for one in engine.count(Coding(engine.domain), [(), ("age", "city"), ("city",)])]
    finally:
        engine.close()


def test_an_expression_is_counted_where_its_rows_are(table):
    kept = table.filter(~table.city.like("%slo\\%") | table.city.isnull()).filter(table.age >= 7).drop("who")
    changed = kept.mutate(age=kept.age - 7)
    assert counts(opened(changed)) == counts(opened(changed, "memory"))
    persons = {"unit": {"column": "who", "rows": 1, "keep": "first", "order_by": "age"}}
    assert counts(opened(table, **persons)) == counts(opened(table, "memory", **persons))


def test_a_whole_run(table):
    release = sfumato.fit(
        table.drop("who"), sfumato.Schema.parse(SCHEMA), epsilon=100, method="privbayes", engine="sql"
    )
    assert abs(release.rows - 100) < 20


def test_the_connection_comes_back_as_it_was(table):
    backend = table.get_backend()
    raw = backend.con
    before = getattr(raw, "autocommit", None)
    engine = opened(table.drop("who"))
    engine.close()
    assert getattr(raw, "autocommit", None) == before
    if backend.name == "sqlite":
        with pytest.raises(sqlite3.OperationalError, match="function"):
            raw.execute("select sfumato_hashed('a')")
    raw.execute(f"insert into \"{table.get_name()}\" values (1, 'Rome', 'x')")  # noqa: S608
    raw.commit()
    assert table.count().to_pyarrow().as_py() == 101


def test_a_transaction_of_the_caller_is_not_ended(table):
    raw = table.get_backend().con
    raw.execute("begin")
    raw.execute(f"insert into \"{table.get_name()}\" values (1, 'Rome', 'x')")  # noqa: S608
    with pytest.raises(DataError, match="is in a transaction; commit it or roll it back"):
        opened(table.drop("who"))
    ((found,),) = raw.execute(f'select count(*) from "{table.get_name()}"').fetchall()  # noqa: S608
    assert found == 101
    raw.rollback()


def test_rows_that_change_from_query_to_query_are_refused(table):
    bare = table.drop("who")
    for one in (
        bare.filter(ibis.random() < 0.5),
        bare.limit(50),
        bare.mutate(age=ibis.now().second()),
        bare.sample(0.5),
    ):
        with pytest.raises(MethodError, match="other rows each time"):
            opened(one)


def test_what_lies_in_no_database_is_refused():
    with pytest.raises(MethodError, match="holds rows in memory"):
        opened(ibis.memtable(ROWS.drop_columns(["who"])))
    with pytest.raises(DataError, match="belongs to no database"):
        opened(ibis.table({"age": "int64", "city": "string"}, name="people"))
    polars = pytest.importorskip("polars")
    frame = ibis.polars.connect({"people": polars.from_arrow(ROWS.drop_columns(["who"]))}).table("people")
    with pytest.raises(MethodError, match="lies in polars"):
        opened(frame)
