"""What starts quickly stays so: libraries that few commands need are loaded by those who need them."""

import subprocess
import sys

HEAVY = ("scipy", "networkx", "pandas", "pyarrow.dataset", "sklearn", "uvicorn", "ibis", "pyspark")


def test_a_command_loads_no_library_that_it_does_not_need():
    program = f"""
import sys
import sfumato.cli.synthesizing, sfumato.cli.book, sfumato.fitting
print(*(name for name in {HEAVY} if name in sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_the_command_line_loads_a_command_when_it_is_called():
    program = "import sys, sfumato.cli; print(*(one for one in sys.modules if one.startswith('sfumato.cli.')))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert sorted(done.stdout.split()) == ["sfumato.cli.commands", "sfumato.cli.console"]


def test_help_and_version_load_neither_the_package_nor_its_tables():
    program = """
import sys, sfumato.cli, sfumato.cli.synthesize
unwanted = ("sfumato.fitting", "sfumato.schema.schema", "pydantic", "cryptography")
print(*(name for name in unwanted if name in sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_the_help_names_the_default_method():
    from inspect import signature

    from sfumato.cli.synthesize import synthesize
    from sfumato.recipes import DEFAULT

    assert signature(synthesize).parameters["method"].default == DEFAULT


def test_public_names_are_what_they_are_whatever_was_loaded_before():
    program = """
import sfumato.verify.findings, sfumato.evaluate.marginals
import sfumato
assert callable(sfumato.verify) and callable(sfumato.evaluate) and callable(sfumato.plan)
assert set(sfumato.__all__) <= set(dir(sfumato)) and all(hasattr(sfumato, name) for name in sfumato.__all__)
assert not hasattr(sfumato, "nothing")
"""
    subprocess.run([sys.executable, "-c", program], check=True)
