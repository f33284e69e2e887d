"""What synthesizers do with constraints by themselves, before anything is repaired."""

import numpy as np
import pytest

from sfumato.data.constraints import Constraint, Constraints
from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal
from sfumato.data.marginals import Marginals
from sfumato.data.selection import Family, Network, Selection
from sfumato.synthesize.allowed_lines import allowed_lines
from sfumato.synthesize.ancestral import Ancestral
from sfumato.synthesize.gradual_update import GradualUpdate
from sfumato.synthesize.graphical import Graphical

DOMAIN = Domain({"a": 4, "b": 5, "c": 3, "d": 4})
UPPER = np.triu(np.ones((4, 5), dtype=np.bool_))
MEASURED = Constraint(("a", "b"), UPPER)
UNMEASURED = Constraint(("d", "a"), np.tril(np.ones((4, 4), dtype=np.bool_)))
"""No table has a and d together."""


def marginals(seed=0):
    """Tables of rows that obey both constraints."""
    rng = np.random.default_rng(seed)
    joint = rng.random((4, 5, 3, 4)) * UPPER[:, :, None, None] * UNMEASURED.allowed.T[:, None, None, :]
    joint *= 20_000 / joint.sum()
    pairs = {("a", "b"): (2, 3), ("b", "c"): (0, 3), ("c", "d"): (0, 1)}
    tables = [Marginal(DOMAIN.project(pair), joint.sum(axis=axes)) for pair, axes in pairs.items()]
    return Marginals(DOMAIN, tuple(tables), constraints=Constraints(DOMAIN, (MEASURED, UNMEASURED)))


CHAIN = Network((Family("a", ()), Family("b", ("a",)), Family("c", ("b",)), Family("d", ("c",))))
SELECTION = Selection((("a", "b"), ("b", "c"), ("c", "d")), CHAIN)


def crossing(rows, constraint):
    return constraint.broken({name: rows[name] for name in constraint.clique}).mean()


@pytest.mark.parametrize("synthesize", [Graphical(), Ancestral(), GradualUpdate()], ids=lambda one: type(one).__name__)
def test_no_row_lies_in_a_forbidden_cell(synthesize):
    rows = synthesize(marginals(), SELECTION, 5_000, np.random.default_rng(1))
    assert crossing(rows, MEASURED) == 0
    assert crossing(rows, UNMEASURED) == 0


@pytest.mark.parametrize("synthesize", [Graphical(), Ancestral(), GradualUpdate()], ids=lambda one: type(one).__name__)
def test_the_tables_are_met_as_before(synthesize):
    wanted = marginals()
    rows = synthesize(wanted, SELECTION, 20_000, np.random.default_rng(2))
    for name in DOMAIN:
        gap = np.abs(rows.project((name,)).counts - wanted.project((name,)).counts).sum() / 40_000
        assert gap < 0.02


def test_without_constraints_the_unmeasured_pair_is_crossed():
    free = Marginals(DOMAIN, marginals().tables)
    rows = GradualUpdate()(free, SELECTION, 5_000, np.random.default_rng(1))
    assert crossing(rows, UNMEASURED) > 0.05


def test_a_model_that_would_be_too_large_goes_without_a_constraint():
    tables = marginals()
    limit = 60  # the three pairs alone have 47 cells
    rows = Graphical(limit=limit)(tables, SELECTION, 5_000, np.random.default_rng(1))
    assert crossing(rows, MEASURED) == 0
    assert crossing(rows, UNMEASURED) > 0


def test_cut_lines_keep_their_margin():
    rng = np.random.default_rng(3)
    parent = rng.integers(0, 2, 1_000)
    lines = np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
    number = rng.integers(0, 2, 1_000)
    allowed = np.array([[False, True, True], [True, True, False]])
    cells, cut = allowed_lines(parent, lines, [(number, allowed)])
    probabilities = (cut / cut.sum(axis=1, keepdims=True))[cells]
    assert probabilities[number == 0, 0].max() == 0
    assert probabilities[number == 1, 2].max() == 0
    wanted = lines[parent].sum(axis=0)
    assert np.abs(probabilities.sum(axis=0) - wanted).max() < 0.02 * len(parent)
