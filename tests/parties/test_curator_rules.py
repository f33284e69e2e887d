"""A curator that does not play by the rules gets nothing, and costs nothing."""

from dataclasses import replace
from fractions import Fraction

import pytest
from helpers_protocol import (
    COST,
    EACH,
    FIRST,
    NO_NOISE,
    SECOND,
    Study,
    ask_of,
    go_for,
    promise,
    ready,
    refusal,
    roster_for,
)

from helpers_parties import SCHEMA, epsilon
from sfumato.errors import ProtocolError
from sfumato.parties.agreement import Key, Ready
from sfumato.parties.curator import Chair
from sfumato.parties.envelopes import address, open_
from sfumato.parties.federation import Rounds
from sfumato.parties.letters import CURATOR
from sfumato.parties.local import LocalWire, Player, federation
from sfumato.parties.masking import new_private_key, public_key
from sfumato.parties.messages import Done, Reveal, Share, Unmask
from sfumato.parties.party import answer
from sfumato.parties.questions import Question
from sfumato.parties.seat import parts_of
from sfumato.parties.store import MemoryStore, State
from sfumato.privacy.budget import PureDP
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.mechanisms import Laplace


def test_parties_that_were_asked_different_questions_do_not_answer():
    # Else one could be asked for little noise in the belief that the others add much.
    study = Study()
    wide, narrow = ask_of([Question(("a",), Laplace(Fraction(100)))]), ask_of([Question(("a",), NO_NOISE)])
    keys = [promise(study, "p0", wide), promise(study, "p1", narrow), promise(study, "p2", narrow)]
    for name in study.names:
        assert "did not sign for these questions" in refusal(study, name, roster_for(keys, name))
        assert study.stores[name].load(0, 0).state is State.RESERVED


def test_a_key_put_in_by_the_curator_is_refused():
    study = Study()
    keys = [promise(study, name, ask_of()) for name in study.names]
    own = public_key(new_private_key())
    swapped = [replace(keys[0], public=own), *keys[1:]]
    own_signed = [replace(keys[0], public=own).signed(study.members.study, study.signers[CURATOR]), *keys[1:]]
    stranger = [*keys[:2], replace(keys[2], sender="p9")]
    for wrong in (swapped, own_signed, stranger):
        assert "did not sign" in refusal(study, "p1", roster_for(wrong, "p1"))
    assert "2 parties; at least 3 are wanted" in refusal(study, "p1", roster_for(keys[:2], "p1", left_out=["p2"]))
    for few in (keys[:2], [keys[1], keys[1], keys[2]]):
        assert "does not show the keys of just those" in refusal(study, "p1", roster_for(few, "p1"))
    assert "leaves out parties that are none" in refusal(study, "p1", roster_for(keys, "p1", left_out=["p9"]))
    (said,) = answer(study.seat("p1"), roster_for(keys, "p1"))
    assert isinstance(said, Ready)


def test_a_roster_without_its_own_key_is_refused():
    study = Study(parties=4, missing=1)
    keys = [promise(study, name, ask_of()) for name in study.names]
    assert "does not have the key of p3" in refusal(study, "p3", roster_for(keys[:3], "p3", left_out=["p3"]))


def test_one_attempt_has_one_question_one_roster_and_one_vector():
    study = Study(parties=4, missing=1)
    keys = [promise(study, name, ask_of()) for name in study.names]
    assert promise(study, "p0", ask_of()) == keys[0]
    other = ask_of([Question(("b",), NO_NOISE)])
    assert "with other questions" in refusal(study, "p0", other)
    private = parts_of(study.stores["p0"].load(0, 0).payload)[1]
    readies = ready(study, keys)
    assert answer(study.seat("p0"), roster_for(keys, "p0")) == (readies["p0"],)
    assert promise(study, "p0", ask_of()) == keys[0]
    assert "two different rosters" in refusal(study, "p0", roster_for(keys[:3], "p0"))
    assert private not in study.stores["p0"].load(0, 0).payload  # the private key is gone
    (share,) = answer(study.seat("p0"), go_for(study, readies, "p0"))
    (again,) = answer(study.seat("p0"), go_for(study, readies, "p0"))
    assert share.body() == again.body()
    assert share.digest == readies["p0"].vector


