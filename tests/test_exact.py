"""Numbers as text: exact, bounded before they are computed, and never printed too small."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers_cpu import least_cpu_seconds
from sfumato.exact import exact_number, printed_up

fractions = st.fractions(min_value=Fraction(1, 10**30), max_value=10**30)


@given(st.fractions())
def test_a_fraction_survives_its_text(number):
    assert exact_number(str(number)) == number == exact_number(number)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_what_it_prints(number):
    assert exact_number(number) == Fraction(repr(number))


def test_a_tenth_is_a_tenth():
    assert exact_number("0.1") == exact_number(0.1) == exact_number(" 1e-1 ") == exact_number("1/10") == Fraction(1, 10)
    assert exact_number("+.5") == exact_number("5.e-1") == Fraction(1, 2)
    assert exact_number(7) == 7


@pytest.mark.parametrize(
    "text",
    [
        "1e4000000",
        "1e401",
        "1e-401",
        "1e99999999999999999999",
        "9" * 1001,
        10**1000,
        "1/" + "9" * 1000,
        "0." + "0" * 2000,
    ],
    ids=lambda text: str(text)[:12],
)
def test_numbers_that_would_fill_the_memory_are_refused_at_once(text):
    def refused():
        with pytest.raises(ValueError, match="read"):
            exact_number(text)

    assert least_cpu_seconds(refused) < 0.2  # 10^4000000 takes seconds to compute; reading nine characters does not


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "nan",
        "inf",
        "-inf",
        "1_000",
        "١",
        "1 000",
        "0x10",
        "1e",
        "1/2/3",
        "1/-2",
        "1.5/2",
        "1/0",
        True,
        None,
        [1],
    ],
)
def test_what_is_no_number_is_refused(text):
    with pytest.raises(ValueError, match=r"is no number|divides by 0"):
        exact_number(text)


@given(fractions, st.integers(1, 15))
def test_printed_numbers_are_never_too_small_and_hardly_too_large(number, digits):
    text = printed_up(number, digits)
    assert number <= exact_number(text) <= number * (1 + Fraction(10) / 10**digits)
    assert len(text.lstrip("0.").replace(".", "").split("e")[0].strip("0")) <= digits


@given(st.integers(1, 10**6), st.integers(-8, 3))
def test_short_decimals_are_printed_as_they_are_written(digits, power):
    number = digits * Fraction(10) ** power
    assert exact_number(printed_up(number)) == number


def test_what_is_printed_reads_well():
    numbers = ["1", "0.1", "2.5", "10000", "0.0001", "1e-9", "1e-6", "3e-7", "123456", "1000000"]
    assert [printed_up(exact_number(text)) for text in numbers] == numbers
    assert printed_up(Fraction(2, 3), 3) == "0.667"
    assert printed_up(Fraction(123456789, 100)) == "1234570"
    assert printed_up(Fraction(-1, 3), 3) == "-0.333"
    assert printed_up(Fraction(12345678 * 10**9)) == "1.23457e16"
    assert printed_up(Fraction(0)) == "0"
