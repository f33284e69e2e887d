"""Spark as a hostile source: types, names, schemas that lie, code that raises, rows that change, workers that die."""

import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from helpers_engines import NAMES, Places

import sfumato
from sfumato.data.coding import Coding
from sfumato.data.domain import Domain
from sfumato.data.records import Records
from sfumato.engines.spark_workers import fingerprint
from sfumato.errors import DataError, IntakeWarning
from sfumato.fitting import open_ledger
from sfumato.job import Job, recipe_of
from sfumato.privacy.budget import budget_of
from sfumato.privacy.entropy import SystemEntropy
from sfumato.privacy.opening import open_engine, open_local

pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning"),
]
real_spark = pytest.mark.skipif("spark" not in NAMES, reason="make test-engines runs Spark")

SECRET = "Semiramide-4711"
AGE = {"name": "age", "type": "integer", "min": 0, "max": 99, "bins": 10}
FREE = {"nullable": True, "on_bad_value": "missing"}


def schema_of(*columns, **more):
    return sfumato.Schema.parse({"name": "t", "columns": list(columns or [AGE]), **more})


@pytest.fixture(scope="module")
def places():
    made = Places()
    yield made
    made.close()


@pytest.fixture
def spark(places):
    """A session that has no more kept rows and no more jobs after a test than before."""
    session = places.spark()
    session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")  # must not matter
    kept = session.sparkContext._jsc.getPersistentRDDs().size()
    yield session
    assert session.sparkContext._jsc.getPersistentRDDs().size() == kept
    for _ in range(100):  # a job that was cancelled ends a little later
        if not session.sparkContext.statusTracker().getActiveJobsIds():
            break
        time.sleep(0.1)
    assert list(session.sparkContext.statusTracker().getActiveJobsIds()) == []


def counts_of(data, schema):
    """The counts of every column by itself."""
    engine = open_engine(data, schema, SystemEntropy())
    try:
        return [one.counts.tolist() for one in engine.count(Coding(engine.domain), [(one,) for one in engine.domain])]
    finally:
        engine.close()


def refused(data, schema, match):
    """The words of a refusal before the first charge, which hold no value and no exception that has."""
    ledger = open_ledger(Job(schema, recipe_of("pgm"), budget_of("1", "1e-6")))
    with pytest.raises(DataError, match=match) as caught:
        open_local(data, schema, ledger)
    assert not [event for _, event in ledger.statement().entries if event.cost(ledger.budget.notion) > 0]
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    assert SECRET not in str(caught.value)
    return str(caught.value)


def test_a_fingerprint_tells_rows_from_others_in_any_order():
    domain = Domain({"a": 300, "b": 3, "c": 70_000})
    rng = np.random.default_rng(0)
    codes = [rng.integers(0, size, 500) for size in domain.shape]
    first, order = fingerprint(Records(domain, codes)), rng.permutation(500)
    assert fingerprint(Records(domain, [one[order] for one in codes])) == first
    assert fingerprint(Records(domain, [codes[0], codes[1][order], codes[2]])) != first
    seen = {int(fingerprint(Records(domain, [np.array([a]), np.array([b]), np.array([c])])))
            for a in range(0, 300, 30) for b in range(3) for c in range(0, 70_000, 7000)}  # fmt: skip
    assert len(seen) == 10 * 3 * 10


# --------------------------------------------------------------------------------------------------- values and types

MOMENT = {"name": "x", "type": "datetime", "min": "2019-12-31T00:00:00", "max": "2020-01-02T00:00:00",
          "granularity": "hour"}  # fmt: skip
NUMBER = {"name": "x", "type": "number", "min": 0, "max": 4, "bins": 4}
LABEL = {"name": "x", "type": "categorical", "categories": ["1", "2.5", "true"]}
TYPED = [
    (NUMBER, "double('nan'), double('inf'), double('-inf'), 1.5D, -0.0D, null",
     pa.array([float("nan"), float("inf"), float("-inf"), 1.5, -0.0, None])),
    (NUMBER, "1.5BD, 2.000000000000000000000000001BD, 99999999999999999999999999BD, null",
     pa.array(["1.5", "2.000000000000000000000000001", "99999999999999999999999999", None])),
    (NUMBER, "'1.5', ' 2 ', '1e999', 'x', '', '\u0661', null",
     pa.array(["1.5", " 2 ", "1e999", "x", "", "\u0661", None])),
    (LABEL, "cast(1 as decimal(9,4)), 2.5BD, null", pa.array(["1", "2.5", None])),
    (MOMENT, "timestamp'2020-01-01 00:30:00+00:00', timestamp'2020-01-01 00:30:00+09:00', timestamp'0001-01-01', null",
     pa.array(["2020-01-01T00:30:00", "2019-12-31T15:30:00", "0001-01-01T00:00:00", None])),
    (MOMENT, "timestamp_ntz'2020-01-01 00:30:00', timestamp_ntz'2020-01-01 11:59:59.999999', null",
     pa.array(["2020-01-01T00:30:00", "2020-01-01T11:59:59", None])),
    (MOMENT, "date'2020-01-01', date'9999-12-31', null", pa.array(["2020-01-01", "9999-12-31", None])),
]  # fmt: skip
STRANGE = ["named_struct('age', 1)", "array(1, 2)", "map('age', 1)", "cast('1' as binary)", "interval '1' day",
           "array(named_struct('a', map(1, array(2))))"]  # fmt: skip


