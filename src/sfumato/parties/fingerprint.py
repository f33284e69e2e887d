"""The fingerprint of a table: whether a party's table is the one that it began the study with.

All tables of a study count the same rows. A party whose file changed between two rounds would make them disagree, and
what it spent would be about two tables. The fingerprint stays in the party's own journal; its key is there too and
nowhere else, so nobody who sees the fingerprint alone can try tables against it.
"""

from __future__ import annotations

import hashlib
import hmac

import numpy as np

from sfumato.intake.intake import Rows


class Fingerprint:
    """A keyed hash of coded rows in their order, and of how many they are."""

    def __init__(self, key: bytes):
        self._hash = hmac.new(key, digestmod=hashlib.sha256)
        self._rows = 0

    def add(self, rows: Rows) -> None:
        """Take in a batch. How a table is cut into batches makes no difference."""
        records = rows.records
        self._hash.update(np.ascontiguousarray(np.array(records.columns, dtype="<u4").T).tobytes())
        self._rows += len(records)

    @property
    def text(self) -> str:
        """The fingerprint, in hexadecimal digits."""
        final = self._hash.copy()
        final.update(f"{self._rows} rows".encode())
        return final.hexdigest()
