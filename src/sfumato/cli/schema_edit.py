"""`sfumato schema edit`: a draft becomes a schema by questions in the terminal, many columns at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

import typer
import yaml

from sfumato.cli.console import explained, out
from sfumato.cli.schema_text import schema_text
from sfumato.errors import SchemaError
from sfumato.files import PRIVATE, replacing
from sfumato.schema import confirming
from sfumato.schema.acceptance import ROWS, RULES, observed_words
from sfumato.schema.codebook import read_codebook, with_codebook
from sfumato.schema.confirming import Group, groups
from sfumato.schema.schema import Schema
from sfumato.text import one_line

CHOICES = (
    "[k]nown in public  [b]ounds of your own  special [v]alues  [i]gnore  [a]ccept as observed  [o]ne by one  "
    "[s]kip  [q]uit"
)


@explained
def edit(
    schema: Annotated[Path, typer.Argument(help="The draft; it is written back after every answer.")],
    out_file: Annotated[
        Path | None, typer.Option("--out", help="Write to this .json or .yaml file instead, and go on there later.")
    ] = None,
    codebook: Annotated[
        Path | None, typer.Option(help="A CSV file of columns and their values: what it says is not asked.")
    ] = None,
) -> None:
    """Confirm a draft by questions: what is publicly known, what is left out or accepted; then persons and rules."""
    target = out_file or schema
    session = _Session(Schema.load(target if target.exists() else schema), target)
    schema_text(session.schema, target)  # an unknown ending is refused before the first question
    if codebook is not None:
        session.read(codebook)
    try:
        while not session.done and (waiting := session.waiting()):
            session.settle(waiting[0])
        if not session.done and not session.waiting():
            session.table()
    except typer.Abort:  # the end of input, or Ctrl-C: every answer is on disk
        out.print()
    left, columns = session.schema.unaccepted, session.schema.names
    open_columns = len(set(left) & set(columns))
    out.print(
        f"{target}: {session.answers} answers; {open_columns} of {len(columns)} columns are still to be confirmed."
    )
    for key in [name for name in left if name not in columns]:
        out.print(f"Still to be confirmed: {observed_words([key])}.")


class _Session:
    """What was answered so far; every answer is on disk before the next question."""

    def __init__(self, schema: Schema, file: Path):
        self.schema, self._file = schema, file
        self.answers, self.done = 0, False
        self._by = ""
        self._skipped: set[str] = set()

    def read(self, codebook: Path) -> None:
        """Take over what a codebook says, and tell where it does not agree with the draft."""
        before = set(self.schema.unaccepted)
        found, doubts = with_codebook(self.schema, read_codebook(codebook), codebook.name)
        self._keep(lambda: found, again=False)
        out.print(f"{len(before - set(self.schema.unaccepted))} columns are as {codebook} says.")
        for words in doubts:
            out.print(f"Not settled: {words}", soft_wrap=True)

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
        elif answer == "o" or (answer in ("b", "v") and len(group.columns) > 1):
            self._one_by_one(group)
        else:
            self._keep(lambda: self._changed(answer, group.columns), again=False)

    def table(self) -> None:
        """Ask what concerns all columns; an empty answer leaves it as it is."""
        out.print()
        out.print("The columns are settled. A few questions about the table as a whole; Enter leaves it as it is.")
        self._keep(self._persons)
        if ROWS in self.schema.unaccepted:
            self._keep(self._rows_of_a_person)
        self._keep(self._label)
        if self.schema.rules:
            seen = RULES in self.schema.unaccepted
            out.print("These rules were seen in the rows:" if seen else "The rules are:")
            for number, rule in enumerate(self.schema.rules, 1):
                out.print(f"{number}. {rule}", soft_wrap=True)
            self._keep(self._dropped)
            if RULES in self.schema.unaccepted:
                self._keep(self._kept)
        while self._keep(self._rule):
            pass
        self._keep(self._rows)

    def _keep(self, question: Callable[[], Schema | None], again: bool = True) -> bool:
        """Ask, again until the answer makes sense, and keep it on disk; whether there was one."""
        while True:
            try:
                changed = question()
                if changed is not None:
                    with replacing(self._file, PRIVATE) as file:
                        file.write(schema_text(changed, self._file).encode())
                    self.schema = changed
                return changed is not None
            except SchemaError as problem:
                out.print(f"That cannot be: {problem}", soft_wrap=True)
            if not again:
                return False

    def _persons(self) -> Schema | None:
        unit = self.schema.unit
        now = f"{unit.column}, of whom {unit.rows} rows count" if unit.column else "none, each row is a person"
        column = self._ask(f"Column that tells persons apart, or - for none (now {one_line(now)})")
        if not column:
            return None
        known = confirming.known_columns(self.schema)
        if (
            column not in ("-", *known)
            and self._ask(f"{_unknown(column, known)} Type it again if it is right") != column
        ):
            raise SchemaError("then give the column again")
        rows = 1 if column == "-" else _whole(self._ask("How many rows of a person count? Noise grows with it"))
        return confirming.with_persons(self.schema, None if column == "-" else column, rows)

    def _rows_of_a_person(self) -> Schema | None:
        unit = self.schema.unit
        words = f"{unit.rows} rows of a person count: the draft read that from the rows. A number of your own"
        answer = self._ask(f"{words}, or [a]ccept it as observed")
        if answer.lower() == "a":
            return self._accepted((ROWS,))
        return confirming.with_persons(self.schema, unit.column, _whole(answer)) if answer else None

    def _kept(self) -> Schema | None:
        answer = self._ask("These rules [k]: must hold, by what the columns mean  [a]ccept as observed  [s]kip")
        match answer[:1].lower():
            case "k":
                return confirming.confirmed_rules(self.schema)
            case "a":
                return self._accepted((RULES,))
        return None

    def _accepted(self, names: tuple[str, ...]) -> Schema:
        self._by = self._by or self._ask("Your name, which will be published")
        return self.schema.accepting(names, self._by, self._ask("Why may this be public?"))

    def _label(self) -> Schema | None:
        column = self._ask(f"Column that models are to predict (now {one_line(self.schema.label or 'none')})")
        return confirming.with_label(self.schema, column) if column else None

    def _dropped(self) -> Schema | None:
        numbers = self._ask("Numbers of rules to drop, with commas")
        return confirming.without_rules(self.schema, list(map(_whole, numbers.split(",")))) if numbers else None

    def _rule(self) -> Schema | None:
        text = self._ask('Another rule, such as {"less_or_equal": ["born", "died"]} (docs/rules.md)')
        if not text:
            return None
        try:
            return confirming.with_rule(self.schema, yaml.safe_load(text))
        except yaml.YAMLError:
            raise SchemaError("it is not JSON or YAML") from None

    def _rows(self) -> Schema | None:
        now = self.schema.rows_guess or "none"
        rows = self._ask(f"About how many rows, for all to know: one digit and zeros (now {now})")
        return confirming.with_rows_guess(self.schema, _whole(rows)) if rows else None

    def _one_by_one(self, group: Group) -> None:
        for name, values in zip(group.columns, group.values, strict=True):
            while not self.done and name in self.schema.unaccepted and name not in self._skipped:
                self.settle(Group("by itself", (name,), (values,)))

    def _changed(self, answer: str, names: tuple[str, ...]) -> Schema | None:
        match answer:
            case "k":
                note = self._ask("Where is it written? (codebook, law, form)")
                return confirming.declared(self.schema, names, note)
            case "b":
                low, high = (_number(self._ask(f"{word} value that may occur")) for word in ("Smallest", "Largest"))
                return confirming.bounded(self.schema, names[0], low, high)
            case "v":
                numbers = self._ask("Numbers that mean something by themselves, such as 999, with commas")
                return confirming.special(self.schema, names[0], [_number(one) for one in numbers.split(",") if one])
            case "i":
                return confirming.ignored(self.schema, names)
            case "a":
                return self._accepted(names)
        out.print("Give one of the letters in brackets.")
        return None

    def _ask(self, question: str) -> str:
        self.answers += 1
        return str(typer.prompt(question, default="", show_default=False)).strip()


def _unknown(name: str, known: Sequence[str]) -> str:
    """That a schema does not speak of a column, and which one may be meant."""
    near = get_close_matches(name, known, 1)
    meant = f"; did you mean {near[0]}?" if near else "."
    return one_line(f"The schema does not speak of a column {name}{meant}")


def _number(text: str) -> int | float:
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    raise SchemaError(f"{text!r} is not a number")


def _whole(text: str) -> int:
    number = _number(text)
    if not isinstance(number, int):
        raise SchemaError(f"{text!r} is not a whole number")
    return number
