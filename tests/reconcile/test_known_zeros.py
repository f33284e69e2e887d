"""Cells that are known to be empty: no noise, no correction, and better estimates of the others."""

import numpy as np
import pytest

from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal, Measurement
from sfumato.errors import SchemaError
from sfumato.models.nonnegative import norm_sub
from sfumato.reconcile.consistency import ConsistentNormSub, Overlaps
from sfumato.reconcile.ripple import ConsistentRipple
from sfumato.reconcile.totals import common_total

DOMAIN = Domain({"a": 6, "b": 8, "c": 4})
ALLOWED = np.tril(np.ones((6, 8), dtype=np.bool_), 1)


def measured(seed, knowing):
    """Noisy tables of rows that lie in allowed cells, and the exact tables."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(20, 300, (6, 8, 4)) * ALLOWED[:, :, None]
    exact = {("a", "b"): truth.sum(axis=2), ("b", "c"): truth.sum(axis=0), ("a",): truth.sum(axis=(1, 2))}
    noisy = []
    for clique, counts in exact.items():
        one = Measurement(Marginal(DOMAIN.project(clique), counts + rng.normal(0, 15, counts.shape)), 225.0)
        noisy.append(one.knowing(ALLOWED) if knowing and clique == ("a", "b") else one)
    return noisy, exact


@pytest.mark.parametrize("reconcile", [ConsistentNormSub(), ConsistentRipple()], ids=["norm-sub", "ripple"])
def test_forbidden_cells_stay_empty_and_tables_agree(reconcile):
    noisy, _ = measured(0, True)
    found = reconcile(DOMAIN, noisy)
    table = found.project(("a", "b")).counts
    assert np.abs(table[~ALLOWED]).max() == 0
    assert np.abs(table.sum(axis=1) - found.project(("a",)).counts).max() < 1e-5 * table.sum() + 1e-6


@pytest.mark.parametrize("reconcile", [ConsistentNormSub(), ConsistentRipple()], ids=["norm-sub", "ripple"])
def test_knowing_zeros_lowers_the_error(reconcile):
    errors = {True: 0.0, False: 0.0}
    for knowing in errors:
        for seed in range(30):
            noisy, exact = measured(seed, knowing)
            found = reconcile(DOMAIN, noisy)
            errors[knowing] += sum(np.abs(found.project(clique).counts - exact[clique]).sum() for clique in exact)
    assert errors[True] < 0.9 * errors[False]


def test_totals_are_spread_over_noisy_cells_alone():
    noisy, _ = measured(1, True)
    for one in common_total(noisy):
        if one.allowed is not None:
            assert np.abs(one.marginal.counts[~ALLOWED]).max() == 0
    assert len({round(one.marginal.total, 6) for one in common_total(noisy)}) == 1


def test_a_margin_that_one_table_knows_to_be_empty_is_empty_in_all():
    allowed = ALLOWED.copy()
    allowed[:, 7] = False
    noisy, _ = measured(2, False)
    noisy[0] = noisy[0].knowing(allowed)
    tables = [np.array(one.marginal.counts, dtype=np.float64) for one in noisy]
    Overlaps.of(noisy).agree(tables)
    assert np.abs(tables[1].sum(axis=1)[7]) < 1e-6


def test_norm_sub_gives_the_whole_total_to_allowed_cells():
    values = np.random.default_rng(3).normal(0, 5, (6, 8))
    found = norm_sub(values, 100.0, ALLOWED)
    assert found[~ALLOWED].max() == 0
    assert found.sum() == pytest.approx(100)
    assert found.min() >= 0


def test_flags_of_another_table_are_refused():
    noisy, _ = measured(4, False)
    with pytest.raises(SchemaError, match="give one flag for each cell"):
        noisy[1].knowing(ALLOWED[:4, :4])
