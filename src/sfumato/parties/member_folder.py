"""The work folder of a member, looked into from outside while its own process may be writing."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.errors import ProtocolError
from sfumato.parties.journal import entries_of
from sfumato.parties.store import COUNTED, Record, State
from sfumato.parties.watch import read_status
from sfumato.privacy.budget import Budget, budget_from_dict
from sfumato.privacy.ledger import Entry, Statement


@dataclass(frozen=True)
class MemberFolder:
    """What a work folder says.

    Args:
        records: one for each round and attempt.
        facts: what its journal was opened with.
        status: what its process said last about itself.
    """

    records: tuple[Record, ...]
    facts: Mapping[str, str]
    status: Mapping[str, Any]

    @property
    def member(self) -> str:
        """Whose folder it is."""
        return self.facts["member"]

    @property
    def study(self) -> str:
        """The study, as messages name it."""
        return self.facts["study"]

    @property
    def budget(self) -> Budget | None:
        """What the study may cost; None for the curator, who has no rows."""
        return None if self.facts["budget"] == "none" else budget_from_dict(json.loads(self.facts["budget"]))

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The events that count as spent."""
        return tuple(entry for one in self.records if one.state in COUNTED for entry in one.entries)

    def statement(self) -> Statement:
        """What a party has spent."""
        if self.budget is None:
            raise ProtocolError("this is the folder of the curator, which has no rows and no budget")
        return Statement(self.budget, self.facts.get("protects", "the persons of this party"), self.entries)

    def spent(self) -> dict[str, Any] | None:
        """What a party has spent in terms of its budget, and the budget; None for the curator."""
        budget = self.budget
        if budget is None:
            return None
        return {"spent": budget.spent(Statement(budget, "", self.entries).spent), "of": budget.guarantee}


def read_member(work: Path) -> MemberFolder:
    """Look into a work folder; changes nothing in it."""
    path = work / "journal.sqlite"
    if not path.is_file():
        raise ProtocolError(f"{str(work)!r} is not the work folder of a member; give the one of --work")
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=5)) as connection:
            facts: dict[str, str] = dict(connection.execute("SELECT name, value FROM facts").fetchall())
            query = "SELECT round, attempt, state, asked, payload, entries FROM attempts ORDER BY round, attempt"
            records = tuple(
                Record(round_, attempt, State(state), asked, bytes(payload), entries_of(text))
                for round_, attempt, state, asked, payload, text in connection.execute(query)
            )
    except sqlite3.Error as problem:
        raise ProtocolError(f"the journal in {str(work)!r} cannot be read ({problem})") from None
    return MemberFolder(records, facts, read_status(work) or {"state": "not started by this version"})
