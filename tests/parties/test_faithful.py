"""The paper's mechanism: right for outsiders, and broken by any of its own participants."""

from fractions import Fraction

import numpy as np
import pytest

from helpers_entropy import ScriptedEntropy
from helpers_parties import DOMAIN, SCHEMA, holders_of, rows_of, split
from sfumato.errors import BudgetError, MethodError
from sfumato.parties import faithful
from sfumato.pipeline import Group
from sfumato.privacy.budget import ApproxDP, PureDP
from sfumato.privacy.events import Free, Laplace
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.one_share import OneShareHolder
from sfumato.recipes import RECIPES

ROWS = rows_of()
TABLES = [("a", "b"), ("c", "d"), ("b", "c"), ("a", "d")]


@pytest.mark.parametrize("parties", [2, 3, 5])
def test_a_curious_party_takes_the_noise_off_once_in_k_times_and_knows_it(parties):
    entropy, runs = ScriptedEntropy(parties), 120
    recognised = 0
    for _ in range(runs):
        holder = OneShareHolder(holders_of(split(ROWS, parties)), Ledger(PureDP(4), "a row"), entropy)
        published = holder.measure(TABLES, [Laplace(Fraction(20))] * 4)
        cleaned = [
            table.marginal.counts - own.reshape(table.domain.shape)
            for table, own in zip(published, holder.own_noise(0), strict=True)
        ]
        # Exact tables have one total. That is how a party finds out that the noise which was kept is its own.
        if len({int(table.sum()) for table in cleaned}) == 1:
            recognised += 1
            assert all((one == ROWS.project(clique).counts).all() for one, clique in zip(cleaned, TABLES, strict=True))
    assert abs(recognised - runs / parties) < 4 * np.sqrt(runs / parties)


def test_one_share_has_the_variance_of_one_draw_in_any_codes():
    empty = ROWS.take(np.arange(0))
    holder = OneShareHolder(holders_of([empty] * 3), Ledger(PureDP(400), "a row"), ScriptedEntropy(1))
    kept = holder.through(Group(DOMAIN.project(("a", "b", "c"))))
    tables = kept.measure([("a", "b", "c")] * 100, [Laplace(Fraction(5))] * 100)
    drawn = np.concatenate([table.marginal.counts.ravel() for table in tables])
    assert drawn.var() == pytest.approx(tables[0].variance, rel=0.07)
    with pytest.raises(MethodError, match="at least one"):
        OneShareHolder([], Ledger(PureDP(1), "a row"))


@pytest.mark.parametrize(("parties", "factor"), [(2, "1.25"), (3, "1.5"), (5, "2"), (10, "3.25")])
def test_the_corrected_accounting_counts_every_update(parties, factor):
    assert faithful.corrected_epsilon(Fraction(1), parties) == Fraction(factor)
    line = faithful.notice(Fraction(1), parties)
    assert f"epsilon = {float(factor):g}, not 1" in line
    assert line.startswith("NO GUARANTEE AGAINST PARTICIPANTS")


def test_every_faithful_run_says_what_it_is():
    outcome = faithful.run(RECIPES["dpview"], holders_of(split(ROWS, 3)), SCHEMA, PureDP(1))
    notes = [event.reason for _, event in outcome.statement.entries if isinstance(event, Free)]
    assert outcome.notice in notes
    assert "1.5, not 1" in outcome.notice
    with pytest.raises(BudgetError, match="leave delta out"):
        faithful.run(RECIPES["dpsyn"], holders_of(split(ROWS, 2)), SCHEMA, ApproxDP(1, "1e-6"))
