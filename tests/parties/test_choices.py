"""Choices that one party makes on its own rows, in turn: who pays, what is refused, and what outlives a crash."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from helpers_protocol import Study

from helpers_parties import SCHEMA, epsilon, holders_of, rows_of, split
from sfumato.cli.party_show import show_summary
from sfumato.data.selection import Family
from sfumato.errors import MethodError, ProtocolError, StudyEnded, TryAgain
from sfumato.intake.codec import SchemaCodec
from sfumato.job import Job
from sfumato.parties import local
from sfumato.parties.choices import SCORE, ChoiceQuestion
from sfumato.parties.curator import Chair
from sfumato.parties.envelopes import open_, seal
from sfumato.parties.federation import Rounds, check_columns
from sfumato.parties.letters import CURATOR, ROUNDS
from sfumato.parties.local import LocalWire, federation
from sfumato.parties.messages import Ask, Choose, Chosen, Refusal
from sfumato.parties.party import answer
from sfumato.parties.store import FINAL, MemoryStore, State
from sfumato.privacy.budget import PureDP
from sfumato.privacy.events import Choice, Noisy
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.neighbours import Neighbours
from sfumato.privacy.scores import score_named
from sfumato.recipes import RECIPES
from sfumato.recipes.auto import over_parties
from sfumato.verify.findings import Result
from sfumato.verify.replay import check_run

PAIRS = tuple(Family(*one) for one in (("a", ("b",)), ("a", ("c",)), ("c", ("b",)), ("c", ("d",))))
SENSITIVITY = Neighbours.of(SCHEMA).score_of_one_party(SCORE)
COST = 4
QUESTION = ChoiceQuestion(PAIRS, Fraction(COST, 2 * SENSITIVITY), (0,) * len(PAIRS))


def choose_of(question=QUESTION, name="p0", number=ROUNDS, attempt=0, answered=(), stage="learn", coding="[]"):
    return Choose(number, attempt, CURATOR, name, stage, coding, question, answered)


def choices_of(statement):
    return [event for _, event in statement.entries if isinstance(event, Choice)]


@pytest.mark.parametrize("parties", [2, 3, 5])
@pytest.mark.parametrize("method", ["privbayes", "auto"])
def test_parties_choose_in_turn_and_nobody_pays_more_than_the_ledger_says(method, parties):
    outcome = local.run(Job(SCHEMA, over_parties(RECIPES[method]), PureDP(2)), holders_of(split(rows_of(), parties)))
    outcome.statement.verify()
    noisy = [entry for entry in outcome.statement.entries if isinstance(entry[1], Noisy)]
    charged = sum(event.cost(PureDP(2).notion) for event in choices_of(outcome.statement))
    made = 0
    for statement in outcome.parties.values():
        statement.verify()
        assert [entry for entry in statement.entries if isinstance(entry[1], Noisy)] == noisy
        own = choices_of(statement)
        made += len(own)
        assert sum(event.cost(PureDP(2).notion) for event in own) <= charged
        assert statement.spent <= outcome.statement.spent
    assert made == len(choices_of(outcome.statement)) == 3  # one for each column but the first
    # Whoever chooses for the first time has all that was charged so far.
    if parties >= 3:
        paid = [sum(event.cost(PureDP(2).notion) for event in choices_of(one)) for one in outcome.parties.values()]
        assert float(max(paid)) == pytest.approx(float(charged))


def test_a_release_of_choices_can_be_verified():
    rows = [SchemaCodec(SCHEMA).decode(part, np.random.default_rng(0)) for part in split(rows_of(), 3)]
    release, _ = local.fit(rows, SCHEMA, epsilon=2, method="privbayes")
    assert len(release.answers) == 3
    assert check_run(release, "").result is Result.PASSED
    release = replace(release, answers={number: (place + 1,) for number, (place,) in release.answers.items()})
    assert check_run(release, "").result is not Result.PASSED


def test_a_choice_is_paid_for_once_and_given_again_as_it_was():
    study = Study(budget=COST)
    (first,) = answer(study.seat("p0"), choose_of())
    assert isinstance(first, Chosen)
    assert 0 <= first.place < len(PAIRS)
    for _ in range(3):
        (again,) = answer(study.seat("p0"), choose_of())  # a new seat with the same store, as after a crash
        assert again == first
    assert study.seat("p0").statement().spent == COST
    assert study.seat("p1").statement().spent == 0
    assert study.stores["p0"].load(ROUNDS, 0).state in FINAL


def test_much_budget_chooses_the_best_family_of_that_party():
    study = Study(budget=10**4)
    surely = replace(QUESTION, rate=Fraction(10**4, 2 * SENSITIVITY))
    (chosen,) = answer(study.seat("p1"), choose_of(surely, name="p1"))
    assert PAIRS[chosen.place] == Family("a", ("b",))
    handicapped = replace(surely, handicaps=(1 << 40, 0, 0, 0))
    study = Study(budget=10**4)
    (chosen,) = answer(study.seat("p1"), choose_of(handicapped, name="p1"))
    assert PAIRS[chosen.place] == Family("c", ("d",))


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (choose_of(replace(QUESTION, rate=QUESTION.rate * 2)), "would cost 8 epsilon; 4 is left"),
        (choose_of(stage="publish"), "for a stage named 'publish'"),
        (choose_of(replace(QUESTION, families=(*PAIRS[:3], Family("a", ("x",))))), "x"),
        (choose_of(replace(QUESTION, families=(*PAIRS[:3], Family("a", ("a",))))), "twice"),
        (choose_of(coding='[["nonsense"]]'), "codes that a question names cannot be followed"),
        (choose_of(answered=((ROUNDS + 1, 0),)), "restored from a copy"),
    ],
)
def test_what_cannot_be_chosen_is_refused_and_costs_nothing(asked, reason):
    study = Study(budget=COST)
    (said,) = answer(study.seat("p0"), asked)
    assert isinstance(said, Refusal)
    assert reason in said.text
    assert study.seat("p0").statement().spent == 0


def test_another_question_in_the_place_of_one_is_refused():
    study = Study(budget=10 * COST)
    answer(study.seat("p0"), choose_of())
    (said,) = answer(study.seat("p0"), choose_of(replace(QUESTION, handicaps=(1, 0, 0, 0))))
    assert "was asked before, with other candidates" in said.text
    assert study.seat("p0").statement().spent == COST


def test_the_operator_is_shown_what_a_choice_sends_and_costs(capsys):
    seen = []
    study = Study(budget=COST, approve=lambda summary: seen.append(summary) or True)
    answer(study.seat("p0"), choose_of())
    (summary,) = seen
    assert (summary.title, summary.before["epsilon"], summary.after["epsilon"]) == ("Choice 0", 0, COST)
    show_summary(summary)
    shown = " ".join(capsys.readouterr().out.split())
    assert "which candidate was drawn, and nothing else" in shown
    assert "masked" not in shown
    assert "one of 4 sets of parents" in shown


def test_a_no_of_the_operator_is_final():
    study = Study(budget=COST, approve=lambda summary: False)
    (said,) = answer(study.seat("p0"), choose_of())
    assert "did not approve" in said.text
    study.approve = lambda summary: True
    (said,) = answer(study.seat("p0"), choose_of())
    assert "did not approve" in said.text
    assert study.seat("p0").statement().spent == 0


class Breaks(MemoryStore):
    """A store whose process is killed after some writes."""

    def __init__(self, writes):
        super().__init__()
        self.writes = writes

    def save(self, record, heads=None):
        if self.writes == 0:
            raise KeyboardInterrupt
        self.writes -= 1
        super().save(record, heads)


@pytest.mark.parametrize("writes", range(5))
def test_a_party_that_is_killed_at_any_write_pays_once_and_answers_one_thing(writes):
    study = Study(budget=COST)
    store = study.stores["p0"] = Breaks(writes)
    with pytest.raises(KeyboardInterrupt):
        answer(study.seat("p0"), choose_of())
    computed = store.load(ROUNDS, 0)
    store.writes = -1
    (chosen,) = answer(study.seat("p0"), choose_of())
    assert study.seat("p0").statement().spent == COST
    if computed is not None and computed.state is State.COMPUTED:
        assert store.load(ROUNDS, 0).payload == computed.payload  # what was drawn is not drawn again
    assert answer(study.seat("p0"), choose_of()) == (chosen,)


def choosing(study, players, store=None, times=3):
    """The curator's side of some choices: their places, and the ledger."""
    ledger = Ledger(PureDP(100), "a row")
    ledger.stage = "learn"
    chair = Chair(study.members, study.signers[CURATOR], store or study.stores[CURATOR])
    rounds = Rounds(chair, LocalWire(study.desk(), players))
    holder = federation(SCHEMA, ledger, rounds)
    places = [holder.choose(PAIRS, SCORE, epsilon(1)[0], [0] * 4) for _ in range(times)]
    return places, ledger


