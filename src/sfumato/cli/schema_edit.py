"""`sfumato schema edit`: a draft becomes a schema by questions in the terminal, many columns at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.console import explained, out
from sfumato.cli.schema_text import schema_text
from sfumato.errors import SchemaError
from sfumato.files import PRIVATE, replacing
from sfumato.schema import confirming
from sfumato.schema.confirming import Group, groups
from sfumato.schema.schema import Schema

CHOICES = "[k]nown in public  [b]ounds of your own  [i]gnore  [a]ccept as observed  [o]ne by one  [s]kip  [q]uit"


@explained
def edit(
    schema: Annotated[Path, typer.Argument(help="The draft; it is written back after every answer.")],
    out_file: Annotated[
        Path | None, typer.Option("--out", help="Write to this .json or .yaml file instead, and go on there later.")
    ] = None,
) -> None:
    """Confirm a draft by questions: what is publicly known, what is left out, what is accepted, and by whom."""
    target = out_file or schema
    session = _Session(Schema.load(target if target.exists() else schema), target)
    schema_text(session.schema, target)  # an unknown ending is refused before the first question
    while not session.done and (waiting := session.waiting()):
        session.settle(waiting[0])
    left, columns = len(session.schema.unaccepted), len(session.schema.columns)
    out.print(f"{target}: {session.answers} answers; {left} of {columns} columns are still to be confirmed.")


class _Session:
    """What was answered so far; every answer is on disk before the next question."""

    def __init__(self, schema: Schema, file: Path):
        self.schema, self._file = schema, file
        self.answers, self.done = 0, False
        self._by = ""
        self._skipped: set[str] = set()

    def waiting(self) -> list[Group]:
        """The groups that are not settled yet, without columns that were skipped."""
        kept = []
        for group in groups(self.schema):
            pairs = [pair for pair in zip(group.columns, group.values, strict=True) if pair[0] not in self._skipped]
            if pairs:
                kept.append(Group(group.title, *map(tuple, zip(*pairs, strict=True))))
        return kept

    def settle(self, group: Group) -> None:
        """Ask about a group, and do what is answered."""
        out.print()
        some = f"{len(group.columns)} columns" if len(group.columns) > 1 else "1 column"
        out.print(f"{some} {group.title}", soft_wrap=True)
        for name, values in zip(group.columns, group.values, strict=True):
            out.print(f"- {name}: {values}", soft_wrap=True)
        answer = self._ask(CHOICES)[:1].lower()
        if answer == "q":
            self.done = True
        elif answer == "s":
            self._skipped |= set(group.columns)
        elif answer == "o" or (answer == "b" and len(group.columns) > 1):
            self._one_by_one(group)
        else:
            try:
                self._change(answer, group.columns)
            except SchemaError as problem:
                out.print(f"That cannot be: {problem}", soft_wrap=True)

    def _one_by_one(self, group: Group) -> None:
        for name, values in zip(group.columns, group.values, strict=True):
            while not self.done and name in self.schema.unaccepted and name not in self._skipped:
                self.settle(Group("by itself", (name,), (values,)))

    def _change(self, answer: str, names: tuple[str, ...]) -> None:
        match answer:
            case "k":
                note = self._ask("Where is it written? (codebook, law, form)")
                changed = confirming.declared(self.schema, names, note)
            case "b":
                low, high = (_number(self._ask(f"{word} value that may occur")) for word in ("Smallest", "Largest"))
                changed = confirming.bounded(self.schema, names[0], low, high)
            case "i":
                changed = confirming.ignored(self.schema, names)
            case "a":
                self._by = self._by or self._ask("Your name, which will be published")
                changed = self.schema.accepting(names, self._by, self._ask("Why may these values be public?"))
            case _:
                out.print("Give one of the letters in brackets.")
                return
        with replacing(self._file, PRIVATE) as file:
            file.write(schema_text(changed, self._file).encode())
        self.schema = changed

    def _ask(self, question: str) -> str:
        self.answers += 1
        return str(typer.prompt(question, default="", show_default=False)).strip()


def _number(text: str) -> int | float:
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    raise SchemaError(f"{text!r} is not a number")
