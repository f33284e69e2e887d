"""Text of strangers, made safe to show: on a terminal, in a page, in a log.

Names of columns, reasons of other members and texts in files may hold anything: escape sequences that move the cursor
or hide a line, marks that reverse the direction of writing, new lines that look like ours. Whatever cannot be seen is
spelled out.
"""

from __future__ import annotations

import html
import json
import re
from unicodedata import category

_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0]|(?<=\\s)\\s")
"""What Unicode takes for letters, signs or marks and nobody sees. And blanks that follow a blank: enough of them look
like the end of a line."""


def one_line(text: object, most: int | None = None) -> str:
    r"""A text as one line in which everything can be seen, cut to at most this many characters.

    Control characters, line ends, direction marks, lone surrogates and all blanks but single ones are written as JSON
    writes them. The result is safe for a terminal, and not for a page (see `html_line`).

    >>> print(one_line("ward\x1b[2J\nall is well"))
    ward\u001b[2J\nall is well
    """
    words = str(text)
    if most is not None and len(words) > most:
        words = f"{words[: max(most - 1, 0)]}…"
    if not words.isprintable():
        words = "".join(one if _is_seen(one) else _spelled(one) for one in words)
    return _UNSEEN.sub(lambda match: _spelled(match[0]), words)


def html_line(text: object) -> str:
    """A text as one line of a page: without markup, and with everything in it visible."""
    return html.escape(one_line(text))


def json_text(content: object) -> str:
    """Readable JSON that is safe for a terminal: letters stay, whatever cannot be seen is escaped."""
    written = json.dumps(content, ensure_ascii=False, indent=1)
    return "".join(one if one == "\n" or _is_seen(one) else _spelled(one) for one in written)


def _is_seen(character: str) -> bool:
    return character.isprintable() or category(character) == "Zs"


def _spelled(character: str) -> str:
    return "\\u0020" if character == " " else json.dumps(character)[1:-1]
