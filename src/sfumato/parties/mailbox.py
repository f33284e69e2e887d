"""How envelopes get from one member to another, and the desk where a member signs, checks and counts them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Protocol

from sfumato.errors import ProtocolError
from sfumato.identity import Signer
from sfumato.parties.envelopes import address, open_, seal
from sfumato.parties.letters import LARGE, Members
from sfumato.parties.messages import Message

LONGEST = LARGE + (1 << 13)
"""Most bytes of an envelope; a mailbox takes no longer ones."""


class Mailbox(Protocol):
    """Carries envelopes. It may lose, repeat or reorder them; it cannot read masked counts or write in another's name.

    Every recipient has one list, to which envelopes are only ever added. Putting an envelope twice does no harm; a
    mailbox may keep only one copy.
    """

    def put(self, envelope: bytes) -> None:
        """Add an envelope to the list of the recipient that its header names."""
        ...

    def fetch(self, recipient: str, seen: int) -> list[bytes]:
        """The envelopes of a recipient's list after the first `seen`, in order; at least one if there is one.

        It may hand over a part of them, so whoever writes much cannot fill a reader's memory.
        """
        ...


def everything(mailbox: Mailbox, recipient: str) -> Iterator[bytes]:
    """All envelopes of a recipient's list, in order."""
    seen = 0
    while found := mailbox.fetch(recipient, seen):
        yield from found
        seen += len(found)


class MemoryMailbox:
    """A mailbox in this process."""

    def __init__(self) -> None:
        self._lists: dict[str, list[bytes]] = {}

    def put(self, envelope: bytes) -> None:
        """Add an envelope to the list of the recipient that its header names."""
        if len(envelope) > LONGEST:
            raise ProtocolError(f"an envelope is longer than {LONGEST:,} bytes; it is not taken")
        self._lists.setdefault(address(envelope)[0], []).append(envelope)

    def fetch(self, recipient: str, seen: int) -> list[bytes]:
        """The envelopes of a recipient's list after the first `seen`, in order."""
        return self._lists.get(recipient, [])[seen:]


class Desk:
    """One member's end of a mailbox: signs what goes out; opens, checks and counts what comes in.

    What is refused is left out and noted in `refused`. A message that repeats another of the same round, attempt,
    sender and kind is handed over again if it is the same (answers are idempotent), and refused if it differs.
    """

    def __init__(self, name: str, members: Members, signer: Signer, mailbox: Mailbox):
        self.name = name
        self.members = members
        self.refused: list[str] = []
        self.sent: Counter[str] = Counter()
        self.received: Counter[str] = Counter()
        self._signer = signer
        self._mailbox = mailbox
        self._seen = 0
        self._first: dict[tuple[int, int, str, str], bytes] = {}

    def post(self, messages: Iterable[Message]) -> None:
        """Sign messages and send them. Bytes are counted by kind of message."""
        for message in messages:
            envelope = seal(message, self.members.study, self._signer)
            self._mailbox.put(envelope)
            self.sent[message.kind] += len(envelope)

    def collect(self, limit: int = LARGE) -> tuple[Message, ...]:
        """All that has come and is in order; the body of a vector may have at most `limit` bytes."""
        accepted = []
        envelopes = self._mailbox.fetch(self.name, self._seen)
        self._seen += len(envelopes)
        for envelope in envelopes:
            try:
                message = self._checked(envelope, limit)
            except ProtocolError as problem:
                self.refused.append(str(problem))
                continue
            self.received[message.kind] += len(envelope)
            accepted.append(message)
        return tuple(accepted)

    @property
    def known(self) -> int:
        """How many different messages have come."""
        return len(self._first)

    def rewind(self) -> None:
        """Read all messages again: what came before its time was not kept, and is not put into the list twice."""
        self._seen = 0

    def _checked(self, envelope: bytes, limit: int) -> Message:
        message = open_(envelope, self.members, limit)
        if message.recipient != self.name:
            raise ProtocolError(f"a message for {message.recipient!r} came to {self.name!r}; it is not read")
        place = (message.round, message.attempt, message.sender, message.kind)
        digest = hashlib.sha256(envelope).digest()
        if self._first.setdefault(place, digest) != digest:
            raise ProtocolError(
                f"{message.sender!r} sent two different messages of kind {message.kind} in round {message.round}, "
                f"attempt {message.attempt}; the second is not read"
            )
        return message
