"""Files that a test leaves open are closed when it ends: from Python 3.13 on, an unclosed database is a warning."""

from contextlib import ExitStack

LEFT_OPEN = ExitStack()


def closed_later(opened):
    """What was given, which is closed after the test; closing it twice does no harm."""
    LEFT_OPEN.callback(opened.close)
    return opened
