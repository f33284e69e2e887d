"""Persons inside a database: the rows that `memory` keeps are kept, told apart as everywhere, and by nobody else."""

import sqlite3
from collections import Counter
from contextlib import closing
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from helpers_engines import INSIDE, NAMES, Places, opened
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sfumato
from helpers_entropy import ScriptedEntropy
from sfumato.data.coding import Coding
from sfumato.engines import sql
from sfumato.engines.memory import Memory
from sfumato.engines.person_cases import hashed, key_of
from sfumato.engines.persons import kept
from sfumato.errors import DataError, MethodError
from sfumato.intake.codec import SchemaCodec
from sfumato.intake.intake import Intake
from sfumato.privacy.entropy import SystemEntropy
from sfumato.privacy.opening import open_engine

pytest.importorskip("ibis")

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:the data frame has numbers"),
]

COLUMNS = [
    {"name": "day", "type": "integer", "min": 0, "max": 5, "special": [9], "nullable": True},
    {"name": "ward", "type": "categorical", "categories": ["a", "b"], "other": "b"},
]
EACH = [one for one in INSIDE if one in NAMES or one != "sql-postgresql"]


def schema_of(columns=COLUMNS, rules=None, policy=None, **unit):
    record = {
        "name": "t",
        "columns": columns,
        "unit": {"column": "who", **unit},
        "on_bad_value": policy,
        "rules": rules,
    }
    return sfumato.Schema.parse({key: value for key, value in record.items() if value is not None})


@pytest.fixture(scope="module")
def places():
    made = Places()
    yield made
    made.close()


@pytest.fixture(params=EACH)
def name(request):
    return request.param


class Fixed(SystemEntropy):
    """Words that are known."""

    def words(self, count):
        return np.arange(7, 7 + count, dtype=np.uint64)


def keys_of(table, schema):
    """What decides about each row: the place of the hash of its key, person, codes and copy among all hashes."""
    codes = SchemaCodec(schema).encode(table.drop_columns(["who"]))
    texts, seen = [], Counter()
    for row, person in enumerate(table["who"].to_pylist()):
        own = ",".join([key_of(Fixed().words(2)), str(person), *(str(codes[one][row]) for one in codes.domain)])
        seen[own] += 1
        texts.append(hashed(own) if seen[own] == 1 else hashed(f"{hashed(own)},{seen[own]}"))
    return np.argsort(np.argsort(texts)).astype(np.uint64)


def memory_of(table, schema):
    """The engine that keeps rows in memory, with those words."""
    rows = Intake(schema).encode(table)
    chosen = kept([rows], schema.unit, lambda size: keys_of(table, schema))
    return Memory(rows.records.domain, chosen.blocks, chosen.weights, chosen.sizes)


@pytest.mark.parametrize("whole", [False, True], ids=["text", "numbers"])
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 4), st.sampled_from([0, 1, 2, 5, 9, None]), st.sampled_from("abx")), max_size=40
    ),
    most=st.integers(1, 4),
    keep=st.sampled_from(["random", "first", "latest"]),
    count=st.sampled_from(["rows", "persons"]),
)
def test_the_rows_that_memory_keeps_are_kept(name, places, whole, rows, most, keep, count):
    """Many rows of a person are alike, and some have no order: neither may let the choice differ between queries."""
    more = {} if keep == "random" else {"keep": keep, "order_by": "day"}
    schema = schema_of(rows=most, count=count, **more)
    persons = pa.array([one if whole else f"p,{one}" for one, _, _ in rows], pa.int64() if whole else pa.string())
    table = pa.table(
        {
            "who": persons,
            "day": pa.array([day for _, day, _ in rows], pa.int64()),
            "ward": pa.array([ward for _, _, ward in rows], pa.string()),
        }
    )
    memory = memory_of(table, schema)
    inside = open_engine(places.put(name, table), schema, Fixed(), "sql")
    cliques = [(), ("day",), ("ward",), ("day", "ward")]
    coding = Coding(inside.domain)
    for wanted, *found in zip(
        memory.count(coding, cliques), inside.count(coding, cliques), inside.count(coding, cliques), strict=True
    ):
        for one in found:
            assert one.counts.tolist() == wanted.counts.tolist()
    assert sorted(inside.sizes.tolist()) == sorted(memory.sizes.tolist())
    inside.close()


def test_a_random_choice_is_uniform_whether_rows_are_alike_or_not(places, name):
    """2 of 4 rows, of which two are alike: each is kept half of the time, and a person tells nothing about another."""
    runs = 2000
    rows = [(f"p{run}", day) for run in range(runs) for day in (0, 0, 1, 2)]
    days = pa.array([day for _, day in rows], pa.int64())
    table = pa.table({"who": [who for who, _ in rows], "day": days, "ward": ["a"] * len(rows)})
    with opened(name, table, schema_of(rows=2), places) as engine:
        (counted,) = engine.count(Coding(engine.domain), [("day",)])
    # Five deviations of a sum of 2,000 draws: of two rows that are alike 0, 1 or 2 are kept, variance 1/3.
    assert abs(counted.counts[0] - runs) < 5 * (runs / 3) ** 0.5
    assert np.abs(counted.counts[1:3] - runs / 2).max() < 5 * (runs / 4) ** 0.5


STRANGE = [
    "a",
    "A",
    "a ",
    " a",
    "",
    " ",
    "\u2003\t",
    "\ufffd",
    "a\ufffd",
    "it's",
    '"',
    "%s",
    "\\",
    "ü",
    "u\u0308",
    None,
]


