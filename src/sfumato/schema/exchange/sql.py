"""SQL: CREATE TABLE statements, with types, NOT NULL, primary keys and CHECK constraints of one column.

A dump of PostgreSQL adds keys to a table after it, writes `IN` as `= ANY (ARRAY[…])` and a cast behind every literal.
"""

from __future__ import annotations

import re
from typing import Any

from sfumato.errors import SchemaError
from sfumato.schema.exchange.carried import Carried, Exported, Keys, kind_of, lost_in, plain
from sfumato.schema.schema import Schema

_CREATE = re.compile(r"create\s+(?:\w+\s+)*?table\s+(?:if\s+not\s+exists\s+)?([\w.\"`\[\]]+)\s*\(", re.IGNORECASE)
_ENUM = re.compile(r"create\s+type\s+([\w.\"]+)\s+as\s+enum\s*\(([^)]*)\)", re.IGNORECASE)
_WORD = re.compile(r'\s*("(?:[^"]|"")+"|`[^`]+`|\[[^\]]+\]|\w+)')
_NUMBER = r"([-+]?\d+(?:\.\d+)?|'[^']*')"
_NAME = r"(?:\"[^\"]+\"|`[^`]+`|\w+)"
_BETWEEN = re.compile(rf"({_NAME})\s+between\s+{_NUMBER}\s+and\s+{_NUMBER}", re.IGNORECASE)
_RANGE = re.compile(rf"({_NAME})\s*(<=|>=)\s*{_NUMBER}", re.IGNORECASE)
_QUOTED = r"'(?:[^']|'')*'"
_CAST = re.compile(
    rf"({_QUOTED})|::\s*[\w.\"]+(?:\s+(?:varying|precision|with(?:out)?\s+time\s+zone))*(?:\s*\([\d\s,]*\))?(?:\s*\[\s*\])?",
    re.IGNORECASE,
)
_ANY = re.compile(rf"({_NAME})\s*=\s*any\s*(?:\(\s*)*array\s*\[((?:[^\]']|{_QUOTED})*)\](?:\s*\))*", re.IGNORECASE)
_ADDED = re.compile(
    rf"alter\s+table\s+(?:if\s+exists\s+)?(?:only\s+)?([\w.\"`\[\]]+)\s+add\s+((?:[^;']|{_QUOTED})*)", re.IGNORECASE
)
_INDEX = re.compile(
    r"create\s+(unique)\s+index\s+[\w.\"`\[\]]+\s+on\s+(?:only\s+)?([\w.\"`\[\]]+)[^;(]*(\([^;)]*\))", re.IGNORECASE
)
_IN = re.compile(rf"({_NAME})\s+in\s*\(((?:[^()']|'(?:[^']|'')*')*)\)", re.IGNORECASE)
_TEXTS = re.compile(r"'((?:[^']|'')*)'")

TYPES = {
    "integer": "integer", "int": "integer", "smallint": "integer", "bigint": "integer", "tinyint": "integer",
    "int2": "integer", "int4": "integer", "int8": "integer", "serial": "integer", "bigserial": "integer",
    "numeric": "number", "decimal": "number", "real": "number", "double": "number", "float": "number",
    "float4": "number", "float8": "number", "money": "number",
    "boolean": "boolean", "bool": "boolean", "bit": "boolean",
    "date": "date", "timestamp": "datetime", "timestamptz": "datetime", "datetime": "datetime",
}  # fmt: skip


