"""The notebooks run, cell by cell and without a kernel, and are kept with what they showed."""

import contextlib
import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))

pytestmark = pytest.mark.xdist_group("pages")


def cells(notebook):
    return [cell for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(notebook, tmp_path):
    names = {"__name__": "__main__"}
    with contextlib.chdir(tmp_path):
        for number, cell in enumerate(cells(notebook)):
            exec(compile("".join(cell["source"]), f"{notebook.name}, cell {number}", "exec"), names)  # noqa: S102


def test_notebooks_are_kept_with_their_pictures():
    assert len(NOTEBOOKS) == 4
    for notebook in NOTEBOOKS:
        shown = [output for cell in cells(notebook) for output in cell["outputs"]]
        assert all(output["output_type"] != "error" for output in shown)
        assert any("background:#" in "".join(output.get("data", {}).get("text/html", "")) for output in shown)
