"""The charts of both reports: text functions from figures to inline SVG, a phone's width each."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from sfumato.report.svg import Scale, box, line, linear, percent, picture, root, text

WIDTH = 340.0
"""Of a chart, in units that are pixels on a phone: text keeps its size there."""

BARS = 14
"""Columns with more groups than this are drawn as areas."""

FIGURED = 23
"""A heat map of more columns has no room for figures in its cells."""

LABEL = 116.0
"""Room for the labels of horizontal bars."""


def histogram(labels: Sequence[str], real: Sequence[float], synthetic: Sequence[float], says: str) -> str:
    """Shares of each value: pairs of horizontal bars if there are few, a filled area and a line if there are many."""
    if len(labels) > BARS:
        return _areas(labels, real, synthetic, says)
    largest = max(*real, *synthetic, 1e-9)
    room = WIDTH - LABEL - 46
    parts = []
    for row, (label, a, b) in enumerate(zip(labels, real, synthetic, strict=True)):
        y = 4 + 24 * row
        title = f"{label}: real {percent(a)}, synthetic {percent(b)}"
        parts += [
            text(LABEL - 6, y + 13, label, "end", most=16),
            box(LABEL, y, room * a / largest, 9, "real", title),
            box(LABEL, y + 9, room * b / largest, 9, "synthetic", title),
            text(LABEL + room * max(a, b) / largest + 4, y + 13, percent(b), kind="quiet"),
        ]
    return picture(WIDTH, 4 + 24 * len(labels), parts, says)


def _areas(labels: Sequence[str], real: Sequence[float], synthetic: Sequence[float], says: str) -> str:
    left, top, height = 40.0, 6.0, 120.0
    room = WIDTH - left - 6
    largest = max(*real, *synthetic, 1e-9)
    # One value that dwarfs all others would leave a flat line.
    scale = root if largest > 12 * sorted(real)[len(real) // 2 :][0] + 0.3 else linear
    step = room / len(labels)

    def y(share: float) -> float:
        return top + height * (1 - scale(share / largest))

    def outline(shares: Sequence[float]) -> str:
        return "".join(
            f"L{left + i * step:.1f} {y(s):.1f}L{left + (i + 1) * step:.1f} {y(s):.1f}" for i, s in enumerate(shares)
        )

    ground = top + height
    parts = _grid(largest, left, y)
    parts += [
        f'<path class="real" d="M{left:.1f} {ground}{outline(real)}L{left + room:.1f} {ground}Z"/>',
        f'<path class="synthetic-line" d="M{left:.1f} {ground}{outline(synthetic)}L{left + room:.1f} {ground}"/>',
        line(left, ground, left + room, ground, "axis"),
    ]
    parts += [
        box(left + i * step, top, step, height, "target", f"{label}: real {percent(a)}, synthetic {percent(b)}")
        for i, (label, a, b) in enumerate(zip(labels, real, synthetic, strict=True))
    ]
    middle = len(labels) // 2
    first, half, last = _end(labels[0], 0), _end(labels[middle], 0), _end(labels[-1], 1)
    parts += [text(left, ground + 14, first, most=22), text(left + room, ground + 14, last, "end", most=22)]
    if max(len(first), len(last)) + len(half) / 2 < 18:  # else they would touch
        parts.append(text(left + (middle + 0.5) * step, ground + 14, half, "middle"))
    if scale is root:  # said where the picture is lower
        third = len(labels) // 3
        on_the_right = max(real[-third or -1 :]) < max(real[: third or 1])
        place, anchor = (left + room, "end") if on_the_right else (left + 3, "start")
        parts.append(text(place, top + 8, "square-root scale", anchor, "quiet"))
    return picture(WIDTH, ground + 20, parts, says)


_INTERVAL = re.compile(r"[\[(](\S+), (\S+)[\])]|(\S+) [–…] (\S+)|(\S+) \.\.\. (\S+)")


def _end(label: str, which: int) -> str:
    """The lower or upper end of an interval; a label that is none stays as it is."""
    found = _INTERVAL.fullmatch(label)
    return label if found is None else [part for part in found.groups() if part is not None][which]


def _grid(largest: float, left: float, y: Scale) -> list[str]:
    parts = []
    for part in (0.5, 1.0):
        share = largest * part
        parts += [
            line(left, y(share), WIDTH - 6, y(share), "grid"),
            text(left - 4, y(share) + 5, percent(share), "end", "quiet"),
        ]
    return parts


def heat_map(
    names: Sequence[str],
    errors: Sequence[Sequence[float]],
    says: str,
    link: Callable[[str, str], str | None] = lambda one, two: None,
) -> str:
    """A square for each pair of columns, stronger where the error is larger; the diagonal has the single columns.

    `link` gives the name of the picture on the same page that a square leads to, if there is one.
    """
    cell = max(16.0, min(34.0, 560 / len(names)))
    left, top = 14 + 6.6 * min(20, max(map(len, names))), 96.0
    largest = max(max(row) for row in errors) or 1.0
    parts = [box(left, top, cell * len(names), cell * len(names), "cell")]
    for i, (one, row) in enumerate(zip(names, errors, strict=True)):
        y = top + i * cell
        parts.append(text(left - 6, y + cell / 2 + 4, one, "end", most=20))
        x = left + (i + 0.5) * cell
        parts.append(f'<g transform="translate({x + 4:.1f} {top - 6}) rotate(-50)">{text(0, 0, one, most=16)}</g>')
        for j, (two, error) in enumerate(zip(names, row, strict=True)):
            title = f"{one}: {error:.4f}" if i == j else f"{one} × {two}: {error:.4f}"
            strength = error / largest
            square = box(left + j * cell, y, cell - 1, cell - 1, "heat", title, strength)
            target = link(one, two)
            parts.append(square if target is None else f'<a href="#{target}">{square}</a>')
            if len(names) <= FIGURED:
                kind = "in-cell strong" if strength > 0.55 else "in-cell"
                parts.append(
                    text(left + (j + 0.5) * cell - 0.5, y + cell / 2 + 4, f"{100 * error:.0f}", "middle", kind)
                )
    side = cell * len(names)
    return picture(left + side + 66, top + side + 4, parts, says, "wide", grows=False)


def table_map(
    rows: Sequence[str], columns: Sequence[str], shares: Sequence[Sequence[float]], largest: float, says: str
) -> str:
    """The shares of a table of two columns, on a square-root scale; a difference has two colours, by its sign."""
    left, top, width = 88.0, 4.0, 300.0
    wide, high = (width - left - 4) / len(columns), max(5.0, min(18.0, 180 / len(rows)))
    parts = [box(left, top, width - left - 4, high * len(rows), "cell")]
    for i, (row, label) in enumerate(zip(shares, rows, strict=True)):
        for j, (share, other) in enumerate(zip(row, columns, strict=True)):
            place = (left + j * wide, top + i * high, wide - 0.6, high - 0.6)
            kind = "heat" if share >= 0 else "less"
            if round(root(abs(share) / largest), 2) > 0:
                parts.append(box(*place, kind, f"{label}, {other}: {percent(share)}", root(abs(share) / largest)))
    bottom = top + high * len(rows)
    parts += _ends_down(rows, left - 5, top, high)
    parts += [
        text(left, bottom + 13, columns[0], most=17),
        text(width - 4, bottom + 13, columns[-1] if len(columns) > 1 else "", "end", most=17),
    ]
    return picture(width, bottom + 19, parts, says)


def _ends_down(labels: Sequence[str], x: float, top: float, high: float) -> list[str]:
    """All labels if there is room, else the first and the last."""
    if high >= 12:
        return [text(x, top + (i + 0.5) * high + 4, label, "end", most=12) for i, label in enumerate(labels)]
    return [
        text(x, top + 9, labels[0], "end", most=12),
        text(x, top + high * len(labels) - 1, labels[-1], "end", most=12),
    ]


def paired_bars(
    labels: Sequence[str], real: Sequence[float], synthetic: Sequence[float], mark: float, mark_name: str, says: str
) -> str:
    """Two bars from 0 to 1 for each label, and one line across all of them."""
    left = 148.0
    room = WIDTH - left - 8
    parts = []
    for row, (label, a, b) in enumerate(zip(labels, real, synthetic, strict=True)):
        y = 20 + 30 * row
        title = f"{label}: trained on real rows {a:.3f}, on synthetic rows {b:.3f}"
        parts += [
            text(left - 6, y + 16, label, "end", most=22),
            box(left, y, room * a, 12, "real", title),
            box(left, y + 12, room * b, 12, "synthetic", title),
            text(left + 4, y + 10, f"{a:.3f}", kind="on-real"),
            text(left + 4, y + 22, f"{b:.3f}", kind="on-synthetic"),
        ]
    bottom = 20 + 30 * len(labels)
    parts += [
        line(left + room * mark, 16, left + room * mark, bottom - 4, "mark"),
        text(left + room * min(max(mark, 0.2), 0.8), 11, f"{mark_name} {mark:.3f}", "middle"),
    ]
    return picture(WIDTH, bottom, parts, says)


def scatter(points: Sequence[tuple[float, float]], says: str) -> str:
    """Shares of real rows across, of synthetic rows up, both on square-root scales; a perfect answer is on the line."""
    left, top, side = 44.0, 8.0, 284.0

    def x(share: float) -> float:
        return left + side * root(share)

    def y(share: float) -> float:
        return top + side * (1 - root(share))

    parts = [line(x(0), y(0), x(1), y(1), "mark")]
    for tick in (0.0, 0.01, 0.05, 0.2, 0.5, 1.0):
        parts += [
            line(x(tick), y(0), x(tick), y(1), "grid"),
            line(x(0), y(tick), x(1), y(tick), "grid"),
            text(x(tick), y(0) + 14, f"{100 * tick:.0f} %", "end" if tick == 1 else "middle", "quiet"),
            text(left - 4, y(tick) + 4, f"{100 * tick:.0f} %", "end", "quiet"),
        ]
    parts += [f'<circle cx="{x(a):.1f}" cy="{y(b):.1f}" r="2.6" class="dot"/>' for a, b in points]
    parts.append(text(left + side / 2, top + side + 30, "share of real rows → (up: of synthetic rows)", "middle"))
    return picture(WIDTH, top + side + 36, parts, says)


def ranked_bars(labels: Sequence[str], values: Sequence[float], words: Sequence[str], kind: str, says: str) -> str:
    """One horizontal bar for each label, with its figure in words at the end; long labels stand above their bars."""
    largest = max(values, default=0.0) or 1.0
    above = max(map(len, labels), default=0) > 19
    left, height = (6.0, 34) if above else (132.0, 20)
    room = WIDTH - left - 62
    parts = []
    for row, (label, value, word) in enumerate(zip(labels, values, words, strict=True)):
        y, width = 2 + height * row + (14 if above else 0), max(room * value / largest, 1)
        parts += [
            text(left, y - 4, label, most=50) if above else text(left - 6, y + 12, label, "end"),
            box(left, y, width, 15, kind, f"{label}: {word}"),
            text(left + width + 4, y + 12, word, kind="quiet"),
        ]
    return picture(WIDTH, 4 + height * len(labels), parts, says)


def spending(stages: Sequence[tuple[str, Sequence[tuple[str, float]]]], total: float, unit: str, says: str) -> str:
    """The budget as one bar, and below it a bar for each stage, in its place, cut into its questions."""
    left, parts = 6.0, []
    room = WIDTH - 2 * left
    start, y = 0.0, 36.0
    parts += [box(left, 18, room, 12, "cell"), text(left, 12, f"the whole budget: {total:.4g} {unit}")]
    for number, (stage, events) in enumerate(stages):
        kind, cost = f"stage{number % 4}", sum(part for _, part in events)
        parts.append(box(left + room * start / total, 18, room * cost / total, 12, kind, f"{stage}: {cost:.4g} {unit}"))
        parts.append(text(left, y + 12, f"{stage}: {percent(cost / total)} of it in {_questions(len(events))}"))
        edges = [start]
        for _, part in events:
            edges.append(edges[-1] + part)
        for (low, high), (question, part) in zip(pairwise(edges), events, strict=True):
            x, width = left + room * low / total, room * (high - low) / total
            title = f"{question}: {part:.4g} {unit} ({percent(part / total)})"
            parts.append(box(x, y + 17, max(width - 0.7, 0.4), 16, kind, title))
        start, y = edges[-1], y + 42
    return picture(WIDTH, y, parts, says)


def _questions(count: int) -> str:
    return "1 question" if count == 1 else f"{count} questions"
