"""What every engine keeps: exact tables, cell by cell, in any coding; refusals before rows are looked at; k rows each.

A new engine needs one line in each of the two lists below.
"""

from itertools import combinations, pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers_codings import by_hand, codings, domains, rows_of
from helpers_entropy import ScriptedEntropy
from helpers_holders import Unreadable
from sfumato.data.coding import Coding, Keep, Level, Levels, Merge
from sfumato.data.domain import Domain
from sfumato.data.records import Records
from sfumato.engines import MOST_CELLS
from sfumato.engines.memory import Memory
from sfumato.errors import BudgetError, ModelTooLarge, SchemaError, SfumatoError
from sfumato.privacy.budget import PureDP
from sfumato.privacy.holder import LocalHolder
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.neighbours import Neighbours
from sfumato.privacy.opening import open_engine
from sfumato.schema.schema import Schema

ENGINES = {"memory": Memory}
"""How an engine is made of a domain and blocks of records."""

OPENED = {"memory": open_engine}
"""How an engine is made of a table, a schema and a source of entropy."""

every_engine = pytest.mark.parametrize("make", ENGINES.values(), ids=list(ENGINES))
every_opening = pytest.mark.parametrize("opening", OPENED.values(), ids=list(OPENED))

some = settings(max_examples=40)


def split(records, parts, seed):
    """The rows in blocks of any sizes, some of them maybe empty."""
    cuts = np.sort(np.random.default_rng(seed).integers(0, len(records) + 1, parts - 1))
    edges = [0, *cuts.tolist(), len(records)]
    return [records.take(np.arange(start, end)) for start, end in pairwise(edges)]


def brute_force(records, coding, clique):
    """The table of a clique, row by row and step by step."""
    counts = np.zeros(coding.domain.project(clique).shape, dtype=np.int64)
    for row in range(len(records)):
        after = by_hand({name: int(records[name][row]) for name in records.domain}, coding.steps)
        counts[tuple(after[name] for name in clique)] += 1
    return counts


@every_engine
@some
@given(data=st.data(), rows=st.integers(0, 40), parts=st.integers(1, 4), seed=st.integers(0, 99))
def test_every_table_is_counted_cell_by_cell_in_any_coding(make, data, rows, parts, seed):
    base = data.draw(domains(sizes=st.sampled_from([1, 2, 3, 7, 300, 70_000])))
    coding = data.draw(codings(base=base))
    records = rows_of(base, rows, seed)
    cliques = data.draw(
        st.lists(
            st.lists(st.sampled_from(coding.domain.names), max_size=3, unique=True)
            .map(tuple)
            .filter(lambda clique: coding.domain.cells(clique) <= 10**6),
            max_size=5,
        )
    )
    engine = make(base, split(records, parts, seed))
    tables = list(engine.count(coding, cliques))
    assert [table.clique for table in tables] == cliques
    for clique, table in zip(cliques, tables, strict=True):
        assert table.domain == coding.domain.project(clique)  # dense: every cell, in the order of the clique
        assert np.array_equal(table.counts, brute_force(records, coding, clique))
    engine.close()


@every_engine
@pytest.mark.parametrize("rows", [0, 1, 4095, 4096, 4097, 300_000])
def test_no_row_is_left_out(make, rows):
    records = rows_of(Domain({"c0": 3, "c1": 300}), rows)
    engine = make(records.domain, [records])
    (table, total) = engine.count(Coding(records.domain), [("c1", "c0"), ()])
    assert total.counts == rows
    assert np.array_equal(table.counts, records.project(("c1", "c0")).counts)


@every_engine
def test_an_engine_counts_again_and_again_and_the_order_of_questions_changes_nothing(make):
    records = rows_of(Domain(dict.fromkeys("abcdef", 5)), 500)
    engine = make(records.domain, split(records, 3, 0))
    cliques = list(combinations("abcdef", 3))
    first = [table.counts for table in engine.count(Coding(records.domain), cliques)]
    again = [table.counts for table in engine.count(Coding(records.domain), cliques[::-1])][::-1]
    each = [next(iter(engine.count(Coding(records.domain), [clique]))).counts for clique in cliques]
    for one, two, three in zip(first, again, each, strict=True):
        assert np.array_equal(one, two)
        assert np.array_equal(one, three)


@every_engine
def test_an_engine_without_rows_answers_with_zeros(make):
    domain = Domain({"a": 3, "b": 1})
    (table,) = make(domain, []).count(Coding(domain), [("b", "a")])
    assert np.array_equal(table.counts, np.zeros((1, 3)))


@every_engine
@pytest.mark.parametrize(
    ("coding", "clique", "problem"),
    [
        (lambda base: Coding(base), ("a", "b", "c"), ModelTooLarge),
        (lambda base: Coding(base), ("d",), SchemaError),
        (lambda base: Coding(base).then(Keep(("a",))), ("b",), SchemaError),
        (lambda base: Coding(Domain({"a": 3, "b": 5})), ("a",), SchemaError),
        (lambda base: Coding(Domain({"a": 3, "x": 2})), ("x",), SchemaError),
    ],
    ids=["too large", "unknown", "dropped", "another size", "another base"],
)
def test_what_cannot_be_counted_is_refused(make, coding, clique, problem):
    base = Domain({"a": 1 << 16, "b": 1 << 12, "c": 1 << 12})
    assert base.cells() > MOST_CELLS
    engine = make(base, [rows_of(base, 10)])
    with pytest.raises(problem):
        list(engine.count(coding(base), [("a",), clique]))


