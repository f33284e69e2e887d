"""Messages of a dishonest member: every field of a valid message changed into something else, and properly signed."""

import json
import struct
from copy import deepcopy

from sfumato.parties.messages import Share

_SIGNED_AS = b"sfumato envelope 1\n"
DEEP = json.loads("[" * 200 + "]" * 200)
VALUES = [
    *(None, True, False, -1, 0, 1, 63, 64, 2**31, 2**53, 2**63 - 1, 2**63, 2**64, 2**70, 10**20, -(2**70), 10**400),
    *(0.5, -0.0, 1e308, float("nan"), float("inf")),
    *(
        "",
        "0",
        "a",
        "1e999999999",
        "1/0",
        "-1",
        "9" * 81,
        "9" * 5000,
        "1/" + "7" * 79,
        "0x10",
        "²",
        "measure",
        "learn",
        "north",
    ),
    *("\x1b[2J", "\u202e", "\ud800", "\x00", "x" * 100_000, "curator", "../../x", "smoker", "ward in 2", "[" * 3000),
    *([], {}, [[]], [0], [2**70] * 3, [0, 2**40, 1], [0, 1, 10**20], [1.5, 0, 0], ["smoker"], [None], DEEP),
    *({"a": 1}, {"merge": {}}, {"bits": True}, [{"bits": True}] * 100, ["smoker"] * 5000, [[0]] * 5000),
]
BODIES = [
    *(
        b"",
        b"null",
        b"[]",
        b"{}",
        b"0",
        b'"',
        b"\xff\xfe",
        b"[" * 60_000,
        b'{"a":' * 30_000,
        b"1" * 5000,
        b"1e999999999",
    ),
    *(b"NaN", b" ", b'"\\ud800"', b"\x00" * 8, b"\x00" * 9, bytes(range(256))),
]


def signed(header, body, signer):
    """An envelope with any header and body, signed by a member."""
    text = header if isinstance(header, bytes) else json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    content = struct.pack(">I", len(text)) + text + body
    return content + signer.sign(_SIGNED_AS + content)


def header_of(message, study):
    fields = ("round", "attempt", "sender", "recipient", "kind")
    return {"study": study, **{field: getattr(message, field) for field in fields}}


def mutants(message, study, signer):
    """Names, and functions that make envelopes: all that becomes of a message if one thing in it is changed."""
    header, body = header_of(message, study), message.body()
    for name, changed in changes(header):
        yield f"header {name}", lambda changed=changed: signed(changed(), body, signer)
    for number, text in enumerate((b"", b"[" * 4000, b"{}", b"null", b"\xff", b'{"study":' * 400)):
        yield f"header bytes {number}", lambda text=text: signed(text, body, signer)
    for number, other in enumerate((*BODIES, body[:-1], body + b" ")):
        yield f"body bytes {number}", lambda other=other: signed(header, other, signer)
    if isinstance(message, Share):
        return
    record = json.loads(body)
    for name, changed in changes(record):
        yield f"body {name}", lambda changed=changed: signed(header, _written(changed()), signer)
    if message.kind == "ask":
        for name, changed in changes(json.loads(record["coding"])):
            yield (
                f"coding {name}",
                lambda changed=changed: signed(
                    header, _written(record | {"coding": _written(changed()).decode()}), signer
                ),
            )


def changes(tree):
    """Names, and functions that make a JSON tree with one of its nodes replaced, removed, doubled or renamed."""
    for path in _paths(tree):
        for number, value in enumerate(VALUES):
            yield f"{_named(path)} value {number}", lambda path=path, value=value: _replaced(tree, path, value)
        if not path:
            continue
        yield f"{_named(path)} removed", lambda path=path: _removed(tree, path)
        parent, above, last = _at(tree, path[:-1]), path[:-1], path[-1]
        more = [*parent, parent[last]] if isinstance(parent, list) else {**parent, "\x1b[2J": parent[last]}
        yield f"{_named(path)} doubled", lambda above=above, more=more: _replaced(tree, above, more)


def _paths(tree, path=()):
    yield path
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield from _paths(value, (*path, key))


def _at(tree, path):
    for key in path:
        tree = tree[key]
    return tree


def _replaced(tree, path, value):
    if not path:
        return value
    changed = deepcopy(tree)
    _at(changed, path[:-1])[path[-1]] = value
    return changed


def _removed(tree, path):
    changed = deepcopy(tree)
    del _at(changed, path[:-1])[path[-1]]
    return changed


def _named(path):
    return ".".join(map(str, path)) or "(all)"


def _written(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
