"""Choose random views, as many and as large as the expected error says: reads nothing but public facts (DPSyn).

How many views m, and how many cells L each, is a matter of noise against coverage. A view i of C_i cells, whose cells
have noise of variance v_i, tells each cell of a pair of columns that it holds as a sum of C_i / c cells, where c is the
number of cells of the pair. All views that hold the pair are averaged by precision, so the noise of a cell of the
pair has the variance 1 / (c P) with P = sum of 1 / (C_i v_i). The mean of |x| for a normal x is sqrt(2/pi) standard
deviations; added over c cells, halved, and divided by n rows this is a total variation distance of

    sqrt(c / P) / (n sqrt(2 pi))

for a pair in some view. A pair in no view is taken for independent, which is wrong by a guess that we state. The error
of a choice is the mean over all pairs. With parts of the budget in proportion to w_i = cells^power, noise is
v_i = v (W / w_i)^k, where W is the sum of all w_i, v the variance of one table with the whole budget, and k is 2 for
epsilon and 1 for rho: one running sum over the views gives the error of every m.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, pi, prod, sqrt

import numpy as np
from numpy.typing import NDArray

from sfumato.data.domain import Clique, Domain
from sfumato.data.selection import Selection
from sfumato.errors import MethodError
from sfumato.learn import Known, Learned
from sfumato.privacy.budget import Currency, Share
from sfumato.privacy.holder import Holder
from sfumato.privacy.mechanism_choice import planned_noise
from sfumato.privacy.neighbours import Neighbours

LIMITS = tuple(2**power for power in range(3, 17))
"""The numbers of cells that are tried for L."""
POWERS = {Currency.EPSILON: 1 / 3, Currency.RHO: 2 / 3}
"""How the measure stage shares the budget; another rule there makes the choice less good, but no less private."""
EXPONENTS = {Currency.EPSILON: 2, Currency.RHO: 1}
"""Variance falls with this power of a table's part of the budget."""
MOST_CELLS = 1 << 22
"""All views together have no more cells than this."""
MOST_OVERLAPS = 2_000
"""Sets of columns that views share. Making tables agree visits all of them, and they can grow as 2^columns."""
MOST_PAIRS = 10_000
"""The error of an average pair is taken from no more pairs than this."""
MOST_CONSTANTS = 16
"""Columns of one code in one view: they cost no cells, but an array has only so many axes."""

View = tuple[int, ...]
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Plan:
    """A choice of random views: how many, the limit on their cells, the expected error, and the views."""

    count: int
    limit: int
    error: float
    views: tuple[Clique, ...]


@dataclass(frozen=True)
class RandomViews:
    """DPSyn's random views: m views of at most L cells, where m and L minimise the expected error of an average pair.

    A column that no random view holds, because it is larger than L or by chance, gets a view of its own. If noise would
    cost more than views tell, there are only such views.

    Args:
        rows_guess: a public guess of the number of rows.
        dependence_guess: a public guess of how far a pair of columns is from independence, on average, in total
            variation distance. Wrong guesses cost accuracy, not privacy. Three public tables (Adult, Census-Income,
            KDD Cup 99) are at 0.07 to 0.08. The default is more, because the formula counts noise before tables are
            made to agree and freed of negative cells, which takes off about half. It is a compromise: of the values
            that were tried at epsilon 1, 0.25 is best for Adult and 0.08 for 50,000 rows of KDD Cup 99.
        most_views: the largest m.
        seed: of the views; public.
    """

    rows_guess: int = 50_000
    dependence_guess: float = 0.2
    most_views: int = 64
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("rows_guess", "most_views"):
            if getattr(self, name) < 1:
                raise MethodError(f"{name} is {getattr(self, name)}; give at least 1")
        if not 0 < self.dependence_guess <= 1:
            raise MethodError(f"dependence_guess is {self.dependence_guess}; give a distance above 0, at most 1")

    def __call__(self, holder: Holder, known: Known, share: Share, ahead: Share) -> Learned:
        """The views; the share is not touched."""
        plan = self.plan(holder.domain, ahead.currency, holder.variance(ahead))
        alone = len(plan.views) - plan.count
        holder.note(
            f"choose {plan.count} random views of at most {plan.limit} cells, and {alone} for the columns left over",
            "sizes of columns and the budget are public",
        )
        return Learned(Selection(plan.views, too_large=holder.domain.pairs_above(plan.limit)))

    def tables(self, domain: Domain, ahead: Share, neighbours: Neighbours) -> int:
        """How many views there would be; known before a ledger is opened."""
        return len(
            self.plan(
                domain, ahead.currency, planned_noise(ahead, neighbours.marginal).variance / neighbours.parts**2
            ).views
        )

    def plan(self, domain: Domain, currency: Currency, variance: float) -> Plan:
        """The best of all plans; of equal ones the first, which has the smallest L and the fewest views.

        Args:
            domain: the columns.
            currency: of the budget.
            variance: of the noise in a cell if one table were measured with the whole budget.
        """
        best = Plan(0, LIMITS[0], inf, ())
        for limit, views, errors in self.errors(domain, currency, variance):
            count = int(np.argmin(errors))
            if errors[count] < best.error:
                chosen = tuple(domain.canonical(domain.names[place] for place in view) for view in views[:count])
                best = Plan(count, limit, float(errors[count]), chosen + left_over(domain, chosen))
        return best

    def errors(self, domain: Domain, currency: Currency, variance: float) -> list[tuple[int, list[View], Array]]:
        """For every L: its random views, and the expected error of using the first 0, 1, 2, … of them."""
        found = []
        for limit in LIMITS:
            # A fixed seed: views are public, so chance need not be secret, and the same columns and budget give
            # the same views, which anyone can check. Each L starts afresh, so no L depends on the others.
            views = draw_views(domain.shape, limit, self.most_views, np.random.default_rng(self.seed))
            noise = noise_errors(domain.shape, views, currency, sqrt(variance) / self.rows_guess)
            found.append((limit, views, np.where(np.isinf(noise), self.dependence_guess, noise).mean(axis=1)))
            if limit >= domain.cells():
                break
        return found


