"""Turns: which party makes the next choice, with how much, and what the curator keeps of it.

What a choice may cost is charged to the curator's ledger as if everybody paid it. A party that makes none has paid
nothing, and has that much left for one of its own. So the next choice is made by whoever has most left, with all of it:
no party ever pays more than the ledger says, and each choice gets about K times the part of one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from sfumato.data.selection import Family
from sfumato.errors import ProtocolError, StudyEnded, TryAgain
from sfumato.parties.choices import SCORE, ChoiceQuestion, event_of, rounded
from sfumato.parties.curator import Chair
from sfumato.parties.letters import ATTEMPTS, CHOICES, CURATOR, ROUNDS, SMALL
from sfumato.parties.messages import Choose, Chosen, Message, Refusal
from sfumato.parties.seat import joined, parts_of
from sfumato.parties.store import Record, State
from sfumato.parties.wire import Wire
from sfumato.privacy.mechanisms.exponential import Exponential
from sfumato.privacy.neighbours import Neighbours
from sfumato.privacy.sensitivity import Notion
from sfumato.text import one_line


@dataclass
class Turns:
    """The choices of one study, in the order in which they are asked for."""

    chair: Chair
    wire: Wire
    allowed: Fraction = Fraction(0)
    paid: dict[str, Fraction] = field(default_factory=dict)
    answered: dict[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    _number: int = ROUNDS

    def allow(self, charged: Fraction) -> None:
        """The ledger was charged for one more choice, as if every party had made it."""
        self.allowed += charged

    def choose(
        self,
        stage: str,
        coding: str,
        families: Sequence[Family],
        handicaps: Sequence[int],
        neighbours: Neighbours,
        notion: Notion,
    ) -> int:
        """The place of one family, chosen by one party; the ledger was charged for it."""
        number, self._number = self._number, self._number + 1
        if number >= ROUNDS + CHOICES:
            raise ProtocolError(f"the method asks for more than {CHOICES} choices; declare fewer columns")
        lost: dict[str, str] = {}
        for attempt in range(ATTEMPTS):
            name = self._next(number, attempt, lost)
            spare = self.allowed - self.paid.get(name, Fraction(0))
            sensitivity = neighbours.score_of_one_party(SCORE)
            rate = rounded(Exponential.calibrate(spare, sensitivity, notion))
            question = ChoiceQuestion(tuple(families), rate, tuple(handicaps))
            asked = Choose(number, attempt, CURATOR, name, stage, coding, question, self.answered.get(name, ()))
            # It may have paid even if its answer never comes.
            self.paid[name] = self.paid.get(name, Fraction(0)) + event_of(question, neighbours).cost(notion)
            place = self._answer(asked, lost)
            if place is not None:
                self.answered[name] = (*self.answered.get(name, ()), (number, attempt))
                return place
        raise ProtocolError(f"choice {number} was asked {ATTEMPTS} times, and nobody has answered")

    def _next(self, number: int, attempt: int, lost: dict[str, str]) -> str:
        """Who is asked: as it is written down, or whoever has most left of those who are not lost."""
        record = self.chair.store.load(number, attempt)
        if record is not None:
            return parts_of(record.payload)[0].decode()
        members = self.chair.members
        if len(lost) > members.missing:
            said = ", ".join(f"{name} ({reason or 'no answer'})" for name, reason in lost.items())
            problem = f"the study cannot go on without {said}; at most {members.missing} may stay away"
            if any(lost.values()):
                raise StudyEnded(f"{problem}. A refusal is final in this study: agree on another manifest")
            raise TryAgain(f"{problem}. Start the curator again when they are there: it goes on where it was")
        there = [name for name in members.names if name not in lost]
        present = [name for name in there if name not in self.chair.absent] or there
        return min(present, key=lambda name: (self.paid.get(name, Fraction(0)), members.names.index(name)))

    def _answer(self, asked: Choose, lost: dict[str, str]) -> int | None:
        """What a party has chosen; None if it refuses or does not answer."""
        store, name = self.chair.store, asked.recipient
        record = store.load(asked.round, asked.attempt)
        if record is None:
            record = Record(asked.round, asked.attempt, State.PROPOSED, asked.digest, joined(name.encode()))
            store.save(record)
        if record.state is State.OPENED:
            return int(json.loads(parts_of(record.payload)[1]))
        if record.state is State.ABORTED:
            lost[name] = parts_of(record.payload)[1].decode()
            return None

        def wanted(message: Message) -> bool:
            return (message.round, message.attempt, message.sender) == (asked.round, asked.attempt, name)

        while True:
            self.chair.watch.now(
                "waiting", round=asked.round, attempt=asked.attempt, wants="chosen", waiting_for=[name]
            )
            self.wire.post([asked])
            incoming = self.wire.collect(SMALL, wanted)
            for message in incoming or ():
                if isinstance(message, Chosen) and message.asked == asked.digest:
                    if 0 <= message.place < len(asked.question.families):
                        opened = joined(name.encode(), json.dumps(message.place).encode())
                        store.save(replace(record, state=State.OPENED, payload=opened))
                        self.chair.absent.discard(name)
                        return message.place
                    lost[name] = "it chose none of the candidates"
                elif isinstance(message, Refusal):
                    lost[name] = one_line(message.text, 300)
            if incoming is None:
                lost.setdefault(name, "")
            if name not in lost:
                continue
            if lost[name] or self.chair.members.missing:
                gone = joined(name.encode(), lost[name].encode())
                store.save(replace(record, state=State.ABORTED, payload=gone))
            if not lost[name]:
                self.chair.absent.add(name)
                self.chair.watch.tell(f"{name} does not answer choice {asked.round}", "warning")
            return None
