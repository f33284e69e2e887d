import numpy as np
import pytest

from sfumato.data.domain import Domain
from sfumato.data.records import Records
from sfumato.errors import MethodError, SchemaError
from sfumato.evaluate.tasks import Task, mean_misclassified, task_scores

DOMAIN = Domain({"age": 20, "job": 4, "degree": 5})
ORDERED = frozenset({"age", "degree"})
DEGREE = Task("has a degree", "degree", frozenset({3, 4}))
OLD = Task("is old", "age", frozenset(range(12, 20)))


def people(rows, seed, wrong=0.1):
    """Those of 12 and more have degree 3 or 4, but for a share; jobs mean nothing."""
    rng = np.random.default_rng(seed)
    age, job = rng.integers(0, 20, rows), rng.integers(0, 4, rows)
    high = (age >= 12) ^ (rng.random(rows) < wrong)
    return Records(DOMAIN, [age, job, np.where(high, rng.integers(3, 5, rows), rng.integers(0, 3, rows))])


def test_a_linear_machine_is_wrong_just_where_nobody_can_know():
    test = people(4000, 1)
    scores = task_scores(people(4000, 0), test, [DEGREE, OLD], ORDERED)
    for score in scores:
        assert score.misclassified == pytest.approx(0.1, abs=0.025)
        wanted = score.task.answers(test)
        assert score.constant == pytest.approx(min(wanted.mean(), 1 - wanted.mean()))
    assert mean_misclassified(scores) == pytest.approx((scores[0].misclassified + scores[1].misclassified) / 2)


def test_rows_without_the_dependence_teach_nothing():
    (score,) = task_scores(people(4000, 0, wrong=0.5), people(4000, 1), [DEGREE], ORDERED)
    assert score.misclassified > 0.3


def test_answers_by_hand():
    table = Records(DOMAIN, [np.array([0, 12, 19]), np.zeros(3, int), np.array([2, 3, 4])])
    assert DEGREE.answers(table).tolist() == [False, True, True]


@pytest.mark.parametrize("answer", [True, False])
def test_a_table_with_one_answer_is_scored_as_a_constant_guess(answer):
    everyone = people(500, 0)
    only = everyone.take(np.flatnonzero(DEGREE.answers(everyone) == answer))
    test = people(500, 1)
    (score,) = task_scores(only, test, [DEGREE], ORDERED)
    assert score.misclassified == pytest.approx((DEGREE.answers(test) != answer).mean())


def test_the_number_of_rows_is_capped_and_the_seed_repeats():
    one, two = (task_scores(people(3000, 0), people(3000, 1), [DEGREE], ORDERED, rows=200, seed=5) for _ in range(2))
    assert one == two
    assert one != task_scores(people(3000, 0), people(3000, 1), [DEGREE], ORDERED, rows=200, seed=6)


def test_questions_that_cannot_be_asked_are_refused():
    table = people(50, 0)
    for codes in (frozenset(), frozenset({5}), frozenset({-1})):
        with pytest.raises(MethodError, match=r"task 'odd' asks for codes of column 'degree'; give some of 0 … 4"):
            task_scores(table, table, [Task("odd", "degree", codes)], ORDERED)
    with pytest.raises(SchemaError, match="column 'height' is not in the table"):
        task_scores(table, table, [Task("odd", "height", frozenset({1}))], ORDERED)
    with pytest.raises(MethodError, match="needs rows"):
        task_scores(people(0, 0), table, [DEGREE], ORDERED)


def test_a_hidden_column_is_not_seen():
    blind = Task("has a degree", "degree", DEGREE.positive, frozenset({"age"}))
    assert DEGREE.shown(people(5, 0), ORDERED).shape == (5, 1 + 4)
    assert blind.shown(people(5, 0), ORDERED).shape == (5, 4)
    (score,) = task_scores(people(2000, 0), people(2000, 1), [blind], ORDERED)
    assert score.misclassified > 0.35
