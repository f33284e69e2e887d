"""Rules: public statements about a row, such as "who is under 16 has never married".

A rule says something of the columns that every real row obeys by its nature; it is declared, never read from rows.
docs/rules.md lists the forms.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from pydantic import ConfigDict, Discriminator, RootModel, Tag, model_validator

from sfumato.schema.arithmetic_forms import Gap, Increments, Order, Total
from sfumato.schema.columns import Column
from sfumato.schema.fields import complaint
from sfumato.schema.label_forms import Combinations, Determines, ExactlyOne, IfThen, MissingIff, MissingTogether
from sfumato.schema.rule_forms import Form

_FORMS: tuple[tuple[str, frozenset[str], frozenset[str]], ...] = tuple(
    (name, frozenset(needed), frozenset(optional))
    for name, needed, optional in (
        ("implication", {"then"}, {"if"}),
        ("order", {"less_or_equal"}, ()),
        ("order", {"less"}, ()),
        ("order", {"equal"}, ()),
        ("difference", {"difference"}, {"min", "max", "unit"}),
        ("sum", {"sum", "equals"}, ()),
        ("increments", {"multiple_of", "column"}, {"start"}),
        ("exactly one", {"exactly_one"}, ()),
        ("missing together", {"missing_together"}, ()),
        ("missing iff", {"missing", "iff"}, ()),
        ("combinations", {"allowed", "rows"}, ()),
        ("combinations", {"forbidden", "rows"}, ()),
        ("dependency", {"determines", "values"}, ()),
    )
)
"""The forms: their keys, and keys that may be left out."""


def _form(keys: Any) -> str | None:
    if isinstance(keys, Form):
        return next(tag for tag, kind in _KINDS.items() if isinstance(keys, kind))
    given = set(keys) if isinstance(keys, Mapping) else set()
    return next((name for name, needed, optional in _FORMS if needed <= given <= needed | optional), None)


_KINDS: dict[str, type[Form]] = {
    "implication": IfThen,
    "order": Order,
    "difference": Gap,
    "sum": Total,
    "increments": Increments,
    "exactly one": ExactlyOne,
    "missing together": MissingTogether,
    "missing iff": MissingIff,
    "combinations": Combinations,
    "dependency": Determines,
}
AnyForm = Annotated[
    Annotated[IfThen, Tag("implication")]
    | Annotated[Order, Tag("order")]
    | Annotated[Gap, Tag("difference")]
    | Annotated[Total, Tag("sum")]
    | Annotated[Increments, Tag("increments")]
    | Annotated[ExactlyOne, Tag("exactly one")]
    | Annotated[MissingTogether, Tag("missing together")]
    | Annotated[MissingIff, Tag("missing iff")]
    | Annotated[Combinations, Tag("combinations")]
    | Annotated[Determines, Tag("dependency")],
    Discriminator(_form),
]


class Rule(RootModel[AnyForm]):
    """A statement in one of the forms.

    >>> print(Rule.model_validate({"if": {"age": {"max": 15}}, "then": {"status": ["single"]}}))
    if age is at most 15, then status is single
    >>> print(Rule.model_validate({"less_or_equal": ["admitted", "discharged"]}))
    admitted <= discharged
    """

    model_config = ConfigDict(frozen=True, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _refuse_other_keys(cls, keys: Any) -> Any:
        if isinstance(keys, cls | Form):
            return keys
        if _form(keys) is None:
            raise complaint(
                "a rule has the keys 'if' and 'then', or one of 'then', 'less_or_equal', 'less', 'equal', "
                "'difference', 'sum', 'multiple_of', 'allowed', 'forbidden', 'determines', 'exactly_one', "
                "'missing_together' and 'missing' with the keys that belong to it; docs/rules.md has all forms"
            )
        if any(not held and held != 0 for held in keys.values()):
            raise complaint("a key of the rule has no value; give it one, or leave it out")
        return keys

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that the rule speaks of."""
        return self.root.names

    def __str__(self) -> str:
        return str(self.root)

    def __hash__(self) -> int:
        return hash(str(self))

    def problems(self, columns: Sequence[Column]) -> Iterator[str]:
        """What is wrong with this rule for these columns; a problem may rely on those before it being absent."""
        by_name = {column.name: column for column in columns}
        for name in self.names:
            if name not in by_name:
                yield f"column {name!r} is not in the schema; it has {', '.join(by_name)}"
                return
        yield from self.root.problems(by_name)


def rule_problems(rules: Sequence[Rule], columns: Sequence[Column]) -> Iterator[str]:
    """What is wrong with these rules for these columns, in words for the person who wrote the schema."""
    for number, rule in enumerate(rules, 1):
        for problem in rule.problems(columns):
            yield f"rule number {number}: {problem}"
