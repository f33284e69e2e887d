"""Envelopes: what was sealed is opened, and anything else is refused."""

import json
import struct
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ProtocolError
from sfumato.identity import Signer
from sfumato.parties.agreement import Go, Key, Mark, Ready, Roster
from sfumato.parties.envelopes import address, open_, seal
from sfumato.parties.letters import CURATOR
from sfumato.parties.local import Company
from sfumato.parties.mailbox import LONGEST, Desk, MemoryMailbox
from sfumato.parties.messages import Ask, Done, End, Refusal, Reveal, Share, Unmask
from sfumato.parties.questions import Question
from sfumato.privacy.mechanisms import Gaussian, Laplace, Skellam

SIGNERS = {name: Signer.new() for name in ("north", "south", CURATOR)}
MEMBERS = Company(("north", "south"), {name: signer.public for name, signer in SIGNERS.items()})
QUESTION = Question(("age", "sex"), Laplace(Fraction(3, 2)))
DOWN, UP = (0, 0, CURATOR, "north"), (0, 0, "north", CURATOR)
MESSAGES = [
    Ask(*DOWN, "learn", "[]", (QUESTION, Question((), Skellam(Fraction(7))))),
    Key(*UP, "ab", "cd").signed(MEMBERS.study, SIGNERS["north"]),
    Roster(*DOWN, "ab", (Key(*UP, "ab", "cd", "ef", signature="12"),), ("south",)),
    Ready(*UP, "ab", "12", "cd", {"north": "ef", "south": "01"}).signed(MEMBERS.study, SIGNERS["north"]),
    Go(*DOWN, "ab", (Mark("north", "12", "cd", "ef", "01"),), "34", "", {"south": "23"}).signed(
        MEMBERS.study, SIGNERS[CURATOR]
    ),
    Unmask(*DOWN, ("north", "south")),
    Reveal(*UP, ("north",), {"north": "45", "south": "67"}),
    Share(*UP, np.array([1, 2**64 - 1], dtype=np.uint64)),
    Refusal(*UP, "no – never"),
    Done(*DOWN, "00ff"),
    End(*DOWN, ""),
]


def sealed(message, signer=None):
    return seal(message, MEMBERS.study, signer or SIGNERS[message.sender])


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.kind)
def test_what_was_sealed_is_opened(message):
    envelope = sealed(message)
    opened = open_(envelope, MEMBERS)
    assert type(opened) is type(message)
    assert (opened.body(), sealed(opened)) == (message.body(), envelope)
    assert address(envelope) == (message.recipient, message.sender, 0, 0, message.kind)
    if not isinstance(message, Share):
        assert opened == message


@given(st.sampled_from(MESSAGES), st.data())
def test_an_envelope_in_which_anything_was_changed_is_refused(message, data):
    envelope = bytearray(sealed(message))
    place = data.draw(st.integers(0, len(envelope) - 1))
    envelope[place] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(ProtocolError):
        open_(bytes(envelope), MEMBERS)


@given(st.sampled_from(MESSAGES), st.integers(1, 200), st.binary(max_size=20))
def test_an_envelope_that_was_cut_or_made_longer_is_refused(message, cut, more):
    envelope = sealed(message)
    for other in (envelope[:-cut], envelope[cut:], envelope + more + b"x", more):
        with pytest.raises(ProtocolError):
            open_(other, MEMBERS)


def test_only_members_of_this_study_may_write_and_only_what_is_theirs_to_say():
    stranger = Signer.new()
    for message in MESSAGES:
        with pytest.raises(ProtocolError, match="does not have its signature"):
            open_(sealed(message, stranger), MEMBERS)
        with pytest.raises(ProtocolError, match="unknown kind, study or sender"):
            open_(seal(message, "another study", SIGNERS[message.sender]), MEMBERS)
    with pytest.raises(ProtocolError, match="unknown kind, study or sender"):
        open_(sealed(Refusal(0, 0, "west", CURATOR, "no"), stranger), MEMBERS)
    for wrong in (Done(*UP, "aa"), Refusal(*DOWN, "no"), Share(0, 0, "north", "south", np.zeros(1, np.uint64))):
        with pytest.raises(ProtocolError, match="may not send"):
            open_(sealed(wrong), MEMBERS)


def test_a_vector_longer_than_was_asked_for_is_refused_before_it_is_read():
    share = Share(*UP, np.zeros(11, dtype=np.uint64))
    assert open_(sealed(share), MEMBERS, limit=88)
    with pytest.raises(ProtocolError, match="longer than was asked for"):
        open_(sealed(share), MEMBERS, limit=80)
    with pytest.raises(ProtocolError, match="longer than was asked for"):
        open_(sealed(Refusal(*UP, "no" * 100_000)), MEMBERS)
    ragged = sealed(share)[:-67] + b"123"
    with pytest.raises(ProtocolError):
        open_(ragged, MEMBERS)


