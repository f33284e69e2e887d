"""A study with other parties: who signed, what each round cost, and the approval of a round that waits for one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sfumato.app import studies
from sfumato.app.paying import figures
from sfumato.app.rendering import command, explained, in_thread, person_of, read_form, render, text_of, work_of
from sfumato.app.studies import Member, Study
from sfumato.errors import DataError, SfumatoError
from sfumato.exact import exact_number, printed_up
from sfumato.parties.approvals import Asked, answer
from sfumato.parties.letters import CURATOR, numbered
from sfumato.parties.receipts import check_receipt, receipt
from sfumato.parties.store import COUNTED
from sfumato.parties.study import protected

MOST_TABLES = 200
"""Tables of a round that a page shows; those with the least noise."""


@dataclass(frozen=True)
class Round:
    """One attempt at a round, as the page shows it."""

    round: str
    attempt: int
    state: str
    tables: int
    cost: str
    signed_by: str


@dataclass(frozen=True)
class Seen:
    """A member as the page shows it."""

    place: int
    name: str
    folder: str
    state: str
    since: str
    spent: str
    rounds: list[Round]
    asked: Asked | None
    cost: str
    commands: list[str]


@explained
async def show(request: Request) -> Response:
    """Everything that the folders of this machine say of the study."""
    study = await in_thread(studies.load, work_of(request), request.path_params["id"])
    manifest = study.manifest
    return render(
        request,
        "study.html",
        study=study,
        manifest=manifest,
        protects=protected(manifest),
        signatures=[(name, study.problems.get(name, "signed")) for name in manifest.keys],
        members=[_seen(study, place, one) for place, one in enumerate(study.members)],
        most=MOST_TABLES,
        commands=[command("consortium", "check", str(study.folder))],
    )


@explained
async def answer_round(request: Request) -> Response:
    """Approve the round that waits, or decline it; an answer to another question than the one shown is refused."""
    work, form = work_of(request), await read_form(request)
    study = await in_thread(studies.load, work, request.path_params["id"])
    place, decision = text_of(form, "member"), text_of(form, "decision")
    if not place.isdecimal() or int(place[:9]) >= len(study.members) or decision not in ("approve", "decline"):
        raise DataError("that member is not here any more; go back and reload the page")
    member = study.members[int(place)]
    answer(member.work, text_of(form, "digest"), decision == "approve", person_of(request, form))
    return RedirectResponse(f"/study/{study.manifest.study}", 303)


def _seen(study: Study, place: int, one: Member) -> Seen:
    found, spent = one.found, one.found.spent()
    work = str(one.work)
    kind = "curate" if found.member == CURATOR else "party"
    commands = [command(kind, "status", work)]
    if kind == "party":
        commands.append(command("party", "ledger", work, "--consortium", str(study.folder)))
    if one.asked is not None:
        commands.append(command("party", "approve", work, "--yes", "--as", "NAME"))
    return Seen(
        place=place,
        name=found.member,
        folder=work,
        state=str(found.status["state"]),
        since=str(found.status.get("since", "")),
        spent="" if spent is None else figures(spent),
        rounds=_rounds(study, one),
        asked=one.asked,
        cost="" if one.asked is None else _cost(one.asked.summary.before, one.asked.summary.after),
        commands=commands,
    )


def _rounds(study: Study, one: Member) -> list[Round]:
    budget = one.found.budget
    rounds = []
    for record in one.found.records:
        cost = ""
        if budget is not None and record.state in COUNTED:
            spent = sum(float(event.cost(budget.notion)) for _, event in record.entries)
            cost = f"{spent:.4g} {budget.currency.value}"
        signed = "" if budget is None else _signed(study, receipt(record))
        rounds.append(
            Round(numbered(record.round), record.attempt, record.state.value, len(record.entries), cost, signed)
        )
    return rounds


def _signed(study: Study, found: dict[str, Any] | None) -> str:
    """Whose signatures on a round are right; anything wrong is said."""
    if found is None:
        return ""
    try:
        return ", ".join(check_receipt(found, study.manifest))
    except SfumatoError as problem:
        return f"NOT SIGNED AS IT SHOULD BE: {problem}"


def _cost(before: Mapping[str, float], after: Mapping[str, float]) -> str:
    unit = "rho" if "rho" in after else "epsilon"
    first, second = (printed_up(exact_number(one[unit]), 4) for one in (before, after))
    return f"{unit} {first} before, {second} after"
