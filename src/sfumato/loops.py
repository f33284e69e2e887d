"""How far a long loop is. Loops tell it, whoever shows progress listens, and neither knows of the other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")

Listener = Callable[[str, int, int], None]
"""Called with what a loop counts, how many of them are done, and how many there are at most."""

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def counted(items: Collection[T], what: str) -> Iterator[T]:
    """The items, each told to the listener before it is given; loops inside are not told."""
    listener = _listener.get()
    if listener is None:
        yield from items
        return
    for done, item in enumerate(items):
        listener(what, done, len(items))
        outer = _listener.set(None)
        try:
            yield item
        finally:
            _listener.reset(outer)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Tell this listener of loops, until the end of the block."""
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)
