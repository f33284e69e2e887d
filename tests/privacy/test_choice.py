"""The exponential mechanism: exact probabilities, what it costs, and that a holder pays first."""

from fractions import Fraction
from itertools import product
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from helpers_entropy import ScriptedEntropy
from sfumato.data.domain import Domain
from sfumato.data.records import Records
from sfumato.data.selection import Family
from sfumato.errors import BudgetError, BudgetExceeded
from sfumato.privacy import choice
from sfumato.privacy.accountant import concentrated_cost, gaussian_cost, gaussian_epsilon, pure_cost
from sfumato.privacy.budget import PureDP
from sfumato.privacy.choice import exponential_choice
from sfumato.privacy.events import Choice, event_from_dict
from sfumato.privacy.holder import LocalHolder, Neighbours
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.scores import SCORES

gaps = st.lists(st.integers(0, 5_000), max_size=12).map(lambda found: [*found, 0])
rates = st.fractions(Fraction(0), Fraction(20), max_denominator=10**6)


@given(gaps, rates, st.sampled_from([32, 128, 200]))
def test_weights_lie_between_their_bounds_and_the_bounds_are_tight(gaps, rate, bits):
    for gap, (low, high) in zip(gaps, choice._weights(gaps, rate, bits), strict=True):
        exact = exp(-float(rate) * gap) * 2.0**bits
        assert low <= exact * (1 + 1e-9) + 1
        assert high >= exact * (1 - 1e-9) - 1
        # Squaring doubles a relative error; what is left of it after 13 squarings is far from 2^-bits.
        assert high - low <= 2 ** (4 + max(gaps).bit_length()) * max(1, max(gaps).bit_length())


@given(gaps, rates, st.fractions(0, 1, max_denominator=2**24).filter(lambda u: u < 1))
def test_a_clear_place_is_where_the_cumulative_weights_say(gaps, rate, low):
    place = choice._place(gaps, rate, 128, low, low + Fraction(1, 2**128))
    weights = np.exp(-float(rate) * np.array(gaps))
    edges = np.concatenate([[0.0], np.cumsum(weights)]) / weights.sum()
    if place is not None:
        assert edges[place] - 1e-9 <= float(low) <= edges[place + 1] + 1e-9


def test_where_digits_are_too_few_nothing_is_decided():
    assert choice._place([0, 0], Fraction(1), 4, Fraction(7, 16), Fraction(9, 16)) is None
    assert choice._place([0, 0], Fraction(1), 4, Fraction(0), Fraction(1, 16)) == 0


def test_an_unclear_choice_goes_on_with_more_digits(monkeypatch):
    monkeypatch.setattr(choice, "_FIRST_DIGITS", 1)

    class Middle(ScriptedEntropy):
        """The first number is one half up to its first digit, and then zeros: the second of two equal parts."""

        def __init__(self):
            self._digits = [2**31, *[0] * 20]

        def words(self, count):
            return np.array([self._digits.pop(0)] * count, dtype=np.uint64)

    # 1/2 = 0.1000… is the very edge, which only more digits than there will ever be could decide; a one far away does.
    entropy = Middle()
    entropy._digits[4] = 1
    assert exponential_choice([5, 5], Fraction(1), entropy) == 1


@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(1, 7)])
def test_candidates_are_drawn_with_the_probabilities_that_are_charged(rate):
    scores = [0, 3, 3, -5, 4]
    entropy = ScriptedEntropy(1)
    seen = np.bincount([exponential_choice(scores, rate, entropy) for _ in range(6_000)], minlength=5)
    weights = np.exp(float(rate) * np.array(scores))
    assert chisquare(seen, weights / weights.sum() * 6_000).pvalue > 1e-3
    wrong = np.exp(float(rate) * 1.3 * np.array(scores))
    assert chisquare(seen, wrong / wrong.sum() * 6_000).pvalue < 1e-3


@given(
    st.lists(st.tuples(st.integers(-50, 50), st.integers(-3, 3)), min_size=1, max_size=8),
    st.fractions(Fraction(1, 100), 2, max_denominator=100),
)
def test_outcomes_of_neighbours_differ_by_at_most_epsilon_and_span_at_most_epsilon(moves, rate):
    """The two facts that are charged: pure epsilon, and a bounded range for zCDP."""
    one = np.array([score for score, _ in moves], dtype=float)
    other = one + np.array([step for _, step in moves])
    event = Choice("test", rate, 3)
    log_one = float(rate) * one - np.logaddexp.reduce(float(rate) * one)
    log_other = float(rate) * other - np.logaddexp.reduce(float(rate) * other)
    ratio = log_one - log_other
    assert np.abs(ratio).max() <= float(event.epsilon) + 1e-9
    assert ratio.max() - ratio.min() <= float(event.epsilon) + 1e-9


