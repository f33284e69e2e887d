"""Accounts: who may use a page that other machines can reach. Passwords are kept as scrypt hashes."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

from sfumato.app.work import read_json
from sfumato.errors import FileError
from sfumato.files import PRIVATE, write
from sfumato.text import json_text

FILE = "accounts.json"
SHORTEST, LONGEST = 12, 200
"""Characters of a password."""

COST = {"n": 1 << 15, "r": 8, "p": 1}
"""Of scrypt: 32 MB and some 50 ms for each try."""

_NAME = re.compile(r"[\w.@-]+(?: [\w.@-]+){0,5}")

LIMITS = {"name and address": 5, "address": 20, "name": 100}
"""Failures after which a pair of name and address, an address, or a name has to wait."""

WAIT = 900.0
"""Seconds for which they have to wait after the last failure."""


class Accounts:
    """The accounts in a work folder.

    Args:
        folder: the work folder.
    """

    def __init__(self, folder: Path):
        self._file = folder / FILE

    @property
    def names(self) -> list[str]:
        """Who has an account."""
        return list(self._read())

    def add(self, name: str, password: str) -> None:
        """Give somebody an account, or a new password."""
        if not _NAME.fullmatch(name) or len(name) > 80:
            raise FileError(f"{name[:80]!r} cannot be the name of an account; use letters, digits, dots and hyphens")
        if not SHORTEST <= len(password) <= LONGEST:
            raise FileError(f"a password has {SHORTEST} to {LONGEST} characters; give another one")
        salt = secrets.token_bytes(16)
        known = {other: keys for other, keys in self._read().items() if other.casefold() != name.casefold()}
        kept = {"salt": salt.hex(), "hash": _hash(password, salt, COST).hex(), **COST}
        write(self._file, json_text({**known, name: kept}) + "\n", PRIVATE)

    def remove(self, name: str) -> None:
        """Take an account away. A session that it has open lasts until the server stops or its time is over."""
        known = self._read()
        if name not in known:
            raise FileError(f"there is no account {name[:80]!r}; known are: {', '.join(known) or 'none'}")
        del known[name]
        write(self._file, json_text(known) + "\n", PRIVATE)

    def admits(self, name: str, password: str) -> bool:
        """Whether this is the password of this account; takes as long for an account that does not exist."""
        kept = self._read().get(name)
        keys = kept or {"salt": "00" * 16, "hash": "00" * 32, **COST}
        found = _hash(password[:LONGEST], bytes.fromhex(keys["salt"]), keys)
        return hmac.compare_digest(found, bytes.fromhex(keys["hash"])) and kept is not None

    def _read(self) -> dict[str, Any]:
        if not self._file.exists():
            return {}
        return dict(read_json(self._file))


def _hash(password: str, salt: bytes, cost: dict[str, Any]) -> bytes:
    words = password.encode("utf-8", "surrogatepass")
    most = 256 * cost["n"] * cost["r"]
    return hashlib.scrypt(words, salt=salt, n=cost["n"], r=cost["r"], p=cost["p"], maxmem=most, dklen=32)


class Throttle:
    """Slows down whoever guesses passwords.

    Args:
        clock: seconds, from any beginning.
    """

    def __init__(self, clock: Callable[[], float] = monotonic):
        self._clock = clock
        self._failures: dict[tuple[str, ...], tuple[int, float]] = {}

    def must_wait(self, name: str, address: str) -> bool:
        """Whether a try is refused without looking at its password."""
        now = self._clock()
        self._failures = {key: kept for key, kept in self._failures.items() if now - kept[1] <= WAIT}
        return any(self._failures.get(key, (0, 0.0))[0] >= LIMITS[key[0]] for key in _keys(name, address))

    def failed(self, name: str, address: str) -> None:
        """Count a try whose password is wrong, or not yet known to be right."""
        for key in _keys(name, address):
            self._failures[key] = (self._failures.get(key, (0, 0.0))[0] + 1, self._clock())

    def succeeded(self, name: str, address: str) -> None:
        """Take back one failure, which was counted before the password was looked at, and forget those of the pair."""
        pair, *others = _keys(name, address)
        self._failures.pop(pair, None)
        for key in others:
            times, last = self._failures.get(key, (1, 0.0))
            self._failures[key] = (times - 1, last)


def _keys(name: str, address: str) -> tuple[tuple[str, ...], ...]:
    plain = name.casefold()[:80]
    return ("name and address", plain, address), ("address", address), ("name", plain)
