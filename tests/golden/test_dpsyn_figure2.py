"""Figure 2 of the DPSyn paper on the NIST challenge: up to how many tables Laplace noise is less than Gaussian noise.

The caption gives the crossing points of "lap_basic" and "gauss_zcdp", 18, 28, 19 and 28, but our text of the paper lost
the titles of the four parts. The paper's own formula says what they can have been, if they are two epsilons by two
deltas. The crossing depends mostly on delta: it must be 10^-8 and 10^-12. Epsilon is left open. If crossing points are
rounded to the nearest whole number, it is 0.1 and one of 0.2, 0.5 and 1; if they are rounded down, to the last number
of tables for which Laplace noise is better, it is 1 and 2. All that fits is held here.
"""

from itertools import product
from math import ceil, floor, log, sqrt

import pytest

from sfumato.privacy.budget import ZCDP, ApproxDP, PureDP
from sfumato.privacy.mechanism_choice import choose_mechanism
from sfumato.privacy.neighbours import Neighbours

ADDED = Neighbours()
CAPTION = (18, 28, 19, 28)
EPSILONS = (0.1, 0.2, 0.5, 1, 2, 5, 10)
DELTAS = tuple(10.0**-power for power in range(4, 15))


def concentrated_rho(epsilon, delta):
    """The solution of rho + 2 sqrt(rho log(1/delta)) = epsilon."""
    return (sqrt(log(1 / delta) + epsilon) - sqrt(log(1 / delta))) ** 2


def paper_deviations(tables, epsilon, delta):
    """Standard deviations of a cell: Laplace with basic composition, and Gaussian with zCDP."""
    return sqrt(2) * tables / epsilon, sqrt(tables / (2 * concentrated_rho(epsilon, delta)))


def paper_crossing(epsilon, delta):
    """Where both deviations are equal; a real number."""
    return epsilon**2 / (4 * concentrated_rho(epsilon, delta))


def our_last(epsilon, delta, neighbours=ADDED):
    """The largest number of tables for which we take Laplace noise."""
    budget = ApproxDP(epsilon, delta)
    pure = [isinstance(choose_mechanism(budget, tables, neighbours), PureDP) for tables in range(1, 60)]
    assert pure == sorted(pure, reverse=True)  # once Gaussian noise is better, it stays better
    return sum(pure)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-8), (1, 1e-8), (2, 1e-12), (10, 1e-5)])
def test_the_crossing_is_where_the_formulas_meet(epsilon, delta):
    assert concentrated_rho(epsilon, delta) + 2 * sqrt(
        concentrated_rho(epsilon, delta) * log(1 / delta)
    ) == pytest.approx(epsilon)
    laplace, gaussian = paper_deviations(paper_crossing(epsilon, delta), epsilon, delta)
    assert laplace == pytest.approx(gaussian)
    laplace, gaussian = paper_deviations(floor(paper_crossing(epsilon, delta)), epsilon, delta)
    assert laplace <= gaussian


def test_the_caption_fits_two_deltas_only_and_few_epsilons():
    found = set()
    for rounded in (round, floor, ceil):
        for low, high, large, small in product(EPSILONS, EPSILONS, DELTAS, DELTAS):
            by_row = [(low, large), (low, small), (high, large), (high, small)]
            by_column = [(low, large), (high, large), (low, small), (high, small)]
            for order in (by_row, by_column):
                if tuple(rounded(paper_crossing(*part)) for part in order) == CAPTION:
                    found.add((rounded.__name__, low, high, large, small))
    assert {(large, small) for *_, large, small in found} == {(1e-8, 1e-12)}
    assert {reading[:3] for reading in found} == {
        ("round", 0.1, 0.2),
        ("round", 0.1, 0.5),
        ("round", 0.1, 1),
        ("floor", 1, 2),
    }


@pytest.mark.parametrize(
    ("epsilon", "delta", "papers", "ours"),
    [
        ("0.1", "1e-8", 18.47, 10),
        ("0.1", "1e-12", 27.68, 18),
        ("1", "1e-8", 18.92, 13),
        ("1", "1e-12", 28.13, 21),
        ("2", "1e-8", 19.41, 14),
        ("2", "1e-12", 28.62, 22),
    ],
)
def test_our_crossing_comes_sooner_because_gaussian_noise_is_accounted_exactly(epsilon, delta, papers, ours):
    assert paper_crossing(float(epsilon), float(delta)) == pytest.approx(papers, abs=0.005)
    assert our_last(epsilon, delta) == ours < floor(papers)


def test_when_rows_are_replaced_laplace_noise_doubles_and_gaussian_noise_does_not():
    assert our_last("1", "1e-8", Neighbours(replace=True)) == 6
    assert our_last("1", "1e-8", Neighbours(rows=3)) == our_last("1", "1e-8") == 13


@pytest.mark.parametrize("budget", [PureDP(1), ZCDP("0.1")])
@pytest.mark.parametrize("tables", [1, 1_000])
def test_other_budgets_stay_what_they_are(budget, tables):
    assert choose_mechanism(budget, tables, Neighbours()) is budget


def test_a_narrowed_budget_has_the_same_epsilon_exactly():
    assert choose_mechanism(ApproxDP("0.1", "1e-9"), 1, Neighbours()) == PureDP("0.1")
    wide = ApproxDP("0.1", "1e-9")
    assert choose_mechanism(wide, 100, Neighbours()) is wide