def read(content: bytes, name: str) -> Carried:
    """The first CREATE TABLE of a file."""
    text = re.sub(r"--[^\n]*|/\*.*?\*/", " ", content.decode("utf-8-sig"), flags=re.DOTALL)
    text = _CAST.sub(lambda match: match[1] or "", text)
    enums = {_table(match[1]): _texts(match[2]) for match in _ENUM.finditer(text)}
    found = _CREATE.search(text)
    if found is None:
        raise SchemaError("the file has no CREATE TABLE statement; give the definition of one table")
    body, end = _inside(text, found.end())
    lost = ["further CREATE TABLE statements"] if _CREATE.search(text, end) else []
    columns: dict[str, Keys] = {}
    identifiers: set[str] = set()
    checks: list[str] = []
    for part in _parts(body):
        words = _WORD.match(part)
        if words is None:
            continue
        head = words[1].lower()
        if head in ("constraint", "check", "primary", "unique", "foreign", "exclude", "key", "index"):
            _table_constraint(part, identifiers, checks, lost)
            continue
        column = _bare(words[1])
        columns[column] = _column(column, part[words.end() :], enums, identifiers, checks, lost)
    added = [(match[1], match[2]) for match in _ADDED.finditer(text)]
    indexed = [(match[2], match[1] + match[3]) for match in _INDEX.finditer(text)]
    for table, part in added + indexed:
        if _table(table) == _table(found[1]):
            _table_constraint(part, identifiers, checks, lost)
    for check in checks:
        _apply(_plain(check), columns, lost)
    for one in sorted(identifiers & set(columns)):
        del columns[one]
        lost.append(f"column {one!r} is a key of the table, which is never synthesised; it is left out")
    return Carried({"name": _table(found[1]) or name, "columns": list(columns.values())}, tuple(lost))


def _column(
    name: str, rest: str, enums: dict[str, list[str]], keys: set[str], checks: list[str], lost: list[str]
) -> Keys:
    words = _WORD.match(rest)
    if words is None:
        raise SchemaError(f"column {name!r} has no type; give the whole definition of the table")
    while rest[words.end() :].startswith(".") and (inner := _WORD.match(rest, words.end() + 1)):
        words = inner  # the type of a schema: public.ward
    kind, after = _bare(words[1]).lower(), rest[words.end() :]
    found: Keys = {"name": name, "type": TYPES.get(kind, "categorical")}
    if kind in enums:
        found["categories"] = enums[kind]
    elif kind == "enum":
        found["categories"] = _texts(_inside(after, after.index("(") + 1)[0])
    size = re.match(r"\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)", after)
    if found["type"] == "number" and size is not None and size[2] is not None:
        found |= {"decimals": int(size[2])} if int(size[2]) else {"type": "integer"}
    if (
        kind not in TYPES
        and kind not in enums
        and kind not in ("enum", "text", "varchar", "char", "character", "nvarchar")
    ):
        lost.append(f"type {kind!r} of column {name!r}; it is taken for labels")
    if not re.search(r"not\s+null|primary\s+key", after, re.IGNORECASE):
        found["nullable"] = True
    if re.search(r"primary\s+key|\bunique\b", after, re.IGNORECASE):
        keys.add(name)
    if re.search(r"\breferences\b", after, re.IGNORECASE):
        lost.append(f"the foreign key of column {name!r}")
    for match in re.finditer(r"check\s*\(", after, re.IGNORECASE):
        checks.append(_inside(after, match.end())[0])
    return found


def _table_constraint(part: str, keys: set[str], checks: list[str], lost: list[str]) -> None:
    if match := re.search(r"check\s*\(", part, re.IGNORECASE):
        checks.append(_inside(part, match.end())[0])
    elif match := re.search(r"(?:primary\s+key|unique)\s*\(", part, re.IGNORECASE):
        names = [_bare(one.strip()) for one in _inside(part, match.end())[0].split(",")]
        if len(names) == 1:
            keys.add(names[0])
        else:
            lost.append(f"the key of {len(names)} columns: {', '.join(names)}")
    else:
        lost.append(f"the constraint {' '.join(part.split())[:80]!r}")