def test_an_attempt_that_was_given_up_is_never_sent_and_its_cost_comes_back():
    study = Study()
    keys = [promise(study, name, ask_of()) for name in study.names]
    assert isinstance(promise(study, "p0", ask_of(attempt=1)), Key)
    assert study.seat("p0").statement().spent == EACH
    assert "was not promised" in refusal(study, "p0", roster_for(keys, "p0"))
    assert "is over for this party" in refusal(study, "p0", ask_of())
    assert study.stores["p0"].load(0, 0).state is State.ABORTED


def test_a_round_that_was_answered_is_not_answered_again():
    study = Study()
    keys = [promise(study, name, ask_of()) for name in study.names]
    answer(study.seat("p0"), go_for(study, ready(study, keys), "p0"))
    assert "was answered in attempt 0" in refusal(study, "p0", ask_of(attempt=1))
    assert study.seat("p0").statement().spent == EACH
    promise(study, "p1", ask_of(attempt=3))
    assert "later attempt" in refusal(study, "p1", ask_of(attempt=2))


def test_a_new_attempt_that_cannot_be_paid_for_leaves_the_earlier_one_as_it_was():
    study = Study(budget=EACH)
    keys = [promise(study, name, ask_of()) for name in study.names]
    dear = ask_of([Question(("a",), NO_NOISE), Question(("b",), NO_NOISE)], attempt=1)
    assert "64 is left" in refusal(study, "p0", dear)
    assert study.stores["p0"].load(0, 0).state is State.RESERVED
    assert isinstance(answer(study.seat("p0"), roster_for(keys, "p0"))[0], Ready)


def test_nothing_is_sent_before_everybody_has_signed_to_be_ready():
    study = Study()
    keys = [promise(study, name, ask_of()) for name in study.names]
    readies = ready(study, keys)
    right = go_for(study, readies, "p0")
    forged = replace(readies["p2"], vector="00" * 32)
    for wrong in (
        go_for(study, {name: one for name, one in readies.items() if name != "p2"}, "p0"),
        go_for(study, readies | {"p2": forged}, "p0"),
        go_for(study, readies, "p0", signer=study.signers["p1"]),
        replace(right, marks=(*right.marks[:2], right.marks[1])),
    ):
        assert "not everybody on its roster has signed" in refusal(study, "p0", wrong)
        assert study.stores["p0"].load(0, 0).state is State.COMPUTED
    assert "two different rosters" in refusal(study, "p0", replace(right, roster="00" * 32))
    assert isinstance(answer(study.seat("p0"), right)[0], Share)


def test_pieces_are_given_for_one_sum_only():
    study = Study(parties=4, missing=1)
    keys = [promise(study, name, ask_of()) for name in study.names]
    readies = ready(study, keys)
    unmask = Unmask(0, 0, CURATOR, "p0", ("p0", "p1", "p2"))
    assert "has no sum" in refusal(study, "p0", unmask)
    answer(study.seat("p0"), go_for(study, readies, "p0"))
    for names, words in (
        (("p0", "p1"), "at least 3 are wanted"),
        (("p1", "p2", "p3"), "p0 among them"),
        (("p0", "p1", "p9"), "not on its roster"),
        (("p0", "p1", "p1", "p2"), "not on its roster"),
    ):
        assert words in refusal(study, "p0", replace(unmask, names=names))
    (given,) = answer(study.seat("p0"), unmask)
    assert isinstance(given, Reveal)
    assert answer(study.seat("p0"), unmask) == (given,)
    assert "two different sums" in refusal(study, "p0", replace(unmask, names=("p0", "p1", "p3")))
    assert parts_of(study.stores["p0"].load(0, 0).payload)[0] == b""  # the key that opens pieces is gone


def test_a_piece_that_cannot_be_opened_is_refused_before_the_vector_is_sent():
    study = Study(parties=4, missing=1)
    keys = [promise(study, name, ask_of()) for name in study.names]
    readies = ready(study, keys)
    go = go_for(study, readies, "p0")
    damaged = dict(go.pieces) | {"p2": "00" + go.pieces["p2"][2:]}
    for pieces in (damaged, {name: piece for name, piece in go.pieces.items() if name != "p2"}, {}):
        assert "cannot be opened" in refusal(study, "p0", replace(go, pieces=pieces))
    assert study.stores["p0"].load(0, 0).state is State.COMPUTED


