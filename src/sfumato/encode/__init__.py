"""Stage 1: learn which codes to merge, from noisy one-way tables. Asks a holder, and pays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from sfumato.data.marginal import Measurement
from sfumato.data.recoding import Recoding
from sfumato.privacy.budget import Share
from sfumato.privacy.holder import Holder
from sfumato.schema.schema import Schema


@dataclass(frozen=True)
class Encoded:
    """How codes are merged, and every table that was paid for to find out, over the codes before merging."""

    recoding: Recoding
    tables: tuple[Measurement, ...] = ()


class Encode(Protocol):
    """Learn a coding of the attributes."""

    def __call__(self, holder: Holder, schema: Schema, share: Share) -> Encoded:
        """The recoding, and what was measured for it."""
        ...
