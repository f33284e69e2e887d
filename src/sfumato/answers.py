"""Answers: the table of counts over any columns of a release, with standard errors where the noise gives one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import sqrt

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.data.domain import Clique, Domain
from sfumato.data.marginal import Marginal
from sfumato.data.recoding import Recoding
from sfumato.data.schema import Schema
from sfumato.encode.labels import labels
from sfumato.errors import ModelTooLarge, SchemaError
from sfumato.pipeline import Model
from sfumato.synthesize.max_entropy import CELLS, bridged, maximum_entropy


def answer(model: Model, schema: Schema, columns: Sequence[str]) -> pa.Table:
    """One row for each cell: its labels, `count` and `standard_error`; the last column changes fastest.

    The counts are those of the model's tables where one of them holds all columns, and of maximum entropy elsewhere.
    A name that is taken by a column gets an underscore: `count_`.
    """
    clique = _asked(model.recoding.fine, columns)
    counts = split(_estimate(model, clique), model.recoding)
    cells = np.indices(counts.domain.shape, dtype=np.int32).reshape(len(clique), -1)
    arrays = [
        pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(labels(schema[name]), pa.string()))
        for name, codes in zip(clique, cells, strict=True)
    ]
    arrays += [pa.array(counts.counts.ravel()), _standard_errors(model, clique)]
    return pa.table(arrays, names=[*clique, *(_free(name, clique) for name in ("count", "standard_error"))])


def split(marginal: Marginal, recoding: Recoding) -> Marginal:
    """A table over merged codes as one over the codes of the schema, by the weights of the merging."""
    counts = np.asarray(marginal.counts, dtype=np.float64)
    for axis, name in enumerate(marginal.clique):
        merging = recoding.mergings[recoding.fine.index(name)]
        share = merging.weight / np.bincount(merging.to, merging.weight, merging.size)[merging.to]
        others = [1] * (counts.ndim - axis - 1)
        counts = counts.take(merging.to, axis=axis) * share.reshape(-1, *others)
    return Marginal(recoding.fine.project(marginal.clique), counts)


def _asked(domain: Domain, columns: Sequence[str]) -> Clique:
    if not columns:
        raise SchemaError(f"no columns were asked for; name one or more of {', '.join(domain.names)}")
    wanted = domain.project(columns)
    if wanted.cells() > CELLS:
        sizes = ", ".join(f"{name} ({size})" for name, size in wanted.items())
        raise ModelTooLarge(
            f"the table over {sizes} has {wanted.cells():,} cells; at most {CELLS:,} are answered; "
            "ask for fewer columns"
        )
    return wanted.names


def _estimate(model: Model, clique: Clique) -> Marginal:
    return maximum_entropy(model.marginals, bridged(model.marginals, clique)).project(clique)


def _standard_errors(model: Model, clique: Clique) -> pa.Array:
    """The standard error of each cell; null where no noisy table holds all columns, and where a code was split.

    A sum of m cells with noise of variance v has the standard error sqrt(m v); of several noisy tables the best counts.
    """
    covered = any(set(clique) <= set(table.clique) for table in model.marginals.tables)
    errors = [
        sqrt(one.variance * one.domain.cells() / one.domain.cells(clique))
        for one in model.measurements
        if covered and set(clique) <= set(one.clique)
    ]
    whole = reduce(np.logical_and.outer, (_whole(model.recoding, name) for name in clique)).ravel()
    return pa.array(np.full(len(whole), min(errors, default=np.nan)), mask=~whole if errors else np.ones_like(whole))


def _whole(recoding: Recoding, name: str) -> NDArray[np.bool_]:
    """Which codes of a column are merged with no other."""
    to = recoding.mergings[recoding.fine.index(name)].to
    return np.asarray(np.bincount(to)[to] == 1)


def _free(name: str, taken: Clique) -> str:
    while name in taken:
        name += "_"
    return name