def test_identifiers_are_told_apart_as_everywhere(places, name):
    persons = [one for place, one in enumerate(STRANGE) for _ in range(place + 1)]
    table = pa.table({"who": persons, "day": [1] * len(persons), "ward": ["a"] * len(persons)})
    schema = schema_of(rows=1, policy="other", columns=[COLUMNS[0] | {"on_bad_value": "missing"}, COLUMNS[1]])
    with opened("memory", table, schema, places) as memory, opened(name, table, schema, places) as engine:
        assert sorted(engine.sizes.tolist()) == sorted(memory.sizes.tolist())
        assert sum(map(len, [memory.sizes])) == 10
    words = []
    for one in ("memory", name):
        with pytest.raises(DataError, match="tells a person apart") as caught, opened(one, table, schema_of(), places):
            pass
        words.append(str(caught.value))
    assert words[0] == words[1]


def test_a_column_that_compares_without_case_does_not_make_one_person_of_two(tmp_path):
    import duckdb

    path = tmp_path / "people.duckdb"
    with duckdb.connect(str(path)) as made:
        made.execute("create table people (who varchar collate nocase, day bigint, ward varchar)")
        made.execute("insert into people values ('a', 1, 'a'), ('A', 1, 'a'), ('a', 2, 'a'), ('\ufffdA', 1, 'a')")
    schema = schema_of(rows=1, policy="other", columns=[COLUMNS[0] | {"on_bad_value": "missing"}, COLUMNS[1]])
    engine = open_engine(f"duckdb:///{path}?table=people", schema, SystemEntropy(), "sql")
    assert sorted(engine.sizes.tolist()) == [1, 2]
    engine.close()


@pytest.mark.parametrize("engine", ["memory", "spool", "sql"])
def test_a_value_of_another_type_in_one_part_of_a_table_is_nobody_and_changes_nobody(tmp_path, monkeypatch, engine):
    """SQLite keeps any value in any column. Once, it made text of all numbers of its part: two types of identifiers."""
    monkeypatch.setattr(sql, "ROWS_AT_ONCE", 10)
    path = tmp_path / "people.sqlite"
    with closing(sqlite3.connect(path)) as made, made:
        made.execute("create table people (who integer, day integer, ward text)")
        rows = [(number % 7, 1, "a") for number in range(35)]
        rows[13:13] = [("x", 1, "a"), (b"1", 1, "a"), (1.5, 1, "a")]
        made.executemany("insert into people values (?, ?, ?)", rows)
    schema = schema_of(rows=2, policy="other", columns=[COLUMNS[0] | {"on_bad_value": "missing"}, COLUMNS[1]])
    opened_one = open_engine(f"sqlite:///{path}?table=people", schema, SystemEntropy(), engine)
    (total,) = opened_one.count(Coding(opened_one.domain), [()])
    assert sorted(opened_one.sizes.tolist()) == [5] * 7
    assert total.counts == 14
    opened_one.close()


def test_every_value_is_looked_at_also_of_rows_that_are_cut_but_not_those_of_nobody(places, name):
    days = pa.array([1, 2, 3, 77], pa.int64())
    rows = {"day": days, "ward": ["a"] * 4}
    policies = {"policy": "other", "columns": [COLUMNS[0] | {"on_bad_value": "refuse"}, COLUMNS[1]]}
    cut = schema_of(rows=1, keep="first", order_by="day", **policies)
    with (
        pytest.raises(DataError, match="column 'day'"),
        opened(name, pa.table({"who": ["p"] * 4, **rows}), cut, places),
    ):
        pass
    with opened(name, pa.table({"who": [*"ppp", ""], **rows}), cut, places) as engine:
        assert engine.sizes.tolist() == [3]


def test_a_table_without_the_identifier_and_identifiers_of_other_types_are_refused(places, name):
    bare = {"day": pa.array([1], pa.int64()), "ward": ["a"]}
    with pytest.raises(DataError, match="has no column 'who'"), opened(name, pa.table(bare), schema_of(), places):
        pass
    table = pa.table({"who": [1.0], **bare})
    with pytest.raises(MethodError, match="identifiers must be text"), opened(name, table, schema_of(), places):
        pass


RULES = [{"if": {"ward": ["a"]}, "then": {"low": {"max": 1}}}]
RULED = [*COLUMNS, {"name": "low", "type": "integer", "min": 0, "max": 3}]


def test_rows_that_break_a_rule_count_as_elsewhere(places, name):
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "who": pa.array(rng.integers(0, 40, 300)),
            "day": pa.array(rng.integers(0, 6, 300)),
            "ward": pa.array(rng.choice(["a", "b"], 300)),
            "low": pa.array(rng.integers(0, 4, 300)),
        }
    )
    schema = schema_of(RULED, RULES, rows=4, count="persons", keep="latest", order_by="day")
    memory = memory_of(table, schema)
    inside = open_engine(places.put(name, table), schema, Fixed(), "sql")
    pairs = list(combinations(inside.domain.names, 2))
    for one, other in zip(*(engine.count(Coding(inside.domain), pairs) for engine in (memory, inside)), strict=True):
        assert one.counts.tolist() == other.counts.tolist()
    inside.close()
    ruled = schema_of(RULED, RULES, keep="latest", order_by="low")
    with pytest.raises(MethodError, match="which rules speak of"), opened(name, table, ruled, places):
        pass


def test_a_choice_is_another_one_each_time(places, name):
    """With fresh entropy; otherwise what is cut would be the same in every release."""
    table = pa.table({"who": ["p"] * 60, "day": pa.array([*range(6)] * 10, pa.int64()), "ward": ["a"] * 60})
    source = places.put(name, table)
    found = set()
    for seed in range(5):
        engine = open_engine(source, schema_of(rows=20), ScriptedEntropy(seed), "sql")
        (counted,) = engine.count(Coding(engine.domain), [("day",)])
        found.add(tuple(counted.counts.tolist()))
        engine.close()
    assert len(found) > 1
