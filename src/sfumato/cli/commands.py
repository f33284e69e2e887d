"""Commands by name. Each is loaded when it is called: loading all of them takes longer than most of them run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group


@dataclass(frozen=True)
class Command:
    """A command that a module of this room defines.

    Args:
        where: the module and the function in it, as `module:function`.
        panel: under which heading of the help it stands.
        settings: what else Typer is told about it.
    """

    where: str
    panel: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def load(self, name: str) -> Any:
        """The command as Typer makes it of its function."""
        alone = typer.Typer(add_completion=False)
        alone.command(name, rich_help_panel=self.panel, **self.settings)(_function(self.where))
        return plainly(get_command(alone))


@dataclass(frozen=True)
class Group:
    """Commands that share the first word.

    Args:
        help: what they are for; by default what `callback` says of itself.
        commands: by name.
        panel: under which heading of the help they stand.
        callback: a function that the first word alone calls, as `module:function`.
    """

    help: str | None
    commands: Mapping[str, Command | Group]
    panel: str | None = None
    callback: str | None = None

    def load(self, name: str) -> Any:
        """The group as Typer makes it."""
        function = None if self.callback is None else _function(self.callback)
        group = get_group(
            typer.Typer(
                name=name,
                help=self.help or (function and function.__doc__),
                cls=group_of(self.commands),
                callback=function,
                invoke_without_command=function is not None,
                no_args_is_help=function is None,
            )
        )
        group.rich_help_panel = self.panel
        return group


class Loaded(MutableMapping[str, Any]):
    """Commands by name, each loaded when it is first asked for."""

    def __init__(self, commands: Mapping[str, Command | Group]):
        self._known = dict.fromkeys(commands)
        self._commands = commands

    def __getitem__(self, name: str) -> Any:
        if self._known[name] is None:
            self._known[name] = self._commands[name].load(name)
        return self._known[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._known[name] = command

    def __delitem__(self, name: str) -> None:
        del self._known[name]

    def __contains__(self, name: object) -> bool:
        return name in self._known

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


def group_of(commands: Mapping[str, Command | Group]) -> type[TyperGroup]:
    """A kind of group that has these commands."""

    class Lazy(TyperGroup):
        def __init__(self, **settings: Any):
            super().__init__(**settings)
            self.commands = Loaded(commands)
            plainly(self)

    return Lazy


def plainly(command: Any) -> Any:
    """The command, in whose help a flag wants nothing; Typer would say that it wants a bool."""
    for option in (*command.params, command.get_help_option(typer.Context(command))):
        if getattr(option, "is_flag", False) and option.metavar is None:
            option.metavar = ""
        elif getattr(option, "multiple", False) and option.metavar is None:
            option.metavar = "TEXT"
    return command


def _function(where: str) -> Any:
    module, _, name = where.partition(":")
    return getattr(import_module(f"sfumato.cli.{module}"), name)
