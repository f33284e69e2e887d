"""The covering plan: which tables to count together. It depends on the public domain alone and serves every engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from math import prod

from sfumato.data.domain import Clique, Domain

JOINT_CELLS = 1 << 14
"""Cells of a joint that stands in for several tables: the 256 KB it is counted in stay in the second-level cache."""


@lru_cache(maxsize=4)
def plan(domain: Domain, cliques: tuple[Clique, ...]) -> tuple[Clique, ...]:
    """For each clique, the joint to count in its place; a joint contains every clique that points to it.

    Greedy: the largest table that is still open starts a joint, which takes in the columns that cover most open tables
    while it has at most `JOINT_CELLS` cells. Tables that are larger than that are counted by themselves. Tables that
    several holders in one process are asked for are planned once.
    """
    wanted = {frozenset(clique): domain.cells(clique) for clique in cliques}
    sizes = dict(domain.items())
    still_open: dict[str, set[frozenset[str]]] = {name: set() for name in domain}  # by column: a joint looks at few
    for clique in wanted:
        for name in clique:
            still_open[name].add(clique)
    home: dict[frozenset[str], Clique] = {}
    for start in sorted(wanted, key=lambda clique: (-wanted[clique], sorted(clique))):
        if start in home:
            continue
        joint = set(start)
        while (best := _best_addition(sizes, joint, still_open)) is not None:
            joint |= best
        covered = {start} | {clique for name in joint for clique in still_open[name] if clique <= joint}
        home.update(dict.fromkeys(covered, domain.canonical(joint)))
        for clique in covered:
            for name in clique:
                still_open[name].discard(clique)
    return tuple(home[frozenset(clique)] for clique in cliques)


def _best_addition(
    sizes: Mapping[str, int], joint: set[str], still_open: Mapping[str, set[frozenset[str]]]
) -> frozenset[str] | None:
    """The columns that let a joint cover most further open tables per factor of growth, or None if nothing fits."""
    room = JOINT_CELLS // prod(sizes[name] for name in joint)
    if room < min(sizes.values(), default=1):
        return None
    gains = Counter(clique - joint for clique in {clique for name in joint for clique in still_open[name]})
    factors = {missing: prod(sizes[name] for name in missing) for missing in gains if 1 <= len(missing) <= 2}
    return max(
        (missing for missing, factor in factors.items() if factor <= room),
        key=lambda missing: (gains[missing] / factors[missing], sorted(missing)),
        default=None,
    )
