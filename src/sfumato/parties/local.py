"""Many parties in one process: every role, message and check of a real study, without a network."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sfumato import tables
from sfumato.data.coding import Coding
from sfumato.errors import ProtocolError
from sfumato.fitting import note_schema
from sfumato.identity import Signer
from sfumato.intake.attributes import Attributes
from sfumato.job import Job, recipe_of
from sfumato.parties.curator import Chair, Incoming
from sfumato.parties.federation import Federation, Rounds, check_columns, check_method, check_unit
from sfumato.parties.letters import CURATOR, MOST_ROWS
from sfumato.parties.mailbox import Desk, Mailbox, MemoryMailbox
from sfumato.parties.messages import Message
from sfumato.parties.party import take_part
from sfumato.parties.recovery import check_recovery
from sfumato.parties.seat import Approve, Seat
from sfumato.parties.store import MemoryStore
from sfumato.pipeline import Model, Recipe
from sfumato.pipeline import run as run_recipe
from sfumato.privacy.budget import ApproxDP, Budget, SkellamDP, budget_of
from sfumato.privacy.ledger import Ledger, Statement
from sfumato.privacy.neighbours import Neighbours
from sfumato.privacy.opening import open_party
from sfumato.privacy.party_holder import PartyHolder
from sfumato.recipes.auto import over_parties
from sfumato.release import Release
from sfumato.schema.schema import Schema


@dataclass(frozen=True)
class Company:
    """Members of a study in one process.

    A single party (K = 1) has nobody to be protected from but the curator, and needs no colluding party.
    """

    names: tuple[str, ...]
    keys: Mapping[str, str]
    colluding: int = 1
    missing: int = 0
    study: str = "local"
    most_rows: int = MOST_ROWS

    def __post_init__(self) -> None:
        if self.colluding < min(1, len(self.names) - 1) or self.missing < 0 or self.honest < 1:
            raise ProtocolError(
                f"of {len(self.names)} parties, {self.colluding} may collude and {self.missing} may stay away; one "
                "must be left whose noise protects, and a party knows its own noise, so one colludes already"
            )
        check_recovery(len(self.names), self.colluding, self.missing)

    @property
    def honest(self) -> int:
        """How many shares of noise (h = K - t - q) add up to the noise that is charged."""
        return len(self.names) - self.colluding - self.missing


@dataclass(frozen=True)
class Outcome:
    """What a study gave: the model, what the curator counts as spent, what each party does, bytes sent, and choices."""

    model: Model
    statement: Statement
    parties: dict[str, Statement]
    sent: dict[str, dict[str, int]] = field(default_factory=dict)
    answers: dict[int, tuple[int, ...]] = field(default_factory=dict)


class Player:
    """A party in this process: its seat, its desk, and the generator between them."""

    def __init__(self, seat: Seat, mailbox: Mailbox):
        self.seat = seat
        self.desk = Desk(seat.name, seat.members, seat.signer, mailbox)
        self._role = take_part(seat)
        self.over = False
        next(self._role)

    def step(self) -> None:
        """Answer what has come; a study that the curator has ended is over."""
        incoming = self.desk.collect()
        if self.over or not incoming:
            return
        try:
            self.desk.post(self._role.send(incoming))
        except StopIteration:
            self.over = True


class LocalWire:
    """The curator's wire to players in this process: whenever it waits, they move."""

    def __init__(self, desk: Desk, players: Sequence[Player], patience: int = 3):
        self.desk = desk
        self._players = players
        self._patience = patience
        self._silences = 0

    def post(self, messages: Sequence[Message]) -> None:
        """Send messages."""
        self.desk.post(messages)

    def collect(self, limit: int, wanted: Callable[[Message], bool]) -> Incoming:
        """Let every player move once; after some silences in a row, nobody is waited for any longer."""
        for player in self._players:
            player.step()
        incoming = tuple(filter(wanted, self.desk.collect(limit)))
        self._silences = 0 if incoming else self._silences + 1
        if self._silences <= self._patience:
            return incoming
        self._silences = 0
        return None


