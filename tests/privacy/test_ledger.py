import json
import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers_cpu import least_cpu_seconds
from sfumato.errors import BudgetError, BudgetExceeded
from sfumato.privacy.accountant import membership_advantage
from sfumato.privacy.budget import ZCDP, ApproxDP, PureDP, SkellamDP
from sfumato.privacy.events import Choice, Free, Noisy, event_from_dict, total_cost
from sfumato.privacy.ledger import Ledger, Statement
from sfumato.privacy.mechanisms import Gaussian, Laplace
from sfumato.privacy.mechanisms.exponential import Exponential
from sfumato.privacy.sensitivity import Notion, Sensitivity

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


@given(st.lists(st.integers(0, 5), max_size=40))
def test_what_events_cost_together_is_the_sum_of_what_each_costs(drawn):
    shared = [laplace(scale) for scale in (3, 7)]  # the very same noise in many events
    kinds = [
        lambda: Noisy("other", shared[0].noise, ONE),
        lambda: Noisy("other", shared[0].noise, Sensitivity.single(2)),
        lambda: shared[1],
        lambda: laplace(3),
        lambda: Choice("choice", Exponential(Fraction(1, 9)), 2),
        lambda: Free("nothing", "reads no rows"),
    ]
    events = [kinds[number]() for number in drawn]
    assert total_cost(iter(events), Notion.PURE) == sum((event.cost(Notion.PURE) for event in events), Fraction(0))


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
    ledger.stage = "learn"
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
    assert read.spent == Fraction(1, 72)
    assert read.guarantee == {"epsilon": 1.0, "delta": 1e-9}
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
    assert ledger.statement().sentence() == (
        "epsilon = 1 (pure), protecting one person's row, added or removed. Whoever sees the release and knows "
        "everything else can tell which of the two tables it was made from at most 73.11 % of the time (a coin: 50 %)"
    )


BUDGETS = [PureDP("0.3"), ZCDP("0.07"), ApproxDP("0.7", "3e-7"), SkellamDP("0.7", "3e-7")]


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_the_guarantee_is_the_budget_that_was_opened_however_little_was_spent(budget):
    """What a run spends can follow from noisy answers; a figure that does is no guarantee (finding 4)."""
    ledger = Ledger(budget, "one row")
    before = ledger.statement()
    ledger.charge(laplace(100))
    after = ledger.statement()
    assert 0 < after.spent < budget.total.amount / 10
    assert after.guarantee == before.guarantee == budget.guarantee
    assert after.sentence() == before.sentence()
    record = after.to_dict()
    assert record["guarantee"] == budget.guarantee
    assert record["spent"] == pytest.approx(float(after.spent))
    exact = {name: Fraction(record["budget"][name]) for name in budget.guarantee if name in record["budget"]}
    assert exact  # as agreed, to the last digit
    assert {name: Fraction(str(budget.guarantee[name])) for name in exact} == exact


@given(st.fractions(Fraction(1, 9_999), 9_999), st.fractions(Fraction(1, 10**12), Fraction(1, 11)))
def test_printed_budgets_are_never_smaller_than_the_true_ones(epsilon, delta):
    statement = Statement(ApproxDP(epsilon, delta), "one row", ())
    printed = re.match(r"epsilon = (\S+), delta = (\S+), protecting one row\. ", statement.sentence())
    assert epsilon <= Fraction(printed[1]) <= epsilon * (1 + Fraction(1, 10**4))
    assert delta <= Fraction(printed[2]) <= delta * (1 + Fraction(1, 10**4))
    assert epsilon <= Fraction(str(statement.guarantee["epsilon"]))
    assert delta <= Fraction(str(statement.guarantee["delta"]))
    share = Fraction(re.search(r"at most (\S+) %", statement.sentence())[1]) / 100
    assert float(share) >= (1 + membership_advantage(float(epsilon), float(delta))) / 2 - 1e-12


