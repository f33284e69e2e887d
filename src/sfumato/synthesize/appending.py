"""Columns that occur in a single table need no fitting: they are drawn last, given the other columns of that table."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from sfumato.data.domain import Clique


@dataclass(frozen=True)
class Append:
    """Draw `column` from the table over `given` and itself; the clique `source` contains both."""

    column: str
    given: Clique
    source: Clique


def peel(cliques: Iterable[Clique]) -> tuple[tuple[Clique, ...], tuple[Append, ...]]:
    """Take off, layer by layer, every column that only one clique still contains.

    Returns the cliques that are left for fitting (each a part of one that was given), and the columns to append, in the
    order in which they must be drawn. Where the cliques form a tree nothing is left but single columns, and drawing the
    appended ones is exact.
    """
    live: list[tuple[frozenset[str], Clique]] = [(frozenset(clique), clique) for clique in cliques if len(clique) > 1]
    appended: list[Append] = []
    while True:
        live = _maximal(live)
        held = Counter(column for columns, _ in live for column in columns)
        lonely = next(
            (
                (column, index)
                for index, (columns, source) in enumerate(live)
                for column in source
                if column in columns and held[column] == 1
            ),
            None,
        )
        if lonely is None:
            return tuple(tuple(name for name in source if name in columns) for columns, source in live), tuple(
                reversed(appended)
            )
        column, index = lonely
        columns, source = live[index]
        appended.append(Append(column, tuple(name for name in source if name in columns and name != column), source))
        live[index] = (columns - {column}, source)


def _maximal(cliques: list[tuple[frozenset[str], Clique]]) -> list[tuple[frozenset[str], Clique]]:
    """Without cliques that lie inside another, and without single columns, which their one-way tables describe."""
    kept: list[tuple[frozenset[str], Clique]] = []
    having: dict[str, list[frozenset[str]]] = defaultdict(list)  # by column: a larger one has all of a clique's
    for columns, source in sorted(cliques, key=lambda item: -len(item[0])):
        if len(columns) > 1 and not any(columns <= other for other in min((having[one] for one in columns), key=len)):
            kept.append((columns, source))
            for column in columns:
                having[column].append(columns)
    return kept
