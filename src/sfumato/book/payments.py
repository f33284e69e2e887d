"""Payments: what the entries of a book say, as values. All of it is a function of the entries."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sfumato.book.chain import Entry
from sfumato.book.policy import FREE, Policy, Price
from sfumato.errors import BookError, BudgetExceeded
from sfumato.exact import printed_up
from sfumato.identity import verified
from sfumato.privacy.accountant import membership_advantage
from sfumato.privacy.budget import ZCDP, Budget, budget_from_dict
from sfumato.privacy.neighbours import Neighbours

PROPOSED, APPROVED, RESERVED, SPENT, ABORTED, OUTSIDE = (
    "proposed", "approved", "reserved", "spent", "aborted", "outside",
)  # fmt: skip
COUNTED = (RESERVED, SPENT, OUTSIDE)
"""States of payments that count against the budget. What other tools released counts as soon as it is known."""


@dataclass(frozen=True)
class Payment:
    """One release, as the book knows it.

    Args:
        number: of its first entry, by which it is called.
        population: whose budget pays.
        title: what people call the release.
        budget: what it may cost; it is charged in full, since what was spent follows from the answers.
        price: what that is in the currency of the policy.
        state: proposed, reserved, spent, aborted, or outside for a release of another tool.
        year: in which it was reserved.
        method: the method that is to run, if it is one of ours.
        approved_by: who agreed.
        proposal: the hash of its first entry, which covers all that is proposed and all that came before: what an
            approval is a signature of, where the policy names keys.
        release: the SHA-256 of the manifest of the release, once it is there.
        head: the hash of the last entry about it.
    """

    number: int
    population: str
    title: str
    budget: Budget
    price: Price
    state: str
    year: int
    method: str = ""
    approved_by: tuple[str, ...] = ()
    proposal: str = ""
    release: str | None = None
    head: str = ""


@dataclass(frozen=True)
class Standing:
    """What a population has spent and has left, in the currency of its policy."""

    policy: Policy
    protects: str
    payments: tuple[Payment, ...]

    def counted(self, year: int | None = None) -> Price:
        """The sum of all payments that count, of one year or of all."""
        found = (one for one in self.payments if one.state in COUNTED and year in (None, one.year))
        return sum((one.price for one in found), FREE)

    @property
    def left(self) -> Fraction:
        """What may still be spent for ever; below 0 if releases of other tools have cost more."""
        return self.policy.total - self.counted().amount

    def to_dict(self, extra: Price = FREE) -> dict[str, Any]:
        """Figures for readers: what was spent, also with a further release."""
        stated = self.policy.stated(self.counted() + extra)
        total = self.policy.budget.guarantee
        guess = None
        if not isinstance(self.policy.budget, ZCDP):
            guess = 0.5 + membership_advantage(stated["epsilon"], stated["delta"]) / 2
        return {"spent": stated, "of": total, "protects": self.protects, "best_guess": guess}


def populations(entries: Sequence[Entry]) -> dict[str, Entry]:
    """The entry that opened the account of each population."""
    return {entry["population"]: entry for entry in entries if entry["what"] == "opened"}


def account(entries: Sequence[Entry], population: str) -> Entry:
    """The entry that opened an account; a BookError if there is none."""
    known = populations(entries)
    if population not in known:
        names = ", ".join(known) or "none"
        raise BookError(f"the population {population!r} has no account in this book; known ones: {names}")
    return known[population]


def _neighbours(opened: Entry) -> Neighbours:
    return Neighbours(**opened["unit"])


def check_unit(entries: Sequence[Entry], population: str, given: Neighbours) -> None:
    """Refuse a release that protects somebody else: costs add up only if they are about the same persons.

    Where persons are told apart, the most rows that a table counts of each may differ from release to release.
    """
    wanted = _neighbours(account(entries, population))
    same = (wanted.replace, wanted.persons) == (given.replace, given.persons)
    if not same or not (wanted.persons or wanted.rows == given.rows):
        raise BookError(
            f"the account of {population!r} protects {wanted}, and this release would protect {given}; costs add up "
            "only if both protect the same: give a schema with the unit and neighbours of the account"
        )


def standing(entries: Sequence[Entry], population: str) -> Standing:
    """How a population stands after the last entry."""
    opened = account(entries, population)
    own = tuple(one for one in payments(entries) if one.population == population)
    return Standing(Policy.from_dict(opened["policy"]), str(_neighbours(opened)), own)


def payment(entries: Sequence[Entry], number: int, state: str) -> Payment:
    """A payment that is in this state; a BookError if it is not."""
    for one in payments(entries):
        if one.number == number:
            if one.state != state:
                raise BookError(f"payment {number} is {one.state}, and a {state} one is wanted")
            return one
    raise BookError(f"there is no payment {number} in this book; sfumato book show lists them")


def payments(entries: Sequence[Entry]) -> list[Payment]:
    """All payments as they stand after the last entry."""
    found: dict[int, Payment] = {}
    policies = {name: Policy.from_dict(one["policy"]) for name, one in populations(entries).items()}
    for entry in entries:
        what, year, number = entry["what"], int(entry["time"][:4]), entry["number"]
        if what in (PROPOSED, OUTSIDE):
            population = entry["population"]
            budget = budget_from_dict(entry["budget"])
            price = (policies[population].price if what == PROPOSED else policies[population].price_outside)(budget)
            method = entry.get("method", "")
            heads = {"proposal": entry["hash"], "head": entry["hash"]}
            found[number] = Payment(number, population, entry["title"], budget, price, what, year, method, **heads)
        elif what != "opened":
            old = replace(found[entry["payment"]], head=entry["hash"])
            if what == APPROVED:
                _check_approval(policies[old.population], old, entry)
                new = replace(old, approved_by=(*old.approved_by, entry["by"]))
            elif what == RESERVED:
                new = replace(old, state=what, year=year)
            else:
                new = replace(old, state=what, release=entry.get("release"))
            found[old.number] = new
    return list(found.values())


def approval_bytes(proposed: Payment) -> bytes:
    """What somebody signs to approve a payment."""
    return b"sfumato book: I approve the proposal " + proposed.proposal.encode()


def _check_approval(policy: Policy, proposed: Payment, entry: Entry) -> None:
    """Refuse a book in which somebody approved without the key that the policy names.

    A chain alone can't tell that: who can write the file can compute its hashes, but not somebody else's signature.
    """
    if not policy.approvers:
        return
    signature = bytes.fromhex(entry["signature"]) if re.fullmatch("[0-9a-f]{128}", entry.get("signature", "")) else b""
    if not verified(dict(policy.approvers).get(entry["by"], ""), signature, approval_bytes(proposed)):
        raise BookError(
            f"the approval of payment {proposed.number} at entry {entry['number']} is not signed with the key that the "
            "policy names; keep the file as evidence, and restore the newest copy that is whole"
        )


def check(own: Standing, population: str, title: str, price: Price, method: str, year: int) -> None:
    """Refuse a release that the policy does not allow; nothing has been written or read."""
    policy, unit = own.policy, "rho" if isinstance(own.policy.budget, ZCDP) else "epsilon"
    if policy.methods and method not in policy.methods:
        raise BookError(
            f"the policy of {population!r} allows the methods {', '.join(policy.methods)}; {method!r} was given"
        )
    after = own.counted() + price
    whole = policy.budget.rho if isinstance(policy.budget, ZCDP) else policy.budget.epsilon
    this_year = own.counted(year) + price
    problem = ""
    if not policy.allows(after):
        problem = f"{unit} {policy.printed(after)} of {printed_up(whole, 6)}{_parts(policy, after)}"
    elif policy.per_release is not None and policy.exceeds(price, policy.per_release):
        problem = f"{unit} {policy.printed(price)} of {printed_up(policy.per_release, 6)} in one release"
    elif policy.per_year is not None and policy.exceeds(this_year, policy.per_year):
        problem = f"{unit} {policy.printed(this_year)} of {printed_up(policy.per_year, 6)} in {year}"
    if problem:
        raise BudgetExceeded(
            f"{title!r} would bring the population {population!r} to {problem}; nothing was read and nothing was spent"
        )


def _parts(policy: Policy, after: Price) -> str:
    """Which part of a policy is used up, if it has several."""
    if after.outside_delta > policy.outside_delta:
        return ", and the policy keeps too little delta for releases that state only epsilon and delta (outside_delta)"
    if after.pure > policy.pure_epsilon:
        return f", of which {printed_up(policy.pure_epsilon, 6)} is kept for pure releases"
    if policy.pure_epsilon:
        return f", of which {printed_up(policy.pure_epsilon, 6)} is kept for pure releases and cannot be used here"
    return ""
