"""A study over a real mailbox: the curator's run and a party's attendance, with clocks and files around the roles."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sfumato.errors import BudgetError, FileError, ProtocolError, SfumatoError, StudyEnded, TryAgain
from sfumato.exact import exact_number
from sfumato.identity import Signer
from sfumato.parties.agreement import Roster
from sfumato.parties.curator import Chair, Incoming
from sfumato.parties.federation import Rounds
from sfumato.parties.fingerprint import Fingerprint
from sfumato.parties.journal import Journal
from sfumato.parties.letters import CURATOR, LARGE, REASON
from sfumato.parties.local import federation, study_budget
from sfumato.parties.mailbox import Desk, Mailbox
from sfumato.parties.manifest import Manifest
from sfumato.parties.messages import Done, End, Message
from sfumato.parties.party import take_part
from sfumato.parties.seat import Approve, Seat
from sfumato.parties.store import FINAL, State, Store
from sfumato.parties.watch import Watch
from sfumato.pipeline import Progress, run
from sfumato.privacy.budget import Budget
from sfumato.privacy.ledger import Ledger, Statement
from sfumato.privacy.neighbours import Neighbours
from sfumato.privacy.opening import open_party
from sfumato.release import Release
from sfumato.schema.schema import Schema
from sfumato.text import one_line


@dataclass(frozen=True)
class Waiting:
    """How a member waits for others.

    Args:
        poll: seconds between two looks at the mailbox.
        patience: seconds of silence after which nobody is waited for any longer.
        sleep: passes the time; another one in tests.
    """

    poll: float
    patience: float
    sleep: Callable[[float], None] = field(default=time.sleep)

    def __post_init__(self) -> None:
        if not self.poll > 0 or not self.patience >= 0:
            raise ProtocolError(f"poll is {self.poll:g} and patience {self.patience:g} seconds; give numbers above 0")


REREAD = 2.0
"""Seconds of silence after which all messages are read again, and then after four times as long, and so on."""


class MailWire:
    """The curator's wire over a mailbox."""

    def __init__(
        self,
        desk: Desk,
        journal: Journal,
        waiting: Waiting,
        refusals: Callable[[], Mapping[str, int]] = dict,
        watch: Watch | None = None,
    ):
        self._desk = desk
        self._journal = journal
        self._waiting = waiting
        self._refusals = refusals
        self._watch = watch or Watch(CURATOR, "")
        self._listen_anew()

    def post(self, messages: Sequence[Message]) -> None:
        """Send messages. What lies in the mailbox already is not put there again."""
        if messages:
            self._listen_anew()
        self._desk.post(messages)

    def collect(self, limit: int, wanted: Callable[[Message], bool]) -> Incoming:
        """Look for messages until one comes; None after a silence as long as patience.

        After a while all messages are read again, for those that came before their time. They are no news, and make no
        silence shorter.
        """
        while True:
            known = self._desk.known
            incoming = tuple(filter(wanted, _collected(self._desk, self._journal, limit)))
            if self._desk.known > known:
                self._listen_anew()
            for reason, times in self._refusals().items():
                self._journal.note("refused a message", reason=reason, times=times)
                self._watch.tell(f"{times} times: {reason}", "warning")
            self._watch.alive()
            if incoming:
                return incoming
            if self._silence >= self._waiting.patience:
                return None
            if self._silence >= self._again:
                self._desk.rewind()
                self._again *= 4
            self._waiting.sleep(self._waiting.poll)
            self._silence += self._waiting.poll

    def _listen_anew(self) -> None:
        self._silence, self._again = 0.0, REREAD


def budget_of_study(manifest: Manifest) -> Budget:
    """What every ledger of the study is opened with."""
    return study_budget(manifest.job)


def protected(manifest: Manifest) -> str:
    """Whom a study protects, and from whom, in words for its ledgers."""
    others = "one party" if manifest.colluding == 1 else f"{manifest.colluding} parties"
    *first, last = manifest.names
    neighbours = Neighbours.of(manifest.schema, manifest.max_parties_per_person)
    one_place = "" if manifest.max_parties_per_person > 1 else " (if no person has rows at two of them)"
    return (
        f"{neighbours}, at each of {', '.join(first)} and {last}{one_place}, even from the curator and any {others} "
        "acting together"
    )


def curate(
    manifest: Manifest,
    signer: Signer,
    mailbox: Mailbox,
    journal: Journal,
    waiting: Waiting,
    progress: Progress,
    refusals: Callable[[], Mapping[str, int]] = dict,
    watch: Watch | None = None,
) -> Release:
    """Run the method of a study over its parties; a curator that was stopped goes on where it was.

    A party that stays away ends the run with a ProtocolError, and the run can be taken up again. A party that refuses,
    and any other error, ends the study, and the parties are told.
    """
    _check_key(manifest, signer, CURATOR)
    recipe = manifest.job.recipe
    desk = Desk(CURATOR, manifest, signer, mailbox)
    watch = watch or Watch(CURATOR, manifest.study)
    rounds = Rounds(Chair(manifest, signer, journal, watch=watch), MailWire(desk, journal, waiting, refusals, watch))
    ledger = Ledger(budget_of_study(manifest), protected(manifest), manifest.schema.observed)
    for name in manifest.schema.observed:
        ledger.note(f"domain of column {name!r} was observed in data", "every party accepted it by its signature")
    journal.note("started", manifest_sha256=manifest.digest)
    try:
        model = run(
            recipe,
            federation(manifest.schema, ledger, rounds, manifest.max_parties_per_person),
            manifest.schema,
            ledger,
            progress,
        )
    except SfumatoError as problem:
        if isinstance(problem, StudyEnded) or not isinstance(problem, ProtocolError | FileError):
            rounds.end(str(problem))
            journal.note("ended", reason=str(problem))
        raise
    statement = ledger.statement()
    statement.verify()
    rounds.end()
    journal.note("finished")
    return Release(recipe, manifest.schema, statement, model, answers=ledger.answers)


