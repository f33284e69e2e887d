"""Domains: ordered column names with a number of codes each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod

from sfumato.errors import ModelTooLarge, SchemaError

Clique = tuple[str, ...]
"""An ordered tuple of column names: the columns of one marginal (a *view* in the papers)."""


@dataclass(frozen=True)
class Domain:
    """The columns of a coded table, in order, each with its number of codes.

    >>> domain = Domain({"age": 74, "sex": 2})
    >>> domain.cells(("sex", "age"))
    148
    >>> domain.project(("sex",))
    Domain(sex: 2)
    """

    names: Clique
    shape: tuple[int, ...]

    def __init__(self, sizes: Mapping[str, int] | Iterable[tuple[str, int]]):
        items = tuple(sizes.items()) if isinstance(sizes, Mapping) else tuple(sizes)
        names = tuple(name for name, _ in items)
        if len(set(names)) != len(names):
            twice = sorted({name for name in names if names.count(name) > 1})
            raise SchemaError(f"columns {', '.join(twice)} occur twice; each name may occur once")
        for name, size in items:
            if size < 1:
                raise SchemaError(f"column {name!r} has {size} codes; a column needs at least one")
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "shape", tuple(int(size) for _, size in items))

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names)}

    def __getitem__(self, name: str) -> int:
        return self.shape[self.index(name)]

    def __contains__(self, name: str) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return "Domain(" + ", ".join(f"{name}: {size}" for name, size in self.items()) + ")"

    def items(self) -> tuple[tuple[str, int], ...]:
        """Pairs of a name and its number of codes, in order."""
        return tuple(zip(self.names, self.shape, strict=True))

    def index(self, name: str) -> int:
        """Position of a column; a name that is not there is an error that lists what is."""
        try:
            return self._places[name]
        except KeyError:
            raise SchemaError(f"column {name!r} is not in the table; it has {', '.join(self.names)}") from None

    def project(self, names: Iterable[str]) -> Domain:
        """The part of this domain over `names`, in the order of `names`."""
        return Domain([(name, self[name]) for name in names])

    def cells(self, names: Iterable[str] | None = None) -> int:
        """Number of cells of the marginal over `names` (all columns if not given)."""
        return prod(self.shape if names is None else (self[name] for name in names))

    def canonical(self, names: Iterable[str]) -> Clique:
        """The set of columns `names` as a clique in the order of this domain."""
        wanted = set(names)
        for name in wanted:
            self.index(name)
        return tuple(name for name in self.names if name in wanted)

    def require_cells(self, clique: Clique, limit: int) -> None:
        """Refuse a marginal with more than `limit` cells, naming its columns."""
        if self.cells(clique) > limit:
            columns = ", ".join(f"{name} ({self[name]})" for name in clique)
            raise ModelTooLarge(
                f"the table over {columns} has {self.cells(clique):,} cells; at most {limit:,} are allowed; "
                "declare fewer bins or categories for these columns"
            )

    def pairs_above(self, limit: float, coarsest: Mapping[str, int] | None = None) -> int:
        """How many pairs of columns have more cells than `limit`; `coarsest` has the codes of columns with levels.

        A pair counts as small if one of the two, in its coarsest form, fits to the other as it is.

        >>> Domain({"a": 2, "b": 30, "c": 40}).pairs_above(100)
        1
        """
        sizes = [(size, (coarsest or {}).get(name, size)) for name, size in self.items()]
        return sum(
            min(one * other_least, one_least * other) > limit
            for (one, one_least), (other, other_least) in combinations(sizes, 2)
        )


def components(groups: Iterable[Iterable[str]]) -> list[set[str]]:
    """The connected components of columns, where those of a group hang together.

    >>> sorted(map(sorted, components([("a", "b"), ("c",), ("b", "d")])))
    [['a', 'b', 'd'], ['c']]
    """
    found: list[set[str]] = []
    for group in map(set, groups):
        apart = [one for one in found if not one & group]
        found = [*apart, group.union(*(one for one in found if one & group))]
    return found
