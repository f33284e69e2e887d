"""Rows of a Spark DataFrame: coded and counted in its partitions by our own kernel, so rows never leave the cluster.

Only tables of counts come to the driver, added up in the cluster first. Spark's own words are not passed on, since they
may quote rows. The workers need this package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from importlib.util import find_spec
from inspect import signature
from typing import Any, TypeVar
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato import tables
from sfumato.data.coding import Coding
from sfumato.data.domain import Clique
from sfumato.data.marginal import Marginal
from sfumato.engines import MOST_CELLS
from sfumato.engines.counting import closed, require_base
from sfumato.engines.persons import Words
from sfumato.engines.plan import plan
from sfumato.engines.spark_workers import COUNTS, EXTRA, added, coder, counter, types_of
from sfumato.errors import DataError
from sfumato.intake.intake import Intake
from sfumato.schema.column_base import Unit
from sfumato.schema.schema import Schema
from sfumato.tables.quiet import quiet

T = TypeVar("T")

SCHEME = "spark://"
FORM = "spark:///table or spark:///database.table"

FAN = 16
"""Tables of this many partitions are added up at once, again and again until few are left."""

_FAILED = (
    "Spark could not {}; its own log says why. Check that its workers have Python with sfumato, pyarrow and pandas"
)


class Spark:
    """An engine over a Spark DataFrame. The rows are coded once, and kept coded on the disks of the cluster."""

    def __init__(self, frame: Any, schema: Schema, words: Words):
        intake, unit = Intake(schema), schema.unit
        self.domain = intake.domain
        self.sizes: NDArray[np.integer] | None = None
        given, names = _given(frame, schema)
        work = coder(schema.to_dict(), names)
        coded = _quiet("code the rows", lambda: given.mapInArrow(work, types_of(schema, self.domain)))
        if unit.column is not None:
            coded = _quiet("choose the rows of each person", lambda: _kept(coded, unit, int(words(1)[0])))
        self._frame: Any = _quiet("keep the coded rows", lambda: _persisted(coded))
        try:
            # Every value is looked at here, before anything is charged.
            ((total,), (refused, self._known)) = self._sums(Coding(self.domain), [()])
            if refused:
                messages = self._frame.select("refusal").distinct()
                found = {row["refusal"] for row in _quiet("check the rows", messages.collect)} - {None}
                raise DataError(min(found)) if found else _changed()
            self.rows = self._total = int(total[0])
            if unit.column is not None:
                self.sizes = self._persons()
                kept = np.minimum(self.sizes, unit.rows).astype(np.int64)
                self.rows = int(self.sizes.sum(dtype=np.int64))
                if self._total != int((kept * (unit.parts // kept) if unit.parts > 1 else kept).sum()):
                    raise _changed()
        except BaseException:
            self.close()
            raise

    def count(self, coding: Coding, cliques: Sequence[Clique]) -> Iterator[Marginal]:
        """The exact table of each clique, in the codes of `coding`, whose base is the domain of this engine."""
        require_base(self.domain, coding)
        for clique in cliques:
            coding.domain.require_cells(clique, MOST_CELLS)
        homes = plan(coding.domain, tuple(cliques))
        joints = [(), *dict.fromkeys(homes)]
        sums, (refused, known) = self._sums(coding, joints)
        # Where a worker was lost, Spark computes its rows again, and they may have become others.
        if refused or known != self._known or int(sums[0][0]) != self._total:
            raise _changed()
        found = {
            joint: Marginal(coding.domain.project(joint), counts.reshape(coding.domain.project(joint).shape))
            for joint, counts in zip(joints, sums, strict=True)
        }
        return (found[home].project(clique) for clique, home in zip(cliques, homes, strict=True))

    def _persons(self) -> NDArray[np.integer]:
        """The number of rows of each person, who has one row that tells it."""
        told = self._frame.filter("size > 0").groupBy("size").count()
        rows = _quiet("count persons", told.collect)
        sizes, times = ([row[name] for row in rows] for name in ("size", "count"))
        return np.repeat(np.array(sizes, dtype=np.int32), np.array(times, dtype=np.int64))

    def _sums(self, coding: Coding, joints: Sequence[Clique]) -> tuple[list[Any], tuple[int, int]]:
        """The counts of joints over all partitions, and the extra numbers: a row of bytes for each, added in a tree."""
        if self._frame is None:
            raise closed()
        frame = self._frame.mapInArrow(counter(coding, tuple(joints)), COUNTS)
        sizes = [coding.domain.cells(joint) for joint in joints]
        total = np.zeros(sum(sizes) + EXTRA, dtype=np.int64)
        rows = _quiet("count the rows", lambda: _tree_sum(frame))
        while (row := _quiet("count the rows", lambda: next(rows, None))) is not None:
            total += np.frombuffer(row["counts"], dtype=np.int64)
        *sums, (refused, known) = np.split(total, np.cumsum(sizes))
        return sums, (int(refused), int(known))

    def close(self) -> None:
        """Forget the coded rows, on every disk, and what was sorted there to choose among a person's."""
        if self._frame is not None:
            frame, self._frame, self.sizes = self._frame, None, None
            with suppress(Exception):  # Spark Connect has no Java of its own; its server forgets when it will
                plan = frame._jdf.queryExecution().withCachedData().cacheBuilder().cachedPlan()
                cleaner = frame.sparkSession.sparkContext._jsc.sc().cleaner().get()
                for shuffle in _shuffles(plan):
                    cleaner.doCleanupShuffle(shuffle, True)
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


