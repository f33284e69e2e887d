"""How the package is built; `make wheel` builds it and looks at the name of the result."""

import tomllib
from pathlib import Path

import pytest

from sfumato import kernels

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())


def test_one_wheel_serves_every_python_from_the_oldest_that_is_supported():
    oldest = PROJECT["project"]["requires-python"].removeprefix(">=").replace(".", "")
    assert PROJECT["tool"]["distutils"]["bdist_wheel"]["py_limited_api"] == f"cp{oldest}"


def test_the_compiled_module_uses_the_stable_interface_only():
    if not kernels.COMPILED:
        pytest.skip("the compiled kernels were not built here")
    from sfumato.kernels import _compiled, _trees

    assert all(".abi3." in Path(module.__file__).name for module in (_compiled, _trees))