def raw(header, body, signer=SIGNERS["north"]):
    header = json.dumps(header).encode()
    content = struct.pack(">I", len(header)) + header + body
    return content + signer.sign(b"sfumato envelope 1\n" + content)


HEADER = {"study": "local", "round": 0, "attempt": 0, "sender": CURATOR, "recipient": "north", "kind": "ask"}


@pytest.mark.parametrize(
    "change",
    [
        {"round": -1},
        {"round": True},
        {"round": "0"},
        {"kind": "pickle"},
        {"kind": None},
        {"more": 1},
        {"sender": ["a"]},
    ],
    ids=str,
)
def test_headers_that_are_not_of_this_protocol_are_refused(change):
    with pytest.raises(ProtocolError):
        open_(raw({**HEADER, **change}, MESSAGES[0].body(), SIGNERS[CURATOR]), MEMBERS)
    with pytest.raises(ProtocolError):
        open_(raw({key: value for key, value in HEADER.items() if key not in change}, b"", SIGNERS[CURATOR]), MEMBERS)


@pytest.mark.parametrize("width", ["0", "-1", "1/0", "0.5", "1e9", "1e999999999", "9" * 100, str(2**41), "", 3, None])
def test_noise_of_a_width_that_would_cost_nothing_or_take_all_memory_is_refused(width):
    body = {"stage": "s", "coding": "[]", "columns": ["age"], "noises": [["laplace", width]], "tables": [[0, 0]]}
    text = json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
    with pytest.raises(ProtocolError):
        open_(raw(HEADER, text, SIGNERS[CURATOR]), MEMBERS)


@pytest.mark.parametrize(
    "tables", [[[0, 1]], [[1, 0]], [[0, -1]], [[0, "age"]], [[]], [0], [[0, True]], {}, None], ids=str
)
def test_tables_of_columns_that_are_not_there_are_refused(tables):
    body = {"stage": "s", "coding": "[]", "columns": ["age"], "noises": [["laplace", "1"]], "tables": tables}
    text = json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
    with pytest.raises(ProtocolError):
        open_(raw(HEADER, text, SIGNERS[CURATOR]), MEMBERS)


def test_bodies_that_are_not_canonical_are_refused():
    body = json.loads(MESSAGES[0].body())
    for text in (json.dumps(body).encode(), json.dumps({**body, "more": 1}).encode(), b"[" * 5000, b"\xff", b"null"):
        with pytest.raises(ProtocolError):
            open_(raw(HEADER, text, SIGNERS[CURATOR]), MEMBERS)


def test_noise_whose_shares_do_not_add_up_cannot_be_asked_for():
    with pytest.raises(ProtocolError, match="only shares of these add up"):
        Question(("age",), Gaussian(Fraction(3)))


def test_a_desk_takes_the_same_message_again_and_refuses_a_different_one():
    mailbox = MemoryMailbox()
    desk = Desk(CURATOR, MEMBERS, SIGNERS[CURATOR], mailbox)
    north = Desk("north", MEMBERS, SIGNERS["north"], mailbox)
    north.post([Refusal(*UP, "no"), Refusal(*UP, "no"), Refusal(*UP, "yes"), Refusal(1, 0, *UP[2:], "yes")])
    assert [message.text for message in desk.collect()] == ["no", "no", "yes"]
    assert len(desk.refused) == 1
    assert "two different messages of kind refusal in round 0" in desk.refused[0]
    assert desk.received["refusal"] == north.sent["refusal"] - len(sealed(Refusal(*UP, "yes")))
    assert desk.collect() == ()


def test_a_desk_does_not_read_what_was_meant_for_somebody_else():
    class Misled(MemoryMailbox):
        def fetch(self, recipient, seen):
            return super().fetch("south", seen)

    mailbox = Misled()
    Desk(CURATOR, MEMBERS, SIGNERS[CURATOR], mailbox).post([End(0, 0, CURATOR, "south", "")])
    north = Desk("north", MEMBERS, SIGNERS["north"], mailbox)
    assert north.collect() == ()
    assert "came to 'north'" in north.refused[0]


def test_a_mailbox_takes_no_endless_envelopes():
    with pytest.raises(ProtocolError, match="it is not taken"):
        MemoryMailbox().put(bytes(LONGEST + 1))
