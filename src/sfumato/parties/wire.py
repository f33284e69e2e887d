"""The curator's way to reach the parties."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from sfumato.parties.curator import Incoming
from sfumato.parties.messages import Message


class Wire(Protocol):
    """The curator's way to reach the parties; the one place where time passes."""

    def post(self, messages: Sequence[Message]) -> None:
        """Send messages."""
        ...

    def collect(self, limit: int, wanted: Callable[[Message], bool]) -> Incoming:
        """What has come since the last call and is wanted; vectors of more than `limit` bytes are refused.

        Waits a while for something. Nothing means that nothing came; None, that nobody shall be waited for any longer.
        What is not wanted is left out and makes no wait longer.
        """
        ...
