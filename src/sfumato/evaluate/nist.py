"""The three scores of the NIST Differential Privacy Synthetic Data Challenge (2018), each from 0 to 1,000,000.

Section 5.1 of the DPSyn paper on the challenge gives the formulas; where it is silent we follow the rules of the third
match. The scores compare with real rows and are not protected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from sfumato.data.marginal import Projectable
from sfumato.data.records import Records
from sfumato.errors import MethodError, SchemaError
from sfumato.evaluate.marginals import cliques_of, total_variation
from sfumato.evaluate.ranges import RangeQuery

Floats = NDArray[np.float64]

BEST = 1_000_000
LEAST_SHARE = 1e-6
"""A smaller share of the synthetic rows counts as this much, so its logarithm stays finite."""


def density_score(real: Projectable, synthetic: Projectable, tables: int = 300, seed: int = 0) -> float:
    """How well random three-way tables agree: 10⁶ (1 - s/2), with s their mean L1 distance as shares of the rows.

    Args:
        real: the real rows, or tables of them.
        synthetic: the synthetic rows, or tables of them.
        tables: at most this many tables, all different.
        seed: chooses the tables; it is public.
    """
    cliques = cliques_of(real.domain, min(3, len(real.domain)), tables, seed)
    return BEST * (1 - float(np.mean([total_variation(real, synthetic, clique) for clique in cliques])))


def range_queries(
    real: Records,
    ordered: frozenset[str],
    nullable: frozenset[str] = frozenset(),
    count: int = 300,
    probability: float = 0.33,
    seed: int = 0,
) -> list[RangeQuery]:
    """Random queries, each of which a random real row matches; they tell something of these rows and are private.

    In an ordered column the condition is a random interval around the row's code, or just "missing" if the row has no
    value there; in any other column it is a random set of 1 to all codes with the row's among them.

    Args:
        real: the real rows, at least one.
        ordered: columns whose codes are in order.
        nullable: columns whose last code stands for a missing value.
        count: how many queries.
        probability: the chance of each column to take part in a query; a query without any is drawn again.
        seed: makes the queries repeatable.
    """
    if not len(real):
        raise MethodError("range queries are drawn around real rows, and the table has none; give a table with rows")
    rng = np.random.default_rng(seed)
    queries = []
    for _ in range(count):
        row = int(rng.integers(len(real)))
        chosen = rng.random(len(real.domain)) < probability
        while not chosen.any():
            chosen = rng.random(len(real.domain)) < probability
        clique = tuple(real.domain.names[index] for index in np.flatnonzero(chosen))
        allowed = tuple(
            _around(int(real[name][row]), real.domain[name], name in ordered, name in nullable, rng) for name in clique
        )
        queries.append(RangeQuery(clique, allowed))
    return queries


def _around(code: int, size: int, ordered: bool, nullable: bool, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Allowed codes, the given one among them."""
    codes = np.arange(size)
    if not ordered:
        others = rng.permutation(np.delete(codes, code))
        return np.isin(codes, [code, *others[: rng.integers(size)]])
    values = size - nullable
    if code == values:
        return np.equal(codes, code)
    return np.asarray((np.abs(codes - code) <= rng.uniform(0, values)) & (codes < values))


def range_score(real: Records, synthetic: Records, queries: Sequence[RangeQuery]) -> float:
    """How well shares of matching rows agree: 10⁶ max(0, 1 - r / ln 10³), with r the root mean square log-ratio.

    A share of the synthetic rows below 10⁻⁶ counts as 10⁻⁶.
    """
    squares = []
    for query in queries:
        wanted = matching_share(real, query)
        if wanted == 0:
            raise MethodError(
                f"a query over {', '.join(query.clique)} matches no real row, so its ratio is undefined; "
                "draw queries with range_queries"
            )
        squares.append(log(max(matching_share(synthetic, query), LEAST_SHARE) / wanted) ** 2)
    return BEST * max(0.0, 1 - sqrt(float(np.mean(squares))) / log(1000))


def matching_share(rows: Records, query: RangeQuery) -> float:
    """The share of rows that match, counted row by row: a query may have too many columns for a table."""
    matching = np.arange(len(rows))
    for name, allowed in zip(query.clique, query.allowed, strict=True):
        matching = matching[allowed[rows[name][matching]]]
    return len(matching) / max(len(rows), 1)


