"""Who somebody is: an Ed25519 key pair. The private half is a file that only its owner may read, and is never shown."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from sfumato.errors import ProtocolError
from sfumato.files import PRIVATE, write_new
from sfumato.privacy.entropy import SystemEntropy


class Signer:
    """The private half of a key pair: it signs, and shows nothing but its public half.

    >>> signer = Signer.new()
    >>> verified(signer.public, signer.sign(b"yes"), b"yes"), verified(signer.public, signer.sign(b"yes"), b"no")
    (True, False)
    """

    def __init__(self, key: Ed25519PrivateKey):
        self._key = key

    @classmethod
    def new(cls) -> Signer:
        """A key that nobody else has."""
        return cls(Ed25519PrivateKey.from_private_bytes(SystemEntropy().words(4).tobytes()))

    @property
    def public(self) -> str:
        """The public half: 64 hexadecimal digits."""
        return self._key.public_key().public_bytes_raw().hex()

    def sign(self, content: bytes) -> bytes:
        """The signature of `content`, 64 bytes."""
        return self._key.sign(content)

    def save(self, path: Path) -> None:
        """Write the private half into a new file that only its owner may read."""
        pem = self._key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        write_secret(path, pem)

    @classmethod
    def load(cls, path: Path) -> Signer:
        """Read a private key; refuses a file that others may read."""
        pem = read_secret(path)
        try:
            key = load_pem_private_key(pem, password=None)
        except (ValueError, TypeError):
            key = None
        if not isinstance(key, Ed25519PrivateKey):
            raise ProtocolError(f"{str(path)!r} is not a private key of Sfumato; make one with: sfumato key")
        return cls(key)

    def __repr__(self) -> str:
        return f"Signer({self.public})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a private key cannot be pickled or copied; load it from its file where it is needed")


def verified(public: str, signature: bytes, content: bytes) -> bool:
    """Whether the owner of the public key signed exactly this content."""
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public)).verify(signature, content)
    except (InvalidSignature, ValueError):
        return False
    return True


def check_public(name: str, public: str) -> str:
    """The public key in lower case; refuses what is not one."""
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))
    except ValueError:
        raise ProtocolError(
            f"the public key of {name!r} is not 64 hexadecimal digits; take it from the output of: sfumato key"
        ) from None
    return public.lower()


def write_secret(path: Path, content: bytes) -> None:
    """Write a new file with mode 0600; it is never readable by others, not even for a moment."""
    write_new({path: content}, PRIVATE)


def read_secret(path: Path) -> bytes:
    """Read a file that only its owner may read."""
    try:
        if os.name == "posix" and path.stat().st_mode & 0o077:
            raise ProtocolError(f"{str(path)!r} can be read by others; make it private first: chmod 600 {path}")
        return path.read_bytes()
    except OSError as problem:
        raise ProtocolError(f"the key file {str(path)!r} cannot be read ({problem.strerror})") from None
