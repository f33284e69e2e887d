"""The process of one run: does what run.json says, and tells its progress in run.jsonl."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from typing import Any

from sfumato import tables
from sfumato.app.work import read_json
from sfumato.errors import SfumatoError
from sfumato.files import PRIVATE, write_new
from sfumato.fitting import fit
from sfumato.release import Release
from sfumato.report.assessment import assess
from sfumato.report.internal import internal_report
from sfumato.schema.schema import Schema

Tell = Callable[[str], None]


class StopError(Exception):
    """Somebody asked this run to stop."""


def main(folder: Path) -> None:
    """Run what the folder says, and always write an end."""
    ended = Event()
    Thread(target=_show_life, args=(folder / "alive", ended), daemon=True).start()
    try:
        keys = read_json(folder / "run.json")
        result = _KINDS[keys["kind"]](keys["name"], keys["arguments"], _teller(folder))
        _tell(folder, {"end": "done", **result})
    except StopError:
        _tell(folder, {"end": "cancelled"})
    except SfumatoError as error:
        _tell(folder, {"end": "failed", "error": str(error)})
    except Exception as error:  # a fault of ours: say where, but not with which values
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}"
        _tell(folder, {"end": "failed", "error": f"a fault in Sfumato ({where}); please report it"})
    finally:
        ended.set()


def _synthesize(name: str, arguments: dict[str, Any], tell: Tell) -> dict[str, Any]:
    release = fit(
        Path(arguments["table"]),
        Path(arguments["schema"]),
        epsilon=arguments["epsilon"],
        delta=arguments["delta"] or None,
        method=arguments["method"],
        accept_observed_domain=arguments["accept_observed_domain"],
        progress=tell,
    )
    tell("synthesize")
    release.save(arguments["out"])
    return {"guarantee": release.ledger.sentence(), "rows": release.rows}


def _evaluate(name: str, arguments: dict[str, Any], tell: Tell) -> dict[str, Any]:
    folder = Path(arguments["release"])
    schema = Schema.load(folder / "schema.json")
    tell("read")
    real, synthetic = tables.read(Path(arguments["table"]), schema), tables.read(folder / "synthetic.csv", schema)
    found = assess(real, synthetic, schema, Release.load(folder), True, tell)
    write_new({Path(arguments["out"]): internal_report(found)}, PRIVATE)
    return {}


_KINDS: dict[str, Callable[[str, dict[str, Any], Tell], dict[str, Any]]] = {
    "synthesize": _synthesize,
    "evaluate": _evaluate,
}


def _teller(folder: Path) -> Tell:
    def tell(stage: str) -> None:
        if (folder / "cancel").exists():
            raise StopError
        _tell(folder, {"stage": stage})

    return tell


def _tell(folder: Path, line: dict[str, Any]) -> None:
    with (folder / "run.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def _show_life(file: Path, ended: Event) -> None:
    while not ended.wait(1.0):
        file.touch()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
