"""The holder of one party of many: its counts leave only as one masked vector that has its share of the noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from sfumato.data.domain import Clique, Domain
from sfumato.data.records import Records
from sfumato.engines import memory
from sfumato.errors import MethodError
from sfumato.privacy.entropy import Entropy
from sfumato.privacy.events import Gaussian, Laplace, Noise, Skellam
from sfumato.privacy.holder import Codec, LocalHolder, table_events
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.shares import polya_share, skellam_share


class PartyHolder:
    """The rows of one party. It takes over those of a local holder, and has none of its ways to answer.

    A share of the noise protects only in a sum with those of other parties. So `share` wants a mask, which is as
    uniform as the keys of the parties are secret, and adds it before anything leaves this room.
    """

    def __init__(self, holder: LocalHolder):
        self._holder = holder
        self.neighbours = holder.neighbours

    @property
    def domain(self) -> Domain:
        """The public domain of the rows."""
        return self._holder.domain

    def through(self, codec: Codec[Records]) -> PartyHolder:
        """The same rows in the codes of `codec`; asks nothing and costs nothing."""
        return PartyHolder(self._holder.through(codec))

    def share(
        self,
        cliques: Sequence[Clique],
        noises: Sequence[Noise],
        honest: int,
        mask: NDArray[np.uint64],
        ledger: Ledger,
    ) -> NDArray[np.uint64]:
        """Charge the ledger, and answer with counts, shares of noise and mask, modulo 2^64, cell after cell.

        Args:
            cliques: the tables to count.
            noises: the noise of each, as the sum of `honest` shares.
            honest: how many parties, this one among them, are sure to add their shares and to keep them secret.
            mask: one uniform number for each cell.
            ledger: the party's own book of all that it has ever answered in this study.
        """
        cells = [self.domain.cells(clique) for clique in cliques]
        if mask.shape != (sum(cells),):
            raise MethodError(f"a mask of {mask.size} numbers was given for {sum(cells)} cells; each needs its own")
        ledger.charge(*table_events(cliques, noises, self.neighbours))
        # Noise is drawn before the rows are counted: its running time cannot depend on them.
        drawn = [
            draw_share(noise, honest, size, self._holder._entropy) for noise, size in zip(noises, cells, strict=True)
        ]
        exact = memory.count(self._holder._records, cliques)
        counts = np.concatenate([table.counts.ravel() for table in exact]).astype(np.int64) + np.concatenate(drawn)
        masked: NDArray[np.uint64] = counts.view(np.uint64) + mask
        return masked

    def __repr__(self) -> str:
        return f"PartyHolder({self.domain!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a holder has private rows and cannot be pickled or copied")


def draw_share(noise: Noise, honest: int, size: int, entropy: Entropy) -> NDArray[np.int64]:
    """One party's share of a noise that `honest` shares add up to."""
    match noise:
        case Laplace(scale):
            return polya_share(scale, honest, size, entropy)
        case Skellam(mu):
            return skellam_share(mu, honest, size, entropy)
        case Gaussian():
            raise MethodError("rounded normal numbers do not add up; ask parties for Laplace or Skellam noise")
