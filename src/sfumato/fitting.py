"""`fit`: the one function that spends a budget on a table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, overload
from warnings import warn

from sfumato.data.domain import Domain
from sfumato.errors import ModelTooLarge, NoiseWarning
from sfumato.job import Job, recipe_of
from sfumato.outlook import outlook
from sfumato.pipeline import Model, Progress, Recipe, run
from sfumato.privacy.budget import Share, budget_of
from sfumato.privacy.entropy import SystemEntropy
from sfumato.privacy.ledger import Ledger, Purse
from sfumato.privacy.neighbours import Neighbours
from sfumato.privacy.opening import kind_of, open_engine, open_local
from sfumato.privacy.rows_per_person import PRICE, RowsPerPerson
from sfumato.recipes import DEFAULT
from sfumato.release import Release
from sfumato.schema.acceptance import ROWS, RULES, copied_lists
from sfumato.schema.schema import Schema
from sfumato.tables.kinds import Data, FrameT

if TYPE_CHECKING:
    import polars
    import pyarrow as pa


@overload
def fit(
    data: FrameT,
    schema: Schema | Mapping[str, Any] | str | Path,
    *,
    epsilon: float | str,
    delta: float | str | None = None,
    method: str | Recipe = DEFAULT,
    views: str | Path | None = None,
    synthesizer: str | None = None,
    engine: str = "auto",
    progress: Progress = ...,
) -> Release[FrameT]: ...
@overload
def fit(
    data: polars.LazyFrame,
    schema: Schema | Mapping[str, Any] | str | Path,
    *,
    epsilon: float | str,
    delta: float | str | None = None,
    method: str | Recipe = DEFAULT,
    views: str | Path | None = None,
    synthesizer: str | None = None,
    engine: str = "auto",
    progress: Progress = ...,
) -> Release[polars.DataFrame]: ...
@overload
def fit(
    data: Data,
    schema: Schema | Mapping[str, Any] | str | Path,
    *,
    epsilon: float | str,
    delta: float | str | None = None,
    method: str | Recipe = DEFAULT,
    views: str | Path | None = None,
    synthesizer: str | None = None,
    engine: str = "auto",
    progress: Progress = ...,
) -> Release[pa.Table]: ...
def fit(
    data: Data,
    schema: Schema | Mapping[str, Any] | str | Path,
    *,
    epsilon: float | str,
    delta: float | str | None = None,
    method: str | Recipe = DEFAULT,
    views: str | Path | None = None,
    synthesizer: str | None = None,
    engine: str = "auto",
    progress: Progress = lambda stage: None,
) -> Release[Any]:
    """Spend a privacy budget on a table and return a release, which holds no private rows.

    Where the schema has a guess of the rows and noise will drown columns, a `NoiseWarning` says so before anything is
    spent.

    Args:
        data: a pandas, polars or pyarrow table; the path of a file or folder: CSV, Parquet, Excel and others
            (docs/schema.md, Reading real files); or a table in a database, by its name (docs/engines.md) or as an Ibis
            table.
        schema: the public schema, its keys, or the path of its file.
        epsilon: the budget. Text such as "0.1" is exact.
        delta: the probability with which epsilon may fail; leave it out for pure differential privacy.
        method: the name of a recipe, as `sfumato methods` lists them, or a recipe of your own.
        views: a JSON file of the views to measure, with weights, instead of those that the method would choose.
        synthesizer: what makes rows from the tables, if not the method's own part; it can be changed later for free.
        engine: where rows are kept while they are counted: memory, spool (a private file without a name), or auto:
            memory for small tables and the spool for large ones.
        progress: called with the name of each stage as it starts.

    >>> import pyarrow as pa
    >>> age = {"name": "age", "type": "integer", "min": 0, "max": 99}
    >>> release = fit(pa.table({"age": [31, 45, 28]}), {"name": "people", "columns": [age]}, epsilon="1")
    >>> release.sample(rows=5, seed=1).num_rows
    5
    """
    job = Job(Schema.of(schema), recipe_of(method, views, synthesizer), budget_of(epsilon, delta))
    for words in outlook(job).warnings:
        warn(words, NoiseWarning, stacklevel=2)
    return run_job(job, data, progress, engine)


def run_job(job: Job, data: Data, progress: Progress = lambda stage: None, engine: str = "auto") -> Release:
    """Run a job on a table.

    >>> import pyarrow as pa
    >>> age = {"name": "age", "type": "integer", "min": 0, "max": 99}
    >>> job = Job(Schema.parse({"name": "people", "columns": [age]}), recipe_of("dpview"), budget_of("1", None))
    >>> run_job(job, pa.table({"age": [31, 45, 28]})).method
    'dpview'
    """
    progress("read")
    ledger = open_ledger(job)
    holder = open_local(data, job.schema, ledger, engine=engine)
    model: Model | None = None
    try:
        persons = count_persons(holder, job.schema, ledger)
        model = run(job.recipe, holder, job.schema, ledger, progress)
    except MemoryError:
        pass  # said below: the frames of this one hold counts
    finally:
        holder.close()
    if model is None:
        raise _no_memory(holder.domain)
    statement = ledger.statement()
    statement.verify()
    return Release(job.recipe, job.schema, statement, model, kind_of(data), persons, ledger.answers)


def _no_memory(domain: Domain) -> ModelTooLarge:
    """What is said when a method ran out of memory; its tables follow from the public domain."""
    sizes = domain.shape
    cells = (sum(sizes) ** 2 - sum(size * size for size in sizes)) // 2
    return ModelTooLarge(
        f"memory ended while tables of counts were made; all pairs of {len(sizes)} columns have {cells:,} cells, "
        f"{8 * cells:,} bytes, of which a method holds a part: declare fewer bins or categories, or use a machine with "
        "more memory. What the ledger had charged by then stays spent"
    )


class PersonsHolder(Protocol):
    """A holder that can tell how many rows persons have."""

    def rows_per_person(self, most: int, part: Share) -> RowsPerPerson:
        """How many persons have this many rows, with noise, for a part of the budget."""
        ...


def count_persons(holder: PersonsHolder, schema: Schema, ledger: Ledger) -> RowsPerPerson | None:
    """The first question of a run on persons who may have several rows: how many they have. It tells what is cut."""
    if schema.unit.column is None:
        return None
    ledger.stage = "persons"
    return holder.rows_per_person(schema.unit.rows, Purse(ledger, PRICE).left)


def open_ledger(job: Job) -> Ledger:
    """The ledger of a run, with what is known before the first question."""
    ledger = Ledger(job.opened, str(Neighbours.of(job.schema)), job.schema.observed)
    note_schema(ledger, job.schema)
    _note_acceptance(ledger, job.schema)
    return ledger


def note_schema(ledger: Ledger, schema: Schema) -> None:
    """The first notes of a ledger: what the run took from the schema, and whether a value could have stopped it."""
    ledger.note("read the schema", "the schema is public")
    if schema.rules:
        ledger.note(
            "a row that breaks a rule counts as one that obeys",
            "a public function of that row alone; see docs/rules.md",
        )
    if schema.may_refuse:
        what = "a value that breaks the schema" + (", or a row that breaks a rule," if schema.rules_may_refuse else "")
        ledger.note(
            f"{what} would have stopped the run",
            "not covered by the guarantee: that there is a release says that no row did; see on_bad_value",
        )


def _note_acceptance(ledger: Ledger, schema: Schema) -> None:
    """Which domains and keys no noise covers, who said that they may be public, and why."""
    for one in schema.accept_observed:
        for name in one.columns:
            what = (
                f"key {name!r}" if name in (RULES, ROWS) and name not in schema.names else f"domain of column {name!r}"
            )
            ledger.note(f"{what} was observed in the data", f"accepted as public by {one.by}: {one.reason}")
    if copied_lists(schema.columns, 0):
        ledger.note(
            "a list of observed categories half as long as the table would have stopped the run",
            "not covered by the guarantee: it counts rows, where a domain was read from them anyway",
        )


def check_fits(data: Data, schema: Schema) -> None:
    """Refuse a table that does not fit its schema. Nothing is measured and nothing is spent."""
    open_engine(data, schema, SystemEntropy()).close()
