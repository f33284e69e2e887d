"""Rows that agree with evidence, from any synthesizer: sample, keep what agrees, and go on until there are enough."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from sfumato.data.records import Records
from sfumato.errors import MethodError, SchemaError

Sampler = Callable[[int, np.random.Generator], Records]
"""Draws this many rows."""

RAREST = 1e-5
"""Evidence with a smaller share of the rows is refused: sampling would take too long."""
FIRST, LARGEST = 10_000, 1_000_000
"""Rows of the first and of the largest batch."""


def conditioned(
    sample: Sampler, given: Mapping[str, NDArray[np.integer]], rows: int, rng: np.random.Generator
) -> Records:
    """Draw `rows` rows whose codes are among the allowed ones, distributed as the sampler's rows that are so.

    Rejection: exact for every sampler, whatever model it has inside. It takes rows / share draws, where share is the
    part of the sampler's rows that agree.

    Args:
        sample: where rows come from.
        given: for each column with evidence, the codes that are allowed.
        rows: how many rows.
        rng: randomness of the synthesis.
    """
    drawn = kept = 0
    parts: list[Records] = []
    while kept < rows or not parts:
        batch = min(max(FIRST, drawn), LARGEST)
        if kept:
            batch = min(batch, max(FIRST, 2 * (rows - kept) * drawn // kept))
        found = sample(batch, rng)
        agreeing = np.flatnonzero(_agrees(found, given))
        drawn, kept = drawn + len(found), kept + len(agreeing)
        parts.append(found.take(rng.permutation(agreeing)[: rows - kept + len(agreeing)]))
        if drawn * RAREST > max(kept, 1):
            raise MethodError(
                f"fewer than {RAREST:g} of the synthetic rows agree with what is given for {', '.join(given)}; "
                "give fewer columns, or allow more values"
            )
    columns = [np.concatenate([part[name] for part in parts]) for name in parts[0].domain]
    return Records(parts[0].domain, columns)


def _agrees(records: Records, given: Mapping[str, NDArray[np.integer]]) -> NDArray[np.bool_]:
    agrees = np.ones(len(records), dtype=np.bool_)
    for name, codes in given.items():
        size = records.domain[name]
        if not len(codes) or codes.min() < 0 or codes.max() >= size:
            raise SchemaError(f"codes of column {name!r} must lie in 0 … {size - 1}, and at least one must be allowed")
        allowed = np.zeros(size, dtype=np.bool_)
        allowed[codes] = True
        agrees &= allowed[records[name]]
    return agrees
