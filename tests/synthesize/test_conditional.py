"""Sampling given evidence: exact, bounded, and clear where it gives up."""

import numpy as np
import pytest
from scipy.stats import chisquare

from sfumato.data.domain import Domain
from sfumato.data.records import Records
from sfumato.errors import MethodError, SchemaError
from sfumato.synthesize.conditional import LARGEST, conditioned

DOMAIN = Domain({"a": 3, "b": 2, "c": 4})
JOINT = np.random.default_rng(0).dirichlet(np.ones(24))


def sample(rows, rng):
    cells = np.unravel_index(rng.choice(24, rows, p=JOINT), DOMAIN.shape)
    return Records(DOMAIN, list(cells))


def test_rows_have_the_conditional_distribution_and_no_other_codes():
    given = {"a": np.array([0, 2]), "b": np.array([1])}
    records = conditioned(sample, given, 20_000, np.random.default_rng(1))
    assert len(records) == 20_000
    counts = records.project(("a", "b", "c")).counts
    wanted = JOINT.reshape(3, 2, 4).copy()
    wanted[1], wanted[:, 0] = 0, 0
    assert counts[wanted == 0].sum() == 0
    inside = wanted > 0
    assert chisquare(counts[inside], wanted[inside] / wanted.sum() * 20_000).pvalue > 1e-3


def test_no_evidence_and_no_rows():
    assert len(conditioned(sample, {}, 7, np.random.default_rng(0))) == 7
    assert len(conditioned(sample, {"b": np.array([0])}, 0, np.random.default_rng(0))) == 0


def rare(rows, rng):
    return Records(
        DOMAIN, [np.zeros(rows, dtype=int), (rng.random(rows) < 3e-4).astype(int), np.zeros(rows, dtype=int)]
    )


def test_rare_evidence_takes_more_draws_and_stays_bounded():
    largest = 0

    def watched(rows, rng):
        nonlocal largest
        largest = max(largest, rows)
        return rare(rows, rng)

    records = conditioned(watched, {"b": np.array([1])}, 300, np.random.default_rng(0))
    assert len(records) == 300
    assert (records["b"] == 1).all()
    assert largest <= LARGEST


def test_evidence_that_hardly_any_row_has_is_refused():
    with pytest.raises(MethodError, match="given for c; give fewer columns"):
        conditioned(rare, {"c": np.array([3])}, 1, np.random.default_rng(0))


@pytest.mark.parametrize("codes", [[], [2], [-1]])
def test_codes_that_do_not_exist_are_refused(codes):
    with pytest.raises(SchemaError, match="0 … 1"):
        conditioned(sample, {"b": np.array(codes, dtype=int)}, 1, np.random.default_rng(0))
