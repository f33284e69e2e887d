"""A party's answer to a choice: checked, approved, paid for, drawn once, and given again if it is asked again."""

from __future__ import annotations

from dataclasses import replace

from sfumato.errors import ProtocolError
from sfumato.parties.choices import SCORE, event_of
from sfumato.parties.letters import CURATOR, STAGES
from sfumato.parties.messages import Choose, Chosen
from sfumato.parties.questions import read_coding
from sfumato.parties.seat import AskedTable, Seat, Summary, joined, parts_of
from sfumato.parties.store import FINAL, Record, State
from sfumato.privacy.scores import GRID
from sfumato.text import one_line


def choose(seat: Seat, asked: Choose) -> Chosen:
    """The candidate that this party chooses. What was drawn for a question is stored, and never drawn again."""
    if asked.stage not in STAGES:
        raise ProtocolError(
            f"choice {asked.round} is for a stage named '{one_line(asked.stage, 40)}'; parties answer "
            f"{', '.join(STAGES)}"
        )
    record = seat.store.load(asked.round, asked.attempt)
    if record is not None and record.asked != asked.digest:
        raise ProtocolError(f"choice {asked.round}, attempt {asked.attempt} was asked before, with other candidates")
    if record is None or record.state in (State.PROPOSED, State.APPROVED, State.RESERVED):
        record = _made(seat, asked, record)
    if record.state is State.ABORTED:
        raise ProtocolError(f"the operator of {seat.name} did not approve choice {asked.round}")
    if record.state is State.COMPUTED:
        record = replace(record, state=State.SENT)
        seat.store.save(record)
    return Chosen.from_body((asked.round, asked.attempt, seat.name, CURATOR), parts_of(record.payload)[0])


def _made(seat: Seat, asked: Choose, record: Record | None) -> Record:
    """Pay for a choice, and store which candidate was drawn."""
    for place in asked.answered:
        earlier = seat.store.load(*place)
        if earlier is None or earlier.state not in FINAL:
            raise ProtocolError(
                f"choice {place[0]} has an answer of this party, of which its journal knows nothing: the journal was "
                "restored from a copy; nothing is sent"
            )
    coding = read_coding(asked.coding, seat.holder.domain)
    asked.question.require(coding.domain)
    event = event_of(asked.question, seat.holder.neighbours)
    if record is None or record.state is not State.RESERVED:
        record = _reserved(seat, asked, approved=record is not None and record.state is State.APPROVED)
    ledger = seat.ledger(without=[record])
    ledger.stage = asked.stage
    winner = seat.holder.choose(coding, asked.question.families, SCORE, event, asked.question.handicaps, ledger)
    chosen = Chosen(asked.round, asked.attempt, seat.name, CURATOR, asked.digest, winner)
    computed = replace(record, state=State.COMPUTED, payload=joined(chosen.body()))
    seat.store.save(computed)
    return computed


def _reserved(seat: Seat, asked: Choose, *, approved: bool) -> Record:
    """Write down that a choice counts as spent, after the operator has approved it. Looks at no rows."""
    event = event_of(asked.question, seat.holder.neighbours)
    ledger = seat.ledger()
    before = seat.budget.spent(ledger.spent)
    ledger.charge(event)
    after = seat.budget.spent(ledger.spent)
    proposed = Record(asked.round, asked.attempt, State.PROPOSED, asked.digest)
    if not approved:
        seat.store.save(proposed)
        columns = sorted({name for one in asked.question.families for name in (one.column, *one.parents)})
        rows = 1 / float(asked.question.rate * GRID)
        shown = AskedTable(
            f"one of {len(asked.question.families):,} sets of parents, chosen by this party alone",
            ", ".join(columns),
            f"a choice whose odds grow e-fold with every {rows:.4g} rows of score",
        )
        summary = Summary(asked.round, asked.attempt, asked.stage, (shown,), 1, 8, before, after, seat.observed)
        if not seat.approve(summary):
            aborted = replace(proposed, state=State.ABORTED)
            seat.store.save(aborted)
            raise ProtocolError(f"the operator of {seat.name} did not approve choice {asked.round}")
        seat.store.save(replace(proposed, state=State.APPROVED))
    reserved = replace(proposed, state=State.RESERVED, entries=((asked.stage, event),))
    seat.store.save(reserved)
    return reserved
