"""The shell of a report: one HTML file with its style inside, a stamp that stays in sight, no script, no link."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path

from sfumato.errors import FileError
from sfumato.text import html_line


@dataclass(frozen=True)
class Stamp:
    """What may be done with a report, said on every page of it.

    Args:
        kind: the class of the page in the style sheet.
        words: the stamp itself.
        reason: one sentence more.
    """

    kind: str
    words: str
    reason: str


INTERNAL = Stamp("internal", "INTERNAL, NOT PRIVATE", "computed from real rows: do not publish or pass on")
PUBLISHABLE = Stamp("publishable", "PUBLISHABLE", "made from the release alone: no real row was read")


PARTLY = Stamp(
    "partly", "NOT FULLY PROTECTED", "some values in the schema were read off real rows, and no noise covers them"
)


def html_name(file: Path) -> Path:
    """The file itself; a name that does not end in .html is refused."""
    if file.suffix.lower() != ".html":
        raise FileError(f"report {str(file)!r} does not end in .html; give a name that does")
    return file


def page(stamp: Stamp, title: str, body: Iterable[str]) -> str:
    """A whole HTML document. `body` is markup; the title is text."""
    style = files("sfumato.report").joinpath("page.css").read_text(encoding="utf-8")
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html_line(title)} ({html_line(stamp.words.lower())})</title>\n<style>\n{style}</style></head>\n"
        f'<body class="{stamp.kind}">\n'
        f'<header class="stamp">{html_line(stamp.words)} <small>{html_line(stamp.reason)}</small></header>\n'
        f'<div class="sheet"><div class="spacer"><div></div></div><main>\n<h1>{html_line(title)}</h1>\n'
        + "\n".join(body)
        + "\n</main></div></body></html>\n"
    )


def framed(document: str) -> str:
    """A whole page inside another one, such as a notebook, with its own style and nothing of the other's."""
    return f'<iframe sandbox style="width: 100%; height: 640px; border: 0" srcdoc="{escape(document)}"></iframe>'


def section(title: str, words: str, *parts: str) -> str:
    """A heading, a paragraph of text that says how to read what follows, and markup."""
    return (
        f'<section id="{_anchor(title)}"><h2>{html_line(title)}</h2><p>{html_line(words)}</p>'
        + "".join(parts)
        + "</section>"
    )


def folded(title: str, words: str, *parts: str) -> str:
    """A section that is closed until a reader opens it, and that is not printed while it is closed."""
    head = f"<summary><h2>{html_line(title)}</h2></summary><p>{html_line(words)}</p>"
    return f'<details id="{_anchor(title)}">{head}' + "".join(parts) + "</details>"


def _anchor(title: str) -> str:
    """The name by which a section of ours is linked to."""
    return "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in title.lower())


def contents(titles: Iterable[str]) -> str:
    """Links to sections of the same page."""
    links = "".join(f'<li><a href="#{_anchor(title)}">{html_line(title)}</a></li>' for title in titles)
    return f'<nav aria-label="Contents"><ul class="contents">{links}</ul></nav>'


def bullets(lines: Iterable[str]) -> str:
    """Some lines of text, one below the other."""
    return "<ul>" + "".join(f"<li>{html_line(line)}</li>" for line in lines) + "</ul>"


def verdicts(found: Iterable[tuple[str, str, str]]) -> str:
    """Grades (good, fair, poor), each with its use and the figures behind it."""
    return (
        '<div class="tiles">'
        + "".join(
            f'<div class="verdict {html_line(grade)}"><b>{html_line(use)}: {html_line(grade)}</b>'
            f"<span>{html_line(words)}</span></div>"
            for grade, use, words in found
        )
        + "</div>"
    )


def paragraph(words: str, kind: str = "") -> str:
    """A paragraph of text."""
    return f'<p class="{kind}">{html_line(words)}</p>'


def tiles(figures: Iterable[tuple[str, str]]) -> str:
    """Large figures, each with a few words below."""
    return (
        '<div class="tiles">'
        + "".join(f"<div><b>{html_line(figure)}</b><span>{html_line(words)}</span></div>" for figure, words in figures)
        + "</div>"
    )


def figure(title: str, note: str, *drawings: str, name: str = "") -> str:
    """Drawings with a heading; `name` is what links on the same page lead to."""
    named = f' id="{name}"' if name else ""
    return (
        f"<figure{named}><h3>{html_line(title)} <small>{html_line(note)}</small></h3>" + "".join(drawings) + "</figure>"
    )


def gallery(*figures: str) -> str:
    """Figures in as many columns as there is room for."""
    return '<div class="charts">' + "".join(figures) + "</div>"


def single(figure: str) -> str:
    """One figure, no wider than it needs."""
    return f'<div class="charts single">{figure}</div>'


def beside(*sections: str) -> str:
    """Small sections side by side where there is room."""
    return '<div class="beside">' + "".join(sections) + "</div>"


def key(entries: Iterable[tuple[str, str]]) -> str:
    """What each colour means."""
    return (
        '<ul class="key">'
        + "".join(f'<li><i class="{kind}"></i>{html_line(words)}</li>' for kind, words in entries)
        + "</ul>"
    )


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: frozenset[int] = frozenset()) -> str:
    """A table of text; on a phone each row becomes a small card. `numbers` are the columns set to the right."""

    def kind(place: int) -> str:
        return ' class="number"' if place in numbers else ""

    head = "".join(f"<th{kind(place)}>{html_line(words)}</th>" for place, words in enumerate(heads))
    lines = "".join(
        "<tr>"
        + "".join(
            f"<td{kind(place)}{_name(heads[place]) if place else ''}>{html_line(words)}</td>"
            for place, words in enumerate(row)
        )
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll"><table class="stacked"><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>'
    )


def _name(head: str) -> str:
    return f' data-name="{html_line(head)}"'
