"""Independent publication: every party makes a release of its own, and the synthetic tables are appended.

The paper's first point of comparison. It needs no protocol and no trust, and its noise grows with the number of
parties, since each release is fitted to a fraction of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.errors import DataError
from sfumato.fitting import fit
from sfumato.release import Release
from sfumato.schema.schema import Schema


def independent(
    parties: Sequence[Any],
    schema: Schema | str | Path,
    *,
    epsilon: float | str,
    delta: float | str | None = None,
    method: str = "privbayes",
) -> tuple[Release, ...]:
    """One release for each party's table, each with the whole budget: no row is in two tables.

    Args:
        parties: the table of each party, as `fit` takes it.
        schema: the public schema that all have.
        epsilon: the budget of each party.
        delta: the probability with which epsilon may fail, for methods that need one.
        method: the name of a recipe.
    """
    if not parties:
        raise DataError("no party's table was given; give at least one")
    schema = schema if isinstance(schema, Schema) else Schema.load(schema)
    make = partial(fit, schema=schema, epsilon=epsilon, delta=delta, method=method)
    return tuple(make(table) for table in parties)


def appended(releases: Sequence[Release], seed: int | None = None) -> pa.Table:
    """The synthetic tables of all releases, one after the other, each with as many rows as its noisy tables say."""
    seeds = np.random.SeedSequence(seed).generate_state(len(releases))
    drawn = [one.sample_arrow(seed=int(own)) for one, own in zip(releases, seeds, strict=True)]
    return pa.concat_tables(drawn)
