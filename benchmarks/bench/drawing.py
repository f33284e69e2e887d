"""Error against epsilon, with bands: drawings that stand alone, and a page with all of them and the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from bench.summary import ERRORS, HEADS, Line, cells
from sfumato.report.page import INTERNAL, figure, gallery, page, section, table
from sfumato.report.svg import line as rule
from sfumato.report.svg import picture, text
from sfumato.text import html_line

FIGURES = {
    "1-way": "total variation of one-way tables",
    "2-way": "total variation of two-way tables",
    "3-way": "total variation of three-way tables",
    "range": "error of range queries over three columns",
    "accuracy": "accuracy of classifiers on real rows",
}
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56a0d3", "#8c6bb1", "#7f7f7f")
DASHES = ("", "6 3", "2 3")
WIDTH, HEIGHT, LEFT, TOP, ENTRY = 420.0, 250.0, 46.0, 8.0, 15.0

STYLE = """<style>
text { font: 11px system-ui, sans-serif; fill: #1b1f24; } .quiet { fill: #57606a; }
.axis { stroke: #1b1f24; } .grid { stroke: #d0d7de; stroke-width: .7; }
@media (prefers-color-scheme: dark) {
 text { fill: #e6e9ed; } .quiet { fill: #a2abb5; } .axis { stroke: #e6e9ed; } .grid { stroke: #3a424b; }
}
</style>"""


@dataclass(frozen=True)
class Scale:
    """From values to places on an axis, by powers of ten or by equal steps."""

    low: float
    high: float
    powers: bool
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """The place of a value."""
        turn: Callable[[float], float] = log10 if self.powers else float
        low, high = turn(self.low), turn(self.high)
        part = (turn(max(value, self.low)) - low) / (high - low) if high > low else 0.5
        return self.start + part * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Round values inside the scale."""
        if self.powers:
            exponents = range(floor(log10(self.low)), ceil(log10(self.high)) + 1)
            found = [digit * 10.0**power for power in exponents for digit in (1, 2, 5)]
        else:
            found = [step / 20 for step in range(floor(20 * self.low), ceil(20 * self.high) + 1)]
        return [tick for tick in found if self.low <= tick <= self.high]


def chart(table: Sequence[Line], figure: str) -> str:
    """One figure of all systems on one set, as inline SVG; empty if nothing has it. Colours are those of the table."""
    drawn = [line for line in table if line.values(figure)]
    if not any(line.epsilon for line in drawn):
        return ""
    looks = {method: _look(place) for place, method in enumerate(dict.fromkeys(line.method for line in table))}
    methods = [method for method in looks if any(line.method == method for line in drawn)]
    epsilons = sorted({float(line.epsilon) for line in drawn if line.epsilon})
    values = [value for line in drawn for value in line.values(figure)]
    x = Scale(epsilons[0], epsilons[-1], True, LEFT + 14, WIDTH - 14)
    bottom = TOP + HEIGHT - 24
    if figure not in ERRORS:  # an accuracy, of one classifier or of all
        y = Scale(floor(20 * min(values)) / 20, ceil(20 * max(values)) / 20, False, bottom, TOP)
    else:
        y = Scale(max(min(values), 1e-5) / 1.2, max(*values, 1e-5) * 1.2, True, bottom, TOP)
    parts = [*_axes(x, y, epsilons, bottom)]
    for method in methods:
        own = sorted((line for line in drawn if line.method == method), key=lambda line: float(line.epsilon or 0))
        parts += _series(own, figure, x, y, looks[method])
    parts += _legend({method: looks[method] for method in methods}, TOP + HEIGHT + 14)
    height = TOP + HEIGHT + 14 + ENTRY * ceil(len(methods) / 2)
    return picture(WIDTH, height, parts, f"{FIGURES.get(figure, figure)} against epsilon for {', '.join(methods)}")


def _axes(x: Scale, y: Scale, epsilons: Sequence[float], bottom: float) -> list[str]:
    parts = []
    for tick in y.ticks():
        parts += [rule(LEFT, y(tick), WIDTH, y(tick), "grid"), text(LEFT - 4, y(tick) + 4, f"{tick:g}", "end", "quiet")]
    parts += [rule(LEFT, bottom, WIDTH, bottom, "axis")]
    for epsilon in epsilons:
        parts += [rule(x(epsilon), bottom, x(epsilon), bottom + 4, "axis")]
        parts += [text(x(epsilon), bottom + 16, f"{epsilon:g}", "middle", "quiet")]
    return [*parts, text(WIDTH, bottom + 28, "ε", "end", "quiet")]


def _look(place: int) -> str:
    """A colour, and a dash where the colours are used up: eight colours, three dashes."""
    dash = DASHES[place // len(COLOURS) % len(DASHES)]
    return f'stroke="{COLOURS[place % len(COLOURS)]}"' + (f' stroke-dasharray="{dash}"' if dash else "")


def _series(own: Sequence[Line], figure: str, x: Scale, y: Scale, look: str) -> list[str]:
    """The band from the least to the largest run, and the mean; a level line for a system without epsilon."""
    colour = look.split('"')[1]
    if not own[0].epsilon:
        level = y(own[0].mean(figure) or 0.0)
        return [f'<path d="M{x.start:.1f} {level:.1f}H{x.end:.1f}" fill="none" stroke-width="2" {look}/>']
    spots = [(x(float(line.epsilon)), [y(value) for value in line.values(figure)], line) for line in own]
    upper = [f"{place:.1f} {min(heights):.1f}" for place, heights, _ in spots]
    lower = [f"{place:.1f} {max(heights):.1f}" for place, heights, _ in reversed(spots)]
    means = [(place, y(line.mean(figure) or 0.0), line) for place, _, line in spots]
    route = "L".join(f"{place:.1f} {height:.1f}" for place, height, _ in means)
    band = f'<path d="M{"L".join([*upper, *lower])}Z" fill="{colour}" fill-opacity=".15"/>'
    dots = [
        f'<circle cx="{place:.1f}" cy="{height:.1f}" r="3" fill="{colour}">'
        f"<title>{html_line(f'{line.method}, epsilon {line.epsilon}: {line.mean(figure):.4f}')}</title></circle>"
        for place, height, line in means
    ]
    return [band, f'<path d="M{route}" fill="none" stroke-width="2" {look}/>', *dots]


def _legend(looks: Mapping[str, str], top: float) -> list[str]:
    parts = []
    for place, (method, look) in enumerate(looks.items()):
        left, y = LEFT + (place % 2) * (WIDTH - LEFT) / 2, top + ENTRY * (place // 2)
        parts += [f'<path d="M{left:.1f} {y:.1f}h20" fill="none" stroke-width="2.5" {look}/>']
        parts += [text(left + 25, y + 4, method, most=28)]
    return parts


def alone(drawing: str) -> str:
    """A drawing as a file of its own."""
    head, rest = drawing.split(">", 1)
    return f'{head} xmlns="http://www.w3.org/2000/svg">{STYLE}{rest}\n'


def bench_page(table_lines: Sequence[Line]) -> str:
    """All drawings and the table, set by set."""
    body = []
    for name in dict.fromkeys(line.set for line in table_lines):
        own = [line for line in table_lines if line.set == name]
        drawings = [(words, chart(own, kind)) for kind, words in FIGURES.items()]
        body.append(
            section(
                name,
                "Lines are means over repeats, bands reach from the least to the largest run; a system without ε is a "
                "level line. Errors are on a scale of powers of ten.",
                gallery(*(figure(words, "", drawing) for words, drawing in drawings if drawing)),
                table(HEADS, map(cells, own), frozenset(range(3, len(HEADS) - 1))),
            )
        )
    return page(INTERNAL, "Bench", body)
