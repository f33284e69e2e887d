"""Small releases to tamper with, and the hand of somebody who tampers and writes the manifest anew."""

import json
import shutil
from pathlib import Path

import pandas as pd

import sfumato
from sfumato.release.manifest import write_manifest

SCHEMA = {
    "name": "clinic",
    "source": "made up",
    "unit": {"column": "person", "rows": 2},
    "columns": [
        {"name": "age", "type": "integer", "min": 0, "max": 99, "bins": 10},
        {"name": "sex", "type": "categorical", "categories": ["f", "m"], "nullable": True, "null_values": ["?"]},
        {"name": "smoker", "type": "boolean"},
        {"name": "ward", "type": "categorical", "categories": ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]},
    ],
}


def rows(count=400):
    return pd.DataFrame(
        {
            "person": [f"p{number // 2}" for number in range(count)],
            "age": [str((7 * number) % 100) for number in range(count)],
            "sex": ["f" if number % 3 else ("m" if number % 2 else "?") for number in range(count)],
            "smoker": ["true" if number % 4 == 0 else "false" for number in range(count)],
            "ward": ["abcdefghij"[(number * number) % 7] for number in range(count)],
        }
    )


def released(folder, method="privsyn", schema=SCHEMA, **options):
    delta = None if method in ("privbayes", "dpview", "dpview+", "priview", "dp-subn", "dp-ccbn") else "1e-6"
    given = sfumato.Schema.parse(schema)
    data = rows() if "unit" in schema else rows().drop(columns="person")
    sfumato.fit(data, given, epsilon="2", delta=delta, method=method).save(folder, **options)
    return folder


class Forger:
    """Changes a copy of a release, and writes its manifest anew, as anybody can where nobody has signed."""

    def __init__(self, original, scratch):
        self._original, self._scratch, self._number = Path(original), Path(scratch), 0

    def copy(self):
        self._number += 1
        return Path(shutil.copytree(self._original, self._scratch / f"forged-{self._number}"))

    def changed(self, name, change, manifest=True):
        """A copy in which one JSON file holds what `change` makes of it."""
        folder = self.copy()
        path = folder / name
        content = json.loads(path.read_text())
        content = change(content) or content
        path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
        if manifest:
            write_manifest(folder)
        return folder

    def rewritten(self, name, change, manifest=True):
        """A copy in which one file holds what `change` makes of its bytes."""
        folder = self.copy()
        (folder / name).write_bytes(change((folder / name).read_bytes()))
        if manifest:
            write_manifest(folder)
        return folder


def leaves(value, path=()):
    """The path of every number and text in a JSON value."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from leaves(one, (*path, key))
    elif isinstance(value, list):
        for place, one in enumerate(value):
            yield from leaves(one, (*path, place))
    elif value is not None:
        yield path


def nudge(value):
    """Something else of the same type, near to it."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * 1.001 + 1e-6
    if value.replace("/", "").isdigit():
        return value + "1"
    return value + "x"


def nudge_at(path):
    def change(content):
        *way, last = path
        inside = content
        for key in way:
            inside = inside[key]
        inside[last] = nudge(inside[last])

    return change
