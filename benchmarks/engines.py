"""CPU seconds and peak memory of the engines on one table: open it, count all pairs of columns.

python benchmarks/engines.py load adult-10m.parquet duckdb:////folder/adult.duckdb?table=adult
python benchmarks/engines.py load adult-10m.parquet postgresql:///postgres/adult
python benchmarks/engines.py count SOURCE --schema adult.schema.json [--engine sql] [--server PID]

SOURCE is a file, the name of a table in a database, or spark:adult-10m.parquet for a Spark on two cores.
PID is the first process of a PostgreSQL server: what it and its children take is counted too. Figures are those of this
process + those of others. The last number stands for all counts: it is the same for every engine.
"""

import argparse
import json
import os
import resource
import tempfile
import threading
import time
import zlib
from itertools import combinations
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet

from scale import public
from sfumato.data.coding import Coding
from sfumato.privacy.entropy import SystemEntropy
from sfumato.privacy.opening import open_engine
from sfumato.schema.schema import Schema

TICKS = os.sysconf("SC_CLK_TCK")


def load(path: str, name: str) -> None:
    """Write a Parquet file into a table of a database."""
    place, _, table = name.partition("://")[2].replace("?table=", "/").strip("/").rpartition("/")
    if name.startswith("duckdb"):
        import duckdb

        with duckdb.connect(f"/{place}") as connection:
            connection.execute(f'CREATE TABLE "{table}" AS SELECT * FROM read_parquet(?)', [path])  # noqa: S608
        return
    from adbc_driver_postgresql import dbapi

    file = parquet.ParquetFile(path)
    with dbapi.connect(f"postgresql:///{place}") as connection, connection.cursor() as cursor:
        batches = pa.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches())
        cursor.adbc_ingest(table, batches, mode="create")
        connection.commit()


def tree(root: int) -> list[int]:
    """A process and all that descend from it."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            fields = _stat(int(entry.name))
            if fields:
                parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found, open_ones = [], [root]
    while open_ones:
        one = open_ones.pop()
        found.append(one)
        open_ones += parents.get(one, [])
    return found


def _stat(process: int) -> list[str]:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return []


def seconds(processes: list[int]) -> float:
    """CPU seconds of processes, and of their children that have ended."""
    return sum(sum(map(int, _stat(one)[11:15])) for one in processes if _stat(one)) / TICKS


class Others:
    """Processes that work for this one: its children, and a server. Their memory is looked at twice a second."""

    def __init__(self, server: int | None):
        self._server, self.peak, self.looking = server, 0.0, 0.0
        self._before = self.seconds() if server else 0.0
        threading.Thread(target=self._watch, daemon=True).start()

    def seconds(self) -> float:
        """CPU seconds until now."""
        children = tree(os.getpid())[1:]
        return seconds(children + (tree(self._server) if self._server else []))

    def taken(self) -> float:
        """CPU seconds since the beginning."""
        return self.seconds() - self._before

    def _watch(self) -> None:
        while True:
            processes = tree(os.getpid())[1:] + (tree(self._server) if self._server else [])
            self.peak = max(self.peak, sum(map(_proportional, processes)))
            self.looking = time.thread_time()
            time.sleep(0.5)


def _proportional(process: int) -> float:
    """Megabytes of a process; what it shares with others is shared here too."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def opened(source: str) -> Any:
    """What an engine is opened on."""
    if not source.startswith("spark:"):
        return source
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
    session = builder.config("spark.driver.memory", "2g").getOrCreate()
    return session.read.parquet(source.partition(":")[2])


def count(options: argparse.Namespace) -> None:
    """Open a source with an engine, count all pairs, and print what it took."""
    with tempfile.TemporaryDirectory() as scratch:
        schema = Schema.parse(json.loads(public(Path(options.schema), Path(scratch)).read_text()))
    others, begun = Others(options.server), time.process_time()

    def taken() -> tuple[float, float]:
        return time.process_time() - begun - others.looking, others.taken()

    data = opened(options.source)
    engine = open_engine(data, schema, SystemEntropy(), options.engine)
    at_open = taken()
    pairs = list(combinations(engine.domain.names, 2))
    checksum = 0
    for table in engine.count(Coding(engine.domain), pairs):
        checksum = zlib.crc32(table.counts.tobytes(), checksum)
    at_end = taken()
    engine.close()
    at_count = [end - start for start, end in zip(at_open, at_end, strict=True)]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"open {at_open[0]:.2f} + {at_open[1]:.2f}  count {at_count[0]:.2f} + {at_count[1]:.2f}  "
        f"peak MB {peak:.0f} + {others.peak:.0f}  {checksum:08x}"
    )


def main() -> None:
    """Load a table into a database, or measure an engine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    loading = commands.add_parser("load")
    loading.add_argument("table")
    loading.add_argument("name")
    counting = commands.add_parser("count")
    counting.add_argument("source")
    counting.add_argument("--schema", required=True)
    counting.add_argument("--engine", default="auto")
    counting.add_argument("--server", type=int)
    options = parser.parse_args()
    load(options.table, options.name) if options.command == "load" else count(options)


if __name__ == "__main__":
    main()
