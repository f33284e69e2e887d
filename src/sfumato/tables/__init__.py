"""Reading and writing tables: text files, Parquet, Excel, and the data frames of pandas, polars and pyarrow."""

from sfumato.tables.dialect import detect
from sfumato.tables.frames import convert
from sfumato.tables.reading import batches, kind_of, read
from sfumato.tables.writing import write

__all__ = ["batches", "convert", "detect", "kind_of", "read", "write"]
