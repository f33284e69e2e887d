"""CPU seconds and peak memory of whole runs on large tables, each in a process of its own.

python benchmarks/scale.py make --data DIR --rows 1000000 --out adult-1m.parquet    Adult, resampled with jitter
python benchmarks/scale.py wide --columns 120 --rows 50000 [--codes 10000] --out wide.parquet   and wide.schema.json
python benchmarks/scale.py run adult-1m.parquet --schema adult.schema.json [--methods pgm,privsyn] [--format parquet]
        [--source OTHER_SRC]        another version of the package, by the folder that holds its sources
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
import pyarrow.parquet as parquet

CHUNK = 1 << 20
METHODS = ("auto", "pgm", "dpview+", "privbayes", "privsyn", "dpsyn", "priview")
CODES = (2, 5, 12, 40, 3, 100)
"""Codes of the columns of a wide table, in turn."""


def jittered(table: pa.Table, rows: int, rng: np.random.Generator) -> pa.Table:
    """Rows of `table` drawn with replacement, whole numbers moved by up to 2, and 1 % of labels redrawn."""
    picked = pa.array(rng.integers(len(table), size=rows))
    columns = []
    for column in map(pa.ChunkedArray.combine_chunks, table.columns):
        values = column.take(picked)
        if pa.types.is_integer(column.type):
            moved = values.to_numpy() + rng.integers(-2, 3, size=rows)
            columns.append(pa.array(moved.clip(column.to_numpy().min(), column.to_numpy().max())))
        else:
            redrawn = column.take(pa.array(rng.integers(len(table), size=rows)))
            columns.append(pc.if_else(pa.array(rng.random(rows) < 0.01), redrawn, values))
    return pa.table(columns, names=table.column_names)


def make(data: Path, rows: int, out: Path, seed: int) -> None:
    """Write Adult with this many rows, chunk by chunk."""
    small = arrow_csv.read_csv(data / "adult.csv.gz")
    rng = np.random.default_rng(seed)
    sizes = [min(CHUNK, rows - start) for start in range(0, rows, CHUNK)]
    writer: parquet.ParquetWriter | arrow_csv.CSVWriter | None = None
    for size in sizes:
        part = jittered(small, size, rng)
        if writer is None:
            kind = parquet.ParquetWriter if out.suffix == ".parquet" else arrow_csv.CSVWriter
            writer = kind(str(out), part.schema)
        writer.write_table(part)
    if writer is not None:
        writer.close()


def make_wide(columns: int, rows: int, codes: int | None, out: Path, seed: int) -> None:
    """Write a table of weakly dependent columns, and its schema beside it."""
    rng = np.random.default_rng(seed)
    sizes = [codes or CODES[place % len(CODES)] for place in range(columns)]
    shared = rng.random(rows)
    table, declared = {}, []
    for place, size in enumerate(sizes):
        own = np.where(rng.random(rows) < 0.3, shared, rng.random(rows))
        table[f"c{place}"] = (own**2 * size).astype(np.int64)
        declared.append({"name": f"c{place}", "type": "integer", "min": 0, "max": size - 1, "bins": size})
    parquet.write_table(pa.table(table), out)
    out.with_suffix(".schema.json").write_text(json.dumps({"name": "wide", "columns": declared}))


def public(schema: Path, folder: Path) -> Path:
    """A copy of a schema that calls every domain known: the tables of this benchmark are public."""
    record = json.loads(schema.read_text())
    for column in record["columns"]:
        column.pop("domain_from", None)
    copy = folder / "schema.json"
    copy.write_text(json.dumps(record))
    return copy


def measured(command: list[str], environment: dict[str, str]) -> tuple[int, float, float]:
    """Exit code, CPU seconds and peak resident megabytes of a process."""
    child = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    return os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def runs(options: argparse.Namespace) -> Iterator[tuple[str, int, float, float, int]]:
    """Each method's exit code, CPU seconds, peak and size of the synthetic table in bytes."""
    # As in an installed package, modules are compiled once and not in every run.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    if options.source:
        environment["PYTHONPATH"] = options.source
    for method in options.methods.split(","):
        with tempfile.TemporaryDirectory() as scratch:
            out = Path(scratch) / "release"
            schema = public(Path(options.schema), Path(scratch))
            arguments = ["--schema", str(schema), "--epsilon", "1", "--delta", "1e-9", "--method", method]
            arguments += ["--seed", "1", "--format", options.format, "--out", str(out)]
            arguments += ["--rows", str(options.rows)] if options.rows is not None else []
            arguments += options.more
            command = [sys.executable, "-c", "from sfumato.cli import main; main()", "synthesize", options.table]
            code, seconds, peak = measured([*command, *arguments], environment)
            size = sum(file.stat().st_size for file in out.glob("synthetic.*"))
        yield method, code, seconds, peak, size


def main() -> None:
    """Make a table, or run methods on one and print what they took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make")
    making.add_argument("--data", type=Path, required=True)
    making.add_argument("--rows", type=int, required=True)
    making.add_argument("--out", type=Path, required=True)
    making.add_argument("--seed", type=int, default=0)
    widening = commands.add_parser("wide")
    widening.add_argument("--columns", type=int, required=True)
    widening.add_argument("--rows", type=int, required=True)
    widening.add_argument("--codes", type=int)
    widening.add_argument("--out", type=Path, required=True)
    widening.add_argument("--seed", type=int, default=0)
    running = commands.add_parser("run")
    running.add_argument("table")
    running.add_argument("--schema", required=True)
    running.add_argument("--methods", default=",".join(METHODS))
    running.add_argument("--format", default="parquet")
    running.add_argument("--rows", type=int)
    running.add_argument("--source")
    options, options.more = parser.parse_known_args(namespace=argparse.Namespace())
    if options.command == "make":
        make(options.data, options.rows, options.out, options.seed)
        return
    if options.command == "wide":
        make_wide(options.columns, options.rows, options.codes, options.out, options.seed)
        return
    print(f"{'method':<12}{'exit':>5}{'CPU s':>9}{'peak MB':>9}{'rows file MB':>14}")
    for method, code, seconds, peak, size in runs(options):
        print(f"{method:<12}{code:>5}{seconds:>9.1f}{peak:>9.0f}{size / 2**20:>14.1f}", flush=True)


if __name__ == "__main__":
    main()
