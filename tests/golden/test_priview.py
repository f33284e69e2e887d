"""The worked examples of the papers that describe PriView, and one tiny run with scripted noise, number by number."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from helpers_entropy import ScriptedEntropy
from helpers_holders import holder_of
from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal, Measurement
from sfumato.data.records import Records
from sfumato.learn.select.covering import Covering
from sfumato.pipeline import run
from sfumato.privacy.budget import PureDP
from sfumato.privacy.events import Free
from sfumato.privacy.mechanisms import Laplace
from sfumato.recipes.priview import PRIVIEW
from sfumato.reconcile.consistency import Overlaps
from sfumato.schema.schema import Schema

CONCEPT_PAPER = ["1234", "1567", "2358", "4678", "2367", "1458"]


def binary(names):
    return Domain(dict.fromkeys(names, 2))


def test_eight_columns_need_no_more_views_than_the_six_of_the_concept_paper():
    names = "12345678"
    views = Covering(cells=16).views(binary(names), 2)
    for design in (CONCEPT_PAPER, views):
        assert {pair for view in design for pair in combinations(view, 2)} == set(combinations(names, 2))
    assert len(views) <= len(CONCEPT_PAPER)


def test_twelve_columns_are_covered_by_three_views_of_eight_as_in_example_1():
    views = Covering(cells=256).views(binary("abcdefghijkl"), 2)
    assert len(views) == 3
    assert [len(set(one) & set(other)) for one, other in combinations(views, 2)] == [4, 4, 4]


def test_example_1_is_made_consistent_on_the_empty_set_first_and_then_on_what_two_views_share():
    names = "abcdefghijkl"
    domain = binary(names)
    views = [tuple(names[:8]), tuple(names[:4] + names[8:]), tuple(names[4:])]
    noisy = [Measurement(Marginal(domain.project(view), np.zeros((2,) * 8)), 1.0) for view in views]
    order = Overlaps.of(noisy).shared
    assert [part.members for part in order] == [(0, 1, 2), (0, 1), (0, 2), (1, 2)]
    assert [1 / part.spread[0].ravel()[0] for part in order] == [256, 16, 16, 16]


@pytest.fixture(scope="module")
def tiny():
    """60 rows of 4 binary columns in views of at most 8 cells, epsilon 1."""
    columns = [{"name": name, "type": "categorical", "categories": ["0", "1"]} for name in "abcd"]
    schema = Schema.parse({"name": "tiny", "columns": columns})
    rows = np.random.default_rng(0).random((60, 4)) < [0.5, 0.3, 0.1, 0.05]
    records = Records(binary("abcd"), [column.astype(np.uint8) for column in rows.T])
    holder, ledger = holder_of(records, PureDP(1), entropy=ScriptedEntropy(7))
    small = replace(PRIVIEW, learn=replace(PRIVIEW.learn, select=Covering(strength=2, cells=8)))
    return run(small, holder, schema, ledger), ledger.statement()


def test_the_views_and_the_ledger(tiny):
    model, statement = tiny
    assert model.selection.cliques == (("a", "b", "d"), ("a", "c"), ("b", "c", "d"))
    assert [(stage, event.question) for stage, event in statement.entries if isinstance(event, Free)] == [
        ("encode", "use the categories and bins of the schema"),
        ("learn", "choose 3 views that hold every pair of columns with at most 100,000 cells"),
        ("reconcile", "make the noisy tables agree"),
    ]
    noises = [event.noise for _, event in statement.entries if not isinstance(event, Free)]
    assert noises == [Laplace(Fraction(3))] * 3  # views / epsilon
    assert statement.spent == 1


def test_the_noisy_views(tiny):
    model, _ = tiny
    assert [one.marginal.counts.ravel().tolist() for one in model.measurements] == [
        [17, 0, 14, 1, 19, 12, 9, 6],  # exact: 19, 1, 9, 1, 21, 1, 8, 0
        [26, 4, 24, 7],  # exact: 27, 3, 26, 4
        [36, 6, 6, 1, 20, -7, 4, -1],  # exact: 36, 2, 4, 0, 15, 0, 2, 1
    ]


def test_the_reconciled_views(tiny):
    model, _ = tiny
    assert [np.round(table.counts, 3).ravel().tolist() for table in model.marginals.tables] == [
        [17.941, -0.054, 13.173, 0.009, 19.292, 7.672, 7.535, 0.683],
        [27.316, 3.752, 26.873, 8.309],
        [32.834, 4.679, 4.399, 2.938, 16.725, -0.048, 3.984, 0.739],
    ]
    # Totals of 78, 61 and 65 rows with variances in proportion to 8, 4 and 8 cells.
    assert model.marginals.tables[0].total == pytest.approx((78 / 8 + 61 / 4 + 65 / 8) / (1 / 8 + 1 / 4 + 1 / 8))


def test_rows_can_be_drawn(tiny):
    model, _ = tiny
    rows = PRIVIEW.synthesize(model.marginals, model.selection, model.marginals.rows, np.random.default_rng(0))
    assert len(rows) == 66
    for table in model.marginals.tables:
        assert np.abs(rows.project(table.clique).counts - table.counts).max() < 2
