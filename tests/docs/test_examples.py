"""Every example in a docstring runs, and all that users call has one."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import sfumato

SOURCE = Path(sfumato.__file__).parent
MODULES = sorted(
    ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in SOURCE.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)
NO_CALLS = {"__version__", "SfumatoError", "Plan"}


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = doctest.testmod(import_module(name))
    assert done.attempted > 0
    assert done.failed == 0


def test_whatever_users_call_has_an_example():
    assert [
        name for name in sfumato.__all__ if name not in NO_CALLS and ">>> " not in getattr(sfumato, name).__doc__
    ] == []
