"""Where rows come in: a raw table is taken over by a holder and is never seen again."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.errors import DataError
from sfumato.privacy.entropy import Entropy
from sfumato.privacy.holder import Codec, LocalHolder, Neighbours
from sfumato.privacy.ledger import Ledger


class RawHolder:
    """A holder of a raw table, which answers nothing: it only passes through a public codec.

    Where the schema names a column that identifies persons, at most `neighbours.rows` rows of each person are kept
    (their first ones), so that the promised sensitivity holds whatever the table contains. What happens to one
    person's rows does not depend on anybody else's.
    """

    def __init__(
        self,
        table: pa.Table,
        neighbours: Neighbours,
        ledger: Ledger,
        person: str | None = None,
        entropy: Entropy | None = None,
    ):
        self._table = table if person is None else _first_rows(table, person, neighbours.rows)
        self._neighbours = neighbours
        self._ledger = ledger
        self._entropy = entropy

    def through(self, codec: Codec[pa.Table]) -> LocalHolder:
        """The rows in the codes of a public codec; the codec's refusals are the only thing that can be learned here."""
        return LocalHolder(codec.encode(self._table), self._neighbours, self._ledger, self._entropy)

    def __repr__(self) -> str:
        return "RawHolder()"

    def __reduce__(self) -> str:
        raise TypeError("a holder has private rows and cannot be pickled or copied")


def _first_rows(table: pa.Table, person: str, most: int) -> pa.Table:
    """The table without the person column, and without the rows of a person after the first `most`."""
    if person not in table.column_names:
        raise DataError(
            f"the table has no column {person!r}, which the schema names as its unit; it has {_names(table)}"
        )
    identity = table.column(person)
    if pc.any(pc.is_null(identity, nan_is_null=True)).as_py():
        raise DataError(
            f"column {person!r} identifies persons and has missing values; fill them in or remove these rows"
        )
    codes = identity.combine_chunks().dictionary_encode()
    codes = codes.combine_chunks() if isinstance(codes, pa.ChunkedArray) else codes
    numbers = codes.indices.to_numpy(zero_copy_only=False)
    order = np.argsort(numbers, kind="stable")
    sizes = np.bincount(numbers, minlength=1)
    rank = np.empty(len(numbers), dtype=np.int64)
    rank[order] = np.arange(len(numbers)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return table.drop_columns([person]).filter(pa.array(rank < most))


def _names(table: pa.Table) -> str:
    return ", ".join(table.column_names)
