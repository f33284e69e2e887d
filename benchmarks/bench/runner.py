"""`bench`: every system at every epsilon, as often as asked, on every set."""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bench import results
from bench.process import check_system, run_limited
from bench.results import Key, Result
from bench.systems import FRESH, Settings, System, systems_named
from bench.tasks import Task, check_classifiers
from sfumato.errors import DataError, MethodError, SfumatoError

RESULTS = "results.jsonl"


@dataclass(frozen=True)
class Plan:
    """What to run.

    Args:
        data: the folder of data sets.
        sets: their names.
        methods: names of systems.
        epsilons: budgets, as text.
        delta: for the systems that take one.
        repeats: runs of each, which differ in their noise.
        time_limit: CPU seconds for a run.
        rivals: a folder of adapters, or None.
    """

    data: Path
    sets: tuple[str, ...]
    methods: tuple[str, ...]
    epsilons: tuple[str, ...]
    delta: str
    repeats: int
    time_limit: float
    rivals: Path | None = None

    def check(self, out: Path) -> Mapping[str, System]:
        """The systems of the plan. Refuses whatever cannot be run, before anything is."""
        check_system()
        systems = systems_named(list(self.methods), self.rivals)
        for name in self.sets:
            check_classifiers(self.data, name)
        if not self.epsilons or not self.sets:
            raise MethodError("no epsilon or no set is named; name one at least")
        for system in systems.values():
            for epsilon in self.epsilons:
                system.delta_of(epsilon, self.delta)
        if self.repeats < 1:
            raise MethodError(f"{self.repeats} repeats were asked for; give 1 or more")
        if not (self.time_limit > 0 and math.isfinite(self.time_limit)):
            raise MethodError(f"the time limit is {self.time_limit:g} seconds; give more than 0")
        if out.exists() and not out.is_dir():
            raise DataError(f"{str(out)!r} is a file; give the name of a folder")
        return systems

    def keys(self, name: str, systems: Mapping[str, System]) -> Iterator[Key]:
        """The runs on one set: repeat by repeat, so an unfinished bench has something of everything."""
        for repeat in range(self.repeats):
            for method, system in systems.items():
                for epsilon in self.epsilons if system.takes_epsilon else ("",):
                    delta = system.delta_of(epsilon, self.delta)
                    yield Key(name, method, epsilon, delta, repeat)


def bench(plan: Plan, out: Path, show: Callable[[Result], None] = lambda result: None) -> list[Result]:
    """Run what is missing in the results file of the folder `out`; return all results of the plan, in its order.

    A run that failed or reached its limit is a result and is not tried again; one that was not installed is.
    """
    systems = plan.check(out)
    out.mkdir(parents=True, exist_ok=True)
    file = out / RESULTS
    found = results.load(file)
    wanted = []
    with tempfile.TemporaryDirectory() as scratch:
        for name in plan.sets:
            keys = list(plan.keys(name, systems))
            wanted += keys
            left = [key for key in keys if not _settled(found.get(key), systems[key.method])]
            if not left:
                continue
            task = Task.load(plan.data, name, Path(scratch))
            for key in left:
                found[key] = run_one(task, systems[key.method], key, plan.time_limit, Path(scratch))
                results.append(file, found[key])
                show(found[key])
    return [found[key] for key in wanted]


def run_one(task: Task, system: System, key: Key, limit: float, scratch: Path) -> Result:
    """One run and its scores; whatever goes wrong in it is part of the result."""
    if system.missing:
        return Result(key, "not installed", system.missing, {})
    if key.method == FRESH:
        return Result(key, "done", "", task.fresh(key.repeat))
    out = scratch / "release"
    command = system.command(task.files, Settings(key.epsilon, key.delta, key.repeat), out)
    outcome = run_limited(command, limit, scratch / "log.txt")
    costs = {"cpu_seconds": outcome.cpu_seconds, "peak_gigabytes": outcome.peak_gigabytes}
    if outcome.status != "done":
        _remove(out, system.file(out))
        return Result(key, outcome.status, outcome.message, costs)
    try:
        made = task.codes_in(system.file(out)) if system.in_codes else task.rows_in(system.file(out))
        return Result(key, "done", "", costs | task.measure(made, key.repeat))
    except SfumatoError as problem:
        return Result(key, "failed", str(problem), costs)
    finally:
        _remove(out, system.file(out))


def _settled(result: Result | None, system: System) -> bool:
    """Whether there is nothing to run: what could not be installed is tried again once it is there."""
    return result is not None and (result.status != "not installed" or result.message == system.missing)


def _remove(folder: Path, file: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    file.unlink(missing_ok=True)
