"""Cells that may hold no row, in a junction tree: which of them it has room for."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.data.constraints import Constraint
from sfumato.data.domain import Clique, Domain
from sfumato.models.junction_tree import JunctionTree, junction_tree


def tree_with_zeros(
    domain: Domain, cliques: Sequence[Clique], zeros: Sequence[Constraint], limit: int
) -> tuple[JunctionTree, tuple[Constraint, ...]]:
    """The junction tree of some cliques and of as many constraints as keep it within `limit` cells, and which they are.

    Small constraints come first. One that would make the tree too large is left to whoever draws rows from it.
    """
    tree, kept = junction_tree(domain, cliques), list[Constraint]()
    for one in sorted(zeros, key=lambda one: one.allowed.size):
        larger = junction_tree(domain, [*cliques, *(each.clique for each in kept), one.clique])
        if larger.cells <= limit:
            kept.append(one)
            tree = larger
    return tree, tuple(kept)
