"""Choose views so every pair of columns lies in exactly one of them: reads nothing but sizes of columns.

NOCD of Su et al. (Differentially Private Multi-Party High-Dimensional Data Publishing, section VI-C): columns are laid
out in rows of n, n prime, at most n rows. A line through this grid takes from row i the column at place j + i m modulo
n; two columns of different rows lie on exactly one of the n² lines, and two of one row on none. Each row is then a
smaller task of the same kind, until it is a view by itself.

Where we depart from the paper, and why:

- Places are counted from 0; the paper takes indices that start at 1 modulo n.
- With equal parts of the budget, the error of a design is its number of cells times the square of its number of views.
  The paper forgets the square, has a wrong number of cells for lines (equation 6), and lets each row choose by its own
  cells alone. Here each task keeps all designs that can be a part of the best (see `_corners`).
- Parts need not be equal. A pair's table is a sum over its view and has the whole error of the view, so the error of
  all tables of pairs is the sum of e_v / epsilon_v², where e_v is the pairs times the cells of view v. It is least for
  epsilon_v in proportion to the cube root of e_v, and the best design has the least sum of these roots. (For Gaussian
  noise it would be square roots; parts follow this, the design does not.)
- Views are limited by cells and not by binary columns. Columns are laid out by falling size: a line has one column of
  each row, so the largest columns meet only in views of their own.
- Lines with fewer than two columns, which the last row leaves when it is short, are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import isqrt, prod

import numpy as np
from numpy.typing import NDArray

from sfumato.data.domain import Clique, Domain
from sfumato.data.selection import Selection
from sfumato.errors import MethodError
from sfumato.learn import Known, Learned
from sfumato.privacy.budget import Currency, Share
from sfumato.privacy.holder import Holder

Array = NDArray[np.float64] | NDArray[np.int64]
Sizes = tuple[int, ...]
Places = tuple[int, ...]


@dataclass(frozen=True)
class Limits:
    """What a design may use, and what its error is.

    Args:
        cells: how many cells a view of three or more columns may have.
        most_cells: how many cells a pair of columns may have; pairs with more are in no view.
        equal: whether all views get the same part of the budget.
    """

    cells: int
    most_cells: int
    equal: bool

    def of(self, columns: int) -> int:
        """How many cells a view of this many columns may have."""
        return self.cells if columns > 2 else max(self.cells, self.most_cells)

    def error(self, cells: Array, columns: Array) -> float:
        """What views add to the error of a design: their cells, or the cube roots of pairs times cells."""
        return float(cells.sum() if self.equal else np.cbrt(cells * columns * (columns - 1) / 2).sum())

    def total(self, tree: Tree) -> float:
        """What is to be least: the squared error of a design, up to a factor, or its cube root."""
        return tree.views**2 * tree.error if self.equal else tree.error


@dataclass(frozen=True)
class NonOverlapping:
    """A design of views in which every pair of columns occurs once.

    A pair with more cells than a view may have becomes a view of its own, unless it has more than `most_cells`: such
    pairs are left out, since a table that large would be noise alone. A column of which nothing else is left gets
    a view to itself. Columns with one code cost no cells and are part of every view.

    Args:
        cells: how many cells a view of three or more columns may have.
        most_cells: pairs of columns with more cells than this are left out.
        equal: whether all views get the same part of the budget and the sum of their errors shall be least, as in the
            paper. Otherwise parts and design are such that the error of all tables of two columns is least.
    """

    cells: int = 4096
    most_cells: int = 100_000
    equal: bool = False

    def __post_init__(self) -> None:
        for name in ("cells", "most_cells"):
            if getattr(self, name) < 1:
                raise MethodError(f"{name} is {getattr(self, name)}; give at least 1")

    def __call__(self, holder: Holder, known: Known, share: Share, ahead: Share) -> Learned:
        """The views; the share is not touched."""
        views = self.views(holder.domain)
        holder.note(f"choose {len(views)} views that hold every pair of columns once", "sizes of columns are public")
        weights = self.weights(holder.domain, views, ahead.currency)
        return Learned(Selection(views, weights=weights, too_large=holder.domain.pairs_above(self.most_cells)))

    def weights(self, domain: Domain, views: Sequence[Clique], currency: Currency) -> tuple[float, ...]:
        """The parts that views get of a budget in epsilon or rho."""
        if self.equal:
            return (1.0,) * len(views)
        power = 1 / 3 if currency is Currency.EPSILON else 1 / 2
        counts = [sum(domain[name] > 1 for name in view) for view in views]
        pairs = [max(1, count * (count - 1) // 2) for count in counts]
        return tuple(float((domain.cells(view) * many) ** power) for view, many in zip(views, pairs, strict=True))

    def views(self, domain: Domain) -> tuple[Clique, ...]:
        """Views of a domain that hold every pair of columns within `most_cells` once; none lies inside another."""
        constant = [name for name in domain if domain[name] == 1]
        names = sorted((name for name in domain if domain[name] > 1), key=lambda name: -domain[name])
        if not names:
            return (domain.names,) if len(domain) else ()
        sizes = tuple(domain[name] for name in names)
        limits = Limits(self.cells, self.most_cells, self.equal)
        laid_out = best_design(sizes, limits).lay_out(range(len(names)))
        found = [view for view in laid_out if prod(sizes[place] for place in view) <= limits.of(len(view))]
        held = {place for view in found for place in view}
        found += [(place,) for place in range(len(names)) if place not in held]
        return tuple(domain.canonical([*constant, *(names[place] for place in view)]) for view in found)


@dataclass(frozen=True)
class Tree:
    """A node of the parameters of a design: all columns in one view, or rows of `prime` columns with lines across.

    `error` is what `Limits.error` says of all its views.
    """

    views: int
    error: float
    prime: int = 0
    rows: tuple[Tree, ...] = ()

    def lay_out(self, columns: Iterable[int]) -> list[Places]:
        """The views over these columns; those of one column are not views."""
        columns = tuple(columns)
        if not self.prime:
            return [columns] if len(columns) > 1 else []
        rows = _rows(columns, self.prime)
        lines = [
            tuple(row[place] for place, row in zip(line, rows, strict=True) if place < len(row))
            for line in _lines(len(rows), self.prime).T
        ]
        below = [view for tree, row in zip(self.rows, rows, strict=True) for view in tree.lay_out(row)]
        return [line for line in lines if len(line) > 1] + below


def best_design(sizes: Sizes, limits: Limits) -> Tree:
    """The design with the least sum of squared errors over all trees of parameters.

    Args:
        sizes: of the columns, in falling order.
        limits: on the cells of views, and what counts as their error.
    """
    return min(_front(sizes, limits), key=limits.total)


@lru_cache(maxsize=4096)
def _front(sizes: Sizes, limits: Limits) -> tuple[Tree, ...]:
    """The designs of which one can be best, alone or as a part of a larger design; fewest views first."""
    found = []
    if len(sizes) <= 2 or prod(sizes) <= limits.cells:
        counts = len(sizes) > 1 and prod(sizes) <= limits.of(len(sizes))
        found.append(Tree(1, limits.error(np.array([prod(sizes)]), np.array([len(sizes)]))) if counts else Tree(0, 0.0))
    for prime in _primes(isqrt(len(sizes) - 1) + 1, len(sizes) - 1) if len(sizes) > 2 else ():
        rows = _rows(sizes, prime)
        lines = _line_error(rows, prime, limits)
        if lines is None:
            continue
        designs = [Tree(*lines, prime)]
        for row in rows:
            below = _front(row, limits)
            designs = _corners(
                Tree(one.views + tree.views, one.error + tree.error, prime, (*one.rows, tree))
                for one in designs
                for tree in below
            )
        found = _corners([*found, *designs])
    return tuple(found)


def _corners(designs: Iterable[Tree]) -> list[Tree]:
    """The corners of the convex hull of (views, error) that no other design beats in both.

    No other design can be best, nor be a part of the best: views² * error is quasi-concave, so its least value
    over a hull is at a corner, and a corner of a sum of sets is a sum of corners. The least error is at a corner too.
    """
    kept: list[Tree] = []
    for tree in sorted(designs, key=lambda tree: (tree.views, tree.error)):
        if kept and tree.error >= kept[-1].error:
            continue
        while len(kept) > 1 and _above(kept[-2], kept[-1], tree):
            kept.pop()
        kept.append(tree)
    return kept


def _above(left: Tree, middle: Tree, right: Tree) -> bool:
    """Whether the middle one lies on or above the line between the two others."""
    rise, run = right.error - left.error, right.views - left.views
    return (middle.error - left.error) * run >= rise * (middle.views - left.views)


def _line_error(rows: Sequence[Sizes], prime: int, limits: Limits) -> tuple[int, float] | None:
    """Number and error of the lines of two or more columns; None if one of three or more has too many cells.

    A line of two columns that has too many is left out: the two cannot be measured together.
    """
    padded = np.ones((len(rows), prime))
    for place, row in enumerate(rows):
        padded[place, : len(row)] = row
    lines = _lines(len(rows), prime)
    cells = np.take_along_axis(padded, lines, axis=1).prod(axis=0)
    columns = (lines < np.array([[len(row)] for row in rows])).sum(axis=0)
    if (cells[columns > 2] > limits.cells).any():
        return None
    kept = (columns > 1) & (cells <= limits.of(2))
    return int(kept.sum()), limits.error(cells[kept], columns[kept])


@lru_cache(maxsize=256)
def _lines(rows: int, prime: int) -> NDArray[np.int64]:
    """The place in each row, for all slopes and starts."""
    slopes, starts = np.divmod(np.arange(prime * prime), prime)
    return (starts + np.arange(rows)[:, None] * slopes) % prime


def _rows(columns: tuple[int, ...], width: int) -> list[tuple[int, ...]]:
    """Runs of `width` columns; the last may be short."""
    return [columns[start : start + width] for start in range(0, len(columns), width)]


def _primes(low: int, high: int) -> list[int]:
    """Primes from `low` to `high`."""
    return [n for n in range(max(low, 2), high + 1) if all(n % factor for factor in range(2, isqrt(n) + 1))]
