"""What every part of a schema is: frozen, without unknown keys, and refused in our own words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

from pydantic import BaseModel, ConfigDict, model_validator

from sfumato.schema.fields import complaint


class Declaration(BaseModel):
    """A part of a schema that says what is wrong with it, and is refused with the first of these problems."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    @model_validator(mode="after")
    def _refuse_problems(self) -> Self:
        for problem in self.problems():
            raise complaint(problem)
        return self

    def problems(self) -> Iterator[str]:
        """What is wrong with this declaration by itself; a problem may rely on those before it being absent."""
        yield from ()
