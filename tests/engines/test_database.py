"""Counting inside a database: codes that SQL computes are those of the codec, and what it cannot compute is refused."""

import sqlite3
from contextlib import closing
from datetime import date, datetime, timedelta
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato
from sfumato.data.coding import Coding, Merge
from sfumato.engines.cases import KINDS, case_of
from sfumato.engines.dialects import DIALECTS
from sfumato.engines.rule_cases import RuleCases
from sfumato.engines.sql import sqlite_seconds
from sfumato.errors import DataError, MethodError
from sfumato.fitting import open_ledger
from sfumato.intake.codec import SchemaCodec, codes_or_marks
from sfumato.job import Job, recipe_of
from sfumato.privacy.budget import budget_of
from sfumato.privacy.entropy import SystemEntropy
from sfumato.privacy.opening import open_engine, open_local

COLUMNS = {
    "labels": ("text", {"type": "categorical", "categories": ["a", "A", "a ", "it's", '"', "%s"], "nullable": True,
                        "null_values": ["", "?"]}),
    "others": ("text", {"type": "categorical", "categories": ["a", "rest"], "other": "rest"}),
    "yes": ("text", {"type": "boolean", "true_values": ["a"], "false_values": ["A"], "nullable": True}),
    "truth": ("truth", {"type": "boolean", "nullable": True}),
    "code": ("whole", {"type": "categorical", "categories": ["1", "2", "-3"], "nullable": True, "null_values": ["9"]}),
    "bins": ("whole", {"type": "integer", "min": -5, "max": 20, "bins": 4, "special": [99], "nullable": True,
                       "null_values": ["-6"]}),
    "clip": ("whole", {"type": "integer", "min": 0, "max": 9, "bins": 3, "outside": "clip"}),
    "list": ("whole", {"type": "integer", "min": 1, "max": 5, "values": [1, 2, 5]}),
    "widest": ("whole", {"type": "integer", "min": -(2**62), "max": 2**62, "bins": 4}),
    "half": ("whole", {"type": "number", "min": -2.5, "max": 7.5, "bins": 4}),
    "real": ("real", {"type": "number", "min": -1, "max": 2, "bins": 6, "special": [99.5], "nullable": True}),
    "week": ("day", {"type": "date", "min": "2019-12-30", "max": "2020-03-01", "granularity": "week", "nullable": True,
                     "null_values": ["2020-03-20"]}),
    "hour": ("moment", {"type": "datetime", "min": "2019-12-31T22:00:00", "max": "2020-01-02T03:00:00",
                        "granularity": "hour", "nullable": True, "null_values": ["2020-01-05T01:02:03"]}),
    "moments": ("moment", {"type": "date", "min": "2019-12-31", "max": "2020-01-02", "nullable": True}),
    "midnights": ("day", {"type": "datetime", "min": "2019-12-31T12:00:00", "max": "2020-02-02T03:00:00", "bins": 7,
                          "granularity": "minute", "nullable": True,
                          "null_values": ["2020-02-05", "2020-02-06T01:00:00"]}),
}  # fmt: skip
VALUES = {
    "text": ["a", "A", "a ", " a", "it's", '"', "%s", "", "?", "rest", "x"],
    "truth": [True, False],
    "whole": [*range(-7, 23), 99, 98, 100, 2**62, -(2**62), 2**62 + 1, -(2**62) - 1, 2**63 - 1],
    "real": [
        -1.0,
        np.nextafter(-1, -2),
        -0.5,
        np.nextafter(-0.5, -1),
        0.0,
        -0.0,
        0.1,
        0.5,
        2.0,
        np.nextafter(2, 3),
        99.5,
    ],
    "day": [date(2019, 12, 20) + timedelta(days=day) for day in range(95)],
    "moment": [
        datetime(2019, 12, 31, 22) + timedelta(minutes=17 * step, seconds=step % 3 - 1) for step in range(-9, 120)
    ]
    + [datetime(2020, 1, 5, 1, 2, 3 + step) for step in (-1, 0, 1)]
    + [datetime.min, datetime.max.replace(microsecond=0)],
}


