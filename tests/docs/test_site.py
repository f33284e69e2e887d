"""What the site is made of: every page can be reached, and notebooks are pages of it."""

import importlib.util
import re
from pathlib import Path

import pytest
import yaml

import sfumato

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def hook(name):
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pages_of(entry):
    """All pages below an entry of the navigation."""
    if isinstance(entry, str):
        return [entry]
    return [page for part in (entry.values() if isinstance(entry, dict) else entry) for page in pages_of(part)]


def test_the_navigation_has_every_page_once():
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = pages_of(yaml.safe_load(settings[settings.index("\nnav:") :])["nav"])
    written = [str(page.relative_to(DOCS).as_posix()) for page in DOCS.rglob("*.md")]
    notebooks = [f"notebooks/{notebook.stem}.md" for notebook in (DOCS / "notebooks").glob("*.ipynb")]
    assert sorted(listed) == sorted(written + notebooks)


def test_no_code_has_an_escaped_bar_which_the_site_shows_with_its_backslash():
    pages = [
        page for page in DOCS.rglob("*.md") if re.search(r"`[^`\n]*\\\|[^`\n]*`", page.read_text(encoding="utf-8"))
    ]
    assert pages == []


def test_the_page_of_python_has_every_public_name():
    page = (DOCS / "api.md").read_text(encoding="utf-8")
    listed = re.findall(r"\w+", " ".join(re.findall(r"^::: sfumato.*$|^ +members: .*$", page, re.MULTILINE)))
    assert [name for name in sfumato.__all__ if name not in (*listed, "__version__")] == []


def test_examples_of_docstrings_are_blocks_of_code():
    pytest.importorskip("griffe", reason="make docs installs it")
    fenced = hook("draw_examples").fenced
    assert fenced("Sum.\n\n>>> f(1)\n2\n>>> f(2)\n\nArgs:\n    x: one.\n") == (
        "Sum.\n\n```pycon\n>>> f(1)\n2\n>>> f(2)\n```\n\nArgs:\n    x: one.\n"
    )
    assert fenced("No example: a > b >> c.") == "No example: a > b >> c."


def test_a_notebook_becomes_a_page_with_its_pictures():
    drawing = hook("draw_notebooks")
    notebook = DOCS / "notebooks" / "1-first-release.ipynb"
    page = drawing.page(notebook)
    assert page.startswith("# ")
    assert "```python\nrelease = sfumato.fit(" in page
    assert '<div class="shown"><h4>survey, released by' in page
    assert "<style" not in page


def test_a_table_of_many_lines_stays_one_block():
    drawing = hook("draw_notebooks")
    shown = {
        "data": {
            "text/html": ["<style scoped>\n th {}\n</style>\n", "<table>\n\n<tr></tr>\n</table>"],
            "text/plain": ["x"],
        }
    }
    assert drawing.output(shown) == '<div class="shown"> <table> <tr></tr> </table></div>'
    assert drawing.output({"text": ["printed\n"]}) == "```text\nprinted\n```"
