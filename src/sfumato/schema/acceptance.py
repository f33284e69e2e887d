"""Who said that a domain which was read from the data may be public, and why.

No noise covers such a domain: it is published as it is. So a person accepts it, column by column, and name and reason
stay in the release.
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


class Acceptance(BaseModel):
    """One person's word that the domains of these columns may be public although they were observed."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    columns: Annotated[tuple[Name, ...], Field(min_length=1)]
    by: Name
    reason: Name


def acceptance_problems(given: Sequence[Acceptance], columns: Sequence[Column]) -> Iterator[str]:
    """What is wrong with acceptances, for these columns."""
    named = {column.name: column for column in columns}
    yield from repetition("accept_observed.columns", [name for one in given for name in one.columns])
    for name in [name for one in given for name in one.columns]:
        if name not in named:
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