def test_a_holder_refuses_before_the_rows_are_looked_at_and_before_it_charges():
    base = Domain({"a": 1 << 16, "b": 1 << 12, "c": 1 << 12})
    ledger = Ledger(PureDP(1), "test")
    holder = LocalHolder(Unreadable(base), Neighbours(), ledger)
    for clique in (("a", "b", "c"), ("d",), ("a", "a")):
        with pytest.raises(SfumatoError):
            holder.measure([("a",), clique], [PureDP(1).total.part(0)] * 2)
    with pytest.raises(BudgetError):
        holder.measure([("a",)], [PureDP(2).total])
    with pytest.raises(SchemaError):
        holder.through(Merge((("a", (0, 0)),)))
    assert ledger.left == 1


@some
@given(data=st.data(), seed=st.integers(0, 99))
def test_a_holder_counts_through_one_step_after_the_other_as_through_all_at_once(data, seed):
    coding = data.draw(codings())
    records = rows_of(coding.base, 30, seed)
    holder = LocalHolder(Memory(coding.base, [records]), Neighbours(), Ledger(PureDP(1), "test"))
    for step in coding.steps:
        holder = holder.through(step)
    assert holder.coding == coding
    assert holder.domain == coding.domain
    clique = coding.domain.names[:2]
    (table,) = holder._engine.count(holder.coding, [clique])
    assert np.array_equal(table.counts, brute_force(records, coding, clique))


# ------------------------------------------------------------------------------------------------- rows of a person

AGES = {"name": "age", "type": "integer", "min": 0, "max": 99}


def schema_of(rows, **more):
    return Schema.parse({"name": "visits", "unit": {"column": "id", "rows": rows, **more}, "columns": [AGES]})


def counted(opening, frame, schema, seed=0):
    """How many rows of each age are counted. An age tells whose row it is: person p has the ages 10 p … 10 p + 9."""
    engine = opening(frame, schema, ScriptedEntropy(seed))
    (table,) = engine.count(Coding(engine.domain), [("age",)])
    engine.close()
    return np.asarray(table.counts)


def visits(each, seed=0):
    """Person p has `each[p]` rows, of different ages of its own; rows are in any order."""
    rows = [
        {"id": f"p{person}", "age": 10 * person + place} for person, count in enumerate(each) for place in range(count)
    ]
    return pd.DataFrame(rows, columns=["id", "age"]).sample(frac=1, random_state=seed)


@every_opening
@settings(max_examples=25)
@given(
    each=st.lists(st.integers(0, 10), max_size=10),
    most=st.integers(1, 5),
    keep=st.sampled_from(["random", "first", "latest"]),
    seed=st.integers(0, 99),
)
def test_of_each_person_at_most_k_rows_are_counted_and_the_right_ones(opening, each, most, keep, seed):
    more = {} if keep == "random" else {"keep": keep, "order_by": "age"}
    counts = counted(opening, visits(each, seed), schema_of(most, **more), seed)
    assert counts.max() <= 1
    own = counts.reshape(10, 10)
    for person, count in enumerate(each):
        kept = np.flatnonzero(own[person])
        assert len(kept) == min(count, most)
        if keep == "first":
            assert kept.tolist() == list(range(min(count, most)))
        if keep == "latest":
            assert kept.tolist() == list(range(max(0, count - most), count))
    assert own[len(each) :].sum() == 0


@every_opening
def test_a_random_choice_of_rows_is_uniform(opening):
    runs, each, most = 200, 5, 2
    frame = visits([each] * 10).sort_values("age")  # always in this order: only the choice is random
    kept = sum(counted(opening, frame, schema_of(most), seed) for seed in range(runs))
    # 2,000 persons keep each of their rows with probability 2/5: five deviations are 110.
    per_place = kept.reshape(10, 10).sum(axis=0)
    assert per_place[each:].sum() == 0
    assert np.abs(per_place[:each] - runs * 10 * most / each).max() < 110


@every_opening
def test_without_an_identifier_every_row_counts(opening):
    schema = Schema.parse({"name": "visits", "unit": {"rows": 2}, "columns": [AGES]})
    assert counted(opening, visits([7, 9])[["age"]], schema).sum() == 16


def test_levels_and_merged_codes_are_counted_without_new_rows():
    base = Domain({"a": 4, "b": 2})
    records = Records(base, [np.array([0, 1, 2, 3, 3]), np.array([0, 1, 0, 1, 1])])
    coding = Coding(base, (Merge((("a", (0, 0, 1, 2)),)), Levels((Level("a", (0, 0, 1)),))))
    (table,) = Memory(base, [records]).count(coding, [("a in 2", "b", "a")])
    assert table.counts.tolist() == [[[1, 1, 0], [1, 0, 0]], [[0, 0, 0], [0, 0, 2]]]