def study_budget(job: Job) -> Budget:
    """The budget with which the curator and every party open their ledgers, from what the members agreed on.

    An (epsilon, delta) budget is accounted for Skellam noise, since rounded normals do not add up; where Laplace noise
    is the lesser, or the only one that a method adds, it is pure epsilon.
    """
    opened = job.opened
    if isinstance(opened, ApproxDP):
        return replace(job, budget=SkellamDP(opened.epsilon, opened.delta)).opened
    return opened


def run(
    job: Job,
    holders: Sequence[PartyHolder],
    *,
    colluding: int = 1,
    missing: int = 0,
    approve: Approve = lambda summary: True,
) -> Outcome:
    """Run a job over the union of the rows of many holders, each of which answers only in masked shares.

    Args:
        job: its method must be one whose questions add up, and its budget is what each party's persons may pay.
        holders: the parties' rows, in attributes of the schema.
        colluding: how many parties (t) may put together what they know.
        missing: how many parties (q) may stay away.
        approve: each party's operator.
    """
    check_method(job.recipe)
    check_unit(job.schema)
    schema, budget = job.schema, study_budget(job)
    names = tuple(f"party-{number}" for number in range(1, len(holders) + 1))
    signers = {name: Signer.new() for name in (*names, CURATOR)}
    members = Company(names, {name: signer.public for name, signer in signers.items()}, colluding, missing)
    mailbox = MemoryMailbox()
    players = [
        Player(
            Seat(name, members, signers[name], holder, budget, MemoryStore(), approve, schema.observed),
            mailbox,
        )
        for name, holder in zip(names, holders, strict=True)
    ]
    desk = Desk(CURATOR, members, signers[CURATOR], mailbox)
    rounds = Rounds(Chair(members, signers[CURATOR], MemoryStore()), LocalWire(desk, players))
    ledger = Ledger(budget, str(Neighbours.of(schema)), schema.observed)
    model = run_recipe(job.recipe, federation(schema, ledger, rounds), schema, ledger)
    rounds.end()
    for player in players:
        player.step()
    sent = {one.name: dict(one.sent) for one in (desk, *(player.desk for player in players))}
    return Outcome(
        model, ledger.statement(), {one.seat.name: one.seat.statement() for one in players}, sent, ledger.answers
    )


def federation(schema: Schema, ledger: Ledger, rounds: Rounds, per_person: int = 1) -> Federation:
    """The holder of a study: rows in attributes of the schema. The ledger is opened with its first notes.

    Args:
        schema: the public schema.
        ledger: what the curator counts as spent.
        rounds: the way to the parties.
        per_person: at how many parties one person may have rows.
    """
    note_schema(ledger, schema)
    if schema.unit.column is not None:
        ledger.note(
            "which share of the rows was cut is not measured",
            "one person may have rows at several parties, so nobody can count persons by their number of rows",
        )
    return Federation(Coding(Attributes(schema).domain), Neighbours.of(schema, per_person), ledger, rounds)


def fit(
    parts: Sequence[Any],
    schema: Schema,
    *,
    epsilon: float | str,
    delta: float | str | None = None,
    method: str | Recipe = "auto",
    colluding: int = 1,
    missing: int = 0,
) -> tuple[Release, Outcome]:
    """Spend a budget on tables of many parties in one process; a release of their union, and what it cost each."""
    job = Job(schema, over_parties(recipe_of(method)), budget_of(epsilon, delta))
    check_method(job.recipe)
    check_columns(job.recipe, schema)
    check_unit(schema)
    holders = [open_party(part, schema) for part in parts]
    outcome = run(job, holders, colluding=colluding, missing=missing)
    outcome.statement.verify()
    kind = tables.kind_of(parts[0])
    # A federation answers with tables, and with nothing else.
    return Release(job.recipe, schema, outcome.statement, outcome.model, kind, answers=outcome.answers), outcome
