"""A selection: which tables to measure, and how they hang together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sfumato.data.coding import Level
from sfumato.data.domain import Clique
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

    def to_dict(self) -> dict[str, Any]:
        """This chain as JSON."""
        return {"kind": "chain", "base": self.base, "cross": self.cross, "upper": self.upper}


@dataclass(frozen=True)
class Family:
    """A column and the columns that it is drawn given."""

    column: str
    parents: Clique


@dataclass(frozen=True)
class Network:
    """A Bayesian network: every column once, after all its parents.

    A parent may be a coarser version of a column, one of `levels`.
    """

    families: tuple[Family, ...]
    levels: tuple[Level, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """This network as JSON."""
        families = [[family.column, family.parents] for family in self.families]
        return {"kind": "network", "families": families, "levels": [level.to_dict() for level in self.levels]}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Network:
        """Read a network back from JSON."""
        families = tuple(Family(column, tuple(parents)) for column, parents in record["families"])
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

    def to_dict(self) -> dict[str, Any]:
        """These layers as JSON."""
        return {"kind": "layers", "inside": self.inside, "coarser": [level.to_dict() for level in self.coarser]}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Layers:
        """Read layers back from JSON."""
        return cls(tuple(map(tuple, record["inside"])), tuple(map(Level.from_dict, record["coarser"])))

    def within(self, columns: Clique) -> Layers:
        """The part of these layers that lies in some columns."""
        inside = tuple(pair for pair in self.inside if set(pair) <= set(columns))
        return Layers(inside, tuple(level for level in self.coarser if level.column in columns))


@dataclass(frozen=True)
class Apart:
    """Groups of columns that no clique ties, each with a selection of its own."""

    groups: tuple[Clique, ...]
    selections: tuple[Selection, ...]

    def to_dict(self) -> dict[str, Any]:
        """These groups as JSON."""
        return {"kind": "apart", "groups": self.groups, "selections": [one.to_dict() for one in self.selections]}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Apart:
        """Read groups back from JSON."""
        return cls(tuple(map(tuple, record["groups"])), tuple(map(Selection.from_dict, record["selections"])))


@dataclass(frozen=True)
class Selection:
    """The cliques to measure, and a structure over them for the stages that need one.

    `weights`, if there are any, are the parts of the budget that the cliques get, in any unit; without them the measure
    stage shares by its own rule.
    """

    cliques: tuple[Clique, ...]
    structure: Chain | Network | Layers | Apart | None = None
    weights: tuple[float, ...] = ()

    @property
    def levels(self) -> tuple[Level, ...]:
        """The coarser versions of columns that cliques may have: those of its network, or of all its groups."""
        if isinstance(self.structure, Apart):
            return tuple(level for part in self.structure.selections for level in part.levels)
        return self.structure.levels if isinstance(self.structure, Network) else ()

    def to_dict(self) -> dict[str, Any]:
        """This selection as JSON."""
        structure = self.structure.to_dict() if self.structure else None
        return {"cliques": self.cliques, "structure": structure, "weights": self.weights}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Selection:
        """Read a selection back from JSON."""
        cliques = tuple(map(tuple, record["cliques"]))
        weights = tuple(map(float, record.get("weights", ())))
        structure = record["structure"]
        if structure is None:
            return cls(cliques, None, weights)
        if structure["kind"] == "network":
            return cls(cliques, Network.from_dict(structure), weights)
        if structure["kind"] == "layers":
            return cls(cliques, Layers.from_dict(structure), weights)
        if structure["kind"] == "apart":
            return cls(cliques, Apart.from_dict(structure), weights)
        if structure["kind"] != "chain":
            raise SchemaError(
                f"a structure of kind {structure['kind']!r} is unknown; it is chain, network, layers or apart"
            )
        base = tuple(map(tuple, structure["base"]))
        return cls(cliques, Chain(base, _cliques(structure["cross"]), _cliques(structure["upper"])), weights)


def _cliques(lists: list[list[str] | None]) -> tuple[Clique | None, ...]:
    return tuple(None if names is None else tuple(names) for names in lists)
