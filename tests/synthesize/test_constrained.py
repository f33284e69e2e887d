"""What synthesizers do with constraints by themselves, before anything is repaired."""

import numpy as np
import pytest

from sfumato.data.constraints import Constraint, Constraints
from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal
from sfumato.data.marginals import Marginals
from sfumato.data.recoding import Merging, Recoding
from sfumato.data.records import Records
from sfumato.data.selection import Chain, Family, Layers, Network, Selection
from sfumato.kernels import compiled, fallback
from sfumato.models import moving
from sfumato.models.moving import Target, improve
from sfumato.synthesize.allowed_lines import allowed_lines
from sfumato.synthesize.ancestral import Ancestral
from sfumato.synthesize.exchanging import exchanged
from sfumato.synthesize.gradual_update import GradualUpdate
from sfumato.synthesize.graphical import Graphical
from sfumato.synthesize.linking import Linking
from sfumato.synthesize.min_cost_flow import MinCostFlow
from sfumato.synthesize.moves import Moves
from sfumato.synthesize.sorted_views import SortedViews
from sfumato.synthesize.splitting import split

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


every = pytest.mark.parametrize(
    "synthesize",
    [Graphical(), Ancestral(), GradualUpdate(), Moves(), MinCostFlow()],
    ids=lambda one: type(one).__name__,
)


@every
def test_no_row_lies_in_a_forbidden_cell(synthesize):
    rows = synthesize(marginals(), SELECTION, 5_000, np.random.default_rng(1))
    assert crossing(rows, MEASURED) == 0
    assert crossing(rows, UNMEASURED) == 0


@every
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


@pytest.mark.parametrize("layers", [Layers(), Layers((("a", "b"),))], ids=["no tree", "a tree"])
def test_moves_of_any_start_enter_no_forbidden_cell(layers):
    rows = Moves()(marginals(), Selection(SELECTION.cliques, layers), 5_000, np.random.default_rng(1))
    assert crossing(rows, MEASURED) == 0
    assert crossing(rows, UNMEASURED) == 0


@pytest.mark.parametrize("kernel", [compiled, fallback], ids=["compiled", "fallback"])
def test_rows_that_are_moved_leave_forbidden_cells_and_never_enter_them(kernel, monkeypatch):
    """Targets that ask for a forbidden cell are not followed there."""
    monkeypatch.setattr(moving, "kernels", kernel_with(kernel))
    rng = np.random.default_rng(0)
    rows = np.stack([rng.integers(0, size, 2_000) for size in DOMAIN.shape], axis=1).astype(np.uint16)
    inside = ~MEASURED.broken({"a": rows[:, 0], "b": rows[:, 1]})
    wrong = Target(("a", "b"), np.where(UPPER, 1.0, 200.0))
    columns = [np.full(size, 2_000 / size) for size in DOMAIN.shape]
    before = np.count_nonzero(~inside)
    improve(DOMAIN, rows, [wrong], columns, 20, rng, [MEASURED])
    assert np.count_nonzero(MEASURED.broken({"a": rows[:, 0], "b": rows[:, 1]})) <= before / 4
    clean = np.ascontiguousarray(rows[~MEASURED.broken({"a": rows[:, 0], "b": rows[:, 1]})])
    improve(DOMAIN, clean, [wrong], columns, 20, rng, [MEASURED])
    assert not MEASURED.broken({"a": clean[:, 0], "b": clean[:, 1]}).any()


def kernel_with(kernel):
    from types import SimpleNamespace

    from sfumato import kernels

    return SimpleNamespace(improve=kernel.improve, count=kernels.count)


LINKED = Selection((("a", "b"), ("b", "c"), ("c", "d")), Chain((("a", "b"), ("c", "d")), (("b", "c"),)))


@pytest.mark.parametrize("synthesize", [Linking(), SortedViews()], ids=lambda one: type(one).__name__)
def test_parts_of_rows_are_joined_where_rules_allow_and_tables_stay(synthesize):
    """No table has a and d together: without constraints they meet by chance."""
    tables = marginals()
    free = synthesize(Marginals(DOMAIN, tables.tables), LINKED, 5_000, np.random.default_rng(1))
    rows = synthesize(tables, LINKED, 5_000, np.random.default_rng(1))
    assert crossing(free, UNMEASURED) > 0.1
    assert crossing(rows, UNMEASURED) < crossing(free, UNMEASURED) / 10
    for clique in LINKED.cliques:
        apart = [np.abs(made.project(clique).counts - tables.project(clique).counts / 4).sum() for made in (free, rows)]
        assert apart[1] <= apart[0] + 200


def test_an_exchange_stays_inside_its_group_and_breaks_no_more_than_before():
    rng = np.random.default_rng(5)
    known, new = {"a": rng.integers(0, 4, 900)}, {"d": rng.integers(0, 4, 900), "c": rng.integers(0, 3, 900)}
    group = rng.integers(0, 30, 900)
    part = exchanged(known, new, group, Constraints(DOMAIN, (UNMEASURED,)), rng)
    np.testing.assert_array_equal(np.sort(part), np.arange(900))
    np.testing.assert_array_equal(group[part], group)
    before, after = (UNMEASURED.broken({"a": known["a"], "d": codes}).mean() for codes in (new["d"], new["d"][part]))
    assert before > 0.25
    assert after < before / 3
    assert exchanged({}, new, group, Constraints(DOMAIN, (UNMEASURED,)), rng).tolist() == list(range(900))


def test_merged_codes_are_split_into_allowed_parts_and_the_column_keeps_its_shares():
    """Drawing again until rules hold would give the parts that few rows allow too seldom."""
    rng = np.random.default_rng(6)
    fine = Domain({"job": 6, "sector": 3})
    allowed = np.zeros((6, 3), dtype=np.bool_)
    allowed[[0, 1], 0] = allowed[[2, 3], 1] = allowed[[4, 5], 2] = True
    weight = np.array([30.0, 10.0, 9.0, 21.0, 10.0, 20.0])
    jobs = Merging(np.zeros(6, dtype=np.int64), weight)
    sectors = rng.permutation(np.repeat([0, 1, 2], [4_000, 3_000, 3_000]))
    coarse = Records(Domain({"job": 1, "sector": 3}), [np.zeros(10_000, dtype=np.int64), sectors])
    rule = Constraint(("job", "sector"), allowed)
    rows = split(coarse, Recoding(fine, (jobs, Merging.identity(3))), Constraints(fine, (rule,)), rng)
    assert crossing(rows, rule) == 0
    np.testing.assert_array_equal(rows["sector"], sectors)
    np.testing.assert_allclose(rows.project(("job",)).counts, weight * 100, atol=60)


def test_two_merged_columns_of_one_rule_are_split_together():
    rng = np.random.default_rng(7)
    both = (Merging(np.array([0, 0, 1, 1]), np.ones(4)), Merging(np.array([0, 0, 1, 1, 1]), np.ones(5)))
    coarse = Records(Domain({"a": 2, "b": 2}), [rng.integers(0, 2, 3_000), np.ones(3_000, dtype=np.int64)])
    fine = DOMAIN.project(("a", "b"))
    rows = split(coarse, Recoding(fine, both), Constraints(fine, (MEASURED,)), rng)
    assert crossing(rows, MEASURED) == 0
    for name, merging in zip(("a", "b"), both, strict=True):
        np.testing.assert_array_equal(merging.to[rows[name]], coarse[name])
