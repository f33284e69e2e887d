"""Hypothesis strategies for chains of views, of all three types, and for tables over them."""

from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal
from sfumato.data.marginals import Marginals
from sfumato.data.records import Records
from sfumato.data.selection import Chain


@st.composite
def chains(draw, upper=False):
    """A domain and a chain over it, of Type I, II or III, with views of 1 to 5 columns."""
    width = draw(st.integers(1, 5))
    count = draw(st.integers(1, 3 * width))
    names = draw(st.permutations([f"a{place}" for place in range(count)]))
    domain = Domain({name: draw(st.integers(1, 3)) for name in sorted(names)})
    base = [tuple(names[start : start + width]) for start in range(0, count, width)]
    copies = len(base) > 1 and 2 * len(base[-1]) <= width
    if copies:
        base[-1] += tuple(draw(st.permutations(base[-2]))[: width - len(base[-1])])
    cross, above = [], []
    for one, other in pairwise(base):
        if copies and other is base[-1]:
            cross.append(None)
            above.append(None)
            continue
        some = draw(st.lists(st.sampled_from(one), min_size=1, max_size=max(1, width // 2), unique=True))
        more = draw(st.lists(st.sampled_from(other), min_size=1, max_size=max(1, width - len(some)), unique=True))
        rest = tuple(name for name in one + other if name not in some + more)
        cross.append(tuple(some + more))
        above.append(rest if set(rest) & set(one) and set(rest) & set(other) else None)
    return domain, Chain(tuple(base), tuple(cross), tuple(above) if upper else ())


def cliques_of_chain(chain):
    return [view for view in (*chain.base, *chain.cross, *chain.upper) if view is not None]


def exact_marginals(records, chain):
    """The exact tables of a chain."""
    cliques = [records.domain.canonical(view) for view in cliques_of_chain(chain)]
    return Marginals(records.domain, tuple(records.project(clique) for clique in cliques))


@st.composite
def marginals_over(draw, domain, chain):
    """Tables that need not agree at all: fractions, many zeros, whole tables of zeros, slices of zeros."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    tables = []
    for view in cliques_of_chain(chain):
        part = domain.project(domain.canonical(view))
        counts = rng.gamma(0.5, 20, part.shape) * (rng.random(part.shape) < draw(st.sampled_from([0, 0.1, 0.6, 1])))
        tables.append(Marginal(part, counts))
    return Marginals(domain, tuple(tables))


def random_records(domain, rows, rng):
    """Rows whose columns all depend on each other."""
    hidden = rng.random(rows)
    return Records(domain, [((hidden + 0.6 * rng.random(rows)) % 1 * size).astype(np.int64) for size in domain.shape])
