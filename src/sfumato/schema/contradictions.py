"""Whether rules leave a row, and one for every declared value: a search over codes, before any row is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.schema.columns import Column, size_of
from sfumato.schema.compiled import Cells, Compiled, compiled, merged, possible
from sfumato.schema.derived import derived_codes
from sfumato.schema.rules import Rule

Candidates = dict[str, NDArray[np.bool_]]
"""For each column, which codes are still possible."""

MOST_STEPS = 2_000
"""A search ends after this many steps and then says nothing: rows are looked at one by one in the end anyway."""


class Solver:
    """Rows of codes that obey cells and ties."""

    def __init__(self, rules: Sequence[Rule], columns: Sequence[Column]):
        self.named = {column.name: column for column in columns}
        self.compiled: Compiled = compiled(rules, columns)
        self.cells = merged([*self.compiled.cells, *_derivations(columns)])
        ruled = {name for one in self.compiled.cells for name in one.names}
        ruled |= {name for one in self.compiled.tied for name in one.names}
        ruled |= {name for one in self.compiled.wide for name in one.names}
        self.start: Candidates = {
            name: np.ones(size_of(self.named[name]) + self.named[name].nullable, dtype=np.bool_)
            for name in self.named
            if name in ruled or any(name in one.names for one in self.cells)
        }
        few = all(len(one.group.relations) <= 1 for one in self.compiled.tied)
        self.acyclic = few and _forest([(place, name) for place, one in enumerate(self.cells) for name in one.names])

    def narrowed(self, candidates: Candidates) -> Candidates | None:
        """The codes that each table of cells by itself leaves, until nothing changes; None if some column has none."""
        found = dict(candidates)
        changed = True
        while changed:
            changed = False
            for one in self.cells:
                live = one.allowed
                for axis, name in enumerate(one.names):
                    live = live & found[name].reshape([-1 if other == axis else 1 for other in range(live.ndim)])
                for axis, name in enumerate(one.names):
                    left = np.asarray(live.any(axis=tuple(other for other in range(live.ndim) if other != axis)))
                    if not left.any():
                        return None
                    if (left != found[name]).any():
                        found[name] = left
                        changed = True
        return found

    def row(self, candidates: Candidates, wanted: Candidates | None = None) -> dict[str, int] | None:
        """A row of codes among candidates, with `wanted` codes where they can be had; None if there is none."""
        steps = iter(range(MOST_STEPS))
        return self._row(candidates, wanted or {}, steps)

    def _row(self, candidates: Candidates, wanted: Candidates, steps: Iterator[int]) -> dict[str, int] | None:
        found = self.narrowed(candidates)
        if found is None:
            return None
        several = [name for name, codes in found.items() if codes.sum() > 1]
        row = {name: int(np.flatnonzero(codes)[0]) for name, codes in found.items() if name not in several}
        if not self._is_possible(row):
            return None
        if not several:
            return row
        name = min(several, key=lambda name: int(found[name].sum()))
        codes = np.flatnonzero(found[name])
        liked = wanted.get(name, np.zeros(len(found[name]), dtype=np.bool_))
        for code in sorted(codes.tolist(), key=lambda code: not liked[code]):
            if next(steps, None) is None:
                raise TimeoutError
            deeper = self._row(found | {name: np.arange(len(found[name])) == code}, wanted, steps)
            if deeper is not None:
                return deeper
        return None

    def _is_possible(self, row: Mapping[str, int]) -> bool:
        """Whether a row, of which some codes may be open, breaks no tie and no rule whose codes are all there."""
        codes = {name: np.array([code]) for name, code in row.items()}
        return all(
            possible(one.group, codes, self.named).all() for one in self.compiled.tied if row.keys() >= set(one.names)
        ) and not any(one.broken(codes, self.named).any() for one in self.compiled.wide if row.keys() >= set(one.names))

    def impossible(self) -> tuple[str, int] | None:
        """A declared value, as column and code, that no row can have; any column with code -1 if there is no row."""
        left = self.narrowed(self.start)
        if left is None:
            return next(iter(self.start)), -1
        open_codes = {name: np.ones(size_of(self.named[name]), dtype=np.bool_) for name in self.start}
        for name, codes in open_codes.items():
            if not (enough := left[name][: len(codes)]).all():
                return name, int(np.argmin(enough))
        # Without circles, what each table leaves, all of them leave together. Rules without a table are not searched.
        if self.acyclic or self.compiled.wide:
            return None
        try:
            if self.row(left) is None:
                return next(iter(self.start)), -1
        except TimeoutError:
            return None
        for name, codes in open_codes.items():
            for code in range(len(codes)):
                if not codes[code]:
                    continue
                wanted = {other: np.pad(mask, (0, len(left[other]) - len(mask))) for other, mask in open_codes.items()}
                try:
                    row = self.row(left | {name: np.arange(len(left[name])) == code}, wanted)
                except TimeoutError:
                    return None
                if row is None:
                    return name, code
                for other, seen in row.items():
                    open_codes[other][seen : seen + 1] = False
        return None


def contradiction(rules: Sequence[Rule], columns: Sequence[Column]) -> tuple[tuple[Rule, ...], str, int] | None:
    """Rules that together leave no row for a declared value, with that column and code; none of them can be spared."""
    found = Solver(rules, columns).impossible() if rules else None
    if found is None:
        return None
    guilty = list(rules)
    for rule in rules:
        fewer = [one for one in guilty if one is not rule]
        if _is_impossible(fewer, columns, *found):
            guilty = fewer
    return tuple(guilty), *found


def _is_impossible(rules: Sequence[Rule], columns: Sequence[Column], name: str, code: int) -> bool:
    solver = Solver(rules, columns)
    candidates = dict(solver.start)
    if code >= 0 and name in candidates:
        candidates[name] = np.arange(len(candidates[name])) == code
    try:
        return solver.row(candidates) is None
    except TimeoutError:
        return False


def _derivations(columns: Sequence[Column]) -> Iterator[Cells]:
    """What a derived column is for each code of its origin."""
    named = {column.name: column for column in columns}
    for column in columns:
        if column.derived:
            origin = named[column.derived.of]
            codes = derived_codes(column, origin)
            allowed = np.zeros((len(codes), size_of(column) + column.nullable), dtype=np.bool_)
            allowed[np.arange(len(codes)), codes] = True
            yield Cells((origin.name, column.name), allowed)


def _forest(edges: Sequence[tuple[int, str]]) -> bool:
    """Whether these edges close no circle."""
    if not edges:
        return True
    import networkx as nx  # on demand: it takes as long to load as a small run

    return bool(nx.is_forest(nx.Graph(edges)))
