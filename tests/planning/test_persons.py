"""How many rows of a person to count: compared from a public assumption, and asked for where there is none."""

import numpy as np
import pytest

from sfumato.errors import BudgetError
from sfumato.planning.persons import ASK, RowsAssumed, advice, persons_choices
from sfumato.planning.plan import plan
from sfumato.privacy.budget import PureDP
from sfumato.schema.schema import Schema

COLUMN = {"name": "ward", "type": "categorical", "categories": ["a", "b", "c"]}
VISITS = {"name": "visits", "columns": [COLUMN], "unit": {"rows": 2, "column": "patient"}, "rows_guess": 2000}


def choices(text, epsilon=1):
    schema = Schema.parse(VISITS)
    return persons_choices(schema, PureDP(epsilon), 2000, 1, RowsAssumed.parse(text))


def test_what_is_cut_is_what_truncation_cuts():
    rows = np.repeat([1, 2, 8], [70, 20, 10])
    assumed = RowsAssumed.parse("1:70 2:20%, 8:10")
    assert assumed.mean == pytest.approx(rows.mean())
    for most in (1, 2, 5, 8, 20):
        assert assumed.cut(most) == pytest.approx(1 - np.minimum(rows, most).sum() / rows.sum())


def test_noise_grows_with_rows_and_not_with_persons():
    found = choices("1:70 2:20 8:10")
    of_rows, of_persons = ([one for one in found if one.count == count] for count in ("rows", "persons"))
    assert [one.rows for one in of_rows] == [1, 2, 3, 5, 8]
    kept = [one.noise * (1 - one.cut) for one in of_rows]
    np.testing.assert_allclose(np.array(kept) / kept[0], [1, 2, 3, 5, 8], rtol=0.05)
    np.testing.assert_allclose([one.noise for one in of_persons], of_persons[0].noise, rtol=0.05)


def test_less_budget_speaks_for_fewer_rows():
    many, few = (min(choices("1:95 20:5", epsilon)[:6], key=lambda one: one.error).rows for epsilon in (10, "0.01"))
    assert many > few
    assert f"at most {many} rows" in advice(choices("1:95 20:5", 10))


@pytest.mark.parametrize("text", ["", "1", "1:x", "0:5", "1:5 1:6", "1:0", "1:-5", "9" * 9 + ":1"])
def test_other_texts_are_refused(text):
    with pytest.raises(BudgetError, match="rows per person are given"):
        RowsAssumed.parse(text)


def test_a_plan_asks_for_what_it_needs():
    schema = Schema.parse(VISITS)
    asked = plan(schema, epsilon=1, method="privbayes")
    assert (asked.persons, asked.persons_advice) == ((), ASK)
    told = plan(schema, epsilon=1, method="privbayes", rows_per_person="1:1 4:1")
    assert {one.rows for one in told.persons} == {1, 2, 3, 4}
    assert told.to_dict()["persons"][0]["cut"] == pytest.approx(0.6)
    nobody = Schema.parse(VISITS | {"unit": {"rows": 2}})
    assert plan(nobody, epsilon=1, method="privbayes").persons_advice == ""
    with pytest.raises(BudgetError, match="names no identifier"):
        plan(nobody, epsilon=1, method="privbayes", rows_per_person="1:1")
