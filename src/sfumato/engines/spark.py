"""Rows of a Spark DataFrame: coded and counted in its partitions by our own kernel, so rows never leave the cluster.

Only tables of counts come to the driver, added up in the cluster first. Spark's own words are not passed on, since they
may quote rows. The workers need this package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.util import find_spec
from typing import Any, TypeVar
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.data.coding import Coding
from sfumato.data.domain import Clique, Domain
from sfumato.data.marginal import Marginal
from sfumato.data.records import Records
from sfumato.engines import MOST_CELLS
from sfumato.engines.counting import closed, count_blocks
from sfumato.engines.persons import Words, priorities
from sfumato.engines.plan import plan
from sfumato.errors import DataError, SfumatoError
from sfumato.intake.intake import Intake
from sfumato.schema.column_base import Unit
from sfumato.schema.schema import Schema
from sfumato.tables.quiet import quiet

T = TypeVar("T")
Batches = Iterable[pa.RecordBatch]

SCHEME = "spark://"
FORM = "spark:///table or spark:///database.table"

FAN = 16
"""Tables of this many partitions are added up at once, again and again until few are left."""

_COUNTS = "counts binary"
_FAILED = (
    "Spark could not {}; its own log says why. Check that its workers have Python with sfumato, pyarrow and pandas"
)


class Spark:
    """An engine over a Spark DataFrame. The rows are coded once, and kept coded on the disks of the cluster."""

    def __init__(self, frame: Any, schema: Schema, words: Words):
        intake = Intake(schema)
        self.domain = intake.domain
        self.sizes: NDArray[np.integer] | None = None
        coded = _quiet("code the rows", lambda: frame.mapInArrow(_coder(schema.to_dict()), _types(schema, self.domain)))
        if schema.unit.column is not None:
            coded = _quiet("choose the rows of each person", lambda: _kept(coded, schema.unit, int(words(1)[0])))
        self._frame: Any = _quiet("keep the coded rows", lambda: _persisted(coded))
        try:
            # Every value is looked at here, before anything is charged.
            refusals = _quiet("check the rows", lambda: self._frame.select("refusal").distinct().collect())
            if found := sorted(row["refusal"] for row in refusals if row["refusal"] is not None):
                raise DataError(found[0])
            (total,) = self._sums(Coding(self.domain), [()])
            self._total = int(total[0])
            self.sizes = self._persons() if schema.unit.column is not None else None
        except BaseException:
            self.close()
            raise

    def count(self, coding: Coding, cliques: Sequence[Clique]) -> Iterator[Marginal]:
        """The exact table of each clique, in the codes of `coding`, whose base is the domain of this engine."""
        for clique in cliques:
            coding.domain.require_cells(clique, MOST_CELLS)
        homes = plan(coding.domain, tuple(cliques))
        joints = [(), *dict.fromkeys(homes)]
        sums = self._sums(coding, joints)
        if int(sums[0][0]) != self._total:
            raise DataError("the Spark table changed while it was counted; save it first, and give the saved table")
        tables = {
            joint: Marginal(coding.domain.project(joint), counts.reshape(coding.domain.project(joint).shape))
            for joint, counts in zip(joints, sums, strict=True)
        }
        return (tables[home].project(clique) for clique, home in zip(cliques, homes, strict=True))

    def _persons(self) -> NDArray[np.integer]:
        """The number of rows of each person, who has one row that tells it."""
        told = self._frame.filter("size > 0").groupBy("size").count()
        rows = _quiet("count persons", told.collect)
        sizes, times = ([row[name] for row in rows] for name in ("size", "count"))
        return np.repeat(np.array(sizes, dtype=np.int32), np.array(times, dtype=np.int64))

    def _sums(self, coding: Coding, joints: Sequence[Clique]) -> list[Any]:
        """The counts of joints over all partitions: one row of bytes for each, added up in a tree."""
        if self._frame is None:
            raise closed()
        frame = self._frame.mapInArrow(_counter(coding, tuple(joints)), _COUNTS)
        sizes = [coding.domain.cells(joint) for joint in joints]
        total = np.zeros(sum(sizes), dtype=np.int64)
        rows = _quiet("count the rows", lambda: _tree_sum(frame))
        while (row := _quiet("count the rows", lambda: next(rows, None))) is not None:
            total += np.frombuffer(row["counts"], dtype=np.int64)
        return np.split(total, np.cumsum(sizes)[:-1])

    def close(self) -> None:
        """Forget the coded rows, on every disk."""
        if self._frame is not None:
            frame, self._frame, self.sizes = self._frame, None, None
            _quiet("forget the rows", lambda: frame.unpersist(blocking=True))

    def __repr__(self) -> str:
        return f"Spark({self.domain!r})"


def is_frame(data: Any) -> bool:
    """Whether this is a Spark DataFrame."""
    return type(data).__module__.partition(".")[0] == "pyspark" and hasattr(data, "mapInArrow")


def is_named(data: Any) -> bool:
    """Whether this is the name of a table of Spark."""
    return isinstance(data, str) and data.startswith(SCHEME)


def table_of(name: str) -> Any:
    """The table of a name, from the session that runs, or from one that the settings of Spark describe.

    Where the cluster is, and who may use it, is said there (spark-defaults.conf, SPARK_REMOTE) and not in a name.
    """
    words = [unquote(word) for word in name.removeprefix(SCHEME).removeprefix("/").split(".")]
    if not name.startswith(f"{SCHEME}/") or not all(words) or len(words) > 3 or any("/" in word for word in words):
        raise DataError(f"the name of a Spark table does not say which; write {FORM}")
    session = _session()
    quoted = ".".join("`" + word.replace("`", "``") + "`" for word in words)
    return quiet(
        f"Spark has no table {'.'.join(words)!r} that you may read; check its name, with its database, and your rights",
        lambda: session.table(quoted),
    )


def _session() -> Any:
    if find_spec("pyspark") is None:
        raise DataError("reading from Spark needs more packages; install them with pip install 'sfumato[spark]'")
    from pyspark.sql import SparkSession

    return _quiet("start", lambda: SparkSession.builder.appName("sfumato").getOrCreate())


def _types(schema: Schema, domain: Domain) -> str:
    """The columns of coded rows: places instead of names, which may have any letters."""
    codes = [f"c{place} int" for place in range(len(domain))]
    person = ["person string", "priority bigint"] if schema.unit.column is not None else []
    return ", ".join([*codes, *person, "refusal string"])


def _coder(schema: dict[str, Any]) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    def code(batches: Batches) -> Iterator[pa.RecordBatch]:
        """In a worker: codes of rows. What is refused is told in a row of its own, for the driver to raise."""
        from sfumato import tables

        known = Schema.parse(schema)
        intake = Intake(known)
        for batch in batches:
            for part in tables.batches(pa.Table.from_batches([batch]), known):
                try:
                    rows = intake.encode(part)
                except SfumatoError as problem:
                    yield _refusal(len(intake.domain), known, str(problem))
                    return
                arrays = [pa.array(column.astype(np.int32)) for column in rows.records.columns]
                if rows.persons is not None:
                    arrays += [rows.persons.cast(pa.string()), pa.array(priorities([rows], known.unit.keep))]
                arrays.append(pa.nulls(len(rows.records), pa.string()))
                yield pa.RecordBatch.from_arrays(arrays, names=_names(len(intake.domain), known))

    return code


def _names(attributes: int, schema: Schema) -> list[str]:
    person = ["person", "priority"] if schema.unit.column is not None else []
    return [*(f"c{place}" for place in range(attributes)), *person, "refusal"]


def _refusal(attributes: int, schema: Schema, message: str) -> pa.RecordBatch:
    arrays = [pa.array([0], pa.int32())] * attributes
    if schema.unit.column is not None:
        arrays += [pa.array([""], pa.string()), pa.array([0], pa.int64())]
    return pa.RecordBatch.from_arrays([*arrays, pa.array([message], pa.string())], names=_names(attributes, schema))


def _kept(frame: Any, unit: Unit, seed: int) -> Any:
    """At most `unit.rows` rows of each person, and what each counts. A refusal stays whatever its rank.

    The first row of a person tells in `size` how many rows it has; the others have 0 there.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    person = Window.partitionBy("person")
    order = person.orderBy("priority", f.rand(seed % (1 << 31)))
    ranked = frame.withColumn("place", f.row_number().over(order))
    rows = f.least(f.count("*").over(person), f.lit(np.iinfo(np.int32).max))
    ranked = ranked.withColumn("rows", rows).withColumn("size", f.expr("if(place = 1, rows, 0)"))
    if unit.count == "persons":
        ranked = ranked.withColumn("weight", f.expr(f"{unit.parts} div least(rows, {unit.rows})").cast("int"))
    kept = ranked.filter((f.col("place") <= unit.rows) | f.col("refusal").isNotNull())
    return kept.drop("place", "person", "priority", "rows")


