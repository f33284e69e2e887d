"""Wishes: how exact a table should be, in a user's words, and the epsilon that makes it so."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, log10, sqrt

from sfumato.errors import BudgetError
from sfumato.privacy.accountant import gaussian_epsilon
from sfumato.privacy.budget import LARGEST, SMALLEST, ApproxDP, Budget, PureDP
from sfumato.schema.schema import Schema

_WORDS = re.compile(r"\s*(?:±|\+/?-)?\s*([0-9][0-9_.]*)\s*(%?)\s*(?:rows\s+)?in\s+(.+)", re.DOTALL)
_BETWEEN = re.compile(r"\s*[×,]\s*|\s+x\s+")

TRIES = 8
"""The most budgets that are tried."""

CLOSE = 0.93
"""A budget is good enough if its noise is between this part of what was wanted and all of it."""

AIM = 0.98
"""What is aimed at, as a part of what was wanted: rounding must not spoil it."""


@dataclass(frozen=True)
class Wish:
    """Counts over some columns with a 95 % interval of at most ± `rows` rows."""

    rows: float
    columns: tuple[str, ...]

    def __str__(self) -> str:
        return f"±{self.rows:g} in {' × '.join(self.columns)}"

    @classmethod
    def parse(cls, text: str, schema: Schema, rows_guess: int) -> Wish:
        """Read a wish such as "±50 in age × sex"; a percentage is one of all rows."""
        match = _WORDS.fullmatch(text)
        if match is None:
            raise BudgetError(f"--want is {text!r}; write it like '±50 in age × sex', or '±1% in age'")
        try:
            number = float(match[1].replace("_", ""))
        except ValueError:
            number = 0.0
        rows = number * rows_guess / 100 if match[2] else number
        if not rows > 0:
            raise BudgetError(f"--want is {text!r}, which allows no noise; give a number of rows above 0")
        whole = match[3].strip()
        names = (whole,) if whole in schema.names else tuple(_BETWEEN.split(whole))
        for name in names:
            schema[name]  # an unknown column is refused, with those that there are
        if len(set(names)) < len(names):
            raise BudgetError(f"--want names a column twice: {' × '.join(names)}; name each once")
        return cls(rows, names)


@dataclass(frozen=True)
class Granted:
    """The budget that a wish takes.

    Args:
        wish: in the user's words.
        epsilon: the least that was found, rounded up; None if there is none.
        rows: the noise that it gives.
        basis: what this rests on.
    """

    wish: str
    epsilon: float | None
    rows: float | None
    basis: str


def solve(wished: float, budget: Budget, noise: Callable[[Budget], float | None]) -> tuple[Budget, float] | None:
    """The least budget, up to a few percent, whose noise is at most `wished`; None if there is no noise to be had.

    Noise falls with the budget in a known way as long as the same tables are measured; where they change, it is looked
    up again. `noise` is None where no table tells what is asked for.
    """
    scale, poor = 1.0, 0.0
    found: tuple[float, Budget, float] | None = None
    for _ in range(TRIES):
        tried = times(budget, scale)
        rows = noise(tried)
        if rows is not None and rows <= wished:
            found = scale, tried, rows
            if rows >= CLOSE * wished:
                break
        else:
            poor = max(poor, scale)
        if found is None:
            scale *= 4 if rows is None else rows / (AIM * wished)
        else:
            least, _, rows = found
            if least * CLOSE <= poor:
                break
            # Noise foretells the scale; between one that is too little and one that is enough, the middle does.
            guess = least * rows / (AIM * wished)
            scale = guess if guess > poor else sqrt(max(poor, guess / 4) * least)
    return found and found[1:]


def times(budget: Budget, factor: float) -> Budget:
    """The budget whose noise is that of `budget` divided by `factor`; its epsilon is rounded up to three digits."""
    exact = Fraction(factor)
    match budget:
        case PureDP():
            return PureDP(_rounded(budget.epsilon * exact))
        case ApproxDP():
            epsilon = gaussian_epsilon(budget.total.amount * exact**2, float(budget.delta))
            return ApproxDP(_rounded(Fraction(epsilon)), budget.delta)
        case _:
            raise BudgetError("a wish needs a budget of epsilon, or of epsilon and delta")


def _rounded(epsilon: Fraction) -> Fraction:
    """Three significant digits, rounded up, within the range that is allowed."""
    clipped = min(max(epsilon, SMALLEST), LARGEST)
    digits = 2 - floor(log10(clipped))
    step = Fraction(10) ** -digits
    return min(Fraction(ceil(clipped / step)) * step, LARGEST)
