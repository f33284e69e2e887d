"""Rows come piece by piece: the same sample whatever the chunk, memory that does not grow, and nothing paid is lost."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato
from sfumato.errors import DataError, MethodError, ReleaseError
from sfumato.release import drawing

SCHEMA = sfumato.Schema.parse(
    {
        "name": "people",
        "columns": [
            {"name": "age", "type": "integer", "min": 0, "max": 99, "bins": 20},
            {"name": "city", "type": "categorical", "categories": ["Rome", "Milan", "Turin"], "nullable": True},
            {"name": "pay", "type": "number", "min": 0, "max": 1000, "bins": 10, "decimals": 2},
        ],
    }
)


def table(rows=2000):
    rng = np.random.default_rng(0)
    age = rng.integers(0, 100, rows)
    city = pa.array(np.where(age < 50, "Rome", "Milan"), mask=rng.random(rows) < 0.1)
    return pa.table({"age": age, "city": city, "pay": np.round(age * 9.9, 2)})


@pytest.fixture(scope="module", params=["privsyn", "pgm", "privbayes", "dpview"])
def release(request):
    return sfumato.fit(table(), SCHEMA, epsilon=3, delta=1e-6, method=request.param)


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(drawing, "PIECE", 700)
    monkeypatch.setattr(drawing, "BLOCK", 128)
    monkeypatch.setattr(drawing, "ENOUGH_ROWS", 500)


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("given", [None, {"city": ["Rome"]}], ids=["all", "given"])
@pytest.mark.parametrize("chunk", [1, 100, 128, 699, 5000])
def test_a_sample_does_not_depend_on_the_chunk(release, chunk, given):
    whole = release.sample_arrow(1000, seed=1, given=given)
    parts = list(release.batches(1000, seed=1, chunk=chunk, given=given))
    assert [len(part) for part in parts[:-1]] == [chunk] * (len(parts) - 1)
    assert pa.concat_tables(parts).equals(whole)
    assert len(whole) == 1000


@settings(max_examples=200)
@given(rows=st.integers(0, 10**5), most=st.integers(100, 10**6))
def test_pieces_are_equal_and_complete(rows, most):
    sizes = drawing._equal_sizes(rows, most)
    assert sum(sizes) == rows
    assert max(sizes) <= max(most, 0) or rows == 0
    assert max(sizes) - min(sizes) <= 1
    assert len(sizes) == max(1, -(-rows // most))


@pytest.mark.usefixtures("small_pieces")
def test_many_pieces_have_the_tables_of_one(release, monkeypatch):
    """Rows of ages below 50 are Rome in every piece: pieces are draws of the same model, not parts of a sorted one."""
    many = release.sample_arrow(6000, seed=3).to_pandas()
    monkeypatch.setattr(drawing, "PIECE", 6000)
    one = release.sample_arrow(6000, seed=3).to_pandas()
    for column in ("age", "city"):
        shares = [frame[column].value_counts(normalize=True, dropna=False) for frame in (many, one)]
        assert abs(shares[0] - shares[1]).max() < 0.04
    assert not many.iloc[:700].equals(many.iloc[700:1400])


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("rows", [0, 1, 1500])
@pytest.mark.parametrize("ending", ["csv", "parquet", "csv.gz"])
def test_a_file_has_the_rows_of_a_sample(release, tmp_path, rows, ending):
    path = tmp_path / f"rows.{ending}"
    release.write(path, rows, seed=4)
    whole = release.sample(rows, seed=4)
    if ending == "parquet":
        assert parquet.read_table(path).equals(whole)
    else:
        assert arrow_csv.read_csv(path).num_rows == rows
        once = tmp_path / f"once.{ending}"
        sfumato.tables.write(release.sample_arrow(rows, seed=4), once, SCHEMA)
        assert once.read_bytes() == path.read_bytes()


def test_memory_does_not_grow_with_the_number_of_rows(monkeypatch, tmp_path):
    """Eight times the rows, the same peak of Python and NumPy, within a tenth; and a piece for each thread."""
    release = sfumato.fit(table(), SCHEMA, epsilon=3, delta=1e-6, method="pgm")
    monkeypatch.setattr(drawing, "PIECE", 1 << 15)
    monkeypatch.setattr(drawing, "BLOCK", 1 << 13)
    peaks = []
    for threads, rows in ((1, 1 << 16), (1, 1 << 16), (1, 1 << 19), (3, 1 << 19)):  # the first is to warm up
        one = replace(release._drawing(rows), threads=threads)
        tracemalloc.start()
        sfumato.tables.write(one.blocks(1), tmp_path / f"{len(peaks)}.parquet", SCHEMA)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] < 1.1 * peaks[1]
    assert peaks[3] < 3.5 * peaks[1]


def test_a_chunk_of_no_rows_is_refused(release):
    with pytest.raises(DataError, match="chunks of 0 rows"):
        release.batches(10, chunk=0)


@pytest.mark.parametrize(
    ("problem", "kind", "words"),
    [
        (MemoryError(), ReleaseError, "memory ended while rows were drawn"),
        (MethodError("no such rows"), MethodError, "no such rows"),
        (KeyboardInterrupt(), KeyboardInterrupt, "interrupted"),
    ],
    ids=["memory", "refusal", "interrupt"],
)
def test_what_was_paid_for_is_not_lost_when_drawing_dies(release, tmp_path, monkeypatch, problem, kind, words):
    def die(*_):
        raise problem

    monkeypatch.setattr(drawing.Drawing, "_decoded", die)
    with pytest.raises(kind, match=words + r".*the release is complete in .* but for its rows") as caught:
        release.save(tmp_path / "out")
    assert caught.value.__cause__ is None
    monkeypatch.undo()
    again = sfumato.Release.load(tmp_path / "out")
    assert again.sample(50, seed=1).equals(release.sample_arrow(50, seed=1))
    assert not list((tmp_path / "out").glob("*synthetic*"))
