"""What a method cannot do is said, by every method: pairs that it never looked at, and memory that ended."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from test_recipes import every_recipe, fit_with, schema_of, table_of
from typer.testing import CliRunner

import sfumato
from sfumato.cli import app
from sfumato.engines import counting
from sfumato.errors import ModelTooLarge, ReleaseError
from sfumato.pipeline import Guarantee
from sfumato.release import drawing
from sfumato.report.card import card_of_release, card_report

SIZES = {"a": 2000, "b": 1500, "c": 2, "d": 3}
"""A table of a and b has three million cells: more than any method takes."""

COLUMNS = {"a": 4, "b": 3, "c": 5}


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    place = tmp_path_factory.mktemp("wide")
    rng = np.random.default_rng(0)
    parquet.write_table(pa.table({name: rng.integers(0, k, 6000) for name, k in SIZES.items()}), place / "t.parquet")
    columns = [{"name": name, "type": "integer", "min": 0, "max": k - 1, "bins": k} for name, k in SIZES.items()]
    (place / "s.json").write_text(json.dumps({"name": "wide", "columns": columns}))
    return place


@every_recipe
def test_a_pair_that_is_too_large_is_counted_wherever_a_release_speaks(recipe, wide, tmp_path):
    """With next to no noise, so methods that merge rare values keep all of them. `auto` looks at coarser codes."""
    out = tmp_path / "release"
    command = ["synthesize", str(wide / "t.parquet"), "--schema", str(wide / "s.json"), "--epsilon", "3000"]
    command += ["--yes", "a test", *([] if recipe.guarantee is Guarantee.PURE else ["--delta", "1e-6"])]
    done = CliRunner().invoke(app, [*command, "--method", recipe.name, "--rows", "10", "--out", str(out), "--json"])
    assert done.exit_code == 0, done.output
    summary, release = json.loads(done.stdout), sfumato.Release.load(out)
    together = any({"a", "b"} <= set(clique) for clique in release.model.selection.cliques)
    assert together == (recipe.name == "auto")
    assert summary["pairs_too_large"] == release.model.selection.too_large == (not together)
    said = [warning for warning in release.warnings if "1 of 6 pairs of columns have too many cells" in warning]
    assert len(said) == (not together)
    assert set(said) <= set(summary["warnings"])
    assert all(words in card_report(card_of_release(release)) for words in said)


@every_recipe
def test_memory_that_ends_while_tables_are_made_says_how_many_bytes_they_have(recipe, monkeypatch):
    def no_memory(*_):
        raise MemoryError("Unable to allocate 4711 bytes")

    monkeypatch.setattr(counting, "_add", no_memory)
    # 4 * 3 + 4 * 5 + 3 * 5 cells of 8 bytes
    with pytest.raises(ModelTooLarge, match=r"memory ended .* 3 columns have 47 cells, 376 bytes") as caught:
        fit_with(recipe, table_of(COLUMNS, 500), schema_of(COLUMNS))
    assert "4711" not in str(caught.value)
    assert caught.value.__context__ is None


@every_recipe
@pytest.mark.parametrize("threads", [1, 2])
def test_memory_that_ends_while_rows_are_drawn_says_how_many_bytes_they_need(recipe, threads, monkeypatch):
    def no_memory(*_):
        raise MemoryError("Unable to allocate 4711 bytes")

    release = fit_with(recipe, table_of(COLUMNS, 500), schema_of(COLUMNS))
    monkeypatch.setattr(drawing, "PIECE", 600)
    monkeypatch.setattr(drawing.Drawing, "_decoded", no_memory)
    needed = f"{threads} pieces of up to 600 rows at a time need about {threads * 600 * 3 * 24:,} bytes"
    with pytest.raises(ReleaseError, match=needed) as caught:
        list(replace(release._drawing(1200), threads=threads).blocks(seed=1))
    assert caught.value.__context__ is None
