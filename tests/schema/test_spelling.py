"""Spelling: a number has one text, whatever type it was kept in."""

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.schema.spelling import EXACT, is_plain, plain_number, spelled_decimal, spelled_float, spelled_integer

below = st.integers(1 - EXACT, EXACT - 1)


@given(below, st.integers(0, 6))
def test_whole_numbers_have_one_spelling(number, zeros):
    text = str(number)
    scaled = Decimal(number).scaleb(-zeros) * 10**zeros  # the same number with other digits behind the point
    assert spelled_integer(number) == spelled_float(float(number)) == spelled_decimal(scaled) == text
    assert plain_number(float(number)) == text
    assert is_plain(text, EXACT)


@given(below, below)
def test_different_numbers_have_different_spellings(one, other):
    assert (spelled_float(float(one)) == spelled_float(float(other))) == (one == other)


@given(st.floats(width=16, allow_nan=False))
def test_a_number_of_numpy_is_spelled_as_the_same_one_of_python(number):
    for kind in (np.float16, np.float32, np.float64):
        assert spelled_float(kind(number)) == spelled_float(number)


@given(st.decimals(allow_nan=False))
def test_a_decimal_is_spelled_without_loss(number):
    text = spelled_decimal(number)
    assert Decimal(text) == number
    if number.is_finite():
        assert spelled_decimal(Decimal(text)) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (Decimal("5.50"), "5.5"),
        (Decimal("1E+3"), "1000"),
        (Decimal("-0.0"), "0"),
        (Decimal("1E+5000"), "1E+5000"),
        (Decimal("-Infinity"), "-inf"),
        (0.5, "0.5"),
        (-0.0, "0"),
        (2.0**53, "9007199254740992.0"),
        (float("inf"), "inf"),
        (10**200, "inf"),
        (-(10**200), "-inf"),
        (2**64, "18446744073709551616"),
    ],
)
def test_spellings(number, text):
    spell = {Decimal: spelled_decimal, float: spelled_float, int: spelled_integer}[type(number)]
    assert spell(number) == text


@pytest.mark.parametrize("text", ["01", "1.0", "+1", "1e3", ".5", "0.5", "-0", " 1", str(EXACT), "00"])
def test_texts_that_numbers_would_change(text):
    assert not is_plain(text, EXACT)


@pytest.mark.parametrize("text", ["0", "-1", "a", "", "1a", "1 2", "1_000", "inf", str(EXACT - 1)])
def test_texts_that_numbers_leave_as_they_are(text):
    assert is_plain(text, EXACT)


@pytest.mark.parametrize("number", [0.5, 2.0**53, float("inf"), float("nan"), -1e300])
def test_numbers_that_are_no_label(number):
    assert plain_number(number) is None
