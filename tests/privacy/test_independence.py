"""No noise is used twice: not in two tables of one call, not in two calls, not in two kinds of question.

Whoever gets two answers with the same noise can subtract it. The rows are empty here, so answers are the noise itself.
"""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chisquare

from helpers_entropy import ScriptedEntropy
from helpers_holders import engine_of, holder_of
from sfumato.data.coding import Coding, Keep, Merge
from sfumato.data.domain import Domain
from sfumato.data.records import Records
from sfumato.data.selection import Family
from sfumato.errors import MethodError
from sfumato.privacy.budget import ZCDP, Currency, PureDP, Share, SkellamDP
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.mechanisms import Laplace, Skellam
from sfumato.privacy.neighbours import Neighbours
from sfumato.privacy.party_holder import PartyHolder
from sfumato.privacy.scores import GRID, SCORES

CELLS = 4096
DOMAIN = Domain({"a": CELLS, "b": 2, "c": 2})
NOBODY = Records(DOMAIN, [np.zeros(0, dtype=np.int64)] * 3)
PARTS = {
    "Laplace": (PureDP(1), Fraction(1, 20)),
    "Gaussian": (ZCDP(1), Fraction(1, 1800)),
    "Skellam": (SkellamDP(100, "1e-6"), Fraction(1, 8)),
}
SHARED = {"Laplace": Laplace(Fraction(20)), "Skellam": Skellam(Fraction(900))}

every_noise = pytest.mark.parametrize("kind", PARTS)
every_shared_noise = pytest.mark.parametrize("noise", SHARED.values(), ids=SHARED)
FIVE_DEVIATIONS = 5 / np.sqrt(CELLS)
"""Of the correlation of independent vectors."""


def holder_and_part(kind):
    budget, amount = PARTS[kind]
    holder, _ = holder_of(NOBODY, budget, entropy=ScriptedEntropy(2))
    return holder, Share(budget.total.currency, amount)


def assert_independent(vectors, bound=FIVE_DEVIATIONS):
    """No two of the vectors are alike, and neighbouring numbers of one are not alike either."""
    for one, other in combinations(vectors, 2):
        assert abs(np.corrcoef(one, other)[0, 1]) < bound
        # The square of a sum is the sum of the squares: noise that came with its sign turned would be seen too.
        assert np.var(one + other) == pytest.approx(np.var(one) + np.var(other), rel=0.15)
        assert abs(np.corrcoef(np.abs(one), np.abs(other))[0, 1]) < bound
    for one in vectors:
        assert abs(np.corrcoef(one[1:], one[:-1])[0, 1]) < bound
        first, second = np.split(one, 2)
        assert abs(np.corrcoef(first, second)[0, 1]) < 2 * bound
        assert abs(np.corrcoef(first, second[::-1])[0, 1]) < 2 * bound


@every_noise
def test_tables_of_one_call_and_of_two_calls_have_noise_of_their_own(kind):
    holder, part = holder_and_part(kind)
    calls = [holder.measure([("a",), ("a",)], [part, part]) for _ in range(2)]
    assert_independent([table.marginal.counts for call in calls for table in call])


@every_noise
def test_coded_holders_go_on_with_the_same_source(kind):
    holder, part = holder_and_part(kind)
    coded = holder.through(Keep(("c", "a"))).through(Merge((("c", (0, 0)),)))
    answers = [one.measure([("a",)], [part])[0] for one in (holder, coded, holder)]
    assert_independent([one.marginal.counts for one in answers])


@every_noise
def test_dependences_of_two_calls_and_tables_have_noise_of_their_own(kind):
    holder, part = holder_and_part(kind)
    pairs = [("b", "c")] * CELLS
    scores = [holder.dependence(pairs, part).scores * GRID for _ in range(2)]
    (table,) = holder.measure([("a",)], [part])
    assert_independent([*scores, table.marginal.counts])


@every_shared_noise
def test_shares_of_one_call_and_of_two_calls_have_noise_of_their_own(noise):
    party = PartyHolder(engine_of(NOBODY), Neighbours(), ScriptedEntropy(2))
    ledger = Ledger(SkellamDP(9999, "1e-6"), "test")
    mask = np.zeros(2 * CELLS, dtype=np.uint64)
    sent = [party.share(Coding(DOMAIN), [("a",), ("a",)], [noise, noise], 3, mask, ledger) for _ in range(2)]
    assert_independent([part for one in sent for part in np.split(one.view(np.int64), 2)])


@pytest.mark.real_entropy
def test_two_holders_have_noise_of_their_own():
    """Every holder takes a key of its own from the operating system. A false alarm needs seven standard deviations."""
    answers = []
    for _ in range(2):
        holder, _ = holder_of(NOBODY, PureDP(1))
        answers.append(holder.measure([("a",)], [Share(Currency.EPSILON, Fraction(1, 20))])[0].marginal.counts)
    assert_independent(answers, 7 / np.sqrt(CELLS))


def test_choices_that_follow_each_other_are_independent():
    holder, _ = holder_of(NOBODY, PureDP(3000), entropy=ScriptedEntropy(2))
    families = [Family("b", ("c",)), Family("c", ("b",)), Family("b", ())]
    part = Share(Currency.EPSILON, Fraction(1))
    picks = [holder.choose(families, SCORES["R"], part, [0, 0, 0]) for _ in range(3000)]
    pairs = np.zeros((3, 3))
    np.add.at(pairs, (picks[:-1], picks[1:]), 1)
    assert chisquare(pairs.ravel()).pvalue > 1e-3  # all nine pairs of equal candidates are as likely


def test_a_share_leaves_its_party_under_its_mask_and_not_without_it():
    """Masks cancel in the sum of all parties, so no sum can show that they were forgotten."""
    mask = ScriptedEntropy(9).words(CELLS)
    noises = [SHARED["Laplace"]]
    ledger = Ledger(PureDP(1), "test")
    sent = []
    for one in (np.zeros(CELLS, dtype=np.uint64), mask):
        party = PartyHolder(engine_of(NOBODY), Neighbours(), ScriptedEntropy(2))
        sent.append(party.share(Coding(DOMAIN), [("a",)], noises, 2, one, ledger))
    assert (sent[1] - sent[0] == mask).all()
    assert np.abs(sent[0].view(np.int64)).max() < 1000
    before = ledger.statement()
    with pytest.raises(MethodError, match="a mask of 4095 numbers was given for 4096 cells"):
        party.share(Coding(DOMAIN), [("a",)], noises, 2, mask[1:], ledger)
    assert ledger.statement() == before
