"""A federation is a holder: the same questions over many parties as over the union of their rows."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from helpers_entropy import ScriptedEntropy
from helpers_parties import DOMAIN, SCHEMA, holders_of, rows_of, split
from sfumato.data.bitwise import Bitwise
from sfumato.data.levels import Leveled, levels_of
from sfumato.data.recoding import Merging, Recoding
from sfumato.data.selection import Family
from sfumato.errors import BudgetError, MethodError, ModelTooLarge, ProtocolError
from sfumato.parties import federation as federation_module
from sfumato.parties import local
from sfumato.parties.federation import Rounds, noisy_dependence
from sfumato.parties.identity import Signer
from sfumato.parties.local import Company, LocalWire, Player, federation
from sfumato.parties.mailbox import Desk, MemoryMailbox
from sfumato.parties.messages import CURATOR
from sfumato.parties.party import Seat
from sfumato.parties.store import MemoryStore
from sfumato.pipeline import Group
from sfumato.privacy.accountant import renyi_cost
from sfumato.privacy.budget import ApproxDP, PureDP, SkellamDP
from sfumato.privacy.events import Gaussian, Laplace, Noisy, Skellam
from sfumato.privacy.holder import LocalHolder, Neighbours
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.party_holder import PartyHolder, draw_share
from sfumato.privacy.scores import independence_difference
from sfumato.recipes import RECIPES
from sfumato.recipes.privbayes import PRIVBAYES

NO_NOISE = Laplace(Fraction(1, 60))
ROWS = rows_of()


class Union:
    """A federation in this process, with all that belongs to it at hand."""

    def __init__(self, parts, budget, colluding=None, entropy=None):
        names = tuple(f"p{number}" for number in range(len(parts)))
        signers = {name: Signer.new() for name in (*names, CURATOR)}
        keys = {name: signer.public for name, signer in signers.items()}
        self.members = Company(names, keys, colluding=min(1, len(names) - 1) if colluding is None else colluding)
        mailbox = MemoryMailbox()
        neighbours = Neighbours.of(SCHEMA)
        self.seats = []
        for name, part in zip(names, parts, strict=True):
            holder = PartyHolder(LocalHolder(part, neighbours, Ledger(budget, "a row"), entropy))
            self.seats.append(Seat(name, self.members, signers[name], holder, budget, MemoryStore()))
        desk = Desk(CURATOR, self.members, signers[CURATOR], mailbox)
        wire = LocalWire(desk, [Player(seat, mailbox) for seat in self.seats])
        self.ledger = Ledger(budget, "a row")
        self.ledger.stage = "measure"
        self.holder = federation(SCHEMA, self.ledger, Rounds(self.members, wire, MemoryStore()))


MERGED = Recoding(DOMAIN, tuple(Merging(np.arange(size) // 2, np.ones(size)) for size in DOMAIN.shape))
CODECS = [
    MERGED,
    Group(DOMAIN.project(("d", "a"))),
    Leveled(DOMAIN, levels_of({"a": [[0, 0, 1, 1]]})),
    Bitwise(DOMAIN),
]


@pytest.mark.parametrize("parties", [1, 2, 3, 4])
@pytest.mark.parametrize("codec", [None, *CODECS], ids=lambda codec: type(codec).__name__)
def test_tables_of_the_federation_are_tables_of_the_union(parties, codec):
    union = Union(split(ROWS, parties), PureDP(5000))
    holder, rows = union.holder, ROWS
    if codec is not None:
        holder, rows = holder.through(codec), codec.encode(ROWS)
    assert holder.domain == rows.domain
    cliques = [(), *combinations(holder.domain.names, 2)]
    for clique, measured in zip(cliques, holder.measure(cliques, [NO_NOISE] * len(cliques)), strict=True):
        assert (measured.marginal.counts == rows.project(clique).counts).all()
        assert measured.clique == clique


def test_codings_can_follow_one_another():
    union = Union(split(ROWS, 3), PureDP(1000))
    kept = Group(DOMAIN.project(("a", "b")))
    levels = Leveled(kept.domain, levels_of({"b": [[0, 1, 1, 0]]}))
    (measured,) = union.holder.through(kept).through(levels).measure([("b in 2", "a")], [NO_NOISE])
    assert (measured.marginal.counts == levels.encode(kept.encode(ROWS)).project(("b in 2", "a")).counts).all()


def test_a_codec_that_parties_do_not_know_is_refused():
    class Strange:
        domain = DOMAIN

    with pytest.raises(MethodError, match="Strange is not a coding that parties know"):
        Union(split(ROWS, 2), PureDP(1)).holder.through(Strange())


@pytest.mark.parametrize(("parties", "colluding"), [(1, 0), (2, 1), (3, 1), (3, 2), (5, 1)])
def test_tables_have_k_over_h_times_the_variance_of_the_noise_that_is_charged(parties, colluding):
    noise, honest = Laplace(Fraction(5)), parties - colluding
    union = Union([ROWS.take(np.arange(0))] * parties, PureDP(400), colluding, ScriptedEntropy(3))
    measured = union.holder.measure([DOMAIN.names] * 100, [noise] * 100)
    drawn = np.concatenate([one.marginal.counts.ravel() for one in measured])
    assert measured[0].variance == pytest.approx(noise.variance * parties / honest)
    assert drawn.var() == pytest.approx(measured[0].variance, rel=0.05)


def test_gaussian_noise_is_answered_by_skellam_noise_of_the_same_cost():
    union = Union(split(ROWS, 3), SkellamDP(1, 1e-6))
    sigma = Gaussian(Fraction(25))
    measured = union.holder.measure([("a", "b")], [sigma])
    ((_, event),) = [entry for entry in union.ledger.statement().entries if isinstance(entry[1], Noisy)]
    assert isinstance(event.noise, Skellam)
    assert Fraction(99, 100) < renyi_cost(event) / (1 / (2 * Fraction(25) ** 2)) <= 1
    assert measured[0].variance == pytest.approx(625 * 1.5, rel=0.01)


@pytest.mark.parametrize("method", ["privsyn", "dpview", "dpview+", "dpsyn", "priview"])
@pytest.mark.parametrize("parties", [2, 3])
def test_every_additive_method_runs_unchanged_and_every_ledger_says_the_same(method, parties):
    budget = PureDP(2) if RECIPES[method].guarantee == "epsilon" else ApproxDP(2, "1e-6")
    outcome = local.run(RECIPES[method], holders_of(split(ROWS, parties)), SCHEMA, budget)
    outcome.statement.verify()
    events = [entry for entry in outcome.statement.entries if isinstance(entry[1], Noisy)]
    assert events
    for statement in outcome.parties.values():
        statement.verify()
        assert list(statement.entries) == events
        assert statement.guarantee["epsilon"] <= 2
    rows = RECIPES[method].synthesize(outcome.model.marginals, outcome.model.selection, 500, np.random.default_rng(0))
    assert len(rows) == 500
    assert set(outcome.sent) == {CURATOR, *outcome.parties}
    assert outcome.sent["party-1"]["share"] > 0


def test_much_budget_gives_the_tables_of_the_union_through_a_whole_method():
    outcome = local.run(RECIPES["dpview"], holders_of(split(ROWS, 3)), SCHEMA, PureDP(5000))
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


def test_the_exponential_mechanism_is_refused_with_what_to_use_instead():
    union = Union(split(ROWS, 2), PureDP(1))
    with pytest.raises(MethodError, match="a choice by exact scores was asked for"):
        union.holder.choose([Family("a", ())], None, Fraction(1), [0])
    seen = []
    with pytest.raises(MethodError, match=r"exponential mechanism .* use one of privsyn, .*dp-subn"):
        local.run(PRIVBAYES, holders_of(split(ROWS, 2)), SCHEMA, PureDP(1), approve=seen.append)
    assert not seen  # nobody was asked, and nobody has paid


def test_dependence_comes_from_noisy_tables_at_the_cost_that_was_asked_for():
    union = Union(split(ROWS, 3), PureDP(1000))
    pairs = list(combinations(DOMAIN.names, 2))
    sensitivity = union.holder.neighbours.dependence.repeated(len(pairs))
    scores = union.holder.dependence(pairs, union.ledger.budget.total.laplace(sensitivity))
    exact = [independence_difference(ROWS.project(pair).counts) / 1024 for pair in pairs]
    assert scores == pytest.approx(np.array(exact), abs=2)
    assert Fraction(999) < union.ledger.statement().spent <= 1000


def test_noise_alone_is_not_taken_for_dependence():
    a, b = np.random.default_rng(0).integers(0, 4, (2, 5000))
    independent = rows_of(5000).domain
    rows = type(ROWS)(independent, [a, b, a % 3, b % 3])
    union = Union(split(rows, 3), PureDP(1000))
    (noisy,) = union.holder.measure([("a", "b")], [Laplace(Fraction(20))])
    raw = np.abs(noisy.marginal.counts - 5000 / 16).sum()
    assert noisy_dependence(noisy) < raw / 2
    (empty,) = Union([ROWS.take(np.arange(0))] * 2, PureDP(1000)).holder.measure([("a", "b")], [NO_NOISE])
    assert noisy_dependence(empty) == 0


@settings(deadline=None, max_examples=20)
@given(st.integers(2, 9), st.sampled_from([PureDP("0.1"), SkellamDP("0.1", 1e-6)]))
def test_the_budget_for_plans_is_what_the_noise_amounts_to(parties, budget):
    union = Union([ROWS.take(np.arange(0))] * parties, budget)
    planned = union.holder.budget.noise(union.holder.neighbours.marginal).variance
    single = budget.total.noise(union.holder.neighbours.marginal).variance
    assert planned == pytest.approx(single * parties / (parties - 1), rel=0.05)


def test_long_lists_of_tables_are_asked_for_in_several_rounds(monkeypatch):
    monkeypatch.setattr(federation_module, "MOST_CELLS", 30)
    union = Union(split(ROWS, 2), PureDP(1000))
    cliques = [("a", "b"), ("c", "d"), ("a",), ("b", "c"), ("d",), ("a", "c")]
    measured = union.holder.measure(cliques, [NO_NOISE] * 6)
    for clique, table in zip(cliques, measured, strict=True):
        assert (table.marginal.counts == ROWS.project(clique).counts).all()
    assert len(list(union.seats[0].store)) == 2
    with pytest.raises(ModelTooLarge):
        union.holder.measure([DOMAIN.names], [NO_NOISE])
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
        drawn = [[draw_share(Laplace(Fraction(4)), parties - 1, 16, entropy) for _ in exact] for _ in range(parties)]
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
