"""The multi-party Laplace mechanism as DP-SUBN uses it: every party draws noise, and one draw is kept.

It is here to reproduce published figures. It gives no guarantee against participants: the party whose noise was kept
can take it off, and can tell that it was the one (docs/proofs/parties.md, section 6).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.data.domain import Clique
from sfumato.data.marginal import Marginal, Measurement
from sfumato.data.records import Records
from sfumato.engines import memory
from sfumato.errors import MethodError
from sfumato.privacy.entropy import Entropy, SystemEntropy
from sfumato.privacy.events import Noise
from sfumato.privacy.holder import Codec, LocalHolder, table_events
from sfumato.privacy.ledger import Ledger


class OneShareHolder(LocalHolder):
    """The union of the rows of many holders in one process, answered with the noise of one of them, at random."""

    def __init__(self, holders: Sequence[LocalHolder], ledger: Ledger, entropy: Entropy | None = None):
        if not holders:
            raise MethodError("a union of no parties was asked for; give the holder of at least one")
        entropy = entropy or SystemEntropy()
        super().__init__(_union([one._records for one in holders]), holders[0].neighbours, ledger, entropy)
        self._holders = tuple(holders)
        self._own: list[list[NDArray[np.int64]]] = []

    def through(self, codec: Codec[Records]) -> OneShareHolder:
        """The same rows in the codes of `codec`; asks nothing and costs nothing."""
        return OneShareHolder([one.through(codec) for one in self._holders], self._ledger, self._entropy)

    def measure(self, cliques: Sequence[Clique], noises: Sequence[Noise]) -> tuple[Measurement, ...]:
        """The marginal of each clique over the union, with the noise that one party at random drew for them."""
        domains = [self.domain.project(clique) for clique in cliques]
        self._ledger.charge(*table_events(cliques, noises, self.neighbours))
        self._own = [
            [self._draw(noise, domain.cells()) for domain, noise in zip(domains, noises, strict=True)]
            for _ in self._holders
        ]
        kept = self._own[_one_of(len(self._holders), self._entropy)]
        exact = memory.count(self._records, cliques)
        return tuple(
            Measurement(Marginal(domain, table.counts + extra.reshape(domain.shape)), noise.variance)
            for domain, table, extra, noise in zip(domains, exact, kept, noises, strict=True)
        )

    def own_noise(self, party: int) -> tuple[NDArray[np.int64], ...]:
        """What a party knows of the last answer: the noise that it drew itself, whether it was kept or not."""
        return tuple(self._own[party])


def _union(parts: Sequence[Records]) -> Records:
    columns = zip(*(part.columns for part in parts), strict=True)
    return Records(parts[0].domain, [np.concatenate(column) for column in columns])


def _one_of(count: int, entropy: Entropy) -> int:
    """A uniform number below `count`; words that would favour some are thrown away."""
    while True:
        word = int(entropy.words(1)[0])
        if word < (1 << 64) // count * count:
            return word % count
