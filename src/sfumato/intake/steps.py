"""Codes of whole numbers by tables: the code of a number changes at few places, and those follow from the schema.

What a number is coded as is decided by `codes_or_marks` alone (intake/codec.py): it is asked once for every place where
its answer may change, and rows are looked up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sfumato.intake.parse import token_numbers
from sfumato.schema.bins import TickBins
from sfumato.schema.columns import Integer

Ints = NDArray[np.int64]
Few = NDArray[np.signedinteger]

MOST_BUCKETS = 1 << 16
"""Entries of a table: it should stay in the cache."""

FAR = 1 << 60
"""Numbers beyond this are left to those who take care of overflows."""


@dataclass(frozen=True, eq=False)
class Steps:
    """A function of whole numbers that is constant between some limits.

    Numbers from `low` to `high` lie in buckets of 2^shift, so wide that at most one limit is in each. A number has the
    code `before` of its bucket, or `after` from the limit in it on. Beyond both ends nothing changes any more.
    """

    low: int
    high: int
    shift: int
    limit: Ints
    before: Few
    after: Few

    @classmethod
    def of(cls, limits: Iterable[int], code: Callable[[Ints], Ints]) -> Steps | None:
        """The function `code`, which changes at the limits alone; None if its table would be too large."""
        places = sorted(set(limits))
        if not places or max(-places[0], places[-1]) > FAR:
            return None
        least = min((after - before for before, after in pairwise(places)), default=1)
        low, high, shift = places[0] - 1, places[-1], least.bit_length() - 1
        buckets = ((high - low) >> shift) + 1
        if buckets > MOST_BUCKETS:
            return None
        firsts = low + (np.arange(buckets, dtype=np.int64) << shift)
        found = np.searchsorted(places, firsts + 1, side="left")  # the first limit behind the first number of each
        limit = np.append(np.array(places, dtype=np.int64), high + 1)[found]
        codes = code(np.concatenate([firsts, np.minimum(limit, high)]))
        narrow: Few = codes.astype(np.int16 if codes.max() < 1 << 15 else np.int32)
        return cls(low, high, shift, limit, narrow[:buckets], narrow[buckets:])

    def __call__(self, numbers: NDArray[np.integer]) -> Few:
        """The code of each number."""
        inside = np.clip(numbers.astype(np.int64, copy=False), self.low, self.high)
        place = (inside - self.low) >> self.shift
        found: Few = self.before[place]
        if self.shift > 0:  # else there is a bucket for each number
            found = np.where(inside < self.limit[place], found, self.after[place])
        return found


def limits_of(column: Integer) -> list[int]:
    """The numbers at which the code of a column may change: where bins begin, and around numbers that stand alone."""
    bins = column.binning()
    firsts = (
        bins.starts.tolist() if isinstance(bins, TickBins) else [one for v in column.values or () for one in (v, v + 1)]
    )
    alone = [*column.special, *(int(number) for number in token_numbers(column))]
    return [*firsts, column.min, column.max + 1, *(end for one in alone for end in (one, one + 1))]
