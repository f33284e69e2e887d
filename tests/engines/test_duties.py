"""The ten duties of an engine (docs/engines.md), for every engine that runs in this process."""

import gc
import os
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from helpers_engines import NAMES, Places, opened
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import sfumato
from helpers_codings import codings, rows_of
from sfumato.audit.replay import compared
from sfumato.audit.rows import Pair
from sfumato.data.coding import Coding
from sfumato.data.domain import Domain
from sfumato.engines import database, opening, person_buckets, spark
from sfumato.engines.spool import Spool
from sfumato.errors import DataError, MethodError
from sfumato.fitting import open_ledger
from sfumato.intake.intake import Intake
from sfumato.job import Job, recipe_of
from sfumato.privacy.budget import budget_of
from sfumato.privacy.entropy import SystemEntropy
from sfumato.privacy.opening import open_engine, open_local
from sfumato.tables import files, reading

# Words of Spark and of DuckDB to their own developers; neither is about what we ask of them.
pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning"),
]

LABELS = ["Rome", "rome", "Milan ", "", "?"]
SECRET = "Semiramide-4711"


def schema(**more):
    return sfumato.Schema.parse(
        {
            "name": "t",
            "columns": [
                {"name": "age", "type": "integer", "min": 0, "max": 99, "bins": 7},
                {"name": "city", "type": "categorical", "categories": ["Rome", "rome", "Milan "], "nullable": True,
                 "null_values": ["", "?"]},
                {"name": "pay", "type": "number", "min": -5, "max": 5, "bins": 4, "nullable": True},
                {"name": "wed", "type": "boolean", "nullable": True},
                {"name": "born", "type": "date", "min": "1990-01-01", "max": "1999-12-31", "bins": 5},
            ],
            **more,
        }
    )  # fmt: skip


def table(rows, seed=0, **more):
    rng = np.random.default_rng(seed)
    days = np.datetime64("1990-01-01") + rng.integers(0, 3652, rows)
    # Edges of bins, and what lies next to them, are as likely as anything else.
    pay = rng.choice([-5.0, -2.5, np.nextafter(-2.5, -9), 0.0, -0.0, 2.5, np.nextafter(2.5, 9), 5.0, 1.3], rows)
    return pa.table(
        {
            "age": pa.array(rng.integers(0, 100, rows)),
            "city": pa.array(rng.choice(LABELS, rows).tolist(), pa.string(), mask=rng.random(rows) < 0.2),
            "pay": pa.array(pay, mask=rng.random(rows) < 0.2),
            "wed": pa.array(rng.random(rows) < 0.5, mask=rng.random(rows) < 0.2),
            "born": pa.array(days.astype("datetime64[D]"), pa.date32()),
            **more,
        }
    )


@pytest.fixture(scope="module")
def places():
    made = Places()
    yield made
    made.close()


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


def cliques_of(domain, draw):
    some = st.lists(st.sampled_from(list(domain.names)), max_size=3, unique=True).map(tuple)
    return draw(st.lists(some, min_size=1, max_size=5))


ROWS = st.sampled_from([0, 1, 2, 50])
SEEDS, BLOCKS = st.integers(0, 99), st.sampled_from([1, 7, 1000])
FEW = {"deadline": None, "suppress_health_check": [HealthCheck.function_scoped_fixture]}


@pytest.mark.parametrize("name", [one for one in NAMES if one != "spark"])
@settings(max_examples=25, **FEW)
@given(rows=ROWS, seed=SEEDS, block=BLOCKS, data=st.data())
def test_1_counts_are_those_of_the_rows_themselves_cell_by_cell(name, places, rows, seed, block, data):
    check_counts(name, places, rows, seed, block, data)


@pytest.mark.skipif("spark" not in NAMES, reason="make test-engines runs Spark")
@settings(max_examples=2, phases=[Phase.generate], **FEW)
@given(rows=st.sampled_from([0, 50]), seed=SEEDS, data=st.data())
def test_1_counts_of_spark(places, rows, seed, data):
    """Few examples: each is several jobs of a cluster. Its partitions run the kernel that the others try well."""
    check_counts("spark", places, rows, seed, 1000, data)


