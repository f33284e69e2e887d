"""Reads a report as a browser would, and refuses one that is not whole or not self-contained."""

import re
from html.parser import HTMLParser

VOID = {"meta", "br"}
EMPTY_DRAWING = {"rect", "line", "circle", "path"}


class Reader(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.words, self.tags, self.style = [], [], [], False

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        assert tag in EMPTY_DRAWING, tag
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.words.append(data)


def read(html):
    """The reader of a whole, self-contained page; `text` is what a person can read in it."""
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    for tag, attributes in reader.tags:
        assert tag not in {"script", "link", "img", "iframe", "object", "embed"}
        assert not {"src", "srcset"} & set(attributes)
        assert attributes.get("href", "#").startswith("#"), "a link leads out of the page"
        assert not any(name.startswith("on") for name in attributes)
    assert not re.search(r"url\(|@import|https?://", html)
    reader.text = " ".join(" ".join(reader.words).split())
    return reader
