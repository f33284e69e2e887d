"""Codings: from the codes of attributes to the codes that are counted. Plain data: stored, and sent to parties.

A coding is a list of small steps. Each step says, for every attribute after it, which attribute before it this one
comes from and by which lookup table. So steps compose: however many there are, an attribute is one attribute of the
base and at most one lookup table. Nothing here has rows or behaviour of a caller's; engines apply it where rows are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal
from sfumato.errors import SchemaError

Lookup = NDArray[np.int64]

MOST_STEPS, MOST_LEVELS = 16, 10_000
"""A coding that is read may have this many: more were never written by us."""


@dataclass(frozen=True)
class Level:
    """One coarser version of an attribute: its code c is code `to[c]` of the level, 0, 1, 2, … without a gap."""

    column: str
    to: tuple[int, ...]

    def __post_init__(self) -> None:
        _require_onto(self.to, f"a level of {self.column!r}")

    @property
    def size(self) -> int:
        """Number of codes of the level."""
        return max(self.to) + 1

    @property
    def name(self) -> str:
        """What the level is called. Nobody else names it: parties show it to their operators."""
        return f"{self.column} in {self.size}"

    def to_dict(self) -> dict[str, Any]:
        """This level as JSON."""
        return {"column": self.column, "to": list(self.to)}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Level:
        """Read a level back from JSON; a KeyError, TypeError or ValueError if it is none."""
        return cls(_text(record["column"]), _codes(record["to"]))


@dataclass(frozen=True)
class Merge:
    """Several codes of an attribute become one: its code c becomes `to[c]`. Attributes without a map stay."""

    maps: tuple[tuple[str, tuple[int, ...]], ...]

    def __post_init__(self) -> None:
        _require_once((name for name, _ in self.maps), "{} is merged twice")
        for name, to in self.maps:
            _require_onto(to, f"the merging of {name!r}")

    def sources(self, before: Domain) -> dict[str, tuple[str, Lookup | None]]:
        """Where each attribute after this step comes from."""
        maps = dict(self.maps)
        _require_sizes(before, ((name, to) for name, to in self.maps))
        return {name: (name, np.array(maps[name]) if name in maps else None) for name in before}

    def to_dict(self) -> dict[str, Any]:
        """This step as JSON."""
        return {"merge": {name: list(to) for name, to in self.maps}}

    @classmethod
    def from_detail(cls, detail: Mapping[str, Any]) -> Merge:
        """Read this step back from JSON."""
        return cls(tuple((_text(name), _codes(to)) for name, to in detail.items()))


@dataclass(frozen=True)
class Keep:
    """Some of the attributes, the others dropped."""

    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.names:
            raise SchemaError("a coding keeps no attribute; it must keep at least one")

    def sources(self, before: Domain) -> dict[str, tuple[str, Lookup | None]]:
        """Where each attribute after this step comes from."""
        return {name: (name, None) for name in before.project(self.names)}

    def to_dict(self) -> dict[str, Any]:
        """This step as JSON."""
        return {"keep": list(self.names)}

    @classmethod
    def from_detail(cls, detail: Iterable[Any]) -> Keep:
        """Read this step back from JSON."""
        return cls(tuple(map(_text, _items(detail))))


@dataclass(frozen=True)
class Levels:
    """All attributes, and after them coarser versions of some."""

    levels: tuple[Level, ...]

    def __post_init__(self) -> None:
        _require_once((level.name for level in self.levels), "two levels are named {}")

    def sources(self, before: Domain) -> dict[str, tuple[str, Lookup | None]]:
        """Where each attribute after this step comes from."""
        _require_sizes(before, ((level.column, level.to) for level in self.levels))
        found: dict[str, tuple[str, Lookup | None]] = {name: (name, None) for name in before}
        for level in self.levels:
            if (name := level.name) in found:
                raise SchemaError(f"a level is named {name!r}, as another or an attribute is; each needs its own name")
            found[name] = (level.column, np.array(level.to))
        return found

    def to_dict(self) -> dict[str, Any]:
        """This step as JSON."""
        return {"levels": [level.to_dict() for level in self.levels]}

    @classmethod
    def from_detail(cls, detail: Iterable[Any]) -> Levels:
        """Read this step back from JSON; names of levels are not read, since Sfumato gives them."""
        if any(set(one) != {"column", "to"} for one in _items(detail)):
            raise ValueError
        return cls(tuple(map(Level.from_dict, detail)))


Step = Merge | Keep | Levels

_KINDS: dict[str, Callable[[Any], Step]] = {
    "merge": Merge.from_detail,
    "keep": Keep.from_detail,
    "levels": Levels.from_detail,
}


@dataclass(frozen=True)
class Coding:
    """Steps from the codes of a base domain to those of `domain`.

    >>> coding = Coding(Domain({"age": 4, "sex": 2})).then(Merge((("age", (0, 0, 1, 1)),)))
    >>> coding.domain
    Domain(age: 2, sex: 2)
    >>> coding.lookup("age")
    ('age', array([0, 0, 1, 1]))
    """

    base: Domain
    steps: tuple[Step, ...] = ()

    def __post_init__(self) -> None:
        self.domain  # noqa: B018  # a step that does not fit is refused here, not when rows are counted

    @cached_property
    def _sources(self) -> dict[str, tuple[str, Lookup | None]]:
        found: dict[str, tuple[str, Lookup | None]] = {name: (name, None) for name in self.base}
        domain = self.base
        for step in self.steps:
            after = step.sources(domain)
            found = {name: _composed(found[source], lookup) for name, (source, lookup) in after.items()}
            domain = Domain([(name, self._size(found[name])) for name in after])
        return found

    @cached_property
    def domain(self) -> Domain:
        """The attributes after all steps."""
        return Domain([(name, self._size(source)) for name, source in self._sources.items()])

    def _size(self, source: tuple[str, Lookup | None]) -> int:
        name, lookup = source
        return self.base[name] if lookup is None else int(lookup.max()) + 1

    def lookup(self, name: str) -> tuple[str, Lookup | None]:
        """The attribute of the base that `name` comes from, and the table from its codes (None: the codes as is)."""
        self.domain.index(name)
        return self._sources[name]

    def then(self, step: Step) -> Coding:
        """This coding and one step more."""
        return Coding(self.base, (*self.steps, step))

    def after(self, first: Coding) -> Coding:
        """The steps of this coding that come after those of `first`, with which it must begin."""
        if self.base != first.base or self.steps[: len(first.steps)] != first.steps:
            raise SchemaError("a table in one coding was asked for in another that does not continue it")
        return Coding(first.domain, self.steps[len(first.steps) :])

    def apply(self, marginal: Marginal, names: Iterable[str] | None = None) -> Marginal:
        """A table over base attributes as one over the attributes they become, cells added up.

        `names` are wanted where an attribute has become several; by default each keeps its name.
        """
        wanted = tuple(marginal.clique if names is None else names)
        counts = np.asarray(marginal.counts)
        for axis, (name, before) in enumerate(zip(wanted, marginal.clique, strict=True)):
            source, lookup = self.lookup(name)
            if source != before:
                raise SchemaError(f"attribute {name!r} comes from {source!r} and not from {before!r}")
            if lookup is not None:
                summed = np.zeros((self.domain[name], *np.moveaxis(counts, axis, 0).shape[1:]), dtype=counts.dtype)
                np.add.at(summed, lookup, np.moveaxis(counts, axis, 0))
                counts = np.moveaxis(summed, 0, axis)
        return Marginal(self.domain.project(wanted), counts)  # type: ignore[arg-type]

    def to_dict(self) -> list[dict[str, Any]]:
        """The steps as JSON; the base is known to whoever reads them."""
        return [step.to_dict() for step in self.steps]

    @classmethod
    def from_dict(cls, base: Domain, record: Any) -> Coding:
        """Read steps back from JSON. What `to_dict` would not write is a SchemaError: it may come from a stranger."""
        try:
            steps = []
            for one in _items(record):
                ((kind, detail),) = one.items()
                steps.append(_KINDS[kind](detail))
            if (
                len(steps) > MOST_STEPS
                or sum(len(one.levels) for one in steps if isinstance(one, Levels)) > MOST_LEVELS
            ):
                raise ValueError
        except (KeyError, ValueError, TypeError, AttributeError, OverflowError):
            raise SchemaError(
                f"a coding cannot be read; wanted a list of at most {MOST_STEPS} steps, each one of {', '.join(_KINDS)}"
            ) from None
        return cls(base, tuple(steps))


def _composed(first: tuple[str, Lookup | None], then: Lookup | None) -> tuple[str, Lookup | None]:
    name, lookup = first
    if then is None:
        return first
    return name, then if lookup is None else then[lookup]


def _require_onto(to: tuple[int, ...], owner: str) -> None:
    if not to or set(to) != set(range(max(to) + 1)):
        raise SchemaError(f"{owner} must send codes to 0, 1, 2, … without a gap")


def _require_once(names: Iterable[str], problem: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise SchemaError(problem.format(repr(name)))
        seen.add(name)


def _require_sizes(before: Domain, maps: Iterable[tuple[str, tuple[int, ...]]]) -> None:
    for name, to in maps:
        if len(to) != before[name]:
            raise SchemaError(f"attribute {name!r} has {before[name]} codes; a coding was given for {len(to)}")


def _text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError
    return value


def _items(values: Any) -> list[Any]:
    if type(values) is not list:
        raise TypeError
    return values


def _codes(values: Any) -> tuple[int, ...]:
    codes = tuple(_items(values))
    if any(type(code) is not int or not 0 <= code < len(codes) for code in codes):
        raise ValueError
    return codes
