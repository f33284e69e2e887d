"""A plan: what a budget will buy, from the schema and a guess of the rows, before anything is spent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from sfumato.errors import BudgetError
from sfumato.intake.attributes import Attributes
from sfumato.job import Job, foreseen, recipe_of
from sfumato.learn.measure import Tables
from sfumato.learn.once import Once
from sfumato.learn.select.given_views import GivenView, GivenViews
from sfumato.outlook import outlook
from sfumato.pipeline import Recipe
from sfumato.planning.forecast import (
    ColumnForecast,
    Range,
    TableForecast,
    column_forecasts,
    range_of,
    table_forecasts,
    table_noise,
)
from sfumato.planning.persons import ASK, PersonsChoice, RowsAssumed, advice, persons_choices
from sfumato.planning.population import POPULATIONS
from sfumato.planning.rehearsal import TRACK_RECORD, Rehearsal, rehearse
from sfumato.planning.signal import SignalForecast, signal_forecast
from sfumato.planning.support import lost_columns, ways_out
from sfumato.planning.wish import Granted, Wish, solve
from sfumato.privacy.accountant import membership_advantage
from sfumato.privacy.budget import LARGEST, SMALLEST, ApproxDP, Budget, PureDP, budget_of
from sfumato.privacy.neighbours import Neighbours
from sfumato.recipes import DEFAULT
from sfumato.schema.schema import Schema

Progress = Callable[[str], None]

CURVE = (Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4))
"""The epsilons of the picture, beside the planned one."""

USUAL = tuple(Fraction(one) for one in ("0.1", "0.2", "0.5", "1", "2", "5", "10"))
"""The epsilons of the table."""

EXTREMES = (POPULATIONS[0], POPULATIONS[3])
"""The populations that are rehearsed where it has to be quick."""


@dataclass(frozen=True)
class Point:
    """One budget of the picture: errors as rehearsed, attack rate as proven."""

    epsilon: float
    one_way: Range
    pairs: Range
    attack_rate: float


@dataclass(frozen=True)
class Choice:
    """One budget of the table: attack rate as proven, errors as noise alone makes them, in no rehearsal.

    Args:
        epsilon: the budget.
        attack_rate: how often, at most, an attacker can tell whether a row is in the table.
        one_way: the mean share of rows that noise puts into wrong values of a column (`outlook`).
        two_way: that of the middle pair of columns; None for a single column.
    """

    epsilon: float
    attack_rate: float
    one_way: float
    two_way: float | None


@dataclass(frozen=True)
class Plan:
    """What a budget will buy. Every figure is public: none looks at a private row.

    Args:
        name: of the table.
        method: the method.
        rows_guess: the guess of the rows that all of it rests on.
        epsilon: the budget.
        delta: the probability that epsilon may fail; 0 for pure differential privacy.
        protects: whom it protects.
        attack_rate: how often, at most, an attacker can tell whether a row is in the table; a coin has 0.5. Proven.
        observed: columns whose domain was read from the data, which the guarantee does not cover.
        columns: noise and error of each column.
        tables: noise of each table that was measured in a rehearsal.
        cells: of all noisy tables together.
        one_way: the mean error of single columns (total variation), as rehearsed.
        pairs: that of pairs of columns.
        signal: what a classifier of the schema's label keeps of the signals in made-up rows; None without a label.
        seconds: CPU time on this machine, as rehearsed, from the table to as many synthetic rows.
        memory: the most bytes that a run takes, as rehearsed.
        rehearsed_rows: of each rehearsal; larger tables are rehearsed with fewer rows and the noise scaled to them.
        populations: what was rehearsed.
        track_record: how far rehearsals were from the truth on public tables.
        wish: what `want` asked for, and the epsilon that it takes.
        lost: columns that the budget cannot support.
        ways_out: what can be done about it.
        choices: usual budgets side by side, the planned one among them.
        curve: budgets around the planned one, for a picture; empty unless asked for.
        persons: ways to count persons with several rows, from a public assumption; empty without one.
        persons_advice: which of them the assumption speaks for, or what the plan would need to know; empty where the
            schema names no identifier.
    """

    name: str
    method: str
    rows_guess: int
    epsilon: float
    delta: float
    protects: str
    attack_rate: float
    observed: tuple[str, ...]
    columns: tuple[ColumnForecast, ...]
    tables: tuple[TableForecast, ...]
    cells: Range
    one_way: Range
    pairs: Range
    signal: SignalForecast | None
    seconds: Range
    memory: int
    rehearsed_rows: int
    populations: tuple[str, ...]
    track_record: str
    wish: Granted | None
    lost: tuple[str, ...]
    ways_out: tuple[str, ...]
    choices: tuple[Choice, ...] = ()
    curve: tuple[Point, ...] = ()
    persons: tuple[PersonsChoice, ...] = ()
    persons_advice: str = ""

    @property
    def is_supported(self) -> bool:
        """Whether the budget can support all columns of the schema."""
        return not self.lost

    def to_dict(self) -> dict[str, Any]:
        """This plan as JSON."""
        return {"supported": self.is_supported, **asdict(self)}


def plan(
    schema: Schema | Mapping[str, Any] | str | Path,
    *,
    rows_guess: int | None = None,
    epsilon: float | str | None = None,
    delta: float | str | None = None,
    method: str | Recipe = DEFAULT,
    views: str | Path | None = None,
    want: str | None = None,
    rows_per_person: str | None = None,
    curve: bool = False,
    progress: Progress = lambda step: None,
) -> Plan:
    """Say what a budget will buy, without a private row and without spending anything.

    Args:
        schema: the public schema, its keys, or the path of its file.
        rows_guess: a public guess of the number of rows; by default that of the schema.
        epsilon: the budget; may be left out if `want` is given.
        delta: the probability with which epsilon may fail; leave it out for pure differential privacy.
        method: the name of a recipe, or a recipe of your own.
        views: a JSON file of views to measure, as for `fit`.
        want: how exact some table should be, such as "±50 in age × sex"; the plan is then for the epsilon it takes.
        rows_per_person: a public assumption, such as "1:70 2:20 8:10" (numbers of rows, and how many persons have
            them), from which ways to count them are compared.
        curve: whether to rehearse other budgets too, for a picture.
        progress: called with a few words as each rehearsal starts.

    >>> sex = {"name": "sex", "type": "categorical", "categories": ["f", "m"]}
    >>> found = plan({"name": "t", "columns": [sex]}, rows_guess=500, epsilon=1, method="priview")
    >>> found.is_supported, round(found.attack_rate, 3)
    (True, 0.731)
    """
    schema = Schema.of(schema)
    rows = _rows(schema, rows_guess)
    if epsilon is None and want is None:
        raise BudgetError("neither epsilon nor want was given; say how much may be spent, or how exact a table must be")
    job = Job(foreseen(schema), recipe_of(method, views), budget_of("1" if epsilon is None else epsilon, delta))
    granted = None
    if want is not None:
        job, granted = _granted(job, rows, Wish.parse(want, schema, rows), progress)
    choices: tuple[PersonsChoice, ...] = ()
    if rows_per_person is not None:
        assumed = RowsAssumed.parse(rows_per_person)
        choices = persons_choices(schema, job.opened, rows, len(Attributes(schema).all), assumed)
    made = []
    for one in rehearse(job, rows):
        made.append(one)
        progress(f"rehearsed: {one.population.name}")
    columns = column_forecasts(made, rows)
    lost = lost_columns(columns)
    points = tuple(_curve(job, rows, made, progress)) if curve else ()
    scale = Fraction(rows, made[0].rows)
    numbers = job.opened.guarantee
    return Plan(
        name=schema.name,
        method=job.recipe.name,
        rows_guess=rows,
        epsilon=numbers["epsilon"],
        delta=numbers["delta"],
        protects=str(Neighbours.of(schema)),
        attack_rate=_attack_rate(job.opened),
        observed=schema.observed,
        columns=columns,
        tables=table_forecasts(made, rows),
        cells=range_of(float(sum(one.domain.cells() for one in each.release.model.measurements)) for each in made),
        one_way=range_of(each.one_way for each in made),
        pairs=range_of(each.pairs for each in made),
        signal=signal_forecast(schema.label, (each.signal for each in made)),
        seconds=range_of(each.seconds * float(scale) for each in made[1:] or made),
        memory=int((made[0].bytes or 0) * scale),
        rehearsed_rows=made[0].rows,
        populations=tuple(each.population.name for each in made),
        track_record=TRACK_RECORD,
        wish=granted,
        lost=lost,
        ways_out=ways_out(job, rows, columns, lost, POPULATIONS) if lost else (),
        choices=tuple(_choices(job, rows)),
        curve=points,
        persons=choices,
        persons_advice=advice(choices) if choices else ASK if schema.unit.column is not None else "",
    )


def _rows(schema: Schema, guess: int | None) -> int:
    rows = schema.rows_guess if guess is None else guess
    if rows is None:
        raise BudgetError("no guess of the number of rows was given; give rows_guess (--rows-guess), such as 30000")
    if not 1 <= rows <= 10**10:
        raise BudgetError(f"the guess of the number of rows is {rows}; give a number from 1 to 10,000,000,000")
    return rows


def _attack_rate(budget: Budget) -> float:
    numbers = budget.guarantee
    return (1 + membership_advantage(numbers["epsilon"], numbers["delta"])) / 2


def _choices(job: Job, rows: int) -> Iterator[Choice]:
    """Usual budgets and that of the job, in order."""
    if not isinstance(job.budget, PureDP | ApproxDP):
        return
    for epsilon in sorted({*USUAL, job.budget.epsilon}):
        changed = replace(job, budget=_of_epsilon(job.budget, epsilon))
        noise = outlook(changed, rows)
        numbers = changed.opened.guarantee
        yield Choice(numbers["epsilon"], _attack_rate(changed.opened), noise.one_way(rows), noise.two_way(rows))


def _of_epsilon(budget: PureDP | ApproxDP, epsilon: Fraction) -> PureDP | ApproxDP:
    return PureDP(epsilon) if isinstance(budget, PureDP) else ApproxDP(epsilon, budget.delta)


def _curve(job: Job, rows: int, made: Sequence[Rehearsal], progress: Progress) -> Iterator[Point]:
    """Budgets around that of the job, in order."""
    for factor in CURVE:
        budget = job.budget
        if not isinstance(budget, PureDP | ApproxDP) or not SMALLEST <= budget.epsilon * factor <= LARGEST:
            continue
        changed = replace(job, budget=_of_epsilon(budget, budget.epsilon * factor))
        numbers = changed.opened.guarantee
        runs = made if factor == 1 else list(rehearse(changed, rows, EXTREMES, measure_memory=False))
        progress(f"rehearsed: epsilon {numbers['epsilon']:g}")
        yield Point(
            numbers["epsilon"],
            range_of(one.one_way for one in runs),
            range_of(one.pairs for one in runs),
            _attack_rate(changed.opened),
        )


def _granted(job: Job, rows: int, wish: Wish, progress: Progress) -> tuple[Job, Granted]:
    """The job with the least epsilon that grants a wish; with the table as a given view where the method needs that."""

    def search(job: Job) -> tuple[Budget, float] | None:
        def noise(budget: Budget) -> float | None:
            progress(f"rehearsed for {wish}")
            runs = rehearse(replace(job, budget=budget), rows, EXTREMES, measure_memory=False)
            found = [table_noise(one, wish.columns, rows) for one in runs]
            return None if None in found else max(one for one in found if one is not None)

        return solve(wish.rows, job.budget, noise)

    recipe = job.recipe
    if recipe.takes_views and recipe.needs and len(wish.columns) > 1:
        # The method chooses tables by asking the rows: only a view that is given is sure to be measured.
        view = GivenViews((GivenView(Attributes(job.schema).needed(wish.columns)),))
        learn = replace(recipe.learn, select=view) if isinstance(recipe.learn, Once) else Once(view, Tables())
        job = replace(job, recipe=replace(recipe, learn=learn, needs=()))
        basis = (
            f"method {recipe.name} chooses tables by the rows, so this is for a run with --views that names these "
            "columns; the others get tables of their own"
        )
    elif recipe.needs and len(wish.columns) > 1:
        basis = "these columns were measured together in the rehearsals, but the rows decide whether they will be"
    else:
        basis = "budget and schema decide that these columns are measured together"
    found = search(job)
    if found is None:
        reason = (
            "no budget that is allowed makes it so, or the method does not measure these columns together; see --views"
        )
        return job, Granted(str(wish), None, None, reason)
    budget, noise = found
    job = replace(job, budget=budget)
    return job, Granted(str(wish), budget.guarantee["epsilon"], noise, basis)
