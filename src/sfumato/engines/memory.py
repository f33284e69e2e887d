"""The rows of a table in memory: one small array of codes for each attribute of a block, and no other copy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.data.coding import Coding
from sfumato.data.domain import Clique, Domain
from sfumato.data.marginal import Marginal
from sfumato.data.records import Records
from sfumato.engines.counting import closed, count_blocks, require_base


class Memory:
    """An engine that keeps the blocks it is given. Codings are applied while rows are counted, never written out.

    A row of block i counts `weights[i]`, or 1 if no weights are given. `sizes`, if given, is the number of rows of each
    person before any was cut: as private as the rows.
    """

    def __init__(
        self,
        domain: Domain,
        blocks: Sequence[Records],
        weights: Sequence[int] = (),
        sizes: NDArray[np.integer] | None = None,
    ):
        self.domain = domain
        self.sizes = sizes
        self._blocks: tuple[Records, ...] | None = tuple(blocks)
        self._weights = tuple(weights)

    def count(self, coding: Coding, cliques: Sequence[Clique]) -> Iterator[Marginal]:
        """The exact table of each clique, in the codes of `coding`, whose base is the domain of this engine."""
        require_base(self.domain, coding)
        if self._blocks is None:
            raise closed()
        weights = self._weights or (1,) * len(self._blocks)
        return count_blocks(zip(self._blocks, weights, strict=True), coding, cliques)

    def close(self) -> None:
        """Forget the rows."""
        self._blocks, self._weights, self.sizes = None, (), None

    def __repr__(self) -> str:
        return f"Memory({self.domain!r})"
