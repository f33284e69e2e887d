"""The paper's own search: who is asked what, who pays how much, and that it finds what is there."""

from fractions import Fraction

import numpy as np
import pytest

from helpers_entropy import ScriptedEntropy
from helpers_parties import epsilon
from reproductions.paper_union import PaperUnion
from reproductions.sequential_network import SequentialNetwork, start_in_turn
from sfumato.data.domain import Domain
from sfumato.data.records import Records
from sfumato.engines.memory import Memory
from sfumato.privacy.budget import PureDP
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.neighbours import Neighbours


def together(records, parties, budget):
    """The rows split among parties, and the ledger of each."""
    parts = np.array_split(np.random.default_rng(1).permutation(len(records)), parties)
    engines = [Memory(records.domain, [records.take(rows)]) for rows in parts]
    ledgers = [Ledger(PureDP(budget), "test") for _ in parts]
    return PaperUnion(engines, Neighbours(), ledgers, ScriptedEntropy(7)), ledgers


def chain_of(rows=12_000, length=6, flip=0.2):
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 2, rows)]
    for _ in range(length - 1):
        columns.append(np.where(rng.random(rows) < flip, rng.integers(0, 2, rows), columns[-1]))
    return Records(Domain([(f"c{place}", 2) for place in range(length)]), columns)


@pytest.mark.parametrize("parties", [1, 2, 4])
def test_the_first_of_k_parties_pays_for_k_updates(parties):
    records = chain_of(length=8)
    union, ledgers = together(records, parties, 100)
    SequentialNetwork()(union, *epsilon(Fraction(3, 4)), *epsilon(Fraction(1, 4)))
    quarter = Fraction(1, 4)
    for place, ledger in enumerate(ledgers):
        updates = parties - place
        # The paper counts three quarters for everybody before the parameters; the rest of its own four is not here.
        assert 100 - ledger.left == pytest.approx(float(quarter * (2 + updates)), rel=1e-6)


def test_with_a_large_budget_the_chain_is_found():
    records = chain_of()
    union, _ = together(records, 3, 10_000)
    selection = SequentialNetwork(theta=40_000.0)(union, *epsilon(30), *epsilon(10))
    assert {frozenset(clique) for clique in selection.cliques} == {frozenset((f"c{i}", f"c{i + 1}")) for i in range(5)}


@pytest.mark.parametrize(("parties", "picks"), [(1, [5]), (3, [1, 2, 2]), (4, [0, 1, 1, 3])])
def test_parties_choose_in_turn(parties, picks):
    records = chain_of()
    union, ledgers = together(records, parties, 1)
    parents = start_in_turn(union.parties, records.domain, 8, *epsilon(Fraction(1, 2)), 50, 0)
    assert [len(ledger.statement().entries) for ledger in ledgers] == picks
    assert all(ledger.left == (Fraction(1, 2) if count else 1) for ledger, count in zip(ledgers, picks, strict=True))
    seen: set[str] = set()
    for column, above in parents.items():
        assert set(above) <= seen
        assert len(above) == min(2, len(seen))
        seen.add(column)
    assert seen == set(records.domain)


def test_one_column_needs_no_question():
    records = Records(Domain({"a": 3}), [np.arange(3)])
    union, ledgers = together(records, 1, 1)
    assert SequentialNetwork()(union, *epsilon(1), *epsilon(1)).cliques == (("a",),)
    assert ledgers[0].left == 1
