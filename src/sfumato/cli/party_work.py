"""`sfumato party status`, `ledger` and `audit`, and `sfumato curate status`: look into a work folder."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from sfumato.cli.console import JsonOption, explained, out, print_json
from sfumato.cli.parties_options import WorkArgument
from sfumato.errors import ProtocolError
from sfumato.parties.audit import verify_log
from sfumato.parties.book import entries_of
from sfumato.parties.consortium import read_manifest
from sfumato.parties.receipts import check_receipt, receipt
from sfumato.parties.store import COUNTED, Record, State
from sfumato.parties.watch import read_status
from sfumato.privacy.budget import budget_from_dict
from sfumato.privacy.ledger import Statement


@explained
def audit(work: WorkArgument, as_json: JsonOption = False) -> None:
    """Check that no line of an audit log was changed, removed or put in; print its length and its head."""
    lines, head = verify_log(work / "audit.jsonl")
    if as_json:
        print_json({"lines": lines, "head": head})
    else:
        out.print(f"{lines} lines, an unbroken chain. Head: {head}")


@explained
def status(work: WorkArgument, as_json: JsonOption = False) -> None:
    """Say what a member is doing, since when, which rounds there were, and what they cost."""
    with _reading(work) as (records, facts):
        now = dict(read_status(work) or {"state": "not started by this version"})
        rounds = [{"round": one.round, "attempt": one.attempt, "state": one.state.value} for one in records]
        spent = _spent(records, facts)
    if as_json:
        print_json({**now, "member": facts["member"], "study": facts["study"], "rounds": rounds, "spent": spent})
        return
    more = ", ".join(f"{key} {value}" for key, value in now.items() if key not in ("member", "study", "state", "since"))
    out.print(f"{facts['member']} in study {facts['study']}: {now['state']} since {now.get('since', '?')}. {more}")
    table = Table("round", "attempt", "state")
    for one in rounds:
        table.add_row(str(one["round"]), str(one["attempt"]), str(one["state"]))
    out.print(table)
    if spent is not None:
        out.print(f"spent: {json.dumps(spent)}")


@explained
def ledger(
    work: WorkArgument,
    consortium: Annotated[
        Path | None, typer.Option(help="The folder of the consortium: check everybody's signatures, and show them.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a party has spent, question by question; with the consortium, what everybody signed in each round."""
    with _reading(work) as (records, facts):
        if facts["budget"] == "none":
            raise ProtocolError("this is the folder of the curator, which has no rows and no budget")
        entries = tuple(entry for one in records if one.state in COUNTED for entry in one.entries)
        budget = budget_from_dict(json.loads(facts["budget"]))
        statement = Statement(budget, facts.get("protects", "the persons of this party"), entries)
        receipts = [one for one in map(receipt, records) if one]
    signed = {}
    if consortium is not None:
        members = read_manifest(consortium)
        signed = {f"{one['round']}.{one['attempt']}": check_receipt(one, members) for one in receipts}
    if as_json:
        print_json({"party": facts["member"], **statement.to_dict(), "receipts": receipts, "signed": signed})
        return
    out.print(f"{facts['member']}: {statement.sentence()}.")
    table = Table("stage", "question", "noise", f"{budget.currency.value}")
    for stage, event in entries:
        record = event.to_dict()
        table.add_row(stage, record["question"], record["event"], f"{float(event.cost(budget.notion)):.4g}")
    out.print(table)
    for place, parties in signed.items():
        for name, facts_of in parties.items():
            out.print(f"round {place}: {name} promised {facts_of['asked'][:16]}…, log at {facts_of['head'][:24]}…, "
                      f"vector {facts_of['vector_sha256'][:16]}…")  # fmt: skip


@contextmanager
def _reading(work: Path) -> Iterator[tuple[list[Record], dict[str, str]]]:
    """The records and facts of a book, which another process may be writing."""
    path = work / "book.sqlite"
    if not path.is_file():
        raise ProtocolError(f"{str(work)!r} is not the work folder of a member; give the one of --work")
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=5)) as connection:
            facts: dict[str, str] = dict(connection.execute("SELECT name, value FROM facts").fetchall())
            query = "SELECT round, attempt, state, asked, payload, entries FROM attempts ORDER BY round, attempt"
            records = [
                Record(round_, attempt, State(state), asked, bytes(payload), entries_of(text))
                for round_, attempt, state, asked, payload, text in connection.execute(query)
            ]
            yield records, facts
    except sqlite3.Error as problem:
        raise ProtocolError(f"the book in {str(work)!r} cannot be read ({problem})") from None


def _spent(records: list[Record], facts: dict[str, str]) -> dict[str, Any] | None:
    if facts["budget"] == "none":
        return None
    budget = budget_from_dict(json.loads(facts["budget"]))
    entries = tuple(entry for one in records if one.state in COUNTED for entry in one.entries)
    statement = Statement(budget, "", entries)
    return {"spent": budget.spent(statement.spent), "of": budget.guarantee}
