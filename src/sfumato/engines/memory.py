"""The rows of a table in memory: one small array of codes for each attribute of a block, and no other copy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sfumato.data.coding import Coding
from sfumato.data.domain import Clique, Domain
from sfumato.data.marginal import Marginal
from sfumato.data.records import Records
from sfumato.engines.counting import closed, count_blocks, require_base


class Memory:
    """An engine that keeps the blocks it is given. Codings are applied while rows are counted, never written out."""

    def __init__(self, domain: Domain, blocks: Sequence[Records]):
        self.domain = domain
        self._blocks: tuple[Records, ...] | None = tuple(blocks)

    def count(self, coding: Coding, cliques: Sequence[Clique]) -> Iterator[Marginal]:
        """The exact table of each clique, in the codes of `coding`, whose base is the domain of this engine."""
        require_base(self.domain, coding)
        if self._blocks is None:
            raise closed()
        return count_blocks(self._blocks, coding, cliques)

    def close(self) -> None:
        """Forget the rows."""
        self._blocks = None

    def __repr__(self) -> str:
        return f"Memory({self.domain!r})"
