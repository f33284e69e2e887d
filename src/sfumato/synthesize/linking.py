"""Synthesis by linking (DPView, IV-F and IV-G): partial records of one view after the other are joined to rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.data.constraints import Constraints
from sfumato.data.domain import Clique, Domain
from sfumato.data.marginal import Marginal
from sfumato.data.marginals import Marginals
from sfumato.data.records import Records
from sfumato.data.selection import Chain, Selection
from sfumato.errors import MethodError
from sfumato.synthesize.exchanging import exchanged
from sfumato.synthesize.matching import Graph, fit_edges, maximum_links, priority_links, rank
from sfumato.synthesize.normalizing import normalize, path

Ints = NDArray[np.int64]
Columns = Mapping[str, NDArray[np.uint32]]

EDGES = 8_000_000
"""At most this many edges are looked at when rows are linked by an upper cross view; its largest cells come first."""


@dataclass(frozen=True)
class Linking:
    """Link the views of a chain, b1 with c1, then with b2, and so on, after consistency-aware normalization.

    Rows come out whose marginals over all base and cross views are the normalized tables exactly. Partial records that
    share a value are linked at random, which is conditional independence, unless an upper cross view says more.

    Args:
        matching: how the pairings that an upper cross view allows are chosen: by the priority heuristic, which follows
            its counts, or as many of them as possible (maximum cardinality matching), whatever the counts. Without an
            upper cross view every pairing of rows that share a value is a maximum one, and the two are the same.
        confidence: gamma in the choice of the view that is normalized first.
    """

    matching: Literal["priority", "maximum"] = "priority"
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if self.matching not in ("priority", "maximum"):
            raise MethodError(f"matching {self.matching!r} is unknown; give 'priority' or 'maximum'")
        if not 0 <= self.confidence < 1:
            raise MethodError(f"confidence is {self.confidence}; give a number from 0 to below 1")

    def __call__(self, marginals: Marginals, selection: Selection, rows: int, rng: np.random.Generator) -> Records:
        """`rows` rows that have the normalized base and cross views, and come near the upper cross views."""
        chain = _checked(selection.structure, marginals.domain)
        constraints = marginals.constraints or Constraints(marginals.domain)
        views = normalize(marginals, chain, rows, rng, self.confidence)
        linked: Columns = {}
        for view, guide in zip(views, _guides(chain), strict=True):
            upper = None if guide is None else marginals.project(guide)
            linked = {**linked, **extend(linked, view, rows, rng, upper, self.matching, constraints)}
        return Records(marginals.domain, [linked[name] for name in marginals.domain.names])


def extend(
    linked: Columns,
    view: Marginal,
    rows: int,
    rng: np.random.Generator,
    upper: Marginal | None = None,
    matching: str = "priority",
    constraints: Constraints | None = None,
) -> Columns:
    """The columns that a view adds to the rows linked so far (view combination).

    Args:
        linked: the columns of the rows so far; none at the start.
        view: whole counts that agree with the rows so far on the columns that they share.
        rows: how many rows there are.
        rng: randomness of the pairing.
        upper: a table over columns of both sides that the pairing should follow.
        matching: how it is followed, as in `Linking`.
        constraints: pairs that these forbid exchange partners, where rows that share their value can help.
    """
    shared = view.domain.project(name for name in view.clique if name in linked)
    added = view.domain.project(name for name in view.clique if name not in linked)
    counts = view.project((*shared.names, *added.names)).counts.ravel().astype(np.int64)
    cells = np.repeat(np.arange(len(counts)), counts)
    value, offered = _index(linked, shared, rows), cells // added.cells()
    new = _columns(cells % added.cells(), added)
    partner = np.full(rows, -1, dtype=np.int64)
    if upper is not None:
        known = upper.domain.project(name for name in upper.clique if name in linked)
        unknown = upper.domain.project(name for name in upper.clique if name not in linked)
        left = Side.of(value, _index(linked, known, rows), known.cells(), rng)
        right = Side.of(offered, _index(new, unknown, rows), unknown.cells(), rng)
        table = np.maximum(upper.project((*known.names, *unknown.names)).counts, 0)
        _follow(table.reshape(known.cells(), unknown.cells()).astype(np.float64), left, right, partner, matching, rng)
    _pair_rest(value, offered, partner, rng)
    paired = {name: codes[partner] for name, codes in new.items()}
    if constraints is None or not constraints.items:
        return paired
    better = exchanged(linked, paired, value, constraints, rng)
    return {name: codes[better] for name, codes in paired.items()}


@dataclass(frozen=True, eq=False)
class Side:
    """Partial records on one side of a link, in classes of those that cannot be told apart here.

    Args:
        value: the shared value of each class.
        kind: its cell in the part of the upper cross view that lies on this side.
        size: the number of records in each class.
        order: the records, class by class, in random order inside each.
    """

    value: Ints
    kind: Ints
    size: Ints
    order: Ints

    @classmethod
    def of(cls, value: Ints, kind: Ints, kinds: int, rng: np.random.Generator) -> Side:
        """The classes of records with these shared values and kinds."""
        classes, member, size = np.unique(value * kinds + kind, return_inverse=True, return_counts=True)
        mixed = rng.permutation(len(value))
        return cls(classes // kinds, classes % kinds, size, mixed[np.argsort(member[mixed], kind="stable")])

    def deal(self, classes: Ints) -> Ints:
        """A record of each of these classes, none twice."""
        start = np.cumsum(self.size) - self.size
        order = np.argsort(classes, kind="stable")
        dealt = np.empty(len(classes), dtype=np.int64)
        dealt[order] = self.order[start[classes[order]] + rank(classes[order])]
        return dealt


def _follow(
    table: NDArray[np.float64], left: Side, right: Side, partner: Ints, matching: str, rng: np.random.Generator
) -> None:
    """Fill in the partners of all rows that can follow the table of an upper cross view, known × unknown columns."""
    graph, cell = _edges(left, right, table)
    if matching == "maximum":
        links = maximum_links(graph, rng)
    else:
        wanted = table.ravel() * (len(partner) / max(table.sum(), 1e-300))
        links = priority_links(graph, fit_edges(graph, cell, wanted), rng)
    partner[left.deal(np.repeat(graph.source, links))] = right.deal(np.repeat(graph.target, links))


def _edges(left: Side, right: Side, table: NDArray[np.float64]) -> tuple[Graph, Ints]:
    """The graph of classes that share a value and have a count in the table, and the cell of each edge."""
    unknown = table.shape[1]
    cells = np.argsort(-table, axis=None, kind="stable")[: np.count_nonzero(table)]
    having = np.bincount(left.kind, minlength=len(table))
    cells = np.sort(cells[np.cumsum(having[cells // unknown]) <= EDGES])
    # Class by class and, inside a class, in ascending order of the unknown columns, so edges come out sorted.
    cells_of = np.bincount(cells // unknown, minlength=len(table))
    copies = cells_of[left.kind]
    source = np.repeat(np.arange(len(copies)), copies)
    first = (np.cumsum(cells_of) - cells_of)[left.kind] - (np.cumsum(copies) - copies)
    cell = cells[first[source] + np.arange(len(source))]
    place = np.full((int(right.value.max(initial=-1)) + 1, unknown), -1, dtype=np.int64)
    place[right.value, right.kind] = np.arange(len(right.size))
    target = place[left.value[source], cell % unknown]
    found = target >= 0
    return Graph(left.size, right.size, source[found], target[found]), cell[found]


def _pair_rest(value: Ints, offered: Ints, partner: Ints, rng: np.random.Generator) -> None:
    """Give every row that has no partner one at random, among those that are left with its shared value."""
    rest = rng.permutation(np.flatnonzero(partner < 0))
    left = np.ones(len(offered), dtype=np.bool_)
    left[partner[partner >= 0]] = False
    # Offers come in ascending order of their shared value, so sorting the rows brings equal values together.
    partner[rest[np.argsort(value[rest], kind="stable")]] = np.flatnonzero(left)


def _index(columns: Columns, domain: Domain, rows: int) -> Ints:
    """The cell of each row in the table over a domain."""
    index = np.zeros(rows, dtype=np.int64)
    for name, size in domain.items():
        index *= size
        index += columns[name]
    return index


def _columns(cells: Ints, domain: Domain) -> Columns:
    """The codes of rows in these cells."""
    found = {}
    for name, size in reversed(domain.items()):
        found[name] = (cells % size).astype(np.uint32)
        cells = cells // size
    return found


def _guides(chain: Chain) -> list[Clique | None]:
    """For each view on the path, the upper cross view that guides its linking: that of the cross view before it."""
    found: list[Clique | None] = [None] * bool(chain.base)
    for tie, upper in zip(chain.cross, chain.upper or [None] * len(chain.cross), strict=True):
        found += [upper] if tie is None else [None, upper]
    return found


def _checked(chain: object, domain: Domain) -> Chain:
    """The chain; an error if there is none, if it leaves out columns, or if views far from each other share columns."""
    if not isinstance(chain, Chain):
        raise MethodError("linking needs a chain of views, and this selection has none; select views by domain size")
    linked: set[str] = set()
    last: Clique = ()
    for view in path(chain):
        if apart := (linked & set(view)) - set(last):
            raise MethodError(
                f"the view over {', '.join(view)} shares {', '.join(sorted(apart))} with a view that is not next to "
                "it; in a chain only neighbours may share columns"
            )
        linked |= set(view)
        last = view
    if missing := [name for name in domain.names if name not in linked]:
        raise MethodError(f"no view of the chain contains {', '.join(missing)}; every column must be in one")
    return chain
