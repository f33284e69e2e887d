import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.domain import Domain
from sfumato.data.records import Records
from sfumato.errors import MethodError
from sfumato.evaluate.copies import Copied, copied, copies
from sfumato.evaluate.keys import joint_keys

NAMES = tuple(f"c{i}" for i in range(70))
WIDE = Domain(dict.fromkeys(NAMES, 251))  # 251^70 cells


def wide(rows):
    """The same few digits repeated over many columns, so rows may equal each other."""
    digits = np.array(rows, dtype=np.int64).reshape(-1, 2)
    return Records(WIDE, [digits[:, i % 2] * (i + 1) % 251 for i in range(70)])


def test_copies_by_hand():
    domain = Domain({"a": 3, "b": 3})
    real = Records(domain, [np.array([0, 0, 1, 2]), np.array([0, 0, 1, 2])])
    rows = Records(domain, [np.array([0, 0, 0, 1, 2]), np.array([0, 0, 0, 2, 2])])
    # Rows 00 (three times) and 22 are copies, 12 is not: 4 of 5 rows, 2 of 3 distinct ones.
    assert copied(rows, real) == Copied(pytest.approx(0.8), pytest.approx(2 / 3))
    assert copied(real, real) == Copied(1.0, 1.0)
    assert copied(rows.take(np.array([], dtype=int)), real) == Copied(0.0, 0.0)


@given(*[st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=20)] * 2)
def test_wide_rows_are_the_same_just_if_all_their_codes_are(one, two):
    rows, source = wide(one), wide(two)
    keys = np.concatenate(joint_keys((rows, source), NAMES))
    both = one + two
    for i in range(len(both)):
        for j in range(i):
            assert (keys[i] == keys[j]) == (both[i] == both[j])
    assert copied(rows, source).rows == pytest.approx(np.mean([row in two for row in one]))
    assert copied(rows, source).distinct == pytest.approx(len(set(one) & set(two)) / len(set(one)))


def test_a_copying_machine_is_told_from_a_second_sample():
    rng = np.random.default_rng(1)
    domain = Domain({"a": 40, "b": 40})
    real, second = (Records(domain, list(rng.integers(0, 40, (2, 1000)))) for _ in range(2))
    honest, machine = copies(real, second), copies(real, real)
    assert honest.half.rows == pytest.approx(honest.expected.rows, abs=0.08)
    assert honest.half.distinct == pytest.approx(honest.expected.distinct, abs=0.08)
    assert machine.whole == Copied(1.0, 1.0)
    assert machine.half.rows > machine.expected.rows + 0.2
    assert machine.expected == honest.expected


def test_tables_without_rows_are_refused():
    domain = Domain({"a": 2})
    none, some = (Records(domain, [np.zeros(rows, int)]) for rows in (0, 2))
    for real, synthetic in ((none, some), (some, none)):
        with pytest.raises(MethodError, match="give larger tables"):
            copies(real, synthetic)
