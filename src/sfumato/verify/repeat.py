"""Post-processing repeated: noisy tables to model, model to rows. And rows against the schema."""

from __future__ import annotations

import filecmp
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato import tables
from sfumato.errors import SfumatoError
from sfumato.evaluate.rules import violations
from sfumato.intake.marks import MISSING, marked_codes
from sfumato.intake.ruled import Ruled
from sfumato.pipeline import reconciled
from sfumato.release import Release, storage
from sfumato.release.versions import arithmetic, versions
from sfumato.schema.schema import Schema
from sfumato.tables.raw import plain
from sfumato.verify.accounts import differences
from sfumato.verify.findings import Finding, found, not_checked


def other_versions(description: Mapping[str, Any]) -> str:
    """What differs between here and where a release was made; empty where equal computations give equal bytes."""
    made = description.get("versions")
    made = made if isinstance(made, dict) else {}
    here = versions()
    unlike = [
        f"{name} {made.get(name, '(unknown)')} and not {here[name]}" for name in here if made.get(name) != here[name]
    ]
    if not unlike and description.get("arithmetic") != arithmetic():
        unlike.append("a processor or kernel that rounds otherwise")
    return ", ".join(unlike)


def check_model(release: Release, folder: Path, unlike: str) -> Finding:
    """The noisy tables, made to agree once more, are the tables of the model."""
    model = release.model
    try:
        rules = Ruled(release.schema).constraints
        again = reconciled(release.recipe, model.recoding, model.measurements, model.selection, rules)
    except SfumatoError as problem:
        return found("model", [f"the tables cannot be made to agree again: {problem}"], "")
    problems = differences(
        storage.model_record(model), storage.read_json(folder / "model" / "model.json"), "model.json"
    )
    if again.cliques != model.marginals.cliques:
        problems.append("the model has other tables than follow from the noisy ones")
    else:
        pairs = list(zip(again.tables, model.marginals.tables, strict=True))
        if (
            all(one.counts.tobytes() == two.counts.tobytes() for one, two in pairs)
            and again.scales == model.marginals.scales
        ):
            return found("model", problems, f"{len(pairs)} tables of the model follow from the noisy ones, bit for bit")
        if unlike and not problems:
            close = all(np.allclose(one.counts, two.counts, rtol=1e-6, atol=1e-6) for one, two in pairs)
            how = "all but the same" if close else "not the same"
            return not_checked("model", f"tables that were made to agree here are {how}: made with {unlike}")
        problems.append("the tables of the model do not follow from the noisy ones")
    return found("model", problems, "")


def check_rows(release: Release, folder: Path, sample: Mapping[str, Any], unlike: str) -> Finding:
    """The synthetic table, drawn once more from the model with its seed, is the same file."""
    name = sample["file"]
    with tempfile.TemporaryDirectory() as scratch:
        again = Path(scratch) / name
        try:
            release.write(again, sample["rows"], sample["seed"])
        except SfumatoError as problem:
            return found("rows", [f"the rows cannot be drawn again: {problem}"], "")
        same = filecmp.cmp(again, folder / name, shallow=False)
    if same:
        return found(
            "rows", [], f"{sample['rows']:,} rows, drawn again with seed {sample['seed']}: the same, byte for byte"
        )
    if unlike:
        return not_checked("rows", f"rows drawn here are others, which proves nothing: made with {unlike}")
    return found("rows", [f"{name} is not what the model gives with seed {sample['seed']}"], "")


def check_values(release: Release, folder: Path, sample: Mapping[str, Any]) -> Finding:
    """Each synthetic row obeys the schema: names, types, domains and rules."""
    try:
        table = tables.read(folder / sample["file"])
        problems = list(value_problems(table, release.schema)) or list(rule_problems(table, release.schema))
    except SfumatoError as problem:
        return found("values", [str(problem)], "")
    if table.num_rows != sample["rows"]:
        problems.append(f"{table.num_rows} rows are there, and {sample['rows']} are said to be")
    rules = len(release.schema.rules)
    right = f"{table.num_rows:,} rows obey the schema" + (f" and its {rules} rules" if rules else "")
    return found("values", problems, right)


def value_problems(table: pa.Table, schema: Schema) -> Iterator[str]:
    """Values that the schema does not declare, wherever the schema would have put bad ones."""
    if tuple(table.column_names) != schema.names:
        yield "the synthetic table has other columns than the schema, or in another order"
        return
    for column in schema.columns:
        codes = marked_codes(column, plain(table.column(column.name)), clip=False)
        bad = codes < 0 if not column.nullable else (codes < 0) & (codes != MISSING)
        if bad.any():
            yield f"column {column.name!r} has {int(bad.sum())} values that the schema does not declare"


def rule_problems(table: pa.Table, schema: Schema) -> Iterator[str]:
    """Rules of the schema that synthetic rows break: the one place that says what is asked of rules."""
    for rule, share in zip(schema.rules, violations(table, schema.rules, schema.columns), strict=True):
        if share:
            yield f"the rule on {', '.join(rule.names)} is broken by {share:.3%} of the rows"
