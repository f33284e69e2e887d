"""Paillier encryption with packed counts, for the faithful mode: the paper's one-share sum, without plain counts.

The curator has the only private key, and must not see what parties send each other: whoever relays the messages and
has the key reads all counts. That is why this is for one process only; on a network parties mask their counts instead.

A ciphertext holds many signed numbers side by side, in slots: sum of x_i 2^(48 i), modulo n. Adding ciphertexts adds
slot by slot as long as no sum leaves its slot. Plain integers of Python: an encryption with 2048 bits takes some 0.1 s.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import gcd

import numpy as np
from cryptography.hazmat.primitives.asymmetric import rsa
from numpy.typing import NDArray

from sfumato.errors import MethodError
from sfumato.privacy.entropy import Entropy, SystemEntropy

LEAST_BITS = 2048
"""Shorter moduli can be factored, or soon: the paper's ciphertexts of 1024 bits have a modulus of 512."""
SLOT = 48
"""Binary digits of a slot."""
LARGEST = 1 << (SLOT - 8)
"""Numbers below this can be added up for 64 parties."""

Vector = NDArray[np.int64]


@dataclass(frozen=True)
class PublicKey:
    """What everybody may know: the modulus n. Ciphertexts are numbers modulo n²."""

    n: int

    def __post_init__(self) -> None:
        if self.n.bit_length() < LEAST_BITS:
            raise MethodError(
                f"a Paillier key of {self.n.bit_length()} bits was given; it would not protect: "
                f"give {LEAST_BITS} or more"
            )

    @property
    def slots(self) -> int:
        """How many numbers one ciphertext holds; the top slot stays empty, for the sign."""
        return self.n.bit_length() // SLOT - 1

    @property
    def ciphertext_bytes(self) -> int:
        """The length of one ciphertext."""
        return -(-2 * self.n.bit_length() // 8)

    def encrypt(self, message: int, entropy: Entropy) -> int:
        """(1 + n)^message r^n modulo n², with a fresh random r."""
        square = self.n * self.n
        return (1 + message % self.n * self.n) * pow(self._unit(entropy), self.n, square) % square

    def add(self, first: int, second: int) -> int:
        """A ciphertext of the sum of two messages."""
        return first * second % (self.n * self.n)

    def scale(self, ciphertext: int, factor: int) -> int:
        """A ciphertext of the message times a known number, which may be negative."""
        return pow(ciphertext, factor % self.n, self.n * self.n)

    def _unit(self, entropy: Entropy) -> int:
        """A uniform number modulo n that has no factor of n; 128 further bits make it uniform enough."""
        while True:
            words = entropy.words(self.n.bit_length() // 64 + 3)
            found = int.from_bytes(words.tobytes(), "little") % self.n
            if gcd(found, self.n) == 1:
                return found


@dataclass(frozen=True)
class PrivateKey:
    """The curator's key: the two primes. It never leaves the process that made it."""

    p: int = field(repr=False)
    q: int = field(repr=False)

    @classmethod
    def new(cls, bits: int = LEAST_BITS) -> PrivateKey:
        """A fresh key; its primes are those of an RSA key, which must be as hard to find."""
        if bits < LEAST_BITS:
            raise MethodError(
                f"a Paillier key of {bits} bits was asked for; it would not protect: give {LEAST_BITS} or more"
            )
        numbers = rsa.generate_private_key(public_exponent=65537, key_size=bits).private_numbers()
        return cls(numbers.p, numbers.q)

    @property
    def public(self) -> PublicKey:
        """The key that encrypts."""
        return PublicKey(self.p * self.q)

    def decrypt(self, ciphertext: int) -> int:
        """The message, from -n/2 to n/2: modulo either prime, then both together."""
        at_p, at_q = (self._modulo(ciphertext, prime) for prime in (self.p, self.q))
        message = at_q + self.q * ((at_p - at_q) * pow(self.q, -1, self.p) % self.p)
        return message - self.p * self.q if 2 * message > self.p * self.q else message

    def _modulo(self, ciphertext: int, prime: int) -> int:
        """The message modulo one of the primes.

        Modulo prime², c^(prime - 1) is 1 + (prime - 1) n m, since r^n has an order that divides prime - 1.
        """
        square = prime * prime
        n = self.p * self.q
        quotient = (pow(ciphertext % square, prime - 1, square) - 1) // prime
        return quotient * pow((prime - 1) * (n // prime), -1, prime) % prime


def pack(values: Vector, slots: int) -> Iterator[int]:
    """Signed numbers side by side, `slots` in each integer; the last may hold fewer."""
    if values.size and max(int(values.max()), -int(values.min())) >= LARGEST:
        raise MethodError(f"a number is too large for a slot of {SLOT} bits; a slot takes numbers below 2^{SLOT - 8}")
    for start in range(0, len(values), slots):
        packed = 0
        for value in values[start : start + slots][::-1].tolist():
            packed = (packed << SLOT) + value
        yield packed


def unpack(packed: Sequence[int], slots: int, size: int) -> Vector:
    """The numbers that `pack` put side by side, or sums of them."""
    found: list[int] = []
    for one in packed:
        for _ in range(min(slots, size - len(found))):
            low = one & ((1 << SLOT) - 1)
            value = low - (1 << SLOT) if low >> (SLOT - 1) else low
            found.append(value)
            one = (one - value) >> SLOT
    return np.array(found, dtype=np.int64)


class PaillierSum:
    """The multi-party Laplace mechanism of the paper: counts of all parties, and the noise of one, under encryption.

    The curator encrypts an indicator of one party at random, once for each sum. Each party multiplies what the party
    before it sent by its encrypted counts, and by its element of the indicator to the power of its noise. The curator
    decrypts what the last party sends.

    Args:
        bits: of the modulus, 2048 or more.
        entropy: of the encryption.
    """

    def __init__(self, bits: int = LEAST_BITS, entropy: Entropy | None = None):
        self._key = PrivateKey.new(bits)
        self._entropy = entropy or SystemEntropy()
        self.sent = 0
        """Bytes that have passed between parties and curator."""

    def __call__(self, counts: Sequence[Vector], noises: Sequence[Vector], kept: int) -> Vector:
        """The sum of all counts and of the noise at place `kept`."""
        public, slots = self._key.public, self._key.public.slots
        indicator = [public.encrypt(int(place == kept), self._entropy) for place in range(len(counts))]
        size = len(counts[0])
        passed = [1] * -(-size // slots)  # 1 is a ciphertext of 0
        for own, noise, element in zip(counts, noises, indicator, strict=True):
            passed = [
                public.add(public.add(before, public.encrypt(count, self._entropy)), public.scale(element, extra))
                for before, count, extra in zip(passed, pack(own, slots), pack(noise, slots), strict=True)
            ]
        self.sent += public.ciphertext_bytes * (len(indicator) + len(counts) * len(passed))
        return unpack([self._key.decrypt(one) for one in passed], slots, size)
