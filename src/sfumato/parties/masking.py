"""Pairwise masks: every two parties share a secret stream that one adds and the other subtracts.

With whom a party shares one: `parties.circle`. In the sum over a whole roster all streams cancel. Without even one of
the vectors, what is left is as uniform as the streams of the missing party. The stream of a pair is bound to the study
and the roster, and so to the round, the attempt, the questions and who answers; keys are new for each attempt: no
stream is ever used twice. Where parties may stay away, each adds a stream of its own too (`parties.recovery`).
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import CTR
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

from sfumato.errors import ProtocolError
from sfumato.parties.agreement import Key, Roster
from sfumato.privacy.entropy import Entropy, SystemEntropy

_CHUNK = 1 << 17  # bytes of a stream at a time: they stay in the cache


def new_private_key(entropy: Entropy | None = None) -> bytes:
    """The private half of a new X25519 key, for one attempt at one round."""
    return (entropy or SystemEntropy()).words(4).tobytes()


def public_key(private: bytes) -> str:
    """The public half, in hexadecimal digits."""
    return X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw().hex()


def mask(
    private: bytes, name: str, roster: Roster, study: str, size: int, others: Collection[str] | None = None
) -> NDArray[np.uint64]:
    """The sum of the streams of one party of a roster, each with its sign, modulo 2^64.

    Args:
        private: the private half of the party's key.
        name: the party.
        roster: with the keys of those others.
        study: the study, as messages name it.
        size: how many numbers.
        others: the parties whose streams are wanted; by default all whose keys are shown.
    """
    total = np.zeros(size, dtype=np.uint64)
    for other in roster.keys:
        if other.sender == name or (others is not None and other.sender not in others):
            continue
        first, second = sorted((name, other.sender))
        secret = _exchange(private, other.public, other.sender)
        key = _derived(secret, "sfumato mask 2", study, roster.digest, first, second)
        _add_stream(total, key, negative=name == second)
    return total


def own_mask(seed: bytes, name: str, roster: Roster, study: str, size: int) -> NDArray[np.uint64]:
    """The stream that a party adds beside those of its pairs, where masks of lost parties can be recovered.

    Whoever recovers the streams of a party that was said to be lost cannot read its vector, should it turn up.
    """
    total = np.zeros(size, dtype=np.uint64)
    _add_stream(total, _derived(seed, "sfumato own mask 1", study, roster.digest, name), negative=False)
    return total


def sealed(private: bytes, sender: str, recipient: Key, roster: Roster, study: str, content: bytes) -> str:
    """Content that only the recipient on a roster can read, in hexadecimal digits."""
    secret = _exchange(private, recipient.sealing, recipient.sender)
    return _pair(secret, study, roster, sender, recipient.sender).encrypt(bytes(12), content, None).hex()


def unsealed(private: bytes, sender: Key, recipient: str, roster: Roster, study: str, content: str) -> bytes:
    """What a party on a roster has sealed for the recipient; refuses anything else."""
    secret = _exchange(private, sender.sealing, sender.sender)
    try:
        return _pair(secret, study, roster, sender.sender, recipient).decrypt(bytes(12), bytes.fromhex(content), None)
    except (InvalidTag, ValueError):
        raise ProtocolError(f"a piece that {sender.sender!r} was to seal cannot be opened; nothing is sent") from None


def _pair(secret: bytes, study: str, roster: Roster, sender: str, recipient: str) -> AESGCM:
    # The nonce may be zero: the key is for one roster, one direction, and one text.
    return AESGCM(_derived(secret, "sfumato piece 1", study, roster.digest, sender, recipient))


def _exchange(private: bytes, public: str, name: str) -> bytes:
    try:
        other = X25519PublicKey.from_public_bytes(bytes.fromhex(public))
        return X25519PrivateKey.from_private_bytes(private).exchange(other)
    except ValueError:
        raise ProtocolError(f"the key of {name!r} in this round is not an X25519 key; nothing is sent") from None


def _derived(secret: bytes, *info: str) -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=None, info="\n".join(info).encode()).derive(secret)


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
