"""Runs of rare codes: the cut by running sums is the cut by sums taken anew, and takes linear time."""

from math import sqrt
from time import process_time

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.encode.rare_values import _neighbours


def by_definition(counts, threshold):
    """The sum of a run is taken anew for every code."""

    def stands_out(run):
        return counts[run].sum() >= threshold * sqrt(len(run))

    runs = []
    for code in range(len(counts)):
        if not runs or stands_out(runs[-1]) or stands_out([code]):
            runs.append([])
        runs[-1].append(code)
    kept, weak = [], []
    for run in runs:
        if stands_out(run):
            kept.append(weak + run)
            weak = []
        else:
            (kept[-1] if kept else weak).extend(run)
    return [*kept, weak] if weak else kept


@settings(max_examples=300)
@given(counts=st.lists(st.integers(-50, 200), max_size=40), threshold=st.sampled_from([0.5, 10.5, 60.25, 500.0]))
def test_running_sums_cut_as_sums_taken_anew(counts, threshold):
    counts = np.array(counts, dtype=np.float64)  # whole numbers: both sums are exact
    assert _neighbours(counts, threshold) == by_definition(counts, threshold)


def test_a_hundred_thousand_empty_codes_take_no_time():
    """It was 150 seconds."""
    started = process_time()
    assert len(_neighbours(np.zeros(100_000), 10.0)) == 1
    assert process_time() - started < 5
