"""The constants in the code are those that are proven.

Some bounds are not reached by any table that we know, so no search over tables can tell that a smaller number was
charged. Here they are compared with the text of the proof.
"""

import re
from fractions import Fraction
from math import log, log1p
from pathlib import Path

import numpy as np
import pytest

from sfumato.privacy.accountant import renyi_budget, renyi_epsilon
from sfumato.privacy.neighbours import Neighbours
from sfumato.privacy.scores import GRID, MOST_ROWS_OF_INFORMATION, SCORES
from sfumato.privacy.sensitivity import Sensitivity

PROOFS = Path(__file__).parents[2] / "docs" / "proofs"


@pytest.mark.parametrize("name", SCORES)
def test_scores_are_charged_by_the_table_of_their_proof(name):
    text = (PROOFS / "choice.md").read_text(encoding="utf-8")
    (line,) = re.findall(rf"^\| {name} = .*\| ([0-9/.]+) \| ([0-9/.]+) \| ([0-9]+) \|$", text, re.MULTILINE)
    added, replaced, rounding = map(Fraction, line)
    score = SCORES[name]
    assert (score.added, score.replaced, score.rounding) == (added, replaced, rounding)
    for rows in (1, 2, 5):
        assert score.sensitivity(rows, replace=False) >= rows * added * GRID + rounding
        assert score.sensitivity(rows, replace=True) >= rows * max(added, replaced) * GRID + rounding
    assert "10¹⁰" in text
    assert MOST_ROWS_OF_INFORMATION == 10**10


def test_dependence_is_charged_four_rows_and_a_step_for_each_row_of_a_person():
    text = (PROOFS / "sensitivity.md").read_text(encoding="utf-8")
    assert "L2² = m · 4097²" in text
    assert "cost 4k or 8k by the triangle inequality" in text
    assert Neighbours().dependence == Sensitivity.single(4097)
    for rows in (1, 2, 7):
        assert Neighbours(rows).dependence == Sensitivity.single(4 * rows * GRID + 1)
        assert Neighbours(rows, replace=True).dependence == Sensitivity.single(8 * rows * GRID + 1)


@pytest.mark.parametrize("rho", ["0.001", "0.03", "0.5", "4"])
@pytest.mark.parametrize("delta", [1e-4, 1e-9])
def test_the_renyi_conversion_is_the_formula_of_its_proof(rho, delta):
    """Also where a wrong term would only cost accuracy: epsilon would be larger than it needs to be."""
    orders = np.arange(2, 100_000, dtype=float)
    exact = min(
        float(rho) * order + log1p(-1 / order) - (log(delta) + log(order)) / (order - 1) for order in orders.tolist()
    )
    found = renyi_epsilon(Fraction(rho), delta)
    assert exact <= found <= exact * 1.01 + 1e-9
    assert float(renyi_budget(found, delta)) == pytest.approx(float(rho), rel=1e-6)
