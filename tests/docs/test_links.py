"""Links between pages lead somewhere, and files that pages speak of are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
FILE = re.compile(r"`(?:python )?([\w./-]+\.py|(?:src|sfumato|tests|docs|deploy)/[\w./-]+)(?:::\w+)*(?: [^`]*)?`")
ROOMS = ("src/sfumato", "src/sfumato/learn", "src", "benchmarks", "reproductions", "")

EVERY_PAGE = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def prose(page):
    """A page without its code blocks."""
    return re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def anchors(page):
    """What a link can name in a page: its headings, as the site and the repository spell them."""
    words = (re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in HEADING.findall(prose(page)))
    return {re.sub(r"[-\s]+", "-", one) for one in words}


def exists(name):
    """Whether a file is there under the whole of its path, or under that from one of the places pages speak of."""
    return any((ROOT / room / name).exists() for room in ROOMS) or ("/" not in name and any((ROOT / "src").rglob(name)))


@EVERY_PAGE
def test_every_link_of_a_page_leads_to_a_file(page):
    targets = [target for target, _ in LINK.findall(prose(page)) if target and "://" not in target]
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert missing == []


@EVERY_PAGE
def test_every_link_to_a_heading_leads_to_one(page):
    named = [(target, anchor) for target, anchor in LINK.findall(prose(page)) if anchor and "://" not in target]
    missing = [anchor for target, anchor in named if anchor not in anchors(page.parent / target if target else page)]
    assert missing == []


@EVERY_PAGE
def test_every_file_that_a_page_speaks_of_is_there(page):
    missing = [name for name in FILE.findall(prose(page)) if not exists(name)]
    assert missing == []


def test_a_heading_that_is_gone_and_a_file_that_was_moved_are_seen():
    assert "a-release-that-is-mostly-noise" in anchors(ROOT / "docs" / "drafting.md")
    assert "a-release-of-noise" not in anchors(ROOT / "docs" / "drafting.md")
    assert FILE.findall("`data/moved.py`, `tests/gone/test_it.py::TestIt`, `python benchmarks/x.py --data F`") == [
        "data/moved.py",
        "tests/gone/test_it.py",
        "benchmarks/x.py",
    ]
    assert exists("privacy/holder.py")
    assert exists("select/frontier.py")
    assert exists("verify.py")
    assert not exists("data/junction_tree.py")
