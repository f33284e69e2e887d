"""Rows by moves: near the tables, of any number, the same for the same seed."""

import numpy as np
import pytest

from sfumato.data.coding import Level
from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal
from sfumato.data.marginals import Marginals
from sfumato.data.selection import Layers, Selection
from sfumato.errors import ModelTooLarge
from sfumato.models.moving import LOOKS, Target, improve
from sfumato.synthesize.moves import Moves

DOMAIN = Domain({"a": 4, "b": 3, "c": 12})
PAIRS = [("a", "b"), ("b", "c"), ("a", "c")]


def marginals(rows=5000, seed=0):
    joint = np.random.default_rng(seed).dirichlet(np.full(DOMAIN.cells(), 0.3)).reshape(DOMAIN.shape) * rows
    whole = Marginal(DOMAIN, joint)
    return Marginals(DOMAIN, tuple(whole.project(clique) for clique in [("a",), ("b",), ("c",), *PAIRS]))


THIRDS = Level("c", tuple(code // 4 for code in range(12)))
SELECTIONS = {
    "a tree of two pairs": Selection(tuple(PAIRS), Layers(tuple(PAIRS[:2]))),
    "a coarse tree": Selection(
        tuple(PAIRS), Layers(tuple(PAIRS), (Level("c", tuple(code // 4 for code in range(12))),))
    ),
    "no tree": Selection(tuple(PAIRS), Layers()),
    "no structure": Selection(tuple(PAIRS)),
}


@pytest.mark.parametrize("selection", SELECTIONS.values(), ids=SELECTIONS)
@pytest.mark.parametrize("rows", [0, 1, 3, 800, 5000])
def test_tables_come_close_for_any_number_of_rows(selection, rows):
    wanted = marginals()
    made = Moves()(wanted, selection, rows, np.random.default_rng(0))
    assert len(made) == rows
    assert made.domain == DOMAIN
    if rows >= 800:
        for table in wanted.tables:
            found = made.project(table.clique).counts / rows
            assert np.abs(found - table.counts / 5000).sum() / 2 < 0.03


def test_the_same_seed_makes_the_same_rows_and_another_one_others():
    one, two, three = (
        Moves()(marginals(), SELECTIONS["no tree"], 500, np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    assert all(np.array_equal(left, right) for left, right in zip(one.columns, two.columns, strict=True))
    assert not all(np.array_equal(left, right) for left, right in zip(one.columns, three.columns, strict=True))


def test_what_is_prepared_once_draws_the_same_rows_every_time():
    draw = Moves().prepare(marginals(), SELECTIONS["a coarse tree"])
    once = Moves()(marginals(), SELECTIONS["a coarse tree"], 500, np.random.default_rng(1))
    for _ in range(2):
        again = draw(500, np.random.default_rng(1))
        assert all(np.array_equal(left, right) for left, right in zip(once.columns, again.columns, strict=True))


def test_more_moves_come_nearer():
    errors = []
    for proposals in (0, 2, 20):
        made = Moves(proposals)(marginals(), SELECTIONS["no tree"], 5000, np.random.default_rng(0))
        errors.append(sum(np.abs(made.project(pair).counts - marginals().project(pair).counts).sum() for pair in PAIRS))
    assert errors[0] > 3 * errors[1] > 3 * errors[2]


@pytest.mark.parametrize(("deviation", "stops"), [(0.0, False), (10.0, False), (80.0, True)])
def test_rows_stop_where_only_noise_is_left(deviation, stops):
    """Rows that come nearer than the noise of tables follow it; where chance makes more than noise, they go on."""
    wanted = marginals()
    targets = [Target(pair, np.asarray(wanted.project(pair).counts), deviation**2) for pair in PAIRS]
    columns = [np.asarray(wanted.project((name,)).counts) for name in DOMAIN]
    start = np.stack([np.random.default_rng(1).integers(0, size, 5000) for size in DOMAIN.shape], axis=1)
    few = start.astype(np.uint16, order="C")
    improve(DOMAIN, few, [Target(one.clique, one.counts) for one in targets], columns, 5, np.random.default_rng(3))
    many = few.copy()
    improve(DOMAIN, few, targets, columns, LOOKS[0], np.random.default_rng(2))
    improve(DOMAIN, many, targets, columns, 40, np.random.default_rng(2))
    assert np.array_equal(few, many) == stops


def test_tables_of_three_columns_alone_are_no_reason_to_stop():
    whole = np.asarray(marginals().project(("a", "b")).counts)[..., None] * np.full(12, 1 / 12)
    columns = [whole.sum(axis=tuple({0, 1, 2} - {axis})) for axis in range(3)]
    start = np.stack([np.random.default_rng(1).integers(0, size, 5000) for size in DOMAIN.shape], axis=1)
    few, many = start.astype(np.uint16, order="C"), start.astype(np.uint16, order="C")
    for rows, proposals in ((few, LOOKS[0]), (many, 40)):
        improve(DOMAIN, rows, [Target(DOMAIN.names, whole, 1e6)], columns, proposals, np.random.default_rng(2))
    assert not np.array_equal(few, many)


def test_tables_without_rows_give_rows_all_the_same():
    empty = Marginals(DOMAIN, tuple(Marginal(table.domain, 0.0 * table.counts) for table in marginals().tables))
    assert len(Moves()(empty, SELECTIONS["no tree"], 20, np.random.default_rng(0))) == 20


def test_more_codes_than_the_kernel_can_hold_are_refused():
    domain = Domain({"a": 70_000, "b": 2})
    columns = [np.ones(70_000), np.full(2, 35_000.0)]
    with pytest.raises(ModelTooLarge, match="65,536"):
        improve(domain, np.zeros((5, 2), np.uint16), [Target(("b",), columns[1])], columns, 1, np.random.default_rng(0))