def schema_of(name, **more):
    return sfumato.Schema.parse({"name": "t", "columns": [{"name": name, **COLUMNS[name][1], **more}]})


@pytest.fixture(scope="module")
def connection():
    with closing(sqlite3.connect(":memory:")) as made:
        made.create_function("sfumato_seconds", 2, sqlite_seconds)
        yield made


@pytest.mark.parametrize("policy", ["refuse", "missing"])
@pytest.mark.parametrize("name", COLUMNS)
def test_sql_gives_every_value_the_code_or_the_mark_of_the_codec(name, policy, connection):
    kind, declared = COLUMNS[name]
    if policy == "missing" and not declared.get("nullable"):
        pytest.skip("only a column that may be missing has this policy")
    (column,) = schema_of(name).columns
    values = pa.array([*VALUES[kind], None], KINDS[kind])
    wanted = codes_or_marks(column, pa.chunked_array([values]), policy).tolist()
    query, parameters = case_of(column, kind, policy).sql("x", DIALECTS["sqlite"], None)
    given = [str(one) if kind in ("day", "moment") and one is not None else one for one in values.to_pylist()]
    connection.execute("drop table if exists t")
    # A column that compares without case, as its owner may have declared it.
    connection.execute(f"create table t (place integer, x {'text collate nocase' if kind == 'text' else ''})")
    connection.executemany("insert into t values (?, ?)", list(enumerate(given)))
    found = connection.execute(f"select {query} from t order by place", parameters).fetchall()  # noqa: S608
    assert [code for (code,) in found] == wanted


def coded(connection, query, parameters, values):
    query = f"SELECT {query} FROM (SELECT ? AS x)"  # noqa: S608
    return [connection.execute(query, [*parameters, one]).fetchone()[0] for one in values]


@settings(max_examples=30, deadline=None)
@given(
    edges=st.lists(st.floats(-1e9, 1e9, allow_subnormal=False), min_size=2, max_size=6, unique=True),
    values=st.lists(st.floats(allow_nan=False), max_size=20),
)
def test_edges_are_exact(connection, edges, values):
    declared = {"name": "x", "type": "number", "edges": sorted(edges), "min": min(edges), "max": max(edges)}
    (column,) = sfumato.Schema.parse({"name": "t", "columns": [declared]}).columns
    near = [step for edge in edges for step in (edge, np.nextafter(edge, np.inf), np.nextafter(edge, -np.inf))]
    values = [*values, *map(float, near)]
    query, parameters = case_of(column, "real", "refuse").sql("x", DIALECTS["sqlite"], None)
    wanted = codes_or_marks(column, pa.chunked_array([pa.array(values)]), "refuse").tolist()
    assert coded(connection, query, parameters, values) == wanted


def test_codes_are_merged_inside_the_expression(connection):
    (column,) = schema_of("clip").columns
    query, parameters = case_of(column, "whole", "refuse").sql("x", DIALECTS["sqlite"], np.array([0, 0, 1]))
    found = coded(connection, query, parameters, range(10))
    codes = SchemaCodec(schema_of("clip")).encode(pa.table({"clip": range(10)}))["clip"]
    assert found == np.array([0, 0, 1])[codes].tolist()
    assert query.count("WHEN") == 3  # missing, stranger, and one piece


@pytest.fixture
def people(tmp_path):
    pytest.importorskip("ibis")
    path = tmp_path / "people.sqlite"
    with closing(sqlite3.connect(path)) as made, made:
        made.execute('create table people ("a""b" bigint, city text)')
        made.executemany("insert into people values (?, ?)", [(number % 10, "RO"[number % 2]) for number in range(50)])
    return path


def plain(**more):
    columns = [{"name": 'a"b', "type": "integer", "min": 0, "max": 9, "bins": 5},
               {"name": "city", "type": "categorical", "categories": ["R", "O"]}]  # fmt: skip
    return sfumato.Schema.parse({"name": "t", "columns": columns, **more})


