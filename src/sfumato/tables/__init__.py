"""Reading and writing tables: CSV, Parquet, and the data frames of pandas, polars and pyarrow."""

from sfumato.tables.frames import convert
from sfumato.tables.reading import batches, kind_of, read
from sfumato.tables.writing import write

__all__ = ["batches", "convert", "kind_of", "read", "write"]
