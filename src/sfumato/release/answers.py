"""Answers: the table of counts over any columns of a release, with standard errors where the noise gives one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.data.domain import Clique, Domain
from sfumato.data.marginal import Marginal
from sfumato.data.recoding import Recoding
from sfumato.errors import ModelTooLarge, SchemaError
from sfumato.intake.attributes import Attributes
from sfumato.intake.labels import labels
from sfumato.models.max_entropy import CELLS, bridged, maximum_entropy
from sfumato.pipeline import Model
from sfumato.schema.schema import Schema


def answer(model: Model, schema: Schema, columns: Sequence[str]) -> pa.Table:
    """One row for each cell: its labels, `count` and `standard_error`; the last column changes fastest.

    The counts are those of the model's tables where one of them holds all columns, and of maximum entropy elsewhere.
    A name that is taken by a column gets an underscore: `count_`.
    """
    attributes = Attributes(schema)
    asked = _asked(attributes.columns, columns)
    clique = attributes.needed(asked.names)
    _require_few(model.recoding.fine.project(clique))
    counts = split(_estimate(model, clique), model.recoding)
    cell = _cells(attributes, asked, counts.domain)
    cells = np.indices(asked.shape, dtype=np.int32).reshape(len(asked), -1)
    arrays = [
        pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(labels(schema[name]), pa.string()))
        for name, codes in zip(asked.names, cells, strict=True)
    ]
    arrays.append(pa.array(np.bincount(cell, counts.counts.ravel(), asked.cells())))
    arrays.append(_standard_errors(model, clique, cell, asked.cells()))
    return pa.table(arrays, names=[*asked.names, *(_free(name, asked.names) for name in ("count", "standard_error"))])


def split(marginal: Marginal, recoding: Recoding) -> Marginal:
    """A table over merged codes as one over the codes of the schema, by the weights of the merging."""
    counts = np.asarray(marginal.counts, dtype=np.float64)
    for axis, name in enumerate(marginal.clique):
        merging = recoding.mergings[recoding.fine.index(name)]
        share = merging.weight / np.bincount(merging.to, merging.weight, merging.size)[merging.to]
        others = [1] * (counts.ndim - axis - 1)
        counts = counts.take(merging.to, axis=axis) * share.reshape(-1, *others)
    return Marginal(recoding.fine.project(marginal.clique), counts)


def likely_codes(model: Model, schema: Schema, given: Mapping[str, NDArray[np.int64]]) -> dict[str, NDArray[np.bool_]]:
    """For each attribute, which merged codes can belong to rows whose columns have the given codes.

    A merged code may also stand for other codes, and a column may follow from two attributes: rows of these merged
    codes include all that are wanted, and maybe others.
    """
    attributes = Attributes(schema)
    found: dict[str, NDArray[np.bool_]] = {}
    for column, codes in given.items():
        source = attributes.sources[column]
        wanted = np.isin(source.codes, codes)
        for axis, name in enumerate(source.attributes):
            others = tuple(other for other in range(wanted.ndim) if other != axis)
            merging = model.recoding.mergings[model.recoding.fine.index(name)]
            fine = wanted.any(axis=others) & (merging.weight > 0)
            likely = np.bincount(merging.to, fine, merging.size) > 0
            found[name] = found[name] & likely if name in found else likely
    return found


def _asked(domain: Domain, columns: Sequence[str]) -> Domain:
    if not columns:
        raise SchemaError(f"no columns were asked for; name one or more of {', '.join(domain.names)}")
    wanted = domain.project(columns)
    _require_few(wanted)
    return wanted


def _require_few(wanted: Domain) -> None:
    if wanted.cells() > CELLS:
        sizes = ", ".join(f"{name} ({size})" for name, size in wanted.items())
        raise ModelTooLarge(
            f"the table over {sizes} has {wanted.cells():,} cells; at most {CELLS:,} are answered; "
            "ask for fewer columns"
        )


def _estimate(model: Model, clique: Clique) -> Marginal:
    return maximum_entropy(model.marginals, bridged(model.marginals, clique)).project(clique)


def _cells(attributes: Attributes, asked: Domain, known: Domain) -> NDArray[np.int64]:
    """The cell of the asked table to which each cell of a table over attributes belongs."""
    codes = dict(zip(known.names, np.indices(known.shape).reshape(len(known), -1), strict=True))
    sources = [attributes.sources[name] for name in asked.names]
    places = [source.codes[tuple(codes[name] for name in source.attributes)] for source in sources]
    return np.ravel_multi_index(places, asked.shape)


def _standard_errors(model: Model, clique: Clique, cell: NDArray[np.int64], size: int) -> pa.Array:
    """The standard error of each cell; null where no noisy table holds all columns, and where a code was split.

    A sum of m cells with noise of variance v has the standard error sqrt(m v); of several noisy tables the best counts.
    """
    recoding = model.recoding
    merged = recoding.domain.project(clique)
    coarse = [recoding.mergings[recoding.fine.index(name)].to[np.arange(recoding.fine[name])] for name in clique]
    into = np.ravel_multi_index(np.meshgrid(*coarse, indexing="ij"), merged.shape).ravel()
    # A merged cell is split if its parts belong to different cells of the answer.
    first, last = np.full(merged.cells(), size), np.full(merged.cells(), -1)
    np.minimum.at(first, into, cell)
    np.maximum.at(last, into, cell)
    split = np.zeros(size, dtype=np.bool_)
    split[cell[(first != last)[into]]] = True

    covered = any(set(clique) <= set(table.clique) for table in model.marginals.tables)
    errors = np.full(size, np.inf)
    for one in model.measurements:
        if covered and set(clique) <= set(one.clique):
            raw = one.coding is not None and not one.coding.steps
            summed = np.bincount(cell if raw else first[first == last], minlength=size)
            inside = one.domain.cells() // one.domain.cells(clique)
            errors = np.minimum(errors, np.sqrt(one.variance * inside * summed))
    return pa.array(errors, mask=split | np.isinf(errors))


def _free(name: str, taken: Clique) -> str:
    while name in taken:
        name += "_"
    return name
