"""Puts the notebooks on the site as pages, with what they showed when they were last run (a hook of MkDocs)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

NOTEBOOKS = Path(__file__).parent / "notebooks"


def output(shown: dict[str, Any]) -> str:
    """What a cell showed: its picture if it has one, else its text."""
    data = shown.get("data", {})
    if "text/html" in data:
        # Tables look like all others of the site, and a blank line would end a block of HTML.
        html = re.sub(
            r'<style.*?</style>| border="1" class="dataframe"', "", "".join(data["text/html"]), flags=re.DOTALL
        )
        lines = re.sub(r"\s*\n\s*", " ", html)
        return f'<div class="shown">{lines}</div>'
    text = "".join(data.get("text/plain", shown.get("text", "")))
    return f"```text\n{text.rstrip()}\n```"


def cell(of: dict[str, Any]) -> list[str]:
    """A cell in the order in which it is read: its text, or its code and then what that showed."""
    source = "".join(of["source"])
    if of["cell_type"] == "markdown":
        return [source]
    return [f"```python\n{source}\n```", *(output(shown) for shown in of["outputs"])]


def page(notebook: Path) -> str:
    """A notebook as Markdown."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    parts = [part for one in cells for part in cell(one)]
    return (
        "\n\n".join([*parts, f"This page is the notebook `docs/notebooks/{notebook.name}`, which the tests run."])
        + "\n"
    )


def on_files(files: Any, config: Any) -> Any:
    """Called by MkDocs once it has found all files."""
    from mkdocs.structure.files import File  # here, so the tests can draw pages without MkDocs

    for notebook in sorted(NOTEBOOKS.glob("*.ipynb")):
        files.append(File.generated(config, f"notebooks/{notebook.stem}.md", content=page(notebook)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by MkDocs for each page: what is a notebook in the repository is a page on the site."""
    return markdown.replace(".ipynb)", ".md)")
