"""The last step of every synthesis: rows that break a rule are drawn again, in part, until no row does.

It asks nothing of the synthesizer. Rows that break a rule first exchange values of one attribute among each other, as
far as rules allow, which changes no margin. What is then left gets new values in as few attributes as possible, from
rows that obey all rules and agree with it in every attribute that a rule ties to these: a draw from the conditional
distribution that the synthesizer itself has made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.data.constraints import Constraints
from sfumato.data.domain import Clique, Domain
from sfumato.data.records import Records
from sfumato.errors import MethodError
from sfumato.models.rounding import draw_given
from sfumato.synthesize.allowed_lines import allowed_lines

Mask = NDArray[np.bool_]
Ints = NDArray[np.int64]
Array = NDArray[np.float64]
Table = dict[str, NDArray[np.integer]]

PASSES = 2
"""How often every attribute of a broken rule is drawn again by itself, before several are together."""


ORDERS = 4
"""Parts of the rows that have an order of attributes of their own: no attribute is always the first to change."""

SPLITS = 40
"""How often a row of merged codes that breaks a rule is split again."""


class Check(Protocol):
    """A demand on the codes of a few attributes."""

    @property
    def clique(self) -> Clique:
        """The attributes that it looks at."""
        ...

    def broken(self, codes: Mapping[str, NDArray[np.integer]]) -> Mask:
        """Which rows break it."""
        ...


@dataclass(frozen=True)
class Repaired:
    """Rows that break no rule, and how many of them were drawn again in part."""

    records: Records
    repairs: int


def split_again(
    fitted: Records, fine: Records, split: Callable[[Records], Records], checks: Sequence[Check]
) -> Records:
    """Rows in fine codes, of rows in merged codes: those that break a check are split again, by themselves.

    Where a merged code has parts that the other columns allow and parts that they do not, this is a draw from the
    former: a rejection. Rows that never get there are left to `repaired`.

    Args:
        fitted: rows in merged codes.
        fine: the same rows, split once.
        split: splits rows.
        checks: what every row must obey.
    """
    bad = np.flatnonzero(broken(fine, checks)) if fitted.domain != fine.domain else np.zeros(0, np.int64)
    columns = {name: fine[name].copy() for name in fine.domain}
    for _ in range(SPLITS):
        if not len(bad):
            break
        again = split(fitted.take(bad))
        good = ~broken(again, checks)
        for name, codes in columns.items():
            codes[bad[good]] = again[name][good]
        bad = bad[~good]
    return Records(fine.domain, columns.values())


def repaired(
    records: Records,
    checks: Sequence[Check],
    constraints: Constraints,
    spare: Callable[[], Records | None],
    rng: np.random.Generator,
) -> Repaired:
    """The same rows, where those that break a check get new values.

    Rows that break checks first deal the values of one attribute out among themselves again, as far as the others
    allow: this keeps the margin of the attribute. What is left takes values from rows that break none.

    Args:
        records: rows of any synthesizer.
        checks: what every row must obey.
        constraints: what checks say of cells, as far as they do.
        spare: finds a row that obeys all, for tables in which none does.
        rng: randomness of the synthesis.
    """
    bad = np.flatnonzero(broken(records, checks))
    if not len(bad):
        return Repaired(records, 0)
    columns: Table = {name: records[name].copy() for name in records.domain}
    rows: Table = {name: codes[bad] for name, codes in columns.items()}
    _exchange(records.domain, rows, checks, constraints, rng)
    left = _broken(rows, checks)
    for name, codes in columns.items():
        codes[bad] = rows[name]
    still = bad[left]
    if len(still):
        good = np.ones(len(records), dtype=np.bool_)
        good[still] = False
        pool: Table = {name: codes[good] for name, codes in columns.items()}
        if not good.any():
            found = spare()
            if found is None or broken(found, checks).any():
                raise MethodError("no row was found that obeys all rules of the schema; no table is made. Relax a rule")
            pool = {name: found[name] for name in records.domain}
        rows = {name: codes[still] for name, codes in columns.items()}
        work = _Work(records.domain, checks, _Ties.of(checks), pool, rows, rng)
        work.attributes_alone()
        work.rules_together()
        work.components()
        for name, codes in columns.items():
            codes[still] = rows[name]
    return Repaired(Records(records.domain, columns.values()), len(bad))


class Rules(Protocol):
    """The rules of a schema, on attributes."""

    @property
    def checks(self) -> Sequence[Check]:
        """What every row must obey."""
        ...

    @property
    def constraints(self) -> Constraints:
        """What checks say of cells, as far as they do."""
        ...

    def example(self) -> Records | None:
        """A row that obeys all, if one is found."""
        ...


def repaired_by(rules: Rules, records: Records, rng: np.random.Generator) -> Repaired:
    """The same rows, where those that break a rule get new values."""
    return repaired(records, rules.checks, rules.constraints, rules.example, rng)


def obeying(records: Records, constraints: Constraints, rng: np.random.Generator) -> Records:
    """Rows to begin with that lie in no forbidden cell, where some do not already."""
    bad = broken(records, constraints.items)
    if not bad.any() or bad.all():
        return records
    return repaired(records, constraints.items, constraints, lambda: None, rng).records


def _exchange(
    domain: Domain, rows: Table, checks: Sequence[Check], constraints: Constraints, rng: np.random.Generator
) -> None:
    """Deal the values of single attributes out again among the rows that break a check about them."""
    names = sorted({name for check in checks for name in check.clique})
    for name in rng.permutation(names * PASSES).tolist():
        about = [check for check in checks if name in check.clique]
        wrong = np.flatnonzero(_broken(rows, about))
        part = {other: codes[wrong] for other, codes in rows.items()}
        ruling = constraints.given(name, {other: codes for other, codes in part.items() if other != name})
        if not len(wrong) or not ruling:
            continue
        margin = np.bincount(part[name], minlength=domain[name]).astype(np.float64)
        dealt = draw_given(*allowed_lines(np.zeros(len(wrong), np.int64), margin[None, :], ruling), rng)
        taken = _first(dealt, margin, rng)  # no value goes to more rows than had it: the others keep what they have
        rows[name][wrong[taken]] = dealt[taken]


def _first(codes: NDArray[np.integer], most: Array, rng: np.random.Generator) -> Ints:
    """The places of at most this many rows of each code, at random."""
    mixed = rng.permutation(len(codes))
    order = mixed[np.argsort(codes[mixed], kind="stable")]
    sizes = np.bincount(codes, minlength=len(most))
    rank = np.arange(len(codes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.asarray(order[rank < most[codes[order]]])


def _broken(rows: Table, checks: Iterable[Check]) -> Mask:
    found = np.zeros(len(next(iter(rows.values()))), dtype=np.bool_)
    for check in checks:
        found |= check.broken(rows)
    return found


def broken(records: Records, checks: Iterable[Check]) -> Mask:
    """Which rows break some check."""
    found = np.zeros(len(records), dtype=np.bool_)
    for check in checks:
        found |= check.broken({name: records[name] for name in check.clique})
    return found


@dataclass(frozen=True)
class _Ties:
    """The attributes that share a check with each attribute, and the parts that hang together."""

    neighbours: dict[str, set[str]]

    @classmethod
    def of(cls, checks: Sequence[Check]) -> _Ties:
        neighbours: dict[str, set[str]] = {}
        for check in checks:
            for name in check.clique:
                neighbours.setdefault(name, set()).update(check.clique)
        return cls(neighbours)

    def around(self, names: Iterable[str]) -> tuple[str, ...]:
        """The attributes that a check ties to one of these, without these."""
        names = set(names)
        return tuple(sorted(set().union(*(self.neighbours[name] for name in names)) - names))

    def components(self) -> list[tuple[str, ...]]:
        """The attributes that hang together by checks."""
        left, found = set(self.neighbours), []
        while left:
            part = {min(left)}
            while around := set(self.around(part)):
                part |= around
            found.append(tuple(sorted(part)))
            left -= part
        return found


@dataclass(frozen=True, eq=False)
class _Work:
    """Broken rows while they change, and the good rows that they take values from."""

    domain: Domain
    checks: Sequence[Check]
    ties: _Ties
    pool: Table
    rows: Table
    rng: np.random.Generator

    def attributes_alone(self) -> None:
        """New values for single attributes of broken checks, in another order for each part of the rows."""
        names = sorted(self.ties.neighbours)
        deals = {name: _Deal.of(self.domain, self.pool, (name,), self.ties.around((name,))) for name in names}
        for _ in range(PASSES):
            left = _broken(self.rows, self.checks)
            if not left.any():
                return
            group = self.rng.integers(0, ORDERS, len(left))
            for number in range(ORDERS):
                for name in self.rng.permutation(names).tolist():
                    self._deal(deals[name], np.flatnonzero(left & (group == number)))

    def rules_together(self) -> None:
        """New values for all attributes of a broken check, given those that other checks tie to them."""
        for clique in dict.fromkeys(check.clique for check in self.checks):
            deal = _Deal.of(self.domain, self.pool, clique, self.ties.around(clique))
            self._deal(deal, np.flatnonzero(_broken(self.rows, self.checks)))

    def components(self) -> None:
        """New values for everything that hangs together by checks: those of one good row."""
        for component in self.ties.components():
            self._deal(_Deal.of(self.domain, self.pool, component, ()), np.flatnonzero(_broken(self.rows, self.checks)))

    def _deal(self, deal: _Deal, rows: Ints) -> None:
        """New values where a check about these attributes is broken and some good row has the rest."""
        if not len(rows):
            return
        touching = [check for check in self.checks if set(check.clique) & set(deal.names)]
        part = {name: self.rows[name][rows] for name in self.rows}
        wrong = np.logical_or.reduce([check.broken(part) for check in touching])
        rows = rows[wrong]
        donors = deal.draw(self.domain, {name: self.rows[name][rows] for name in deal.given}, len(rows), self.rng)
        found = donors >= 0
        for name in deal.names:
            self.rows[name][rows[found]] = self.pool[name][donors[found]]


@dataclass(frozen=True, eq=False)
class _Deal:
    """Good rows in the order of their cell over the attributes that must agree."""

    names: tuple[str, ...]
    given: tuple[str, ...]
    order: Ints
    cells: NDArray[np.uint64]

    @classmethod
    def of(cls, domain: Domain, pool: Table, names: Sequence[str], given: tuple[str, ...]) -> _Deal:
        """Sort the pool by the cells of `given`."""
        cells = _cells(domain, pool, given, len(next(iter(pool.values()))))
        order = np.argsort(cells, kind="stable")
        return cls(tuple(names), given, order, cells[order])

    def draw(self, domain: Domain, rows: Table, count: int, rng: np.random.Generator) -> Ints:
        """For each row a good row with the same cell, at random; -1 where there is none."""
        cells = _cells(domain, rows, self.given, count)
        first, last = (np.searchsorted(self.cells, cells, side=side) for side in ("left", "right"))
        chosen = first + (rng.random(count) * (last - first)).astype(np.int64)
        return np.where(last > first, self.order[np.minimum(chosen, len(self.order) - 1)], -1)


def _cells(domain: Domain, rows: Table, names: Iterable[str], count: int) -> NDArray[np.uint64]:
    """A number for each row, the same for rows with the same codes; wrapped around where there are too many cells.

    Two cells may then have one number, so what is dealt may not fit. It is looked at again before it counts as good.
    """
    cells = np.zeros(count, dtype=np.uint64)
    for name in names:
        cells = cells * np.uint64(domain[name] | 1) + rows[name].astype(np.uint64)
    return cells
