"""Levels of columns, and networks as JSON."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.domain import Domain
from sfumato.data.levels import Level, Leveled, halvings, levels_of
from sfumato.data.records import Records
from sfumato.data.selection import Family, Network, Selection
from sfumato.errors import SchemaError


@given(st.integers(1, 100))
def test_halvings_merge_neighbours_and_nest(size):
    maps = halvings(Domain({"age": size}), ["age"]).get("age", [])
    assert (size >= 3) == bool(maps)
    fine = list(range(size))
    for coarse in maps:
        assert max(coarse) + 1 == -(-(max(fine) + 1) // 2)
        assert coarse == [code // 2 for code in fine]
        fine = coarse


def test_levels_are_further_columns():
    domain = Domain({"age": 5, "sex": 2})
    leveled = Leveled(domain, levels_of(halvings(domain, ["age"])))
    records = Records(domain, [np.arange(5), np.array([0, 1, 0, 1, 0])])
    seen = leveled.encode(records)
    assert seen.domain == Domain({"age": 5, "sex": 2, "age in 3": 3, "age in 2": 2})
    assert seen["age in 3"].tolist() == [0, 0, 1, 1, 2]
    assert seen["age"].tolist() == list(range(5))


def test_levels_that_do_not_fit_are_refused():
    with pytest.raises(SchemaError, match="without a gap"):
        Level("coarse", "age", (0, 2))
    with pytest.raises(SchemaError, match="speaks of 3 codes"):
        Leveled(Domain({"age": 5}), (Level("coarse", "age", (0, 0, 1)),))


def test_a_network_survives_json():
    network = Network((Family("age", ()), Family("sex", ("age in 2",))), (Level("age in 2", "age", (0, 0, 1)),))
    selection = Selection((("sex", "age in 2"),), network, (1.0,))
    assert Selection.from_dict(json.loads(json.dumps(selection.to_dict()))) == selection
