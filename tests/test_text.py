"""Text of strangers: whatever it holds, it is shown as one line in which everything can be seen."""

import json
import re
import sys
from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.text import html_line, json_text, one_line

ANYTHING = st.text(st.characters(exclude_categories=()), max_size=60)
UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


@given(ANYTHING)
def test_nothing_unseen_is_left(text):
    shown = one_line(text)
    assert not [one for one in shown if category(one) in UNSEEN]
    assert len(shown.splitlines()) <= 1
    assert not re.search(r"\s\s", shown)
    shown.encode()  # a lone surrogate cannot be written to any terminal


@given(st.text("abcdefghijklmnopqrstuvwxyzäöüßéñλжあ漢字🙂0123456789 '\"[]/(){}<>&", max_size=60))
def test_ordinary_text_stays_as_it_is(text):
    single = " ".join(text.split())
    assert one_line(single) == single


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2Jgone", r"\u001b[2Jgone"),
        ("\x9b31mred", r"\u009b31mred"),
        ("a\nb\r\nc\x0bd\x85e\u2028f", r"a\nb\r\nc\u000bd\u0085e\u2028f"),
        ("\u202egnp.exe\u2066", r"\u202egnp.exe\u2066"),
        ("z\u200bw\u2060\ufeff\u00ad", r"z\u200bw\u2060\ufeff\u00ad"),
        ("\U000e0041", r"\udb40\udc41"),
        ("\ud800", r"\ud800"),
        ("far    away", r"far \u0020\u0020\u0020away"),
        ("far\u3000\u3000away", "far\u3000\\u3000away"),
        ("fill\u3164\u2800er", r"fill\u3164\u2800er"),
        ("50\u00a0%", "50\u00a0%"),
        ("[red]bold[/red] :smile:", "[red]bold[/red] :smile:"),
    ],
)
def test_what_cannot_be_seen_is_spelled_out(text, shown):
    assert one_line(text) == shown


def test_long_text_is_cut():
    assert one_line("a" * 100, 10) == "a" * 9 + "…"
    assert one_line("a" * 10, 10) == "a" * 10
    assert one_line("a" * 10) == "a" * 10


@given(ANYTHING)
def test_a_page_gets_no_markup(text):
    assert not set(html_line(f"<b>{text}")) & set("<>\"'")
    assert html_line("<b>") == "&lt;b&gt;"


@given(st.dictionaries(ANYTHING, st.lists(ANYTHING, max_size=3), max_size=4))
def test_json_is_read_back_and_has_nothing_unseen(content):
    text = json_text(content)
    assert json.loads(text) == content
    assert not [one for one in text if category(one) in UNSEEN and one != "\n"]


def test_no_character_is_forgotten():
    # Planes 4 to 13 hold nothing, and 15 and 16 are for private use; some of each will do.
    codes = [
        *range(0x30000),
        *range(0x30000, 0xE0000, 97),
        *range(0xE0000, 0xE1000),
        *range(0xE1000, sys.maxunicode, 97),
    ]
    assert {category(one) for one in one_line("".join(map(chr, codes)))}.isdisjoint(UNSEEN)
