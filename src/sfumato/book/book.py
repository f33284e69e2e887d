"""Books: populations, their policies, and every release that cost them something.

A payment goes proposed → approved → reserved → spent. From *reserved* on it counts, whatever happens: a run that
crashed may have answered. Only who knows that no row was asked about can take a reservation back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from sfumato.book.chain import START, Chain, Change, Entry
from sfumato.book.payments import (
    ABORTED,
    APPROVED,
    OUTSIDE,
    PROPOSED,
    RESERVED,
    SPENT,
    Payment,
    Standing,
    approval_bytes,
    check,
    check_unit,
    payment,
    populations,
    standing,
)
from sfumato.book.policy import Policy
from sfumato.errors import BookError, BudgetError
from sfumato.identity import Signer
from sfumato.privacy.budget import Budget
from sfumato.privacy.neighbours import Neighbours


class Book:
    """The book in a file.

    >>> from sfumato.privacy.budget import PureDP
    >>> book = Book.create("patients.book")
    >>> book.open("patients 2026", Neighbours(), Policy(PureDP("2")))
    >>> payment = book.reserve("patients 2026", "first release", PureDP("1.5"), Neighbours())
    >>> book.spend(payment.number, release="0" * 64)
    >>> book.standing("patients 2026").left
    Fraction(1, 2)
    >>> book.close()
    """

    def __init__(
        self, path: str | Path, now: Callable[[], datetime] = lambda: datetime.now(UTC), *, _new: bool = False
    ):
        self._chain = Chain(Path(path), new=_new)
        self._now = now

    @classmethod
    def create(cls, path: str | Path) -> Self:
        """Make a new book; a file that exists is never overwritten."""
        return cls(path, _new=True)

    @property
    def head(self) -> str:
        """The hash of the last entry. Whoever keeps it can tell later that nothing before it was cut off."""
        entries = self._chain.entries()
        return str(entries[-1]["hash"]) if entries else START

    def holds(self, head: str) -> bool:
        """Whether an entry with this hash is in the book; a book that was restored from an older copy lacks some."""
        return head in {START, *(entry["hash"] for entry in self._chain.entries())}

    def entries(self) -> list[Entry]:
        """All entries, oldest first."""
        return self._chain.entries()

    def close(self) -> None:
        """Close the file."""
        self._chain.close()

    def open(self, population: str, neighbours: Neighbours, policy: Policy) -> None:
        """Begin the account of a population. Its policy is fixed from now on: a filter must know its limit."""
        with self._chain.change() as change:
            if population in populations(change.entries):
                raise BookError(f"the population {population!r} has an account already; its policy cannot be changed")
            unit = {"rows": neighbours.rows, "replace": neighbours.replace, "persons": neighbours.persons}
            self._append(change, "opened", population=population, unit=unit, policy=policy.to_dict())

    def approver(self, number: int, public: str) -> str:
        """The name that the policy has for a key; the key itself if it has none."""
        entries = self._chain.entries()
        approvers = standing(entries, payment(entries, number, PROPOSED).population).policy.approvers
        return next((name for name, key in approvers if key == public), public)

    def standing(self, population: str) -> Standing:
        """What a population has spent, and on what."""
        return standing(self._chain.entries(), population)

    @property
    def populations(self) -> tuple[str, ...]:
        """The populations that have an account."""
        return tuple(populations(self._chain.entries()))

    def what_if(self, population: str, title: str, budget: Budget, neighbours: Neighbours, method: str) -> WhatIf:
        """Where a population would stand after a release, and whether the policy allows it; nothing is written."""
        entries = self._chain.entries()
        own = standing(entries, population)
        try:
            check_unit(entries, population, neighbours)
            price = own.policy.price(budget)
            check(own, population, title, price, method, self._now().year)
        except (BookError, BudgetError) as refusal:
            return WhatIf(own.to_dict(), None, str(refusal), False)
        return WhatIf(own.to_dict(), own.to_dict(price), "", own.policy.wants_two_names(price))

    def propose(self, population: str, title: str, budget: Budget, by: str, method: str = "") -> int:
        """Write down a release that somebody would like to make; it counts when it is reserved. Gives its number."""
        with self._chain.change() as change:
            own = standing(change.entries, population)
            check(own, population, title, own.policy.price(budget), method, self._now().year)
            facts = {"title": title, "budget": budget.to_dict(), "method": method, "by": by}
            return int(self._append(change, PROPOSED, population=population, **facts)["number"])

    def approve(self, number: int, by: str, signer: Signer | None = None) -> tuple[str, ...]:
        """Agree to a proposal; gives all who have. Who proposed may agree, and each name counts once.

        Args:
            number: of the proposal.
            by: the name of who agrees.
            signer: their key, where the policy names approvers: it must be the one that the policy has for them.
        """
        if not by.strip():
            raise BookError("an approval needs a name; give yours")
        with self._chain.change() as change:
            proposed = payment(change.entries, number, PROPOSED)
            if _plain(by) in map(_plain, proposed.approved_by):
                raise BookError(f"{by!r} has approved payment {number} already; another person has to")
            keys = dict(standing(change.entries, proposed.population).policy.approvers)
            is_right = keys.get(by) == signer.public if keys and signer is not None else not keys and signer is None
            if not is_right:
                raise BookError(_wrong_key(proposed.population, by, tuple(keys), signer is not None))
            signed = {} if signer is None else {"signature": signer.sign(approval_bytes(proposed)).hex()}
            self._append(change, APPROVED, payment=number, by=by, **signed)
            return (*proposed.approved_by, by)

    def reserve(
        self,
        population: str,
        title: str,
        budget: Budget,
        neighbours: Neighbours,
        method: str = "",
        proposal: int | None = None,
    ) -> Payment:
        """Count a release against the budget, before the first row is read; refuses what the policy forbids.

        Args:
            population: whose budget pays.
            title: what people call the release.
            budget: what it may cost.
            neighbours: whom it protects, which must be whom the account protects.
            method: the method that will run.
            proposal: the number of an approved proposal that this is; one is needed above the policy's limit.
        """
        with self._chain.change() as change:
            own = standing(change.entries, population)
            check_unit(change.entries, population, neighbours)
            price = own.policy.price(budget)
            names: tuple[str, ...] = ()
            if proposal is not None:
                proposed = payment(change.entries, proposal, PROPOSED)
                if (proposed.population, proposed.budget, proposed.method) != (population, budget, method):
                    raise BookError(
                        f"proposal {proposal} is for another population, budget or method; run what was approved, or "
                        "propose this"
                    )
                names, title = proposed.approved_by, proposed.title
            if own.policy.wants_two_names(price) and len(names) < 2:
                raise BookError(
                    f"{title!r} costs more than {own.policy.two_names_above}, for which the policy of {population!r} "
                    "wants two names; propose it, have it approved by two persons, and give its number"
                )
            check(own, population, title, price, method, self._now().year)
            if proposal is None:
                facts = {"title": title, "budget": budget.to_dict(), "method": method, "by": ""}
                proposal = int(self._append(change, PROPOSED, population=population, **facts)["number"])
            self._append(change, RESERVED, payment=proposal)
            return payment(change.entries, proposal, RESERVED)

    def spend(self, number: int, release: str) -> None:
        """Write down that a reserved release is there; `release` is the SHA-256 of its manifest."""
        with self._chain.change() as change:
            payment(change.entries, number, RESERVED)
            self._append(change, SPENT, payment=number, release=release)

    def abort(self, number: int, reason: str, *, nothing_was_asked: bool = False) -> None:
        """Give up a proposal; or a reservation, by who knows that no row was asked about, as after a refused table."""
        with self._chain.change() as change:
            payment(change.entries, number, RESERVED if nothing_was_asked else PROPOSED)
            self._append(change, ABORTED, payment=number, reason=reason)

    def record_outside(self, population: str, title: str, budget: Budget, by: str, remark: str) -> int:
        """Write down a release of another tool: all that is known of it are its epsilon and delta. Always accepted.

        It has happened, so it counts, even if it brings the population beyond its budget; then nothing else may follow.
        """
        with self._chain.change() as change:
            standing(change.entries, population).policy.price_outside(budget)
            facts = {"title": title, "budget": budget.to_dict(), "by": by, "remark": remark}
            return int(self._append(change, OUTSIDE, population=population, **facts)["number"])

    @contextmanager
    def paid(
        self, population: str, title: str, budget: Budget, neighbours: Neighbours, method: str, proposal: int | None
    ) -> Iterator[Running]:
        """Reserve and run the block; the reservation stays whatever happens, unless it never came to the rows."""
        running = Running(self, self.reserve(population, title, budget, neighbours, method, proposal))
        try:
            yield running
        except BaseException:
            if not running.asked:
                self.abort(running.payment.number, "the run ended before a row was asked about", nothing_was_asked=True)
            raise

    def _append(self, change: Change, what: str, **facts: Any) -> Entry:
        time = self._now().isoformat(timespec="seconds")
        return change.append({"what": what, "time": time, **facts})


def _wrong_key(population: str, by: str, names: tuple[str, ...], has_key: bool) -> str:
    if not names:
        return f"the policy of {population!r} names no keys, so an approval there is a name; give no key"
    if by not in names:
        return f"the policy of {population!r} lets {', '.join(names)} approve; {by!r} is none of them"
    if not has_key:
        return f"the policy of {population!r} wants approvals to be signed; give the key of {by!r} (--key FILE)"
    return f"this is not the key that the policy of {population!r} has for {by!r}; give that one"


@dataclass(frozen=True)
class WhatIf:
    """What a release would do to its population.

    Args:
        now: the figures of its standing.
        after: those after the release; None if it is refused.
        refusal: why the policy does not allow it; empty if it does.
        two_names: whether two persons have to approve it.
    """

    now: dict[str, Any]
    after: dict[str, Any] | None
    refusal: str
    two_names: bool


def _plain(name: str) -> str:
    """A name without what makes one person look like two: blanks, and small and capital letters."""
    return " ".join(name.split()).casefold()


class Running:
    """A payment whose release is being made."""

    def __init__(self, book: Book, payment: Payment):
        self.payment = payment
        self.asked = False
        self._book = book

    @property
    def receipt(self) -> dict[str, Any]:
        """What a release says of its book: the number of the payment, and the head that holds the reservation."""
        return {"payment": self.payment.number, "head": self.payment.head}

    def progress(self, stage: str) -> None:
        """To be told of each stage of a run; from the first that can ask about rows on, the reservation stays."""
        self.asked = self.asked or stage != "read"

    def finish(self, release: str) -> None:
        """Write down that the release is there."""
        self._book.spend(self.payment.number, release)
