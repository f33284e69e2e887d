import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import BudgetError, BudgetExceeded
from sfumato.privacy.budget import ZCDP, ApproxDP, PureDP
from sfumato.privacy.events import Gaussian, Laplace, Noisy, Sensitivity, event_from_dict
from sfumato.privacy.ledger import Ledger, Statement

ONE = Sensitivity.single(1)


def laplace(scale):
    return Noisy("q", Laplace(Fraction(scale)), ONE)


def gaussian(sigma):
    return Noisy("q", Gaussian(Fraction(sigma)), ONE)


@given(st.lists(st.fractions(Fraction(1, 100), 1), min_size=1, max_size=60))
def test_a_budget_split_exactly_can_be_spent_exactly(parts):
    ledger = Ledger(PureDP(1), "a row")
    for part in parts:
        ledger.charge(laplace(sum(parts) / part))
    assert ledger.left == 0
    with pytest.raises(BudgetExceeded):
        ledger.charge(laplace(10**12))


def test_a_refused_charge_is_not_recorded():
    ledger = Ledger(PureDP(1), "a row")
    ledger.charge(laplace(2))
    before = ledger.statement()
    with pytest.raises(BudgetExceeded, match=r"would cost 1 epsilon; 0\.5 is left of 1; nothing was computed"):
        ledger.charge(laplace(2), laplace(2))
    assert ledger.statement() == before
    ledger.charge(laplace(2))


def test_gaussian_noise_is_refused_under_pure_dp():
    with pytest.raises(BudgetError, match="no cost in pure DP"):
        Ledger(PureDP(1), "a row").charge(gaussian(1000))


@pytest.mark.parametrize("budget", [PureDP(2), ZCDP(2), ApproxDP(2, 1e-9)])
def test_statements_survive_json(budget):
    ledger = Ledger(budget, "one row")
    ledger.stage = "measure"
    ledger.charge(laplace(50))
    ledger.note("look at the schema", "public")
    statement = Statement.from_dict(json.loads(json.dumps(ledger.statement().to_dict())))
    assert statement == ledger.statement()


def test_the_total_is_recomputed_from_the_events_and_not_believed():
    ledger = Ledger(ApproxDP(1, 1e-9), "one row")
    ledger.charge(gaussian(6))
    record = ledger.statement().to_dict()
    record["spent"] = 0.0
    record["guarantee"] = {"epsilon": 0.0, "delta": 0.0}
    read = Statement.from_dict(record)
    assert read.guarantee["epsilon"] == pytest.approx(0.9, abs=0.1)
    record["events"] = record["events"] * 5
    with pytest.raises(BudgetExceeded, match="does not keep its promise"):
        Statement.from_dict(record)


def test_an_unknown_event_is_an_error_and_never_free():
    with pytest.raises(BudgetError, match="kind 'telepathy'"):
        event_from_dict({"event": "telepathy", "question": "?", "sensitivity_l1": "1", "sensitivity_l2_squared": "1"})
    with pytest.raises(BudgetError, match="cannot be read"):
        event_from_dict({"event": "laplace", "question": "?", "scale": "0/0"})
    with pytest.raises(BudgetError, match="cannot be read"):
        Statement.from_dict({"budget": {"kind": "pure", "epsilon": "1"}})


def test_the_sentence_says_what_an_attacker_can_do():
    ledger = Ledger(PureDP(1), "one person's row, added or removed")
    ledger.charge(laplace(1))
    assert "epsilon = 1 (pure)" in ledger.statement().sentence()
    assert "at most 73.11 % of the time" in ledger.statement().sentence()