def _persisted(frame: Any) -> Any:
    from pyspark import StorageLevel

    return frame.persist(StorageLevel.DISK_ONLY)


def _counter(coding: Coding, joints: tuple[Clique, ...]) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    def count(batches: Batches) -> Iterator[pa.RecordBatch]:
        """In a worker: one row with the counts of all joints in a partition, one after the other."""
        blocks = (part for batch in batches for part in _weighted(coding.base, batch))
        tables = [table.counts.ravel().astype(np.int64) for table in count_blocks(blocks, coding, joints)]
        yield _bytes(np.concatenate(tables).tobytes())

    return count


def _weighted(domain: Domain, batch: pa.RecordBatch) -> Iterator[tuple[Records, int]]:
    """The rows of a batch by what they count."""
    records = Records(domain, _codes(batch, len(domain)))
    if "weight" not in batch.schema.names:
        yield records, 1
        return
    weights = batch.column("weight").to_numpy(zero_copy_only=False)
    for weight in np.unique(weights).tolist():
        yield records.take(np.flatnonzero(weights == weight)), weight


def _codes(batch: pa.RecordBatch, attributes: int) -> list[Any]:
    return [batch.column(f"c{place}").to_numpy(zero_copy_only=False) for place in range(attributes)]


def _tree_sum(frame: Any) -> Iterator[Any]:
    """Rows of counts, of which there are few, and which come one at a time."""
    parts = frame.rdd.getNumPartitions()
    while parts > FAN:
        parts = -(-parts // FAN)
        frame = frame.repartition(parts).mapInArrow(_added, _COUNTS)
    return iter(frame.toLocalIterator())


def _added(batches: Batches) -> Iterator[pa.RecordBatch]:
    """In a worker: the sum of rows of counts."""
    total = None
    for batch in batches:
        for value in batch.column("counts"):
            counts = np.frombuffer(value.as_py(), dtype=np.int64)
            total = counts.copy() if total is None else total + counts
    if total is not None:
        yield _bytes(total.tobytes())


def _bytes(content: bytes) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([content], pa.binary())], names=["counts"])


def _quiet(what: str, call: Callable[[], T]) -> T:
    """What `call` gives; if it fails, our own words instead of Spark's."""
    return quiet(_FAILED.format(what), call)
