"""The pieces of a drawing: text, boxes and scales of an inline SVG. Colours are classes of the style sheet."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import sqrt

from sfumato.text import html_line

Scale = Callable[[float], float]
"""From a value to a place on an axis, both from 0 to 1."""


def linear(value: float) -> float:
    """Equal steps."""
    return value


def root(value: float) -> float:
    """Small shares get more room than large ones, and zero is still zero."""
    return sqrt(max(value, 0.0))


def percent(share: float) -> str:
    """A share as people read it: three digits at most, and never 0 for what is not 0."""
    hundred = 100 * share
    if hundred == 0:
        words = "0"
    elif abs(hundred) < 0.1:
        words = "<0.1" if hundred > 0 else ">-0.1"
    else:
        words = f"{hundred:.1f}" if abs(hundred) < 9.95 else f"{hundred:.0f}"
    return f"{words}\u00a0%"


def short(label: str, most: int) -> str:
    """A label cut to this many characters."""
    return label if len(label) <= most else label[: most - 1].rstrip() + "…"


def picture(width: float, height: float, parts: Iterable[str], says: str, kind: str = "", grows: bool = True) -> str:
    """A drawing that scales with the page, or only down; `says` is read out instead of it, or before its links."""
    most = "" if grows else f' style="max-width: {width:.0f}px"'
    inside = "".join(parts)
    role = "group" if "<a " in inside else "img"  # an image hides what is in it, links too
    return (
        f'<svg class="{kind}"{most} viewBox="0 0 {width:g} {height:g}" role="{role}" aria-label="{html_line(says)}">'
        f"{inside}</svg>"
    )


def text(x: float, y: float, words: str, anchor: str = "start", kind: str = "", most: int = 1000) -> str:
    """Words at a place; if they are cut, the whole is shown on hovering."""
    cut = short(words, most)
    whole = f"<title>{html_line(words)}</title>" if cut != words else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{whole}{html_line(cut)}</text>'


def box(x: float, y: float, width: float, height: float, kind: str, title: str = "", opacity: float = 1) -> str:
    """A filled rectangle; `title` is shown on hovering."""
    shade = "" if opacity == 1 else f' fill-opacity="{opacity:.3f}"'
    head = (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{max(height, 0):.1f}" class="{kind}"{shade}'
    )
    return f"{head}><title>{html_line(title)}</title></rect>" if title else f"{head}/>"


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """A straight line."""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'
