"""Exact numbers as text: read within bounds, and printed rounded up.

A short text can stand for a number that fills all memory: "1e4000000" is nine characters. Every number that arrives
from outside (a budget, a ledger, a manifest, a message) is read here, where its size is known before it is computed.
"""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

LONGEST = 1_000
"""The most characters of a number; the longest that Sfumato writes itself have some two hundred."""

LARGEST_EXPONENT = 400
"""Numbers are written with a power of ten of at most this size: more than floats have."""

_NUMBER = re.compile(r"[+-]?(?:[0-9]+/[0-9]+|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE](?P<exponent>[+-]?[0-9]+))?)")


def exact_number(value: str | float | Fraction) -> Fraction:
    """The exact fraction that a number or its text stands for: 0.1 is one tenth, not the nearest binary float.

    Texts are decimals, such as "-12.5" or "1e-9", and fractions, such as "2/3". Anything else, and what is longer or
    larger than any number that we have a use for, is a ValueError, raised before the number is computed.

    >>> exact_number("1e-3")
    Fraction(1, 1000)
    """
    if isinstance(value, Fraction):
        return value
    if isinstance(value, int) and value.bit_length() > 3 * LONGEST:  # else its text would be long to make
        raise ValueError(f"a number of {value.bit_length()} bits was given; at most {3 * LONGEST} are read")
    text = str(value).strip()
    if len(text) > LONGEST:
        raise ValueError(f"a number of {len(text)} characters was given; at most {LONGEST} are read")
    found = _NUMBER.fullmatch(text)
    if found is None:
        raise ValueError(f"{text[:40]!r} is no number; write it as 0.5, 1e-9 or 2/3")
    if abs(int(found["exponent"] or 0)) > LARGEST_EXPONENT:
        raise ValueError(f"{text[:40]!r} has an exponent beyond {LARGEST_EXPONENT}, the largest that is read")
    try:
        return Fraction(text)
    except ZeroDivisionError:
        raise ValueError(f"{text[:40]!r} divides by 0") from None


def printed_up(value: Fraction, digits: int = 6) -> str:
    """A number as text of at most `digits` significant digits, never below the number itself.

    >>> printed_up(Fraction(1, 3))
    '0.333334'
    >>> printed_up(Fraction(1, 10**9))
    '1e-9'
    """
    rounded = Context(prec=digits, rounding=ROUND_CEILING).divide(Decimal(value.numerator), Decimal(value.denominator))
    if rounded == 0:
        return "0"
    power = rounded.adjusted()
    if -5 <= power < max(digits, 7):
        return f"{rounded.normalize():f}"
    return f"{rounded.scaleb(-power).normalize():f}e{power}"
