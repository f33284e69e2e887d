"""Choose all tables, then measure them: how all systems of the papers learn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from sfumato.data.coding import Keep
from sfumato.data.domain import Domain
from sfumato.data.marginal import Measurement
from sfumato.data.selection import Apart, Selection
from sfumato.errors import BudgetError
from sfumato.learn import Foreseeing, Known, Learned, Measure, Select
from sfumato.privacy.budget import Share
from sfumato.privacy.holder import Holder
from sfumato.privacy.ledger import Purse
from sfumato.privacy.neighbours import Neighbours


@dataclass(frozen=True)
class Once:
    """One selection, measured once.

    What is left at the end, because no table was worth its noise, say, measures every attribute once more: the whole
    purse is spent on every path.

    Args:
        select: chooses the tables.
        measure: measures them.
        select_part: the part of the purse that choosing may cost; what it leaves is spent on the tables.
    """

    select: Select
    measure: Measure
    select_part: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if not 0 <= self.select_part < 1:
            raise BudgetError(f"choosing was given {self.select_part} of the budget; give a part from 0 to below 1")

    def __call__(self, holder: Holder, known: Known, purse: Purse) -> Learned:
        """Spend the purse."""
        choosing = purse.left.part(self.select_part)
        ahead = purse.left.part(1 - self.select_part)
        learned = self._select(holder, known, choosing, ahead)
        measured = self.measure(holder, learned.selection, purse.left)
        if not purse.is_empty:
            measured += self._columns(holder, purse.left)
        return replace(learned, tables=(*learned.tables, *measured))

    def tables(self, domain: Domain, budget: Share, neighbours: Neighbours) -> int | None:
        """How many tables there will be, where the selection knows it from public facts."""
        if not isinstance(self.select, Foreseeing):
            return None
        return self.select.tables(domain, budget.part(1 - self.select_part), neighbours)

    def _select(self, holder: Holder, known: Known, choosing: Share, ahead: Share) -> Learned:
        """One selection, or one for each group of attributes that the schema keeps apart."""
        groups = known.apart
        if len(groups) <= 1:
            learned = self.select(holder, known, choosing, ahead)
            known.check(holder.domain, learned.selection)
            return learned
        # A group of k attributes has about k²/2 pairs to be looked at.
        weights = [float(len(group) ** 2) for group in groups]
        shares = choosing.split(weights) if choosing.amount else [choosing] * len(groups)
        parts = []
        for group, share, part in zip(groups, shares, ahead.split(weights), strict=True):
            levels = tuple(level for level in known.levels if level.column in group)
            parts.append(
                self._select(holder.through(Keep(group)), replace(known, levels=levels, apart=(group,)), share, part)
            )
        selections = tuple(part.selection for part in parts)
        whole = Selection(
            tuple(clique for one in selections for clique in one.cliques),
            Apart(groups, selections),
            tuple(weight for one in selections for weight in one.weights),
            sum(one.too_large for one in selections),
        )
        return Learned(whole, tuple(table for part in parts for table in part.tables))

    def _columns(self, holder: Holder, share: Share) -> tuple[Measurement, ...]:
        return self.measure(holder, Selection(tuple((name,) for name in holder.domain)), share)
