"""Every exception that Sfumato raises on purpose.

    SfumatoError                 exit code 2 on the command line
    ├── SchemaError              the public schema is wrong, or does not fit the table
    ├── DataError                a table could not be read, or breaks its schema
    ├── BudgetError              a budget or a privacy parameter makes no sense
    │   └── BudgetExceeded       a question would cost more than is left; nothing was computed
    ├── MethodError              unknown method, or a method that cannot do what was asked
    ├── ModelTooLarge            a table of counts would have too many cells; names the columns
    ├── ReleaseError             a release folder is missing or damaged
    ├── BookError                a book is damaged, or does not allow a step
    ├── FileError                a file or folder is in the way, or cannot be written
    │   └── NoRoom               a disk is full: exit code 75, make room and start again
    ├── ProtocolError            members of a consortium do not agree, or a message is not what it should be
    │   ├── TryAgain             somebody is away: exit code 75, start again later and nothing is lost
    │   └── StudyEnded           the study is over for good: exit code 3, starting again changes nothing
    └── Fault                    something that nobody thought of: exit code 1, says where and not with which values
    IntakeWarning                the types of a table may have been guessed from values, or fit no declared column

A message says what was given, what was wanted and what to do. It never contains a private value.
"""

from __future__ import annotations

import traceback
from pathlib import Path


class SfumatoError(Exception):
    """Base of all errors that are explained to the user instead of shown as a traceback."""

    exit_code = 2
    """What a command ends with."""


class Fault(SfumatoError):  # noqa: N818 -- the name says what happened
    """A fault of Sfumato or of a library that it calls; says where, and nothing of what was at hand there."""

    exit_code = 1

    @classmethod
    def at(cls, error: BaseException) -> Fault:
        """The fault that an error is: its words may quote private values, so its kind and its place must do."""
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}"
        return cls(f"a fault in Sfumato ({where}); please report it")


class SchemaError(SfumatoError):
    """The public schema is wrong, or does not fit the table."""


class DataError(SfumatoError):
    """A table could not be read, or breaks its schema."""


class BudgetError(SfumatoError):
    """A budget or a privacy parameter makes no sense."""


class BudgetExceeded(BudgetError):  # noqa: N818 -- the name says what happened
    """A question would cost more than is left of the budget; nothing was computed."""


class MethodError(SfumatoError):
    """A method is unknown, or cannot do what was asked of it."""


class ModelTooLarge(SfumatoError):  # noqa: N818 -- the name says what happened
    """A table of counts would have more cells than are allowed."""


class ReleaseError(SfumatoError):
    """A release folder is missing or damaged."""


class BookError(SfumatoError):
    """A book is damaged, or does not allow a step."""


class FileError(SfumatoError):
    """A file or folder is in the way, or cannot be written."""


class NoRoom(FileError):  # noqa: N818 -- the name says what happened
    """A disk is full, or cannot be written for now. Nothing was sent; make room, and start again."""

    exit_code = 75


class ProtocolError(SfumatoError):
    """Members of a consortium do not agree, or a message between them is not what it should be."""


class TryAgain(ProtocolError):  # noqa: N818 -- the name says what to do
    """Somebody is away. Nothing is lost, and starting again later goes on where it was."""

    exit_code = 75


class StudyEnded(ProtocolError):  # noqa: N818 -- the name says what happened
    """The study is over for good, and not well. Starting again changes nothing."""

    exit_code = 3


class IntakeWarning(UserWarning):
    """The types of a table may have been guessed from its values, or are such that no value can be read."""


class NoiseWarning(UserWarning):
    """Noise will drown what was asked for. It is said before anything is spent, from public facts alone."""
