"""Draws the import graph of the rooms for docs/architecture.md: `python docs/draw_imports.py` writes it anew.

Arrows that follow from others are left out (transitive reduction); tests/test_docs.py fails if the page is out of date.
"""

from __future__ import annotations

import re
from pathlib import Path

import grimp
import networkx as nx

PAGE = Path(__file__).with_name("architecture.md")
BASICS = {"errors", "exact", "text", "files", "parts"}
"""Nearly everything imports these; their arrows would hide the others."""


def rooms() -> nx.DiGraph[str]:
    """Which room or top-level module of the package imports which, without what follows from other arrows."""
    imports = grimp.build_graph("sfumato")
    graph: nx.DiGraph[str] = nx.DiGraph()
    for importer in imports.modules:
        for imported in imports.find_modules_directly_imported_by(importer):
            one, other = (name.removeprefix("sfumato").lstrip(".").partition(".")[0] for name in (importer, imported))
            if one and other and one != other and not {one, other} & BASICS:
                graph.add_edge(one, other)
    return nx.transitive_reduction(graph)


def drawn() -> str:
    """The graph in the language of Mermaid."""
    lines = [f"    {one} --> {other}" for one, other in sorted(rooms().edges)]
    return "\n".join(["```mermaid", "graph TD", *lines, "```"])


def with_graph(page: str) -> str:
    """The page with the graph of today."""
    return re.sub(r"```mermaid\n.*?\n```", lambda _: drawn(), page, count=1, flags=re.DOTALL)


if __name__ == "__main__":
    PAGE.write_text(with_graph(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
