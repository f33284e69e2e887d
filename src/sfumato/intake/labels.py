"""Readable names for codes: what the cells of a published table stand for."""

from __future__ import annotations

from itertools import product

from sfumato.intake.attribute_kinds import Attribute, Digit, Pattern, Recoded
from sfumato.schema.labels import MISSING, labels

__all__ = ["MISSING", "attribute_labels", "labels"]


def attribute_labels(attribute: Attribute) -> list[str]:
    """One label for each code of an attribute."""
    match attribute:
        case Recoded():
            return [" / ".join(parts) for parts in product(*map(labels, attribute.columns))]
        case Digit():
            return ["0", "1"]
        case Pattern():
            names = [column.name for column in attribute.columns]
            masks = [attribute.missing(name) for name in names]
            found = [
                [name for name, mask in zip(names, masks, strict=True) if mask[code]] for code in range(attribute.size)
            ]
            return [f"missing: {', '.join(missing)}" if missing else "none missing" for missing in found]
        case _:
            names = labels(attribute.columns[0])
            return names if len(names) >= attribute.size else [*names, MISSING]
