"""Which pairs of columns still fit into a junction tree."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.data.domain import Clique, Domain
from sfumato.models.junction_tree import fits, graph_of

MISSES = 0.5
"""After this many pairs for each column that did not fit, no more are tried in a round: trees take time to build."""


class GrowingTree:
    """A junction tree that takes in one pair after the other, as long as it stays within its limit."""

    def __init__(self, domain: Domain, limit: int, cliques: Sequence[Clique] = ()):
        self._domain, self._limit = domain, limit
        self._graph = graph_of(domain, cliques)

    def admits(self, pair: Clique) -> bool:
        """Whether a pair fits into the tree; one that fits is taken in."""
        larger = self._graph | graph_of(self._domain, [pair])
        if not fits(self._domain, larger, self._limit):
            return False
        self._graph = larger
        return True


class TreeRoom:
    """The pairs in a tree, and whether one more keeps it within its limit; all from public facts.

    `always` are cliques that are in it whatever pairs are.
    """

    def __init__(self, domain: Domain, limit: int, always: Sequence[Clique] = ()):
        self._domain, self._limit, self._always = domain, limit, tuple(always)
        self._inside: tuple[Clique, ...] = ()
        self.begin()

    def begin(self) -> None:
        """A new round: only what was kept is in the tree."""
        self._held = list(self._inside)
        self._tree = GrowingTree(self._domain, self._limit, [*self._always, *self._held])
        self._misses = MISSES * len(self._domain)

    def admits(self, pair: Clique) -> bool:
        """Whether a pair is in the tree or fits into it; one that fits is taken in."""
        if pair in self._held:
            return True
        if self._misses <= 0:
            return False
        if self._tree.admits(pair):
            self._held.append(pair)
            return True
        self._misses -= 1
        return False

    def keep(self, measured: Sequence[Clique]) -> tuple[Clique, ...]:
        """The round ends: of the pairs that were taken in, those that were measured stay. The pairs in the tree."""
        taken = set(measured)
        self._inside = (*self._inside, *(pair for pair in self._held[len(self._inside) :] if pair in taken))
        return self._inside
