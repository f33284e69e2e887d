"""The example of Figure 1 of the DP-SUBN paper: four columns, k = 1, k' = 2.

The text gives the sparsities, the impacts, the two edges that are added and their directions. The figure itself has the
mutual informations; those here are ours, chosen so that the printed impacts come out of the definitions.
"""

import numpy as np
import pytest

from sfumato.data.domain import Domain
from sfumato.learn.select.frontier import Frontier, search_frontier

DOMAIN = Domain({"X1": 2, "X2": 2, "X3": 2, "X4": 2})
NETWORK = {"X2": ("X1",), "X3": ("X1",), "X4": ("X3",)}
"""X1 <= X4, and X2 and X3 cannot be compared: what the text says of Figure 1(b)."""

INFORMATION = np.array(
    [
        [0.00, 1.39, 1.20, 1.10],
        [1.39, 0.00, 0.90, 0.53],
        [1.20, 0.90, 0.00, 1.30],
        [1.10, 0.53, 1.30, 0.00],
    ]
)
DEGREE = 2


def test_sparsity_and_impact():
    frontier = Frontier(DOMAIN, NETWORK, 2 ** (DEGREE + 1))
    assert (frontier.sparsity(1), frontier.sparsity(2)) == (3, 3)
    assert frontier.impact(1, 2, INFORMATION) == pytest.approx(2.83)
    assert frontier.impact(2, 1, INFORMATION) == pytest.approx(1.39)


def test_edges_are_added_in_the_directions_of_the_text():
    frontier = search_frontier(DOMAIN, NETWORK, INFORMATION, 2 ** (DEGREE + 1))
    assert "X1" in frontier["X4"]  # along the order
    assert "X3" in frontier["X2"]  # 3 * 1.39 < 3 * 2.83
    assert frontier == {"X1": (), "X3": ("X1",), "X2": ("X1", "X3"), "X4": ("X3", "X1")}
