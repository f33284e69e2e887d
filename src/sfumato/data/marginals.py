"""A set of marginals over one domain that can be asked as one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from sfumato.data.constraints import Constraints
from sfumato.data.domain import Clique, Domain
from sfumato.data.marginal import Marginal
from sfumato.errors import SchemaError


@dataclass(frozen=True, eq=False)
class Marginals:
    """Tables over cliques of one domain, axes in its order. A question is answered from the smallest that contains it.

    `scales`, if known, are the standard deviations of the noise that was added to the cells of each table.
    `constraints`, if there are any, say which cells over columns of the domain may hold rows.
    """

    domain: Domain
    tables: tuple[Marginal, ...]
    scales: tuple[float, ...] = ()
    constraints: Constraints | None = None

    def __post_init__(self) -> None:
        if self.scales and len(self.scales) != len(self.tables):
            raise SchemaError(f"{len(self.scales)} noise scales were given; {len(self.tables)} tables want one each")
        for table in self.tables:
            if self.domain.project(table.clique) != table.domain:
                raise SchemaError(f"{table!r} does not fit {self.domain!r}")
            if table.clique != self.domain.canonical(table.clique):
                raise SchemaError(f"{table!r} has its columns in another order than {self.domain!r}; project it first")

    @property
    def cliques(self) -> tuple[Clique, ...]:
        """The columns of each table."""
        return tuple(table.clique for table in self.tables)

    @cached_property
    def _with(self) -> dict[str, list[Marginal]]:
        """The tables that have each column."""
        found: dict[str, list[Marginal]] = {}
        for table in self.tables:
            for name in table.clique:
                found.setdefault(name, []).append(table)
        return found

    @property
    def rows(self) -> int:
        """The number of rows that the tables speak of: the mean of their totals, rounded, and at least 0."""
        if not self.tables:
            return 0
        return max(0, round(sum(table.total for table in self.tables) / len(self.tables)))

    def within(self, names: Iterable[str]) -> Marginals:
        """The tables that lie inside these columns."""
        part = self.domain.project(names)
        inside = [set(table.clique) <= set(part.names) for table in self.tables]
        tables = tuple(table for table, kept in zip(self.tables, inside, strict=True) if kept)
        scales = tuple(scale for scale, kept in zip(self.scales, inside, strict=bool(self.scales)) if kept)
        constraints = None if self.constraints is None else self.constraints.within(part.names)
        return Marginals(part, tables, scales, constraints)

    def project(self, names: Iterable[str]) -> Marginal:
        """The marginal over `names`; an error if no table contains all of them."""
        names = tuple(names)
        # Only tables with the column that the fewest have are looked at: there may be thousands.
        some = min((self._with.get(name, ()) for name in names), key=len, default=self.tables)
        holding = [table for table in some if set(names) <= set(table.clique)]
        if not holding:
            raise SchemaError(f"no table contains {', '.join(names)} together; the tables are over {self.cliques}")
        return min(holding, key=lambda table: table.counts.size).project(names)
