"""Fills the page options.md of the site from the command line itself, so it is never out of date (a hook of MkDocs)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sfumato.cli import COMMANDS


def commands(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """A command and all below it, in the order of the help, with the words that call each."""
    children = getattr(command, "commands", {})
    if not children or command.invoke_without_command:
        yield path, command
    for name, child in children.items():
        yield from commands(child, (*path, name))


def default(parameter: Any) -> str:
    """What holds if a parameter is not given."""
    if parameter.required:
        return "required"
    value = parameter.default
    return "" if value in (None, False, [], ()) or callable(value) else f"`{value}`"


def line(parameter: Any) -> str:
    """A parameter as a line of a table."""
    option = parameter.param_type_name == "option"
    names = ", ".join(f"`{name}`" for name in parameter.opts) if option else f"`{parameter.name.upper()}`"
    text = " ".join((parameter.help or "").split()).replace("|", "\\|")
    return f"| {names} | {text} | {default(parameter)} |"


def section(path: tuple[str, ...], command: Any) -> str:
    """One command: what it does, and a table of what it takes."""
    said = " ".join((command.help or "").split())
    takes = [parameter for parameter in command.params if parameter.name not in ("help", "as_json")]
    rows = [line(parameter) for parameter in takes if not getattr(parameter, "hidden", False)]
    table = ["", "| | | default |", "|---|---|---|", *rows] if rows else []
    json = ["", "Takes `--json`."] if any(parameter.name == "as_json" for parameter in command.params) else []
    return "\n".join([f"## {' '.join(path)}", "", said, *table, *json])


def sections() -> str:
    """All commands."""
    found = (commands(known.load(name), ("sfumato", name)) for name, known in COMMANDS.items())
    return "\n\n".join(section(path, command) for some in found for path, command in some)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Called by MkDocs for each page."""
    return f"{markdown}\n{sections()}\n" if page.file.src_uri == "options.md" else markdown
