"""Answers: the table of counts over any columns of a release, with intervals where noisy tables hold them."""

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
from sfumato.intake.ruled import Ruled
from sfumato.models.max_entropy import CELLS, bridged, maximum_entropy
from sfumato.models.residuals import NoisyTable
from sfumato.pipeline import Model
from sfumato.release.intervals import CONFIDENCE, cell_intervals, check_confidence
from sfumato.schema.schema import Schema

FIGURES = ("count", "standard_error", "low", "high", "unbiased")
"""What is said of each cell."""


def answer(
    model: Model, schema: Schema, tables: Sequence[NoisyTable], columns: Sequence[str], confidence: float = CONFIDENCE
) -> pa.Table:
    """One row for each cell: its labels, and the columns of `FIGURES`; the last label changes fastest.

    `count` is that of the model's tables where one of them holds all columns, and of maximum entropy elsewhere;
    `unbiased`, `standard_error`, `low` and `high` follow from the noisy tables that hold them, and are null where none
    does. The metadata of the table say why, under `no_interval`. A name that is taken by a column gets an underscore.
    """
    check_confidence(confidence)
    attributes = Attributes(schema)
    asked = _asked(attributes.columns, columns)
    counts = obeying(model_counts(model, attributes.needed(asked.names)), schema)
    cell = _cells(attributes, asked, counts.domain)
    cells = np.indices(asked.shape, dtype=np.int32).reshape(len(asked), -1)
    arrays = [
        pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(labels(schema[name]), pa.string()))
        for name, codes in zip(asked.names, cells, strict=True)
    ]
    found = cell_intervals(tables, counts.domain, asked.names, cell, asked.cells(), confidence)
    arrays.append(pa.array(np.bincount(cell, counts.counts.ravel(), asked.cells())))
    empty = _empty(counts.domain, schema, cell, asked.cells())
    for figures in (found.standard_error, found.low, found.high, found.unbiased):
        figures = np.where(empty, 0.0, figures)  # known, whatever noise says
        arrays.append(pa.array(figures, mask=np.isnan(figures)))
    table = pa.table(arrays, names=[*asked.names, *(_free(name, asked.names) for name in FIGURES)])
    notes = {"confidence": str(confidence), **({"no_interval": found.no_interval} if found.no_interval else {})}
    return table.replace_schema_metadata(notes)


def model_counts(model: Model, clique: Clique) -> Marginal:
    """The counts of a model over some attributes, in the codes of the schema."""
    _require_few(model.recoding.fine.project(clique))
    return split(_estimate(model, clique), model.recoding)


def split(marginal: Marginal, recoding: Recoding) -> Marginal:
    """A table over merged codes as one over the codes of the schema, by the weights of the merging."""
    counts = np.asarray(marginal.counts, dtype=np.float64)
    for axis, name in enumerate(marginal.clique):
        merging = recoding.mergings[recoding.fine.index(name)]
        share = merging.weight / np.bincount(merging.to, merging.weight, merging.size)[merging.to]
        others = [1] * (counts.ndim - axis - 1)
        counts = counts.take(merging.to, axis=axis) * share.reshape(-1, *others)
    return Marginal(recoding.fine.project(marginal.clique), counts)


def obeying(marginal: Marginal, schema: Schema) -> Marginal:
    """A table with nobody in cells that the rules leave empty, and the same total in the others."""
    allowed = Ruled(schema).constraints.allowed(marginal.clique) if schema.rules else None
    if allowed is None or not (left := np.where(allowed, marginal.counts, 0.0)).any():
        return marginal
    return Marginal(marginal.domain, left * (marginal.total / left.sum()))


def _empty(known: Domain, schema: Schema, cell: NDArray[np.int64], size: int) -> NDArray[np.bool_]:
    """Which cells of an answer the rules leave empty: those of which no part may hold rows."""
    allowed = Ruled(schema).constraints.allowed(known.names) if schema.rules else None
    if allowed is None:
        return np.zeros(size, dtype=np.bool_)
    return np.asarray(np.bincount(cell, allowed.ravel(), size) == 0)


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


def _free(name: str, taken: Clique) -> str:
    while name in taken:
        name += "_"
    return name
