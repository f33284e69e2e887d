"""Who said that what was read from the data may be public, and why.

No noise covers an observed domain, nor rules or a number of rows that were read from the rows: they are published as
they are. So a person accepts them, column by column and key by key, and name and reason stay in the release.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from sfumato.schema.columns import Categorical, Column
from sfumato.schema.fields import DomainSource, Name, repetition

SHORT_LIST = 20
"""A list of so few categories tells little about anybody, however few rows there are."""

LONGEST_LIST = 1_000
"""The most categories of a column that may be published because they were seen in the data. Longer lists are
identifiers, free text, or codes that somebody keeps a codebook of."""


RULES, ROWS = "rules", "unit.rows"
"""Keys of the table that may be observed like the domain of a column; they are listed and accepted like columns."""


class Acceptance(BaseModel):
    """One person's word that the domains of these columns may be public although they were observed.

    `rules` and `unit.rows` stand for these keys of the table, where they were read from the rows.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    columns: Annotated[tuple[Name, ...], Field(min_length=1)]
    by: Name
    reason: Name


def acceptance_problems(
    given: Sequence[Acceptance], columns: Sequence[Column], keys: Sequence[str] = ()
) -> Iterator[str]:
    """What is wrong with acceptances, for these columns and these keys of the table that were observed."""
    named = {column.name: column for column in columns}
    for key in keys:
        if key in named:
            yield (
                f"column {key!r}: its name is that of a key which was read from the data, and nobody could tell which "
                "of them was accepted; rename the column, or confirm the key"
            )
    yield from repetition("accept_observed.columns", [name for one in given for name in one.columns])
    for name in [name for one in given for name in one.columns if name not in keys]:
        if name in (RULES, ROWS) and name not in named:
            yield (
                f"key 'accept_observed.columns' holds {name!r}, and the schema does not say that it was observed; "
                "remove the name"
            )
        elif name not in named:
            yield f"key 'accept_observed.columns' holds {name!r}, which is not a column; give one of {', '.join(named)}"
        elif named[name].domain_from is not DomainSource.OBSERVED:
            yield (
                f"key 'accept_observed.columns' holds {name!r}, whose domain is {named[name].domain_from.value}; only "
                "a domain with 'domain_from' observed needs it, so remove the name"
            )
        elif listed(named[name]) > LONGEST_LIST:
            yield (
                f"key 'accept_observed.columns' holds {name!r}, a list of {listed(named[name]):,} categories "
                f"that were observed in the data; a list of more than {LONGEST_LIST:,} cannot be accepted, since it is "
                "nearly a copy of the column. Put the column into 'ignore', or declare its codes from a codebook"
            )


def copied_lists(columns: Sequence[Column], rows: int) -> tuple[str, ...]:
    """The columns whose observed categories are half as many as the rows, or more: nearly everybody has one alone."""
    return tuple(one.name for one in columns if listed(one) > SHORT_LIST and 2 * listed(one) >= rows)


def listed(column: Column) -> int:
    """How many categories of a column were observed in the data and are listed."""
    if isinstance(column, Categorical) and column.domain_from is DomainSource.OBSERVED:
        return len(column.categories)
    return 0


def observed_words(names: Sequence[str]) -> str:
    """What was read from the data, in words that go before "was read from the data"."""
    columns = [name for name in names if name not in (RULES, ROWS)]
    words = [f"the domain of {', '.join(columns)}"] if columns else []
    words += ["the rules"] if RULES in names else []
    words += ["how many rows of a person count"] if ROWS in names else []
    return ", and ".join(words)


def counted(names: Sequence[str]) -> str:
    """How much was read from the data, in words that go before "read from the data"."""
    columns = len([name for name in names if name not in (RULES, ROWS)])
    words = [f"the domains of {columns} columns" if columns > 1 else "the domain of 1 column"] if columns else []
    words += ["the rules"] if RULES in names else []
    words += ["the rows of a person that count"] if ROWS in names else []
    return f"{' and '.join(words)} {'was' if words == ['the domain of 1 column'] else 'were'}"