def test_pure_is_said_where_delta_is_exactly_zero_and_nowhere_else():
    sentences = [Statement(budget, "one row", ()).sentence() for budget in BUDGETS]
    assert ["(pure)" in sentence for sentence in sentences] == [True, False, False, False]


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_domains_that_were_read_from_the_data_stand_in_the_sentence_and_survive_json(budget):
    statement = Ledger(budget, "one row, added or removed", ("city", "job")).statement()
    words = "protecting one row, added or removed, except that the domain of city, job was read from the data"
    assert words in statement.sentence()
    read = Statement.from_dict(json.loads(json.dumps(statement.to_dict())))
    assert read == statement
    assert read.observed == ("city", "job")
    assert "except" not in Ledger(budget, "one row").statement().sentence()


GOOD = {
    "laplace": {"scale": "2", "sensitivity_l1": "1", "sensitivity_l2_squared": "1"},
    "gaussian": {"sigma": "2", "sensitivity_l1": "1", "sensitivity_l2_squared": "1"},
    "skellam": {"mu": "2", "sensitivity_l1": "1", "sensitivity_l2_squared": "1"},
    "choice": {"rate": "1/2", "sensitivity": "1"},
}


@pytest.mark.parametrize("bad", ["0", "-1", "-1/7", "1e4000000", "1e-4000000", "9" * 2000, "nan", "", None, [], {}])
@pytest.mark.parametrize(("kind", "key"), [(kind, key) for kind, keys in GOOD.items() for key in keys])
def test_numbers_that_cannot_be_true_are_refused_when_a_ledger_is_read(kind, key, bad):
    record = {"event": kind, "question": "?", **GOOD[kind]}
    event_from_dict(record)

    def refused():
        with pytest.raises(BudgetError, match=r"must be above 0|cannot be read"):
            event_from_dict(record | {key: bad})

    assert least_cpu_seconds(refused) < 0.2


def test_a_ledger_with_sensitivities_of_no_whole_numbers_is_refused():
    """A reader's ledger with all squared L2 sensitivities divided by a million stated epsilon 0.000137 (finding 11)."""
    record = {"event": "gaussian", "question": "?", **GOOD["gaussian"]}
    for l1, l2_squared in (("1", "1/1000000"), ("3", "2"), ("1", "2"), ("2", "5")):
        with pytest.raises(BudgetError, match="no whole numbers"):
            event_from_dict(record | {"sensitivity_l1": l1, "sensitivity_l2_squared": l2_squared})
    with pytest.raises(BudgetError, match="is not whole"):
        event_from_dict({"event": "choice", "question": "?", "rate": "1", "sensitivity": "1/2"})


@pytest.mark.parametrize(
    "broken", [[], "x", None, {"events": []}, {"budget": [], "protects": "", "events": [], "observed": []}]
)
def test_what_is_no_ledger_is_refused(broken):
    with pytest.raises(BudgetError, match=r"a ledger cannot be read|a ledger has a budget"):
        Statement.from_dict(broken)


def test_a_ledger_that_costs_more_than_any_float_is_refused_and_not_crashed_on():
    ledger = Ledger(PureDP(1), "one row")
    with pytest.raises(BudgetExceeded, match=r"would cost 1e400 epsilon; 1 is left of 1"):
        ledger.charge(Noisy("q", Laplace(Fraction(1, 10**400)), ONE))
    record = Statement(ApproxDP(1, "1e-6"), "one row", ()).to_dict()
    record["events"] = [{"stage": "s", "event": "laplace", "question": "?", **GOOD["laplace"], "scale": "1e-400"}]
    with pytest.raises(BudgetExceeded, match="does not keep its promise"):
        Statement.from_dict(record)


def test_an_answer_has_an_event_of_its_own():
    ledger = Ledger(PureDP(1), "one row")
    ledger.note("read the schema", "it is public")
    (number,) = ledger.charge(laplace(2))
    ledger.answer(number, [3, -1])
    assert ledger.answers == {number: (3, -1)}
    for wrong in (0, number):
        with pytest.raises(BudgetError, match="an event of its own"):
            ledger.answer(wrong, [1])
