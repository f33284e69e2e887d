"""How a number is spelled where it stands for a label or an identifier: one way, whatever type it was kept in.

A table of whole numbers becomes one of floats as soon as pandas meets a missing value in it, and one of Python
objects as soon as it meets a word. So the text of a value may depend on the value alone, never on its type.
"""

from __future__ import annotations

import re
from decimal import Decimal
from math import isinf

from sfumato.schema.fields import decimal_of

EXACT = 2**53
"""Whole numbers below this size are the same in integers and in floats; above it, floats merge neighbours."""

_LONGEST = 400  # bits of a whole number that is still written out; what is larger lies outside all bounds


def plain_number(number: float) -> str | None:
    """The text of a float that is a whole number below 2^53; None for all others, which no label can stand for."""
    return str(int(number)) if abs(number) < EXACT and number == int(number) else None


def spelled_integer(number: int) -> str:
    """A whole number in digits; one of more than a hundred digits as an infinity."""
    if number.bit_length() > _LONGEST:
        return "-inf" if number < 0 else "inf"
    return str(number)


def spelled_float(number: float) -> str:
    """A float in digits: 1.0 is 1, and what is no whole number below 2^53 has its shortest form."""
    number = float(number)  # old PyArrow gives numbers of NumPy's own kind, which have other words for themselves
    if isinf(number):
        return "-inf" if number < 0 else "inf"
    return plain_number(number) or repr(number)


def spelled_decimal(number: Decimal) -> str:
    """A decimal number in digits and without closing zeros: 1.0 is 1 and 5.50 is 5.5."""
    if number.is_infinite():
        return spelled_float(float(number))
    if abs(number.adjusted()) > _LONGEST:
        return str(number)
    text = format(number, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("-0", "") else text


def is_plain(text: str, below: int | None = None) -> bool:
    """Whether a text means the same in a column of text and in one of whole numbers `below` some size.

    01, 1.0 and 0.5 do not; 10 does, and so does a text that is no number at all.
    """
    if decimal_of(text) is None:
        return True
    whole = re.fullmatch("0|-?[1-9][0-9]{0,99}", text) is not None
    return whole and (below is None or abs(int(text)) < below)
