"""Calls of readers and drivers that are not ours. What they say when they fail may quote rows, or a password."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sfumato.errors import DataError, SfumatoError

T = TypeVar("T")


def quiet(message: str, call: Callable[[], T]) -> T:
    """What `call` gives; if it fails, our own words instead of a stranger's, and an error that does not hold his.

    >>> quiet("the table cannot be read", lambda: int("a secret"))
    Traceback (most recent call last):
    ...
    sfumato.errors.DataError: the table cannot be read
    """
    try:
        return call()
    except (SfumatoError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException:  # noqa: S110 -- a library may raise anything; the panics of polars are no Exceptions
        pass
    raise DataError(message)
