"""Who somebody is: an Ed25519 key pair. The private half is a file that only its owner may read, and is never shown."""

from __future__ import annotations

import getpass
import os
import sys
from pathlib import Path
from typing import NoReturn

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from sfumato.errors import ProtocolError
from sfumato.files import PRIVATE, write_new
from sfumato.privacy.entropy import SystemEntropy

PASSPHRASE, PASSPHRASE_FILE = "SFUMATO_KEY_PASSPHRASE", "SFUMATO_KEY_PASSPHRASE_FILE"
"""Where the passphrase of an encrypted key is found: itself, or the file that has it."""


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

    def save(self, path: Path, passphrase: str | None = None) -> None:
        """Write the private half into a new file that only its owner may read, encrypted if there is a passphrase."""
        if passphrase == "":
            raise ProtocolError("the passphrase is empty; give one that nobody guesses, or none")
        lock = NoEncryption() if passphrase is None else BestAvailableEncryption(passphrase.encode())
        write_secret(path, self._key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, lock))

    @classmethod
    def load(cls, path: Path) -> Signer:
        """Read a private key; refuses a file that others may read. For an encrypted one, see `passphrase_of`."""
        pem = read_secret(path)
        locked = b"ENCRYPTED" in pem.split(b"\n", 1)[0]
        password = passphrase_of(path).encode() if locked else None
        try:
            key = load_pem_private_key(pem, password=password)
        except (ValueError, TypeError):
            if locked:
                raise ProtocolError(f"the passphrase does not open {str(path)!r}") from None
            key = None
        if not isinstance(key, Ed25519PrivateKey):
            raise ProtocolError(f"{str(path)!r} is not a private key of Sfumato; make one with: sfumato key")
        return cls(key)

    def __repr__(self) -> str:
        return f"Signer({self.public})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a private key cannot be pickled or copied; load it from its file where it is needed")


def passphrase_of(path: Path, *, twice: bool = False) -> str:
    """The passphrase of a key file: from the environment, from the file that it names, or typed at a terminal."""
    given, file = os.environ.get(PASSPHRASE), os.environ.get(PASSPHRASE_FILE)
    if given is None and file is not None:
        given = read_secret(Path(file)).decode(errors="replace").rstrip("\r\n")
    if given is None and sys.stdin is not None and sys.stdin.isatty():
        given = getpass.getpass(f"Passphrase of {path}: ")
        if twice and getpass.getpass("Again: ") != given:
            raise ProtocolError("the two passphrases differ; nothing was written")
    if given is None:
        raise ProtocolError(
            f"{str(path)!r} needs a passphrase, and there is no terminal to ask at; put it into a file that only you "
            f"can read and name that in {PASSPHRASE_FILE}, or into {PASSPHRASE}"
        )
    return given


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
