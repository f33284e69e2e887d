"""What stewards know about their data, as keys of the schema: compressing, recoding, deriving, moving together.

These are the marginal engineering of the NIST challenge (docs/schema.md says when each one helps). All of them are
public declarations: what they do to a row depends on that row alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field, Strict

from sfumato.schema.declaration import Declaration
from sfumato.schema.fields import Name, Real, Text, repetition

Names = Annotated[tuple[Name, ...], Field(min_length=2)]


class Compress(Declaration):
    """Merge values whose noisy count is below max(`sigmas` standard deviations of its noise, `count`)."""

    sigmas: Annotated[float, Strict(), Field(ge=0, allow_inf_nan=False)] = 4.5
    count: Annotated[int, Strict(), Field(ge=0)] = 0


Level = Annotated[int, Strict(), Field(ge=2)] | dict[Text, tuple[Text, ...]]
"""A coarser version of a column: how many neighbouring codes become one, or the values of each group."""


class Derived(Declaration):
    """A column that is a public function of the column `of`.

    `values` maps every value of a column of labels; with `edges`, it lists one value for each interval [e0, e1),
    [e1, e2), … of a column of numbers, the last one closed.
    """

    of: Name
    values: dict[Text, Text] | tuple[Text, ...]
    edges: Annotated[tuple[Real, ...], Field(min_length=2)] | None = None

    def problems(self) -> Iterator[str]:
        """What is wrong with this declaration by itself."""
        if self.edges is None and not isinstance(self.values, dict):
            yield "key 'derived.values' is a list; give 'edges' with it, or a mapping from each value to another"
        if self.edges is not None and (isinstance(self.values, dict) or len(self.values) != len(self.edges) - 1):
            yield "key 'derived.values' must list one value for each interval between two 'edges'"
        if self.edges is not None and list(self.edges) != sorted(set(self.edges)):
            yield "key 'derived.edges' must grow"


class Recode(Declaration):
    """Several columns as one attribute `name`; of their combinations, the rare ones are merged."""

    name: Name
    columns: Names
    compress: Compress = Compress()

    def problems(self) -> Iterator[str]:
        """What is wrong with this declaration by itself."""
        yield from repetition("columns", self.columns)


class Together(Declaration):
    """Columns that have the same value in nearly every row where they have one: one attribute `name` stands for all.

    A row is read by the first of its values that is not missing.
    """

    name: Name
    columns: Names

    def problems(self) -> Iterator[str]:
        """What is wrong with this declaration by itself."""
        yield from repetition("columns", self.columns)


class MissingPattern(Declaration):
    """An attribute `name` that says which of its columns are missing; rare patterns are merged.

    It decides what is missing in columns that move together. Other columns keep their own code for missing, and the
    pattern ties them.
    """

    name: Name
    columns: Annotated[tuple[Name, ...], Field(min_length=1, max_length=16)]
    compress: Compress = Compress()

    def problems(self) -> Iterator[str]:
        """What is wrong with this declaration by itself."""
        yield from repetition("columns", self.columns)
