"""Exact integer noise: the coins, the real numbers, the rounding, the refusals."""

import inspect
import math
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers_entropy import PrefacedEntropy, ScriptedEntropy, all_outcomes
from helpers_noise import fit, gaussian_probability, laplace_probability
from sfumato.errors import BudgetError
from sfumato.privacy import noise
from sfumato.privacy.exact_uniform import DigitSource, LazyUniform, exp_bounds
from sfumato.privacy.noise import (
    discrete_laplace,
    discrete_laplace_variance,
    rounded_gaussian,
    rounded_gaussian_variance,
)

PUBLIC = [discrete_laplace, rounded_gaussian, discrete_laplace_variance, rounded_gaussian_variance]
WIDTHS = [1, 2, 5, 32]
scales = st.builds(Fraction, st.integers(1, 2**62), st.integers(1, 2**62)).filter(
    lambda scale: Fraction(1, 2**20) <= scale <= 2**40
)


# --- every path of a sampler, by enumeration of its bits ------------------------------------------


def exp_coin(entropy) -> bool:
    source = DigitSource(entropy, 1)
    return bool(noise._exp_coins(source, LazyUniform.draw(source, 1))[0])


def half_square_coin(entropy) -> bool:
    source = DigitSource(entropy, 1)
    number = LazyUniform.draw(source, 1)
    return bool(noise._exp_coins(source, number, gate=partial(noise._half_coins, source, number))[0])


def whole_part(survival, entropy) -> int:
    return int(noise._whole_parts(DigitSource(entropy, 1), 1, survival)[0])


def mass(sampler, depth: int) -> tuple[dict[object, float], float]:
    """What `depth` bits decide, and the probability of what they leave open."""
    decided: dict[object, float] = {}
    for outcome, probability in all_outcomes(sampler, depth):
        decided[outcome] = decided.get(outcome, 0.0) + probability
    return decided, 1 - sum(decided.values())


@pytest.mark.parametrize(
    ("sampler", "truth"),
    [
        (exp_coin, 1 - math.exp(-1)),  # the mean of exp(-x)
        (half_square_coin, math.sqrt(math.pi / 2) * math.erf(math.sqrt(0.5))),  # the mean of exp(-x^2 / 2)
    ],
)
def test_all_short_paths_of_a_coin_leave_room_for_its_probability_only(sampler, truth):
    decided, open_mass = mass(sampler, depth=13)
    assert decided[True] <= truth <= decided[True] + open_mass
    assert open_mass < 0.1


@pytest.mark.parametrize(
    ("survival", "weight"),
    [
        (noise._exponential_survival, lambda k: math.exp(-k)),
        (noise._normal_survival, lambda k: math.exp(-k * k / 2)),
    ],
)
def test_all_short_paths_of_a_whole_part_leave_room_for_its_probability_only(survival, weight):
    decided, open_mass = mass(partial(whole_part, survival), depth=12)
    total = sum(weight(k) for k in range(60))
    assert open_mass < 0.01
    for k in range(5):
        low = decided.get(k, 0.0)
        assert low - 1e-12 <= weight(k) / total <= low + open_mass + 1e-12


def test_each_coin_has_the_probability_of_its_own_number():
    # A first half of numbers just above 0 and a second half just below 1; a word makes two of them.
    words = np.repeat(np.array([0, 2**64 - 1], dtype=np.uint64), 5000)
    source = DigitSource(PrefacedEntropy(words))
    numbers = LazyUniform.draw(source, 20_000)
    heads = noise._exp_coins(source, numbers, gate=partial(noise._half_coins, source, numbers))
    assert heads[:10_000].all()
    assert heads[10_000:].mean() == pytest.approx(math.exp(-0.5), abs=0.025)  # five standard deviations


# --- lazy real numbers ----------------------------------------------------------------------------


@pytest.mark.parametrize("width", WIDTHS)
def test_a_comparison_is_that_of_the_numbers_themselves(width):
    source = DigitSource(ScriptedEntropy(width), width)
    left, right = LazyUniform.draw(source, 300), LazyUniform.draw(source, 300)
    smaller = left.below(right)
    for row in range(300):
        low, high = left.interval(row, 70)
        other_low, other_high = right.interval(row, 70)
        assert high <= other_low if smaller[row] else other_high <= low


