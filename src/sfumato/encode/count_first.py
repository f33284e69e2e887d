"""Count the rows first, and encode for the way to learn that this many rows can pay for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb, sqrt

from sfumato.encode import Encode, Encoded
from sfumato.encode.supported_levels import COUNT_PART, SupportedLevels, rows_of
from sfumato.privacy.budget import Share
from sfumato.privacy.holder import Holder
from sfumato.schema.schema import Schema

SCORES = Fraction(1, 50)
"""About what a round of scores gets of a share as large as that of encode."""

OTHERWISE = Fraction(1, 5)
"""Of the share, for what the schema wants merged where columns are not measured."""


@dataclass(frozen=True)
class CountFirst:
    """Levels that the noise supports where scores of all pairs will be clear; else the codes of the schema.

    Scores of m pairs have m times the Laplace noise of one. Where that is more than `clear` of the rows, they say next
    to nothing, rounds would measure what noise chose, and columns are better left to a network that is chosen by the
    exponential mechanism. What follows can tell which it was: `levels` has measured every column.

    Args:
        levels: for rounds.
        otherwise: for a network.
        clear: the most noise of a score, as a part of the rows.
    """

    levels: SupportedLevels
    otherwise: Encode
    clear: float = 0.3

    def __call__(self, holder: Holder, schema: Schema, share: Share) -> Encoded:
        """The recoding, the noisy count, and the tables that the recoding was learned from."""
        (counted,) = holder.measure([()], [share.part(COUNT_PART)])
        left = share.part(1 - COUNT_PART)
        pairs = max(1, comb(len(holder.domain), 2))
        if sqrt(holder.variance(share.part(SCORES / pairs))) <= self.clear * rows_of(counted):
            return self.levels.after(counted, holder, schema, left)
        encoded = self.otherwise(holder, schema, left.part(OTHERWISE))
        return replace(encoded, tables=(counted, *encoded.tables))
