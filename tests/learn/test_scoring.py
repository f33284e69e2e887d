"""What noisy scores may be believed, and how far tables can be apart at most."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.coding import Coding
from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal, Measurement
from sfumato.learn.scoring import believed, largest_distances
from sfumato.models.estimates import Estimates
from sfumato.privacy.questions import Distances


def estimates_of(domain, columns):
    """Estimates with these single columns."""
    tables = [Measurement(Marginal(domain.project((name,)), np.array(one)), 1.0) for name, one in columns.items()]
    return Estimates.of(Coding(domain), tables)


@given(st.integers(0, 2**32), st.lists(st.integers(2, 4), min_size=2, max_size=4), st.integers(1, 60))
@settings(max_examples=200, deadline=None)
def test_no_two_tables_with_the_same_columns_are_further_apart(seed, sizes, rows):
    """The second table has each column of the first in another order of rows: any with these columns, then."""
    rng = np.random.default_rng(seed)
    domain = Domain({f"c{place}": size for place, size in enumerate(sizes)})
    skew = rng.dirichlet([0.5] * 4)
    one = np.stack([rng.choice(size, rows, p=skew[:size] / skew[:size].sum()) for size in sizes])
    two = np.stack([rng.permutation(codes) if place else codes for place, codes in enumerate(one)])
    counts = [np.bincount(np.ravel_multi_index(tuple(made), sizes), minlength=domain.cells()) for made in (one, two)]
    columns = {name: np.bincount(codes, minlength=domain[name]) for name, codes in zip(domain, one, strict=True)}
    (most,) = largest_distances(estimates_of(domain, columns), [domain.names])
    assert np.abs(counts[0] - counts[1]).sum() <= most + 0.01


def test_two_columns_can_be_as_far_apart_as_is_said():
    """Ten rows that are all in one column's rare code and the other's, or in one alone."""
    domain = Domain({"a": 2, "b": 2})
    apart = np.abs(np.array([[90, 0], [0, 10]]) - np.array([[80, 10], [10, 0]])).sum()
    (most,) = largest_distances(estimates_of(domain, {"a": [90, 10], "b": [90, 10]}), [("a", "b")])
    assert apart == 40
    assert abs(most - 40) < 0.01


@given(st.integers(0, 2**32), st.integers(1, 300), st.floats(0.1, 100))
@settings(max_examples=100, deadline=None)
def test_a_score_counts_as_far_as_it_stands_out_and_all_together_no_more_than_they_are(seed, tables, sigma):
    rng = np.random.default_rng(seed)
    most, chance = 100 * rng.random(tables), rng.random(tables)
    found = Distances(np.minimum(rng.exponential(20, tables), most) + sigma * rng.standard_normal(tables), sigma**2)
    wrong, plain = believed(found, chance, most)
    assert (wrong >= 0).all()
    assert (wrong <= np.clip(plain, 0, most)).all()
    assert (wrong[plain <= sigma] == 0).all()
    assert wrong.sum() <= max(plain.sum(), 0) * (1 + 1e-9) + 1e-9


def test_the_largest_of_many_scores_of_noise_alone_are_not_believed():
    """Two thousand distances of 0: the garrote alone would leave thousands of rows."""
    noise = 1000 * np.random.default_rng(0).standard_normal(2000)
    wrong, _ = believed(Distances(noise, 1000.0**2), np.zeros(2000), np.full(2000, 1e9))
    assert np.maximum(noise - 1000, 0).sum() > 150_000
    assert wrong.sum() <= max(noise.sum(), 0) < 150_000
