"""The types of the API: what a frame gives, a sample gives back, and what is no table is refused before it runs."""

import subprocess
import sys
from pathlib import Path


def test_a_type_checker_sees_the_kind_of_a_sample():
    uses = Path(__file__).with_name("typed_uses.py")
    command = [sys.executable, "-m", "mypy", "--strict", str(uses)]
    checked = subprocess.run(command, cwd=uses.parents[1], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout
