"""Ancestral sampling: the network's distribution, without sampling error where parents are whole."""

import numpy as np
import pytest

from sfumato.data.coding import Coding, Level, Levels
from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal
from sfumato.data.marginals import Marginals
from sfumato.data.selection import Family, Network, Selection
from sfumato.errors import MethodError
from sfumato.synthesize.ancestral import Ancestral, conditional

DOMAIN = Domain({"a": 3, "b": 2, "c": 4})


def tables(seed=0):
    joint = np.random.default_rng(seed).dirichlet(np.ones(24)).reshape(3, 2, 4) * 5_000
    whole = Marginal(DOMAIN, joint)
    return whole, Marginals(DOMAIN, (whole.project(("a", "b")), whole.project(("b", "c"))))


CHAIN = Network((Family("a", ()), Family("b", ("a",)), Family("c", ("b",))))


def test_tables_of_the_network_are_reproduced_without_sampling_error():
    _, marginals = tables()
    selection = Selection(marginals.cliques, CHAIN)
    records = Ancestral()(marginals, selection, 5_000, np.random.default_rng(1))
    assert records.domain == DOMAIN
    for table in marginals.tables:
        # One row for each cell at most, and what the parents' rounding hands on.
        assert np.abs(records.project(table.clique).counts - table.counts).max() <= 4


def test_columns_are_independent_given_their_parents():
    _, marginals = tables()
    records = Ancestral()(marginals, Selection((), CHAIN), 100_000, np.random.default_rng(1))
    counts = records.project(("a", "b", "c")).counts
    for b in range(2):
        expected = np.outer(counts[:, b].sum(axis=1), counts[:, b].sum(axis=0)) / counts[:, b].sum()
        assert np.abs(counts[:, b] - expected).max() <= 5 * np.sqrt(expected.max())


def test_a_parent_cell_without_rows_takes_the_margin_and_negative_cells_count_as_none():
    table = Marginal(Domain({"a": 3, "b": 2}), np.array([[3.0, 1.0], [0.0, 0.0], [-2.0, 2.0]]))
    rows = conditional(Marginals(Domain({"a": 3, "b": 2}), (table,)), Family("b", ("a",)))
    np.testing.assert_allclose(rows, [[0.75, 0.25], [0.5, 0.5], [0.0, 1.0]])
    empty = Marginal(Domain({"a": 3, "b": 2}), np.zeros((3, 2)))
    rows = conditional(Marginals(Domain({"a": 3, "b": 2}), (empty,)), Family("b", ("a",)))
    np.testing.assert_allclose(rows, 0.5)


def test_a_level_is_a_parent_through_its_column():
    base = Domain({"a": 4, "b": 2})
    level = Level("a", (0, 0, 1, 1))
    extended = Coding(base, (Levels((level,)),)).domain
    marginals = Marginals(
        extended,
        (
            Marginal(extended.project(("a",)), np.full(4, 25.0)),
            Marginal(extended.project(("b", "a in 2")), np.array([[50.0, 0.0], [0.0, 50.0]])),
        ),
    )
    network = Network((Family("a", ()), Family("b", ("a in 2",))), (level,))
    records = Ancestral()(marginals, Selection((), network), 100, np.random.default_rng(0))
    assert records.domain == base
    assert (records["b"] == records["a"] // 2).all()


def test_columns_of_one_code_and_no_rows():
    domain = Domain({"a": 2, "same": 1})
    marginals = Marginals(domain, (Marginal(domain, np.array([[3.0], [1.0]])),))
    network = Network((Family("same", ()), Family("a", ())))
    assert Ancestral()(marginals, Selection((), network), 8, np.random.default_rng(0))["a"].sum() == 2
    assert len(Ancestral()(marginals, Selection((), network), 0, np.random.default_rng(0))) == 0


def test_without_a_network_it_refuses():
    _, marginals = tables()
    with pytest.raises(MethodError, match="without a network"):
        Ancestral()(marginals, Selection(marginals.cliques), 10, np.random.default_rng(0))