def test_a_curator_that_starts_again_reads_what_was_chosen():
    study = Study(budget=100)
    places, ledger = choosing(study, study.players())
    sent = len(study.mailbox.fetch("p0", 0))
    again, same = choosing(study, [])  # nobody is there to answer
    assert (again, same.statement()) == (places, ledger.statement())
    assert len(study.mailbox.fetch("p0", 0)) == sent


def test_who_is_lost_is_passed_over_where_the_manifest_allows_it_and_pays_for_its_turn():
    study = Study(parties=4, missing=1, budget=100)
    places, ledger = choosing(study, study.players()[1:], times=5)
    assert len(places) == 5
    spent = {name: study.seat(name).statement().spent for name in study.names}
    assert spent["p0"] == 0
    charged = ledger.statement().spent
    assert all(0 < spent[name] <= charged for name in study.names[1:])
    assert choosing(study, [], times=5)[0] == places


def test_who_is_lost_is_waited_for_where_nobody_may_stay_away():
    study = Study(budget=100)
    with pytest.raises(TryAgain, match=r"without p0 \(no answer\); at most 0 may stay away"):
        choosing(study, study.players()[1:])
    places, _ = choosing(study, study.players())
    assert len(places) == 3


def test_a_refusal_ends_the_study_where_nobody_may_stay_away():
    study = Study(budget=Fraction(1, 2))
    with pytest.raises(StudyEnded, match=r"without p0 \(.* would cost .* epsilon"):
        choosing(study, study.players())
    assert study.seat("p0").statement().spent == 0