def _apply(check: str, columns: dict[str, Keys], lost: list[str]) -> None:
    """Take a CHECK over one column as its domain; any other is listed as lost."""
    rest = check
    for match in _BETWEEN.finditer(check):
        rest = rest.replace(match[0], "")
        _bound(columns, _bare(match[1]), ("min", match[2]), ("max", match[3]))
    for match in _RANGE.finditer(_BETWEEN.sub("", check)):
        rest = rest.replace(match[0], "")
        _bound(columns, _bare(match[1]), ("max" if match[2] == "<=" else "min", match[3]))
    for match in _IN.finditer(check):
        rest = rest.replace(match[0], "")
        if (column := columns.get(_bare(match[1]))) is not None:
            column |= {"type": "categorical", "categories": _texts(match[2]) or _listed(match[2])}
    if re.sub(r"\band\b|[()\s]", "", rest, flags=re.IGNORECASE):
        lost.append(f"the check {' '.join(check.split())[:80]!r}; see 'rules'")


def _plain(check: str) -> str:
    """A CHECK as a person would write it: no parentheses around a single name or number, and `IN` for `= ANY`."""
    check = re.sub(rf"(?<![\w\s])\(\s*({_NAME})\s*\)(?=\s*[<>=])", r"\1", check)
    check = re.sub(rf"([<>]=|=)\s*\(\s*{_NUMBER}\s*\)", r"\1 \2", check)
    return _ANY.sub(r"\1 in (\2)", check)


def _bound(columns: dict[str, Keys], name: str, *bounds: tuple[str, str]) -> None:
    column = columns.get(name)
    for key, text in bounds:
        if column is not None:
            value: Any = text.strip("'")
            if column["type"] == "integer":
                value = int(float(value))
            elif column["type"] == "number":
                value = float(value)
            column[key] = value


def _inside(text: str, start: int) -> tuple[str, int]:
    """What stands between an opened parenthesis and its end, and where that is; quoted text does not count."""
    depth, quoted = 1, False
    for place in range(start, len(text)):
        sign = text[place]
        if sign == "'":
            quoted = not quoted
        elif not quoted:
            depth += (sign == "(") - (sign == ")")
            if depth == 0:
                return text[start:place], place
    raise SchemaError("a parenthesis is not closed; give the whole definition of the table")


def _parts(body: str) -> list[str]:
    """The definitions of a table, which commas at the top level separate."""
    found, start, depth, quoted = [], 0, 0, False
    for place, sign in enumerate(body):
        if sign == "'":
            quoted = not quoted
        elif not quoted:
            depth += (sign == "(") - (sign == ")")
            if sign == "," and depth == 0:
                found.append(body[start:place])
                start = place + 1
    return [*found, body[start:]]


def _table(name: str) -> str:
    """The name of a table or type without that of its schema."""
    return _bare(name.split(".")[-1])


def _bare(name: str) -> str:
    return name.strip().strip('"`[]').replace('""', '"')


def _texts(listed: str) -> list[str]:
    return [match.replace("''", "'") for match in _TEXTS.findall(listed)]


def _listed(listed: str) -> list[str]:
    return [one.strip() for one in listed.split(",") if one.strip()]


def write(schema: Schema) -> Exported:
    """A CREATE TABLE statement with its domains as CHECK constraints."""
    lines = []
    for column in schema.columns:
        name, kind = _quoted(column.name), kind_of(column)
        null = "" if column.nullable else " NOT NULL"
        if kind == "categorical":
            values = ", ".join(_text(one) for one in getattr(column, "categories", ()))
            lines.append(f"{name} text{null} CHECK ({name} IN ({values}))")
        elif kind == "boolean":
            lines.append(f"{name} boolean{null}")
        else:
            low, high = (_literal(plain(getattr(column, key))) for key in ("min", "max"))
            sql_type = {"integer": "bigint", "number": "double precision", "date": "date", "datetime": "timestamp"}[
                kind
            ]
            lines.append(f"{name} {sql_type}{null} CHECK ({name} BETWEEN {low} AND {high})")
    body = ",\n    ".join(lines)
    return Exported(f"CREATE TABLE {_quoted(schema.name)} (\n    {body}\n);\n", lost_in(schema))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _literal(value: Any) -> str:
    return _text(value) if isinstance(value, str) else str(value)
