"""A method that somebody else writes, in rounds: choose, measure, fit, and choose again by what the fit gets wrong."""

import subprocess
import sys
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from test_recipes import COLUMNS, ROUNDING, schema_of, table_of

import sfumato
from helpers_holders import opened
from sfumato.data.selection import Family, Selection
from sfumato.encode.rare_values import RareValues
from sfumato.errors import MethodError
from sfumato.fitting import run_job
from sfumato.job import Job
from sfumato.learn import Learned
from sfumato.models.noisy_tables import NoisyTables
from sfumato.pipeline import Guarantee, Recipe, run
from sfumato.privacy.budget import ApproxDP, PureDP
from sfumato.privacy.events import Choice, Free, Noisy
from sfumato.privacy.holder import CHOOSE
from sfumato.privacy.scores import SCORES
from sfumato.recipes import PARTS, register
from sfumato.reconcile.consistency import ConsistentNormSub
from sfumato.synthesize.gradual_update import GradualUpdate


@dataclass(frozen=True)
class TwoRounds:
    """Single columns first; then, in each round, one pair by the exponential mechanism, measured at once.

    Pairs that the tables so far already know to be dependent through a third column get a handicap: the choice of a
    round follows from the answers of the rounds before it.
    """

    rounds: int = 3
    first: Fraction = Fraction(1, 4)
    choosing: Fraction = Fraction(1, 3)

    def __call__(self, holder, known, purse):
        domain = holder.domain
        columns = [(name,) for name in domain]
        start = purse.left.part(self.first)
        tables = [*known.tables, *holder.measure(columns, start.split([1.0] * len(columns)))]
        measured = tables[len(known.tables) :]
        chosen = []
        for turn in range(self.rounds):
            open_pairs = [pair for pair in combinations(domain.names, 2) if pair not in chosen]
            if not open_pairs:
                break
            share = purse.left.part(Fraction(1, self.rounds - turn))
            families = [Family(one, (other,)) for one, other in open_pairs]
            rows = NoisyTables(domain, measured).rows
            busy = {name: sum(name in pair for pair in chosen) for name in domain}
            handicaps = [round(rows * (busy[one] + busy[other])) for one, other in open_pairs]
            place = holder.choose(families, SCORES["R"], share.part(self.choosing), handicaps)
            chosen.append(open_pairs[place])
            measured += holder.measure([chosen[-1]], [share.part(1 - self.choosing)])
        selection = Selection(tuple(chosen))
        known.check(domain, selection)
        return Learned(selection, tuple(measured))


ADAPTIVE = Recipe(
    name="adaptive",
    summary="a few pairs, each chosen by what is known so far",
    guarantee=Guarantee.EITHER,
    encode=RareValues(sigmas=None),
    encode_part=Fraction(0),
    learn=TwoRounds(),
    reconcile=ConsistentNormSub(),
    synthesize=GradualUpdate(),
    needs=(CHOOSE,),
)


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setitem(PARTS, "TwoRounds", TwoRounds)


@pytest.mark.parametrize("budget", [PureDP(3), ApproxDP(3, "1e-6")], ids=["pure", "approximate"])
def test_its_rounds_are_charged_one_by_one_and_spend_the_whole_budget(budget):
    schema = schema_of(COLUMNS)
    holder, ledger = opened(table_of(COLUMNS, 3000), schema, budget)
    model = run(ADAPTIVE, holder, schema, ledger)
    statement = ledger.statement()
    statement.verify()
    kinds = [type(event) for stage, event in statement.entries if stage == "learn"]
    assert kinds == [*[Noisy] * len(COLUMNS), *[Choice, Noisy] * 3]
    total = budget.total.amount
    assert total * (1 - ROUNDING) < statement.spent <= total
    # Every table that was paid for is in the model, and knows which event paid for it.
    events = [one.event for one in model.measurements]
    assert [statement.entries[event][1].question for event in events] == [
        f"table {' × '.join(one.clique)}" for one in model.measurements
    ]
    assert len(model.measurements) == sum(isinstance(event, Noisy) for _, event in statement.entries)
    assert len(set(model.selection.cliques)) == 3
    # Rounds get equal parts of what the first tables left: a third of each chooses, two thirds measure.
    costs = [float(event.cost(budget.notion)) for _, event in statement.entries if not isinstance(event, Free)]
    each = float(total) * 3 / 4 / 3
    assert costs[len(COLUMNS) :] == pytest.approx([each / 3, each * 2 / 3] * 3, rel=1e-4)


