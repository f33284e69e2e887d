"""Whether the declarations about several columns fit the columns, and each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from sfumato.schema.columns import Column, size_of
from sfumato.schema.derived import derived_problems, level_problems
from sfumato.schema.features import MissingPattern, Recode, Together

MOST_COMBINATIONS = 1_000_000
"""A recoded attribute may have at most this many codes, since its table is measured."""

_OWN_AFFAIRS = {
    *("name", "nullable", "null_values", "domain_from", "note", "binned_from", "outside", "format", "cuts"),
    *("on_bad_value", "dtype", "description", "written"),
}
"""Keys in which columns that move together may differ."""


def arrangement_problems(
    columns: Sequence[Column],
    recode: Sequence[Recode],
    together: Sequence[Together],
    patterns: Sequence[MissingPattern],
    apart: Sequence[Sequence[str]],
) -> Iterator[str]:
    """What is wrong with them; a problem may rely on those before it being absent."""
    named = {column.name: column for column in columns}
    groups: list[tuple[str, Recode | Together | MissingPattern]] = []
    groups += [("recode", one) for one in recode]
    groups += [("together", one) for one in together]
    groups += [("missing_patterns", one) for one in patterns]
    taken = set(named)
    for key, group in groups:
        if group.name in taken:
            yield f"key '{key}.name' is {group.name!r}, which is taken; give a name of its own"
        taken.add(group.name)
        yield from _lists(f"{key}.columns", group.columns, named)
    yield from _repeated("recode or together", [*(one.columns for one in recode), *(one.columns for one in together)])
    yield from _repeated("missing_patterns", [one.columns for one in patterns])
    yield from _repeated("apart", apart)
    for names in apart:
        yield from _lists("apart", names, named)
    for column in columns:
        yield from _column_problems(column, named)
    for one in recode:
        yield from _recode_problems(one, named)
    for moving in together:
        yield from _together_problems(moving, named, {name for one in patterns for name in one.columns})
    for pattern in patterns:
        for name in pattern.columns:
            if not named[name].nullable:
                yield f"key 'missing_patterns.columns' holds {name!r}, which is never missing; remove it"
    for key, group in groups:
        homes = {next((place for place, names in enumerate(apart) if name in names), -1) for name in group.columns}
        if len(homes) > 1:
            yield f"key 'apart' parts the columns of {group.name!r} in {key!r}; put them into one group"


def _lists(key: str, names: Sequence[str], named: Mapping[str, Column]) -> Iterator[str]:
    for name in names:
        if name not in named:
            yield f"key {key!r} holds {name!r}, which is not a column; give one of {', '.join(named)}"
        elif named[name].derived:
            yield f"key {key!r} holds {name!r}, which is derived and follows its own column; remove it"


def _repeated(key: str, groups: Sequence[Sequence[str]]) -> Iterator[str]:
    names = [name for group in groups for name in group]
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            yield f"column {name!r} is in several groups of {key}; it may be in one"


def _column_problems(column: Column, named: Mapping[str, Column]) -> Iterator[str]:
    if column.joint_bins is not None and column.joint_bins > size_of(column):
        yield f"column {column.name!r}: key 'joint_bins' is {column.joint_bins}; the column has {size_of(column)} codes"
    for problem in level_problems(column):
        yield f"column {column.name!r}: {problem}"
    if column.derived is None:
        return
    origin = named.get(column.derived.of)
    if origin is None or origin.derived or origin is column:
        yield (
            f"column {column.name!r}: key 'derived.of' is {column.derived.of!r}; "
            "give another column, which is not derived itself"
        )
        return
    for problem in derived_problems(column, origin):
        yield f"column {column.name!r}: {problem}"


def _recode_problems(one: Recode, named: Mapping[str, Column]) -> Iterator[str]:
    combinations = prod(size_of(named[name]) + named[name].nullable for name in one.columns)
    if combinations > MOST_COMBINATIONS:
        yield (
            f"key 'recode' makes {combinations:,} combinations of {', '.join(one.columns)}; "
            f"at most {MOST_COMBINATIONS:,} can be measured: recode fewer columns"
        )
    for name in one.columns:
        if named[name].compress is not None or named[name].joint_bins is not None:
            yield f"column {name!r} is part of {one.name!r}; remove 'joint_bins', and give 'compress' in 'recode'"


def _together_problems(one: Together, named: Mapping[str, Column], patterned: set[str]) -> Iterator[str]:
    first, *others = (named[name] for name in one.columns)
    for other in others:
        if first.model_dump(exclude=_OWN_AFFAIRS) != other.model_dump(exclude=_OWN_AFFAIRS):
            yield f"key 'together' holds {first.name!r} and {other.name!r}, whose codes differ; declare the same bins"
    for name in one.columns:
        if named[name].nullable and name not in patterned:
            yield f"key 'together' holds {name!r}, which may be missing; put it into 'missing_patterns' as well"