@dataclass(frozen=True)
class WageColumns:
    """Where to find incomes by city and sex.

    Args:
        city: name of the column of cities.
        sex: name of the column of sexes.
        income: name of the column of incomes, in bins.
        midpoints: an income for each code of that column; nan for a code that stands for no income.
        sexes: the two codes of the column of sexes whose mean incomes are compared.
    """

    city: str
    sex: str
    income: str
    midpoints: tuple[float, ...]
    sexes: tuple[int, int] = (0, 1)

    def counts(self, table: Projectable) -> tuple[Floats, Floats]:
        """Rows by city, sex and income, incomes in rising order and without codes that are none; and these incomes."""
        counts = table.project((self.city, self.sex, self.income)).counts.astype(np.float64)
        values = np.array(self.midpoints, dtype=np.float64)
        if len(values) != counts.shape[2]:
            raise SchemaError(f"{len(values)} midpoints were given; column {self.income!r} has {counts.shape[2]} codes")
        if np.isnan(values).all():
            raise SchemaError(
                f"no code of column {self.income!r} has a midpoint; give the incomes that its codes stand for"
            )
        order = np.argsort(values, kind="stable")[: np.count_nonzero(~np.isnan(values))]
        return counts[:, :, order], values[order]


def gini_by_city(table: Projectable, columns: WageColumns) -> Floats:
    """The Gini index of the incomes in each city: 0 if all are equal, near 1 if one has all; nan without incomes."""
    counts, values = columns.counts(table)
    people = counts.sum(axis=1)
    held = np.cumsum(people * values, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        people, held = people / people.sum(axis=1, keepdims=True), held / held[:, -1:]
    # One minus twice the area under the Lorenz curve. Where nobody has anything all are equal.
    area = (people * (held + np.concatenate([np.zeros((len(held), 1)), held[:, :-1]], axis=1))).sum(axis=1)
    return np.where(np.isnan(area) & ~np.isnan(people[:, 0]), 0.0, 1 - area)


def pay_gap_by_city(table: Projectable, columns: WageColumns) -> Floats:
    """The mean income of the first sex minus that of the second, in each city; nan in a city without incomes.

    The mean of a sex without incomes in the city counts as 0, as in the challenge.
    """
    counts, values = columns.counts(table)
    people = counts.sum(axis=2)
    mean = (counts @ values) / np.maximum(people, 1e-300)
    first, second = columns.sexes
    return np.where(people.sum(axis=1) > 0, mean[:, first] - mean[:, second], np.nan)


def gini_score(real: Projectable, synthetic: Projectable, columns: WageColumns) -> float:
    """How well Gini indices agree: 10⁶ times the root mean square of 1 - |difference|, over the real cities.

    A city without synthetic incomes counts as 0.
    """
    wanted, found = gini_by_city(real, columns), gini_by_city(synthetic, columns)
    return _over_cities(wanted, np.abs(wanted - found))


def pay_gap_score(real: Projectable, synthetic: Projectable, columns: WageColumns) -> float:
    """How well the order of the cities by pay gap agrees: 10⁶ times the root mean square of 1 - |ranks moved|/(c - 1).

    A city's rank is its place among the cities of its own table, largest gap first; c is the number of real cities. A
    city without synthetic incomes counts as 0, and so does one that moved further than c - 1.
    """
    wanted, found = (_ranks(pay_gap_by_city(table, columns)) for table in (real, synthetic))
    return _over_cities(wanted, np.abs(wanted - found) / max(np.count_nonzero(~np.isnan(wanted)) - 1, 1))


def wage_score(real: Projectable, synthetic: Projectable, columns: WageColumns) -> float:
    """The third score of the challenge: the mean of the scores for Gini indices and pay gaps."""
    return (gini_score(real, synthetic, columns) + pay_gap_score(real, synthetic, columns)) / 2


def _ranks(gaps: Floats) -> Floats:
    """The place of each city by falling gap; nan where there is none."""
    ranks = np.full(len(gaps), np.nan)
    ranks[np.argsort(-gaps, kind="stable")] = np.arange(len(gaps))
    return np.where(np.isnan(gaps), np.nan, ranks)


def _over_cities(wanted: Floats, deviation: Floats) -> float:
    """The score of the deviations in all cities that have a wanted value."""
    agreement = np.nan_to_num(1 - deviation, nan=0.0).clip(min=0)[~np.isnan(wanted)]
    return BEST * sqrt(float(np.mean(agreement**2))) if len(agreement) else 0.0
