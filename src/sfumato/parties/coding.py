"""The codes of a question, as data: a party can follow them, and nothing else can be asked of it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from sfumato.data.bitwise import Bitwise
from sfumato.data.domain import Domain
from sfumato.data.levels import Level, Leveled
from sfumato.data.recoding import Merging, Recoding
from sfumato.data.records import Records
from sfumato.errors import MethodError, ProtocolError, SfumatoError
from sfumato.pipeline import Group
from sfumato.privacy.holder import Codec

PLAIN = "[]"
"""The coding of questions in the attributes of the schema."""


def then(coding: str, codec: Codec[Records]) -> str:
    """A coding, and one codec more."""
    return json.dumps([*json.loads(coding), _describe(codec)], sort_keys=True, separators=(",", ":"))


def codecs(coding: str, domain: Domain) -> tuple[Codec[Records], ...]:
    """The codecs of a coding, one after the other, for rows of a domain; refuses what it does not know."""
    found: list[Codec[Records]] = []
    try:
        for step in json.loads(coding):
            found.append(_codec(step, domain))
            domain = found[-1].domain
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, SfumatoError) as problem:
        raise ProtocolError(f"the codes that a question names cannot be followed ({problem})") from None
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
        for name, to in detail.items():
            if len(to) != domain[name]:  # found here, and not when the rows are encoded
                raise ValueError(name)
        return Recoding(
            domain,
            tuple(
                Merging(np.array(detail[name], dtype=np.int64), np.ones(size))
                if name in detail
                else Merging.identity(size)
                for name, size in domain.items()
            ),
        )
    if kind == "keep":
        return Group(domain.project(detail))
    if kind == "levels":
        return Leveled(domain, tuple(map(Level.from_dict, detail)))
    if kind == "bits":
        return Bitwise(domain)
    raise ValueError(kind)
