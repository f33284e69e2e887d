"""The chart of an answer: a bar for each cell, and a line for its interval. Colours are classes of the style sheet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from sfumato.report.svg import box, line, picture, text

MOST_BARS = 40
WIDTH, LABEL, FIGURE, ROW = 760.0, 230.0, 90.0, 24.0
"""Of the whole, of the labels on the left, of the figures on the right, and the height of a bar with its gap."""


@dataclass(frozen=True)
class Bar:
    """One cell: its labels, the number, and the interval around it if there is one."""

    labels: tuple[str, ...]
    value: float
    low: float | None
    high: float | None


def chart(bars: Sequence[Bar], title: str, whole: bool) -> Markup:
    """Bars from 0, with the intervals of the noise as lines with ends."""
    shown = bars[:MOST_BARS]
    ends = [one for bar in shown for one in (bar.value, bar.low, bar.high) if one is not None]
    first, last = min(0.0, *ends), max(0.0, *ends)
    room = WIDTH - LABEL - FIGURE

    def place(value: float) -> float:
        return LABEL + room * (value - first) / ((last - first) or 1.0)

    parts = []
    for number, bar in enumerate(shown):
        middle = number * ROW + ROW / 2
        name = " · ".join(bar.labels)
        parts.append(text(LABEL - 8, middle + 4, name, "end", "label", 32))
        left, right = sorted((place(0.0), place(bar.value)))
        parts.append(box(left, middle - 7, right - left, 14, "bar", f"{name}: {figure(bar.value, whole)}"))
        if bar.low is not None and bar.high is not None:
            low, high = place(bar.low), place(bar.high)
            parts += [line(low, middle, high, middle, "interval")]
            parts += [line(end, middle - 5, end, middle + 5, "interval") for end in (low, high)]
        parts.append(text(WIDTH, middle + 4, figure(bar.value, whole), "end", "label"))
    parts.append(line(place(0.0), 0, place(0.0), len(shown) * ROW, "axis"))
    says = f"Bar chart: {title}. The table below has the same figures."
    return Markup(picture(WIDTH, len(shown) * ROW, parts, says, "chart"))  # noqa: S704 -- `text` and `box` escape


def figure(value: float, whole: bool) -> str:
    """A count without decimals, or a mean with four digits."""
    return f"{value:,.0f}" if whole or abs(value) >= 1000 else f"{value:,.4g}"
