"""Random schemas and tables with bad values of every kind, through `synthesize` as a user runs it.

No traceback, nothing but our own errors with exit code 2, and no value of the table in any message or in the release.
Where the schema gives every bad value a place, no value stops the run. SFUMATO_FUZZ_CASES says how many cases
(`make fuzz`: 1,000), SFUMATO_FUZZ_SEED which ones.
"""

import json
import os
import traceback
import warnings
from pathlib import Path

import pyarrow.parquet as parquet
import pytest
from typer.testing import CliRunner

import sfumato
from helpers_fuzz import DIGITS, MORE, TOKEN, case_of, table_of
from sfumato.cli import app
from sfumato.errors import SfumatoError

CASES = int(os.environ.get("SFUMATO_FUZZ_CASES", "120"))
SEED = int(os.environ.get("SFUMATO_FUZZ_SEED", "0"))
PUBLIC = ("ive the column as text", "a value with a line break", "failed when it was computed")
"""Why a run may stop although no value may stop it: a type that has lost what the schema tells apart, a file in which a
row could hide others, and a query of another library that fails."""
BATCH = 20
"""Cases of one test: enough to keep pytest's own cost small, few enough to share among processes."""


def run_command(case, data, folder):
    """Exit code and everything that was printed."""
    (folder / "schema.json").write_text(json.dumps(case.schema))
    options = ["--schema", folder / "schema.json", "--epsilon", "1", "--delta", "1e-6", "--method", case.method]
    options += ["--out", folder / "release", "--rows", "5"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = CliRunner().invoke(app, ["synthesize", str(data), *map(str, options)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output + "".join(str(one.message) for one in caught)


def run_function(case, data, folder):
    """The same in Python."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            schema = sfumato.Schema.parse(case.schema)
            release = sfumato.fit(data, schema, epsilon=1, delta=1e-6, method=case.method)
            release.sample(5)
            release.save(folder / "release", rows=5)
            code, said = 0, ""
        except SfumatoError as error:
            code, said = 2, "".join(traceback.format_exception_only(error)) + repr((error.__context__, error.__cause__))
    return code, said + "".join(str(one.message) for one in caught)


def texts_of(folder):
    """Everything that can be read in a release folder."""
    for path in folder.rglob("*"):
        yield str(path.relative_to(folder))
        if path.suffix in (".json", ".csv"):
            yield path.read_text()
        elif path.suffix == ".parquet":
            table = parquet.read_table(path)
            yield f"{table.schema} {table.to_pydict()}"


def check(case, folder):
    """What must hold of every case."""
    data = table_of(case, folder)
    if data is None:
        return None
    code, said = (run_command if isinstance(data, Path) else run_function)(case, data, folder)
    assert code in (0, 2), said
    for text in [said, *texts_of(folder / "release")]:
        assert TOKEN not in text
        assert DIGITS not in text
        assert "Traceback" not in text
    assert (code == 0) == (folder / "release").exists()
    if is_total(case) and code:
        assert any(words in said for words in PUBLIC), said
    return code


def is_total(case):
    try:
        return not sfumato.Schema.parse(case.schema).may_refuse
    except SfumatoError:
        return False


@pytest.mark.parametrize("batch", range((CASES + BATCH - 1) // BATCH))
def test_no_value_gets_out(tmp_path, batch):
    for number in range(batch * BATCH, min((batch + 1) * BATCH, CASES)):
        folder = tmp_path / str(number)
        folder.mkdir()
        try:
            check(case_of(number, SEED), folder)
        except Exception as error:
            raise AssertionError(f"case {number} of seed {SEED}: {error}") from error


def test_the_cases_are_of_every_kind():
    """The generator does what it says: good and bad schemas, total ones, every kind of table."""
    cases = [case_of(number) for number in range(200)]
    assert {case.kind for case in cases} >= {
        "csv",
        "tsv",
        "csv.gz",
        "parquet",
        "object",
        "guessed",
        "polars",
        "arrow",
        *MORE,
    }
    keys = {key for case in cases for part in (case.schema, *case.schema["columns"]) for key in part}
    assert keys >= {"rules", "read", "together", "special", "values", "written", "unit", "on_bad_value"}
    units = {key for case in cases for key in case.schema.get("unit", {})}
    assert units >= {"count", "keep", "order_by"}
    assert 40 < sum(map(is_total, cases)) < 160
    assert cases[7] == case_of(7)
