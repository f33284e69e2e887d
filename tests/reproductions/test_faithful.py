"""The paper's mechanism: right for outsiders, and broken by any of its own participants."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from helpers_entropy import ScriptedEntropy
from helpers_parties import SCHEMA, engines_of, epsilon, holders_of, rows_of, split
from reproductions import faithful
from reproductions.one_share import OneShareHolder
from reproductions.paper_union import PaperUnion
from sfumato.data.coding import Keep
from sfumato.data.selection import Selection
from sfumato.errors import BudgetError, MethodError
from sfumato.intake.codec import SchemaCodec
from sfumato.job import Job
from sfumato.learn import Learned
from sfumato.parties import local
from sfumato.privacy.budget import ApproxDP, PureDP
from sfumato.privacy.events import Choice, Free, Noisy
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.mechanisms import Laplace
from sfumato.privacy.neighbours import Neighbours
from sfumato.recipes import RECIPES

ROWS = rows_of()
NEIGHBOURS = Neighbours.of(SCHEMA)
TWENTIETH = Fraction(1, 20)
"""An epsilon that buys Laplace noise of scale 20."""
TABLES = [("a", "b"), ("c", "d"), ("b", "c"), ("a", "d")]


@pytest.mark.parametrize("parties", [2, 3, 5])
def test_a_curious_party_takes_the_noise_off_once_in_k_times_and_knows_it(parties):
    entropy, runs = ScriptedEntropy(parties), 120
    recognised = 0
    for _ in range(runs):
        holder = OneShareHolder(engines_of(split(ROWS, parties)), NEIGHBOURS, Ledger(PureDP(4), "a row"), entropy)
        published = holder.measure(TABLES, epsilon(TWENTIETH, 4))
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
    holder = OneShareHolder(engines_of([empty] * 3), NEIGHBOURS, Ledger(PureDP(400), "a row"), ScriptedEntropy(1))
    kept = holder.through(Keep(("a", "b", "c")))
    tables = kept.measure([("a", "b", "c")] * 100, epsilon(Fraction(1, 5), 100))
    drawn = np.concatenate([table.marginal.counts.ravel() for table in tables])
    assert drawn.var() == pytest.approx(tables[0].variance, rel=0.07)
    with pytest.raises(MethodError, match="at least one"):
        OneShareHolder([], NEIGHBOURS, Ledger(PureDP(1), "a row"))


@pytest.mark.parametrize(("parties", "factor"), [(2, "1.25"), (3, "1.5"), (5, "2"), (10, "3.25")])
def test_the_corrected_accounting_counts_every_update(parties, factor):
    assert faithful.corrected_epsilon(Fraction(1), parties) == Fraction(factor)
    line = faithful.notice(Fraction(1), parties)
    assert f"epsilon = {float(factor):g}, not 1" in line
    assert line.startswith("NO GUARANTEE AGAINST PARTICIPANTS")


def test_every_faithful_run_says_what_it_is():
    outcome = faithful.run(RECIPES["dpview"], engines_of(split(ROWS, 3)), SCHEMA, PureDP(1))
    notes = [event.reason for _, event in outcome.statement.entries if isinstance(event, Free)]
    assert outcome.notice in notes
    assert "1.5, not 1" in outcome.notice
    with pytest.raises(BudgetError, match="leave delta out"):
        faithful.run(RECIPES["dpsyn"], engines_of(split(ROWS, 2)), SCHEMA, ApproxDP(1, "1e-6"))


def ledgers(parties):
    return [Ledger(PureDP(4), "a row") for _ in range(parties)]


def curious(published, own):
    """Tables without a party's own noise, and whether they have one total: how it knows that no noise is left."""
    cleaned = [table - noise.reshape(table.shape) for table, noise in zip(published, own, strict=True)]
    return cleaned, len({int(table.sum()) for table in cleaned}) == 1


