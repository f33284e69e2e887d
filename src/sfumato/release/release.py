"""A release: what may leave the building. It holds no private rows and can be sampled for ever."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa

from sfumato import tables
from sfumato.data.coding import Coding, Levels
from sfumato.data.records import Records
from sfumato.data.selection import Apart
from sfumato.errors import DataError, MethodError, ReleaseError
from sfumato.evaluate.rules import violations
from sfumato.files import new_folder
from sfumato.intake.attributes import Attributes, Ints
from sfumato.intake.codec import SchemaCodec
from sfumato.intake.ruled import Ruled
from sfumato.models.residuals import NoisyTable
from sfumato.models.tree_model import Evidence
from sfumato.pipeline import Conditional, Model, Recipe
from sfumato.privacy.ledger import Statement
from sfumato.recipes import PARTS
from sfumato.release import answers, format1, storage
from sfumato.release.expected import noise_warnings
from sfumato.release.intervals import CONFIDENCE, noisy_tables
from sfumato.release.manifest import write_manifest
from sfumato.release.statistics import Answer, Conditions, Question
from sfumato.release.versions import arithmetic, versions
from sfumato.schema.conditions import allowed_codes
from sfumato.schema.schema import Schema
from sfumato.synthesize.conditional import conditioned
from sfumato.synthesize.joining import joined
from sfumato.synthesize.repair import Repaired, repaired, split_again
from sfumato.text import html_line as escape

FORMAT = 2
"""Version of the release folder; a change that old readers would misread raises it."""

ENOUGH_ROWS = 50_000
"""A sample of fewer rows is drawn from a fit of this many (or of as many as the private table has)."""


@dataclass(frozen=True, eq=False)
class Release:
    """Noisy tables, the model made of them, the ledger and the schema of one differentially private release.

    It describes itself: nothing is looked up by the name of its method, which may mean something else tomorrow.

    Args:
        recipe: the recipe that made it, part by part.
        schema: the public schema.
        ledger: every privacy event, with the guarantee.
        model: what was learned.
        kind: which kind of table samples come as: pandas, polars or arrow. It is not published.
    """

    recipe: Recipe
    schema: Schema
    ledger: Statement
    model: Model
    kind: str = "arrow"

    @property
    def method(self) -> str:
        """The name of the recipe that made it."""
        return self.recipe.name

    @property
    def rows(self) -> int:
        """The number of rows of the private table, as far as its noisy tables tell."""
        return self.model.marginals.rows

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before using it: which tables drowned in noise, from the noise and the noisy counts alone."""
        return noise_warnings(self.model.measurements, self.ledger, self.rows)

    def sample(self, rows: int | None = None, seed: int | None = None, given: Mapping[str, Any] | None = None) -> Any:
        """Draw a synthetic table: free, repeatable with a seed, of the kind that was given to `fit`.

        Args:
            rows: how many rows; by default as many as the noisy tables say the private table has.
            seed: of the synthesis; the noise in the tables is part of the release and is not drawn again.
            given: only rows with these values: for each column a value, a list of values, or {"min": …, "max": …}.
        """
        return tables.convert(self.sample_arrow(rows, seed, given), self.kind, self.schema)

    def sample_arrow(
        self, rows: int | None = None, seed: int | None = None, given: Mapping[str, Any] | None = None
    ) -> pa.Table:
        """Draw a synthetic table as a pyarrow table with the natural types of the schema."""
        return self._sampled(rows, seed, given)[0]

    def _sampled(self, rows: int | None, seed: int | None, given: Mapping[str, Any] | None) -> tuple[pa.Table, float]:
        """A synthetic table, and the share of the rows it was taken from that were drawn again for a rule."""
        rows = self.rows if rows is None else rows
        if rows < 0:
            raise DataError(f"{rows} rows were asked for; give 0 or more")
        rng = np.random.default_rng(seed)
        codes = allowed_codes(self.schema, given or {})
        if codes:
            records, share = self._conditioned(rows, codes, rng), 0.0
        else:
            drawn = self._drawn(rows, rng)
            records, share = drawn.records, drawn.repairs / max(len(drawn.records), 1)
        table = SchemaCodec(self.schema).decode(records.take(rng.permutation(len(records))[:rows]), rng)
        self._require_rules(table)
        return table, share

    def _require_rules(self, table: pa.Table) -> None:
        """No table leaves with a row that breaks a rule."""
        for rule, share in zip(
            self.schema.rules, violations(table, self.schema.rules, self.schema.columns), strict=True
        ):
            if share:
                raise MethodError(f"rows break the rule {str(rule)!r}, so no table is made; please report this")

    def _drawn(self, rows: int, rng: np.random.Generator, likely: Evidence | None = None) -> Repaired:
        """At least `rows` rows, in codes of columns; a graphical model draws only those that agree with `likely`.

        Whatever the synthesizer is, rows that break a rule are drawn again in part: `repaired` comes last.
        """
        ruled, model = Ruled(self.schema), self.model
        if self.schema.rules:
            coding = Coding(model.recoding.fine, (model.recoding.step, Levels(model.selection.levels)))
            model = replace(model, marginals=replace(model.marginals, constraints=ruled.constraints.through(coding)))
        # Methods that fit rows to tables need enough rows to fit; a small sample is drawn from a larger fit.
        fitted_rows = max(rows, min(self.rows, ENOUGH_ROWS))
        synthesize = self.recipe.synthesize
        if likely and isinstance(synthesize, Conditional) and not isinstance(model.selection.structure, Apart):
            fitted = synthesize.sample_given(model.marginals, model.selection, rows, rng, likely)
        else:
            fitted = joined(synthesize, model.marginals, model.selection, fitted_rows, rng)
        fine = split_again(fitted, lambda some: model.recoding.decode(some, rng), ruled.checks)
        obeying = repaired(fine, ruled.checks, ruled.example, rng)
        return replace(obeying, records=Attributes(self.schema).decode(obeying.records))

    def _conditioned(self, rows: int, given: Mapping[str, Ints], rng: np.random.Generator) -> Records:
        """Rows whose columns have allowed codes, distributed as those among all rows that have them."""
        likely = answers.likely_codes(self.model, self.schema, given)
        return conditioned(lambda count, rng: self._drawn(count, rng, likely).records, given, rows, rng)

    def marginal(self, *columns: str, confidence: float = CONFIDENCE) -> Any:
        """The table of counts over any columns, of the kind that was given to `fit`: free, and the same every time.

        Each cell has its labels, `count`, `standard_error`, `low`, `high` and `unbiased`; docs/intervals.md says what
        they mean. Where there is no interval, they are null, and `no_interval` in the metadata (of a pandas table, in
        its `attrs`) says why.
        """
        table = self.marginal_arrow(*columns, confidence=confidence)
        if self.kind == "pandas":
            frame = table.to_pandas()
            frame.attrs = {key.decode(): value.decode() for key, value in table.schema.metadata.items()}
            return frame
        if self.kind == "polars":
            import polars

            return polars.from_arrow(table)
        return table

    def marginal_arrow(self, *columns: str, confidence: float = CONFIDENCE) -> pa.Table:
        """The table of counts over any columns, as a pyarrow table."""
        return answers.answer(self.model, self.schema, self.noisy_tables, columns, confidence)

    def count(self, where: Conditions | None = None, confidence: float = CONFIDENCE) -> Answer:
        """How many rows have some values, given as for `sample`; all rows without them. With an interval."""
        return self._question(confidence).count(where or {})

    def share(self, where: Conditions, among: Conditions | None = None, confidence: float = CONFIDENCE) -> Answer:
        """Which part of the rows with the values of `among` (of all rows) has those of `where`. With an interval."""
        return self._question(confidence).share(where, among or {})

    def total(self, column: str, among: Conditions | None = None, confidence: float = CONFIDENCE) -> Answer:
        """The sum of a column of numbers, each as the middle of its bin. With an interval."""
        return self._question(confidence).total(column, among or {})

    def mean(self, column: str, among: Conditions | None = None, confidence: float = CONFIDENCE) -> Answer:
        """The mean of a column of numbers, each as the middle of its bin. With an interval."""
        return self._question(confidence).mean(column, among or {})

    def means(self, column: str, *by: str, confidence: float = CONFIDENCE) -> list[tuple[tuple[str, ...], Answer]]:
        """The mean of a column of numbers in each cell of others, with the labels of the cell."""
        return list(self._question(confidence).means(column, by))

    @cached_property
    def noisy_tables(self) -> tuple[NoisyTable, ...]:
        """The noisy tables, with the shape of their noise."""
        return noisy_tables(self.model, self.ledger)

    def _question(self, confidence: float) -> Question:
        return Question(self.model, self.schema, self.noisy_tables, confidence)

    def save(
        self,
        folder: str | Path,
        *,
        rows: int | None = None,
        seed: int | None = None,
        format: str = "csv",
        book: Mapping[str, Any] | None = None,
    ) -> Path:
        """Write the release and one synthetic table into a new folder; all of it appears at once, or nothing.

        The seed is published, also one that was not given: so anybody can repeat the drawing (docs/verify.md).
        `book` is the receipt of the payment, if a book paid for the run.
        """
        folder = Path(folder)
        rows = self.rows if rows is None else rows
        seed = _fresh_seed() if seed is None else seed
        if format not in ("csv", "parquet"):
            raise ReleaseError(f"format {format!r} is unknown; known formats are csv and parquet")
        with new_folder(folder, "a release") as staging:
            file = f"synthetic.{format}"
            table, redrawn = self._sampled(rows, seed, None)
            tables.write(table, staging / file, self.schema)
            storage.write_model(staging, self.model, self.schema)
            storage.write_json(staging / "ledger.json", self.ledger.to_dict())
            storage.write_json(staging / "schema.json", self.schema.to_dict())
            rules = {
                "declared": len(self.schema.rules),
                "violations": 0,
                "share_of_rows_drawn_again": round(redrawn, 6),
            }
            made: dict[str, Any] = {"sample": {"file": file, "rows": rows, "seed": seed}}
            made |= {"book": dict(book)} if book else {}
            made |= {"rules": rules} if self.schema.rules else {}
            storage.write_json(staging / "release.json", self.description() | made)
            write_manifest(staging)
        return folder

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Open a release folder, checking that its ledger adds up."""
        folder = Path(folder)
        if not folder.is_dir():
            raise ReleaseError(f"{str(folder)!r} is not a folder; give the folder that synthesize or save wrote")
        description = storage.read_json(folder / "release.json")
        form = description.get("format") if isinstance(description, dict) else None
        if form == 1:
            return cls(*format1.read(folder, description))
        if form != FORMAT or "recipe" not in description:
            raise ReleaseError(
                f"{str(folder)!r} is not a release of format 1 or {FORMAT}, which this version reads; another version "
                "may have written it"
            )
        with storage.damaged(folder):
            recipe = Recipe.from_dict(description["recipe"], PARTS)
            schema = Schema.parse(storage.read_json(folder / "schema.json"))
            statement = Statement.from_dict(storage.read_json(folder / "ledger.json"))
        if statement.observed != schema.observed:
            raise ReleaseError(
                f"the ledger in {str(folder)!r} lists {list(statement.observed)} as domains that were observed in the "
                f"data, and the schema {list(schema.observed)}; they must be the same"
            )
        return cls(recipe, schema, statement, storage.read_model(folder, schema))

    def description(self) -> dict[str, Any]:
        """What release.json says: how this was made, in plain words and for programs."""
        return {
            "format": FORMAT,
            "name": self.schema.name,
            "method": self.method,
            "guarantee": self.ledger.sentence(),
            "estimated_rows": self.rows,
            "observed_domains_accepted": list(self.schema.observed),
            "recipe": self.recipe.to_dict(),
            "versions": versions(),
            "arithmetic": arithmetic(),
        }

    def __repr__(self) -> str:
        return f"Release({self.schema.name!r} by {self.method}: {self.ledger.sentence()})"

    def _repr_html_(self) -> str:
        """A short card for notebooks."""
        spent = "".join(
            f"<tr><td>{escape(stage)}</td><td>{escape(event.question)}</td>"
            f"<td style='text-align:right'>{float(event.cost(self.ledger.budget.notion)):.4g}</td></tr>"
            for stage, event in self.ledger.entries
        )
        return (
            f"<h4>{escape(self.schema.name)}, released by {escape(self.method)}</h4>"
            f"<p>{escape(self.ledger.sentence())}.</p>"
            + "".join(f"<p><b>Warning:</b> {escape(warning)}.</p>" for warning in self.warnings)
            + f"<p>{len(self.model.measurements)} noisy tables over {len(self.schema.columns)} columns, "
            f"about {self.rows:,} rows. <code>release.sample(rows, seed=…)</code> is free.</p>"
            f"<details><summary>Ledger ({self.ledger.budget.total.currency.value} spent by each question)</summary>"
            f"<table>{spent}</table></details>"
        )


def _fresh_seed() -> int:
    """A seed for drawing rows that every reader of JSON can hold."""
    return int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> 11)
