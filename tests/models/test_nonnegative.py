import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from sfumato.models.nonnegative import norm_sub

values = arrays(np.float64, st.integers(1, 40), elements=st.floats(-100, 100, width=32))


@given(values, st.floats(0.01, 500))
def test_it_is_the_projection_on_the_simplex(table, total):
    found = norm_sub(table, total)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(total)
    # Optimality: one common shift for all positive cells, and no cell set to zero would be positive after it.
    shift = (table - found)[found > 0]
    assert np.ptp(shift) < 1e-6
    assert (table[found == 0] <= shift.max() + 1e-6).all()


def test_a_solver_finds_nothing_nearer():
    table = np.array([3.0, -1.0, 0.5, -0.2])
    best = minimize(
        lambda x: ((x - table) ** 2).sum(),
        np.full(4, 0.5),
        bounds=[(0, None)] * 4,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 2.3},
    )
    assert np.allclose(norm_sub(table), best.x, atol=1e-5)


@given(arrays(np.float64, 10, elements=st.floats(0, 50)))
def test_a_table_without_negative_cells_stays(table):
    assert np.allclose(norm_sub(table), table)


def test_a_total_below_zero_gives_an_empty_table():
    assert norm_sub(np.array([-3.0, 1.0])).tolist() == [0, 0]
