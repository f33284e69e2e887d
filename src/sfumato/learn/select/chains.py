"""Chains of base and cross views from the sizes of columns alone (DPView, Algorithms 1 and 2, and Definition 8)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sfumato.data.domain import Clique, Domain
from sfumato.data.selection import Chain


@dataclass(frozen=True)
class Layout:
    """What a number of columns and a view size fix: how many views there are, and the type of the last base view.

    Args:
        columns: how many columns the table has.
        width: how many columns a view has (d in the paper); more than there are means all of them.
    """

    columns: int
    width: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", min(self.width, self.columns))

    @property
    def groups(self) -> int:
        """The number of base views."""
        return -(-self.columns // self.width) if self.columns else 0

    @property
    def last(self) -> int:
        """How many columns are left for the last base view."""
        return self.columns - (self.groups - 1) * self.width if self.columns else 0

    @property
    def kind(self) -> str:
        """Type I: the last base view is full. II: it has more than half of its columns. III: it has not."""
        if self.last == self.width:
            return "I"
        return "II" if 2 * self.last > self.width else "III"

    @property
    def copied(self) -> int:
        """How many columns the last base view copies from the one before it: it is filled up in Type III."""
        return self.width - self.last if self.kind == "III" else 0

    @property
    def ties(self) -> int:
        """How many neighbours need a cross view: all pairs but the last of Type III, which share columns themselves."""
        return max(self.groups - 1, 0) - (self.kind == "III")

    def views(self, upper: bool) -> int:
        """The number of views: |B| + |C|, and as many upper cross views as cross views if they are wanted."""
        return self.groups + self.ties * (2 if upper else 1)


def by_size(domain: Domain, names: Iterable[str]) -> Clique:
    """Columns in ascending order of size; equal sizes keep the order of the domain."""
    return tuple(sorted(domain.canonical(names), key=domain.__getitem__))


def base_views(domain: Domain, groups: Iterable[Iterable[str]], width: int) -> tuple[Clique, ...]:
    """Groups of columns in the order of Algorithm 1; each ascending by size.

    Full groups come in descending order of the product of their floor(d/2) largest sizes, and a short one comes last.
    """

    def place(group: Clique) -> tuple[bool, int, tuple[int, ...], tuple[int, ...]]:
        # Ties are broken by sizes first, so the cells of a chain depend on nothing but sizes.
        high = domain.cells(group[width - width // 2 :])
        return len(group) < width, -high, domain.project(group).shape, tuple(map(domain.index, group))

    return tuple(sorted((by_size(domain, group) for group in groups), key=place))


def cross_view(domain: Domain, first: Clique, second: Clique, width: int) -> Clique:
    """Tie two base views from high to low (Algorithm 2): large columns of the first with small ones of the second.

    Each gives floor(d/2) columns. If d is odd, the next smallest column of the second joins them, unless the large half
    has then no more cells than the small one; if so, the smallest column of the first joins instead.

    Args:
        domain: the sizes of the columns.
        first: a base view of d columns, ascending by size.
        second: the base view after it, ascending by size, with more than d/2 columns.
        width: the view size d.
    """
    half = width // 2
    high, low = first[width - half :], second[:half]
    if width % 2 == 0:
        return high + low
    if domain.cells(high) > domain.cells(second[: half + 1]):
        return high + second[: half + 1]
    return first[:1] + high + low


def chain_of(
    domain: Domain, groups: Iterable[Iterable[str]], width: int, copied: Sequence[int] = (), upper: bool = False
) -> Chain:
    """The chain of a partition of the columns: base views, cross views, and upper cross views if they are wanted.

    Args:
        domain: the sizes of the columns.
        groups: a partition of the columns into groups of `width` and at most one shorter group.
        width: the view size d.
        copied: for Type III, which columns the last base view copies: places in the base view before it, ascending by
            size.
        upper: whether to add the upper cross views, which tie what each cross view leaves out (Definition 8). One that
            would lie inside a single base view ties nothing and is left out.
    """
    base = base_views(domain, groups, width)
    shares = Layout(len(domain), width).kind == "III"
    if shares:
        base = (*base[:-1], base[-1] + tuple(base[-2][place] for place in copied))
    pairs = list(pairwise(base))
    cross: list[Clique | None] = [
        None if shares and second is base[-1] else domain.canonical(cross_view(domain, first, second, width))
        for first, second in pairs
    ]
    above = tuple(
        None if tie is None else _upper_view(domain, *pair, tie) for pair, tie in zip(pairs, cross, strict=True)
    )
    return Chain(tuple(map(domain.canonical, base)), tuple(cross), above if upper else ())


def _upper_view(domain: Domain, first: Clique, second: Clique, cross: Clique) -> Clique | None:
    rest = {*first, *second} - {*cross}
    return None if rest <= {*first} or rest <= {*second} else domain.canonical(rest)


def views_of(chain: Chain) -> tuple[Clique, ...]:
    """All views of a chain in its order: a base view, the cross view and the upper cross view after it, and so on."""
    found: list[Clique | None] = []
    for place, base in enumerate(chain.base):
        found += [base, *chain.cross[place : place + 1], *chain.upper[place : place + 1]]
    return tuple(view for view in found if view is not None)
