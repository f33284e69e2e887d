"""Rounds spend what they say, on what they say, and never more than a purse holds."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from helpers_auto import COLUMNS, records_of, run_auto, schema_of
from sfumato.data.records import Records
from sfumato.data.selection import Apart, Layers
from sfumato.errors import BudgetError, ModelTooLarge
from sfumato.learn.rounds import Rounds
from sfumato.models.junction_tree import junction_tree
from sfumato.models.layers import coarse_domain
from sfumato.privacy.budget import ApproxDP, PureDP
from sfumato.privacy.events import Free
from sfumato.privacy.scores import GRID
from sfumato.recipes.auto import AUTO, AUTO_PARTIES
from sfumato.synthesize.graphical import Graphical

ROUNDING = Fraction(1, 10**5)


def costs(ledger, stage):
    """What a stage paid for: (question, cost, sensitivity) of each event."""
    notion = ledger.budget.notion
    events = [event for where, event in ledger.statement().entries if where == stage and not isinstance(event, Free)]
    return [(event.question, event.cost(notion), event.sensitivity) for event in events]


@pytest.mark.parametrize("budget", [ApproxDP(1, "1e-6"), ApproxDP("0.01", "1e-9"), PureDP(2)], ids=str)
def test_every_round_pays_for_its_scores_and_tables_and_nothing_is_left(budget):
    model, ledger = run_auto(records_of(), schema_of(), budget)
    total = ledger.budget.total.amount
    encoded = costs(ledger, "encode")
    asked = ["table of no column: the number of rows", *(f"table {name}" for name in COLUMNS)]
    assert [question for question, _, _ in encoded] == asked
    assert encoded[0][1] == pytest.approx(float(total / 200), rel=1e-5)
    columns = sum(cost for _, cost, _ in encoded[1:])
    assert total * Fraction(99, 1000) * (1 - ROUNDING) < columns <= total * Fraction(495, 1000)

    left = total - sum(cost for _, cost, _ in encoded)
    learned = costs(ledger, "learn")
    scores = [(cost, sensitivity) for question, cost, sensitivity in learned if question.startswith("distance of")]
    # Where noise would drown every distance, none is asked for; else each round asks, unless one finds nothing.
    assert len(scores) in ({0} if budget.epsilon < 1 else {2, AUTO.learn.rounds})
    for cost, sensitivity in scores:
        share = left * AUTO.learn.select_part / AUTO.learn.rounds
        assert share * (1 - ROUNDING) < cost <= share
        assert sensitivity.l1 % GRID == 0
        assert sensitivity.l1 >= GRID  # a row for each pair
    assert 0 <= ledger.left < total * ROUNDING
    tables = [question for question, _, _ in learned if question.startswith("table")]
    assert len(tables) + len(encoded) == len(model.measurements)
    assert [one.event for one in model.measurements] == sorted({one.event for one in model.measurements})


@pytest.mark.parametrize(("columns", "rows"), [({"a": 3}, 50), ({"a": 1, "b": 1}, 9), ({"a": 2, "b": 2, "c": 9}, 0)])
def test_what_no_pair_is_worth_goes_into_single_columns(columns, rows):
    model, ledger = run_auto(records_of(columns, rows, dependent=0.0), schema_of(columns), ApproxDP("0.1", "1e-6"))
    assert 0 <= ledger.left < ledger.budget.total.amount * ROUNDING
    assert {one.clique for one in model.marginals.tables} >= {(name,) for name in columns}
    assert model.marginals.rows >= 1


def test_a_column_of_one_code_is_in_no_pair_and_models_are_still_compared():
    """Noise may leave a column one code only, and then the noisy tables of all pairs do not have it."""
    columns = {"a": 4, "b": 3, "c": 1}
    recipe = replace(AUTO, learn=AUTO_PARTIES.learn, needs=AUTO_PARTIES.needs)
    model, ledger = run_auto(records_of(columns, 20_000), schema_of(columns), recipe=recipe)
    assert ("a", "b") in model.selection.cliques
    assert 0 <= ledger.left < ledger.budget.total.amount * ROUNDING


def test_columns_that_hardly_vary_are_not_asked_about():
    """Their distances could not stand out, and would only widen the noise of the others."""
    columns = {"a": 4, "b": 3, **{f"rare{number}": 2 for number in range(20)}}
    made = records_of(columns, 20_000)
    rare = [np.where(codes > 0, np.arange(len(made)) % 997 == 0, 0) for codes in made.columns[2:]]
    records = Records(made.domain, [*made.columns[:2], *rare])
    model, ledger = run_auto(records, schema_of(columns))
    asked = [question for question, _, _ in costs(ledger, "learn") if question.startswith("distance of")]
    assert asked
    assert int(asked[0].split()[2]) < 30  # of 231 pairs
    assert ("a", "b") in {one.clique for one in model.measurements}


def test_a_table_of_independent_columns_spends_its_budget_on_columns():
    """Scores are asked for once; what they promise is no tenth of the error, and columns get all that is left."""
    columns = {f"c{number}": 2 for number in range(40)}
    model, ledger = run_auto(records_of(columns, 20_000, dependent=0.0), schema_of(columns), ApproxDP("0.2", "1e-9"))
    asked = [question for question, _, _ in costs(ledger, "learn") if question.startswith("distance of")]
    assert len(asked) <= 1
    assert all(len(one.clique) < 2 for one in model.measurements)
    single = sum(1 / one.variance for one in model.measurements if len(one.clique) == 1)
    assert single > 0.97 * 2 * ledger.budget.total.amount
    assert 0 <= ledger.left < ledger.budget.total.amount * ROUNDING


def test_the_tree_stays_within_its_limit_and_holds_what_it_says():
    recipe = replace(AUTO, learn=Rounds(limit=300))
    model, _ = run_auto(records_of(rows=30_000), schema_of(), recipe=recipe)
    layers = model.selection.structure
    assert isinstance(layers, Layers)
    assert "age" in {level.column for level in layers.coarser}
    coarse, _ = coarse_domain(model.recoding.domain, layers)
    assert junction_tree(coarse, [(name,) for name in coarse] + list(layers.inside)).cells <= 300
    assert set(layers.inside) < set(model.selection.cliques)  # in the last round more pairs are worth their noise


def test_groups_that_are_kept_apart_are_never_tied():
    schema = schema_of(apart=[["a", "c"], ["b", "d", "age"]])
    model, ledger = run_auto(records_of(rows=20_000), schema)
    structure = model.selection.structure
    assert isinstance(structure, Apart)
    groups = list(map(set, structure.groups))
    for one in (*model.measurements, *model.marginals.tables):
        assert any(set(one.clique) <= group for group in groups)
    assert any(len(one.clique) == 2 for one in model.marginals.tables)
    assert 0 <= ledger.left < ledger.budget.total.amount * ROUNDING


def test_a_synthesizer_that_could_not_serve_a_table_never_gets_it():
    recipe = replace(AUTO, synthesize=Graphical(limit=150))
    model, ledger = run_auto(records_of(rows=20_000), schema_of(), ApproxDP(3, "1e-6"), recipe=recipe)
    recipe.synthesize.check(model.recoding.domain, model.selection)  # does not refuse
    with pytest.raises(ModelTooLarge):
        recipe.synthesize.check(model.recoding.domain, run_auto(records_of(rows=20_000), schema_of())[0].selection)
    assert 0 <= ledger.left < ledger.budget.total.amount * ROUNDING


def test_the_same_answers_lead_to_the_same_questions_and_model():
    (one, first), (two, second) = (run_auto(records_of(), schema_of(), seed=3) for _ in range(2))
    assert first.statement() == second.statement()
    assert one.selection == two.selection
    for left, right in zip(one.marginals.tables, two.marginals.tables, strict=True):
        assert np.array_equal(left.counts, right.counts)


def test_rounds_that_make_no_sense_are_refused():
    for wrong in ({"rounds": 0}, {"select_part": Fraction(0)}, {"select_part": Fraction(1)}):
        with pytest.raises(BudgetError):
            Rounds(**wrong)
