"""Measure the views that a user gives, with the part of the budget that he gives them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from sfumato.data.domain import Clique, Domain
from sfumato.data.selection import Selection
from sfumato.errors import MethodError
from sfumato.learn import Known, Learned
from sfumato.privacy.budget import Share
from sfumato.privacy.holder import Holder
from sfumato.privacy.neighbours import Neighbours

KEYS = ("columns", "weight")
MOST_RATIO = 1e6
"""The largest weight may be this many times the smallest; beyond, the lightest table would be noise alone."""


@dataclass(frozen=True)
class GivenView:
    """A view that a user asks for, and its weight: its part of the budget, relative to the other views."""

    columns: Clique
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not self.columns:
            raise MethodError("a view has no columns; name at least one")
        twice = sorted({name for name in self.columns if self.columns.count(name) > 1})
        if twice:
            raise MethodError(f"{self} names {', '.join(twice)} twice; name each column once")
        if not _is_number(self.weight) or self.weight <= 0:
            raise MethodError(f"{self} has the weight {self.weight!r}; a positive, finite number is wanted, such as 1")

    def __str__(self) -> str:
        return f"the view over {', '.join(self.columns)}"


@dataclass(frozen=True)
class GivenViews:
    """Views given by a user, who has to know them without looking at the rows.

    A column in none of them gets a table of its own, with the smallest weight that was given: without one, nothing
    would be known of its values.

    Args:
        views: the views; their order, and the order of their columns, do not matter.
        most_cells: views with more cells than this are refused.
    """

    views: tuple[GivenView, ...]
    most_cells: int = 1_000_000

    def __post_init__(self) -> None:
        if not self.views:
            raise MethodError("no views were given; give at least one")
        seen: set[frozenset[str]] = set()
        for view in self.views:
            if frozenset(view.columns) in seen:
                raise MethodError(f"{view} is given twice; give it once, with the sum of the weights")
            seen.add(frozenset(view.columns))
        weights = [view.weight for view in self.views]
        if max(weights) / min(weights) > MOST_RATIO:
            raise MethodError(
                f"the weights go from {min(weights):g} to {max(weights):g}; the largest may be at most "
                f"{MOST_RATIO:,.0f} times the smallest"
            )

    def check(self, domain: Domain) -> None:
        """Refuse views that do not fit the columns of a table; asks nothing about its rows."""
        for view in self.views:
            for name in view.columns:
                if name not in domain:
                    raise MethodError(
                        f"{view} names column {name!r}, which is not in the table; it has {', '.join(domain.names)}"
                    )
            domain.require_cells(view.columns, self.most_cells)

    def __call__(self, holder: Holder, known: Known, share: Share, ahead: Share) -> Learned:
        """The views with their weights; the share is not touched."""
        domain = holder.domain
        self.check(domain)
        alone = self._alone(domain)
        least = min(view.weight for view in self.views)
        holder.note(
            f"take {len(self.views)} given views, and {len(alone)} for the columns left over", "the views are public"
        )
        cliques = (*(domain.canonical(view.columns) for view in self.views), *alone)
        weights = (*(float(view.weight) for view in self.views), *(float(least) for _ in alone))
        return Learned(Selection(cliques, weights=weights))

    def tables(self, domain: Domain, ahead: Share, neighbours: Neighbours) -> int:
        """How many tables will be measured; known before a ledger is opened."""
        return len(self.views) + len(self._alone(domain))

    def _alone(self, domain: Domain) -> list[Clique]:
        seen = {name for view in self.views for name in view.columns}
        return [(name,) for name in domain if name not in seen]


def read_views(path: str | Path) -> GivenViews:
    """Read views from a JSON file, such as [{"columns": ["age", "sex"], "weight": 2}, …]; weight 1 is the default."""
    try:
        entries = json.loads(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise MethodError(f"views file {str(path)!r} cannot be read: {error.strerror}; give a JSON file") from None
    except UnicodeDecodeError:
        raise MethodError(f"views file {str(path)!r} is not UTF-8; save it in that encoding") from None
    except json.JSONDecodeError as error:
        raise MethodError(f"views file {str(path)!r} is not valid JSON, see line {error.lineno}; mend it") from None
    if not isinstance(entries, list):
        raise MethodError(
            f"views file {str(path)!r} holds {_kind(entries)}; a list of views is wanted, "
            'such as [{"columns": ["age", "sex"], "weight": 2}]'
        )
    return GivenViews(tuple(_view(entry, place) for place, entry in enumerate(entries, start=1)))


def _view(entry: Any, place: int) -> GivenView:
    """One view of the file; `place` is its place in the list, which is public."""
    if not isinstance(entry, Mapping):
        raise MethodError(f"view number {place} is {_kind(entry)}; a mapping with the key 'columns' is wanted")
    unknown = [key for key in entry if key not in KEYS]
    if unknown:
        raise MethodError(f"view number {place} has the unknown key {unknown[0]!r}; known keys are {', '.join(KEYS)}")
    columns = entry.get("columns")
    if not isinstance(columns, list) or not columns or not all(isinstance(name, str) for name in columns):
        raise MethodError(
            f"view number {place} has no list of column names under the key 'columns'; "
            'name at least one column, such as ["age", "sex"]'
        )
    return GivenView(tuple(columns), entry.get("weight", 1.0))


def _is_number(value: object) -> bool:
    """Whether a value is a number that a float can hold; true and false are not."""
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    except OverflowError:
        return False


def _kind(value: object) -> str:
    names = {dict: "a mapping", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
