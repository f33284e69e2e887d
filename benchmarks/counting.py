"""Compare ways to count all pairs of 15 columns: CPU time, wall time and memory, in one run.

    python benchmarks/counting.py [--rows 1000000 10000000] [--out FILE.json]

Needs the dependency group `bench`. Every engine returns the same dense counts (checked). CPU time is that of all
threads, median of several repeats in which the engines take turns; memory is the peak of the resident set above its
size with the codes loaded, for each engine in a fresh process (Linux with glibc;
empty on other systems).
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import platform
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from itertools import combinations
from multiprocessing import get_context
from pathlib import Path
from statistics import median

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from sfumato import kernels
from sfumato.data.domain import Domain
from sfumato.data.records import Records
from sfumato.engines import memory
from sfumato.kernels import fallback

SIZES = (85, 9, 100, 16, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2)
DOMAIN = Domain((f"c{position}", size) for position, size in enumerate(SIZES))
PAIRS = tuple(combinations(DOMAIN.names, 2))
REPEATS = 5

Counts = list[NDArray[np.int64]]
Count = Callable[[], Counts]


def make_records(rows: int) -> Records:
    """Skewed columns that all depend on one hidden quantity, the same in every run."""
    rng = np.random.default_rng(20)
    hidden = rng.integers(0, 128, rows, dtype=np.uint8)
    columns = []
    for size in SIZES:
        level = hidden + rng.integers(0, 128, rows, dtype=np.uint8)
        columns.append((size * (np.arange(256) / 256) ** 1.5).astype(np.uint8)[level])
    return Records(DOMAIN, columns)


def numpy_ravel(records: Records) -> Count:
    """NumPy's own function for cell numbers, on whole columns."""

    def pair(a: str, b: str) -> NDArray[np.int64]:
        shape = (DOMAIN[a], DOMAIN[b])
        return np.bincount(np.ravel_multi_index((records[a], records[b]), shape), minlength=shape[0] * shape[1])

    return lambda: [pair(a, b) for a, b in PAIRS]


def numpy_whole(records: Records) -> Count:
    """64-bit cell numbers by multiplying and adding, on whole columns: faster than `numpy_ravel`, so the baseline."""

    def pair(a: str, b: str) -> NDArray[np.int64]:
        cell = records[a].astype(np.int64)
        cell *= DOMAIN[b]
        cell += records[b]
        return np.bincount(cell, minlength=DOMAIN[a] * DOMAIN[b])

    return lambda: [pair(a, b) for a, b in PAIRS]


def numpy_blocks(records: Records) -> Count:
    """What Sfumato runs where the kernels could not be compiled, pair by pair."""
    return lambda: [fallback.count([records[a], records[b]], [DOMAIN[a], DOMAIN[b]]) for a, b in PAIRS]


def compiled(records: Records) -> Count:
    """The compiled kernel, pair by pair."""
    assert kernels.COMPILED, "the kernels are not compiled; install a C compiler and install Sfumato again"
    return lambda: [kernels.count([records[a], records[b]], [DOMAIN[a], DOMAIN[b]]) for a, b in PAIRS]


def engine(records: Records) -> Count:
    """What Sfumato runs: the compiled kernel on the joints of a plan, summed down to the pairs."""
    return lambda: [marginal.counts.ravel() for marginal in memory.count(records, PAIRS)]


def duckdb_queries(records: Records) -> Count:
    """One GROUP BY for each pair on a table of DuckDB's own."""
    connection = duckdb.connect()
    codes = pa.table(dict(zip(DOMAIN.names, records.columns, strict=True)))
    connection.register("given", codes)
    connection.execute("CREATE TABLE codes AS SELECT * FROM given")
    connection.unregister("given")

    def pair(a: str, b: str) -> NDArray[np.int64]:
        query = f"SELECT {a}, {b}, count(*) AS n FROM codes GROUP BY {a}, {b}"  # noqa: S608 - names of our own
        found = connection.execute(query).fetchnumpy()
        return dense(a, b, found[a], found[b], found["n"])

    return lambda: [pair(a, b) for a, b in PAIRS]


def polars_collect(records: Records) -> Count:
    """All pairs as group-bys of one lazy frame, collected together."""
    frame = pl.DataFrame(dict(zip(DOMAIN.names, records.columns, strict=True)))

    def run() -> Counts:
        queries = [frame.lazy().group_by(a, b).agg(pl.len().alias("n")) for a, b in PAIRS]
        tables = pl.collect_all(queries)
        return [
            dense(a, b, table[a].to_numpy(), table[b].to_numpy(), table["n"].to_numpy())
            for (a, b), table in zip(PAIRS, tables, strict=True)
        ]

    return run


