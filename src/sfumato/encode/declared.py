"""The coding that the schema declares, as it is."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.data.marginal import Measurement
from sfumato.data.recoding import Merging, Recoding
from sfumato.data.schema import Schema
from sfumato.privacy.budget import Share
from sfumato.privacy.holder import Holder


@dataclass(frozen=True)
class Declared:
    """Use the categories and bins of the schema; learn nothing and spend nothing."""

    def __call__(self, holder: Holder, schema: Schema, share: Share) -> tuple[Recoding, tuple[Measurement, ...]]:
        """A recoding that merges nothing, and no tables."""
        holder.note("use the categories and bins of the schema", "they are declared")
        return Recoding(holder.domain, tuple(map(Merging.identity, holder.domain.shape))), ()
