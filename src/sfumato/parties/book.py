"""The book: what a member must not forget, in a file that survives a crash at any moment.

SQLite, one row for each round and attempt, on disk before anything leaves the machine. The rules are those of a ledger:
a state never goes back, what was stored to be sent is never changed, what was sent stays spent, and a reservation that
would exceed the budget is refused. Every change is also a line of the audit log, which is written first; a book that
is older than its log was restored from a copy and is refused, because it may have forgotten what it spent.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

from sfumato.errors import BudgetExceeded, ProtocolError
from sfumato.exact import printed_up
from sfumato.parties.audit import AuditLog
from sfumato.parties.store import COUNTED, Record, State
from sfumato.privacy.budget import Budget
from sfumato.privacy.events import event_from_dict
from sfumato.privacy.ledger import Entry, Statement

_ORDER = list(State)
_TO_SEND = {State.COMPUTED, State.SENT}
_TABLES = """
CREATE TABLE IF NOT EXISTS attempts (
    round INTEGER, attempt INTEGER, state TEXT NOT NULL, asked TEXT NOT NULL, payload BLOB NOT NULL,
    entries TEXT NOT NULL, cost TEXT NOT NULL, spent INTEGER NOT NULL, PRIMARY KEY (round, attempt)
);
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""


class Book:
    """The store of one member in one study.

    Args:
        folder: where `book.sqlite` and `audit.jsonl` are; made if it does not exist.
        study: the study, as messages name it; a book of another study is refused.
        member: whose book it is.
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
        self._path = folder / "book.sqlite"
        self._connection = _open(self._path)
        try:
            self._log = AuditLog(folder / "audit.jsonl")
            limit = "none" if budget is None else json.dumps(budget.to_dict(), sort_keys=True)
            self._check_facts({"study": study, "member": member, "budget": limit})
            self._check_log()
        except ProtocolError:
            self.close()
            raise

    def load(self, round_: int, attempt: int) -> Record | None:
        """The record of an attempt, if there is one."""
        found = self._records("WHERE round = ? AND attempt = ?", (round_, attempt))
        return found[0] if found else None

    def attempts(self, round_: int) -> tuple[Record, ...]:
        """All records of a round, in the order of their attempts."""
        return self._records("WHERE round = ?", (round_,))

    def save(self, record: Record) -> None:
        """Keep a record in the place of an earlier one, if the rules allow it; nothing is changed if they do not."""
        with self._change():
            earlier = self.load(record.round, record.attempt)
            if earlier == record:
                return
            self._check_step(earlier, record)
            cost = self._cost(record.entries)
            if record.state in COUNTED and (earlier is None or earlier.state not in COUNTED):
                self._check_budget(record, cost)
            spent = (earlier is not None and self._is_spent(record)) or record.state in (State.SENT, State.OPENED)
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
        if record.state is State.COMPUTED:
            # The key of the masks was in the earlier record; it is to be forgotten here too, not only in the table.
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def spent(self) -> tuple[Entry, ...]:
        """The entries of all records that count: those in a state that does, and all that were ever sent."""
        counted = ", ".join(f"'{state.value}'" for state in COUNTED)
        records = self._records(f"WHERE spent = 1 OR state IN ({counted})")
        return tuple(entry for record in records for entry in record.entries)

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
        """Let another process open the book."""
        self._connection.close()

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
        elif {earlier.state, record.state} <= _TO_SEND and record.payload != earlier.payload:
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
        return sum((event.cost(self._budget.notion) for _, event in entries), Fraction(0))

    def _is_spent(self, record: Record) -> bool:
        query = "SELECT spent FROM attempts WHERE round = ? AND attempt = ?"
        return bool(self._connection.execute(query, (record.round, record.attempt)).fetchone()[0])

    def _records(self, where: str, values: tuple[int, ...] = ()) -> tuple[Record, ...]:
        query = f"SELECT round, attempt, state, asked, payload, entries FROM attempts {where} ORDER BY round, attempt"  # noqa: S608 -- `where` is ours
        found = self._connection.execute(query, values).fetchall()
        return tuple(
            Record(round_, attempt, State(state), asked, bytes(payload), _entries(entries))
            for round_, attempt, state, asked, payload, entries in found
        )

    @contextmanager
    def _change(self) -> Iterator[None]:
        """One change: on disk as a whole when the block ends, or not made at all."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def _write_log(self, happened: str, **facts: str | int | bool | None) -> None:
        self._log.record(happened, **facts)
        self._connection.execute("INSERT OR REPLACE INTO facts VALUES ('log', ?)", (str(self._log.length),))

    def _check_facts(self, facts: dict[str, str]) -> None:
        """Refuse a book that was opened for another study, another member or another budget."""
        known = dict(self._connection.execute("SELECT name, value FROM facts").fetchall())
        for name, value in facts.items():
            if known.setdefault(name, value) != value:
                raise ProtocolError(
                    f"the book {str(self._path)!r} has {name} {known[name]}, and {value} was given; give another "
                    "folder, or what it was opened with"
                )
        with self._change():
            self._connection.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", list(facts.items()))

    def _check_log(self) -> None:
        """Refuse a book and a log that are not of the same moment; a crash may leave one line more in the log."""
        found = self._connection.execute("SELECT value FROM facts WHERE name = 'log'").fetchone()
        lines = int(found[0]) if found else 0
        if not lines <= self._log.length <= lines + 1:
            raise ProtocolError(
                f"the book {str(self._path)!r} and its audit log are not of the same moment: one of them was restored "
                "from a copy, and what was spent since then would be forgotten; restore the newest copy of both"
            )


def _open(path: Path) -> sqlite3.Connection:
    path.touch(mode=0o600)
    connection = sqlite3.connect(path, timeout=0.2, isolation_level=None)
    try:
        # Exclusive: two processes with one book could both think that they are the one who answers.
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = ON")
        connection.executescript(_TABLES)
    except sqlite3.OperationalError:
        connection.close()
        raise ProtocolError(
            f"the book {str(path)!r} is in use by another process; stop that one first, or give another folder"
        ) from None
    except sqlite3.DatabaseError:
        connection.close()
        raise ProtocolError(f"{str(path)!r} is not a book of Sfumato; give another folder") from None
    return connection


def _written(cost: Fraction) -> str:
    """A cost for readers: exact if that is short, else a little more. What counts is computed from the entries."""
    short = max(cost.numerator, cost.denominator).bit_length() <= 200
    return str(cost) if short else printed_up(cost, 20)


def _entries(text: str) -> tuple[Entry, ...]:
    return tuple((record["stage"], event_from_dict(record)) for record in json.loads(text))
