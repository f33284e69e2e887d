"""One number of rows: as exact as all tables together, whatever is merged afterwards."""

import numpy as np
import pytest

from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal, Measurement
from sfumato.data.recoding import Merging, Recoding
from sfumato.data.selection import Selection
from sfumato.reconcile.consistency import ConsistentNormSub
from sfumato.reconcile.totals import common_total

DOMAIN = Domain({"street": 5000, "sex": 2})


def noisy(rng, sigma=10.0):
    """1000 rows, nearly all in one street, with noise on every cell."""
    exact = [np.r_[1000.0, np.zeros(4999)], np.array([400.0, 600.0])]
    return [
        Measurement(Marginal(DOMAIN.project((name,)), counts + rng.normal(0, sigma, len(counts))), sigma**2)
        for name, counts in zip(DOMAIN.names, exact, strict=True)
    ]


def test_totals_are_the_mean_by_precision_and_differences_within_a_table_stay():
    before = noisy(np.random.default_rng(0))
    after = common_total(before)
    precisions = [1 / (100 * 5000), 1 / (100 * 2)]
    wanted = np.average([one.marginal.total for one in before], weights=precisions)
    for one, other in zip(before, after, strict=True):
        assert other.marginal.total == pytest.approx(wanted)
        assert np.diff(other.marginal.counts) == pytest.approx(np.diff(one.marginal.counts))
        assert other.variance == one.variance


def test_a_large_table_that_is_merged_does_not_spoil_the_number_of_rows():
    merge = Recoding(DOMAIN, (Merging(np.r_[0, np.ones(4999, dtype=int)], np.ones(5000)), Merging.identity(2)))
    rng = np.random.default_rng(1)
    rows = {True: [], False: []}
    for _ in range(200):
        tables = noisy(rng)
        for first in rows:
            merged = [merge.merge(one) for one in (common_total(tables) if first else tables)]
            rows[first].append(ConsistentNormSub()(merge.domain, merged, Selection(())).rows)
    # The table of two cells knows the total to 10 sqrt(2) rows, that of 5000 only to 700.
    assert np.std(rows[True]) == pytest.approx(10 * np.sqrt(2), rel=0.2)
    assert np.std(rows[False]) > 200


def test_no_tables_have_no_total():
    assert common_total([]) == ()