@real_spark
def test_values_of_every_type_count_as_the_same_values_in_memory(spark):
    most = max(len(same) for _, _, same in TYPED)
    expressions = [f"array({values})[id] as x{place}" for place, (_, values, _) in enumerate(TYPED)]
    spark.conf.set("spark.sql.ansi.enabled", "false")  # beyond the end of an array is a null
    try:
        frame = spark.range(0, most, 1, 2).selectExpr(*expressions)
        same = [values.to_pylist() + [None] * (most - len(values)) for _, _, values in TYPED]
        table = pa.table([pa.array(one) for one in same], names=[f"x{place}" for place in range(len(TYPED))])
        schema = schema_of(*(column | FREE | {"name": f"x{place}"} for place, (column, _, _) in enumerate(TYPED)))
        for place, (one, other) in enumerate(zip(counts_of(frame, schema), counts_of(table, schema), strict=True)):
            assert one == other, place
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")


@real_spark
def test_nested_types_are_bad_values_one_by_one_or_a_refusal_and_warned_of_here(spark):
    frame = spark.range(4).selectExpr(*(f"if(id = 0, null, {one}) as x{place}" for place, one in enumerate(STRANGE)))
    columns = [AGE | {"name": f"x{place}"} for place in range(len(STRANGE))]
    with pytest.warns(IntakeWarning, match="no value of x0"):
        assert counts_of(frame, schema_of(*(one | FREE for one in columns))) == [[0] * 10 + [4]] * len(STRANGE)
    refused(frame.select("x0"), schema_of(columns[0]), "column 'x0'")


@real_spark
def test_a_type_that_arrow_does_not_know_is_refused_by_its_column_unless_it_is_left_out(spark):
    frame = spark.sql("select 5L as age, interval '1' month as odd")
    refused(frame, schema_of(AGE, AGE | {"name": "odd"}), "column 'odd' of the Spark table has a type that Arrow")
    assert counts_of(frame, schema_of(ignore=["odd"])) == [[1] + [0] * 9]


# ------------------------------------------------------------------------------------------------------ names, schema


@real_spark
def test_names_that_spark_mistakes_are_columns_like_others(spark):
    odd = ["age", "AGE", "a.b", "c`d", "e e", "v0", "c0", "refusal"]
    frame = spark.range(3).toDF("age").selectExpr("age", *["age + 10 * 1" for _ in odd[1:]]).toDF(*odd)
    found = counts_of(frame, schema_of(AGE, *({**AGE, "name": name} for name in odd[1:])))
    assert found == [[3] + [0] * 9] + [[0, 3] + [0] * 8] * (len(odd) - 1)


@real_spark
def test_columns_of_one_name_are_refused_by_it(spark):
    refused(spark.sql("select 1L as age, 2L as age"), schema_of(), "several columns named|twice|age")
    refused(spark.sql("select 1L as age, 2L as AGE"), schema_of(), "AGE, which the schema does not declare")
    refused(spark.sql("select 1L as old"), schema_of(), "lacks the columns age")


@real_spark
def test_a_stream_is_refused(spark):
    refused(spark.readStream.format("rate").load(), schema_of(), "a stream of Spark has no end")


@real_spark
def test_a_schema_that_lies_is_an_error_without_values_or_a_null(spark, tmp_path):
    import pyarrow.parquet as parquet

    parquet.write_table(pa.table({"age": [SECRET] * 3}), tmp_path / "lie.parquet")
    frame = spark.read.schema("age bigint").parquet(str(tmp_path / "lie.parquet"))
    refused(frame, schema_of(), "Spark could not")
    (tmp_path / "lie.csv").write_text(f"5\n{SECRET}\n7\n")
    frame = spark.read.schema("age bigint").csv(str(tmp_path / "lie.csv"))
    assert counts_of(frame, schema_of(AGE | FREE)) == [[2] + [0] * 9 + [1]]
    refused(frame, schema_of(), "column 'age': a value is missing")
    lying = spark.createDataFrame([(5,), (SECRET,)], "age bigint", verifySchema=False)
    assert counts_of(lying, schema_of(AGE | FREE)) == [[1] + [0] * 9 + [1]]


