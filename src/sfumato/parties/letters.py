"""What all messages have in common: who may write them, how long they may be, and how they are spelled."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from sfumato.identity import verified

CURATOR = "curator"
"""The name of the one who asks and adds up; no party may have it."""

SMALL = 1 << 16
"""Most bytes of a body that says little: a key, a refusal, the end of a round."""

MIDDLE = 1 << 20
"""Most bytes of a body that says something about every party."""

LARGE = 1 << 26
"""Most bytes of a list of questions or of a vector of counts, whatever was asked."""

REASON = 2000
"""Most characters of a reason, so no reason is too long for its message."""

STAGES = ("encode", "learn")
"""The stages of a method that ask for tables; a party answers no other, because its operator is shown the name."""

MOST_ROWS = 100_000_000
"""The upper limit of the rows of all parties unless another is given."""

LATER = "begin a later attempt"
"""In the refusal of an attempt that is over for a party: nothing of it has left, and the next one is as good."""

ROUNDS = ATTEMPTS = 64
"""Rounds of a study and attempts at one, at most. With LARGE they bound the cells of all vectors that a party sends."""


CHOICES = 4096
"""Choices of single parties in a study, at most. They are numbered from ROUNDS on, so no round is taken for one."""


def numbered(round_: int) -> str:
    """What people call a round, or a choice of a single party."""
    return f"choice {round_ - ROUNDS}" if round_ >= ROUNDS else f"round {round_}"


class Members(Protocol):
    """Who takes part in a study; `parties.manifest.Manifest` is one."""

    @property
    def study(self) -> str:
        """The name of the study in messages."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """The parties, in order."""
        ...

    @property
    def keys(self) -> Mapping[str, str]:
        """The public key of every member, the curator's too, in hexadecimal digits."""
        ...

    @property
    def honest(self) -> int:
        """How many shares of noise (h = K - t - q) add up to the noise that is charged."""
        ...

    @property
    def colluding(self) -> int:
        """How many parties (t) may put together what they know."""
        ...

    @property
    def most_rows(self) -> int:
        """A public upper limit of the rows of all parties together."""
        ...

    @property
    def missing(self) -> int:
        """How many parties (q) may stay away; if any may, masks of parties that are lost can be recovered."""
        ...


Place = tuple[int, int, str, str]
"""Round, attempt, sender and recipient."""


@dataclass(frozen=True, eq=False)
class Letter:
    """What every message has: its round, which attempt at it, from whom, to whom."""

    round: int
    attempt: int
    sender: str
    recipient: str


def signed_by(members: Members, name: str, signature: str, content: bytes) -> bool:
    """Whether a member signed this content; the signature is in hexadecimal digits, or is none."""
    try:
        return verified(members.keys[name], bytes.fromhex(signature), content)
    except ValueError:
        return False


def json_bytes(value: object) -> bytes:
    """The one JSON text of a value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def text_of(value: object) -> str:
    """A text that can be written into a file; anything else is a ValueError."""
    if not isinstance(value, str):
        raise ValueError
    value.encode()  # a lone surrogate is no text
    return value
