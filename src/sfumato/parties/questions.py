"""Questions to parties: which table to count, and with what noise. Data, never code."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

from sfumato.data.domain import Clique
from sfumato.errors import ProtocolError
from sfumato.exact import exact_number
from sfumato.privacy.events import Gaussian, Laplace, Noise, Skellam

_WIDTHS = Fraction(1, 1 << 60), Fraction(1 << 40)
_FRACTION = re.compile(r"[0-9]{1,80}(/[0-9]{1,80})?")

TABLES = 1 << 19
"""Most tables of one message: the list of questions must fit into a party's memory, not only the vector."""

NOISES = 1 << 18
"""Most digits of all different widths in one message: exact costs have about as many."""

UNREADABLE = (ValueError, LookupError, TypeError, ArithmeticError, AttributeError, RecursionError, MemoryError)
"""What reading something that a stranger has written may raise; it becomes a refusal."""


@dataclass(frozen=True)
class Question:
    """A table to count, and the noise that it is to have."""

    clique: Clique
    noise: Noise

    def __post_init__(self) -> None:
        # A width of 0 or below would make a question free, or more than free.
        if isinstance(self.noise, Gaussian) or not _WIDTHS[0] <= self.width <= _WIDTHS[1]:
            raise ProtocolError(
                f"{self.noise} was asked for; parties add Laplace or Skellam noise of a width from 2^-60 to 2^40: only "
                "shares of these add up"
            )

    @property
    def width(self) -> Fraction:
        """The scale of Laplace noise, or the variance of Skellam noise."""
        return self.noise.scale if isinstance(self.noise, Laplace) else cast(Skellam, self.noise).mu


def pack(questions: Sequence[Question]) -> dict[str, Any]:
    """Questions as JSON: names and noises once each, and for each table the numbers of its noise and its columns."""
    columns = {name: place for place, name in enumerate(sorted({name for one in questions for name in one.clique}))}
    written = [(_KIND[type(one.noise)], str(one.width)) for one in questions]
    noises = {noise: place for place, noise in enumerate(dict.fromkeys(written))}
    tables = [
        [noises[noise], *(columns[name] for name in one.clique)] for noise, one in zip(written, questions, strict=True)
    ]
    return {"columns": list(columns), "noises": [list(noise) for noise in noises], "tables": tables}


def unpack(record: Mapping[str, Any]) -> tuple[Question, ...]:
    """Read questions back; anything that `pack` would not write is one of UNREADABLE, or a ProtocolError."""
    if len(record["tables"]) > TABLES or sum(len(width) for _, width in record["noises"]) > NOISES:
        raise ValueError
    noises = [_noise(kind, width) for kind, width in record["noises"]]
    columns = [_plain(name, str) for name in record["columns"]]
    return tuple(
        Question(tuple(columns[_plain(place, int)] for place in places), noises[_plain(noise, int)])
        for noise, *places in record["tables"]
    )


_KIND: dict[type, str] = {Laplace: "laplace", Skellam: "skellam"}


def _noise(kind: str, width: str) -> Noise:
    kinds: dict[str, type[Laplace] | type[Skellam]] = {"laplace": Laplace, "skellam": Skellam}
    if not _FRACTION.fullmatch(width):
        raise ValueError
    return kinds[kind](exact_number(width))


def _plain(value: Any, wanted: type) -> Any:
    if type(value) is not wanted:
        raise ValueError
    return value
