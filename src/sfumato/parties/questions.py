"""Questions to parties: which table to count, and with what noise. Data, never code."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.data.coding import Coding
from sfumato.data.domain import Clique, Domain
from sfumato.errors import ProtocolError, SfumatoError
from sfumato.exact import exact_number
from sfumato.privacy.mechanisms import NOISES, Noise

_WIDTHS = Fraction(1, 1 << 60), Fraction(1 << 40)
_FRACTION = re.compile(r"[0-9]{1,80}(/[0-9]{1,80})?")

TABLES = 1 << 19
"""Most tables of one message: the list of questions must fit into a party's memory, not only the vector."""

WIDTHS = 1 << 18
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
        if not self.noise.divisible or not _WIDTHS[0] <= self.noise.width <= _WIDTHS[1]:
            able = " or ".join(kind for kind, noise in NOISES.items() if noise.divisible)
            raise ProtocolError(
                f"{self.noise.kind} noise of width {float(self.noise.width):g} was asked for; parties add {able} noise "
                "of a width from 2^-60 to 2^40: only shares of these add up"
            )


def pack(questions: Sequence[Question]) -> dict[str, Any]:
    """Questions as JSON: names and noises once each, and for each table the numbers of its noise and its columns."""
    columns = {name: place for place, name in enumerate(sorted({name for one in questions for name in one.clique}))}
    written = [(one.noise.kind, str(one.noise.width)) for one in questions]
    noises = {noise: place for place, noise in enumerate(dict.fromkeys(written))}
    tables = [
        [noises[noise], *(columns[name] for name in one.clique)] for noise, one in zip(written, questions, strict=True)
    ]
    return {"columns": list(columns), "noises": [list(noise) for noise in noises], "tables": tables}


def unpack(record: Mapping[str, Any]) -> tuple[Question, ...]:
    """Read questions back; anything that `pack` would not write is one of UNREADABLE, or a ProtocolError."""
    if len(record["tables"]) > TABLES or sum(len(width) for _, width in record["noises"]) > WIDTHS:
        raise ValueError
    noises = [_noise(kind, width) for kind, width in record["noises"]]
    columns = [_plain(name, str) for name in record["columns"]]
    return tuple(
        Question(tuple(columns[_plain(place, int)] for place in places), noises[_plain(noise, int)])
        for noise, *places in record["tables"]
    )


def _noise(kind: str, width: str) -> Noise:
    if not _FRACTION.fullmatch(width):
        raise ValueError
    return NOISES[kind](exact_number(width))


def coding_text(coding: Coding) -> str:
    """A coding as a message carries it."""
    return json.dumps(coding.to_dict(), sort_keys=True, separators=(",", ":"))


def read_coding(text: str, base: Domain) -> Coding:
    """The coding of a message, from the attributes of the schema; refuses what cannot be followed."""
    try:
        return Coding.from_dict(base, json.loads(text))
    except SfumatoError as problem:
        reason = str(problem)
    except UNREADABLE:
        reason = "it is not JSON that Sfumato writes"
    raise ProtocolError(f"the codes that a question names cannot be followed ({reason})")


def _plain(value: Any, wanted: type) -> Any:
    if type(value) is not wanted:
        raise ValueError
    return value
