"""The tutorial, followed literally: every command of it runs, in its order, in an empty folder."""

import shlex
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def commands(page):
    """The commands in the indented blocks of a page, in order."""
    lines = (DOCS / page).read_text(encoding="utf-8").splitlines()
    return [shlex.split(line) for line in lines if line.startswith("    sfumato ")]


def test_the_tutorial_runs(tmp_path):
    found = commands("tutorial.md")
    assert len(found) >= 9
    for words in found:
        done = subprocess.run(
            [sys.executable, "-m", "sfumato", *words[1:]], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (words, done.stderr)
    assert (tmp_path / "demo-release" / "synthetic.csv").is_file()
    assert (tmp_path / "my.schema.json").is_file()
