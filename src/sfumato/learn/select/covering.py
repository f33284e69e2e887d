"""Choose views so every pair, or every triple, of columns lies in one of them: reads nothing but public facts."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import prod, sqrt

import numpy as np

from sfumato.data.domain import Clique, Domain
from sfumato.data.selection import Selection
from sfumato.errors import MethodError
from sfumato.learn import Known, Learned
from sfumato.learn.select.covering_search import Task, View, fewest, search
from sfumato.privacy.budget import Share
from sfumato.privacy.holder import Holder


@dataclass(frozen=True)
class Covering:
    """PriView's covering design, with a limit on cells instead of a number of binary columns.

    Sets of columns that are above the limit by themselves become views of their own. Pairs that are far above it are
    left out, since a table that large would be noise alone; such triples are refused. A column of which nothing
    else is left gets a view to itself. Columns with one code cost no cells and are part of every view.

    Args:
        strength: how many columns must lie together in some view: 2, 3, or None for 3 if the noise allows (t in the
            paper).
        cells: how many cells a view may have; 256 is 8 binary columns.
        most_cells: pairs of columns with more cells than this are left out, and triples refused.
        rows_guess: a public guess of the number of rows, for the choice between pairs and triples.
        most_noise: triples are covered if the expected noise of a view of `cells` cells, as the root of the sum of its
            variances, is at most this part of the rows.
        seed: of the search for few views; public.
    """

    strength: int | None = None
    cells: int = 256
    most_cells: int = 100_000
    rows_guess: int = 50_000
    most_noise: float = 0.001
    seed: int = 0

    def __post_init__(self) -> None:
        if self.strength not in (None, 2, 3):
            raise MethodError(
                f"a covering of strength {self.strength} was asked for; 2 (pairs) or 3 (triples) is wanted"
            )
        for name in ("cells", "most_cells", "rows_guess"):
            if getattr(self, name) < 1:
                raise MethodError(f"{name} is {getattr(self, name)}; give at least 1")

    def __call__(self, holder: Holder, known: Known, share: Share, ahead: Share) -> Learned:
        """The views; the share is not touched."""
        domain = holder.domain
        strength = self.strength or (3 if self._allows_triples(holder, ahead) else 2)
        views = self.views(domain, strength)
        what = "pair" if strength == 2 else "triple"
        holder.note(
            f"choose {len(views)} views that hold every {what} of columns with at most {self.most_cells:,} cells",
            "sizes of columns and the budget are public",
        )
        return Learned(Selection(views, too_large=domain.pairs_above(self.most_cells)))

    def views(self, domain: Domain, strength: int) -> tuple[Clique, ...]:
        """Views of a domain that hold every set of `strength` columns within `most_cells`; none lies inside another."""
        names = [name for name in domain if domain[name] > 1]
        constant = [name for name in domain if domain[name] == 1]
        if len(names) <= strength and domain.cells() <= self.most_cells:
            return (domain.names,) if len(domain) else ()
        if strength == 3:  # a triple that is left out would take its pairs with it
            widest = sorted(names, key=domain.__getitem__, reverse=True)[:3]
            domain.require_cells(domain.canonical(widest), self.most_cells)
        sizes = domain.project(names).shape
        above = _above(sizes, self.cells, strength)
        kept = [view for view in above if prod(sizes[place] for place in view) <= self.most_cells]
        found = [*_search(sizes, self.cells, strength, self.seed), *kept]
        held = {place for view in found for place in view}
        found += [(place,) for place in range(len(names)) if place not in held]
        return tuple(domain.canonical([*constant, *(names[place] for place in view)]) for view in sorted(found))

    def _allows_triples(self, holder: Holder, ahead: Share) -> bool:
        """Whether all triples can be measured, and the noise of as many views as they need is within `most_noise`."""
        sizes = [size for size in holder.domain.shape if size > 1]
        if len(sizes) < 3 or prod(sorted(sizes)[-3:]) > self.most_cells:
            return False
        least = fewest(sizes, self.cells, 3) + len(_above(tuple(sizes), self.cells, 3))
        return self._noise(holder, ahead, least) <= self.most_noise and (
            self._noise(holder, ahead, len(self.views(holder.domain, 3))) <= self.most_noise
        )

    def _noise(self, holder: Holder, ahead: Share, views: int) -> float:
        """The expected noise of a view if the whole budget is shared equally by this many, as a part of the rows."""
        return sqrt(self.cells * holder.variance(ahead.part(Fraction(1, views)))) / self.rows_guess


@lru_cache(maxsize=16)
def _search(sizes: tuple[int, ...], cells: int, strength: int, seed: int) -> tuple[View, ...]:
    return tuple(search(Task(np.array(sizes), cells, strength), seed))


def _above(sizes: tuple[int, ...], cells: int, strength: int) -> list[View]:
    """Sets of columns that have more cells than a view may have."""
    places = combinations(range(len(sizes)), strength)
    return [view for view in places if prod(sizes[place] for place in view) > cells]
