"""Shows the examples of docstrings as code on the site (an extension of Griffe, which reads docstrings for MkDocs)."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension

EXAMPLE = re.compile(r"^>>> .*\n?(?:^(?!\s*$).*\n?)*", re.MULTILINE)


def fenced(docstring: str) -> str:
    """A docstring whose examples, from a prompt to the next blank line, stand in blocks of code."""
    return EXAMPLE.sub(lambda match: f"```pycon\n{match[0].rstrip()}\n```\n", docstring)


class Examples(Extension):
    """Called by Griffe for everything that it has read."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Fence the examples of one object."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
