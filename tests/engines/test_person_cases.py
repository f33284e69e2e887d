"""The query that chooses among a person's rows, in a plain SQLite: it keeps the first by priority, hash and copy."""

import sqlite3
from collections import Counter
from contextlib import closing

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato
from sfumato.engines.dialects import BLANKS, DIALECTS
from sfumato.engines.person_cases import PersonCases, hashed, tells
from sfumato.engines.persons import first_of_each
from sfumato.errors import MethodError


def cases(kind="text", **unit):
    column = {"name": "day", "type": "integer", "min": 0, "max": 9}
    schema = sfumato.Schema.parse({"name": "t", "columns": [column], "unit": {"column": "who", **unit}})
    return PersonCases(schema, kind, DIALECTS["sqlite"], "00ff")


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.tuples(st.sampled_from("abc"), st.integers(-1, 1), st.integers(0, 2)), max_size=30),
    most=st.integers(1, 4),
    count=st.sampled_from(["rows", "persons"]),
)
def test_the_first_rows_by_priority_hash_and_copy_are_kept_and_weigh_their_share(rows, most, count):
    chosen = cases(rows=most, count=count)
    with closing(sqlite3.connect(":memory:")) as made:
        made.create_function("sfumato_hashed", 1, hashed)
        made.execute("create table t (person text, priority integer, r0 integer)")
        made.executemany("insert into t values (?, ?, ?)", rows)
        found = made.execute(f"select person, priority, r0, weight from ({chosen.kept('select * from t', ['r0'])})")  # noqa: S608
        found = Counter(found.fetchall())
    texts, seen = [], Counter()
    for person, _, code in rows:
        own = hashed(f"00ff,{person},{code}")
        seen[own] += 1
        texts.append(own if seen[own] == 1 else hashed(f"{own},{seen[own]}"))
    persons = np.array(["abc".index(person) for person, _, _ in rows], dtype=np.int64)
    priorities = np.array([one for _, one, _ in rows], dtype=np.int64)
    keys = np.argsort(np.argsort(texts)).astype(np.uint64)
    kept = [row for row, one in zip(rows, first_of_each(persons, priorities, keys, most), strict=True) if one]
    many = Counter(person for person, _, _ in rows)
    parts = chosen.schema.unit.parts
    wanted = [(*row, parts // min(many[row[0]], most) if parts > 1 else 1) for row in kept]
    assert found == Counter(wanted)


def test_blanks_are_those_of_the_intake():
    everything = pa.array([chr(one) for one in range(0x110000) if not 0xD800 <= one < 0xE000])
    blank = everything.filter(pc.equal(pc.utf8_trim_whitespace(everything), ""))
    assert "".join(blank.to_pylist()) == BLANKS


@pytest.mark.parametrize(
    ("value", "told"), [(b"\xff", False), ("\ufffd".encode(), False), (" \u2003".encode(), False), (b"a", True)]
)
def test_which_bytes_tell_a_person_apart(value, told):
    assert tells(value) is told


def test_identifiers_of_other_types_are_refused():
    with pytest.raises(MethodError, match="the database has it as real; inside a database identifiers must be text"):
        cases("real")
