"""`audit`: all checks of a build, for one schema and method or for all of them."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfumato.audit.canary import Game, play
from sfumato.audit.encoding import encoding_problems
from sfumato.audit.noise import kernel_problems, law_problems, noise_problems
from sfumato.audit.replay import Replayed, replay
from sfumato.audit.rows import made_up
from sfumato.audit.shares import HONEST, share_problems
from sfumato.audit.studies import study_problems
from sfumato.errors import MethodError, SfumatoError
from sfumato.fitting import run_job
from sfumato.job import Job, foreseen, recipe_of
from sfumato.pipeline import Guarantee, Progress
from sfumato.privacy.budget import ApproxDP, Budget, PureDP, SkellamDP
from sfumato.privacy.entropy import SystemEntropy
from sfumato.privacy.events import Noisy
from sfumato.privacy.mechanisms import Noise
from sfumato.privacy.neighbours import Neighbours
from sfumato.recipes import DEFAULT, RECIPES
from sfumato.release.versions import versions
from sfumato.schema.acceptance import observed_words
from sfumato.schema.schema import Schema
from sfumato.survey import survey_schema_text
from sfumato.verify.findings import Finding, Result, found
from sfumato.verify.verify import verify

PERSONS = Schema.parse(
    {
        "name": "persons",
        "unit": {"column": "person", "rows": 2},
        "on_bad_value": "missing",
        "columns": [
            {"name": "town", "type": "categorical", "categories": ["a", "b", "c"], "nullable": True},
            {"name": "age", "type": "integer", "min": 0, "max": 99, "bins": 5, "nullable": True},
            {"name": "ill", "type": "boolean", "nullable": True},
        ],
    }
)
"""A small table of persons with several rows, which every method can run on in no time."""

REPLACED = Schema.parse({**PERSONS.to_dict(), "name": "replaced", "neighbours": "replace-one", "unit": {"rows": 1}})

COUNTED = Schema.parse(
    {
        **PERSONS.to_dict(),
        "name": "counted",
        "unit": {"column": "person", "rows": 3, "count": "persons"},
        "rules": [{"if": {"age": {"max": 17}}, "then": {"ill": [False, None]}}],
    }
)
"""Persons in parts, and a rule, which made-up rows break as real ones may."""

GAMES = 1000
"""The runs of a canary game."""

WIDTHS = 8
"""The most noises of a ledger that are tried."""

LIMITS = (
    "a pass is no proof: it shows that this build, on this machine, has none of the faults that these checks can see",
    "a canary game of this many runs can't see a violation of a few percent",
    "that the operating system's entropy is good, which everything rests on",
)


@dataclass(frozen=True)
class Report:
    """What an audit found, and what a person has to confirm because no program can."""

    schema: str
    method: str
    level: str
    findings: tuple[Finding, ...]
    to_confirm: tuple[str, ...]
    game: Game | None = None
    versions: dict[str, str] = field(default_factory=versions)

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return all(one.result is not Result.FAILED for one in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """This report as JSON."""
        return {
            "passed": self.passed,
            "schema": self.schema,
            "method": self.method,
            "level": self.level,
            "versions": self.versions,
            "checks": [one.to_dict() for one in self.findings],
            "to_confirm": list(self.to_confirm),
            "cannot_be_shown": list(LIMITS),
        }


def audit(
    schema: Schema | None = None,
    method: str | None = None,
    level: str = "quick",
    progress: Progress = lambda stage: None,
) -> Report:
    """Audit the build that is installed here; no private rows are needed or read.

    Args:
        schema: the steward's own; by default that of the built-in survey.
        method: the steward's own; by default all on small tables, and the default one on the schema.
        level: quick, or full: more draws of noise, all pairs of neighbours, and the canary game.
        progress: called with the name of each check as it starts.
    """
    if level not in ("quick", "full"):
        raise MethodError(f"level {level!r} is unknown; known levels are quick and full")
    # Rows are made up here, so nobody has to accept an observed domain first; whether it is public is asked at the end.
    public = Schema.parse(json.loads(survey_schema_text())) if schema is None else foreseen(schema)
    methods = list(RECIPES) if method is None else [recipe_of(method).name]
    full = level == "full"
    progress("encoding")
    findings = [_encoding(public), _encoding(PERSONS)]
    progress("replay")
    findings += [_replay(one, methods, few=not full)[0] for one in (PERSONS, REPLACED, COUNTED)]
    replayed, noises = _replay(public, [method or DEFAULT], few=not full)
    progress("noise")
    draws = 1_000_000 if full else 20_000
    findings += [replayed, _noise(Neighbours.of(public), noises, draws)]
    progress("parties")
    findings.append(_parties(draws))
    progress("release")
    findings.append(_release(public, method or DEFAULT))
    game = None
    if full:
        progress("canary")
        game = play(_job(PERSONS, method or DEFAULT, canary=True), GAMES)
        findings.append(_judged(game))
    return Report(public.name, method or DEFAULT, level, tuple(findings), to_confirm(public), game)


def to_confirm(schema: Schema) -> tuple[str, ...]:
    """What is assumed to be public or true, and only the steward knows."""
    found = [f"{observed_words([name])} was read from the data: confirm that it is public" for name in schema.observed]
    if schema.rows_guess is not None:
        found.append(f"the guess of {schema.rows_guess:,} rows is published with the schema: confirm that it is public")
    if schema.unit.column is None:
        found.append("no column tells persons apart: confirm that nobody has more rows than 'unit.rows' says")
    if schema.may_refuse:
        found.append("a bad value stops a run, which tells that there is one: confirm, or set on_bad_value")
    found.append("earlier releases of the same persons add up: confirm that a book has all of them")
    return tuple(found)


def _encoding(schema: Schema) -> Finding:
    problems, tried = encoding_problems(schema)
    return found(f"encoding ({schema.name})", problems, f"{tried} further rows moved the code of no other row")


def _replay(schema: Schema, methods: list[str], few: bool) -> tuple[Finding, list[Noise]]:
    """What came of the pairs, and the noises that the ledgers name."""
    done: list[Replayed] = []
    problems: list[str] = []
    for name in methods:
        try:
            done.append(replay(_job(schema, name), few))
        except SfumatoError as problem:
            problems.append(f"{name} cannot run: {problem}")
    problems += [one for run in done for one in run.problems]
    most = max((one.reached for one in done), default=0.0)
    if not problems and most < 1:
        problems.append(
            f"no pair of neighbours reached what is charged for (only {most:.3g} of it): the test is too weak"
        )
    count = sum(one.pairs for one in done)
    right = (
        f"{count} pairs of neighbours, {len(methods)} methods: same questions, payments and models; at most {most:.3g}"
    )
    events = [event for one in done for _, event in one.statement.entries]
    noises = list(dict.fromkeys(event.noise for event in events if isinstance(event, Noisy)))
    return found(f"replay ({schema.name})", problems, f"{right} of what is charged for"), noises


def _noise(neighbours: Neighbours, noises: list[Noise], draws: int) -> Finding:
    """Noise through a holder of no rows, and the narrowest and widest noises that the steward's ledger names."""
    budgets = (PureDP("1"), ApproxDP("1", "1e-9"), SkellamDP("1", "1e-6"))
    problems = [one for budget in budgets for one in noise_problems(budget, neighbours, draws)] + kernel_problems()
    ordered = sorted(noises, key=lambda one: one.width)
    chosen = list(dict.fromkeys([*ordered[: WIDTHS // 2], *ordered[-WIDTHS // 2 :]]))
    for one in chosen:
        drawn = one.draw(draws, SystemEntropy())
        problems += [f"{one.kind} noise of width {float(one.width):.4g}: {text}" for text in law_problems(drawn, one)]
    right = f"{draws:,} draws of each of {6 + len(chosen)} noises follow their exact law; both kernels count the same"
    return found("noise", problems, right)


def _parties(draws: int) -> Finding:
    """One party of many, whose answers leave with a share of the noise and a mask."""
    problems, tried = [], 0
    for schema in (PERSONS, REPLACED):
        found_here, pairs = share_problems(schema, draws)
        problems += found_here
        tried += pairs
    whole, studies = study_problems(PERSONS)
    right = f"{tried} pairs of neighbours: a party's answers move by its rows alone; {HONEST} shares make the noise"
    right += f" that is charged ({draws:,} draws), under their masks; {studies} pairs in whole studies of 3 parties"
    return found("parties", [*problems, *whole], f"{right}: same questions, payments and models")


def _release(schema: Schema, method: str) -> Finding:
    try:
        release = run_job(_job(schema, method), made_up(schema, 200, seed=5))
        with tempfile.TemporaryDirectory() as scratch:
            verdict = verify(release.save(Path(scratch) / "release"))
    except SfumatoError as problem:
        return found("release", [str(problem)], "")
    problems = [f"{one.check}: {one.detail}" for one in verdict.findings if one.result is Result.FAILED]
    return found("release", problems, "a release of made-up rows is what it says (sfumato verify)")


def _judged(game: Game) -> Finding:
    claim = f"epsilon {game.epsilon:g}" + (f", delta {game.delta:g}" if game.delta else "")
    shown = f"epsilon is at least {game.bound:.2f} (95 %), claimed: {claim}"
    problems = [f"{shown}: violated"] if game.sure_bound > game.epsilon else []
    played = f"{game.runs:,} runs, {game.wrong:,} guessed wrong (a coin: {game.runs // 2:,})"
    return found("canary", problems, f"{played}: {shown}")


def _job(schema: Schema, method: str, canary: bool = False) -> Job:
    recipe = recipe_of(method)
    budget: Budget = ApproxDP("2", "1e-3") if canary else ApproxDP("1", "1e-6")
    if recipe.guarantee is Guarantee.PURE:
        budget = PureDP("1")
    return Job(schema, recipe, budget)