@pytest.mark.parametrize("width", WIDTHS)
def test_a_comparison_with_a_constant_is_that_of_the_numbers_themselves(width):
    constant = partial(exp_bounds, Fraction(1, 3))
    numbers = LazyUniform.draw(DigitSource(ScriptedEntropy(width), width), 300)
    smaller = numbers.below_constant(constant)
    for row in range(300):
        low, high = numbers.interval(row, 70)
        assert high <= constant(70)[0] if smaller[row] else constant(70)[1] <= low


def test_numbers_that_start_alike_are_told_apart_by_their_later_digits():
    source = DigitSource(PrefacedEntropy(*[2**63] * 6))  # three digits of two numbers
    left, right = LazyUniform.draw(source, 1000), LazyUniform.draw(source, 1000)
    smaller = left.below(right)
    assert left.interval(0, 3) == right.interval(0, 3)
    assert 400 < smaller.sum() < 600


def test_a_number_that_starts_like_a_constant_is_told_apart_by_its_later_digits():
    third = int(Fraction(1, 3) * 2**32)
    numbers = LazyUniform.draw(DigitSource(PrefacedEntropy(third << 32 | third)), 900)
    smaller = numbers.below_constant(lambda bits: (Fraction(1, 3), Fraction(1, 3)))
    assert 230 < smaller.sum() < 370


def test_views_share_the_digits_that_are_drawn_through_any_of_them():
    numbers = LazyUniform.draw(DigitSource(ScriptedEntropy(), 2), 50)
    view = numbers.take(np.array([7, 3, 7]))
    again = view.take(np.array([2, 0]))
    expected = again.interval(0, 40)
    assert view.interval(0, 40) == view.interval(2, 40) == numbers.interval(7, 40) == expected
    assert numbers.interval(3, 40) == view.interval(1, 40) != expected


