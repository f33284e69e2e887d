"""For movers of others: what goes from one folder of messages to another, in exchanges that may fail at any time.

A mover (Flower, say) connects the curator's folder with one at each party. It asks a party's end what is new there and
brings what is new here. Neither end keeps anything but the folders: a mover that starts again brings all messages
again, and those that are there already do no harm. A mover sees signed and masked messages, and can only lose or delay
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from sfumato.errors import ProtocolError
from sfumato.parties.envelopes import address, open_
from sfumato.parties.folder import FolderMailbox
from sfumato.parties.letters import CURATOR, Members


class PartyEnd:
    """The folder of one party, which its `sfumato party serve --mailbox` reads and writes.

    Args:
        folder: the mailbox.
        name: the party.
        members: of the study.
    """

    def __init__(self, folder: Path, name: str, members: Members):
        self._box, self._name, self._members = FolderMailbox(folder, members), name, members

    def answer(self, seen: int, envelopes: Sequence[bytes]) -> list[bytes]:
        """Take in what came from the curator, and give what the party has written to it after the first `seen`."""
        for envelope in envelopes:
            _put(self._box, self._members, envelope, CURATOR, self._name)
        return self._box.fetch(CURATOR, seen)


class CuratorEnd:
    """The curator's folder, which its `sfumato curate --mailbox` reads and writes.

    Args:
        folder: the mailbox.
        members: of the study.
    """

    def __init__(self, folder: Path, members: Members):
        self._box, self._members = FolderMailbox(folder, members), members
        self._brought = dict.fromkeys(members.names, 0)
        self._seen = dict.fromkeys(members.names, 0)
        self._ended: set[str] = set()

    def knows(self, name: str) -> bool:
        """Whether there is a party of this name."""
        return name in self._seen

    def request(self, name: str) -> tuple[int, list[bytes]]:
        """How many of a party's messages have come, and what it has not been brought yet."""
        return self._seen[name], self._box.fetch(name, self._brought[name])

    def take(self, name: str, brought: Sequence[bytes], envelopes: Sequence[bytes]) -> None:
        """An exchange went well: a party has got what it was brought, and these are its answers."""
        for envelope in envelopes:
            _put(self._box, self._members, envelope, name, CURATOR)
        self._brought[name] += len(brought)
        self._seen[name] += len(envelopes)
        with suppress(ProtocolError):
            if any(address(envelope)[4] == "end" for envelope in brought):
                self._ended.add(name)

    @property
    def is_over(self) -> bool:
        """Whether everybody has been told that the study is over."""
        return self._ended == set(self._members.names)


def _put(box: FolderMailbox, members: Members, envelope: bytes, sender: str, recipient: str) -> None:
    """Keep a message that a member has signed for this way; whatever else came is dropped."""
    with suppress(ProtocolError):
        open_(envelope, members)
        if address(envelope)[:2] == (recipient, sender):
            box.put(envelope)
