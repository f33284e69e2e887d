"""Rules on attributes: which cells of what is synthesised may hold rows, and which rows break a rule.

A rule speaks of columns. Attributes are what is synthesised, and columns follow from them; so do the rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.data.constraints import Constraint, Constraints
from sfumato.data.domain import Clique
from sfumato.data.records import Records
from sfumato.intake.attributes import Attributes
from sfumato.schema.compiled import MOST_CELLS, Cells, Tied, Wide, merged, possible
from sfumato.schema.contradictions import Solver
from sfumato.schema.schema import Schema

Mask = NDArray[np.bool_]
Codes = Mapping[str, NDArray[np.integer]]
Demand = Cells | Tied | Wide


@dataclass(frozen=True, eq=False)
class Check:
    """One demand of the rules, asked of rows in codes of attributes."""

    clique: Clique
    demand: Demand
    attributes: Attributes

    def broken(self, codes: Codes) -> Mask:
        """Which rows break it; `codes` has those of the clique."""
        columns = {}
        for name in self.demand.names:
            source = self.attributes.sources[name]
            columns[name] = source.codes[tuple(codes[one] for one in source.attributes)]
        return breaks(self.demand, columns, self.attributes.schema)


def breaks(demand: Demand, columns: Codes, schema: Schema) -> Mask:
    """Which rows, in codes of columns, break a demand."""
    if isinstance(demand, Cells):
        return np.asarray(~demand.allowed[tuple(columns[name] for name in demand.names)])
    named = {name: schema[name] for name in demand.names}
    if isinstance(demand, Wide):
        return demand.broken(columns, named)
    return ~possible(demand.group, columns, named)


@dataclass(frozen=True)
class Ruled:
    """The rules of a schema, on its attributes."""

    schema: Schema

    @cached_property
    def _attributes(self) -> Attributes:
        return Attributes(self.schema)

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        """All demands, on attributes."""
        attributes = self._attributes
        return tuple(Check(attributes.needed(one.names), one, attributes) for one in self.demands)

    @cached_property
    def demands(self) -> tuple[Demand, ...]:
        """All demands; a row that breaks none obeys every rule, in its codes."""
        rules = self.schema.compiled
        demands: list[Demand] = [*merged(rules.cells), *rules.wide]
        tabled = {id(one.rule) for one in rules.cells}
        for tied in rules.tied:
            # One relation alone is fully told by its cells; several together may leave less than each by itself.
            if len(tied.group.relations) > 1 or any(id(rule) not in tabled for rule in tied.rules):
                demands.append(tied)
        return tuple(demands)

    @cached_property
    def constraints(self) -> Constraints:
        """The cells over attributes that may hold rows, where a rule speaks of few enough cells."""
        return Constraints(self._attributes.domain, tuple(self._cells()))

    def _cells(self) -> Iterator[Constraint]:
        domain = self._attributes.domain
        for check in self.checks:
            if isinstance(check.demand, Cells) and domain.cells(check.clique) <= MOST_CELLS:
                shape = domain.project(check.clique).shape
                codes = dict(zip(check.clique, np.indices(shape).reshape(len(shape), -1), strict=True))
                yield Constraint(check.clique, ~check.broken(codes).reshape(shape))

    def example(self) -> Records | None:
        """One row that obeys every rule, in codes of attributes; None if none is found."""
        solver = Solver(self.schema.rules, self.schema.columns)
        try:
            row = solver.row(solver.start)
        except TimeoutError:
            row = None
        if row is None:
            return None
        columns = self._attributes.columns
        return self._attributes.encode(Records(columns, [np.array([row.get(name, 0)]) for name in columns]))
