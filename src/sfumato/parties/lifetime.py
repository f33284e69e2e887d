"""One budget for a party's table over all studies: each study is a payment in the book of the party's population.

It is reserved before anything is sent, in full, and stays whatever happens, unless the study never came to a question.
A study that is started again finds its payment by the study's name and pays once.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Self

from sfumato.book import Book, Payment
from sfumato.book.payments import RESERVED, SPENT
from sfumato.errors import BookError
from sfumato.parties.manifest import Manifest
from sfumato.privacy.budget import Budget
from sfumato.privacy.neighbours import Neighbours


class Lifetime:
    """The payment of one study in the book of a population.

    Args:
        file: of the book, as `sfumato book open` makes it.
        population: whose rows the party's table holds.
        manifest: the study.
        budget: what its ledgers are opened with.
        proposal: the number of an approved proposal, where the policy of the book wants one.
    """

    def __init__(self, file: Path, population: str, manifest: Manifest, budget: Budget, proposal: int | None = None):
        self._file = file
        self._population = population
        self._title = f"study {manifest.name} ({manifest.study})"
        self._manifest = manifest
        self._budget = budget
        self._payment = self._reserve(proposal)

    @classmethod
    def of(cls, file: Path | None, population: str | None, manifest: Manifest, budget: Budget) -> Self | None:
        """The payment, if a book was given."""
        if (file is None) != (population is None):
            raise BookError("--book and --population belong together; give both, or none")
        return None if file is None or population is None else cls(file, population, manifest, budget)

    @property
    def number(self) -> int:
        """Of the payment."""
        return self._payment.number

    def finish(self) -> None:
        """The study is over, and has cost something."""
        self._change(lambda book: book.spend(self.number, self._manifest.digest))

    def give_back(self) -> None:
        """The study is over, and never came to a question that counts."""
        reason = "the study ended before a question was answered"
        self._change(lambda book: book.abort(self.number, reason, nothing_was_asked=True))

    def _reserve(self, proposal: int | None) -> Payment:
        book = Book(self._file)
        try:
            known = [one for one in book.standing(self._population).payments if one.title == self._title]
            paid = [one for one in known if one.state in (RESERVED, SPENT)]
            if paid:
                return paid[-1]
            # A study protects persons at several parties too; of their rows here, that is no less.
            unit, method = Neighbours.of(self._manifest.schema), self._manifest.method
            return book.reserve(self._population, self._title, self._budget, unit, method, proposal)
        finally:
            book.close()

    def _change(self, change: Callable[[Book], None]) -> None:
        if self._payment.state == SPENT:
            return
        book = Book(self._file)
        try:
            change(book)
        finally:
            book.close()