# ---------------------------------------------------------------------------------------------- code that is not ours


def ages(spark, work, rows=40):
    """A table whose ages a function of Python computes in the workers; Spark may not take it for a constant."""
    from pyspark.sql.functions import udf

    return spark.range(0, rows, 1, 4).select(udf(work, "bigint").asNondeterministic()("id").alias("age"))


@real_spark
def test_what_a_function_raises_with_a_value_in_it_is_not_repeated(spark):
    def fails(number):
        if number == 33:
            raise ValueError(f"{SECRET} cannot be read")
        return number

    refused(ages(spark, fails), schema_of(), "^Spark could not count the rows; its own log says why")


@real_spark
def test_a_worker_that_dies_is_an_error_that_leaves_nothing(spark):
    def dies(number):
        import os

        if number == 33:
            os._exit(1)
        return number

    refused(ages(spark, dies), schema_of(), "^Spark could not count the rows")


@real_spark
@pytest.mark.parametrize("persons", [False, True])
def test_a_table_that_is_another_one_each_time_is_counted_as_it_was_first(spark, persons):
    def random_age(number):
        import random

        return random.SystemRandom().randrange(100)

    schema, frame = schema_of(), ages(spark, random_age, 400)
    if persons:
        schema = schema_of(unit={"column": "who", "rows": 3})
        frame = frame.selectExpr("age", "cast(age % 7 as string) as who")
    engine = open_engine(frame, schema, SystemEntropy())
    coding = Coding(engine.domain)
    (first,), (again,) = ([*engine.count(coding, [("age",)])] for _ in range(2))
    assert first.counts.tolist() == again.counts.tolist()
    assert first.counts.sum() == (21 if persons else 400)
    # The kept rows are lost, as with a worker: Spark computes them anew, and they are others. As many, but not those.
    engine._frame.unpersist(blocking=True)
    with pytest.raises(DataError, match="changed while it was counted"):
        list(engine.count(coding, [("age",)]))
    engine.close()


@real_spark
def test_an_interrupt_ends_the_jobs_and_leaves_nothing(spark):
    def slow(number):
        import time

        time.sleep(30)
        return number

    tracker = spark.sparkContext.statusTracker()

    def interrupt():
        while not tracker.getActiveJobsIds():
            time.sleep(0.05)
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        open_engine(ages(spark, slow), schema_of(), SystemEntropy())
    assert time.monotonic() - begun < 25


@real_spark
def test_nothing_of_the_rows_lies_on_disk_after_the_end(spark, places):
    """Coded rows are kept on disk, and persons are sorted there: both are gone when the engine is closed."""
    folder = places.folder / "spark"

    def files():
        return {one for one in Path(folder).rglob("*") if one.is_file() and one.name.startswith(("rdd_", "shuffle_"))}

    def shuffles():
        return {int(one.name.split("_")[1]) for one in files() - before if one.name.startswith("shuffle_")}

    before = files()
    frame = spark.range(0, 1000, 1, 4).selectExpr("id % 100 as age", "cast(id % 50 as string) as who")
    engine = open_engine(frame, schema_of(unit={"column": "who", "rows": 3}), SystemEntropy())
    assert any(one.name.startswith("rdd_") for one in files() - before)
    list(engine.count(Coding(engine.domain), [("age",)]))
    persons = min(shuffles())  # the first that the engine made; what comes later moves counts alone
    engine.close()
    assert persons not in shuffles()
    assert not [one for one in files() - before if one.name.startswith("rdd_")]


@real_spark
def test_settings_of_the_session_do_not_matter(spark):
    frame = spark.range(0, 100, 1, 3).selectExpr("id as age", "concat('p', id % 10) as who")
    schema = schema_of(unit={"column": "who", "rows": 2, "keep": "first", "order_by": "age"})
    wanted = counts_of(frame, schema)
    settings = {"spark.sql.caseSensitive": "true", "spark.sql.execution.arrow.maxRecordsPerBatch": "3",
                "spark.sql.execution.arrow.useLargeVarTypes": "true", "spark.sql.ansi.enabled": "false",
                "spark.sql.adaptive.enabled": "true"}  # fmt: skip
    old = {key: spark.conf.get(key) for key in settings}
    try:
        for key, value in settings.items():
            spark.conf.set(key, value)
        assert counts_of(frame, schema) == wanted
    finally:
        for key, value in old.items():
            spark.conf.set(key, value)
