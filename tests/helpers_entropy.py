"""Deterministic entropy. It lives with the tests, so the package has no way to seed its noise."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray


class ScriptedEntropy:
    """The raw words of a seeded generator: uniform, and the same in every run."""

    def __init__(self, seed: int = 0):
        self._generator = np.random.PCG64(seed)

    def words(self, count: int) -> NDArray[np.uint64]:
        return self._generator.random_raw(count).astype(np.uint64, copy=False)


class PrefacedEntropy(ScriptedEntropy):
    """Answers each of the first requests with the words given for it, over and over; then as scripted."""

    def __init__(self, *prefaces: int | NDArray[np.uint64]):
        super().__init__()
        self._prefaces = list(prefaces)

    def words(self, count: int) -> NDArray[np.uint64]:
        if self._prefaces:
            return np.resize(np.asarray(self._prefaces.pop(0), dtype=np.uint64), count)
        return super().words(count)


class OutOfBitsError(Exception):
    """A sampler asked for more bits than its script holds."""


class BitScript:
    """Answers each request for one word with all bits equal to the next bit of a script.

    For one-bit digits and one draw at a time this makes every run of a sampler a path in a binary tree.
    """

    def __init__(self, bits: tuple[int, ...]):
        self._bits = iter(bits)

    def words(self, count: int) -> NDArray[np.uint64]:
        assert count <= 1, "a script of bits serves one draw at a time"
        try:
            return np.array([-next(self._bits) for _ in range(count)], dtype=np.int64).view(np.uint64)
        except (RuntimeError, StopIteration):
            raise OutOfBitsError from None


def all_outcomes(sampler, depth: int) -> Iterator[tuple[object, float]]:
    """Every outcome of `sampler(entropy)` that takes at most `depth` bits, with its probability."""
    scripts: list[tuple[int, ...]] = [()]
    while scripts:
        bits = scripts.pop()
        try:
            yield sampler(BitScript(bits)), 0.5 ** len(bits)
        except OutOfBitsError:
            if len(bits) < depth:
                scripts += [(*bits, 0), (*bits, 1)]