@given(width=st.integers(1, 32), bits=st.integers(1, 64))
def test_leading_bits_are_the_integer_part(width, bits):
    numbers = LazyUniform.draw(DigitSource(ScriptedEntropy(bits), width), 8)
    leading = numbers.leading_bits(bits)
    digits = -(-bits // width)
    assert [int(part) for part in leading] == [
        math.floor(numbers.interval(row, digits)[0] * 2**bits) for row in range(8)
    ]


@given(power=st.builds(Fraction, st.integers(0, 400), st.integers(1, 7)), bits=st.integers(1, 200))
def test_bounds_on_the_exponential_hold_and_are_tight(power, bits):
    low, high = exp_bounds(power, bits)
    with localcontext() as context:
        context.prec = 400
        truth = Fraction((-Decimal(power.numerator) / power.denominator).exp())
    assert low - Fraction(1, 10**390) <= truth <= high + Fraction(1, 10**390)
    assert high - low <= Fraction(1, 2**bits)


@settings(deadline=None)
@given(least=st.integers(1, 12), bits=st.integers(1, 120))
def test_bounds_on_the_normal_whole_part_hold_and_are_tight(least, bits):
    low, high = noise._normal_survival(least, bits)
    with localcontext() as context:
        context.prec = 100
        weights = [(-Decimal(k * k) / 2).exp() for k in range(25)]
        truth = Fraction(sum(weights[least:]) / sum(weights))
    assert low - Fraction(1, 10**90) <= truth <= high + Fraction(1, 10**90)
    assert high - low <= Fraction(1, 2**bits)


# --- rounding -------------------------------------------------------------------------------------


@given(
    scale=scales,
    shift=st.sampled_from([Fraction(0), Fraction(1, 2)]),
    width=st.sampled_from(WIDTHS),
    point=st.integers(1, 48),
    whole=st.lists(st.integers(0, 40), min_size=1, max_size=8),
    seed=st.integers(0, 2**32),
)
def test_the_integer_part_is_that_of_the_real_number(scale, shift, width, point, whole, seed):
    numbers = LazyUniform.draw(DigitSource(ScriptedEntropy(seed), width), len(whole))
    floors = noise._scaled_floor(scale, np.array(whole), numbers, shift, point)
    for row, units in enumerate(whole):
        low, high = (scale * (units + end) + shift for end in numbers.interval(row, -(-160 // width)))
        assert int(floors[row]) <= low
        assert high <= int(floors[row]) + 1


@pytest.mark.parametrize("point", [3, 5, 8])
@pytest.mark.parametrize("scale", [Fraction(2**40 - 1, 3), Fraction(2**62 - 1, 2**25 + 1), Fraction(355, 113)])
def test_what_fixed_point_cuts_off_is_made_good(scale, point):
    # With so few bits after the point, what is cut off often moves a number past an integer.
    numbers = LazyUniform.draw(DigitSource(ScriptedEntropy()), 3000)
    whole = np.arange(3000) % 16
    floors = noise._scaled_floor(scale, whole, numbers, Fraction(1, 2), point)
    for row, units in enumerate(whole.tolist()):
        low, high = (scale * (units + end) + Fraction(1, 2) for end in numbers.interval(row, 4))
        assert int(floors[row]) <= low < high <= int(floors[row]) + 1


@pytest.mark.parametrize("word", [0, 2**64 - 1])
@pytest.mark.parametrize("scale", [Fraction(1), Fraction(2**40), Fraction(2**20 + 1, 2**20), Fraction(1, 2**20)])
def test_numbers_at_the_very_edge_of_an_integer_take_more_digits(word, scale):
    numbers = LazyUniform.draw(DigitSource(PrefacedEntropy(*[word] * 5)), 4)
    whole = np.array([0, 1, 15, 16])
    floors = noise._scaled_floor(scale, whole, numbers, Fraction(0))
    expected = [math.floor(scale * (units + numbers.interval(row, 9)[0])) for row, units in enumerate(whole.tolist())]
    assert floors.tolist() == expected


# --- the noise ------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1, 2, 7])
@pytest.mark.parametrize(
    ("batch", "probability"),
    [(noise._laplace_batch, laplace_probability), (noise._gaussian_batch, gaussian_probability)],
)
def test_noise_from_tiny_digits_fits(batch, probability, width):
    draws = batch(Fraction(9, 4), DigitSource(ScriptedEntropy(width), width), 20_000)
    assert fit(draws, probability, 2.25) > 1e-4
    assert fit(draws, probability, 2.25 * 1.1) < 1e-6


@pytest.mark.parametrize("draw", [discrete_laplace, rounded_gaussian])
@pytest.mark.parametrize("size", [0, 1, 5, noise._BATCH, noise._BATCH + 1])
def test_as_many_draws_as_asked_for(draw, size):
    drawn = draw(Fraction(3), size, ScriptedEntropy())
    assert drawn.shape == (size,)
    assert drawn.dtype == np.int64


@pytest.mark.parametrize("draw", [discrete_laplace, rounded_gaussian])
@pytest.mark.parametrize("scale", [Fraction(2**62 - 1, 2**22 + 1), Fraction(2**40), Fraction(10**9)])
def test_wide_noise_does_not_overflow(draw, scale):
    drawn = draw(scale, 100_000, ScriptedEntropy()) / float(scale)
    assert abs(drawn.mean()) < 0.02
    assert abs(drawn.std() - (1 if draw is rounded_gaussian else math.sqrt(2))) < 0.02
    assert 4 < np.abs(drawn).max() < 20


@pytest.mark.parametrize("draw", [discrete_laplace, rounded_gaussian])
def test_hardly_any_noise_is_no_error(draw):
    assert not draw(Fraction(1, 1000), 1000, ScriptedEntropy()).any()


@pytest.mark.parametrize("function", PUBLIC)
@pytest.mark.parametrize(
    "scale", [Fraction(0), Fraction(-1), Fraction(1, 2**20 + 1), Fraction(2**40 + 1), 0.5, math.nan]
)
def test_a_width_that_makes_no_sense_is_refused(function, scale):
    others = (1, ScriptedEntropy()) if len(inspect.signature(function).parameters) == 3 else ()
    with pytest.raises(BudgetError, match=r"was asked for; give an exact fraction from 2\^-20 to 2\^40"):
        function(scale, *others)


@pytest.mark.parametrize("scale", ["0.02", "0.1", "0.3", "0.7", "0.999", "1", "1.001", "3", "20"])
def test_variances_are_those_of_the_exact_probabilities(scale):
    values = np.arange(-1000, 1001)
    for variance, probability in [
        (rounded_gaussian_variance, gaussian_probability),
        (discrete_laplace_variance, laplace_probability),
    ]:
        assert variance(Fraction(scale)) == pytest.approx(
            (values**2 * probability(values, float(scale))).sum(), rel=1e-9
        )


def test_the_variance_of_wide_rounded_noise_is_sheppards():
    assert rounded_gaussian_variance(Fraction(1000)) == pytest.approx(1000**2 + 1 / 12, rel=1e-14)
