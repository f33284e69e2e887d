"""What a bench leaves in its folder beside the results: a table, drawings, and a page with both."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.drawing import FIGURES, alone, bench_page, chart
from bench.results import Result
from bench.summary import lines, markdown
from sfumato import files


def write(results: Sequence[Result], folder: Path) -> None:
    """Write table.md, bench.html and one SVG for each set and figure, over those of an earlier bench."""
    table = lines(results)
    contents = {"table.md": markdown(table), "bench.html": bench_page(table)}
    for name in dict.fromkeys(line.set for line in table):
        own = [line for line in table if line.set == name]
        drawings = {figure: chart(own, figure) for figure in FIGURES}
        contents |= {f"{name}-{figure}.svg": alone(drawing) for figure, drawing in drawings.items() if drawing}
    for name, content in contents.items():
        files.write(folder / name, content)
