"""The schema: what a person declares in public about a table before any private row is read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import Field, Strict, ValidationError, model_validator

from sfumato.errors import SchemaError
from sfumato.schema.acceptance import ROWS, RULES, Acceptance, acceptance_problems
from sfumato.schema.bad_values import bad_value_problems
from sfumato.schema.column_base import Unit
from sfumato.schema.columns import Column
from sfumato.schema.compiled import Compiled, compiled, with_cuts
from sfumato.schema.contradictions import contradiction
from sfumato.schema.cross_checks import arrangement_problems
from sfumato.schema.declaration import Declaration
from sfumato.schema.expansion import MOST, expanded_size
from sfumato.schema.features import MissingPattern, Recode, Together
from sfumato.schema.fields import BadValue, DomainFrom, DomainSource, Flag, Name, Text, complaint, repetition
from sfumato.schema.labels import labels
from sfumato.schema.messages import explain
from sfumato.schema.notebook import columns_html
from sfumato.schema.reading import Reading
from sfumato.schema.rules import Rule, rule_problems

__all__ = ["Schema", "Unit"]


class Schema(Declaration):
    """The declared columns of a table, in order, and whom privacy protects.

    >>> age = {"name": "age", "type": "integer", "min": 0, "max": 99}
    >>> schema = Schema.parse({"name": "people", "columns": [age]})
    >>> schema["age"].max
    99
    """

    name: Name
    source: Text | None = None
    license: Text | None = None
    publisher: Text | None = None
    contact: Text | None = None
    purpose: Text | None = None
    citation: Text | None = None
    rows_guess: Annotated[int, Strict(), Field(ge=1)] | None = None
    notes: Text | None = None
    neighbours: Literal["add-remove", "replace-one"] = "add-remove"
    unit: Unit = Unit()
    on_bad_value: BadValue | None = None
    read: Reading = Reading()
    ignore: tuple[Name, ...] = ()
    columns: Annotated[tuple[Column, ...], Field(min_length=1)]
    accept_observed: tuple[Acceptance, ...] = ()
    label: Name | None = None
    recode: tuple[Recode, ...] = ()
    together: tuple[Together, ...] = ()
    missing_patterns: tuple[MissingPattern, ...] = ()
    apart: tuple[tuple[Name, ...], ...] = ()
    bitwise: Flag = False
    rules: tuple[Rule, ...] = ()
    rules_from: DomainFrom = DomainSource.DECLARED

    def _repr_html_(self) -> str:
        """The columns, their values and the rules, for notebooks."""
        return columns_html(self.name, self.columns, self.rules)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a schema file: JSON, or YAML if its name ends in .yaml or .yml."""
        path = Path(path)
        if path.suffix not in (".json", ".yaml", ".yml"):
            raise SchemaError(f"schema file {str(path)!r} has no known ending; give a .json, .yaml or .yml file")
        try:
            text = path.read_text(encoding="utf-8-sig")
            keys = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
            if expanded_size(keys) > MOST:
                raise ValueError
        except OSError as error:
            raise SchemaError(f"schema file {str(path)!r} cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise SchemaError(f"schema file {str(path)!r} is not UTF-8; save it in that encoding") from None
        except (ValueError, yaml.YAMLError, RecursionError) as error:
            where = _line_of(error)
            raise SchemaError(f"schema file {str(path)!r} is not valid {path.suffix[1:].upper()}{where}") from None
        return cls.parse(keys)

    @classmethod
    def parse(cls, keys: Mapping[str, Any]) -> Self:
        """Check a schema given as a mapping; every refusal is a SchemaError that names column and key."""
        if not isinstance(keys, Mapping):
            raise SchemaError("the schema is not a mapping of keys; give at least 'name' and 'columns'")
        try:
            return cls.model_validate(dict(keys))
        except ValidationError as error:
            raise SchemaError(explain(error, keys, cls)) from None

    @classmethod
    def of(cls, schema: Schema | Mapping[str, Any] | str | Path) -> Schema:
        """A schema as it is, its keys, or the path of its file."""
        if isinstance(schema, Schema):
            return schema
        return cls.parse(schema) if isinstance(schema, Mapping) else cls.load(schema)

    @model_validator(mode="before")
    @classmethod
    def _forget_counts(cls, keys: Any) -> Any:
        """Files may say how many rows there are, for their owner. It is private, so it stays in the file."""
        if not isinstance(keys, Mapping):
            return keys
        return {key: value for key, value in keys.items() if key not in ("rows", "splits")}

    def problems(self) -> Iterator[str]:
        """What is wrong with this schema as a whole; its parts have spoken before."""
        names = [column.name for column in self.columns]
        for name in dict.fromkeys(names):
            if names.count(name) > 1:
                yield f"column {name!r}: key 'name' is given to several columns; each name may occur once"
        if self.label is not None and self.label not in names:
            yield f"key 'label' is {self.label!r}, which is not a column; give one of {', '.join(names)}"
        if self.unit.order_by is not None and self.unit.order_by not in names:
            yield f"key 'unit.order_by' is {self.unit.order_by!r}, not a column; give one of {', '.join(names)}"
        for column in self.columns:
            if column.name == self.unit.order_by and not column.is_ordered:
                yield f"key 'unit.order_by' is {column.name!r}, which has no order; give a date or a number"
        if self.unit.column in names:
            yield (
                f"key 'unit.column' is {self.unit.column!r}, which is also declared in 'columns'; "
                "a person identifier is never synthesised, so remove that column"
            )
        yield from self._ignore_problems(names)
        yield from acceptance_problems(self.accept_observed, self.columns, self._observed_keys)
        if self.rows_guess is not None and len(str(self.rows_guess).rstrip("0")) > 1:
            yield (
                f"key 'rows_guess' is {self.rows_guess}, and the number of rows is private; "
                f"give a public guess of one digit and zeros, such as {float(f'{self.rows_guess:.0e}'):.0f}"
            )
        yield from bad_value_problems(self.columns, self.default_policy)
        yield from arrangement_problems(self.columns, self.recode, self.together, self.missing_patterns, self.apart)
        if self.bitwise and (self.recode or self.together or self.missing_patterns):
            yield "key 'bitwise' makes digits of columns; remove 'recode', 'together' and 'missing_patterns'"
        for column in self.columns:
            if self.bitwise and (column.compress or column.joint_bins):
                yield f"column {column.name!r}: 'compress' and 'joint_bins' have no meaning for digits; remove them"
        yield from rule_problems(self.rules, self.columns)

    @model_validator(mode="after")
    def _cut_bins(self) -> Self:
        """Bins get an edge at each threshold of a rule; rules that leave nothing for a declared value are refused."""
        if self.rules:
            object.__setattr__(self, "columns", with_cuts(self.columns, self.rules, self.together))
            found = contradiction(self.rules, self.columns)
            if found is not None:
                raise complaint(_conflict(*found, self))
        return self

    @cached_property
    def compiled(self) -> Compiled:
        """The rules as cells of codes that may hold rows, and columns whose values are tied inside bins."""
        return compiled(self.rules, self.columns)

    def _ignore_problems(self, names: Sequence[str]) -> Iterator[str]:
        yield from repetition("ignore", self.ignore)
        for name in self.ignore:
            if name in names:
                yield f"key 'ignore' holds {name!r}, which is also declared in 'columns'; a column is one or the other"
            if name == self.unit.column:
                yield f"key 'ignore' holds {name!r}, which 'unit.column' reads to tell persons apart; remove it there"

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise SchemaError(f"column {name!r} is not in the schema; it has {', '.join(self.names)}")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(column.name for column in self.columns)

    @property
    def observed(self) -> tuple[str, ...]:
        """What was taken from the data, by its own account: columns by name, then `rules` and `unit.rows`."""
        columns = (column.name for column in self.columns if column.domain_from is DomainSource.OBSERVED)
        return (*columns, *self._observed_keys)

    @property
    def _observed_keys(self) -> tuple[str, ...]:
        rules = self.rules and self.rules_from is DomainSource.OBSERVED
        return (*([RULES] if rules else []), *([ROWS] if self.unit.rows_from is DomainSource.OBSERVED else []))

    @property
    def unaccepted(self) -> tuple[str, ...]:
        """What of `observed` nobody has accepted as public."""
        accepted = {name for one in self.accept_observed for name in one.columns}
        return tuple(name for name in self.observed if name not in accepted)

    def accepting(self, columns: Sequence[str], by: str, reason: str) -> Self:
        """This schema, with one more acceptance of observed domains."""
        keys = self.to_dict()
        more = {"columns": list(columns), "by": by, "reason": reason}
        return self.parse(keys | {"accept_observed": [*keys.get("accept_observed", []), more]})

    @property
    def plain(self) -> Self:
        """The same schema for files that Sfumato wrote: UTF-8, as their ending says, with plain numbers."""
        keys = self.to_dict()
        keys.pop("read", None)
        return self.parse(keys | {"columns": [_plain(column) for column in keys["columns"]]})

    def policy(self, column: Column) -> BadValue:
        """What becomes of a bad value of a column: what the column says, or else what the table says."""
        return column.on_bad_value or self.default_policy

    @property
    def default_policy(self) -> BadValue:
        """What becomes of a bad value where its column says nothing."""
        return self.on_bad_value or "refuse"

    @property
    def may_refuse(self) -> bool:
        """Whether some value of the table could stop a run."""
        return "refuse" in (self.default_policy, *map(self.policy, self.columns))

    def rule_policy(self, column: Column) -> BadValue | None:
        """What a column counts as in a row that breaks a rule; None, where nobody said it, for the nearest value."""
        return column.on_bad_value or self.on_bad_value

    @property
    def rules_may_refuse(self) -> bool:
        """Whether a row that breaks a rule could stop a run: only where somebody said `refuse`."""
        return any(self.rule_policy(self[name]) == "refuse" for rule in self.rules for name in rule.names)

    def to_dict(self) -> dict[str, Any]:
        """The keys of the schema file, without those that have their default value."""
        return self.model_dump(mode="json", exclude_defaults=True)

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """The JSON Schema of the schema file, for editors."""
        summary = str(cls.__doc__).partition("\n")[0]
        draft = "https://json-schema.org/draft/2020-12/schema"
        return {"$schema": draft, **cls.model_json_schema(), "description": summary}


def _conflict(guilty: Sequence[Rule], name: str, code: int, schema: Schema) -> str:
    """What is wrong with rules that leave no row, or none with a declared value."""
    said = "; ".join(f"number {schema.rules.index(rule) + 1}, {str(rule)!r}" for rule in guilty)
    rules = f"rule {said}" if len(guilty) == 1 else f"rules {said}"
    if code < 0:
        return f"{rules}: no row at all can obey them; change one of them"
    remedy = "change a rule, or remove the value from the schema"
    return f"{rules}: no row with {name} {labels(schema[name])[code]} can obey; {remedy}"


def _plain(column: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in column.items() if key != "written"}


def _line_of(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f" (line {error.lineno})"
    mark = getattr(error, "problem_mark", None)
    return f" (line {mark.line + 1})" if mark else ""
