"""A federation is a holder: the same questions over many parties as over the union of their rows."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from helpers_entropy import ScriptedEntropy
from helpers_parties import DOMAIN, SCHEMA, epsilon, holders_of, rows_of, split
from sfumato.data.coding import Coding, Keep, Level, Levels, Merge
from sfumato.data.records import Records, coded
from sfumato.errors import BudgetError, BudgetExceeded, MethodError, ModelTooLarge, ProtocolError
from sfumato.identity import Signer
from sfumato.intake.codec import SchemaCodec
from sfumato.intake.intake import Intake
from sfumato.job import Job
from sfumato.parties import federation as federation_module
from sfumato.parties import local
from sfumato.parties.curator import Chair
from sfumato.parties.federation import OFFERS, Rounds
from sfumato.parties.letters import CURATOR
from sfumato.parties.local import Company, LocalWire, Player, federation
from sfumato.parties.mailbox import Desk, MemoryMailbox
from sfumato.parties.seat import Seat
from sfumato.parties.store import MemoryStore
from sfumato.pipeline import Guarantee
from sfumato.privacy.budget import ApproxDP, Currency, PureDP, Share, SkellamDP
from sfumato.privacy.events import Noisy, table_question
from sfumato.privacy.holder import CHOOSE
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.mechanisms import Laplace, Skellam
from sfumato.privacy.opening import open_party
from sfumato.privacy.questions import noisy_dependence
from sfumato.privacy.scores import independence_difference
from sfumato.recipes import RECIPES
from sfumato.recipes.auto import over_parties
from sfumato.schema.schema import Schema

EACH = 64
"""An epsilon that buys noise which is all but surely 0."""
ROWS = rows_of()


class Union:
    """A federation in this process, with all that belongs to it at hand."""

    def __init__(self, parts, budget, colluding=None, entropy=None):
        names = tuple(f"p{number}" for number in range(len(parts)))
        signers = {name: Signer.new() for name in (*names, CURATOR)}
        keys = {name: signer.public for name, signer in signers.items()}
        self.members = Company(names, keys, colluding=min(1, len(names) - 1) if colluding is None else colluding)
        mailbox = MemoryMailbox()
        self.seats = [
            Seat(name, self.members, signers[name], holder, budget, MemoryStore())
            for name, holder in zip(names, holders_of(parts, entropy), strict=True)
        ]
        desk = Desk(CURATOR, self.members, signers[CURATOR], mailbox)
        wire = LocalWire(desk, [Player(seat, mailbox) for seat in self.seats])
        self.ledger = Ledger(budget, "a row")
        self.ledger.stage = "learn"
        chair = Chair(self.members, signers[CURATOR], MemoryStore())
        self.holder = federation(SCHEMA, self.ledger, Rounds(chair, wire))


MERGED = Merge(tuple((name, tuple(code // 2 for code in range(size))) for name, size in DOMAIN.items()))
STEPS = [
    (),
    (MERGED,),
    (Keep(("d", "a")),),
    (Levels((Level("a", (0, 0, 1, 1)),)),),
    (Keep(("a", "b")), Levels((Level("b", (0, 1, 1, 0)),)), Merge((("b", (1, 0, 0, 1)),))),
]


@pytest.mark.parametrize("parties", [1, 2, 3, 4])
@pytest.mark.parametrize("steps", STEPS, ids=lambda steps: "-".join(type(step).__name__ for step in steps) or "none")
def test_tables_of_the_federation_are_tables_of_the_union(parties, steps):
    union = Union(split(ROWS, parties), PureDP(5000))
    holder, rows = union.holder, coded(ROWS, Coding(DOMAIN, steps))
    for step in steps:
        holder = holder.through(step)
    assert holder.coding == Coding(DOMAIN, steps)
    assert holder.domain == rows.domain
    cliques = [(), *combinations(holder.domain.names, 2)]
    for clique, measured in zip(cliques, holder.measure(cliques, epsilon(EACH, len(cliques))), strict=True):
        assert (measured.marginal.counts == rows.project(clique).counts).all()
        assert measured.clique == clique
        assert measured.coding == holder.coding
        table = Noisy(table_question(clique), Laplace(Fraction(1, EACH)), holder.neighbours.marginal)
        assert union.ledger.statement().entries[measured.event] == ("learn", table)


@pytest.mark.parametrize(("parties", "colluding"), [(1, 0), (2, 1), (3, 1), (3, 2), (5, 1)])
def test_tables_have_k_over_h_times_the_variance_of_the_noise_that_is_charged(parties, colluding):
    honest = parties - colluding
    union = Union([ROWS.take(np.arange(0))] * parties, PureDP(400), colluding, ScriptedEntropy(3))
    measured = union.holder.measure([DOMAIN.names] * 100, epsilon(Fraction(1, 5), 100))
    drawn = np.concatenate([one.marginal.counts.ravel() for one in measured])
    assert measured[0].variance == pytest.approx(Laplace(Fraction(5)).variance * parties / honest)
    assert drawn.var() == pytest.approx(measured[0].variance, rel=0.05)


def test_a_budget_of_skellam_noise_buys_skellam_noise_of_the_cost_that_was_asked_for():
    union = Union(split(ROWS, 3), SkellamDP(1, 1e-6))
    part = Share(Currency.RHO, 1 / (2 * Fraction(25) ** 2))
    measured = union.holder.measure([("a", "b")], [part])
    ((_, event),) = [entry for entry in union.ledger.statement().entries if isinstance(entry[1], Noisy)]
    assert isinstance(event.noise, Skellam)
    assert Fraction(99, 100) < event.cost(union.ledger.budget.notion) / part.amount <= 1
    assert measured[0].variance == pytest.approx(625 * 1.5, rel=0.01)  # hardly more than Gaussian noise would have


def budget_for(recipe, epsilon):
    return PureDP(epsilon) if recipe.guarantee is Guarantee.PURE else ApproxDP(epsilon, "1e-6")


ADDITIVE = [name for name, recipe in RECIPES.items() if CHOOSE not in recipe.needs]


def test_every_method_runs_over_parties_and_only_privbayes_asks_for_more_than_sums():
    assert all(OFFERS.issuperset(over_parties(recipe).needs) for recipe in RECIPES.values())
    assert set(RECIPES) - set(ADDITIVE) == {"privbayes"}  # tests/parties/test_choices.py


@pytest.mark.parametrize("method", ADDITIVE)
@pytest.mark.parametrize("parties", [2, 3])
def test_every_additive_method_runs_unchanged_and_every_ledger_says_the_same(method, parties):
    job = Job(SCHEMA, over_parties(RECIPES[method]), budget_for(RECIPES[method], 2))
    outcome = local.run(job, holders_of(split(ROWS, parties)))
    outcome.statement.verify()
    events = [entry for entry in outcome.statement.entries if isinstance(entry[1], Noisy)]
    assert events
    for statement in outcome.parties.values():
        statement.verify()
        assert list(statement.entries) == events
        assert statement.guarantee["epsilon"] <= 2
    # Whatever was paid for is in the model, also the tables of pairs that only chose others.
    entries = outcome.statement.entries
    assert [entries[table.event] for table in outcome.model.measurements] == events
    rows = RECIPES[method].synthesize(outcome.model.marginals, outcome.model.selection, 500, np.random.default_rng(0))
    assert len(rows) == 500
    assert set(outcome.sent) == {CURATOR, *outcome.parties}
    assert outcome.sent["party-1"]["share"] > 0


def test_much_budget_gives_the_tables_of_the_union_through_a_whole_method():
    outcome = local.run(Job(SCHEMA, RECIPES["dpview"], PureDP(5000)), holders_of(split(ROWS, 3)))
    assert outcome.model.measurements
    for measured in outcome.model.measurements:
        assert (measured.marginal.counts == ROWS.project(measured.clique).counts).all()


def test_fit_takes_raw_tables_and_gives_a_release():
    columns = {name: [f"{name}{code}" for code in ROWS[name]] for name in DOMAIN}
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(columns)
    release, outcome = local.fit([frame[:300], frame[300:]], SCHEMA, epsilon=50, delta="1e-6", method="dpsyn")
    assert release.ledger == outcome.statement
    sampled = release.sample(rows=200)
    assert list(sampled.columns) == list(frame.columns)
    assert len(sampled) == 200
    with pytest.raises(BudgetError, match="needs a delta"):
        local.fit([frame], SCHEMA, epsilon=1, method="privsyn")


def test_digits_of_codes_are_counted_over_the_union_too():
    schema = Schema.parse(SCHEMA.to_dict() | {"bitwise": True})
    table = SchemaCodec(SCHEMA).decode(ROWS, np.random.default_rng(0))
    digits = Intake(schema).encode(table).records
    assert len(digits.domain) == 8
    parts = [open_party(table.slice(start, 450), schema) for start in (0, 450)]
    outcome = local.run(Job(schema, RECIPES["dpview"], PureDP(5000)), parts)
    for measured in outcome.model.measurements:
        assert (measured.marginal.counts == digits.project(measured.clique).counts).all()


def test_distances_to_exact_tables_are_refused_with_what_to_use_instead():
    seen = []
    own = replace(RECIPES["auto"], learn=replace(RECIPES["auto"].learn, rounds=2))
    with pytest.raises(MethodError, match=r"use one of auto, .*dp-subn"):
        local.run(Job(SCHEMA, own, ApproxDP(1, "1e-6")), holders_of(split(ROWS, 2)), approve=seen.append)
    assert not seen  # nobody was asked, and nobody has paid


def test_dependence_comes_from_noisy_tables_at_the_cost_that_was_asked_for():
    union = Union(split(ROWS, 3), PureDP(1000))
    pairs = list(combinations(DOMAIN.names, 2))
    found = union.holder.dependence(pairs, union.ledger.budget.total)
    exact = [independence_difference(ROWS.project(pair).counts) / 1024 for pair in pairs]
    assert found.scores == pytest.approx(np.array(exact), abs=2)
    assert Fraction(999) < union.ledger.statement().spent <= 1000
    # The tables that were paid for come back, each with the event that paid for it.
    assert [table.clique for table in found.tables] == pairs
    events = [union.ledger.statement().entries[table.event][1] for table in found.tables]
    assert [event.question for event in events] == [f"table {' × '.join(pair)}" for pair in pairs]
    with pytest.raises(BudgetExceeded):
        union.holder.dependence(pairs, epsilon(1)[0])


def test_noise_alone_is_not_taken_for_dependence():
    a, b = np.random.default_rng(0).integers(0, 4, (2, 5000))
    independent = rows_of(5000).domain
    rows = Records(independent, [a, b, a % 3, b % 3])
    union = Union(split(rows, 3), PureDP(1000))
    (noisy,) = union.holder.measure([("a", "b")], epsilon(Fraction(1, 20)))
    raw = np.abs(noisy.marginal.counts - 5000 / 16).sum()
    assert noisy_dependence(noisy) < raw / 2
    (empty,) = Union([ROWS.take(np.arange(0))] * 2, PureDP(1000)).holder.measure([("a", "b")], epsilon(EACH))
    assert noisy_dependence(empty) == 0


@settings(deadline=None, max_examples=20)
@given(st.integers(2, 9), st.sampled_from([PureDP("0.1"), SkellamDP("0.1", 1e-6)]))
def test_the_variance_for_plans_is_the_variance_of_the_tables(parties, budget):
    union = Union([ROWS.take(np.arange(0))] * parties, budget)
    part = budget.total.part(Fraction(1, 3))
    planned = union.holder.variance(part)
    assert not [entry for entry in union.ledger.statement().entries if isinstance(entry[1], Noisy)]
    single = budget.noise.calibrate(part.amount, union.holder.neighbours.marginal).variance
    assert planned == pytest.approx(single * parties / (parties - 1))
    assert [table.variance for table in union.holder.measure([("a",)], [part])] == [planned]


def test_long_lists_of_tables_are_asked_for_in_several_rounds(monkeypatch):
    monkeypatch.setattr(federation_module, "MOST_CELLS", 30)
    union = Union(split(ROWS, 2), PureDP(1000))
    cliques = [("a", "b"), ("c", "d"), ("a",), ("b", "c"), ("d",), ("a", "c")]
    measured = union.holder.measure(cliques, epsilon(EACH, 6))
    for clique, table in zip(cliques, measured, strict=True):
        assert (table.marginal.counts == ROWS.project(clique).counts).all()
    assert len(list(union.seats[0].store)) == 2
    with pytest.raises(ModelTooLarge):
        union.holder.measure([DOMAIN.names], epsilon(EACH))
    assert union.holder.measure([], []) == ()


@pytest.mark.parametrize(("parties", "colluding", "missing"), [(0, 0, 0), (2, 0, 0), (2, 2, 0), (3, 1, 2), (3, 1, -1)])
def test_too_few_parties_to_protect_anybody_are_refused(parties, colluding, missing):
    with pytest.raises(ProtocolError, match="one must be left whose noise protects"):
        Company(tuple("abc"[:parties]), {}, colluding, missing)


# ------------- the curious party -------------


def totals_agree(tables, own):
    """The attack of one who knows his own noise: without it, all tables must have one total, and be exact."""
    return len({int((table - noise).sum()) for table, noise in zip(tables, own, strict=True)}) == 1


@pytest.mark.parametrize("parties", [2, 3, 5])
def test_a_curious_party_cannot_take_the_noise_off(parties):
    entropy = ScriptedEntropy(parties)
    exact = [np.full(16, 50), np.full(16, 50), np.full(16, 50)]
    caught, left = 0, []
    for _ in range(150):
        drawn = [[Laplace(Fraction(4)).draw_share(parties - 1, 16, entropy) for _ in exact] for _ in range(parties)]
        published = [table + sum(noise[place] for noise in drawn) for place, table in enumerate(exact)]
        caught += totals_agree(published, drawn[0])
        left += [table - noise - true for table, noise, true in zip(published, drawn[0], exact, strict=True)]
    assert caught <= 3  # totals of 16 noisy cells agree by chance, rarely
    # What it has left is exactly the noise that its neighbours paid for.
    ratio = np.exp(-1 / 4)
    numbers = np.concatenate(left)
    reach = 12
    expected = (1 - ratio) / (1 + ratio) * ratio ** np.abs(np.arange(-reach + 1, reach))
    tail = (1 - expected.sum()) / 2
    observed = np.bincount(np.clip(numbers, -reach, reach) + reach, minlength=2 * reach + 1)
    assert stats.chisquare(observed, numbers.size * np.array([tail, *expected, tail])).pvalue > 1e-3


def test_more_rounds_than_a_study_has_are_refused_before_they_are_paid_for(monkeypatch):
    union = Union(split(ROWS, 2), PureDP(1000))
    monkeypatch.setattr(federation_module, "ROUNDS", 3)
    monkeypatch.setattr(federation_module, "MOST_CELLS", 16)
    union.holder.measure([("a", "b")], epsilon(1))
    spent = union.ledger.spent
    with pytest.raises(ProtocolError, match=r"asks for 3 more rounds of 16 cells at most, and a study has 3; declare"):
        union.holder.measure([("a", "b"), ("b", "c"), ("a", "d")], epsilon(1, 3))
    assert union.ledger.spent == spent
    union.holder.measure([("a", "b"), ("b", "c")], epsilon(1, 2))
