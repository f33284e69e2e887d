"""A selection: which tables to measure, and how they hang together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple

from sfumato.data.coding import Level
from sfumato.data.domain import Clique, Domain
from sfumato.errors import SchemaError


@dataclass(frozen=True)
class Chain:
    """Views in a row: base views that share no columns, and cross views that tie each base view to the next.

    `cross[i]` ties `base[i]` to `base[i + 1]`. Only the last base view may share columns with the one before it; there
    is no cross view between them then, and `cross[i]` is None. `upper[i]`, if there are upper views, ties what is left
    out of `cross[i]`; it is None where there is no cross view, or where all that is left out lies in one base view.
    """

    base: tuple[Clique, ...]
    cross: tuple[Clique | None, ...]
    upper: tuple[Clique | None, ...] = ()

    def require(self, domain: Domain) -> None:
        """Refuse a chain that leaves columns of a domain out, or has others."""
        views = [view for view in (*self.base, *self.cross, *self.upper) if view is not None]
        if len(self.cross) != max(0, len(self.base) - 1) or len(self.upper) not in (0, len(self.cross)):
            raise SchemaError(f"a chain of {len(self.base)} views has {len(self.cross)} that tie them")
        _require_all(domain, (name for view in views for name in domain.project(view)), "a chain")

    def to_dict(self) -> dict[str, Any]:
        """This chain as JSON."""
        return {"kind": "chain", "base": self.base, "cross": self.cross, "upper": self.upper}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Chain:
        """Read a chain back from JSON."""
        cross, upper = (
            tuple(None if names is None else _clique(names) for names in record[kind]) for kind in ("cross", "upper")
        )
        return cls(_all_cliques(record["base"]), cross, upper)


class Family(NamedTuple):
    """A column and the columns that it is drawn given. A tuple, since choices look up thousands of them."""

    column: str
    parents: Clique


@dataclass(frozen=True)
class Network:
    """A Bayesian network: every column once, after all its parents.

    A parent may be a coarser version of a column, one of `levels`.
    """

    families: tuple[Family, ...]
    levels: tuple[Level, ...] = ()

    def require(self, domain: Domain) -> None:
        """Refuse a network that does not have every column of a domain, and of its levels, once and after parents."""
        known: set[str] = set()
        for family in self.families:
            if family.column in known or not known.issuperset(family.parents):
                raise SchemaError(f"a network has {family.column!r} twice or before its parents")
            known |= {family.column, *(level.name for level in self.levels if level.column == family.column)}
        _require_all(domain, known, "a network")

    def to_dict(self) -> dict[str, Any]:
        """This network as JSON."""
        families = [[family.column, family.parents] for family in self.families]
        return {"kind": "network", "families": families, "levels": [level.to_dict() for level in self.levels]}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Network:
        """Read a network back from JSON."""
        families = tuple(Family(_text(column), _clique(parents)) for column, parents in record["families"])
        return cls(families, tuple(map(Level.from_dict, record["levels"])))


@dataclass(frozen=True)
class Layers:
    """Tables in two layers: the pairs that one junction tree holds, with some columns coarser there, and all others.

    Args:
        inside: the pairs of columns that the tree holds.
        coarser: the columns that are coarser in the tree, and how.
    """

    inside: tuple[Clique, ...] = ()
    coarser: tuple[Level, ...] = ()

    def require(self, domain: Domain) -> None:
        """Refuse layers that do not fit a domain; those that are read may be forged."""
        if any(len(domain.project(pair)) != 2 for pair in self.inside) or len(set(self.inside)) != len(self.inside):
            raise SchemaError("a tree of layers has tables that are no pairs of columns, or one of them twice")
        columns = [level.column for level in self.coarser]
        if len(set(columns)) != len(columns) or any(len(one.to) != domain[one.column] for one in self.coarser):
            raise SchemaError("layers have a column twice, or one that is coarser has other codes than its column")

    def to_dict(self) -> dict[str, Any]:
        """These layers as JSON."""
        return {"kind": "layers", "inside": self.inside, "coarser": [level.to_dict() for level in self.coarser]}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Layers:
        """Read layers back from JSON."""
        return cls(_all_cliques(record["inside"]), tuple(map(Level.from_dict, record["coarser"])))

    def within(self, columns: Clique) -> Layers:
        """The part of these layers that lies in some columns."""
        inside = tuple(pair for pair in self.inside if set(pair) <= set(columns))
        return Layers(inside, tuple(level for level in self.coarser if level.column in columns))


@dataclass(frozen=True)
class Apart:
    """Groups of columns that no clique ties, each with a selection of its own."""

    groups: tuple[Clique, ...]
    selections: tuple[Selection, ...]

    def require(self, domain: Domain) -> None:
        """Refuse groups that do not have every column of a domain, and selections that do not fit their groups."""
        _require_all(domain, (name for group in self.groups for name in group), "a list of groups", self.levels)
        if len(self.selections) != len(self.groups) or sum(map(len, self.groups)) + len(self.levels) != len(domain):
            raise SchemaError(f"{len(self.groups)} groups overlap, or have {len(self.selections)} selections")
        for group, selection in zip(self.groups, self.selections, strict=True):
            selection.require(domain.project((*group, *(level.name for level in selection.levels))))

    @property
    def levels(self) -> tuple[Level, ...]:
        """The coarser versions of columns in all groups."""
        return tuple(level for one in self.selections for level in one.levels)

    def to_dict(self) -> dict[str, Any]:
        """These groups as JSON."""
        return {"kind": "apart", "groups": self.groups, "selections": [one.to_dict() for one in self.selections]}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Apart:
        """Read groups back from JSON."""
        return cls(_all_cliques(record["groups"]), tuple(map(Selection.from_dict, record["selections"])))


@dataclass(frozen=True)
class Selection:
    """The cliques to measure, and a structure over them for the stages that need one.

    `weights`, if there are any, are the parts of the budget that the cliques get, in any unit; without them the measure
    stage shares by its own rule. `too_large` is the number of pairs of columns that had too many cells to be looked at.
    """

    cliques: tuple[Clique, ...]
    structure: Chain | Network | Layers | Apart | None = None
    weights: tuple[float, ...] = ()
    too_large: int = 0

    @property
    def levels(self) -> tuple[Level, ...]:
        """The coarser versions of columns that cliques may have: those of its network, or of all its groups."""
        return self.structure.levels if isinstance(self.structure, Network | Apart) else ()

    @property
    def is_network(self) -> bool:
        """Whether the structure is a network, or one for each group."""
        if isinstance(self.structure, Apart):
            return all(one.is_network for one in self.structure.selections)
        return isinstance(self.structure, Network)

    def require(self, domain: Domain) -> None:
        """Refuse a selection that does not fit a domain, which has its levels too; one that is read may be forged."""
        for clique in self.cliques:
            domain.project(clique)
        if self.weights and (len(self.weights) != len(self.cliques) or not all(map(_is_weight, self.weights))):
            raise SchemaError(f"{len(self.weights)} weights were given for {len(self.cliques)} cliques, or odd ones")
        if self.structure is not None:
            self.structure.require(domain)

    def to_dict(self) -> dict[str, Any]:
        """This selection as JSON."""
        structure = self.structure.to_dict() if self.structure else None
        return {
            "cliques": self.cliques,
            "structure": structure,
            "weights": self.weights,
            "too_large": self.too_large,
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Selection:
        """Read a selection back from JSON."""
        cliques = _all_cliques(record["cliques"])
        weights = tuple(map(float, record.get("weights", ())))
        return cls(cliques, _structure(record["structure"]), weights, _count(record.get("too_large", 0)))


def _structure(record: Any) -> Chain | Network | Layers | Apart | None:
    """Read a structure back from JSON."""
    if record is None:
        return None
    kinds: dict[str, Callable[[Any], Chain | Network | Layers | Apart]] = {
        "chain": Chain.from_dict,
        "network": Network.from_dict,
        "layers": Layers.from_dict,
        "apart": Apart.from_dict,
    }
    if record["kind"] not in kinds:
        raise SchemaError(f"a structure of kind {record['kind']!r} is unknown; it is chain, network, layers or apart")
    return kinds[record["kind"]](record)


def _require_all(domain: Domain, names: Iterable[str], owner: str, levels: Iterable[Level] = ()) -> None:
    """Every column of a domain, and nothing else."""
    if {*names, *(level.name for level in levels)} != set(domain):
        raise SchemaError(f"{owner} has other columns than {domain!r}")


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise TypeError
    return value


def _is_weight(value: float) -> bool:
    return isfinite(value) and value > 0


def _text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError
    return value


def _clique(names: Any) -> Clique:
    if not isinstance(names, list | tuple):
        raise TypeError
    return tuple(map(_text, names))


def _all_cliques(lists: Any) -> tuple[Clique, ...]:
    return tuple(map(_clique, lists))
