"""The last fit: tables nearly agree, and come nearer to the truth than they were measured."""

from itertools import combinations

import numpy as np
import pytest

from helpers_auto import COLUMNS, records_of, run_auto, schema_of
from sfumato.data.coding import Coding
from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal, Measurement
from sfumato.data.selection import Layers, Selection
from sfumato.privacy.budget import ApproxDP
from sfumato.reconcile.layered import LayeredFit


@pytest.mark.parametrize("epsilon", ["0.2", "1", "10"])
def test_tables_have_the_same_rows_and_nearly_the_same_columns(epsilon):
    model, _ = run_auto(records_of(rows=10_000), schema_of(), ApproxDP(epsilon, "1e-9"))
    single = {one.clique[0]: one.counts for one in model.marginals.tables if len(one.clique) == 1}
    assert set(single) == set(COLUMNS)
    rows = model.marginals.rows
    assert abs(rows - 10_000) < 1000
    for one in model.marginals.tables:
        assert one.counts.min() >= 0
        assert one.total == pytest.approx(rows, abs=1 + 1e-3 * rows)
        for name in one.clique:
            assert np.abs(one.project((name,)).counts - single[name]).sum() < 0.06 * rows
    cliques = [one.clique for one in model.marginals.tables]
    assert len(set(cliques)) == len(cliques)
    assert len(model.marginals.scales) == len(cliques)


def test_measured_pairs_come_nearer_to_the_truth():
    records = records_of(rows=10_000)
    model, _ = run_auto(records, schema_of(), ApproxDP("0.3", "1e-9"))
    codes = [merging.to[column] for merging, column in zip(model.recoding.mergings, records.columns, strict=True)]
    before, after = [], []
    for one in model.measurements:
        if len(one.clique) == 2:
            places = [records.domain.index(name) for name in one.clique]
            real = np.zeros(one.domain.shape)
            np.add.at(real, tuple(codes[place] for place in places), 1)
            before.append(np.abs(one.marginal.counts - real).sum())
            after.append(np.abs(model.marginals.project(one.clique).counts - real).sum())
    assert len(before) > 3
    assert sum(after) < 0.6 * sum(before)


def test_tables_that_were_pooled_before_serve_too():
    model, _ = run_auto(records_of(rows=10_000), schema_of(), ApproxDP(1, "1e-9"))
    merged = [model.recoding.merge(one) if not one.coding.steps else one for one in model.measurements if one.clique]
    found = LayeredFit()(model.recoding.domain, merged, model.selection)
    assert set(found.cliques) == set(model.marginals.cliques)
    for one in found.tables:
        assert np.abs(one.counts - model.marginals.project(one.clique).counts).sum() < 0.1 * 10_000


@pytest.mark.parametrize("tied", [True, False])
def test_a_table_of_three_columns_counts_only_if_it_says_more_than_pairs(tied):
    """Three coins of which each two are independent; if they are tied, the third follows from the two others."""
    domain, names = Domain({"a": 2, "b": 2, "c": 2}), ("a", "b", "c")
    joint = np.full((2, 2, 2), 1000.0)
    if tied:
        joint = np.fromfunction(lambda a, b, c: 2000.0 * ((a + b + c) % 2 == 0), (2, 2, 2))
    whole, rng = Marginal(domain, joint), np.random.default_rng(0)
    pairs = tuple(combinations(names, 2))
    measured = [
        Measurement(Marginal(part.domain, part.counts + rng.normal(0, 3, part.counts.shape)), 9.0, Coding(domain))
        for part in (whole.project(clique) for clique in (*((name,) for name in names), *pairs, names))
    ]
    found = LayeredFit()(domain, measured, Selection((*pairs, names), Layers(pairs[:2])))
    assert set(pairs) <= set(found.cliques)
    assert (names in found.cliques) == tied