def test_zcdp_cost_bounds_the_divergences_of_a_worst_case():
    epsilon = 1.0
    for high in np.linspace(0.05, epsilon - 0.05, 10):  # log-ratios high and high - epsilon, on two outcomes
        ratios = np.exp([high, high - epsilon])
        p = (1 - ratios[1]) / (ratios[0] - ratios[1])
        q = np.array([p, 1 - p])
        for order in (1.5, 2, 8, 32):
            divergence = log((q * ratios**order).sum()) / (order - 1)
            assert divergence <= order * epsilon**2 / 8 + 1e-12


def test_costs_and_json():
    event = Choice("one of 3", Fraction(1, 4096), 2049)
    assert pure_cost(event) == Fraction(2049, 2048) == event.epsilon
    assert concentrated_cost(event) == event.epsilon**2 / 8
    # In Gaussian DP it is charged as any epsilon-DP event, for which a small delta wants more than epsilon.
    assert gaussian_epsilon(gaussian_cost(event), 1e-12) > float(event.epsilon)
    assert event_from_dict({"stage": "select", **event.to_dict()}) == event
    with pytest.raises(BudgetError, match="choice and free"):
        event_from_dict({"event": "vote", "question": "", "sensitivity_l1": "1", "sensitivity_l2_squared": "1"})
    with pytest.raises(BudgetError, match="cannot be read"):
        event_from_dict({"event": "choice", "question": "which"})


def test_senseless_choices_are_refused():
    with pytest.raises(BudgetError, match="no candidates"):
        exponential_choice([], Fraction(1), ScriptedEntropy())
    for rate in (Fraction(-1), Fraction(10**6)):
        with pytest.raises(BudgetError, match="exact fraction"):
            exponential_choice([1], rate, ScriptedEntropy())


def table_holder(rows, ledger, domain=None):
    domain = domain or Domain({"a": 2, "b": 2, "c": 2})
    columns = np.array(rows, dtype=np.int64).reshape(-1, len(domain)).T
    return LocalHolder(Records(domain, list(columns)), Neighbours(), ledger, ScriptedEntropy(3))


FAMILIES = [Family("a", ("b",)), Family("a", ("c",)), Family("a", ())]


def test_a_holder_prefers_the_parent_that_says_more_and_charges_what_it_was_told():
    ledger = Ledger(PureDP(1), "test")
    rows = [(a, a, c) for a, c in product(range(2), range(2))] * 500
    holder = table_holder(rows, ledger)
    picks = {holder.choose(FAMILIES, SCORES["R"], Fraction(1, 20), [0, 0, 0]) for _ in range(20)}
    assert picks == {0}
    assert ledger.left == 0
    with pytest.raises(BudgetExceeded):
        holder.choose(FAMILIES, SCORES["R"], Fraction(1, 20), [0, 0, 0])
    assert len(ledger.statement().entries) == 20


def test_handicaps_are_subtracted():
    ledger = Ledger(PureDP(1), "test")
    rows = [(a, a, c) for a, c in product(range(2), range(2))] * 500
    assert table_holder(rows, ledger).choose(FAMILIES, SCORES["R"], Fraction(1), [10**7, 0, 10**7]) == 1


def test_a_holder_pays_for_a_choice_before_it_looks():
    class Unreadable(Records):
        def __getitem__(self, name):
            raise AssertionError("the rows were looked at")

    domain = Domain({"a": 2, "b": 2})
    ledger = Ledger(PureDP(1), "test")
    holder = LocalHolder(Unreadable(domain, [np.array([0, 1])] * 2), Neighbours(), ledger)
    with pytest.raises(BudgetExceeded):
        holder.choose([Family("a", ("b",))], SCORES["R"], Fraction(2), [0])
    with pytest.raises(AssertionError, match="looked at"):
        holder.choose([Family("a", ("b",))], SCORES["R"], Fraction(1), [0])
    assert len(ledger.statement().entries) == 1
