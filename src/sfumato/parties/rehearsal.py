"""A dry run: the study as it will be, over the real network, with rows that are drawn from the schema.

It has a name of its own in every message, so nothing of it can be taken for a part of the study, and it needs no more
than the manifest: whether others can be reached, certificates, what will be asked, how much travels, what it will cost.
"""

from __future__ import annotations

import hashlib
from dataclasses import fields

from sfumato.identity import Signer
from sfumato.parties.manifest import Manifest
from sfumato.parties.seat import Approve, Seat
from sfumato.parties.store import Store
from sfumato.parties.study import budget_of_study
from sfumato.privacy.opening import open_simulated

ROWS = 1000
"""Rows of each party in a dry run."""


class Rehearsal(Manifest):
    """A manifest whose study has another name in messages."""

    @classmethod
    def of(cls, manifest: Manifest) -> Rehearsal:
        """The dry run of a study."""
        return cls(**{field.name: getattr(manifest, field.name) for field in fields(manifest)})

    @property
    def study(self) -> str:
        """The name of the dry run in messages: nobody takes one of the other for their own."""
        return hashlib.sha256(b"sfumato dry run\n" + self.digest.encode()).hexdigest()[:32]


def rehearsing_seat(manifest: Manifest, name: str, signer: Signer, store: Store, approve: Approve) -> Seat:
    """A party's seat in a dry run; it has no private row."""
    holder = open_simulated(manifest.schema, ROWS, manifest.max_parties_per_person)
    return Seat(name, manifest, signer, holder, budget_of_study(manifest), store, approve, manifest.schema.observed)