def check_counts(name, places, rows, seed, block, data):
    rows_of = table(rows, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "ROWS_AT_ONCE", block)
        patch.setattr(files, "ROWS_AT_ONCE", block)
        with opened(name, rows_of, schema(), places) as engine:
            records = Intake(schema()).encode(rows_of).records
            coding = data.draw(codings(engine.domain, most=2))
            cliques = cliques_of(coding.domain, data.draw)
            for clique, counted in zip(cliques, engine.count(coding, cliques), strict=True):
                lookups = [coding.lookup(one) for one in clique]
                codes = [records[s] if to is None else to[records[s]] for s, to in lookups]
                wanted = Counter(zip(*(one.tolist() for one in codes), strict=True)) if clique else {(): rows}
                assert counted.clique == clique
                assert counted.counts.dtype == np.int64
                assert {cell: n for cell, n in np.ndenumerate(counted.counts) if n} == {
                    c: n for c, n in wanted.items() if n
                }


def test_2_answers_have_every_cell_of_the_public_domain(name, places):
    with opened(name, table(3), schema(), places) as engine:
        (pair,) = engine.count(Coding(engine.domain), [("age", "born")])
        assert pair.counts.shape == (7, 5)
        assert (pair.counts == 0).sum() >= 32


@pytest.mark.parametrize("place", [0, 500, 999], ids=["first", "middle", "last"])
def test_3_and_6_a_bad_value_is_refused_before_the_first_charge_in_the_same_words(name, places, place, monkeypatch):
    if name == "spark" and place != 500:
        pytest.skip("one place will do: the rows of Spark have no order")
    monkeypatch.setattr(reading, "ROWS_AT_ONCE", 100)
    rows = table(1000)
    cities = rows["city"].to_pylist()
    cities[place] = SECRET
    bad = rows.set_column(1, "city", pa.array(cities))
    job = Job(schema(), recipe_of("pgm"), budget_of("1", "1e-6"))
    ledger = open_ledger(job)
    with pytest.raises(DataError, match="column 'city'") as caught:
        open_local(places.put(name, bad), schema(), ledger, engine=places.engine(name))
    assert not [event for _, event in ledger.statement().entries if event.cost(ledger.budget.notion) > 0]
    problem = caught.value
    assert SECRET not in str(problem)
    assert str(place) not in str(problem).replace("1000", "")
    assert problem.__context__ is None
    assert problem.__cause__ is None


def test_4_one_coding_for_all_engines(name, places):
    """Edges, one below and one above; labels that differ in case, blanks or tokens; missing values of every kind."""
    rows = pa.table(
        {
            "age": [0, 13, 14, 15, 28, 29, 98, 99],
            "city": ["Rome", "rome", "Milan ", "", "?", None, "Rome", "Rome"],
            "pay": [-5.0, np.nextafter(-2.5, -9), -2.5, 0.0, -0.0, np.nextafter(0.0, -1), 5.0, None],
            "wed": [True, False, None, True, True, False, None, True],
            "born": pa.array(np.array(["1990-01-01", "1999-12-31", *["1992-01-01"] * 3, *["1991-12-31"] * 3], "M8[D]")),
        }
    )
    records = Intake(schema()).encode(rows).records
    with opened(name, rows, schema(), places) as engine:
        cliques = [(one,) for one in engine.domain]
        for counted in engine.count(Coding(engine.domain), cliques):
            (column,) = counted.clique
            wanted = np.bincount(records[column], minlength=engine.domain[column])
            assert counted.counts.tolist() == wanted.tolist(), column


def test_5_all_questions_are_about_one_table(name, places):
    """What is asked twice is answered alike, and tables asked at different times agree."""
    with opened(name, table(400), schema(), places) as engine:
        coding = Coding(engine.domain)
        (first,), (again,) = ([*engine.count(coding, [("age", "city")])] for _ in range(2))
        (alone,) = engine.count(coding, [("age",)])
        assert np.array_equal(first.counts, again.counts)
        assert np.array_equal(first.counts.sum(axis=1), alone.counts)


@pytest.mark.parametrize("seeks", [False, True], ids=["pread", "where there is no pread"])
def test_5_rows_on_disk_are_read_from_any_place_on_any_system(seeks, monkeypatch):
    if seeks:
        monkeypatch.delattr(os, "pread")
    records = rows_of(Domain({"a": 3, "b": 300, "c": 70_000}), 5000)
    blocks = [records.take(np.arange(start, start + 1000)) for start in range(0, 5000, 1000)]
    spool = Spool(records.domain, ((block, 1) for block in blocks))
    for clique in (("c",), ("a", "b"), ("b",), ("c", "a")):
        (found,) = spool.count(Coding(records.domain), [clique])
        assert np.array_equal(found.counts, records.project(clique).counts)
    spool.close()


