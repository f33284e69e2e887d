import json

import numpy as np
import pytest

from sfumato.data.coding import Coding, Merge
from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal, Measurement
from sfumato.data.recoding import Merging, Recoding
from sfumato.data.records import Records, coded
from sfumato.errors import SchemaError

FINE = Domain({"x": 5, "y": 3})
RECODING = Recoding(FINE, (Merging(np.array([0, 1, 1, 0, 2]), np.array([3.0, 1, 4, 0, 1])), Merging.identity(3)))
CODING = Coding(FINE).then(RECODING.step)


def test_a_holder_is_told_what_is_merged_and_nothing_else():
    assert RECODING.step == Merge((("x", (0, 1, 1, 0, 2)),))
    assert CODING.domain == RECODING.domain == Domain({"x": 3, "y": 3})
    assert Recoding.identity(FINE).step == Merge(())


def test_merged_codes_are_split_by_their_weights():
    rng = np.random.default_rng(0)
    coarse = Records(RECODING.domain, [rng.integers(0, 3, 60_000), rng.integers(0, 3, 60_000)])
    fine = RECODING.decode(coarse, rng)
    assert np.array_equal(coded(fine, CODING)["x"], coarse["x"])
    assert np.array_equal(fine["y"], coarse["y"])
    counts = np.bincount(fine["x"], minlength=5) / 20_000
    assert counts == pytest.approx([1.0, 0.2, 0.8, 0.0, 1.0], abs=0.03)


def test_a_measurement_is_merged_by_summing():
    table = Marginal(FINE, np.arange(15).reshape(5, 3))
    merged = RECODING.merge(Measurement(table, 2.0, Coding(FINE), event=7))
    assert (merged.variance, merged.coding, merged.event) == (2.0, CODING, 7)
    assert merged.marginal.counts.tolist() == [[9, 11, 13], [9, 11, 13], [12, 13, 14]]
    rng = np.random.default_rng(1)
    records = Records(FINE, [rng.integers(0, 5, 500), rng.integers(0, 3, 500)])
    exact = RECODING.merge(Measurement(records.project(("y", "x")), 1.0)).marginal.counts
    assert np.array_equal(exact, coded(records, CODING).project(("y", "x")).counts)


def test_a_merged_cell_may_hold_rows_if_one_of_its_parts_may():
    allowed = np.array([[1, 1, 0], [0, 1, 0], [0, 0, 0], [1, 0, 0], [1, 1, 1]], dtype=np.bool_)
    table = Measurement(Marginal(FINE, np.ones((5, 3), dtype=np.int64)), 2.0, Coding(FINE)).knowing(allowed)
    merged = RECODING.merge(table)
    assert merged.allowed.tolist() == [[True, True, False], [False, True, False], [True, True, True]]
    assert merged.marginal.counts.tolist() == [[2, 1, 0], [0, 1, 0], [1, 1, 1]]


def test_a_coarser_version_of_merged_codes_is_that_of_their_heaviest_parts():
    # Code 0 of x stands for 0 (weight 3) and 3 (nothing), code 1 for 1 (weight 1) and 2 (weight 4), code 2 for 4.
    assert RECODING.coarsen("x", np.array([0, 0, 1, 1, 1])).tolist() == [0, 1, 1]
    assert RECODING.coarsen("x", np.array([2, 5, 2, 5, 7])).tolist() == [0, 0, 1]  # without a gap
    assert RECODING.coarsen("y", np.array([0, 1, 1])).tolist() == [0, 1, 1]


def test_recodings_survive_json():
    again = Recoding.from_dict(FINE, json.loads(json.dumps(RECODING.to_dict())))
    assert list(RECODING.to_dict()) == ["x"]  # columns without merged codes are not written
    assert again.domain == RECODING.domain
    assert again.mergings[0].weight.tolist() == RECODING.mergings[0].weight.tolist()


def test_broken_mergings_are_refused():
    with pytest.raises(SchemaError, match="without a gap"):
        Merging(np.array([0, 2]), np.ones(2))
    with pytest.raises(SchemaError, match="whole numbers, with finite weights"):
        Merging(np.array([0.0, 1.0]), np.ones(2))
    with pytest.raises(SchemaError, match="whole numbers, with finite weights"):
        Merging(np.array([0, 1]), np.array([1.0, np.inf]))
    with pytest.raises(SchemaError, match="some weight"):
        Merging(np.array([0, 0]), np.zeros(2))
    with pytest.raises(SchemaError, match="some weight"):
        Merging(np.array([0, 0]), np.array([2.0, -1.0]))
    with pytest.raises(SchemaError, match="column 'x' has 5 codes"):
        Recoding.from_dict(FINE, {"x": {"to": [0, 0], "weight": [1, 1]}})