def seat_of(
    manifest: Manifest, name: str, signer: Signer, data: Path, schema: Schema, journal: Journal, approve: Approve
) -> Seat:
    """A party's seat in a study: its rows behind a holder, its journal and its operator."""
    if schema != manifest.schema:
        raise ProtocolError("the schema is not the one in the manifest; give that one, or agree on a new manifest")
    key = bytes.fromhex(journal.identity)
    fingerprint = Fingerprint(key)
    holder = open_party(data, schema, parties=manifest.max_parties_per_person, seen=fingerprint.add)
    known = journal.fact("table")
    if known not in (None, fingerprint.text):
        raise ProtocolError(
            "the table is not the one that this study began with: rows were changed, added, removed or put in another "
            "order; give the table as it was"
        )
    journal.require({"table": fingerprint.text})
    return Seat(name, manifest, signer, holder, budget_of_study(manifest), journal, approve, schema.observed)


def open_journal(folder: Path, manifest: Manifest, name: str, signer: Signer, allowed: str | None = None) -> Journal:
    """The journal of a member, the curator's without a budget.

    Args:
        folder: where it is, or is to be.
        manifest: the study.
        name: the member.
        signer: its key, which must be the one in the manifest.
        allowed: the most epsilon that a party lets a study cost.
    """
    _check_key(manifest, signer, name)
    if name == CURATOR:
        return Journal(folder, manifest.study, name, None)
    try:
        enough = allowed is not None and exact_number(manifest.epsilon) <= exact_number(allowed)
    except ValueError:
        raise BudgetError(f"epsilon is {allowed!r}; a number above 0 is wanted, for example epsilon = 1") from None
    if not enough:
        raise BudgetError(
            f"this study may cost epsilon {manifest.epsilon}, and {allowed} is allowed here; allow more, or ask for a "
            "manifest that costs less"
        )
    observed = manifest.schema.observed
    return Journal(folder, manifest.study, name, budget_of_study(manifest), protected(manifest), observed)


def attend(seat: Seat, mailbox: Mailbox, journal: Journal, waiting: Waiting, watch: Watch | None = None) -> Statement:
    """Take part until the curator ends the study; what it cost. A party that was stopped goes on where it was."""
    watch = watch or Watch(seat.name, seat.members.study)
    desk = Desk(seat.name, seat.members, seat.signer, mailbox)
    role = take_part(seat)
    next(role)
    journal.note("started")
    silence = 0.0
    while True:
        incoming = _collected(desk, journal, LARGE)
        if not incoming:
            watch.now("waiting for the curator")
        else:
            silence = 0.0
            watch.now("answering", round=incoming[-1].round, attempt=incoming[-1].attempt, asked=incoming[-1].kind)
            watch.count("messages", len(incoming))
            _check_memory(journal, incoming, seat.members.missing)
            over = any(isinstance(message, End) for message in incoming)
            try:
                # Questions of a study that is over need no answer, and are not to be paid for.
                desk.post(role.send(tuple(one for one in incoming if not over or isinstance(one, Done | End))))
                spent = seat.budget.spent(journal.statement().spent)
                watch.gauge("spent_" + ("rho" if "rho" in spent else "epsilon"), next(iter(spent.values())))
            except StopIteration as stop:
                journal.note("finished", reason=stop.value)
                if stop.value:
                    raise StudyEnded(f"the curator ended the study: {one_line(stop.value, REASON)}") from None
                return journal.statement()
            continue
        if silence >= waiting.patience:
            raise TryAgain(
                f"nothing has come from the curator for {silence:.0f} seconds; start again when it is back: nothing is "
                "lost, and nothing is spent twice"
            )
        waiting.sleep(waiting.poll)
        silence += waiting.poll


def _check_memory(journal: Store, incoming: tuple[Message, ...], missing: int) -> None:
    """Refuse to go on with a journal that does not know of an answer which was given: it was restored from a copy.

    A round is over only when everybody on its roster was ready and has answered, or, where parties may stay away, was
    ready. Without this check, a party that had forgotten its answer would draw new noise and answer once more.
    """
    known = (*FINAL, State.COMPUTED) if missing else FINAL
    rosters = {(message.round, message.attempt) for message in incoming if isinstance(message, Roster)}
    for message in incoming:
        place = (message.round, message.attempt)
        if isinstance(message, Done) and place in rosters:
            record = journal.load(*place)
            if record is None or record.state not in known:
                raise ProtocolError(
                    f"round {message.round} is over and has an answer of this party, of which its journal knows "
                    "nothing: the journal was restored from a copy, or is not the right one; give the newest journal, "
                    "or leave the study"
                )


def _collected(desk: Desk, journal: Journal, limit: int) -> tuple[Message, ...]:
    """What has come and is in order; what is not is written into the audit log."""
    before = len(desk.refused)
    incoming = desk.collect(limit)
    for reason in desk.refused[before:]:
        journal.note("refused a message", reason=reason)
    return incoming


def _check_key(manifest: Manifest, signer: Signer, name: str) -> None:
    if manifest.member(signer) != name:
        raise ProtocolError(f"the key belongs to {manifest.member(signer)!r} and not to {name!r}; give the right one")
