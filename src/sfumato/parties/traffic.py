"""How many bytes of messages a study took, counted in the curator's mailbox."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass

from sfumato.errors import ProtocolError
from sfumato.parties.envelopes import open_
from sfumato.parties.letters import CURATOR
from sfumato.parties.mailbox import Mailbox, everything
from sfumato.parties.manifest import Manifest
from sfumato.parties.messages import Ask, Choose


@dataclass(frozen=True)
class Traffic:
    """How many bytes of messages went to and came from each party, in each stage of the run."""

    to: Counter[tuple[str, str]]
    back: Counter[tuple[str, str]]

    @property
    def total(self) -> int:
        """All bytes, both ways."""
        return self.to.total() + self.back.total()

    def rows(self) -> list[tuple[str, str, int, int]]:
        """Stage, party, bytes to it and bytes from it, in the order of the stages."""
        found = {**self.to, **self.back}
        stages = list(dict.fromkeys(stage for stage, _ in found))
        places = sorted(found, key=lambda place: stages.index(place[0]))
        return [(*place, self.to[place], self.back[place]) for place in places]


def traffic(mailbox: Mailbox, manifest: Manifest) -> Traffic:
    """Count what lies in the curator's mailbox, which keeps all messages of a study."""
    to: Counter[tuple[str, str]] = Counter()
    back: Counter[tuple[str, str]] = Counter()
    stages: dict[int, str] = {}  # the last words of the curator belong to no round
    for name in (*manifest.names, CURATOR):
        for envelope in everything(mailbox, name):
            with suppress(ProtocolError):  # a shared folder may hold what nobody has read
                message = open_(envelope, manifest)
                if isinstance(message, Ask | Choose):
                    stages[message.round] = message.stage
                stage = stages.get(message.round, "end")
                if name == CURATOR:
                    back[stage, message.sender] += len(envelope)
                else:
                    to[stage, message.recipient] += len(envelope)
    return Traffic(to, back)
