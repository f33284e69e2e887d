"""Known bugs, to be switched on: an audit that does not notice them is worth nothing.

Each is a fault that some published system has had. They live in this process for as long as the block runs, and there
is no way to switch one on for a run on private rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from sfumato.data.records import Records
from sfumato.errors import MethodError
from sfumato.intake.codec import SchemaCodec
from sfumato.privacy.entropy import Entropy, SystemEntropy
from sfumato.privacy.events import Event
from sfumato.privacy.holder import LocalHolder
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.mechanisms import Gaussian, Laplace, Skellam
from sfumato.privacy.neighbours import Neighbours
from sfumato.privacy.party_holder import PartyHolder
from sfumato.privacy.sensitivity import Sensitivity


@dataclass(frozen=True)
class Mutant:
    """A bug: what it is, which check must notice it, and how it is switched on."""

    summary: str
    noticed_by: str
    patches: Callable[[], Sequence[Any]]


def _double_spend() -> Sequence[Any]:
    charge = Ledger.charge

    def forgetful(self: Ledger, *events: Event) -> range:
        before = self._spent
        numbers = charge(self, *events)
        self._spent = before
        return numbers

    return [patch.object(Ledger, "charge", forgetful)]


def _narrow_noise() -> Sequence[Any]:
    def narrow(kind: Any, name: str, square: bool) -> Any:
        draw = kind.draw

        def drawn(self: Any, size: int, entropy: Entropy) -> NDArray[np.int64]:
            factor = Fraction(1, 2) if square else Fraction(isqrt(1 << 40), 1 << 20) * Fraction(7071, 10_000)
            return np.asarray(draw(kind(getattr(self, name) * factor), size, entropy))

        return patch.object(kind, "draw", drawn)

    return [narrow(Gaussian, "sigma", False), narrow(Laplace, "scale", False), narrow(Skellam, "mu", True)]


def _repeated_noise() -> Sequence[Any]:
    known: dict[Any, NDArray[np.int64]] = {}

    def repeated(kind: Any) -> Any:
        draw = kind.draw

        def drawn(self: Any, size: int, entropy: Entropy) -> NDArray[np.int64]:
            key = (id(entropy), self, size)
            if key not in known:
                known[key] = draw(self, size, entropy)
            return known[key]

        return patch.object(kind, "draw", drawn)

    return [repeated(Gaussian), repeated(Laplace), repeated(Skellam)]


def _fixed_seed() -> Sequence[Any]:
    def start(self: SystemEntropy) -> None:
        self.fixed = np.random.PCG64(1)  # type: ignore[attr-defined]

    def words(self: SystemEntropy, count: int) -> NDArray[np.uint64]:
        return np.asarray(self.fixed.random_raw(count), dtype=np.uint64)  # type: ignore[attr-defined]

    return [patch.object(SystemEntropy, "__init__", start), patch.object(SystemEntropy, "words", words)]


def _quiet_zeros() -> Sequence[Any]:
    measure = LocalHolder.measure

    def quiet(self: LocalHolder, cliques: Any, parts: Any) -> Any:
        tables = measure(self, cliques, parts)
        for one, exact in zip(tables, self._engine.count(self.coding, cliques), strict=True):
            counts = one.marginal.counts.copy()
            counts[exact.counts == 0] = 0
            object.__setattr__(one.marginal, "counts", counts)
        return tables

    return [patch.object(LocalHolder, "measure", quiet)]


def _unclipped_rows() -> Sequence[Any]:
    def everything(person: Any, priority: Any, key: Any, most: int) -> Any:
        return np.ones(len(person), dtype=np.bool_)

    return [patch("sfumato.engines.persons.first_of_each", everything)]


def _half_sensitivity() -> Sequence[Any]:
    marginal = Neighbours.marginal.fget  # type: ignore[attr-defined]

    def half(self: Neighbours) -> Sensitivity:
        right = marginal(self)
        return Sensitivity(right.l1 / 2, right.l2_squared / 4)

    return [patch.object(Neighbours, "marginal", property(half))]


def _domain_from_data() -> Sequence[Any]:
    encode = SchemaCodec.encode

    def by_appearance(self: SchemaCodec, table: Any) -> Records:
        records = encode(self, table)
        columns = []
        for codes in records.columns:
            _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
            columns.append(np.argsort(np.argsort(-first))[inverse])  # the code that comes last is 0
        return Records(records.domain, columns)

    return [patch.object(SchemaCodec, "encode", by_appearance)]


def _peek() -> Sequence[Any]:
    from sfumato.learn import measure as module

    measure = module.measure

    def peeking(holder: Any, cliques: Any, share: Any, power: float, weights: Any = ()) -> Any:
        rows = getattr(getattr(holder, "holder", holder), "_engine", None)
        if rows is None:  # a curator of parties, who has no rows to peek at
            return measure(holder, cliques, share, power, weights)
        (total,) = rows.count(holder.coding, [()])
        odd = int(total.counts.sum()) % 2
        return measure(holder, cliques, share.part(Fraction(99, 100)) if odd else share, power, weights)

    return [patch.object(module, "measure", peeking)]


def _thin_shares() -> Sequence[Any]:
    def thin(kind: Any) -> Any:
        draw = kind.draw_share

        def drawn(self: Any, honest: int, size: int, entropy: Entropy) -> NDArray[np.int64]:
            return np.asarray(draw(self, honest + 1, size, entropy))

        return patch.object(kind, "draw_share", drawn)

    return [thin(Laplace), thin(Skellam)]


def _no_mask() -> Sequence[Any]:
    share = PartyHolder.share

    def bare(self: PartyHolder, coding: Any, cliques: Any, noises: Any, honest: int, mask: Any, ledger: Any) -> Any:
        return share(self, coding, cliques, noises, honest, np.zeros_like(mask), ledger)

    return [patch.object(PartyHolder, "share", bare)]


MUTANTS: dict[str, Mutant] = {
    "double-spend": Mutant("what was spent is forgotten, so it is spent again", "replay", _double_spend),
    "narrow-noise": Mutant("noise is drawn with half the variance that is charged for", "noise", _narrow_noise),
    "repeated-noise": Mutant("tables of one run get the same noise", "noise", _repeated_noise),
    "fixed-seed": Mutant("every run draws the same noise", "noise", _fixed_seed),
    "quiet-zeros": Mutant("empty cells get no noise", "noise", _quiet_zeros),
    "unclipped-rows": Mutant("all rows of a person are counted", "replay", _unclipped_rows),
    "half-sensitivity": Mutant("one person counts for half", "replay", _half_sensitivity),
    "domain-from-data": Mutant("codes depend on which values occur", "encoding", _domain_from_data),
    "peek": Mutant("the budget of a table depends on an exact count", "replay", _peek),
    "thin-shares": Mutant("each party relies on one more honest party than there is", "parties", _thin_shares),
    "no-mask": Mutant("the answers of a party leave without its mask", "parties", _no_mask),
}


@contextmanager
def mutant(name: str) -> Iterator[Mutant]:
    """Switch a known bug on while the block runs."""
    if name not in MUTANTS:
        raise MethodError(f"mutant {name!r} is unknown; known ones are {', '.join(MUTANTS)}")
    found = MUTANTS[name]
    with ExitStack() as stack:
        for one in found.patches():
            stack.enter_context(one)
        yield found