def test_a_whole_run_inside_a_database(people):
    release = sfumato.fit(f"sqlite:///{people}?table=people", plain(), epsilon=100, method="privbayes", engine="sql")
    assert abs(release.rows - 50) < 10


def test_nothing_is_written_and_a_value_of_another_type_is_refused(people):
    before = people.read_bytes()
    engine = open_engine(f"sqlite:///{people}?table=people", plain(), SystemEntropy(), "sql")
    (pair,) = engine.count(Coding(engine.domain), [('a"b', "city")])
    assert pair.counts.sum() == 50
    engine.close()
    assert people.read_bytes() == before
    with sqlite3.connect(people) as made:
        made.execute("insert into people values ('Semiramide', 'R')")
    for engine in ("sql", "memory"):
        with pytest.raises(DataError, match="a value is not a whole number") as caught:
            open_engine(f"sqlite:///{people}?table=people", plain(), SystemEntropy(), engine)
        assert "Semiramide" not in str(caught.value)


STRANGE = {
    "whole integer": [1, "1", "x", 1.5, b"1", None, 11],
    "truth boolean": [0, 1, 2, "true", None],
    "real double": [1, 1.5, "1.5", None, 1e300],
    "day date": ["2020-05-06", "2020-05-06T01:00:00", "20200506", "2020-13-01", 7, None],
    "word text": ["a", b"a", "x", None],
    "seen timestamp": [
        "2020-05-06 01:00:00",
        "2020-05-06T01:00:00.9",
        "20200506T010000",
        "2020-05-06T01:00:00+02:00",
        "2020-05-06",
        "x",
        7,
    ],
}


def test_no_value_of_another_type_stops_a_run_that_no_value_may_stop(tmp_path):
    """SQLite keeps any value in any column; each counts as unreadable, wherever rows are counted, and alone."""
    pytest.importorskip("ibis")
    keys = {"nullable": True, "on_bad_value": "missing"}
    columns = [{"name": "whole", "type": "integer", "min": 0, "max": 9}, {"name": "truth", "type": "boolean"},
               {"name": "real", "type": "number", "min": 0, "max": 9, "bins": 9},
               {"name": "day", "type": "date", "min": "2020-05-01", "max": "2020-05-09"},
               {"name": "word", "type": "categorical", "categories": ["a", "b"]},
               {"name": "seen", "type": "datetime", "min": "2020-05-01", "max": "2020-05-09",
                "granularity": "hour"}]  # fmt: skip
    schema = sfumato.Schema.parse({"name": "t", "on_bad_value": "missing", "columns": [one | keys for one in columns]})
    assert not schema.may_refuse
    path = tmp_path / "strange.sqlite"
    with closing(sqlite3.connect(path)) as made, made:
        made.execute(f"create table t ({', '.join(STRANGE)})")
        longest = max(map(len, STRANGE.values()))
        padded = [values + [None] * (longest - len(values)) for values in STRANGE.values()]
        made.executemany("insert into t values (?, ?, ?, ?, ?, ?)", list(zip(*padded, strict=True)))
        made.execute(
            "insert into t values (3, 1, 2.5, '2020-05-03', cast(x'ff61' as text), cast(x'ff' as text))"
        )  # no UTF-8
    tables = {}
    for engine in ("sql", "memory"):
        opened = open_engine(f"sqlite:///{path}?table=t", schema, SystemEntropy(), engine)
        tables[engine] = list(opened.count(Coding(opened.domain), [(name,) for name in opened.domain]))
        opened.close()
    for inside, here in zip(tables["sql"], tables["memory"], strict=True):
        assert inside.counts.tolist() == here.counts.tolist()
        assert here.counts.sum() == longest + 1
    assert tables["memory"][0].counts.tolist()[:10] == [0, 2, 0, 1, 0, 0, 0, 0, 0, 0]
    assert tables["memory"][1].counts.tolist() == [1, 2, 5]


