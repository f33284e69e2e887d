"""A mailbox that is a folder: signed messages as files. The folder may be shared, synchronised, or carried by hand.

Each recipient has a folder of its own, and each message is a file whose name says what it is:
`NUMBER-KIND-ROUND-ATTEMPT-SENDER-HASH.message`. A file appears whole or not at all, and is never changed. Names prove
nothing: who reads a message checks its signature, and a file is in the way of another only if its own is right. What
else lies in the folder, or cannot be read, is passed over.
"""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from pathlib import Path
from typing import BinaryIO

from sfumato import files
from sfumato.errors import FileError, ProtocolError
from sfumato.parties.envelopes import address, open_
from sfumato.parties.letters import Members
from sfumato.parties.mailbox import LONGEST

_ENDING = ".message"
_LAST = 999_999_999
_FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_BINARY", "O_NOFOLLOW", "O_NONBLOCK"))
_MAY_CHANGE = ("refusal", "end")
"""Kinds that a member may say again in other words, for example after a restart."""


class FolderMailbox:
    """Messages in a folder, each kept for ever, in the order in which this object came to see them.

    Args:
        folder: where they are, or are to be; others may write there too.
        members: whose messages count.
    """

    def __init__(self, folder: Path, members: Members):
        self._folder = folder
        self._members = members
        self._seen: dict[str, list[str]] = {}
        self._lock = threading.Lock()

    def put(self, envelope: bytes) -> None:
        """Add a message. The same one again is accepted silently; another one in its place is refused."""
        recipient, sender, round_, attempt, kind = address(envelope)
        if len(envelope) > LONGEST:
            raise ProtocolError(f"a message of kind {kind} is longer than any may be; it is not sent")
        place = f"{_plain(kind)}-{round_}-{attempt}-{_plain(sender)}"
        digest = hashlib.sha256(envelope).hexdigest()[:32]
        folder = self._folder / _plain(recipient)
        with self._lock:
            names = _names(folder)
            for name in names:
                found = _read(folder / name) if _parts(name)[1] == place else b""
                if found == envelope:
                    return
                if kind not in _MAY_CHANGE and self._is_from(found, address(envelope)):
                    raise ProtocolError(
                        f"{sender!r} has sent a {kind} for round {round_}, attempt {attempt} already, and this is "
                        "another one; it is refused"
                    )
            number = max((_parts(name)[0] for name in names), default=0) + 1
            _write(folder / f"{min(number, _LAST):06}-{place}-{digest}{_ENDING}", envelope)

    def fetch(self, recipient: str, seen: int) -> list[bytes]:
        """The messages to a recipient, without the first `seen` ones; at most as many as fit into memory."""
        folder = self._folder / _plain(recipient)
        with self._lock:
            # Files of different senders may come late and out of order; those seen before keep their places.
            order = self._seen.setdefault(recipient, [])
            known = set(order)
            order.extend(name for name in _names(folder) if name not in known and _is_file(folder / name))
            found: list[bytes] = []
            for name in order[seen:]:
                found.append(_read(folder / name))
                if sum(map(len, found)) >= LONGEST:
                    break
            return found

    def _is_from(self, envelope: bytes, place: tuple[str, str, int, int, str]) -> bool:
        """Whether an envelope is a member's message with just this address."""
        try:
            open_(envelope, self._members)
        except ProtocolError:
            return False
        return address(envelope) == place


def _names(folder: Path) -> list[str]:
    """The names of all messages in a folder, sorted; anything else that lies there is passed over."""
    if not folder.is_dir():
        return []
    try:
        return sorted(name for name in os.listdir(folder) if name.endswith(_ENDING) and _parts(name)[0])
    except OSError as problem:
        raise ProtocolError(f"{str(folder)!r} cannot be read ({problem.strerror}); free it and go on") from None


def _parts(name: str) -> tuple[int, str, str]:
    """Number, place and hash of a file name; number 0 if it is not one of ours."""
    number, _, rest = name.removesuffix(_ENDING).partition("-")
    place, _, digest = rest.rpartition("-")
    return (int(number) if number.isascii() and number.isdigit() and len(number) <= 9 else 0), place, digest


def _is_file(path: Path) -> bool:
    """Whether a message can be read there, now: not a folder, a link or a pipe, nor a file that is closed to us."""
    try:
        with _opened(path):
            return True
    except OSError:
        return False


def _read(path: Path) -> bytes:
    """A message; no bytes if it is too long to be one, or gone. The reader refuses that as it refuses any other."""
    try:
        with _opened(path) as file:
            content = file.read(LONGEST + 1)
    except OSError:
        return b""
    return content if len(content) <= LONGEST else b""


def _opened(path: Path) -> BinaryIO:
    """A file, opened; whatever is no file is an OSError, and nothing is waited for."""
    file = os.fdopen(os.open(path, _FLAGS), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError
    return file


def _write(path: Path, content: bytes) -> None:
    """A file that appears whole or not at all; readable for others who share the folder: it is masked and signed."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise FileError(f"{str(path.parent)!r} cannot be written ({problem.strerror}); free it and go on") from None
    files.write(path, content, 0o644)


def _plain(name: str) -> str:
    """A part of a header as part of a path; refuses one that could lead elsewhere."""
    if not name or not all(one.isascii() and (one.isalnum() or one in "-_") for one in name):
        raise ProtocolError("a message is from or to nobody whose name could be a member's; it is not sent")
    return name
