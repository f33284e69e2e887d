"""Covering designs from finite planes: few blocks that hold every pair of points together.

Points stand in groups of q, a prime power. Over the field of q elements, the lines y = j + m x meet every group in one
point, and two points of different groups lie on one line and no other. So q² blocks serve all pairs across groups, and
only the pairs inside a group are left. With 8 groups of 8 that is the affine plane: 64 points, 72 blocks of 8.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import count, product
from math import inf

import numpy as np
from numpy.typing import NDArray

Blocks = list[tuple[int, ...]]


def plane_design(points: Sequence[int], width: int) -> Blocks:
    """Blocks of at most `width` points such that every pair of `points` lies in one of them."""
    if len(points) <= width:
        return [tuple(points)]
    order = _plan(len(points), width)[1]
    most = min(width, order + 1) * order
    grouped, common = points[:most], points[most:]
    groups = [grouped[start : start + order] for start in range(0, len(grouped), order)]
    blocks = [
        tuple(group[place] for group, place in zip(groups, line, strict=False) if place < len(group))
        for line in _lines(order)
    ]
    for group in groups:
        blocks += plane_design([*group, *common], width)
    return [block for block in blocks if len(block) > 1]


@cache
def _plan(points: int, width: int) -> tuple[float, int]:
    """The fewest blocks that a plane gives for this many points, and the order q of that plane.

    There are at most q + 1 groups (one for each slope, and one for the vertical lines' own points) and at most `width`.
    Points beyond all groups join every group, and what is in a group is covered in the same way.
    """
    if points <= width:
        return 1, 0
    best: tuple[float, int] = (inf, 0)
    for order in range(2, points):
        if _prime_power(order) is None:
            continue
        common = max(0, points - min(width, order + 1) * order)
        if order + common < points and order**2 < best[0]:
            groups = min(min(width, order + 1), -(-points // order))
            best = min(best, (order**2 + groups * _plan(order + common, width)[0], order))
    return best


@cache
def _lines(order: int) -> tuple[tuple[int, ...], ...]:
    """For every line y = j + m x: its place in the group of each x, and last its place m in the group at infinity."""
    add, multiply = _field(order)
    return tuple(
        (*(int(add[offset, multiply[slope, x]]) for x in range(order)), slope)
        for slope, offset in product(range(order), repeat=2)
    )


@cache
def _field(order: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The addition and multiplication tables of the field with `order` elements, a prime power.

    An element is a polynomial over the integers modulo the prime, written as a number whose digits are its
    coefficients. Of all moduli of the right degree, the first one that leaves no divisors of zero is taken: it cannot
    be factored.
    """
    power = _prime_power(order)
    if power is None:
        raise ValueError(f"there is no field with {order} elements; a prime power is wanted")
    prime, degree = power
    base = prime ** np.arange(degree)
    digits = np.arange(order)[:, None] // base % prime
    add = ((digits[:, None] + digits[None]) % prime) @ base
    for modulus in range(order):
        multiply = np.zeros((order, order), dtype=np.int64)
        shifted = digits  # every element times the current power of the variable
        for place in range(degree):
            multiply = add[multiply, (digits[:, place, None, None] * shifted[None] % prime) @ base]
            over, shifted = shifted[:, -1:], np.roll(shifted, 1, axis=1) * (np.arange(degree) > 0)
            shifted = (shifted - over * digits[modulus]) % prime
        if multiply[1:, 1:].all():
            return add, multiply
    raise AssertionError("every prime power has a field")


def _prime_power(number: int) -> tuple[int, int] | None:
    """The prime p and the exponent k with p^k = number, if there are any."""
    prime = next(divisor for divisor in count(2) if number % divisor == 0)
    exponent = 1
    while prime**exponent < number:
        exponent += 1
    return (prime, exponent) if prime**exponent == number else None
