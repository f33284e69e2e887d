"""Engines: exact counts of private rows, wherever they are. Only a holder has one; an engine knows no noise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.data.coding import Coding
from sfumato.data.domain import Clique, Domain
from sfumato.data.marginal import Marginal

MOST_CELLS = 1 << 32
"""Cells are numbered in 32 bits: larger tables would be counted wrongly, if there were memory for them."""


class Engine(Protocol):
    """Counts private rows exactly."""

    @property
    def domain(self) -> Domain:
        """The attributes that every coding starts from; public."""
        ...

    @property
    def sizes(self) -> NDArray[np.integer] | None:
        """The number of rows of each person before any was cut, as private as the rows; None if none is told apart."""
        ...

    def count(self, coding: Coding, cliques: Sequence[Clique]) -> Iterator[Marginal]:
        """The exact table of each clique, every cell of it, in the codes of `coding`; one pass over the rows."""
        ...

    def close(self) -> None:
        """Forget the rows, and leave nothing behind."""
        ...