def test_a_log_that_was_put_back_is_noticed_by_the_others():
    study = Study()
    first = [promise(study, name, ask_of()) for name in study.names]
    ready(study, first)
    # p2 is restored from a copy of the time before it gave its key; the curator hides all that came since.
    study.stores["p2"] = MemoryStore()
    second = [promise(study, name, ask_of(attempt=1)) for name in study.names]
    for name in ("p0", "p1"):
        said = refusal(study, name, roster_for(second, name, attempt=1))
        assert "the log of p2 does not know its line" in said or "was restored from a copy" in said


@pytest.mark.parametrize(
    ("questions", "coding", "words"),
    [
        ([], "[]", "asks for 0 cells"),
        ([Question(("x",), NO_NOISE)], "[]", "is not in the table"),
        ([Question(("a", "a"), NO_NOISE)], "[]", "occur twice"),
        ([Question(("a",), NO_NOISE)], "[{}]", "cannot be followed"),
        ([Question(("a",), NO_NOISE)], '[{"run":"rm"}]', "cannot be followed"),
        ([Question(("a",), NO_NOISE)], '[{"merge":{"a":[0,0]}}]', "cannot be followed"),
        ([Question(("a",), NO_NOISE)], '[{"merge":{"x":[0,0]}}]', "cannot be followed"),
        ([Question(("a",), NO_NOISE)], '[{"keep":["b"]}]', "is not in the table"),
        ([Question(("a",), NO_NOISE)], "no", "cannot be followed"),
    ],
)
def test_questions_that_make_no_sense_are_refused_and_cost_nothing(questions, coding, words):
    study = Study()
    assert words in refusal(study, "p0", ask_of(questions, coding=coding))
    assert not study.seat("p0").statement().entries


def test_a_roster_or_result_for_a_round_that_was_never_asked_does_nothing():
    study = Study()
    assert "was not promised" in refusal(study, "p0", roster_for([], "p0"))
    assert answer(study.seat("p0"), Done(0, 0, CURATOR, "p0", "aa")) == ()
    assert not list(study.stores["p0"])


def test_a_party_whose_journal_is_an_old_copy_sends_nothing():
    study = Study()
    players = study.players()
    old = MemoryStore()
    rounds = Rounds(Chair(study.members, study.signers[CURATOR], MemoryStore()), LocalWire(study.desk(), players))
    ledger = Ledger(PureDP(COST), "a row")
    ledger.stage = "learn"
    holder = federation(SCHEMA, ledger, rounds)
    holder.measure(FIRST, epsilon(EACH, 2))
    players[1] = Player(study.seat("p1", old), study.mailbox)
    players[1].desk.collect()  # what came before is lost with the journal
    with pytest.raises(
        ProtocolError, match=r"p1 \(round 1 was asked, but this party's journal says nothing of round 0"
    ):
        holder.measure(SECOND, epsilon(EACH))
    assert not list(old)


def test_no_message_of_a_study_can_be_read_as_counts():
    # What the curator and anybody on the way sees of one party is uniform.
    study = Study()
    study.curate(study.players())
    first = [envelope for envelope in study.mailbox.fetch(CURATOR, 0) if address(envelope)[4] == "share"]
    small = [int((open_(one, study.members).vector < 2**40).sum()) for one in first]
    assert sum(small) == 0


def test_a_journal_that_was_put_back_sends_no_second_vector():
    study = Study()
    wide = ask_of([Question(("a",), Laplace(Fraction(100)))])
    keys = [promise(study, name, wide) for name in study.names]
    old = copy_of(study.stores["p0"])
    go = go_for(study, ready(study, keys), "p0")
    answer(study.seat("p0", old), roster_for(keys, "p0"))  # new noise, and another vector
    (said,) = answer(study.seat("p0", old), go)
    assert "another vector of p0 than its journal has" in said.text
    assert isinstance(answer(study.seat("p0"), go)[0], Share)


def copy_of(store):
    fresh = MemoryStore()
    for record in store:
        fresh.save(record)
    return fresh
