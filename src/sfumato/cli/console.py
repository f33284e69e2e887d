"""What all commands share: how they explain errors, show progress, and print."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from sfumato.errors import SfumatoError

P = ParamSpec("P")
R = TypeVar("R")

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object for programs.")]

out = Console()
err = Console(stderr=True)


def explained(command: Callable[P, R]) -> Callable[P, R]:
    """Turn errors into one message and an exit code; no traceback, which could carry private values."""

    @wraps(command)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except SfumatoError as error:
            _complain(str(error), type(error).__name__, bool(kwargs.get("as_json")))
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            _complain("interrupted; nothing was written", "Interrupted", bool(kwargs.get("as_json")))
            raise typer.Exit(130) from None
        except (typer.Exit, BrokenPipeError):
            raise
        except Exception as error:  # a fault of ours: say where, but not with which values
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}"
            _complain(f"a fault in Sfumato ({where}); please report it", "Fault", bool(kwargs.get("as_json")))
            raise typer.Exit(1) from None

    return wrapper


def _complain(message: str, kind: str, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"error": message, "kind": kind}, ensure_ascii=False))
    print(f"error: {message}", file=sys.stderr)


def print_json(content: dict[str, Any]) -> None:
    """Print one JSON object."""
    print(json.dumps(content, ensure_ascii=False, indent=1))


@contextmanager
def stages(count: int) -> Iterator[Callable[[str], None]]:
    """A progress bar over named stages: on a terminal it is shown, in a pipe it is silent."""
    if not err.is_terminal:
        yield lambda stage: None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description:<11}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task("start", total=count)

        def show(stage: str) -> None:
            progress.update(task, description=stage)
            progress.advance(task)

        yield show
