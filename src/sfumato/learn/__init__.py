"""Stage 2: choose tables and measure them, in one go or in rounds. Asks a holder, and pays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sfumato.data.coding import Coding, Level
from sfumato.data.constraints import Constraints
from sfumato.data.domain import Clique, Domain
from sfumato.data.marginal import Measurement
from sfumato.data.selection import Selection
from sfumato.privacy.budget import Share
from sfumato.privacy.holder import Holder
from sfumato.privacy.ledger import Purse
from sfumato.privacy.neighbours import Neighbours


@dataclass(frozen=True)
class Known:
    """What is known before tables are chosen.

    Args:
        tables: what the encode stage measured.
        levels: coarser versions of attributes, in the holder's codes, which the schema declares.
        ordered: how many of the first codes of each attribute have an order, in the holder's codes.
        constraints: which cells over attributes of the schema may hold rows; None if all may.
        apart: groups of attributes that no table may tie, as the schema declares; one group if it declares none.
        check: refuses, in public words, a selection of a domain that later stages could not serve; to be called before
            the selection is paid for.
    """

    tables: tuple[Measurement, ...] = ()
    levels: tuple[Level, ...] = ()
    ordered: Mapping[str, int] = field(default_factory=dict)
    constraints: Constraints | None = None
    apart: tuple[Clique, ...] = ()
    check: Callable[[Domain, Selection], None] = lambda domain, selection: None

    def allowed(self, coding: Coding, clique: Clique) -> NDArray[np.bool_] | None:
        """The cells of a table that may hold rows; None if all may."""
        return None if self.constraints is None else self.constraints.allowed(clique, coding)


@dataclass(frozen=True)
class Learned:
    """What was learned: every table that was paid for, and how the chosen ones hang together."""

    selection: Selection
    tables: tuple[Measurement, ...] = ()


class Learn(Protocol):
    """Choose tables and measure them, in as many turns as it likes."""

    def __call__(self, holder: Holder, known: Known, purse: Purse) -> Learned:
        """Spend the purse."""
        ...


class Select(Protocol):
    """Choose the tables to measure."""

    def __call__(self, holder: Holder, known: Known, share: Share, ahead: Share) -> Learned:
        """The selection, and the tables that were measured in order to choose.

        Args:
            holder: who has the rows.
            known: what is known already.
            share: what choosing may cost.
            ahead: what will measure the chosen tables, which says how noisy they will be.
        """
        ...


@runtime_checkable
class Foreseeing(Protocol):
    """A part that knows from public facts how many tables it will measure."""

    def tables(self, domain: Domain, ahead: Share, neighbours: Neighbours) -> int:
        """How many tables `ahead` will be spread over."""
        ...


class Measure(Protocol):
    """Measure chosen tables."""

    def __call__(self, holder: Holder, selection: Selection, share: Share) -> tuple[Measurement, ...]:
        """One noisy table for each clique of the selection."""
        ...
