"""The codes of a question, as data: a party can follow them, and nothing else can be asked of it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from sfumato.data.bitwise import Bitwise
from sfumato.data.domain import Domain
from sfumato.data.levels import Level, Leveled, levels_of
from sfumato.data.recoding import Merging, Recoding
from sfumato.data.records import Records
from sfumato.errors import MethodError, ProtocolError, SfumatoError
from sfumato.parties.questions import UNREADABLE
from sfumato.pipeline import Group
from sfumato.privacy.holder import Codec

PLAIN = "[]"
"""The coding of questions in the attributes of the schema."""

STEPS = 16
"""Most steps of a coding: each is a pass over all rows."""

LEVELS = 8
"""Most levels for each column: each is a further column of all rows."""


def then(coding: str, codec: Codec[Records]) -> str:
    """A coding, and one codec more."""
    return json.dumps([*json.loads(coding), _describe(codec)], sort_keys=True, separators=(",", ":"))


def codecs(coding: str, domain: Domain) -> tuple[Codec[Records], ...]:
    """The codecs of a coding, one after the other, for rows of a domain; refuses what it does not know."""
    found: list[Codec[Records]] = []
    try:
        steps = _list(json.loads(coding))
        if len(steps) > STEPS:
            raise ValueError
        for step in steps:
            found.append(_codec(step, domain))
            domain = found[-1].domain
    except SfumatoError as problem:
        raise ProtocolError(f"the codes that a question names cannot be followed ({problem})") from None
    except UNREADABLE:
        raise ProtocolError("the codes that a question names cannot be followed") from None
    return tuple(found)


def _describe(codec: Codec[Records]) -> dict[str, Any]:
    match codec:
        case Recoding():
            # Weights say how to split codes again, which is none of a party's business.
            return {"merge": {name: merging["to"] for name, merging in codec.to_dict().items()}}
        case Group():
            return {"keep": list(codec.domain.names)}
        case Leveled():
            return {"levels": [level.to_dict() for level in codec.levels]}
        case Bitwise():
            return {"bits": True}
    raise MethodError(f"{type(codec).__name__} is not a coding that parties know; use a method without it")


def _codec(step: dict[str, Any], domain: Domain) -> Codec[Records]:
    ((kind, detail),) = step.items()
    if kind == "merge":
        mergings = {name: Merging(np.array(_codes(to, domain[name])), np.ones(len(to))) for name, to in detail.items()}
        return Recoding(domain, tuple(mergings.get(name) or Merging.identity(size) for name, size in domain.items()))
    if kind == "keep" and detail:
        return Group(domain.project(_list(detail)))
    if kind == "levels" and len(detail) <= LEVELS * len(domain):
        return Leveled(domain, tuple(_level(record, domain) for record in _list(detail)))
    if kind == "bits" and detail is True:
        return Bitwise(domain)
    raise ValueError


def _level(record: dict[str, Any], domain: Domain) -> Level:
    """One level; its name is what Sfumato calls it, since operators are shown it."""
    (level,) = levels_of({record["column"]: [_codes(record["to"], domain[record["column"]])]})
    if level.to_dict() != record:
        raise ValueError
    return level


def _codes(to: Any, size: int) -> list[int]:
    """For each of the codes of a column the one that it becomes; found here, and not when the rows are encoded."""
    if len(_list(to)) != size or any(type(code) is not int or not 0 <= code < size for code in to):
        raise ValueError
    return list(to)


def _list(value: Any) -> list[Any]:
    if type(value) is not list:
        raise ValueError
    return value
