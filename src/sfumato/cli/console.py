"""What all commands share: how they explain errors, show progress, and print."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from importlib.metadata import version
from io import StringIO, TextIOWrapper
from platform import python_version
from time import perf_counter
from typing import Annotated, Any, ParamSpec, TypeVar

import typer
from rich.console import Console, HighlighterType, JustifyMethod, OverflowMethod
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.style import Style
from rich.table import Table
from rich.text import Text

from sfumato import kernels
from sfumato.errors import Fault, SfumatoError
from sfumato.loops import listening
from sfumato.text import json_text, one_line

P = ParamSpec("P")
R = TypeVar("R")

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object for programs.")]


class SafeConsole(Console):
    """A console on which a text can only be read: it has no markup, and everything in it is visible and on its line.

    Much of what commands print was written by others. This holds for each string given to `print`, and for each cell
    and title of a table; what is to be coloured is given as a `Text` of our own.
    """

    verbose = False
    """Whether to tell each stage on a line of its own, with the seconds since the start."""

    def render_str(
        self,
        text: str,
        *,
        style: str | Style = "",
        justify: JustifyMethod | None = None,
        overflow: OverflowMethod | None = None,
        emoji: bool | None = None,
        markup: bool | None = None,
        highlight: bool | None = None,
        highlighter: HighlighterType | None = None,
    ) -> Text:
        """The text as one safe line, whatever options ask for."""
        safe = one_line(text)
        return super().render_str(
            safe, style=style, justify=justify, overflow=overflow, emoji=False, markup=False, highlight=False
        )

    def print(self, *objects: Any, **options: Any) -> None:
        """Print; in a pipe a line is a line, however long, so logs and searches find it whole.

        A table is then its rows, with tabs between cells: boxes are for eyes.
        """
        if not self.is_terminal:
            if len(objects) == 1 and isinstance(objects[0], Table):
                self.file.write("" if self.quiet else "".join(f"{line}\n" for line in _lines(objects[0])))
                return
            if all(isinstance(one, str) for one in objects):
                options["soft_wrap"] = True
        super().print(*objects, **options)


def _lines(table: Table) -> Iterator[str]:
    """A table for programs: its title, its heads and its rows, cells apart by tabs."""
    if table.title is not None:
        yield one_line(table.title)
    if table.show_header:
        yield "\t".join(one_line(column.header) for column in table.columns)
    for row in zip(*(column.cells for column in table.columns), strict=True):
        yield "\t".join(map(one_line, row))


out = SafeConsole()
err = SafeConsole(stderr=True)


def write_utf8() -> None:
    """Print what has letters of all the world, also where the system's own encoding lacks them.

    A file or a pipe gets UTF-8, as all files of Sfumato are; on Windows it would be a code page, in which a table or a
    guarantee cannot be written. A terminal of another encoding shows a question mark for what it lacks.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.encoding.lower().replace("-", "") != "utf8":
            if stream.isatty():
                stream.reconfigure(errors="replace")
            else:
                stream.reconfigure(encoding="utf-8")


def show_version(asked: bool) -> None:
    """Print the version, and whether the kernels are compiled, if asked; then end."""
    if asked:
        compiled = "compiled" if kernels.COMPILED else "not compiled, so slower"
        print(f"sfumato {version('sfumato')} (kernels {compiled}), Python {python_version()}")
        raise typer.Exit


def explained(command: Callable[P, R]) -> Callable[P, R]:
    """Turn errors into one message and an exit code; no traceback, which could carry private values."""

    @wraps(command)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except SfumatoError as error:
            _complain(str(error), type(error).__name__, bool(kwargs.get("as_json")))
            raise typer.Exit(error.exit_code) from None
        except (KeyboardInterrupt, typer.Abort) as stop:
            _complain(str(stop) or "interrupted; nothing was written", "Interrupted", bool(kwargs.get("as_json")))
            raise typer.Exit(130) from None
        except (typer.Exit, BrokenPipeError):
            raise
        except Exception as error:  # a fault of ours: say where, but not with which values
            _complain(str(Fault.at(error)), "Fault", bool(kwargs.get("as_json")))
            raise typer.Exit(1) from None

    return wrapper


def _complain(message: str, kind: str, as_json: bool) -> None:
    if as_json:
        print_json({"error": message, "kind": kind})
    # An error may have several lines. Those after the first are set in, so no name in it can fake a line of ours.
    first, *more = map(one_line, message.split("\n"))
    print("\n       ".join([f"error: {first}", *more]), file=sys.stderr)


def print_json(content: dict[str, Any]) -> None:
    """Print one JSON object."""
    print(json_text(content))


def print_rows(text: str) -> None:
    """Print CSV: as it is into a pipe, and with each value made safe onto a terminal."""
    if not sys.stdout.isatty():
        sys.stdout.write(text)
        return
    csv.field_size_limit(max(len(text), 1))
    safe = ([one_line(value) for value in row] for row in csv.reader(StringIO(text, newline="")))
    csv.writer(sys.stdout, lineterminator="\n").writerows(safe)


@contextmanager
def stages(count: int) -> Iterator[Callable[[str], None]]:
    """A progress bar over named stages: on a terminal it is shown, in a pipe it is silent.

    Inside a stage it says how far its loop is, and about how long the rest will take. With `err.verbose`, each stage is
    told on a line instead, also in a pipe.
    """
    if err.verbose:
        started = perf_counter()
        yield lambda stage: err.print(f"{perf_counter() - started:.1f} s: {stage}")
        return
    if not err.is_terminal:
        yield lambda stage: None
        return
    inside = TextColumn("{task.fields[inside]}")
    columns = (SpinnerColumn(), TextColumn("{task.description:<11}"), BarColumn(), TimeElapsedColumn(), inside)
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task("start", total=count, inside="")
        began: dict[str, float] = {}

        def show(stage: str) -> None:
            progress.update(task, description=stage, inside="")
            progress.advance(task)

        def tell(what: str, done: int, most: int) -> None:
            now = perf_counter()
            began[what] = now if done == 0 else began.get(what, now)
            progress.update(task, inside=left(what, done, most, now - began[what]))

        with listening(tell):
            yield show


def left(what: str, done: int, most: int, seconds: float) -> str:
    """How far a loop is, and about how long the rest will take at most, as the part that is done took."""
    words = f"{done:,} of {most:,} {what}" if most > 1 else ""
    return f"{words}, {seconds / done * (most - done):.0f} s left" if words and done and seconds else words
