"""Release folders: written whole or not at all, plain files, no pickle.

synthetic.csv | .parquet   one synthetic table marginals/                 the noisy tables, one Parquet file each,
with the standard deviation of their noise; index.json model/                     what sampling needs: tables that
agree (tables.npz) and merged codes (model.json) ledger.json schema.json release.json
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sfumato.data.attributes import Attributes
from sfumato.data.domain import Domain
from sfumato.data.levels import Level, Leveled
from sfumato.data.marginal import Marginal, Measurement
from sfumato.data.marginals import Marginals
from sfumato.data.recoding import Recoding
from sfumato.data.schema import Schema
from sfumato.data.selection import Selection
from sfumato.encode.labels import attribute_labels
from sfumato.errors import ReleaseError, SfumatoError
from sfumato.pipeline import Model


def check_free(folder: Path) -> None:
    """Refuse a folder that exists, or that cannot be made; called before any budget is spent."""
    if folder.exists():
        raise ReleaseError(
            f"{str(folder)!r} exists already; a release is never overwritten: give another folder, or move it away"
        )
    if not folder.parent.is_dir():
        raise ReleaseError(
            f"{str(folder.parent)!r} is not a folder; make it first, or give a path inside one that exists"
        )
    if not os.access(folder.parent, os.W_OK | os.X_OK):
        raise ReleaseError(f"{str(folder.parent)!r} cannot be written to; give a folder in which you may write")


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder that becomes `folder` when the block ends well and vanishes when it does not."""
    check_free(folder)
    try:
        staging = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as problem:
        raise ReleaseError(
            f"{str(folder.parent)!r} cannot be written to ({problem.strerror}); give another folder"
        ) from None
    try:
        yield staging
        staging.chmod(0o755)
        staging.rename(folder)
    except OSError as problem:
        raise ReleaseError(
            f"{str(folder)!r} could not be written ({problem.strerror}); nothing was left behind"
        ) from None
    finally:
        shutil.rmtree(staging, ignore_errors=True)


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
    index = []
    for number, measurement in enumerate(model.measurements):
        fine = model.recoding.fine
        raw = all(name in fine and fine[name] == size for name, size in measurement.domain.items())
        file = f"{number:03}-{'-'.join(measurement.clique)}"[:80].replace(os.sep, "_") + ".parquet"
        pq.write_table(_published(measurement, model, schema, raw), folder / "marginals" / file)
        index.append(
            {
                "file": file,
                "columns": list(measurement.clique),
                "coding": "schema" if raw else "merged",
                "cells": measurement.domain.cells(),
                "standard_deviation": sqrt(measurement.variance),
                "variance": measurement.variance,
            }
        )
    write_json(folder / "marginals" / "index.json", index)
    (folder / "model").mkdir()
    write_json(
        folder / "model" / "model.json",
        {
            "merged": model.recoding.to_dict(),
            "selection": model.selection.to_dict(),
            "tables": [list(clique) for clique in model.marginals.cliques],
            "scales": list(model.marginals.scales),
        },
    )
    arrays = {str(number): table.counts for number, table in enumerate(model.marginals.tables)}
    np.savez_compressed(folder / "model" / "tables.npz", allow_pickle=False, **arrays)


def read_model(folder: Path, schema: Schema) -> Model:
    """Read the noisy tables and the model back."""
    description = read_json(folder / "model" / "model.json")
    index = read_json(folder / "marginals" / "index.json")
    try:
        recoding = Recoding.from_dict(Attributes(schema).domain, description["merged"])
        selection = Selection.from_dict(description["selection"])
        domain = Leveled(recoding.domain, selection.levels).domain
        with (folder / "model" / "tables.npz").open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            tables = tuple(
                Marginal(domain.project(columns), arrays[str(number)])
                for number, columns in enumerate(description["tables"])
            )
        marginals = Marginals(domain, tables, tuple(map(float, description.get("scales", ()))))
        measurements = tuple(_read_measurement(folder / "marginals", entry, recoding.fine, domain) for entry in index)
    except SfumatoError:
        raise
    except Exception as problem:  # any broken file, of any of these formats, is one kind of error for the user
        raise ReleaseError(f"the release in {str(folder)!r} is damaged: {type(problem).__name__}") from None
    return Model(recoding, selection, measurements, marginals)


def _published(measurement: Measurement, model: Model, schema: Schema, raw: bool) -> pa.Table:
    """A noisy table for readers: one row for each cell, labels instead of codes."""
    cells = np.indices(measurement.domain.shape).reshape(len(measurement.domain), -1)
    columns = {}
    attributes = {attribute.name: attribute for attribute in Attributes(schema).all}
    levels = {level.name: level for level in model.selection.levels}
    for name, codes in zip(measurement.clique, cells, strict=True):
        level = levels.get(name)
        names = attribute_labels(attributes[name if level is None else level.column])
        if not raw:
            names = _merged_labels(names, model.recoding, name if level is None else level.column)
        columns[name] = _named(codes, names if level is None else _level_labels(names, level))
    columns["noisy_count"] = pa.array(measurement.marginal.counts.ravel())
    columns["standard_deviation"] = pa.array(np.full(measurement.domain.cells(), sqrt(measurement.variance)))
    return pa.table(list(columns.values()), names=list(columns))


def _named(codes: NDArray[np.int64], names: list[str]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(names, type=pa.string()))


def _merged_labels(names: list[str], recoding: Recoding, column: str) -> list[str]:
    """Labels of coarse codes: their one value, or how many values were merged."""
    merging = recoding.mergings[recoding.fine.index(column)]
    found: list[str] = []
    for coarse in range(merging.size):
        members = np.flatnonzero((merging.to == coarse) & (merging.weight > 0))
        found.append(names[members[0]] if len(members) == 1 else f"({len(members)} rare values)")
    return found


def _level_labels(names: list[str], level: Level) -> list[str]:
    """Labels of a coarser version: the labels that each code stands for."""
    members = [[name for name, to in zip(names, level.to, strict=True) if to == code] for code in range(level.size)]
    return [", ".join(some) if len(some) <= 3 else f"{some[0]} … {some[-1]} ({len(some)} values)" for some in members]


def _read_measurement(folder: Path, entry: dict[str, Any], fine: Domain, merged: Domain) -> Measurement:
    domain = (fine if entry["coding"] == "schema" else merged).project(entry["columns"])
    counts = pq.read_table(folder / entry["file"], columns=["noisy_count"])["noisy_count"].to_numpy()
    return Measurement(Marginal(domain, counts.reshape(domain.shape)), float(entry["variance"]))
