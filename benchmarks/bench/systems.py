"""The systems that can be run: our methods, two baselines, and rivals from a folder of adapters."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from bench.tasks import Files
from sfumato.errors import MethodError
from sfumato.job import check_budget
from sfumato.pipeline import Guarantee
from sfumato.privacy.budget import budget_of
from sfumato.recipes import RECIPES, recipe_named
from sfumato.recipes.privsyn import PRIVSYN

PROGRAM = Path(__file__).with_name("baselines.py")

TABLE, INSTALLED = "rivals.toml", "installed"
"""The file in a folder of adapters that lists them, and the one in an environment that says it is complete."""


@dataclass(frozen=True)
class Settings:
    """What one run is given; `delta` is empty for a system that promises a pure epsilon."""

    epsilon: str
    delta: str
    seed: int


class System(Protocol):
    """Something that turns training rows into synthetic ones, in a process of its own."""

    @property
    def takes_epsilon(self) -> bool:
        """Whether it has a privacy budget; one without is run once, and not once for each epsilon."""
        ...

    @property
    def in_codes(self) -> bool:
        """Whether it writes codes and not raw values."""
        ...

    @property
    def missing(self) -> str:
        """Why it cannot be run on this machine; empty if it can."""
        ...

    def delta_of(self, epsilon: str, delta: str) -> str:
        """The delta that it takes. Refuses a budget that it cannot spend."""
        ...

    def command(self, files: Files, settings: Settings, out: Path) -> list[str]:
        """What to run; the synthetic rows are in `file(out)` afterwards."""
        ...

    def file(self, out: Path) -> Path:
        """Where the synthetic rows are."""
        ...


@dataclass(frozen=True)
class Method:
    """One of our recipes, through the command line."""

    name: str
    takes_epsilon = True
    in_codes = False
    missing = ""

    def delta_of(self, epsilon: str, delta: str) -> str:
        """No delta for recipes that promise a pure epsilon."""
        delta = "" if recipe_named(self.name).guarantee is Guarantee.PURE else delta
        check_budget(recipe_named(self.name), budget_of(epsilon, delta or None))
        return delta

    def command(self, files: Files, settings: Settings, out: Path) -> list[str]:
        """`sfumato synthesize`."""
        command = [sys.executable, "-c", "from sfumato.cli import main; main()", "synthesize", str(files.rows)]
        command += ["--schema", str(files.schema), "--epsilon", settings.epsilon, "--method", self.name]
        command += ["--delta", settings.delta] if settings.delta else []
        return [*command, "--out", str(out), "--json"]

    def file(self, out: Path) -> Path:
        """The table in the release folder."""
        return out / "synthetic.csv"


@dataclass(frozen=True)
class Baseline:
    """A simple system to compare others with."""

    name: str
    takes_epsilon: bool
    in_codes = False
    missing = ""

    def delta_of(self, epsilon: str, delta: str) -> str:
        """The delta of Gaussian noise, if there is noise."""
        if not self.takes_epsilon:
            return ""
        check_budget(PRIVSYN, budget_of(epsilon, delta))
        return delta

    def command(self, files: Files, settings: Settings, out: Path) -> list[str]:
        """The program of baselines."""
        values = (settings.epsilon, settings.delta, str(settings.seed), str(self.file(out)))
        return [sys.executable, "-P", str(PROGRAM), self.name, str(files.rows), str(files.schema), *values]

    def file(self, out: Path) -> Path:
        """A file beside those of others."""
        return out.with_suffix(".csv")


@dataclass(frozen=True)
class Rival:
    """A system of others, through an adapter that runs in an environment of its own.

    Args:
        name: as `--methods` calls it.
        python: the interpreter of its environment.
        script: its adapter.
        variant: which of the adapter's systems.
    """

    name: str
    python: Path
    script: Path
    variant: str
    takes_epsilon = True
    in_codes = True

    @property
    def missing(self) -> str:
        """The complaint of the installer, or how to install it."""
        environment = self.python.parent.parent
        if (environment / INSTALLED).exists():
            return ""
        complaint = environment.with_name(f"{environment.name}.failed")
        if complaint.exists():
            return complaint.read_text(encoding="utf-8").strip()[:200]
        return f"install it with install.py {environment.name}"

    def delta_of(self, epsilon: str, delta: str) -> str:
        """The delta; an adapter of a system with a pure epsilon does not use it."""
        budget_of(epsilon, delta)
        return delta

    def command(self, files: Files, settings: Settings, out: Path) -> list[str]:
        """The adapter, with the arguments that all adapters take."""
        command = [str(self.python), str(self.script), self.variant, "--train", str(files.codes)]
        command += ["--domain", str(files.domain), "--epsilon", settings.epsilon, "--delta", settings.delta]
        return [*command, "--seed", str(settings.seed), "--out", str(self.file(out))]

    def file(self, out: Path) -> Path:
        """A file beside those of others."""
        return out.with_suffix(".csv")


BASELINES = {"independent": Baseline("independent", True), "resample": Baseline("resample", False)}

FRESH = "fresh"
"""What a perfect model with as many new rows would reach: two halves of the rows are compared, and nothing is run."""


def known_systems(rivals: Path | None) -> dict[str, System]:
    """All systems by name: our methods, the baselines, and the rivals of a folder."""
    ours: dict[str, System] = {name: Method(name) for name in RECIPES}
    return {**ours, **BASELINES, FRESH: Baseline(FRESH, False), **({} if rivals is None else rivals_in(rivals))}


def rivals_in(folder: Path) -> Mapping[str, Rival]:
    """The rivals that the table of a folder lists."""
    try:
        table: dict[str, Any] = tomllib.loads((folder / TABLE).read_text(encoding="utf-8"))
        environments = (folder / table["folder"]).resolve()
        return {
            name: Rival(
                name, environments / one["environment"] / "bin" / "python", folder / one["script"], one["variant"]
            )
            for name, one in table["rivals"].items()
        }
    except (OSError, KeyError, tomllib.TOMLDecodeError):
        raise MethodError(
            f"{str(folder)!r} has no readable {TABLE}; give the folder of adapters, for example benchmarks/rivals"
        ) from None


def systems_named(names: list[str], rivals: Path | None) -> dict[str, System]:
    """The systems of these names. Refuses one that is unknown or named twice."""
    known = known_systems(rivals)
    for name in names:
        if name not in known:
            hint = "" if rivals else "; rivals need --rivals FOLDER"
            raise MethodError(f"method {name!r} is unknown; known ones are {', '.join(known)}{hint}")
        if names.count(name) > 1:
            raise MethodError(f"method {name!r} is named twice; name it once")
    if not names:
        raise MethodError(f"no method is named; known ones are {', '.join(known)}")
    return {name: known[name] for name in names}
