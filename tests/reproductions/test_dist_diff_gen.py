"""DistDiffGen: its choices follow the rows, its ledger has every one of them, and its table is of the union."""

from fractions import Fraction

import numpy as np
import pytest

from helpers_entropy import ScriptedEntropy
from helpers_parties import DOMAIN, SCHEMA, engines_of, rows_of, split
from reproductions.dist_diff_gen import CIPHERTEXT, NOTICE, dist_diff_gen
from sfumato.data.domain import Domain
from sfumato.data.records import Records
from sfumato.engines.memory import Memory
from sfumato.errors import BudgetError, MethodError
from sfumato.privacy.budget import ApproxDP, PureDP
from sfumato.privacy.events import Choice, Noisy
from sfumato.privacy.neighbours import Neighbours

ROWS = rows_of()
NEIGHBOURS = Neighbours.of(SCHEMA)


def halves(rows):
    return [Memory(rows.domain, [part]) for part in split(rows, 2)]


def released(epsilon=1, rows=ROWS, seed=1, **options):
    parts = halves(rows)
    options = {"label": "b", "steps": 4} | options
    return dist_diff_gen(parts, NEIGHBOURS, PureDP(epsilon), entropy=ScriptedEntropy(seed), **options)


def test_the_ledger_has_every_choice_and_the_counts_and_no_more_than_epsilon():
    made = released(2, numeric=("a",), steps=3)
    choices = [event for _, event in made.statement.entries if isinstance(event, Choice)]
    counts = [event for _, event in made.statement.entries if isinstance(event, Noisy)]
    each = Fraction(2, 2 * (1 + 2 * 3))
    assert {event.cost(made.statement.budget.notion) for event in choices} == {each}
    assert 4 <= len(choices) <= 1 + 2 * 3  # each step, and the places of intervals
    assert [event.cost(made.statement.budget.notion) for event in counts] == [1]
    assert made.statement.spent == 1 + len(choices) * each <= 2
    made.statement.verify()
    assert NOTICE in {getattr(event, "reason", "") for _, event in made.statement.entries}
    assert made.notice == NOTICE


def test_with_much_budget_the_table_is_that_of_the_union_and_the_best_column_is_split():
    made = released(10_000)
    assert released(10_000, steps=1).lookups["a"].tolist() == [0, 0, 1, 1]  # a tells b
    exact = np.zeros(made.table.domain.shape, dtype=np.int64)
    codes = [ROWS[name] if name == "b" else made.lookups[name][ROWS[name]] for name in made.table.domain]
    np.add.at(exact, tuple(codes), 1)
    assert (made.table.counts == exact).all()
    rows = made.sample(seed=0)
    assert len(rows) == len(ROWS)
    assert rows.domain == DOMAIN
    assert (rows.project(("b",)).counts == ROWS.project(("b",)).counts).all()


def test_an_interval_is_split_where_the_label_changes():
    domain = Domain([("age", 50), ("sick", 2)])
    rng = np.random.default_rng(0)
    age = rng.integers(0, 50, 4000)
    rows = Records(domain, [age, (age >= 37).astype(np.int64)])
    made = released(1000, rows, label="sick", numeric=("age",), steps=1)
    assert made.lookups["age"].tolist() == [0] * 37 + [1] * 13
    # Of the two new intervals, places were chosen too, at the price of one choice: no row is in both.
    assert sum(isinstance(event, Choice) for _, event in made.statement.entries) == 3


def test_a_group_is_chosen_with_the_probability_of_the_mechanism():
    # Two columns, one of which tells the label of 2 rows more; exp(rate * 2) with rate epsilon / 8 for one step.
    domain = Domain([("x", 2), ("y", 2), ("z", 2)])
    z = np.array([0] * 6 + [1] * 4)
    x = np.array([0] * 6 + [1] * 2 + [0] * 2)
    rows = Records(domain, [x, np.zeros_like(x), z])
    rate, runs, first = 0.5, 600, 0
    entropy = ScriptedEntropy(5)
    for _ in range(runs):
        parts = halves(rows)
        made = dist_diff_gen(parts, NEIGHBOURS, PureDP(4), label="z", steps=1, entropy=entropy)
        first += int(made.lookups["x"].max())
    wanted = 1 / (1 + np.exp(-rate * 2))
    assert abs(first - runs * wanted) < 5 * np.sqrt(runs * wanted * (1 - wanted))


def test_hidden_columns_are_drawn_blindly_and_bytes_grow_with_labels():
    made = released(1000, hidden=("a",))
    assert "a" not in made.table.domain
    assert not made.lookups["a"].any()
    assert np.bincount(made.sample(seed=0)["a"], minlength=4).min() > 100
    assert made.sent > 2 * CIPHERTEXT * made.table.domain.cells()


def test_what_it_cannot_do_is_refused():
    parts = halves(ROWS)
    with pytest.raises(BudgetError, match="leave delta out"):
        dist_diff_gen(parts, NEIGHBOURS, ApproxDP(1, "1e-9"), label="b")
    for wrong in ({"label": "nobody"}, {"label": "b", "steps": 0}):
        with pytest.raises(MethodError, match="two parties, a label"):
            dist_diff_gen(parts, NEIGHBOURS, PureDP(1), **wrong)
    with pytest.raises(MethodError, match="two parties"):
        dist_diff_gen(engines_of(split(ROWS, 3)), NEIGHBOURS, PureDP(1), label="b")