def test_it_finds_the_chain_with_a_large_budget():
    release = run_job(Job(schema_of(COLUMNS), ADAPTIVE, PureDP(200)), table_of(COLUMNS, 5000))
    found = release.marginal("a", "b").to_pandas().pivot(index="a", columns="b", values="count").to_numpy()
    assert len(release.model.selection.cliques) == 3
    assert release.rows == pytest.approx(5000, abs=20)
    assert found.sum() == pytest.approx(5000, abs=20)


def test_its_release_is_opened_and_sampled_by_whoever_knows_its_parts(tmp_path, registered):
    mine = replace(ADAPTIVE, learn=TwoRounds(rounds=2, choosing=Fraction(1, 5)))
    release = sfumato.fit(table_of(COLUMNS, 2000), schema_of(COLUMNS), epsilon=2, method=mine)
    again = sfumato.Release.load(release.save(tmp_path / "release", rows=10, seed=1))
    assert again.recipe == mine
    assert again.ledger == release.ledger
    assert again.sample(300, seed=4).equals(release.sample_arrow(300, seed=4))


def test_its_release_is_opened_and_sampled_even_where_how_it_learned_is_not_known(tmp_path):
    """Sampling needs only the synthesizer, which is known; the rest is shown and stored again as it was written."""
    release = sfumato.fit(table_of(COLUMNS, 2000), schema_of(COLUMNS), epsilon=2, method=ADAPTIVE)
    folder = release.save(tmp_path / "release", rows=10, seed=1)
    again = sfumato.Release.load(folder)
    assert again.sample(300, seed=4).equals(release.sample_arrow(300, seed=4))
    assert again.description() == release.description()
    with pytest.raises(MethodError, match="'TwoRounds', which is not known here"):
        run_job(Job(schema_of(COLUMNS), again.recipe, PureDP(1)), table_of(COLUMNS, 100))
    script = "import sys, sfumato; print(sfumato.Release.load(sys.argv[1]).sample(7, seed=1).num_rows)"
    other = subprocess.run([sys.executable, "-c", script, folder], capture_output=True, text=True, check=True)
    assert other.stdout == "7\n"


def test_a_part_is_registered_once_under_its_own_name(monkeypatch):
    monkeypatch.delitem(PARTS, "TwoRounds", raising=False)
    try:
        assert register(TwoRounds) is TwoRounds
        assert register(TwoRounds) is TwoRounds
        assert PARTS["TwoRounds"] is TwoRounds
        with pytest.raises(MethodError, match="a part named 'TwoRounds' is known already; give yours another name"):
            register(dataclass(frozen=True)(type("TwoRounds", (), {})))
    finally:
        PARTS.pop("TwoRounds", None)


def test_a_recipe_that_asks_for_what_is_left_and_more_is_stopped():
    @dataclass(frozen=True)
    class Greedy:
        def __call__(self, holder, known, purse):
            everything = purse.left
            holder.measure([("a",)], [everything.part(Fraction(1, 2))])
            return Learned(Selection((("a",),)), holder.measure([("b",)], [everything]))

    holder, ledger = opened(table_of(COLUMNS, 200), schema_of(COLUMNS), PureDP(1))
    with pytest.raises(sfumato.SfumatoError, match="nothing was computed"):
        run(replace(ADAPTIVE, learn=Greedy()), holder, schema_of(COLUMNS), ledger)
    assert ledger.left == pytest.approx(0.5, rel=1e-6)


def test_noise_of_one_round_says_nothing_of_another():
    """The rows are none: what is measured is noise, and the rounds' noise is not repeated."""
    wide = {"a": 40, "b": 40, "c": 40}
    holder, ledger = opened(table_of(wide, 0), schema_of(wide), PureDP(1))
    model = run(replace(ADAPTIVE, learn=TwoRounds(rounds=2)), holder, schema_of(wide), ledger)
    first, second = (one.marginal.counts.ravel() for one in model.measurements if len(one.clique) == 2)
    assert abs(np.corrcoef(first, second)[0, 1]) < 5 / np.sqrt(1600)
