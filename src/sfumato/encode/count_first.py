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

ROUNDS, NETWORK = Fraction(1, 2), Fraction(1, 10)
"""Of the share, for the columns where rounds follow, and for what the schema wants merged where a network does."""


@dataclass(frozen=True)
class CountFirst:
    """Levels that the noise supports where scores of all pairs will be clear; else the codes of the schema.

    Scores of m pairs have m times the Laplace noise of one. Where that is more than `clear` of the rows, they say next
    to nothing, rounds would measure what noise chose, and columns are better left to a network that is chosen by the
    exponential mechanism. Where even single columns will have noise of more than `drowned` of the rows in each code,
    nothing is left for a network: they get the whole share at once, since Laplace noise in two halves is 1.4 times as
    wide. What follows can tell which it was: `levels` has measured every column.

    Args:
        levels: for rounds, and for single columns alone.
        otherwise: for a network.
        clear: the most noise of a score, as a part of the rows.
        drowned: the most noise of a code, as a part of the rows.
    """

    levels: SupportedLevels
    otherwise: Encode
    clear: float = 0.3
    drowned: float = 0.02

    def __call__(self, holder: Holder, schema: Schema, share: Share) -> Encoded:
        """The recoding, the noisy count, and the tables that the recoding was learned from."""
        rounds = share.part(ROUNDS)
        (counted,) = holder.measure([()], [rounds.part(COUNT_PART)])
        left, rows = share.part(1 - ROUNDS * COUNT_PART), rows_of(counted)
        pairs = max(1, comb(len(holder.domain), 2))
        if sqrt(holder.variance(rounds.part(SCORES / pairs))) <= self.clear * rows:
            return self.levels.after(counted, holder, schema, rounds.part(1 - COUNT_PART))
        noise = sqrt(holder.variance(left.part(Fraction(1, len(holder.domain)))))
        if noise > self.drowned * rows:
            return self.levels.measured(counted, holder, schema, left, noise)
        encoded = self.otherwise(holder, schema, left.part(NETWORK))
        return replace(encoded, tables=(counted, *encoded.tables))