def test_7_and_9_nothing_is_left_behind_and_closed_rows_cannot_be_asked(name, places, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with opened(name, table(1000), schema(), places) as engine:
        assert list(tmp_path.iterdir()) == []  # private from the first moment: it never had a name
        (before,) = engine.count(Coding(engine.domain), [()])
        assert before.counts == 1000
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(DataError, match="closed"):
        list(engine.count(Coding(engine.domain), [()]))


def test_7_an_interrupt_while_rows_come_in_leaves_nothing(name, places, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(reading, "ROWS_AT_ONCE", 10)
    calls = []

    def interrupted(self, batch, encode=Intake.encode):
        calls.append(len(batch))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return encode(self, batch)

    source = places.put(name, table(100))
    if name == "spark":  # rows come in where they are, so the interrupt is heard here, while they are checked
        context = places.spark().sparkContext._jsc
        kept = context.getPersistentRDDs().size()
        monkeypatch.setattr(spark.Spark, "_sums", interrupted_at_once)
        with pytest.raises(KeyboardInterrupt):
            open_engine(source, schema(), SystemEntropy())
        assert context.getPersistentRDDs().size() == kept
        return
    before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0
    monkeypatch.setattr(Intake, "encode", interrupted)
    monkeypatch.setattr(database.Database, "_ask", interrupted_at_once)
    with pytest.raises(KeyboardInterrupt):
        open_engine(source, schema(), SystemEntropy(), places.engine(name))
    gc.collect()
    assert list(tmp_path.iterdir()) == []
    if before:
        assert len(os.listdir("/proc/self/fd")) <= before


def interrupted_at_once(*_):
    raise KeyboardInterrupt


def test_8_an_engine_has_no_pickle_and_does_not_print_rows(name, places):
    with opened(name, table(321), schema(), places) as engine:
        assert "321" not in repr(engine)


@pytest.mark.parametrize(
    "keep", [{}, {"keep": "first", "order_by": "born"}, {"keep": "latest", "order_by": "born"}], ids=str
)
@pytest.mark.parametrize("most", [1, 3])
def test_persons_keep_at_most_their_rows(name, places, keep, most, monkeypatch):
    if name == "spark" and (most == 1) != (keep.get("keep") == "first"):
        pytest.skip("the first row of each person, and three by chance or the latest, will do for Spark")
    monkeypatch.setattr(reading, "ROWS_AT_ONCE", 50)
    monkeypatch.setattr(person_buckets, "BUCKETS", 5)
    rng = np.random.default_rng(0)
    persons = [f"p{number}" for number in rng.integers(0, 120, 600)]
    one = schema(unit={"rows": most, "column": "person", **keep})
    rows = table(600, person=persons)
    wanted = Counter(min(most, n) for n in Counter(persons).values())
    with opened(name, rows, one, places) as engine:
        (counted,) = engine.count(Coding(engine.domain), [()])
        (born,) = engine.count(Coding(engine.domain), [("born",)])
        assert Counter(engine.sizes.tolist()) == Counter(Counter(persons).values())
    assert counted.counts == sum(n * times for n, times in wanted.items())
    if keep and most == 1:  # the choice is fixed, up to ties inside a bin
        codes = Intake(one).encode(rows).records["born"].tolist()
        pick = min if keep["keep"] == "first" else max
        of_person = {p: pick(c for q, c in zip(persons, codes, strict=True) if q == p) for p in set(persons)}
        assert born.counts.tolist() == np.bincount(list(of_person.values()), minlength=5).tolist()


def test_persons_count_once_whatever_rows_they_have(name, places, monkeypatch):
    """Each person has `parts` parts, shared evenly by its rows that are kept; the engine knows how many rows it had."""
    monkeypatch.setattr(reading, "ROWS_AT_ONCE", 50)
    monkeypatch.setattr(person_buckets, "BUCKETS", 5)
    rng = np.random.default_rng(1)
    persons = [f"p{number}" for number in rng.integers(0, 120, 400)]
    one = schema(unit={"rows": 4, "column": "person", "count": "persons"})
    # All rows of a person are alike, so it does not matter which of them are kept.
    first = {person: place for place, person in reversed(list(enumerate(persons)))}
    rows = table(400).take([first[person] for person in persons]).append_column("person", pa.array(persons))
    records = Intake(one).encode(rows).records
    wanted = np.zeros((7, 5), dtype=np.int64)
    for person, place in first.items():
        share = min(4, persons.count(person))
        wanted[records["age"][place], records["born"][place]] += share * (one.unit.parts // share)
    with opened(name, rows, one, places) as engine:
        total, pair = engine.count(Coding(engine.domain), [(), ("age", "born")])
        assert total.counts == len(first) * one.unit.parts
        assert np.array_equal(pair.counts, wanted)
        assert Counter(engine.sizes.tolist()) == Counter(Counter(persons).values())
    assert engine.sizes is None


@pytest.mark.parametrize("count", ["rows", "persons"])
def test_neighbours_that_differ_by_a_whole_person_are_answered_as_charged_for(name, places, count, monkeypatch):
    """A replay: with the noisy answers of one run, the other asks and pays the same, and no answer moves too far."""
    monkeypatch.setattr(person_buckets, "BUCKETS", 5)
    one = schema(unit={"rows": 3, "column": "person", "count": count})
    job = Job(one, recipe_of("dpview"), budget_of("1", None))
    others = table(60, person=[f"p{number // 3}" for number in range(60)])
    many = table(50, seed=1, person=["newcomer"] * 50)
    pair = Pair("a person with 50 rows", others, pa.concat_tables([others, many]))
    problems, tape, statement = compared(
        job, pair, lambda rows: open_engine(places.put(name, rows), one, SystemEntropy(), places.engine(name))
    )
    assert problems == []
    assert 1 / 3 <= tape.reached <= 1
    assert "persons by their number of rows" in [event.question for _, event in statement.entries]


def test_10_counts_are_wide():
    """More rows than 2^32 cannot be made here; one block counted into a total that is that large can."""
    from sfumato import kernels

    total = np.full(2, (1 << 32) - 1, dtype=np.int64)
    kernels.count([np.array([0, 1, 1], dtype=np.uint8)], [2], None, total)
    assert total.tolist() == [1 << 32, (1 << 32) + 1]


class TestAuto:
    """Memory for small tables, the spool for large ones; the counts are the same."""

    def test_the_spool_takes_over_above_a_size(self, monkeypatch):
        assert "Memory" in repr(open_engine(table(100), schema(), SystemEntropy()))
        monkeypatch.setattr(opening, "SPOOL_ABOVE", 300)
        monkeypatch.setattr(reading, "ROWS_AT_ONCE", 40)
        large = open_engine(table(100), schema(), SystemEntropy())
        assert "Spool" in repr(large)
        (counted,) = large.count(Coding(large.domain), [()])
        assert counted.counts == 100

    def test_an_unknown_engine_is_refused(self):
        with pytest.raises(MethodError, match="engine 'gpu' is unknown; known ones are auto, memory, spool, sql"):
            open_engine(table(1), schema(), SystemEntropy(), "gpu")


class TestLimits:
    """What the machine lacks is said in plain words, and nothing of the rows with it."""

    def test_out_of_memory_is_no_damaged_file(self, tmp_path, monkeypatch):
        import pyarrow.parquet as parquet

        parquet.write_table(table(10), tmp_path / "t.parquet")

        def no_memory(*_, **__):
            raise pa.ArrowMemoryError("malloc of size 4711 failed")

        monkeypatch.setattr(parquet.ParquetFile, "iter_batches", no_memory)
        with pytest.raises(DataError, match=r"memory ended while the table was read; .* bytes a row") as caught:
            open_engine(str(tmp_path / "t.parquet"), schema(), SystemEntropy())
        assert "damaged" not in str(caught.value)
        assert "4711" not in str(caught.value)

    def test_a_full_disk_says_what_a_row_needs(self, monkeypatch):
        import errno

        from sfumato.engines import spool

        class Full:
            def write(self, content):
                raise OSError(errno.ENOSPC, "No space left on device")

            def close(self):
                pass

        monkeypatch.setattr(spool, "private_file", Full)
        with pytest.raises(DataError, match=r"No space left on device.* needs 5 bytes for each row"):
            open_engine(table(10), schema(), SystemEntropy(), "spool")
