"""What a repeated computation must agree on to give the same bytes: versions, and how floats round on this machine."""

from __future__ import annotations

import hashlib
from importlib.metadata import version
from platform import python_version

import numpy as np

from sfumato.kernels import COMPILED

PACKAGES = ("sfumato", "numpy", "scipy", "pyarrow", "networkx")
"""What takes part in making rows from tables."""


def versions() -> dict[str, str]:
    """The versions of Python and of every package that takes part in making rows."""
    return {"python": python_version(), **{name: version(name) for name in PACKAGES}}


def arithmetic() -> str:
    """A fingerprint of how this machine rounds: equal ones mean that equal computations give equal bytes.

    NumPy picks the instructions of the processor, and `exp` may differ in its last bit from one to the next. So rows
    that differ prove nothing unless two machines agree on a sample of such results.
    """
    numbers = np.linspace(-20.0, 20.0, 4097)
    positive = np.exp(numbers)
    square = positive[:4096].reshape(64, 64)
    results = (positive, np.log(positive), np.sqrt(positive), positive**0.3, np.cumsum(numbers), square @ square.T)
    digest = hashlib.sha256(str(COMPILED).encode())
    for one in (*results, square.sum(axis=0), square.sum(axis=1), np.array([positive.sum()])):
        digest.update(np.ascontiguousarray(one, dtype="<f8").tobytes())
    return digest.hexdigest()[:16]
