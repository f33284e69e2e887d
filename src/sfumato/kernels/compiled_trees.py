"""The kernels of trees in C, with the signatures of fallback_trees.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels._trees import ffi, lib
from sfumato.kernels.checks import require_hands
from sfumato.loops import AT_ONCE, sliced


def deal(parent: NDArray[np.integer], counts: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.uint32]:
    """A child code for every row: those of a parent cell get each child `counts[cell]` times, in random order."""
    require_hands(parent, counts)
    parent = np.ascontiguousarray(parent, dtype=np.uint32)
    start = np.append(0, np.cumsum(counts.sum(axis=1)))
    hand = np.repeat(np.tile(np.arange(counts.shape[1], dtype=np.uint32), len(counts)), counts.ravel())
    child = np.empty(len(parent), dtype=np.uint32)
    state = rng.integers(1, 1 << 63, size=4, dtype=np.uint64)
    so_far = np.zeros(3, dtype=np.int64)
    problem = (
        _pointer("uint32_t *", parent),
        len(parent),
        _pointer("uint32_t *", hand),
        _pointer("int64_t *", start),
        len(counts),
        _pointer("uint32_t *", child),
        _pointer("uint64_t *", state),
        _pointer("int64_t *", so_far),
    )
    done, most = 0, 2 * len(parent) + len(counts)

    def some(steps: int) -> tuple[int, int]:
        nonlocal done
        ended = lib.sfumato_deal(*problem, steps * AT_ONCE)
        done = most if ended else min(done + steps * AT_ONCE, most - 1)
        return done, most

    sliced("steps", some)
    return child


def eliminate(
    sizes: Sequence[int], graph: NDArray[np.uint64], most_fill: float, limit: float
) -> NDArray[np.uint64] | None:
    """The cliques of a greedy elimination of the vertices of a graph, or None if they have more than `limit` cells."""
    d, words = graph.shape
    graph, found = graph.copy(), np.empty_like(graph)
    fill, cells, gone = np.empty(d), np.empty(d), np.zeros(d, dtype=np.uint8)
    cliques = lib.sfumato_eliminate(
        d,
        words,
        _pointer("double *", np.array(sizes, dtype=np.float64)),
        most_fill,
        limit,
        _pointer("uint64_t *", graph),
        _pointer("uint64_t *", found),
        _pointer("double *", fill),
        _pointer("double *", cells),
        _pointer("uint8_t *", gone),
        _pointer("uint64_t *", np.empty(words, dtype=np.uint64)),
    )
    return None if cliques < 0 else found[:cliques]


def _pointer(kind: str, array: NDArray[Any]) -> Any:
    return ffi.from_buffer(kind, array)
