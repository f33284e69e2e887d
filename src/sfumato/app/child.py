"""The process of one run: does what run.json says, and tells its progress in run.jsonl."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

from sfumato import tables
from sfumato.app.work import read_json
from sfumato.audit import audit
from sfumato.book import Book
from sfumato.book.book import Running
from sfumato.errors import SfumatoError
from sfumato.files import PRIVATE, write_new
from sfumato.fitting import run_job
from sfumato.job import Job, recipe_of, with_reason
from sfumato.planning.plan import plan
from sfumato.privacy.budget import budget_of
from sfumato.privacy.neighbours import Neighbours
from sfumato.release import Release
from sfumato.release.manifest import manifest_hash
from sfumato.report.assessment import assess
from sfumato.report.internal import internal_report
from sfumato.report.plan_page import plan_page
from sfumato.schema.schema import Schema
from sfumato.text import json_text

Tell = Callable[[str], None]


class StopError(Exception):
    """Somebody asked this run to stop."""


def main(folder: Path) -> None:
    """Run what the folder says, and always write an end."""
    ended = Event()
    Thread(target=_show_life, args=(folder / "alive", ended), daemon=True).start()
    try:
        keys = read_json(folder / "run.json")
        result = _KINDS[keys["kind"]](keys["name"], {**keys["arguments"], "folder": str(folder)}, _teller(folder))
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
    budget = budget_of(arguments["epsilon"], arguments["delta"] or None)
    schema = with_reason(Schema.load(arguments["schema"]), budget, arguments["reason"] or None)
    job = Job(schema, recipe_of(arguments["method"]), budget)
    with _paid(job, name, arguments) as payment:

        def progress(stage: str) -> None:
            tell(stage)
            if payment is not None:
                payment.progress(stage)

        release = run_job(job, Path(arguments["table"]), progress)
        tell("synthesize")
        release.save(arguments["out"], book=None if payment is None else payment.receipt)
        if payment is not None:
            payment.finish(manifest_hash(Path(arguments["out"])))
    return {"guarantee": release.ledger.sentence(), "rows": release.rows, "warnings": list(release.warnings)}


@contextmanager
def _paid(job: Job, title: str, arguments: dict[str, Any]) -> Iterator[Running | None]:
    """Pay for a run from the book, if a population of it was named: reserved before a row is read."""
    if not arguments["population"]:
        yield None
        return
    proposal = int(arguments["proposal"]) if arguments["proposal"] else None
    with closing(Book(Path(arguments["book"]))) as book:
        unit = Neighbours.of(job.schema)
        with book.paid(arguments["population"], title, job.opened, unit, job.recipe.name, proposal) as running:
            yield running


def _plan(name: str, arguments: dict[str, Any], tell: Tell) -> dict[str, Any]:
    found = plan(
        Path(arguments["schema"]),
        rows_guess=int(arguments["rows_guess"]),
        epsilon=arguments["epsilon"] or None,
        delta=arguments["delta"] or None,
        method=arguments["method"],
        want=arguments["want"] or None,
        curve=True,
        progress=tell,
    )
    write_new({Path(arguments["folder"]) / "plan.html": plan_page(found)}, PRIVATE)
    epsilon = found.epsilon if found.wish is None else found.wish.epsilon
    return {"draft": arguments["draft"], "epsilon": epsilon, "supported": found.is_supported}


def _evaluate(name: str, arguments: dict[str, Any], tell: Tell) -> dict[str, Any]:
    folder = Path(arguments["release"])
    schema = Schema.load(folder / "schema.json")
    tell("read")
    real, synthetic = tables.read(Path(arguments["table"]), schema), tables.read(folder / "synthetic.csv", schema)
    found = assess(real, synthetic, schema, Release.load(folder), True, tell)
    write_new({Path(arguments["out"]): internal_report(found)}, PRIVATE)
    return {}


def _audit(name: str, arguments: dict[str, Any], tell: Tell) -> dict[str, Any]:
    schema = Schema.load(arguments["schema"]) if arguments["schema"] else None
    report = audit(schema, arguments["method"] or None, arguments["level"], tell)
    write_new({Path(arguments["folder"]) / "audit.json": json_text(report.to_dict()) + "\n"}, PRIVATE)
    return {"passed": report.passed}


_KINDS: dict[str, Callable[[str, dict[str, Any], Tell], dict[str, Any]]] = {
    "synthesize": _synthesize,
    "evaluate": _evaluate,
    "plan": _plan,
    "audit": _audit,
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
