"""`sfumato party status`, `ledger`, `audit` and `approve`, and `sfumato curate status`: look into a work folder."""

from __future__ import annotations

import getpass
import json
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from sfumato.cli.console import JsonOption, explained, out, print_json
from sfumato.cli.parties_options import WorkArgument
from sfumato.cli.party_show import show_summary
from sfumato.errors import ProtocolError
from sfumato.parties.approvals import answer, read_asked
from sfumato.parties.audit import verify_log
from sfumato.parties.consortium import read_manifest
from sfumato.parties.letters import CURATOR, numbered
from sfumato.parties.member_folder import read_member
from sfumato.parties.receipts import check_everybody, check_receipt, everybody, receipt


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
    found = read_member(work)
    now, facts, spent = dict(found.status), found.facts, found.spent()
    rounds = [{"round": one.round, "attempt": one.attempt, "state": one.state.value} for one in found.records]
    if as_json:
        print_json({**now, "member": facts["member"], "study": facts["study"], "rounds": rounds, "spent": spent})
        return
    more = ", ".join(f"{key} {value}" for key, value in now.items() if key not in ("member", "study", "state", "since"))
    out.print(f"{facts['member']} in study {facts['study']}: {now['state']} since {now.get('since', '?')}. {more}")
    table = Table("", "attempt", "state")
    for one in found.records:
        table.add_row(numbered(one.round), str(one.attempt), one.state.value)
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
    found = read_member(work)
    statement, facts = found.statement(), found.facts
    budget, entries = statement.budget, statement.entries
    receipts = [one for one in map(receipt, found.records) if one]
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
    _show_signed(signed)


@explained
def signatures(
    work: WorkArgument,
    consortium: Annotated[Path, typer.Option(help="The folder of the consortium, to check every signature with.")],
    as_json: JsonOption = False,
) -> None:
    """Show what every party signed in each round, as the curator keeps it: for a third person, with the manifest."""
    found, members = read_member(work), read_manifest(consortium)
    if (found.member, found.study) != (CURATOR, members.study):
        raise ProtocolError(f"{str(work)!r} is not the work folder of this study's curator; a party has: party ledger")
    kept = [one for one in map(everybody, found.records) if one]
    signed = {f"{one['round']}.{one['attempt']}": check_everybody(one, members) for one in kept}
    if as_json:
        print_json({"study": members.study, "manifest_sha256": members.digest, "rounds": kept, "signed": signed})
        return
    _show_signed(signed)
    out.print(f"{sum(map(len, signed.values()))} signatures in {len(signed)} rounds, all of them right")


def _show_signed(signed: dict[str, dict[str, dict[str, str]]]) -> None:
    for place, parties in signed.items():
        for name, facts_of in parties.items():
            out.print(f"round {place}: {name} promised {facts_of['asked'][:16]}…, log at {facts_of['head'][:24]}…, "
                      f"vector {facts_of['vector_sha256'][:16]}…")  # fmt: skip


@explained
def approve(
    work: WorkArgument,
    yes: Annotated[
        bool | None, typer.Option("--yes/--no", help="Answer at once; a no is final and ends the study.")
    ] = None,
    name: Annotated[str | None, typer.Option("--as", help="Your name; by default that of your account.")] = None,
) -> None:
    """Show the round that a party started with --approve wait asks about, and answer it."""
    asked = read_asked(work)
    if asked is None:
        raise ProtocolError(f"no round waits for an answer in {str(work)!r}; sfumato party status says what it does")
    show_summary(asked.summary)
    agreed = typer.confirm("Send this?") if yes is None else yes
    answer(work, asked.digest, agreed, getpass.getuser() if name is None else name)
    out.print("approved" if agreed else "declined: the study ends")
