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
    person's rows does not depend on anybody else's. Rows without an identifier would count as one person all together:
    they are refused, or with `drop_unidentified` left out.
    """

    def __init__(
        self,
        table: pa.Table,
        neighbours: Neighbours,
        ledger: Ledger,
        person: str | None = None,
        entropy: Entropy | None = None,
        drop_unidentified: bool = False,
    ):
        if person is not None:
            table = _first_rows(_identified(table, person, drop_unidentified), person, neighbours.rows)
        self._table = table
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


def _identified(table: pa.Table, person: str, drop: bool) -> pa.Table:
    """The rows that say whose they are; a row that does not is refused or dropped."""
    if person not in table.column_names:
        raise DataError(
            f"the table has no column {person!r}, which the schema names as its unit; it has {_names(table)}"
        )
    identity = table.column(person)
    if pa.types.is_integer(identity.type):
        told = identity.is_valid()
    elif pa.types.is_string(identity.type) or pa.types.is_large_string(identity.type):
        told = pc.fill_null(pc.not_equal(pc.utf8_trim_whitespace(identity), ""), False)
    else:  # equal persons could have different floats, and different persons equal ones
        raise DataError(f"column {person!r} identifies persons and has type {identity.type}; give text or integers")
    if pc.all(told).as_py() is not False:
        return table
    if drop:
        return table.filter(told)
    raise DataError(
        f"column {person!r} identifies persons, and some row has nothing there that tells a person apart: it is "
        "missing, blank, or a number that floats cannot tell from others; give every row an identifier, as text"
    )


def _first_rows(table: pa.Table, person: str, most: int) -> pa.Table:
    """The table without the person column, and without the rows of a person after the first `most`."""
    identity = table.column(person)
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
