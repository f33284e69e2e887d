"""Sessions: who a browser is, for as long as this server runs."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import monotonic

IDLE, LONGEST = 3_600.0, 12 * 3_600.0
"""Seconds after which an account has to sign in again: without a request, and in all."""

MOST = 1_000
"""Sessions at a time; the oldest ends when there are more."""


@dataclass(frozen=True)
class Session:
    """One browser that has come in.

    Args:
        person: the account that signed in; empty on the steward's own machine, where nobody does.
        form: what every form of this session carries.
        began: when it came in.
        seen: when it last asked for something.
    """

    person: str
    form: str = field(repr=False)
    began: float
    seen: float


class Sessions:
    """All sessions, by the value of their cookie.

    Args:
        clock: seconds, from any beginning.
    """

    def __init__(self, clock: Callable[[], float] = monotonic):
        self._clock = clock
        self._open: dict[str, Session] = {}

    def begin(self, person: str = "") -> str:
        """Open a session; gives the value of its cookie."""
        while len(self._open) >= MOST:
            del self._open[next(iter(self._open))]
        cookie, now = secrets.token_urlsafe(32), self._clock()
        self._open[cookie] = Session(person, secrets.token_urlsafe(32), now, now)
        return cookie

    def find(self, cookie: str) -> Session | None:
        """The session of a cookie. One of an account ends by itself."""
        found, now = self._open.get(cookie), self._clock()
        if found is None:
            return None
        if found.person and (now - found.seen > IDLE or now - found.began > LONGEST):
            self.end(cookie)
            return None
        self._open[cookie] = replace(found, seen=now)
        return self._open[cookie]

    def end(self, cookie: str) -> None:
        """Close a session."""
        self._open.pop(cookie, None)
