"""`domain.json` of private-pgm: the number of codes of each column, which its files hold as 0, 1, 2 and so on."""

from __future__ import annotations

import json

from sfumato.schema.columns import size_of
from sfumato.schema.exchange.carried import Carried, Exported, lost_in
from sfumato.schema.schema import Schema
from sfumato.text import json_text


def read(content: bytes, name: str) -> Carried:
    """Columns of codes; some files list labels instead of a number."""
    found = json.loads(content)
    columns = []
    for column, size in found.items():
        if isinstance(size, list):
            columns.append({"name": column, "type": "categorical", "categories": [str(one) for one in size]})
        elif isinstance(size, int) and not isinstance(size, bool) and size > 0:
            columns.append({"name": column, "type": "integer", "min": 0, "max": size - 1, "bins": size})
        else:
            raise ValueError
    return Carried({"name": name, "columns": columns})


def write(schema: Schema) -> Exported:
    """The number of codes of every column, as Sfumato codes it."""
    sizes = {column.name: size_of(column) + column.nullable for column in schema.columns}
    return Exported(
        json_text(sizes) + "\n",
        ("the values that the codes stand for", *lost_in(schema, ("bins", "edges", "cuts", "values", "special"))),
    )
