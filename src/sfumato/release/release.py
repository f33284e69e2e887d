"""A release: what may leave the building. It holds no private rows and can be sampled for ever."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, cast, overload

import numpy as np
import pyarrow as pa

from sfumato import tables
from sfumato.errors import DataError, ReleaseError, SfumatoError
from sfumato.files import new_folder, write
from sfumato.models.residuals import NoisyTable
from sfumato.pipeline import Model, Recipe
from sfumato.privacy.ledger import Statement
from sfumato.privacy.rows_per_person import RowsPerPerson
from sfumato.recipes import PARTS
from sfumato.release import format1, storage
from sfumato.release.answers import answer
from sfumato.release.drawing import BLOCK, Drawing, rechunked
from sfumato.release.expected import noise_warnings, size_warnings
from sfumato.release.intervals import CONFIDENCE, noisy_tables
from sfumato.release.manifest import write_manifest
from sfumato.release.metadata import metadata
from sfumato.release.natural import natural
from sfumato.release.notebook import release_html
from sfumato.release.statistics import Answer, Conditions, Question
from sfumato.release.versions import arithmetic, versions
from sfumato.schema.conditions import allowed_codes
from sfumato.schema.schema import Schema
from sfumato.tables.kinds import Rows

if TYPE_CHECKING:
    import pandas
    import polars

FORMAT = 2
"""Version of the release folder; a change that old readers would misread raises it."""

KINDS = ("arrow", "pandas", "polars")


@dataclass(frozen=True, eq=False)
class Release(Generic[Rows]):
    """Noisy tables, the model made of them, the ledger and the schema of one differentially private release.

    It describes itself: nothing is looked up by the name of its method, which may mean something else tomorrow.

    Args:
        recipe: the recipe that made it, part by part.
        schema: the public schema.
        ledger: every privacy event, with the guarantee.
        model: what was learned.
        kind: which kind of table samples come as: pandas, polars or arrow. It is not published.
        persons: how many rows persons have, where persons are counted.
        answers: noisy whole numbers that are no tables, by the event that paid for them: scores, distances and choices;
            None in releases of versions that did not publish them.

    >>> import pyarrow as pa
    >>> from sfumato import fit
    >>> age = {"name": "age", "type": "integer", "min": 0, "max": 99}
    >>> release = fit(pa.table({"age": [31, 45, 28]}), {"name": "people", "columns": [age]}, epsilon="1")
    >>> release.sample(3, seed=1).num_rows
    3
    >>> release.ledger.budget.epsilon
    Fraction(1, 1)
    """

    recipe: Recipe
    schema: Schema
    ledger: Statement
    model: Model
    kind: str = "arrow"
    persons: RowsPerPerson | None = None
    answers: Mapping[int, tuple[int, ...]] | None = None

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
        """What to know before using it: tables that drowned in noise, and pairs of columns that nobody looked at."""
        found = noise_warnings(self.model.measurements, self.ledger, self.rows)
        return (*found, *size_warnings(self.model.selection, self.model.recoding.domain))

    def sample(self, rows: int | None = None, seed: int | None = None, given: Mapping[str, Any] | None = None) -> Rows:
        """Draw a synthetic table: free, repeatable with a seed, of the kind that was given to `fit`.

        Args:
            rows: how many rows; by default as many as the noisy tables say the private table has.
            seed: of the synthesis; the noise in the tables is part of the release and is not drawn again.
            given: only rows with these values: for each column a value, a list of values, {"min": …, "max": …} or
                range(20, 30).
        """
        sample: Rows = tables.convert(self.sample_arrow(rows, seed, given), self.kind, self.schema)
        return sample

    def sample_arrow(
        self, rows: int | None = None, seed: int | None = None, given: Mapping[str, Any] | None = None
    ) -> pa.Table:
        """Draw a synthetic table as a pyarrow table with the natural types of the schema."""
        return pa.concat_tables(self._drawing(rows, given).blocks(seed))

    def batches(
        self,
        rows: int | None = None,
        seed: int | None = None,
        chunk: int = BLOCK,
        given: Mapping[str, Any] | None = None,
    ) -> Iterator[pa.Table]:
        """The rows of `sample_arrow`, `chunk` of them at a time: memory does not grow with the number of rows.

        The same seed gives the same rows whatever the chunk; there is always one table, if only an empty one.
        """
        if chunk < 1:
            raise DataError(f"chunks of {chunk} rows were asked for; give 1 or more")
        return rechunked(self._drawing(rows, given).blocks(seed), chunk)

    def write(
        self,
        path: str | Path,
        rows: int | None = None,
        seed: int | None = None,
        given: Mapping[str, Any] | None = None,
    ) -> None:
        """Draw a synthetic table into a CSV or Parquet file, piece by piece; the file appears whole or not at all."""
        tables.write(self._drawing(rows, given).blocks(seed), path, self.schema)

    def _drawing(self, rows: int | None, given: Mapping[str, Any] | None = None) -> Drawing:
        rows = self.rows if rows is None else rows
        if rows < 0:
            raise DataError(f"{rows} rows were asked for; give 0 or more")
        codes = allowed_codes(self.schema, given or {})
        return Drawing(self.schema, self.model, self.recipe.synthesize, codes, rows)

    def marginal(self, *columns: str | Sequence[str], confidence: float = CONFIDENCE) -> Rows:
        """The table of counts over any columns, of the kind that was given to `fit`: free, and the same every time.

        Each cell has its values (numbers as numbers, ranges and words as texts in their order), `count`,
        `standard_error`, `low`, `high` and `unbiased`; docs/intervals.md says what
        they mean. Where there is no interval, they are null, and `no_interval` in the metadata (of a pandas table, in
        its `attrs`) says why.
        """
        named = [name for one in columns for name in ([one] if isinstance(one, str) else one)]
        table = natural(self.marginal_arrow(*named, confidence=confidence), self.schema)
        frame: Any = table
        if self.kind == "pandas":
            frame = table.to_pandas()
            frame.attrs = {key.decode(): value.decode() for key, value in table.schema.metadata.items()}
        elif self.kind == "polars":
            import polars

            frame = polars.from_arrow(table)
        return cast(Rows, frame)

    def marginal_arrow(self, *columns: str, confidence: float = CONFIDENCE) -> pa.Table:
        """The table of counts over any columns, as a pyarrow table whose cells have labels."""
        return answer(self.model, self.schema, self.noisy_tables, columns, confidence)

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
        """Write the release and one synthetic table into a new folder.

        The release itself comes first, all of it at once or nothing. So what was paid for is safe while rows are drawn:
        if that fails, the folder is a complete release without rows, which can be sampled. The seed is published, also
        one that was not given: so anybody can repeat the drawing (docs/verify.md). `book` is the receipt of the
        payment, if a book paid for the run.
        """
        folder = Path(folder)
        rows = self.rows if rows is None else rows
        seed = _fresh_seed() if seed is None else seed
        if format not in ("csv", "parquet"):
            raise ReleaseError(f"format {format!r} is unknown; known formats are csv and parquet")
        with new_folder(folder, "a release") as staging:
            storage.write_model(staging, self.model, self.schema)
            storage.write_json(staging / "ledger.json", self.ledger.to_dict())
            if self.answers is not None:
                storage.write_answers(staging, self.answers)
            storage.write_json(staging / "schema.json", self.schema.to_dict())
            made = self.description() | ({"book": dict(book)} if book else {})
            storage.write_json(staging / "release.json", made)
            write_manifest(staging)
        file, drawing = f"synthetic.{format}", self._drawing(rows)
        with _without_rows(folder):
            tables.write(drawing.blocks(seed), folder / file, self.schema)
        made["sample"] = {"file": file, "rows": rows, "seed": seed}
        if self.schema.rules:
            again = round(drawing.tally.share, 6)
            made["rules"] = {"declared": len(self.schema.rules), "violations": 0, "share_of_rows_drawn_again": again}
        storage.write_json(folder / "release.json", made)
        for name, text in metadata(folder, file, self.schema, self.ledger, self.recipe).items():
            write(folder / name, text)
        write_manifest(folder)
        return folder

    @overload
    @classmethod
    def load(cls, folder: str | Path, kind: Literal["arrow"] = "arrow") -> Release[pa.Table]: ...
    @overload
    @classmethod
    def load(cls, folder: str | Path, kind: Literal["pandas"]) -> Release[pandas.DataFrame]: ...
    @overload
    @classmethod
    def load(cls, folder: str | Path, kind: Literal["polars"]) -> Release[polars.DataFrame]: ...
    @classmethod
    def load(cls, folder: str | Path, kind: str = "arrow") -> Release[Any]:
        """Open a release folder, checking that its ledger adds up; samples come as arrow, pandas or polars tables."""
        if kind not in KINDS:
            raise ReleaseError(f"samples were asked for as {kind!r}; give one of {', '.join(KINDS)}")
        folder = Path(folder)
        if not folder.is_dir():
            raise ReleaseError(f"{str(folder)!r} is not a folder; give the folder that synthesize or save wrote")
        description = storage.read_json(folder / "release.json")
        form = description.get("format") if isinstance(description, dict) else None
        if form == 1:
            return replace(cls(*format1.read(folder, description)), kind=kind)
        if form != FORMAT or "recipe" not in description:
            raise ReleaseError(
                f"{str(folder)!r} is not a release of format 1 or {FORMAT}, which this version reads; another version "
                "may have written it"
            )
        with storage.damaged(folder):
            recipe = Recipe.from_dict(description["recipe"], PARTS)
            schema = Schema.parse(storage.read_json(folder / "schema.json"))
            statement = Statement.from_dict(storage.read_json(folder / "ledger.json"))
            held = description.get("rows_per_person")
            persons = None if held is None else RowsPerPerson.from_dict(held)
        if statement.observed != schema.observed:
            raise ReleaseError(
                f"the ledger in {str(folder)!r} lists {list(statement.observed)} as domains that were observed in the "
                f"data, and the schema {list(schema.observed)}; they must be the same"
            )
        model = storage.read_model(folder, schema)
        return cls(recipe, schema, statement, model, kind, persons, storage.read_answers(folder))

    def description(self) -> dict[str, Any]:
        """What release.json says: how this was made, in plain words and for programs."""
        return {
            "format": FORMAT,
            "name": self.schema.name,
            "method": self.method,
            "guarantee": self.ledger.sentence(),
            "estimated_rows": self.rows,
            "observed_domains_accepted": list(self.schema.observed),
            **({} if self.persons is None else {"rows_per_person": self.persons.to_dict()}),
            "recipe": self.recipe.to_dict(),
            "versions": versions(),
            "arithmetic": arithmetic(),
        }

    def __repr__(self) -> str:
        return f"Release({self.schema.name!r} by {self.method}: {self.ledger.sentence()})"

    def _repr_html_(self) -> str:
        """A short card for notebooks, with the first columns as pictures."""
        return release_html(self)


def _fresh_seed() -> int:
    """A seed for drawing rows that every reader of JSON can hold."""
    return int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> 11)


@contextmanager
def _without_rows(folder: Path) -> Iterator[None]:
    """Say where the release is, when its rows could not be drawn."""
    whole = f"the release is complete in {str(folder)!r} but for its rows: draw them with sfumato sample"
    try:
        yield
    except SfumatoError as problem:
        raise type(problem)(f"{problem}; {whole}") from None
    except MemoryError:
        raise ReleaseError(f"memory ended while rows were written; {whole}") from None
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"interrupted; {whole}") from None