def draw_views(sizes: Sequence[int], limit: int, most: int, rng: np.random.Generator) -> list[View]:
    """Different random views of at most `limit` cells, none inside another.

    A view takes the columns in random order and keeps each that still fits. So no further column fits into it, and a
    view inside another one is the same view. Columns of one code are left out; so are views of one column, which say
    nothing of pairs.
    """
    places = [place for place, size in enumerate(sizes) if 1 < size <= limit]
    views: list[View] = []
    overlaps: set[frozenset[int]] = set()
    cells = 0
    for _ in range(4 * most):  # in a small domain, sooner or later all views have been drawn
        view: list[int] = []
        room = limit
        for place in rng.permutation(places).tolist():
            if sizes[place] <= room:
                view.append(place)
                room //= sizes[place]
        if len(view) < 2 or tuple(sorted(view)) in views:
            continue
        cells += prod(sizes[place] for place in view)
        columns = frozenset(view)
        overlaps |= {columns & other for other in [*overlaps, *map(frozenset, views)]}
        if cells > MOST_CELLS or len(overlaps) > MOST_OVERLAPS or len(views) == most:
            break
        views.append(tuple(sorted(view)))
    return views


def noise_errors(sizes: Sequence[int], views: Sequence[View], currency: Currency, scale: float) -> Array:
    """The expected total variation distance, by noise alone, of each pair (second axis) from the first m views.

    Row m is for the first m views and one view for each column that they leave over; a pair in none of them is inf.

    Args:
        sizes: of all columns.
        views: the views in order.
        currency: of the budget.
        scale: standard deviation of the noise, as a part of all rows, of one table that has the whole budget.
    """
    power, exponent = POWERS[currency], EXPONENTS[currency]
    pairs = _pairs(sizes)
    if not len(pairs):
        return np.zeros((len(views) + 1, 1))
    shape = np.array(sizes, dtype=np.float64)
    holds = np.zeros((len(views) + 1, len(sizes)), dtype=bool)
    for index, view in enumerate(views, start=1):
        holds[index, list(view)] = True
    # Row 0 is for no views: it holds nothing, and what it weighs is taken away again.
    cells = np.where(holds, shape, 1.0).prod(axis=1)
    weights = cells**power
    left = ~np.logical_or.accumulate(holds, axis=0)
    total = np.cumsum(weights) - 1 + (left * shape**power).sum(axis=1)
    precision = np.cumsum(holds[:, pairs].all(axis=2) * (weights**exponent / cells)[:, None], axis=0)
    with np.errstate(divide="ignore"):
        spread = np.sqrt(shape[pairs].prod(axis=1) / precision)
    return np.asarray(spread * total[:, None] ** (exponent / 2) * scale / sqrt(2 * pi))


def _pairs(sizes: Sequence[int]) -> NDArray[np.int64]:
    """All pairs of columns that can depend on each other, or as many at random as stand for all of them."""
    places = np.flatnonzero(np.array(sizes) > 1)
    pairs = places[np.stack(np.triu_indices(len(places), 1), axis=1)]
    if len(pairs) <= MOST_PAIRS:
        return pairs
    return np.asarray(np.random.default_rng(0).choice(pairs, MOST_PAIRS, replace=False))


def left_over(domain: Domain, views: Sequence[Clique]) -> tuple[Clique, ...]:
    """A view for each column in none of `views`; columns of one code, which cost next to nothing, share views."""
    seen = {name for view in views for name in view}
    alone = [(name,) for name in domain if name not in seen and domain[name] > 1]
    constant = [name for name in domain if name not in seen and domain[name] == 1]
    shared = [tuple(constant[i : i + MOST_CONSTANTS]) for i in range(0, len(constant), MOST_CONSTANTS)]
    return (*alone, *shared)
