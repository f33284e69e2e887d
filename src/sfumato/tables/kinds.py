"""The kinds of tables that are taken and given, for type checkers.

They are told apart by what they can do, so no library has to be there.
"""

from __future__ import annotations

from os import PathLike
from typing import Any, Protocol, TypeAlias, TypeVar

import typing_extensions


class ArrowStream(Protocol):
    """Anything that exports an Arrow stream: frames, a DuckDB relation, a table of Ibis."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The stream."""
        ...


class Frame(ArrowStream, Protocol):
    """A table in memory: a pandas or polars data frame, or a pyarrow table."""

    def __len__(self) -> int:
        """Its rows."""
        ...

    def equals(self, other: Any) -> bool:
        """Whether another frame holds the same."""
        ...


class Lazy(Protocol):
    """A table that is still to be computed: a lazy frame of polars, a data frame of Spark."""

    def collect(self) -> Any:
        """Its rows."""
        ...


class Dataset(Protocol):
    """A dataset of pyarrow."""

    def to_batches(self) -> Any:
        """Its rows, in parts."""
        ...


File: TypeAlias = str | PathLike[str]
Data: TypeAlias = File | ArrowStream | Lazy | Dataset
"""Every table that can be read: the path of a file or folder, the name of a table in a database, or an object."""

FrameT = TypeVar("FrameT", bound=Frame)
Rows = typing_extensions.TypeVar("Rows", default=Any)
"""What samples of a release come as."""