def test_the_last_party_of_an_update_takes_the_noise_off_every_time():
    union = PaperUnion(engines_of(split(ROWS, 3)), NEIGHBOURS, ledgers(3), ScriptedEntropy(4))
    for count in (2, 3):
        first = union.first(count)
        published = [one.marginal.counts for one in first.measure(TABLES[:2], epsilon(TWENTIETH, 2))]
        cleaned, recognised = curious(published, first.own_noise(count - 1))
        together = ROWS.take(np.arange(len(ROWS) * count // 3))
        assert recognised
        assert all((one == together.project(clique).counts).all() for one, clique in zip(cleaned, TABLES, strict=False))


def hardened_answer(seed):
    """What a hardened study of three parties publishes, and what its first party knows of the noise: its own share."""

    def learn(holder, known, purse):
        return Learned(Selection(tuple(TABLES)), holder.measure(TABLES, epsilon(TWENTIETH, 4)))

    first, *others = split(ROWS, 3)
    holders = holders_of([first], ScriptedEntropy(seed)) + holders_of(others)
    outcome = local.run(Job(SCHEMA, replace(RECIPES["dpview"], learn=learn), PureDP(1)), holders)
    published = [table.marginal.counts for table in outcome.model.measurements]
    (noise,) = {event.noise for _, event in outcome.statement.entries if isinstance(event, Noisy)}
    sizes = [table.size for table in published]
    own = noise.draw_share(2, sum(sizes), ScriptedEntropy(seed))  # tables of equal noise get it in one draw
    return published, np.split(own, np.cumsum(sizes)[:-1])


def test_the_same_curious_party_fails_in_hardened_mode():
    exact = [ROWS.project(clique).counts for clique in TABLES]
    left = []
    for seed in range(25):
        published, own = hardened_answer(seed)
        cleaned, recognised = curious(published, own)
        assert not recognised
        left += [(one - table).ravel() for one, table in zip(cleaned, exact, strict=True)]
    # What the party cannot take off is the whole noise that the ledgers say: the shares of the two others.
    assert np.concatenate(left).var() == pytest.approx(Laplace(Fraction(20)).variance, rel=0.35)


@pytest.mark.parametrize("parties", [2, 3])
def test_dp_subn_charges_every_party_for_all_that_its_rows_are_in(parties):
    epsilon = Fraction(8)
    outcome = faithful.dp_subn(engines_of(split(ROWS, parties)), SCHEMA, PureDP(epsilon))
    quarter = epsilon / 4
    for place, phases in enumerate(outcome.accounting().values(), 1):
        assert [phase for phase in phases if phase.startswith("update")] == [
            f"update by party {turn}" for turn in range(place, parties + 1)
        ]
        assert all(0.99 * quarter < cost <= quarter for cost in phases.values())
        # Of four columns each of three parties starts one, and the first of all is drawn at random: it costs nothing.
        assert len(phases) == 3 + parties - place + 1 - (parties == 3 and place == 1)
    assert outcome.parties[f"party-{parties}"].spent == pytest.approx(float(epsilon), rel=1e-2)
    assert outcome.statement is outcome.parties["party-1"]
    report = outcome.report()
    assert report.startswith("NO GUARANTEE AGAINST PARTICIPANTS")
    assert "structure initialization 2" in report
    assert len(report.splitlines()) == 1 + parties


def test_parties_choose_in_turn_and_only_the_chooser_pays():
    outcome = faithful.dp_subn(engines_of(split(ROWS, 2)), SCHEMA, PureDP(8))
    events = [[event for _, event in one.entries] for one in outcome.parties.values()]
    picks = [sum(isinstance(event, Choice) for event in one) for one in events]
    assert picks == [1, 2]  # of four columns, the first is drawn at random and counts as one of the first party's two
    assert all(any(isinstance(event, Noisy) for event in one) for one in events)


def test_dp_subn_finds_the_dependences_and_draws_rows():
    outcome = faithful.dp_subn(engines_of(split(ROWS, 3)), SCHEMA, PureDP(40))
    rows = faithful.sample(outcome, seed=1)
    assert abs(len(rows) - len(ROWS)) < 20
    for pair in (("a", "b"), ("c", "d")):
        exact, drawn = ROWS.project(pair).counts, rows.project(pair).counts
        assert np.abs(exact / exact.sum() - drawn / drawn.sum()).sum() / 2 < 0.1


def test_tables_without_any_rows_left_are_even():
    empty = ROWS.take(np.arange(0))
    outcome = faithful.dp_subn(engines_of([empty] * 2), SCHEMA, PureDP("0.01"))
    assert all((table.counts >= 0).all() for table in outcome.model.marginals.tables)
    totals = [table.total for table in outcome.model.marginals.tables]
    assert totals == pytest.approx([totals[0]] * len(totals))


def test_sums_under_encryption_are_the_same_and_are_counted():
    small = PaperUnion(engines_of(split(ROWS, 2)), NEIGHBOURS, ledgers(2), ScriptedEntropy(9))
    secret = PaperUnion(
        engines_of(split(ROWS, 2)), NEIGHBOURS, ledgers(2), ScriptedEntropy(9), add=faithful.PaillierSum(2048)
    )
    for union in (small, secret):
        union.kept = union.measure([("a", "b")], epsilon(Fraction(1, 3)))[0].marginal.counts
    assert (small.kept == secret.kept).all()
    with pytest.raises(MethodError, match="2048 or more"):
        faithful.dp_subn(engines_of(split(ROWS, 2)), SCHEMA, PureDP(1), paillier=1024)


def test_the_union_in_other_codes_charges_the_same_ledgers():
    books = ledgers(2)
    union = PaperUnion(engines_of(split(ROWS, 2)), NEIGHBOURS, books).through(Keep(("a", "b")))
    union.measure([("a",)], epsilon(Fraction(1, 2)))
    assert [book.left for book in books] == [Fraction(7, 2)] * 2


def test_a_budget_with_delta_is_refused():
    with pytest.raises(BudgetError, match="leave delta out"):
        faithful.dp_subn(engines_of(split(ROWS, 2)), SCHEMA, ApproxDP(1, "1e-6"))


def test_tables_become_one_table_and_a_report():
    table = SchemaCodec(SCHEMA).decode(ROWS, np.random.default_rng(0))
    parts = [table.slice(0, 400), table.slice(400)]
    made, outcome = faithful.synthesize(parts, SCHEMA, epsilon=10, seed=1)
    assert made.column_names == table.column_names
    assert abs(made.num_rows - table.num_rows) < 60
    assert "12.5, not 10" in outcome.report()
