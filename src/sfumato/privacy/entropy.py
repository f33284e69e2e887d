"""Entropy: the only module of the package that may ask for the random bits which protect people.

Noise takes its bits from an `Entropy`. The one that ships, `SystemEntropy`, cannot be seeded, copied or
replayed: whoever can repeat the noise can subtract it. What we assume of it: `docs/proofs/noise.md`.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from typing import NoReturn, Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import CTR
from numpy.typing import NDArray


class Entropy(Protocol):
    """A source of uniform random bits."""

    def words(self, count: int) -> NDArray[np.uint64]:
        """The next `count` words of 64 independent fair bits."""
        ...


class SystemEntropy:
    """The keystream of AES-256 in counter mode, under a key of its own from the operating system.

    Threads may share one object. After a fork the child takes a new key, so no two processes draw the
    same noise. The object cannot be pickled or copied, for the same reason.

    >>> len(SystemEntropy().words(3))
    3
    """

    def __init__(self) -> None:
        self._stream = _Keystream(_process)

    def words(self, count: int) -> NDArray[np.uint64]:
        """The next `count` words of 64 independent fair bits."""
        stream = self._stream
        if stream.process is not _process:
            # Two threads of a new child may both come here; each then has its own key, which is harmless.
            self._stream = stream = _Keystream(_process)
        return stream.words(count)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a source of entropy cannot be pickled or copied: the copy would repeat its noise; make a new one"
        )


def _new_cipher() -> CipherContext:
    # The counter may start at zero under every key, since no key is ever used for a second stream.
    return Cipher(AES256(os.urandom(32)), CTR(bytes(16))).encryptor()


@dataclass(frozen=True)
class _Keystream:
    """The stream of one key, which belongs to one process."""

    process: object
    lock: threading.Lock = field(default_factory=threading.Lock)
    cipher: CipherContext = field(default_factory=_new_cipher)

    def words(self, count: int) -> NDArray[np.uint64]:
        with self.lock:
            stream = self.cipher.update(bytes(8 * count))
        return np.frombuffer(stream, dtype=np.uint64)


_process = object()
"""A different object in every process of a family. A process number would not do: numbers are used again."""


def _enter_child() -> None:
    global _process
    _process = object()


if hasattr(os, "register_at_fork"):  # absent where processes cannot fork
    os.register_at_fork(after_in_child=_enter_child)
