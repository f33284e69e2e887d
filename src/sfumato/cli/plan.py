"""`sfumato plan`: what a budget will buy, before a cent is spent."""

from __future__ import annotations

from math import ceil
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from sfumato.cli.console import JsonOption, err, explained, out, print_json
from sfumato.files import check_new, write_new
from sfumato.planning.forecast import Range
from sfumato.planning.plan import Plan
from sfumato.planning.plan import plan as make_plan
from sfumato.planning.signal import signal_words
from sfumato.recipes import DEFAULT
from sfumato.report.page import html_name
from sfumato.report.plan_page import plan_page
from sfumato.report.svg import percent
from sfumato.schema.acceptance import observed_words

UNSUPPORTED = 3
"""The exit code for a budget that cannot support the schema."""

LINES = 20
"""The most tables that are shown."""


@explained
def plan(
    schema: Annotated[Path, typer.Argument(help="The public schema: JSON or YAML.")],
    rows_guess: Annotated[
        int | None, typer.Option(help="A public guess of the number of rows; by default that of the schema.")
    ] = None,
    epsilon: Annotated[str | None, typer.Option(help="The privacy budget, for example 1.")] = None,
    delta: Annotated[str | None, typer.Option(help="The probability that epsilon may fail, for example 1e-9.")] = None,
    method: Annotated[str, typer.Option(help="The method; `sfumato methods` lists them.")] = DEFAULT,
    views: Annotated[Path | None, typer.Option(help="A JSON file of views to measure, with weights.")] = None,
    want: Annotated[
        str | None, typer.Option(help="How exact a table should be: '±50 in age × sex'; epsilon follows.")
    ] = None,
    rows_per_person: Annotated[
        str | None, typer.Option(help="A public assumption, such as '1:70 2:20 8:10': rows, and persons who have them.")
    ] = None,
    out_file: Annotated[Path | None, typer.Option("--out", help="A new .html file, with a picture.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Say what a budget will buy, from public facts alone: noise, errors, time, memory, attack rate."""
    if out_file is not None:
        check_new(html_name(out_file))
    show = err.is_terminal and not as_json
    found = make_plan(
        schema,
        rows_guess=rows_guess,
        epsilon=epsilon,
        delta=delta,
        method=method,
        views=views,
        want=want,
        rows_per_person=rows_per_person,
        curve=out_file is not None,
        progress=err.print if show else lambda step: None,
    )
    if out_file is not None:
        write_new({out_file: plan_page(found)})
    if as_json:
        print_json(found.to_dict())
    else:
        _print(found)
        if out_file is not None:
            out.print(f"{out_file}: the same as a page, with errors and attack rate against epsilon")
    if not found.is_supported:
        raise typer.Exit(UNSUPPORTED)


def _print(plan: Plan) -> None:
    budget = f"epsilon = {plan.epsilon:g}" + (f", delta = {plan.delta:g}" if plan.delta else " (pure)")
    out.print(f"{plan.name} by {plan.method}: {budget}, about {plan.rows_guess:,} rows, protecting {plan.protects}")
    if plan.wish is not None:
        if plan.wish.epsilon is None:
            out.print(f"Wanted: {plan.wish.wish}: {plan.wish.basis}.")
        else:
            given = f"epsilon = {plan.wish.epsilon:g} gives ±{plan.wish.rows:,.0f} rows"
            out.print(f"Wanted: {plan.wish.wish}: {given}; {plan.wish.basis}.")
    out.print(
        f"Attack rate (proven): an attacker tells a row's presence at most {percent(plan.attack_rate)} of the time"
    )
    out.print(f"Errors (rehearsed): single columns {span(plan.one_way)}, pairs of columns {span(plan.pairs)}")
    if plan.signal is not None:
        out.print(f"Classifier of {plan.signal.label} (planted signals): {signal_words(plan.signal)}")
    low, high = plan.seconds
    out.print(
        f"This machine (rehearsed): {low:.1f} to {high:.1f} CPU seconds, {plan.memory / 1e6:,.0f} MB beside the "
        f"program, {plan.cells[0]:,.0f} to {plan.cells[1]:,.0f} noisy cells"
    )
    choices = Table("epsilon", title="Attack rate (proven) and noise (expected, without a rehearsal) by epsilon")
    for head in ("attack rate, at most", "wrong values in a column", "in a pair of columns"):
        choices.add_column(head, justify="right")
    for choice in plan.choices:
        pair = "" if choice.two_way is None else percent(choice.two_way)
        planned = " (planned)" if choice.epsilon == plan.epsilon else ""
        rate = f"{ceil(1000 * choice.attack_rate) / 10:.1f} %"  # a bound is rounded up
        choices.add_row(f"{choice.epsilon:g}{planned}", rate, percent(choice.one_way), pair)
    out.print(choices)
    columns = Table("column", title="Noise of single columns: ± rows in 95 of 100 cases")
    for head in ("values", "noise, ± rows", "smallest group", "error"):
        columns.add_column(head, justify="right")
    for one in plan.columns:
        noise = "not told" if one.noise is None else rows(one.noise)
        group = "" if one.smallest_group is None else f"{one.smallest_group:,.0f}"
        columns.add_row(one.column, f"{one.values}", noise, group, span(one.error))
    out.print(columns)
    joint = [one for one in plan.tables if len(one.columns) > 1]
    shown = sorted(joint, key=lambda one: (-one.rehearsals, one.noise[1]))[:LINES]
    if shown:
        tables = Table("table", title=f"Noise of tables: {len(shown)} of {len(joint)} that rehearsals measured")
        for head in ("cells", "noise, ± rows", "smallest group", "rehearsals"):
            tables.add_column(head, justify="right")
        for each in shown:
            measured = f"{each.rehearsals} of {len(plan.populations)}"
            names, group = " × ".join(each.columns), f"{each.smallest_group:,.0f}"
            tables.add_row(names, f"{each.cells[1]:,.0f}", rows(each.noise), group, measured)
        out.print(tables)
    out.print(
        "The smallest group is one whose count is known to ± 30 %. Noise follows from the budget and the tables that "
        f"are measured; errors are those of {len(plan.populations)} rehearsals on {plan.rehearsed_rows:,} made-up rows "
        f"({'; '.join(plan.populations)}). Track record: {plan.track_record}. Nothing was spent; no row was read."
    )
    _print_persons(plan)
    if plan.observed:
        out.print(f"The guarantee will not cover {observed_words(plan.observed)}: it was read from the data.")
    if plan.lost:
        err.print(f"This budget cannot support the schema. Columns at fault: {', '.join(plan.lost)}.")
        for number, way in enumerate(plan.ways_out, start=1):
            err.print(f"{number}. {way}")


def _print_persons(plan: Plan) -> None:
    if plan.persons:
        table = Table("counted", title="Persons with several rows, as assumed")
        for head in ("rows of a person", "rows cut", "noise of a cell", "error of a share"):
            table.add_column(head, justify="right")
        for one in plan.persons:
            table.add_row(one.count, f"{one.rows}", f"{one.cut:.1%}", f"±{one.noise:.2%}", f"{one.error:.2%}")
        out.print(table)
    if plan.persons_advice:
        out.print(f"{plan.persons_advice.rstrip('.')}.")


def span(error: Range) -> str:
    """A range of errors."""
    return f"{error[0]:.3f} to {error[1]:.3f}"


def rows(noise: Range) -> str:
    """A range of rows, or one number if it is one."""
    low, high = (f"{one:,.0f}" if one >= 10 else f"{one:,.1f}" for one in noise)
    return low if low == high else f"{low} to {high}"