def dense(a: str, b: str, first: NDArray, second: NDArray, found: NDArray) -> NDArray[np.int64]:
    """Counts of all cells from those of the cells that occur."""
    counts = np.zeros((DOMAIN[a], DOMAIN[b]), dtype=np.int64)
    counts[first, second] = found
    return counts.ravel()


ENGINES: dict[str, Callable[[Records], Count]] = {
    "NumPy, multiply-add + bincount": numpy_whole,
    "NumPy, ravel_multi_index + bincount": numpy_ravel,
    "NumPy, blocks (fallback kernel)": numpy_blocks,
    "compiled kernel, pair by pair": compiled,
    "sfumato.engines.memory": engine,
    "DuckDB, 105 queries": duckdb_queries,
    "Polars, collect_all": polars_collect,
}
BASELINE = "NumPy, multiply-add + bincount"


@dataclass(frozen=True)
class Result:
    """One line of the table; `ratio` is the baseline's CPU time divided by this one's."""

    rows: int
    engine: str
    cpu_seconds: float
    wall_seconds: float
    ratio: float
    peak_megabytes: float | None


def measure(rows: int) -> list[Result]:
    """Time and memory of every engine on a table of `rows` rows."""
    cpu, wall = measure_times(rows)
    return [
        Result(rows, name, cpu[name], wall[name], cpu[BASELINE] / cpu[name], peak_in_fresh_process(name, rows))
        for name in ENGINES
    ]


def measure_times(rows: int) -> tuple[dict[str, float], dict[str, float]]:
    """Median CPU and wall seconds of each engine, after a check that all counts are equal."""
    records = make_records(rows)
    prepared = {name: prepare(records) for name, prepare in ENGINES.items()}
    expected = prepared[BASELINE]()
    cpu: dict[str, list[float]] = {name: [] for name in ENGINES}
    wall: dict[str, list[float]] = {name: [] for name in ENGINES}
    for _ in range(REPEATS):
        for name, count in prepared.items():
            wall_start, cpu_start = time.perf_counter(), time.process_time()
            counts = count()
            cpu[name].append(time.process_time() - cpu_start)
            wall[name].append(time.perf_counter() - wall_start)
            assert all(map(np.array_equal, counts, expected)), f"{name} counts differently"
    return ({name: median(cpu[name]) for name in ENGINES}, {name: median(wall[name]) for name in ENGINES})


def peak_in_fresh_process(name: str, rows: int) -> float | None:
    """Peak megabytes above the loaded codes, in a process that runs nothing else."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(peak_memory, name, rows).result()


def peak_memory(name: str, rows: int) -> float | None:
    """Peak megabytes above the loaded codes; None where the system cannot tell."""
    reset = Path("/proc/self/clear_refs")
    libc = ctypes.CDLL(None) if reset.exists() else None
    if not hasattr(libc, "malloc_trim"):
        return None
    ENGINES[name](make_records(1000))()  # load code and start threads before the count
    count = ENGINES[name](make_records(rows))
    libc.malloc_trim(0)  # give freed memory back, or the count would take it without being seen
    reset.write_text("5")  # the peak falls back to the present size
    before = _resident("VmRSS")
    counts = count()
    assert len(counts) == len(PAIRS)
    return (_resident("VmHWM") - before) / 1000


def _resident(field: str) -> int:
    """A line of this process's status file, in kilobytes."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))


def print_table(results: Iterable[Result]) -> None:
    """Print one line for each engine."""
    print(f"{'rows':>10}  {'engine':36} {'CPU s':>8} {'wall s':>8} {'ratio':>6} {'peak MB':>8}")
    for result in results:
        peak = "" if result.peak_megabytes is None else f"{result.peak_megabytes:.1f}"
        print(
            f"{result.rows:>10}  {result.engine:36} {result.cpu_seconds:8.3f} {result.wall_seconds:8.3f} "
            f"{result.ratio:6.2f} {peak:>8}"
        )


def main() -> None:
    """Run the benchmark, print the table and write it as JSON where asked."""
    parser = argparse.ArgumentParser(description="Compare ways to count all pairs of 15 columns.")
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--out", type=Path, help="also write the results to this JSON file")
    arguments = parser.parse_args()
    results = [result for rows in arguments.rows for result in measure(rows)]
    print_table(results)
    if arguments.out:
        versions = {"python": platform.python_version()}
        versions |= {module.__name__: module.__version__ for module in (np, duckdb, pl)}
        report = {
            "processor": platform.machine(),
            "cores": os.cpu_count(),
            "versions": versions,
            "results": [asdict(result) for result in results],
        }
        arguments.out.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
