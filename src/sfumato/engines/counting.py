"""Counting block by block: what engines share that pass the rows through our own kernel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato import kernels
from sfumato.data.coding import Coding
from sfumato.data.domain import Clique, Domain
from sfumato.data.marginal import Marginal
from sfumato.data.records import Codes
from sfumato.engines import MOST_CELLS
from sfumato.engines.plan import plan
from sfumato.errors import DataError, SchemaError


def require_base(domain: Domain, coding: Coding) -> None:
    """Refuse a coding of other attributes than an engine has: its codes would be taken for those of others."""
    if coding.base != domain:
        raise SchemaError(f"a coding of {coding.base!r} was given; the rows are in {domain!r}")


class Block(Protocol):
    """Some rows in codes: an array for each attribute."""

    def __len__(self) -> int: ...

    def __getitem__(self, name: str) -> Codes: ...


def count_blocks(blocks: Iterable[tuple[Block, int]], coding: Coding, cliques: Sequence[Clique]) -> Iterator[Marginal]:
    """The exact table of each clique in the codes of `coding`, in one pass over the blocks.

    Each block comes with a weight: what every row of it counts.

    A table that is contained in a larger one which is counted anyway costs nothing: it is summed from that one. Small
    tables are first gathered into joints (see `plan`), which makes for few increments a row.
    """
    for clique in cliques:
        coding.domain.require_cells(clique, MOST_CELLS)
    joints = plan(coding.domain, tuple(cliques))
    totals = {joint: np.zeros(coding.domain.cells(joint), dtype=np.int64) for joint in joints}
    for block, weight in blocks:
        for joint, total in totals.items():
            if weight == 1:
                _add(block, coding, joint, total)
            else:
                once = np.zeros_like(total)
                _add(block, coding, joint, once)
                total += weight * once
    for total in totals.values():
        total.flags.writeable = False  # so a table of it needs no copy
    tables = {
        joint: Marginal(coding.domain.project(joint), total.reshape(coding.domain.project(joint).shape))
        for joint, total in totals.items()
    }
    return (tables[joint].project(clique) for clique, joint in zip(cliques, joints, strict=True))


def closed() -> DataError:
    """What an engine says that has forgotten its rows."""
    return DataError("the rows of this engine were closed; open the table again")


def _add(block: Block, coding: Coding, joint: Clique, total: NDArray[np.int64]) -> None:
    """Add the rows of a block to the table of one joint."""
    if not joint:
        total += len(block)
        return
    sources = [coding.lookup(name) for name in joint]
    columns = [block[source] for source, _ in sources]
    kernels.count(columns, coding.domain.project(joint).shape, [lookup for _, lookup in sources], total)
