"""Text that comes as dictionaries has the codes of its values, and a value that no row has is nobody's."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato
from sfumato import tables
from sfumato.errors import DataError
from sfumato.intake.intake import Intake
from sfumato.schema.bins import TickBins

COLUMNS = [
    {"name": "city", "type": "categorical", "categories": ["Rome", "rome", "Milan "], "nullable": True,
     "null_values": ["", "?"]},
    {"name": "age", "type": "integer", "min": 0, "max": 9, "bins": 3, "nullable": True, "null_values": ["?"]},
]  # fmt: skip
SCHEMA = sfumato.Schema.parse({"name": "t", "columns": COLUMNS})
CITIES, AGES = ["Rome", "rome", "Milan ", "", "?", None], ["0", " 3", "9", "?", "+4", "5.0", None]


@given(cities=st.lists(st.sampled_from(CITIES), max_size=20), seed=st.integers(0, 9), parts=st.integers(1, 3))
def test_dictionaries_have_the_codes_of_their_values(cities, seed, parts):
    ages = np.random.default_rng(seed).choice(np.array(AGES, dtype=object), len(cities)).tolist()
    plain = {"city": pa.array(cities, pa.string()), "age": pa.array(ages, pa.string())}
    size = -(-max(len(cities), 1) // parts)
    chunked = {
        name: pa.chunked_array(
            [values[start : start + size].dictionary_encode() for start in range(0, max(len(cities), 1), size)]
        )
        for name, values in plain.items()
    }
    intake = Intake(SCHEMA)
    wanted, found = (intake.encode(pa.table(one)).records for one in (plain, chunked))
    assert [column.tolist() for column in found.columns] == [column.tolist() for column in wanted.columns]


def test_only_values_that_rows_have_are_refused():
    words = pa.array(["Rome", "Atlantis", "Milan "])
    good = pa.DictionaryArray.from_arrays(pa.array([0, 2, 2, None], pa.int32()), words)
    bad = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 2], pa.int32()), words)
    ages = pa.array(["1"] * 4)
    assert Intake(SCHEMA).encode(pa.table({"city": good, "age": ages})).records["city"].tolist() == [0, 2, 2, 3]
    with pytest.raises(DataError, match="column 'city'") as caught:
        Intake(SCHEMA).encode(pa.table({"city": bad, "age": ages}))
    assert "Atlantis" not in str(caught.value)


def test_text_of_parquet_comes_as_dictionaries_and_identifiers_do_not(tmp_path):
    table = pa.table({"city": ["Rome", None], "age": ["1", "2"], "person": ["a", "b"]})
    parquet.write_table(table, tmp_path / "t.parquet")
    schema = sfumato.Schema.parse({"name": "t", "unit": {"rows": 1, "column": "person"}, "columns": COLUMNS})
    _, part = tables.batches(tmp_path / "t.parquet", schema)
    kinds = {field.name: pa.types.is_dictionary(field.type) for field in part.schema}
    assert kinds == {"city": True, "age": True, "person": False}


@given(starts=st.lists(st.integers(-50, 50), min_size=2, max_size=9, unique=True), far=st.booleans())
def test_ticks_that_are_listed_have_the_bins_of_those_that_are_searched(starts, far):
    bins = TickBins(np.array([*sorted(starts), *([10**9] if far else [])], dtype=np.int64))
    ticks = np.arange(min(starts), max(starts))
    assert bins.code(ticks).tolist() == (np.searchsorted(bins.starts, ticks, side="right") - 1).tolist()
