"""The paper's own search: who is asked what, who pays how much, and that it finds what is there."""

from fractions import Fraction

import numpy as np
import pytest

from helpers_entropy import ScriptedEntropy
from sfumato.data.domain import Domain
from sfumato.data.records import Records
from sfumato.privacy.budget import PureDP, Share
from sfumato.privacy.holder import LocalHolder, Neighbours
from sfumato.privacy.ledger import Ledger
from sfumato.select.sequential_network import SequentialNetwork, start_in_turn


class Together(LocalHolder):
    """The rows of several parties; whoever is asked, the ledger of each party that has rows in the answer pays."""

    def __init__(self, records, shares, epsilon):
        self._whole, self._shares = records, shares
        self.ledgers = [Ledger(PureDP(epsilon), "test") for _ in shares]
        self.parties = [
            LocalHolder(records.take(rows), Neighbours(), ledger, ScriptedEntropy(place))
            for place, (rows, ledger) in enumerate(zip(shares, self.ledgers, strict=True))
        ]
        super().__init__(records, Neighbours(), Ledger(PureDP(10_000), "all"), ScriptedEntropy(99))

    def measure(self, cliques, noises):
        return self.first(len(self.parties)).measure(cliques, noises)

    def first(self, count):
        rows = np.concatenate(self._shares[:count])
        prefix = LocalHolder(self._whole.take(rows), Neighbours(), Ledger(PureDP(10_000), "some"), ScriptedEntropy(7))
        others = self.parties[:count]

        class Prefix:
            domain, neighbours = prefix.domain, prefix.neighbours

            def measure(self, cliques, noises):
                for one in others:
                    one.measure(cliques, noises)
                return prefix.measure(cliques, noises)

        return Prefix()


def chain_of(rows=12_000, length=6, flip=0.2):
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 2, rows)]
    for _ in range(length - 1):
        columns.append(np.where(rng.random(rows) < flip, rng.integers(0, 2, rows), columns[-1]))
    return Records(Domain([(f"c{place}", 2) for place in range(length)]), columns)


def split(records, parties):
    return np.array_split(np.random.default_rng(1).permutation(len(records)), parties)


@pytest.mark.parametrize("parties", [1, 2, 4])
def test_the_first_of_k_parties_pays_for_k_updates(parties):
    records = chain_of(length=8)
    union = Together(records, split(records, parties), 100)
    SequentialNetwork()(union, Share("epsilon", Fraction(3, 4)))
    quarter = Fraction(1, 4)
    for place, ledger in enumerate(union.ledgers):
        updates = parties - place
        # The paper counts three quarters for everybody before the parameters; the rest of its own four is not here.
        assert 100 - ledger.left == pytest.approx(float(quarter * (2 + updates)), rel=1e-6)


def test_with_a_large_budget_the_chain_is_found():
    records = chain_of()
    union = Together(records, split(records, 3), 10_000)
    selection = SequentialNetwork(theta=40_000.0)(union, Share("epsilon", Fraction(30)))
    assert {frozenset(clique) for clique in selection.cliques} == {frozenset((f"c{i}", f"c{i + 1}")) for i in range(5)}


@pytest.mark.parametrize(("parties", "picks"), [(1, [5]), (3, [1, 2, 2]), (4, [0, 1, 1, 3])])
def test_parties_choose_in_turn(parties, picks):
    records = chain_of()
    union = Together(records, split(records, parties), 1)
    parents = start_in_turn(union.parties, records.domain, 8, Fraction(1, 2), 50, 0)
    assert [len(ledger.statement().entries) for ledger in union.ledgers] == picks
    assert all(
        ledger.left == (Fraction(1, 2) if count else 1) for ledger, count in zip(union.ledgers, picks, strict=True)
    )
    seen: set[str] = set()
    for column, above in parents.items():
        assert set(above) <= seen
        assert len(above) == min(2, len(seen))
        seen.add(column)
    assert seen == set(records.domain)


def test_one_column_needs_no_question():
    records = Records(Domain({"a": 3}), [np.arange(3)])
    union = Together(records, split(records, 1), 1)
    assert SequentialNetwork()(union, Share("epsilon", Fraction(1))).cliques == (("a",),)
    assert union.ledgers[0].left == 1
