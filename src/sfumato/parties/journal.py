"""The journal: what a member must not forget, in a file that survives a crash at any moment.

SQLite, one row for each round and attempt, on disk before anything leaves the machine. The rules are those of a ledger:
a state never goes back, what was stored to be sent is never changed, what was sent stays spent, and a reservation that
would exceed the budget is refused. Every change is also a line of the audit log, which is written first and says how
many lines the journal knew of. So lines of changes that a crash or a full disk undid can be told from those of changes
that a journal has forgotten: a journal that was restored from a copy is refused.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

from sfumato.errors import BudgetExceeded, ProtocolError
from sfumato.exact import printed_up
from sfumato.parties.audit import START, AuditLog
from sfumato.parties.journal_file import hold, open_journal_file, unwritten
from sfumato.parties.store import COUNTED, FINAL, Head, Record, State
from sfumato.privacy.budget import Budget
from sfumato.privacy.entropy import SystemEntropy
from sfumato.privacy.events import event_from_dict, total_cost
from sfumato.privacy.ledger import Entry, Statement

_ORDER = list(State)
_TO_SEND = {State.COMPUTED, State.SENT}


class Journal:
    """The store of one member in one study.

    Args:
        folder: where `journal.sqlite` and `audit.jsonl` are; made if it does not exist.
        study: the study, as messages name it; a journal of another study is refused.
        member: whose journal it is.
        budget: what may be spent in all, or None for a member that has no rows.
        protects: whom the budget protects, for the statement.
        observed: columns whose domain was read from data, which the budget does not cover.
    """

    def __init__(
        self,
        folder: Path,
        study: str,
        member: str,
        budget: Budget | None,
        protects: str = "",
        observed: Sequence[str] = (),
    ):
        self._budget = budget
        self._protects = protects
        self._observed = tuple(observed)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._path = folder / "journal.sqlite"
        self._hold = hold(folder)
        try:
            self._connection = open_journal_file(self._path)
        except BaseException:
            self._hold.close()
            raise
        try:
            self._log = AuditLog(folder / "audit.jsonl")
            limit = "none" if budget is None else json.dumps(budget.to_dict(), sort_keys=True)
            self._check_log()
            self.require({"study": study, "member": member, "budget": limit, "protects": protects})
        except BaseException:
            self.close()
            raise

    def load(self, round_: int, attempt: int) -> Record | None:
        """The record of an attempt, if there is one."""
        found = self._records("WHERE round = ? AND attempt = ?", (round_, attempt))
        return found[0] if found else None

    def attempts(self, round_: int) -> tuple[Record, ...]:
        """All records of a round, in the order of their attempts."""
        return self._records("WHERE round = ?", (round_,))

    @property
    def identity(self) -> str:
        """Names this journal: another one of the same member and study has another."""
        found = self.fact("identity")
        if found is None:
            found = SystemEntropy().words(2).tobytes().hex()
            self.require({"identity": found})
        return found

    @property
    def head(self) -> Head:
        """The head of the audit log: it stands for everything that this member has written down."""
        return Head(self._log.length, self._log.head)

    @property
    def heads(self) -> dict[str, Head]:
        """The last head of each party that this member has seen and signed, its own among them."""
        found = self._connection.execute("SELECT party, length, digest FROM heads").fetchall()
        return {party: Head(length, digest) for party, length, digest in found}

    def save(self, record: Record, heads: Mapping[str, Head] | None = None) -> None:
        """Keep a record instead of an earlier one, if the rules allow it; nothing is changed if they do not.

        Args:
            record: what is to be kept.
            heads: heads of parties' logs that are signed with it, kept in the same step.
        """
        with self._change():
            earlier = self.load(record.round, record.attempt)
            if earlier == record:
                return
            self._check_step(earlier, record)
            cost = self._cost(record.entries)
            if record.state in COUNTED and (earlier is None or earlier.state not in COUNTED):
                self._check_budget(record, cost)
            spent = (earlier is not None and self._is_spent(record)) or record.state in FINAL
            self._write_log(
                record.state.value,
                round=record.round,
                attempt=record.attempt,
                asked=record.asked,
                cost=_written(cost),
                payload_sha256=hashlib.sha256(record.payload).hexdigest() if record.payload else None,
            )
            entries = json.dumps([{"stage": stage, **event.to_dict()} for stage, event in record.entries])
            self._connection.execute(
                "INSERT OR REPLACE INTO attempts VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(record.round, record.attempt, record.state.value, record.asked),
                    *(record.payload, entries, _written(cost), int(spent)),
                ),
            )
            seen = [(party, *head) for party, head in (heads or {}).items()]
            self._connection.executemany("INSERT OR REPLACE INTO heads VALUES (?, ?, ?)", seen)
        if record.state in (State.COMPUTED, State.REVEALED):
            # Keys of the masks were in the earlier record; they are to be forgotten here too, not only in the table.
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def spent(self, without: Sequence[Record] = ()) -> tuple[Entry, ...]:
        """The entries of all records that count: those in a state that does, and all that were ever sent.

        Those of the attempts `without` are left out.
        """
        counted = ", ".join(f"'{state.value}'" for state in COUNTED)
        left_out = {record.place for record in without}
        records = self._records(f"WHERE spent = 1 OR state IN ({counted})")
        return tuple(entry for record in records if record.place not in left_out for entry in record.entries)

    def statement(self) -> Statement:
        """What was spent, as a value that can be shown and checked."""
        if self._budget is None:
            raise ProtocolError("this member has no rows and so no budget; ask a party for its statement")
        return Statement(self._budget, self._protects, self.spent(), self._observed)

    def note(self, happened: str, **facts: str | int | bool | None) -> None:
        """Write a line into the audit log that changes no record."""
        with self._change():
            self._write_log(happened, **facts)

    def close(self) -> None:
        """Let another process open the journal."""
        self._connection.close()
        self._hold.close()

    def _check_step(self, earlier: Record | None, record: Record) -> None:
        """Refuse a step back from what counts, and any change of what was fixed by an earlier step."""
        if earlier is None or (earlier.state not in COUNTED and earlier.state is not State.ABORTED):
            return
        problem = ""
        given_up = record.state is State.ABORTED and not self._is_spent(record)
        if _ORDER.index(record.state) < _ORDER.index(earlier.state) or earlier.state is State.ABORTED:
            problem = f"it is {earlier.state.value} and cannot become {record.state.value}"
        elif record.asked != earlier.asked:
            problem = "its questions were changed"
        elif record.entries != earlier.entries and not given_up:
            problem = "its cost was changed after it was reserved"
        elif {earlier.state, record.state} <= _TO_SEND and not record.payload.startswith(earlier.payload):
            problem = "the bytes to send were changed; only the stored ones may ever be sent"
        if problem:
            raise ProtocolError(f"round {record.round}, attempt {record.attempt} is refused: {problem}")

    def _check_budget(self, record: Record, cost: Fraction) -> None:
        if self._budget is None:
            return
        total = self._budget.total
        left = total.amount - self._cost(self.spent())
        if cost > left:
            raise BudgetExceeded(
                f"round {record.round} would cost {float(cost):.4g} {total.currency.value}; {float(left):.4g} is left "
                f"of {float(total.amount):.4g}; nothing was computed"
            )

    def _cost(self, entries: tuple[Entry, ...]) -> Fraction:
        if self._budget is None:
            return Fraction(0)
        return total_cost((event for _, event in entries), self._budget.notion)

    def _is_spent(self, record: Record) -> bool:
        query = "SELECT spent FROM attempts WHERE round = ? AND attempt = ?"
        return bool(self._connection.execute(query, (record.round, record.attempt)).fetchone()[0])

    def _records(self, where: str, values: tuple[int, ...] = ()) -> tuple[Record, ...]:
        query = f"SELECT round, attempt, state, asked, payload, entries FROM attempts {where} ORDER BY round, attempt"  # noqa: S608 -- `where` is ours
        found = self._connection.execute(query, values).fetchall()
        return tuple(
            Record(round_, attempt, State(state), asked, bytes(payload), entries_of(entries))
            for round_, attempt, state, asked, payload, entries in found
        )

    @contextmanager
    def _change(self) -> Iterator[None]:
        """One change: on disk as a whole when the block ends, or not made at all."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
        except sqlite3.OperationalError as problem:
            raise unwritten(self._path, problem) from None

    def _write_log(self, happened: str, **facts: str | int | bool | None) -> None:
        self._log.record(happened, **facts, committed=self._committed()[0])
        facts_now = (("log", str(self._log.length)), ("log_head", self._log.head))
        self._connection.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", facts_now)

    def _committed(self) -> tuple[int, str]:
        """How many lines of the log this journal knows of, and the hash of the last of them."""
        known = dict(self._connection.execute("SELECT name, value FROM facts WHERE name IN ('log', 'log_head')"))
        return int(known.get("log", 0)), known.get("log_head", START)

    def require(self, facts: Mapping[str, str]) -> None:
        """Keep facts for good; a journal that has others (of another study, member, budget or table) is refused."""
        known = dict(self._connection.execute("SELECT name, value FROM facts").fetchall())
        for name, value in facts.items():
            if known.setdefault(name, value) != value:
                raise ProtocolError(
                    f"the journal {str(self._path)!r} has {name} {known[name]}, and {value} was given; give another "
                    "folder, or what it was opened with"
                )
        with self._change():
            self._connection.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", list(facts.items()))

    def fact(self, name: str) -> str | None:
        """A fact that was kept, or None."""
        found = self._connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return None if found is None else str(found[0])

    def _check_log(self) -> None:
        """Refuse a journal and a log that are not of the same moment.

        Lines beyond those that the journal knows of are of changes that were not made, as often as that happened, if
        each of them says that the journal knew of no line after it. What was made would have let the next line say so.
        """
        lines, head = self._committed()
        there = [START, *(line["hash"] for line in self._log.lines())]
        beyond = [line.get("committed") for line in self._log.lines(after=lines)]
        if lines >= len(there) or there[lines] != head or any(known != lines for known in beyond):
            raise ProtocolError(
                f"the journal {str(self._path)!r} and its audit log are not of the same moment: one of them was "
                "restored from a copy, and what was spent since then would be forgotten; restore the newest copy of "
                "both"
            )


def _written(cost: Fraction) -> str:
    """A cost for readers: exact if that is short, else a little more. What counts is computed from the entries."""
    short = max(cost.numerator, cost.denominator).bit_length() <= 200
    return str(cost) if short else printed_up(cost, 20)


def entries_of(text: str) -> tuple[Entry, ...]:
    """The events in the text of a record."""
    return tuple((record["stage"], event_from_dict(record)) for record in json.loads(text))
