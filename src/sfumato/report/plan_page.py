"""A plan as a page: one picture, errors and attack rate against epsilon, and the figures in tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log

from sfumato.planning.forecast import Range
from sfumato.planning.plan import Plan, Point
from sfumato.planning.signal import signal_words
from sfumato.report.page import Stamp, figure, key, page, paragraph, section, single, table, tiles
from sfumato.report.svg import box, line, percent, picture, text

PLANNED = Stamp("publishable", "PLAN", "made from the schema and a guess of the rows: no row was read, nothing spent")

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 460.0, 300.0, 46.0, 46.0, 24.0, 40.0


def plan_page(plan: Plan) -> str:
    """The whole HTML file."""
    return page(PLANNED, f"Plan: {plan.name}", _body(plan))


def _body(plan: Plan) -> Iterator[str]:
    yield paragraph(
        f"What a release of {plan.name!r} by the method {plan.method} would be like, protecting {plan.protects}, for "
        f"a table of about {plan.rows_guess:,} rows. Each figure says what it rests on.",
        "lead",
    )
    if plan.lost:
        yield paragraph(f"This budget cannot support the schema. Columns at fault: {', '.join(plan.lost)}.", "warning")
        yield "<ol>" + "".join(paragraph(way).replace("<p", "<li").replace("</p>", "</li>") for way in plan.ways_out)
        yield "</ol>"
    yield tiles(
        [
            (f"{plan.epsilon:g}", "epsilon" + (f", with delta {plan.delta:g}" if plan.delta else ", pure")),
            (percent(plan.attack_rate), "attack rate at most (proven; a coin has 50 %)"),
            (_span(plan.one_way), "error of single columns (rehearsed)"),
            (_span(plan.pairs), "error of pairs of columns (rehearsed)"),
            (f"{plan.seconds[1]:.0f} s", "CPU time on this machine, at most (rehearsed)"),
            (f"{plan.memory / 1e6:,.0f} MB", "memory beside the program itself (rehearsed)"),
        ]
    )
    if plan.signal is not None:
        yield section(f"A classifier of {plan.signal.label}", f"This is conditional: {signal_words(plan.signal)}.")
    if plan.wish is not None:
        granted = "no epsilon" if plan.wish.epsilon is None else f"epsilon {plan.wish.epsilon:g}"
        yield section("What was wanted", f"{plan.wish.wish}: {granted}. {plan.wish.basis}.")
    if plan.curve:
        words = (
            "Error is the share of rows that would have to change for two tables to be equal, as rehearsed; the bands "
            "go from the kindest to the hardest assumed population. The attack rate is proven: nobody can tell more "
            "often whether a row is in the table. The dashed line is this plan."
        )
        colours = key((("real", "error of single columns"), ("synthetic", "error of pairs"), ("heat", "attack rate")))
        drawing = picture_of(plan.curve, plan.epsilon)
        yield section("Error and attack rate against epsilon", words, colours, single(figure("", "", drawing)))
    yield _columns(plan)
    yield _tables(plan)
    yield section(
        "What this rests on",
        f"Noise follows from the budget and from the tables that are measured. Errors, time and memory are those of "
        f"{len(plan.populations)} rehearsals of the real method on {plan.rehearsed_rows:,} made-up rows each: "
        f"{'; '.join(plan.populations)}. Track record: {plan.track_record}.",
    )
    yield f"<footer>{PLANNED.words}: {PLANNED.reason}. Written by sfumato plan.</footer>"


def picture_of(curve: Sequence[Point], planned: float) -> str:
    """Errors to the left axis, attack rate to the right one, epsilon across on a logarithmic scale."""
    low, high = log(curve[0].epsilon), log(curve[-1].epsilon)
    most = max(max(point.one_way[1], point.pairs[1]) for point in curve) * 1.05
    room, height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def x(epsilon: float) -> float:
        return LEFT + room * (log(epsilon) - low) / max(high - low, 1e-9)

    def y(error: float) -> float:
        return TOP + height * (1 - error / most)

    def rate(share: float) -> float:
        return TOP + height * (1 - (share - 0.5) / 0.5)

    parts = [line(LEFT, TOP + height, WIDTH - RIGHT, TOP + height, "axis")]
    for part in (0.0, 0.5, 1.0):
        level = TOP + height * (1 - part)
        parts += [
            line(LEFT, level, WIDTH - RIGHT, level, "grid"),
            text(LEFT - 4, level + 4, percent(most * part), "end", "quiet"),
            text(WIDTH - RIGHT + 4, level + 4, percent(0.5 + part / 2), "start", "quiet"),
        ]
    for name, ranges in (("synthetic", [p.pairs for p in curve]), ("real", [p.one_way for p in curve])):
        upper = [f"{x(p.epsilon):.1f} {y(one[1]):.1f}" for p, one in zip(curve, ranges, strict=True)]
        lower = [f"{x(p.epsilon):.1f} {y(one[0]):.1f}" for p, one in zip(curve, ranges, strict=True)]
        outline = "M" + "L".join([*upper, *reversed(lower)]) + "Z"
        parts.append(f'<path class="{name} band" d="{outline}"/>')
    rates = "M" + "L".join(f"{x(p.epsilon):.1f} {rate(p.attack_rate):.1f}" for p in curve)
    parts.append(f'<path d="{rates}" class="rate-line"/>')
    parts.append(line(x(planned), TOP, x(planned), TOP + height, "mark"))
    for point in curve:
        says = (
            f"epsilon {point.epsilon:g}: single columns {_span(point.one_way)}, pairs {_span(point.pairs)}, "
            f"attack rate {percent(point.attack_rate)}"
        )
        parts += [
            box(x(point.epsilon) - 12, TOP, 24, height, "target", says),
            text(x(point.epsilon), TOP + height + 16, f"{point.epsilon:g}", "middle", "quiet"),
        ]
    parts += [
        text(LEFT + room / 2, HEIGHT - 6, "epsilon", "middle"),
        text(LEFT - 40, 14, "error"),
        text(WIDTH - 4, 14, "attack rate", "end"),
    ]
    says = f"Error and attack rate against epsilon; this plan has epsilon {planned:g}"
    return picture(WIDTH, HEIGHT, parts, says)


def _span(error: Range) -> str:
    return f"{100 * error[0]:.1f} to {100 * error[1]:.1f}\u00a0%"


def _rows(noise: Range) -> str:
    low, high = (f"{one:,.0f}" if one >= 10 else f"{one:,.1f}" for one in noise)
    return f"± {low}" if low == high else f"± {low} to {high}"


def _columns(plan: Plan) -> str:
    rows = [
        (
            one.column,
            f"{one.values:,}",
            "not told" if one.noise is None else _rows(one.noise),
            "" if one.smallest_group is None else f"{one.smallest_group:,.0f}",
            _span(one.error),
        )
        for one in plan.columns
    ]
    words = (
        "How far noise moves the count of a value in 95 of 100 cases, in rows, and the smallest group whose count is "
        "known to ± 30 %. The error is rehearsed."
    )
    heads = ("column", "values", "noise in rows", "smallest group", "error")
    return section("Columns", words, table(heads, rows, frozenset({1, 2, 3, 4})))


def _tables(plan: Plan) -> str:
    rows = [
        (
            " × ".join(one.columns),
            f"{one.cells[1]:,.0f}",
            _rows(one.noise),
            f"{one.smallest_group:,.0f}",
            one.basis,
        )
        for one in plan.tables
        if len(one.columns) > 1
    ]
    words = "The tables over several columns that rehearsals measured."
    heads = ("table", "cells", "noise in rows", "smallest group", "what it rests on")
    return section("Tables", words, table(heads, rows, frozenset({1, 2, 3})))