def test_who_may_be_at_two_parties_is_charged_for_both():
    one, two = (Neighbours.of(SCHEMA, parties).score_of_one_party(SCORE) for parties in (1, 2))
    assert one == Neighbours.of(SCHEMA).score(SCORE)
    assert two == 2 * one


def test_numbers_of_rounds_and_of_choices_are_not_mixed_up():
    study = Study()
    signer, members = study.signers[CURATOR], study.members
    assert open_(seal(choose_of(), members.study, signer), members) == choose_of()
    ask = Ask(ROUNDS, 0, CURATOR, "p0", "learn", "[]", ())
    for message in (choose_of(number=0), ask):
        with pytest.raises(ProtocolError, match="which is none of its kind"):
            open_(seal(message, members.study, signer), members)


@pytest.mark.parametrize(
    "change",
    [
        {"rate": "0"},
        {"rate": "-1"},
        {"rate": "1" * 41},
        {"handicaps": [0, 0, 0]},
        {"handicaps": [0, 0, 0, -1]},
        {"handicaps": [0, 0, 0, True]},
        {"families": [[0, 1]], "handicaps": [0]},
        {"families": [[0, 9], [0, 1], [0, 1], [0, 1]]},
        {"columns": [1, 2, 3, 4]},
    ],
)
def test_a_question_that_nobody_would_write_is_refused(change):
    with pytest.raises((ValueError, LookupError, ProtocolError)):
        ChoiceQuestion.unpack({**QUESTION.pack(), **change})


def test_tables_that_are_too_much_to_count_are_refused():
    wide = tuple(Family(column, (parent,)) for column, parent in combinations("abcd", 2))
    ChoiceQuestion(wide, Fraction(1), (0,) * 6).require(holders_of(split(rows_of(), 1))[0].domain)
    with pytest.raises(ProtocolError, match="a choice is among 2 to"):
        ChoiceQuestion((Family("a", ()),), Fraction(1), (0,))


def test_other_scores_and_too_many_columns_are_refused_before_anybody_pays(monkeypatch):
    study = Study()
    ledger = Ledger(PureDP(1), "a row")
    rounds = Rounds(Chair(study.members, study.signers[CURATOR], MemoryStore()), LocalWire(study.desk(), []))
    with pytest.raises(MethodError, match="parties choose by R"):
        federation(SCHEMA, ledger, rounds).choose(PAIRS, score_named("I"), epsilon(1)[0], [0] * 4)
    assert ledger.spent == 0
    monkeypatch.setattr("sfumato.parties.federation.CHOICES", 3)
    with pytest.raises(MethodError, match="each of 4 columns, and parties make 3 choices at most"):
        check_columns(RECIPES["privbayes"], SCHEMA)
    check_columns(RECIPES["dp-subn"], SCHEMA)
