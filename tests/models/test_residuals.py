"""Least squares in closed form is generalised least squares: compared with matrices, and covers as it says."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.coding import Coding, Level, Levels, Merge
from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal, Measurement
from sfumato.models.residuals import Estimate, NoisyTable, estimates
from sfumato.models.tails import half_width

BASE = Domain({"a": 4, "b": 3, "c": 2})
TRUTH = np.random.default_rng(0).integers(0, 50, BASE.shape).astype(float)
EVEN = Coding(BASE).then(Merge((("a", (0, 0, 1, 1)),)))  # two codes become one, twice
UNEVEN = Coding(BASE).then(Merge((("a", (0, 1, 1, 1)),)))
LEVELS = Coding(BASE).then(Levels((Level("b", (0, 1, 1)),)))


def noiseless(clique, variance=1.0, coding=None):
    coding = coding or Coding(BASE)
    sources = [coding.lookup(name)[0] for name in clique]
    exact = Marginal(BASE, TRUTH).project(sources)
    return Measurement(coding.apply(exact, clique), variance, coding)


def with_counts(measurement, counts):
    return Measurement(
        Marginal(measurement.domain, counts.reshape(measurement.domain.shape)), measurement.variance, measurement.coding
    )


def matrix_of(measurement):
    """The noiseless table as a linear function of all cells."""
    rows = []
    for cell in np.eye(BASE.cells()):
        sources = [measurement.coding.lookup(name)[0] for name in measurement.clique]
        exact = Marginal(BASE, cell.reshape(BASE.shape)).project(sources)
        rows.append(measurement.coding.apply(exact, measurement.clique).counts.ravel())
    return np.array(rows).T


def operators(measurements, clique, lookups):
    """The estimate as a linear function of each table: one matrix for each."""
    found = []
    for place, one in enumerate(measurements):
        columns = []
        for unit in np.eye(one.domain.cells()):
            trial = [with_counts(other, np.zeros(other.domain.cells())) for other in measurements]
            trial[place] = with_counts(one, unit)
            columns.append(Estimate.of([NoisyTable(each) for each in trial], clique, lookups).counts.ravel())
        found.append(np.array(columns).T)
    return found


def target_of(clique, lookups):
    """The counts that are estimated, as a linear function of all cells."""
    rows = []
    for cell in np.eye(BASE.cells()):
        counts = Marginal(BASE, cell.reshape(BASE.shape)).project(clique).counts
        for axis, lookup in enumerate(lookups):
            summed = np.zeros((lookup.max() + 1, *np.moveaxis(counts, axis, 0).shape[1:]))
            np.add.at(summed, lookup, np.moveaxis(counts, axis, 0))
            counts = np.moveaxis(summed, 0, axis)
        rows.append(counts.ravel())
    return np.array(rows).T


CLIQUES = [clique for size in (1, 2, 3) for clique in combinations("abc", size)]


@st.composite
def noisy_sets(draw, codings):
    chosen = draw(st.lists(st.sampled_from(CLIQUES), min_size=1, max_size=4))
    found = []
    for clique in chosen:
        coding = draw(st.sampled_from(codings))
        names = clique
        if coding is LEVELS and draw(st.booleans()):
            names = tuple("b in 2" if name == "b" else name for name in clique)
        found.append(noiseless(names, draw(st.sampled_from([0.5, 1.0, 4.0, 9.0])), coding))
    return found


def held(measurements):
    sources = [{one.coding.lookup(name)[0] for name in one.clique} for one in measurements]
    return [clique for clique in CLIQUES if any(set(clique) <= one for one in sources)]


class TestAgainstMatrices:
    @settings(max_examples=30)
    @given(st.data())
    def test_tables_in_the_same_codes_give_the_best_linear_unbiased_estimate(self, data):
        codings = data.draw(st.sampled_from([(Coding(BASE),), (EVEN,), (Coding(BASE), EVEN)]))
        measurements = data.draw(noisy_sets(codings))
        clique = data.draw(st.sampled_from(held(measurements)))
        for estimate in estimates([NoisyTable(one) for one in measurements], BASE, clique):
            if codings == (Coding(BASE), EVEN) and "a" in clique and estimate.lookups[0].max() == 3:
                continue  # coarse tables say a little about fine codes, which the closed form leaves out
            stacked = np.vstack([matrix_of(one) / np.sqrt(one.variance) for one in measurements])
            target = target_of(clique, estimate.lookups)
            best = target @ np.linalg.pinv(stacked.T @ stacked) @ target.T
            cells = np.eye(len(best)).reshape(len(best), *estimate.counts.shape)
            ours = np.array([[estimate.covariance(one, other) for other in cells] for one in cells])
            assert np.allclose(ours, best)

    @settings(max_examples=30)
    @given(noisy_sets((Coding(BASE), EVEN, UNEVEN, LEVELS)), st.data())
    def test_whatever_the_codes_it_is_unbiased_and_its_covariance_exact(self, measurements, data):
        clique = data.draw(st.sampled_from(held(measurements)))
        found = estimates([NoisyTable(one, 3.0) for one in measurements], BASE, clique)
        assert found
        for estimate in found:
            target = target_of(clique, estimate.lookups)
            assert np.allclose(estimate.counts.ravel(), target @ TRUTH.ravel())
            matrices = operators(measurements, clique, estimate.lookups)
            exact = sum(one.variance * matrix @ matrix.T for one, matrix in zip(measurements, matrices, strict=True))
            weights, others = np.random.default_rng(1).normal(size=(2, *estimate.counts.shape))
            assert estimate.covariance(weights, others) == pytest.approx(weights.ravel() @ exact @ others.ravel())
            assert np.allclose(np.diag(exact), estimate.variance)
            fourth = sum(
                3 * one.variance**2 * ((weights.ravel() @ matrix) ** 4).sum()
                for one, matrix in zip(measurements, matrices, strict=True)
            )
            second = weights.ravel() @ exact @ weights.ravel()
            assert estimate.excess_kurtosis_of(weights) == pytest.approx(fourth / second**2)
            one = np.zeros(estimate.counts.shape)
            one.flat[-1] = 1.0
            assert estimate.excess_kurtosis == pytest.approx(estimate.excess_kurtosis_of(one))

    @settings(max_examples=20)
    @given(noisy_sets((Coding(BASE), EVEN)), st.data())
    def test_sums_of_cells_have_the_variance_of_their_weights(self, measurements, data):
        clique = data.draw(st.sampled_from(held(measurements)))
        for estimate in estimates([NoisyTable(one) for one in measurements], BASE, clique):
            cell = np.random.default_rng(2).integers(-1, 3, estimate.counts.size)
            sums, variances = estimate.summed(cell, 3)
            for group in range(3):
                weights = (cell == group).astype(float).reshape(estimate.counts.shape)
                assert sums[group] == pytest.approx(estimate.total(weights))
                assert variances[group] == pytest.approx(estimate.covariance(weights, weights))


def test_nothing_is_said_of_attributes_that_no_table_holds_together():
    tables = [NoisyTable(noiseless(clique)) for clique in (("a", "b"), ("b", "c"))]
    assert estimates(tables, BASE, ("a", "c")) == ()
    assert len(estimates(tables, BASE, ("b",))) == 1


def test_a_table_of_merged_codes_and_one_of_all_codes_are_two_coarsenings():
    tables = [NoisyTable(noiseless(("a",))), NoisyTable(noiseless(("a", "b"), coding=UNEVEN))]
    assert sorted(len(one.counts) for one in estimates(tables, BASE, ("a",))) == [2, 4]


@pytest.mark.parametrize("excess", [0.0, 0.2, 1.0, 3.0])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_half_widths_hold_what_they_say(excess, confidence):
    rng = np.random.default_rng(3)
    size = 1_000_000
    if excess:
        shape = 3 / excess
        error = rng.standard_normal(size) * np.sqrt(rng.gamma(shape, 1 / shape, size))
    else:
        error = rng.standard_normal(size)
    covered = np.mean(np.abs(error) <= half_width(confidence, excess))
    assert covered == pytest.approx(confidence, abs=6 * np.sqrt(confidence * (1 - confidence) / size))


NOISE = {
    "normal": (lambda rng, size: rng.standard_normal(size), 0.0),
    "Laplace": (lambda rng, size: rng.laplace(scale=np.sqrt(0.5), size=size), 3.0),
}
LAYOUTS = {
    "pairs and single columns": [(("a",), 9.0), (("b",), 4.0), (("a", "b"), 25.0), (("b", "c"), 16.0)],
    "three columns": [(("a", "b", "c"), 4.0), (("c",), 1.0)],
    "one table": [(("a", "b"), 1.0)],
}
LARGER = Domain({"a": 30, "b": 20, "c": 8})


@pytest.mark.parametrize("law", NOISE)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_intervals_cover_as_often_as_they_say(law, layout):
    """At least 100,000 cells for each; the tables are noisy by NumPy, so this takes seconds."""
    draw, excess = NOISE[law]
    rng = np.random.default_rng(4)
    inside = {0.95: 0, 0.99: 0}
    cells = 0
    while cells < 100_000:
        noisy = []
        for clique, variance in LAYOUTS[layout]:
            domain = LARGER.project(clique)  # the exact counts are 0: least squares is linear, so they cancel
            noise = np.sqrt(variance) * draw(rng, domain.cells()).reshape(domain.shape)
            noisy.append(NoisyTable(Measurement(Marginal(domain, noise), variance), excess))
        for clique in CLIQUES:
            for estimate in estimates(noisy, LARGER, clique):
                for confidence in inside:
                    wide = half_width(confidence, estimate.excess_kurtosis) * np.sqrt(estimate.variance)
                    inside[confidence] += int((np.abs(estimate.counts) <= wide).sum())
                cells += estimate.counts.size
    assert 0.94 < inside[0.95] / cells < 0.96
    assert 0.985 < inside[0.99] / cells < 0.994