def test_what_a_database_cannot_code_is_refused_before_the_first_charge(people):
    schema = plain(bitwise=True)
    ledger = open_ledger(Job(schema, recipe_of("privbayes"), budget_of("1", None)))
    with pytest.raises(MethodError, match="every attribute must be a column by itself"):
        open_local(f"sqlite:///{people}?table=people", schema, ledger, engine="sql")
    assert not [event for _, event in ledger.statement().entries if event.cost(ledger.budget.notion) > 0]


def test_a_column_of_another_type_than_declared_is_refused(people):
    columns = [{"name": 'a"b', "type": "date", "min": "2020-01-01", "max": "2020-12-31"},
               {"name": "city", "type": "categorical", "categories": ["R", "O"]}]  # fmt: skip
    wrong = sfumato.Schema.parse({"name": "t", "columns": columns})
    with pytest.raises(MethodError, match="is date in the schema, and the database has it as whole"):
        open_engine(f"sqlite:///{people}?table=people", wrong, SystemEntropy(), "sql")


ENDS = {
    "date": {"type": "date", "min": "1990-01-01", "max": "9999-12-31", "granularity": "year", "bins": 9},
    "timestamp": {"type": "datetime", "min": "1990-01-01", "max": "9999-12-31", "granularity": "year", "bins": 9},
    "timestamptz": {"type": "datetime", "min": "1999-12-31", "max": "2000-01-01", "granularity": "hour"},
    "date_of_moments timestamp": {"type": "date", "min": "1990-01-01", "max": "2000-12-31", "granularity": "month"},
}


@pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning")
@pytest.mark.parametrize("policy", ["missing", "clip"])
def test_days_and_moments_of_duckdb_count_as_in_memory_up_to_the_end_of_time(tmp_path, policy):
    """Infinity and the years beyond those of Python among them, in a session of another time zone."""
    pytest.importorskip("ibis")
    duckdb = pytest.importorskip("duckdb")
    texts = ["infinity", "-infinity", "20000-01-01", "9999-12-31", "10000-01-01", "1990-01-01", "1989-12-31",
             "2000-01-01 00:00:00", "1999-12-31 23:59:59.999999", "1999-12-31 22:00:00+05", None]  # fmt: skip
    keys = {"nullable": True, "on_bad_value": policy}
    columns = [{"name": f"x{place}", **keys, **one} for place, one in enumerate(ENDS.values())]
    schema = sfumato.Schema.parse({"name": "t", "columns": columns})
    path = tmp_path / "times.duckdb"
    with duckdb.connect(str(path)) as made:
        made.execute("set timezone = 'Asia/Tokyo'")
        made.execute(f"create table t ({', '.join(f'x{place} {kind.split()[-1]}' for place, kind in enumerate(ENDS))})")
        for text in texts:
            bare = text and text.partition("+")[0]
            made.execute(
                "insert into t values (cast(? as date), ?, ?, ?)", [bare and bare.split()[0], bare, text, bare]
            )
    found = []
    for engine in ("sql", "memory"):
        opened = open_engine(f"duckdb:///{path}?table=t", schema, SystemEntropy(), engine)
        each = opened.count(Coding(opened.domain), [(one,) for one in opened.domain])
        found.append([one.counts.tolist() for one in each])
        opened.close()
    assert found[0] == found[1]
    assert [sum(one) for one in found[0]] == [len(texts)] * 4


def test_a_file_is_no_database():
    with pytest.raises(MethodError, match="name a table in one"):
        open_engine("people.csv", plain(), SystemEntropy(), "sql")