def _given(frame: Any, schema: Schema) -> tuple[Any, list[str]]:
    """The columns of a frame that the schema does not leave out, under names that Spark cannot mistake; and their own.

    Columns that are wrong by their name or type are refused here, and warned of, before any row is computed.
    """
    fields = _quiet("describe its table", lambda: list(frame.schema.fields))
    if frame.isStreaming:
        raise DataError("a stream of Spark has no end; save its rows as a table, and give that")
    wanted = [(place, one) for place, one in enumerate(fields) if one.name not in schema.ignore]
    kinds = pa.schema([(one.name, _arrow_type(one)) for _, one in wanted])
    for part in tables.batches(kinds.empty_table(), schema):
        Intake(schema).encode(part)
    # By place: names of Spark may differ in their case alone, or have points and quotes in them.
    bare = _quiet("name its columns", lambda: frame.toDF(*(f"v{place}" for place in range(len(fields)))))
    return bare.select(*(f"v{place}" for place, _ in wanted)), kinds.names


def _arrow_type(field: Any) -> pa.DataType:
    from pyspark.sql.pandas.types import to_arrow_type

    # Newer versions of Spark want to be told a zone; its moments are in UTC whatever it is called.
    zone: dict[str, Any] = {"timezone": "UTC"} if "timezone" in signature(to_arrow_type).parameters else {}
    return quiet(
        f"column {field.name!r} of the Spark table has a type that Arrow does not know; convert it, for example to "
        "text, or put it into 'ignore'",
        lambda: to_arrow_type(field.dataType, **zone),
    )


def _shuffles(plan: Any) -> Iterator[int]:
    """The numbers of the shuffles of a plan of Spark. Their files hold rows, and stay until Spark sees them unused."""
    kind = plan.getClass().getSimpleName()
    if kind == "AdaptiveSparkPlanExec":
        yield from _shuffles(plan.executedPlan())
    elif kind == "ShuffleQueryStageExec":
        yield from _shuffles(plan.plan())
    elif kind == "ShuffleExchangeExec":
        yield plan.shuffleDependency().shuffleId()
    for place in range(plan.children().size()):
        yield from _shuffles(plan.children().apply(place))


def _changed() -> DataError:
    return DataError("the Spark table changed while it was counted; save it first, and give the saved table")


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


def _tree_sum(frame: Any) -> Iterator[Any]:
    """Rows of counts, of which there are few, and which come one at a time."""
    parts = frame.rdd.getNumPartitions()
    while parts > FAN:
        parts = -(-parts // FAN)
        frame = frame.repartition(parts).mapInArrow(added, COUNTS)
    return iter(frame.toLocalIterator())


def _quiet(what: str, call: Callable[[], T]) -> T:
    """What `call` gives; if it fails, our own words instead of Spark's."""
    return quiet(_FAILED.format(what), call)
