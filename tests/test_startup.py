"""What starts quickly stays so: libraries that few commands need are loaded by those who need them."""

import subprocess
import sys

HEAVY = ("scipy", "networkx", "pandas", "pyarrow.dataset", "sklearn", "uvicorn", "ibis", "pyspark")


def test_a_command_loads_no_library_that_it_does_not_need():
    program = f"""
import sys
import sfumato.cli.synthesize
print(*(name for name in {HEAVY} if name in sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_the_command_line_loads_a_command_when_it_is_called():
    program = "import sys, sfumato.cli; print(*(one for one in sys.modules if one.startswith('sfumato.cli.')))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert sorted(done.stdout.split()) == ["sfumato.cli.commands", "sfumato.cli.console"]
