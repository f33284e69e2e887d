"""Release folders: plain files, no pickle.

synthetic.csv | .parquet   one synthetic table
marginals/                 the noisy tables, one Parquet file each, and index.json: their codes, their noise, and
the event of the ledger that paid for each
model/                     what sampling needs: tables that agree (tables.npz), merged codes and structure (model.json)
ledger.json                every privacy event
answers.json               noisy scores, distances and choices: what was paid for and is no table, by its event
schema.json                the public schema
release.json               how it was made: the recipe, part by part, and the seed of the synthetic table
manifest.json, verify.py   the hash of every file, and a program that checks them (sfumato.release.manifest)
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isfinite, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sfumato.data.coding import Coding
from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal, Measurement
from sfumato.data.marginals import Marginals
from sfumato.data.recoding import Recoding
from sfumato.data.selection import Selection
from sfumato.errors import ReleaseError, SfumatoError
from sfumato.intake.attributes import Attributes
from sfumato.intake.labels import attribute_labels
from sfumato.intake.ruled import Ruled
from sfumato.pipeline import Model
from sfumato.privacy.ruled_holder import with_known_zeros
from sfumato.reconcile.pooling import model_domain
from sfumato.schema.schema import Schema


def write_json(path: Path, content: Any) -> None:
    """Write readable JSON."""
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_json(path: Path) -> Any:
    """Read JSON; a missing or broken file is an error that names it."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ReleaseError(f"{str(path)!r} is missing; give the folder of a complete release") from None
    except (OSError, ValueError, RecursionError):
        raise ReleaseError(f"{str(path)!r} cannot be read as JSON; the release is damaged") from None


def write_model(folder: Path, model: Model, schema: Schema) -> None:
    """Write the noisy tables and the model."""
    (folder / "marginals").mkdir()
    attributes = {attribute.name: attribute_labels(attribute) for attribute in Attributes(schema).all}
    index = _index(model)
    for entry, measurement in zip(index["tables"], model.measurements, strict=True):
        table = _published(measurement, _coding(measurement), attributes)
        pq.write_table(table, folder / "marginals" / entry["file"])
    write_json(folder / "marginals" / "index.json", index)
    (folder / "model").mkdir()
    write_json(folder / "model" / "model.json", model_record(model))
    # Floats are never pickled; to forbid it by name needs a newer NumPy, and an older one takes the name for a table's.
    arrays: dict[str, Any] = {
        str(number): np.asarray(table.counts, np.float64) for number, table in enumerate(model.marginals.tables)
    }
    np.savez_compressed(folder / "model" / "tables.npz", **arrays)


def model_record(model: Model) -> dict[str, Any]:
    """What model.json says: merged codes, the selection, and which tables there are."""
    return {
        "merged": model.recoding.to_dict(),
        "selection": model.selection.to_dict(),
        "tables": [list(clique) for clique in model.marginals.cliques],
        "scales": list(model.marginals.scales),
    }


def _index(model: Model) -> dict[str, Any]:
    """What marginals/index.json says of each noisy table."""
    codings: list[Coding] = []
    tables = []
    for number, measurement in enumerate(model.measurements):
        coding = _coding(measurement)
        if coding not in codings:
            codings.append(coding)
        tables.append(
            {
                "file": f"{number:03}-{'-'.join(measurement.clique) or 'total'}"[:80].replace(os.sep, "_") + ".parquet",
                "columns": list(measurement.clique),
                "coding": codings.index(coding),
                "cells": measurement.domain.cells(),
                "standard_deviation": sqrt(measurement.variance),
                "variance": measurement.variance,
                "event": measurement.event,
            }
        )
    return {"codings": [one.to_dict() for one in codings], "tables": tables}


def read_model(folder: Path, schema: Schema) -> Model:
    """Read the noisy tables and the model back."""
    with damaged(folder):
        description = read_json(folder / "model" / "model.json")
        index = read_json(folder / "marginals" / "index.json")
        base = Attributes(schema).domain
        recoding = Recoding.from_dict(base, description["merged"])
        selection = Selection.from_dict(description["selection"])
        domain = model_domain(recoding, selection)
        selection.require(domain)
        marginals = read_marginals(folder, description, domain)
        codings = [Coding.from_dict(base, steps) for steps in index["codings"]]
        measurements = tuple(
            read_measurement(folder / "marginals", entry, codings[entry["coding"]], entry["event"])
            for entry in index["tables"]
        )
        return Model(recoding, selection, with_known_zeros(measurements, Ruled(schema).constraints), marginals)


def write_answers(folder: Path, answers: Mapping[int, Sequence[int]]) -> None:
    """Write noisy numbers that are no tables, by the event that paid for them."""
    write_json(folder / "answers.json", [{"event": event, "numbers": [*some]} for event, some in answers.items()])


