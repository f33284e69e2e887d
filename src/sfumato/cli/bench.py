"""`sfumato bench`: systems side by side on public data. The bench is part of the source tree and not of the package."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import typer

from sfumato.cli.console import explained
from sfumato.errors import MethodError

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@explained
def bench(context: typer.Context) -> None:
    """Run methods side by side on public data sets; needs a checkout of the source."""
    if not (BENCHMARKS / "bench" / "command.py").is_file():
        raise MethodError(
            "the bench and its rivals are not part of the installed package; clone the source and run it from there"
        )
    sys.path.insert(0, str(BENCHMARKS))
    import_module("bench.command").app(context.args, prog_name="sfumato bench")
