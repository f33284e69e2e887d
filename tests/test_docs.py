"""Pages that are drawn from the code are what the code draws."""

import importlib.util
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def drawing(name="draw_imports"):
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_import_graph_is_that_of_today():
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    assert page.count("```mermaid") == 1
    assert drawing().with_graph(page) == page, "out of date: run python docs/draw_imports.py"


def test_every_room_of_the_package_is_on_the_page():
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    package = DOCS.parent / "src" / "sfumato"
    rooms = [path.name for path in package.iterdir() if (path / "__init__.py").exists()]
    assert [room for room in rooms if f"`{room}`" not in page] == []


def test_the_page_of_options_has_every_command_and_option():
    page = drawing("draw_commands").sections()
    for words in (
        "## sfumato synthesize\n",
        "## sfumato schema import\n",
        "## sfumato curate\n",
        "## sfumato curate status\n",
    ):
        assert words in page
    assert "| `--epsilon` | The privacy budget, for example 1. | required |" in page
    assert "Takes `--json`." in page