def read_answers(folder: Path) -> dict[int, tuple[int, ...]] | None:
    """Read them back; None where the version that wrote the release did not publish them."""
    if not (folder / "answers.json").exists():
        return None
    with damaged(folder):
        found: dict[int, tuple[int, ...]] = {}
        for one in read_json(folder / "answers.json"):
            if one.keys() != {"event", "numbers"} or one["event"] in found:
                raise ValueError
            if not all(type(number) is int and -(1 << 63) <= number < 1 << 63 for number in one["numbers"]):
                raise ValueError
            if type(one["event"]) is not int:
                raise ValueError
            found[one["event"]] = tuple(one["numbers"])
        return found


def published_problems(folder: Path, model: Model, schema: Schema) -> list[str]:
    """Where the noisy tables of a folder are not written as this version writes a model's."""
    problems = []
    attributes = {attribute.name: attribute_labels(attribute) for attribute in Attributes(schema).all}
    index = read_json(folder / "marginals" / "index.json")
    if index != json.loads(json.dumps(_index(model))):
        problems.append("marginals/index.json says other things of the tables than follow from them")
    for entry, measurement in zip(index["tables"], model.measurements, strict=True):
        if not _is_whole(measurement.marginal.counts, schema.unit.parts):
            problems.append(f"table {entry['file']!r} has counts that are not whole")
        table = pq.read_table(folder / "marginals" / str(entry["file"]))
        if not table.equals(_published(measurement, _coding(measurement), attributes)):
            problems.append(f"table {entry['file']!r} has other labels or columns than its cells")
    return problems


def _is_whole(counts: NDArray[Any], parts: int) -> bool:
    """Whether counts are whole numbers of rows, or of parts of a person."""
    if parts == 1:
        return counts.dtype.kind == "i"
    return counts.dtype.kind == "f" and bool((np.rint(counts * parts) / parts == counts).all())


@contextmanager
def damaged(folder: Path) -> Iterator[None]:
    """Any broken file, of any of these formats, is one kind of error for the user."""
    try:
        yield
    except SfumatoError:
        raise
    except Exception as problem:
        raise ReleaseError(f"the release in {str(folder)!r} is damaged: {type(problem).__name__}") from None


def read_marginals(folder: Path, description: Mapping[str, Any], domain: Domain) -> Marginals:
    """The tables of the model, which agree with each other."""
    with (folder / "model" / "tables.npz").open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        tables = tuple(
            Marginal(domain.project(columns), arrays[str(number)])
            for number, columns in enumerate(description["tables"])
        )
    return Marginals(domain, tables, tuple(map(float, description.get("scales", ()))))


def read_measurement(folder: Path, entry: Mapping[str, Any], coding: Coding, event: int | None) -> Measurement:
    """One noisy table."""
    domain = coding.domain.project(entry["columns"])
    variance = float(entry["variance"])
    if not (isfinite(variance) and variance > 0) or not (event is None or type(event) is int):
        raise ValueError
    counts = pq.read_table(folder / entry["file"], columns=["noisy_count"])["noisy_count"].to_numpy()
    return Measurement(Marginal(domain, counts.reshape(domain.shape)), variance, coding, event)


def _coding(measurement: Measurement) -> Coding:
    if measurement.coding is None:
        raise ReleaseError("a table without a coding cannot be published; only what a holder measured can")
    return measurement.coding


def _published(measurement: Measurement, coding: Coding, labels: Mapping[str, list[str]]) -> pa.Table:
    """A noisy table for readers: one row for each cell, labels instead of codes."""
    cells = np.indices(measurement.domain.shape).reshape(len(measurement.domain), measurement.domain.cells())
    columns = []
    for name, codes in zip(measurement.clique, cells, strict=True):
        source, lookup = coding.lookup(name)
        names = labels[source] if lookup is None else coarse_labels(labels[source], lookup)
        columns.append(pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(names, pa.string())))
    columns.append(pa.array(measurement.marginal.counts.ravel()))
    columns.append(pa.array(np.full(measurement.domain.cells(), sqrt(measurement.variance))))
    return pa.table(columns, names=[*measurement.clique, "noisy_count", "standard_deviation"])


def coarse_labels(names: Sequence[str], lookup: NDArray[np.integer]) -> list[str]:
    """Labels of coarse codes: the labels that each stands for, or the first and last of many."""
    members: list[list[str]] = [[] for _ in range(int(lookup.max()) + 1)]
    for name, code in zip(names, lookup.tolist(), strict=True):
        members[code].append(name)
    return [", ".join(some) if len(some) <= 3 else f"{some[0]} … {some[-1]} ({len(some)} values)" for some in members]
