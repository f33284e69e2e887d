"""A small population with real dependence, and its exact tables, for tests of synthesizers."""

import numpy as np

from sfumato.data.domain import Domain
from sfumato.data.marginals import Marginals
from sfumato.data.records import Records


def population(rows=40_000, seed=0):
    """A chain a - b - c, a triangle c, d, e and a column f by itself."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, rows)
    b = (a + rng.integers(0, 2, rows)) % 4
    c = np.where(rng.random(rows) < 0.7, b % 3, rng.integers(0, 3, rows))
    d = np.where(rng.random(rows) < 0.6, c, rng.integers(0, 3, rows))
    e = np.where(rng.random(rows) < 0.8, (c + d) % 2, rng.integers(0, 2, rows))
    f = rng.choice(5, rows, p=[0.5, 0.3, 0.1, 0.1, 0.0])
    return Records(Domain({"a": 4, "b": 4, "c": 3, "d": 3, "e": 2, "f": 5}), [a, b, c, d, e, f])


def marginals_of(records, cliques):
    """The exact tables of all columns and of some cliques."""
    singles = [(name,) for name in records.domain.names]
    return Marginals(records.domain, tuple(records.project(clique) for clique in [*singles, *cliques]))
