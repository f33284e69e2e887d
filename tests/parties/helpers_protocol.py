"""A study in one process, and messages of a curator, for tests of the protocol."""

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction

from helpers_parties import SCHEMA, epsilon, holders_of, rows_of, split
from sfumato.data.coding import Keep
from sfumato.errors import ProtocolError
from sfumato.identity import Signer
from sfumato.parties import contribute
from sfumato.parties.agreement import Go, Roster
from sfumato.parties.curator import Chair
from sfumato.parties.envelopes import open_
from sfumato.parties.federation import Rounds
from sfumato.parties.letters import CURATOR
from sfumato.parties.local import Company, LocalWire, Player, federation
from sfumato.parties.mailbox import Desk, MemoryMailbox
from sfumato.parties.messages import Ask, Refusal, Share
from sfumato.parties.party import answer
from sfumato.parties.questions import Question
from sfumato.parties.seat import Seat
from sfumato.parties.store import MemoryStore
from sfumato.privacy.budget import PureDP
from sfumato.privacy.events import Noisy
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.mechanisms import Laplace

EACH = 64
"""What each table costs: an epsilon of which noise is all but surely 0, and whose width needs no rounding."""
NO_NOISE = Laplace(Fraction(1, EACH))
ROWS = rows_of()
FIRST, SECOND = [("a", "b"), ("c",)], [("d", "b")]
COST = 3 * EACH  # three tables of sensitivity 1


def promise_anything(monkeypatch):
    """Let parties go on although the vector that they promised is not the one in their journal, as liars do."""
    honest = contribute._check_go

    def careless(seat, roster, go, vector):
        honest(seat, roster, go, next(mark.vector for mark in go.marks if mark.sender == seat.name))

    monkeypatch.setattr(contribute, "_check_go", careless)


class Study:
    """Three parties and a curator over one mailbox, each with a store that outlives its process."""

    def __init__(self, parties=3, missing=0, budget=COST, mailbox=None, approve=lambda summary: True):
        self.names = tuple(f"p{number}" for number in range(parties))
        self.signers = {name: Signer.new() for name in (*self.names, CURATOR)}
        keys = {name: signer.public for name, signer in self.signers.items()}
        self.members = Company(self.names, keys, colluding=1, missing=missing)
        self.budget = PureDP(budget)
        self.stores = {name: MemoryStore() for name in self.signers}
        self.mailbox = mailbox or MemoryMailbox()
        self.approve = approve
        self.holders = dict(zip(self.names, holders_of(split(ROWS, parties)), strict=True))

    def seat(self, name, store=None):
        place = (name, self.members, self.signers[name], self.holders[name], self.budget)
        return Seat(*place, store or self.stores[name], self.approve)

    def players(self):
        return [Player(self.seat(name), self.mailbox) for name in self.names]

    def desk(self, name=CURATOR, mailbox=None):
        return Desk(name, self.members, self.signers[name], mailbox or self.mailbox)

    def curate(self, players, mailbox=None, store=None):
        """Two rounds in different codes: the tables, the curator's ledger, and its desk."""
        desk = self.desk(mailbox=mailbox)
        ledger = Ledger(PureDP(max(COST, self.budget.epsilon)), "a row")
        chair = Chair(self.members, self.signers[CURATOR], store or self.stores[CURATOR])
        rounds = Rounds(chair, LocalWire(desk, players))
        holder = federation(SCHEMA, ledger, rounds)
        ledger.stage = "encode"
        tables = holder.measure(FIRST, epsilon(EACH, 2))
        ledger.stage = "learn"
        tables += holder.through(Keep(("b", "d"))).measure(SECOND, epsilon(EACH))
        rounds.end()
        return tables, ledger, desk


def check(study, tables, ledger):
    """The exact tables of the union; every party has paid for them once, and sent one vector for each attempt."""
    for table, clique in zip(tables, [*FIRST, *SECOND], strict=True):
        assert (table.marginal.counts == ROWS.project(clique).counts).all()
    paid = [entry for entry in ledger.statement().entries if isinstance(entry[1], Noisy)]
    for name in study.names:
        statement = study.seat(name).statement()
        assert list(statement.entries) == paid
        assert statement.spent == COST
    vectors = defaultdict(set)
    for envelope in study.mailbox.fetch(CURATOR, 0):
        try:
            message = open_(envelope, study.members, limit=8 * 19)
        except ProtocolError:
            continue
        if isinstance(message, Share):
            vectors[message.sender, message.round, message.attempt].add(message.body())
    assert {len(different) for different in vectors.values()} == {1}


ONE = (Question(("a",), NO_NOISE),)


def ask_of(questions=ONE, attempt=0, coding="[]", name="p0"):
    return Ask(0, attempt, CURATOR, name, "learn", coding, tuple(questions))


def promise(study, name, ask):
    (key,) = answer(study.seat(name), replace(ask, recipient=name))
    return key


def roster_for(keys, name, attempt=0, left_out=()):
    asked = keys[0].asked if keys else ""
    return Roster(0, attempt, CURATOR, name, asked, tuple(sorted(keys, key=lambda key: key.sender)), tuple(left_out))


def ready(study, keys, attempt=0):
    """Everybody on a roster is ready: what each of them said."""
    left_out = sorted(set(study.names) - {key.sender for key in keys})
    rosters = {key.sender: roster_for(keys, key.sender, attempt, left_out) for key in keys}
    return {name: answer(study.seat(name), roster)[0] for name, roster in rosters.items()}


def go_for(study, readies, name, signer=None):
    """What the curator says when all are ready."""
    (first, *_) = readies.values()
    marks = tuple(readies[one].mark for one in sorted(readies))
    pieces = {one: readies[one].pieces[name] for one in readies if readies[one].pieces}
    go = Go(first.round, first.attempt, CURATOR, name, first.roster, marks, "", "", pieces)
    go = replace(go, everybody=go.hashed)
    return go.signed(study.members.study, signer or study.signers[CURATOR])


def refusal(study, name, message):
    (answered,) = answer(study.seat(name), message)
    assert isinstance(answered, Refusal)
    return answered.text
