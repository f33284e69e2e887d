"""For users of SDV: `SfumatoSynthesizer(metadata, epsilon=…)`, `fit(frame)`, `sample(rows)`. SDV is not needed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.errors import SchemaError, SfumatoError
from sfumato.fitting import fit
from sfumato.release import Release
from sfumato.schema.exchange import sdv
from sfumato.schema.schema import Schema


class SfumatoSynthesizer:
    """A synthesizer in the manner of SDV's, with a guarantee.

    Domains in SDV's metadata may have been read from the data. So each column must be declared in `columns`, or a
    person must sign for it (`accepted_by`, `reason`), which the release says.

    Args:
        metadata: SDV metadata of one table, as an object or as the dictionary that it saves.
        epsilon: the privacy budget.
        delta: the chance that the guarantee fails; needed by some methods.
        method: one of `sfumato.methods()`.
        columns: keys of our schema for some columns, such as `{"age": {"min": 0, "max": 120}}`: public knowledge.
        leave_out: what is left out although the metadata has it: identifiers are, and must be named here.
        accepted_by: who says that all other domains may be public.
        reason: why.

    Raises:
        SchemaError: for what cannot be carried over, with all that is missing.
    """

    def __init__(
        self,
        metadata: Any,
        *,
        epsilon: float | str,
        delta: float | str | None = None,
        method: str = "auto",
        columns: Mapping[str, Mapping[str, Any]] | None = None,
        leave_out: tuple[str, ...] | list[str] = (),
        accepted_by: str | None = None,
        reason: str | None = None,
    ):
        found = metadata if isinstance(metadata, Mapping) else metadata.to_dict()
        carried = sdv.read(json.dumps(found, default=str).encode(), "table").unconfirmed("SDV metadata")
        known = dict(columns or {})
        kept = [
            {
                **column,
                **known.get(column["name"], {}),
                **({"domain_from": "declared"} if column["name"] in known else {}),
            }
            for column in carried.keys["columns"]
            if column["name"] not in leave_out
        ]
        lost = [words for words in carried.lost if not any(f"column {name!r}" in words for name in leave_out)]
        bare = [
            words for words in carried.open if not any(words.startswith(f"column {n!r}") for n in (*known, *leave_out))
        ]
        if lost or bare:
            raise SchemaError(
                "the metadata cannot be carried over whole: " + "; ".join([*lost, *bare]) + ". Name columns to leave "
                "out in leave_out, and give what is publicly known in columns"
            )
        schema = Schema.parse({**carried.keys, "columns": kept, "ignore": list(leave_out)})
        if schema.observed and accepted_by is not None:
            schema = schema.accepting(schema.observed, accepted_by, reason or "")
        self.schema = schema
        self._budget: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "method": method}
        self._release: Release | None = None

    def fit(self, data: Any) -> None:
        """Spend the budget on a table, once: a second call would spend it again, and is refused."""
        if self._release is not None:
            raise SfumatoError("this synthesizer has spent its budget; make another one to spend more")
        self._release = fit(data, self.schema, **self._budget)

    @property
    def release(self) -> Release:
        """The release: ledger, noisy tables, answers with intervals."""
        if self._release is None:
            raise SfumatoError("there is nothing to sample from yet; call fit(table) first")
        return self._release

    def sample(self, num_rows: int, seed: int | None = None) -> Any:
        """Synthetic rows, as a table of the kind that was fitted; free, as often as you like."""
        return self.release.sample(num_rows, seed=seed)

    def save(self, folder: str | Path) -> None:
        """Write the release, which `sfumato.Release.load` opens."""
        self.release.save(folder)
