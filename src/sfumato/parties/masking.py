"""Pairwise masks: every two parties share a secret stream that one adds and the other subtracts.

In the sum over a whole roster all streams cancel. Without even one of the vectors, what is left is as uniform as the
streams of the missing party. The stream of a pair is bound to the study and the roster, and so to the round, the
attempt, the questions and the keys of everybody: no stream is ever used twice.
"""

from __future__ import annotations

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import CTR
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

from sfumato.errors import ProtocolError
from sfumato.parties.messages import Roster
from sfumato.privacy.entropy import Entropy, SystemEntropy

_CHUNK = 1 << 17  # bytes of a stream at a time: they stay in the cache


def new_private_key(entropy: Entropy | None = None) -> bytes:
    """The private half of a new X25519 key, for one attempt at one round."""
    return (entropy or SystemEntropy()).words(4).tobytes()


def public_key(private: bytes) -> str:
    """The public half, in hexadecimal digits."""
    return X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw().hex()


def mask(private: bytes, name: str, roster: Roster, study: str, size: int) -> NDArray[np.uint64]:
    """The sum of all streams of one party of a roster, each with its sign, modulo 2^64."""
    total = np.zeros(size, dtype=np.uint64)
    for other in roster.keys:
        if other.sender == name:
            continue
        first, second = sorted((name, other.sender))
        try:
            secret = X25519PrivateKey.from_private_bytes(private).exchange(
                X25519PublicKey.from_public_bytes(bytes.fromhex(other.public))
            )
        except ValueError:
            raise ProtocolError(
                f"the key of {other.sender!r} in this round is not an X25519 key; nothing is sent"
            ) from None
        info = "\n".join(("sfumato mask 1", study, roster.digest, first, second)).encode()
        key = HKDF(algorithm=SHA256(), length=32, salt=None, info=info).derive(secret)
        _add_stream(total, key, negative=name == second)
    return total


def _add_stream(total: NDArray[np.uint64], key: bytes, *, negative: bool) -> None:
    """Add the stream of a key to a vector, or subtract it, in place."""
    # The counter may start at zero under every key, since no key is ever used for a second stream.
    cipher = Cipher(AES256(key), CTR(bytes(16))).encryptor()
    zeros, stream = bytes(_CHUNK), bytearray(_CHUNK + 15)
    words = np.frombuffer(stream, dtype="<u8", count=_CHUNK // 8)
    for start in range(0, total.size, _CHUNK // 8):
        part = total[start : start + _CHUNK // 8]
        cipher.update_into(zeros[: 8 * part.size], stream)
        if negative:
            part -= words[: part.size]
        else:
            part += words[: part.size]