def ruled(**more):
    columns = [
        {"name": "age", "type": "integer", "min": 0, "max": 99, "bins": 10},
        {"name": "status", "type": "categorical", "categories": ["single", "married", "?"], "other": "?"},
        {"name": "pension", "type": "integer", "min": 0, "max": 9, "nullable": True},
        {
            "name": "grown",
            "type": "categorical",
            "categories": ["no", "yes"],
            "derived": {"of": "age", "edges": [0, 20, 99], "values": ["no", "yes"]},
        },
        {"name": "low", "type": "integer", "min": 0, "max": 9},
        {"name": "city", "type": "categorical", "categories": ["R", "O"]},
    ]
    rules = [
        {"if": {"grown": ["no"]}, "then": {"status": ["single", "?"]}},
        {"if": {"pension": {"min": 4}}, "then": {"age": {"min": 60}}},
        {"less_or_equal": ["low", "pension"]},
        {"allowed": ["city", "status"], "rows": [["R", "single"], ["O", "married"], ["O", "?"]]},
    ]
    return sfumato.Schema.parse({"name": "t", "columns": columns, "rules": rules, **more})


@pytest.fixture(params=["sqlite", "duckdb"])
def breaking(request, tmp_path):
    """A database whose rows break every rule, and the same rows."""
    pytest.importorskip("ibis")
    rng, rows = np.random.default_rng(0), 400
    table = pa.table(
        {
            "age": rng.integers(0, 100, rows),
            "status": rng.choice(["single", "married", "widowed"], rows),
            "pension": pa.array(rng.integers(0, 10, rows), mask=rng.random(rows) < 0.2),
            "grown": rng.choice(["no", "yes"], rows),
            "low": rng.integers(0, 10, rows),
            "city": rng.choice(["R", "O"], rows),
        }
    )
    path, connect = tmp_path / "breaking", pytest.importorskip(request.param.replace("sqlite", "sqlite3")).connect
    with closing(connect(path)) as made:
        made.execute("create table t (age bigint, status text, pension bigint, grown text, low bigint, city text)")
        made.executemany("insert into t values (?, ?, ?, ?, ?, ?)", list(zip(*table.to_pydict().values(), strict=True)))
        made.commit()
    return f"{request.param}:///{path}?table=t", table


def test_rows_that_break_a_rule_count_inside_a_database_as_they_do_elsewhere(breaking):
    name, table = breaking
    inside = open_engine(name, ruled(), SystemEntropy(), "sql")
    memory = open_engine(table, ruled(), SystemEntropy(), "memory")
    cliques = [(), *((one,) for one in inside.domain), *combinations(inside.domain.names, 2)]
    coding = Coding(inside.domain)
    for clique, one, other in zip(cliques, inside.count(coding, cliques), memory.count(coding, cliques), strict=True):
        assert np.array_equal(one.counts, other.counts), clique
    ages = Coding(inside.domain, (Merge((("age", tuple(code // 2 for code in range(inside.domain["age"]))),)),))
    pairs = [engine.count(ages, [("age", "city")]) for engine in (inside, memory)]
    assert np.array_equal(next(pairs[0]).counts, next(pairs[1]).counts)
    inside.close()


def test_a_row_that_breaks_a_rule_is_refused_inside_a_database_where_that_is_asked_for(breaking):
    name, table = breaking
    columns = [one | {"on_bad_value": "refuse"} for one in ruled().to_dict()["columns"]]
    words = []
    for data, engine in ((name, "sql"), (table, "memory")):
        with pytest.raises(DataError, match="rule number 1") as caught:
            open_engine(data, ruled(columns=columns), SystemEntropy(), engine)
        words.append(str(caught.value))
    assert words[0] == words[1]


def test_rules_that_no_query_can_tell_are_refused():
    whole = {"type": "integer", "min": 0, "max": 9, "bins": 5}
    columns = [{"name": name, **whole} for name in "ab"] + [{"name": "c", "type": "integer", "min": 0, "max": 18}]
    rules = [{"sum": ["a", "b"], "equals": "c"}, {"difference": ["a", "b"], "min": 0, "max": 5}]
    with pytest.raises(MethodError, match=r"too many for a query.*give engine 'spool'"):
        RuleCases(sfumato.Schema.parse({"name": "t", "columns": columns, "rules": rules}))
