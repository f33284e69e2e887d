"""No noise is used twice: not in two tables of one call, not in two calls, not in two kinds of question.

Whoever gets two answers with the same noise can subtract it. The rows are empty here, so answers are the noise itself.
"""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chisquare

from helpers_entropy import ScriptedEntropy
from sfumato.data.domain import Domain
from sfumato.data.records import Records
from sfumato.data.selection import Family
from sfumato.errors import MethodError
from sfumato.privacy.budget import ZCDP, SkellamDP
from sfumato.privacy.events import Gaussian, Laplace, Skellam
from sfumato.privacy.holder import GRID, LocalHolder, Neighbours
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.party_holder import PartyHolder
from sfumato.privacy.scores import SCORES

CELLS = 4096
DOMAIN = Domain({"a": CELLS, "b": 2, "c": 2})
NOISES = [Laplace(Fraction(20)), Gaussian(Fraction(30)), Skellam(Fraction(900))]
FIVE_DEVIATIONS = 5 / np.sqrt(CELLS)
"""Of the correlation of independent vectors."""


def holder_of(budget=None, seed=2):
    rows = Records(DOMAIN, [np.zeros(0, dtype=np.int64)] * 3)
    ledger = Ledger(budget or ZCDP(10**6), "test")
    return LocalHolder(rows, Neighbours(), ledger, ScriptedEntropy(seed)), ledger


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


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: type(noise).__name__)
def test_tables_of_one_call_and_of_two_calls_have_noise_of_their_own(noise):
    holder, _ = holder_of(SkellamDP(9999, "1e-6"))
    calls = [holder.measure([("a",), ("a",)], [noise, noise]) for _ in range(2)]
    assert_independent([table.marginal.counts for call in calls for table in call])


def test_recoded_holders_go_on_with_the_same_source():
    holder, _ = holder_of()

    class Same:
        domain = DOMAIN

        def encode(self, records):
            return records

    answers = [one.measure([("a",)], [NOISES[0]])[0] for one in (holder, holder.through(Same()), holder)]
    assert_independent([one.marginal.counts for one in answers])


@pytest.mark.parametrize("noise", [Laplace(Fraction(10**6)), Gaussian(Fraction(10**6))], ids=["Laplace", "Gaussian"])
def test_dependences_of_two_calls_and_tables_have_noise_of_their_own(noise):
    holder, _ = holder_of()
    pairs = [("b", "c")] * CELLS
    scores = [holder.dependence(pairs, noise) * GRID for _ in range(2)]
    (table,) = holder.measure([("a",)], [noise])
    assert_independent([*scores, table.marginal.counts])


@pytest.mark.parametrize("noise", [NOISES[0], NOISES[2]], ids=lambda noise: type(noise).__name__)
def test_shares_of_one_call_and_of_two_calls_have_noise_of_their_own(noise):
    holder, _ = holder_of()
    ledger = Ledger(SkellamDP(9999, "1e-6"), "test")
    mask = np.zeros(2 * CELLS, dtype=np.uint64)
    sent = [PartyHolder(holder).share([("a",), ("a",)], [noise, noise], 3, mask, ledger) for _ in range(2)]
    assert_independent([part for one in sent for part in np.split(one.view(np.int64), 2)])


@pytest.mark.real_entropy
def test_two_holders_have_noise_of_their_own():
    """Every holder takes a key of its own from the operating system. A false alarm needs seven standard deviations."""
    answers = []
    for _ in range(2):
        rows = Records(DOMAIN, [np.zeros(0, dtype=np.int64)] * 3)
        holder = LocalHolder(rows, Neighbours(), Ledger(ZCDP(10**6), "test"))
        answers.append(holder.measure([("a",)], [NOISES[0]])[0].marginal.counts)
    assert_independent(answers, 7 / np.sqrt(CELLS))


def test_choices_that_follow_each_other_are_independent():
    holder, _ = holder_of(ZCDP(10**9))
    families = [Family("b", ("c",)), Family("c", ("b",)), Family("b", ())]
    picks = [holder.choose(families, SCORES["R"], Fraction(1), [0, 0, 0]) for _ in range(3000)]
    pairs = np.zeros((3, 3))
    np.add.at(pairs, (picks[:-1], picks[1:]), 1)
    assert chisquare(pairs.ravel()).pvalue > 1e-3  # all nine pairs of equal candidates are as likely


def test_a_share_leaves_its_party_under_its_mask_and_not_without_it():
    """Masks cancel in the sum of all parties, so no sum can show that they were forgotten."""
    mask = ScriptedEntropy(9).words(CELLS)
    sent = []
    for one in (np.zeros(CELLS, dtype=np.uint64), mask):
        holder, ledger = holder_of()
        sent.append(PartyHolder(holder).share([("a",)], [NOISES[0]], 2, one, ledger))
    assert (sent[1] - sent[0] == mask).all()
    assert np.abs(sent[0].view(np.int64)).max() < 1000
    with pytest.raises(MethodError, match="a mask of 4095 numbers was given for 4096 cells"):
        PartyHolder(holder).share([("a",)], [NOISES[0]], 2, mask[1:], ledger)
