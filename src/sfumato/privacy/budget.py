"""Budgets: what a release may cost in all, and exact shares of it.

A budget names its notion of privacy, which is the price list for events, and the noise that it buys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any, ClassVar

from sfumato.errors import BudgetError, BudgetExceeded
from sfumato.exact import exact_number, printed_up
from sfumato.privacy.accountant import gaussian_budget, gaussian_epsilon, renyi_budget, renyi_epsilon
from sfumato.privacy.mechanisms import Gaussian, Laplace, Noise, Skellam
from sfumato.privacy.sensitivity import Notion

SMALLEST, LARGEST = Fraction(1, 10_000), Fraction(10_000)
"""The range of epsilon for which calibration is tested."""


class Currency(Enum):
    """What a budget is counted in."""

    EPSILON = "epsilon"
    RHO = "rho"


@dataclass(frozen=True)
class Share:
    """A part of a budget: an exact amount of epsilon (pure DP) or of rho (zCDP and approximate DP)."""

    currency: Currency
    amount: Fraction

    def split(self, weights: Sequence[float]) -> tuple[Share, ...]:
        """Parts in proportion to `weights` that together are exactly this share."""
        exact = [Fraction(weight) for weight in weights]
        if not exact or min(exact) <= 0:
            raise BudgetError("a share can only be split by positive weights; give at least one")
        whole = sum(exact)
        return tuple(Share(self.currency, self.amount * weight / whole) for weight in exact)

    def part(self, fraction: Fraction) -> Share:
        """A fraction of this share."""
        return Share(self.currency, self.amount * fraction)


@dataclass(frozen=True)
class PureDP:
    """Pure differential privacy: every answer is at most e^epsilon times as likely with a person as without."""

    notion: ClassVar[Notion] = Notion.PURE
    currency: ClassVar[Currency] = Currency.EPSILON
    noise: ClassVar[type[Noise]] = Laplace

    epsilon: Fraction

    def __init__(self, epsilon: float | str | Fraction):
        object.__setattr__(self, "epsilon", _positive("epsilon", epsilon, SMALLEST, LARGEST))

    @property
    def total(self) -> Share:
        """All of it."""
        return Share(self.currency, self.epsilon)

    @property
    def guarantee(self) -> dict[str, float]:
        """What a run within this budget guarantees, whatever it spends; rounded up."""
        return {"epsilon": _rounded_up(self.epsilon), "delta": 0.0}

    def spent(self, amount: Fraction) -> dict[str, float]:
        """A cost in the terms of this budget, for readers. It guarantees nothing: it may depend on the answers."""
        return {"epsilon": _rounded_up(amount), "delta": 0.0}

    def to_dict(self) -> dict[str, Any]:
        """This budget as JSON."""
        return {"kind": "pure", "epsilon": str(self.epsilon)}


@dataclass(frozen=True)
class ZCDP:
    """Zero-concentrated differential privacy with parameter rho."""

    notion: ClassVar[Notion] = Notion.CONCENTRATED
    currency: ClassVar[Currency] = Currency.RHO
    noise: ClassVar[type[Noise]] = Gaussian

    rho: Fraction

    def __init__(self, rho: float | str | Fraction):
        object.__setattr__(self, "rho", _positive("rho", rho, Fraction(1, 10**12), Fraction(10**9)))

    @property
    def total(self) -> Share:
        """All of it."""
        return Share(self.currency, self.rho)

    @property
    def guarantee(self) -> dict[str, float]:
        """What a run within this budget guarantees, whatever it spends; rounded up."""
        return {"rho": _rounded_up(self.rho)}

    def spent(self, amount: Fraction) -> dict[str, float]:
        """A cost in the terms of this budget, for readers. It guarantees nothing: it may depend on the answers."""
        return {"rho": _rounded_up(amount)}

    def to_dict(self) -> dict[str, Any]:
        """This budget as JSON."""
        return {"kind": "zcdp", "rho": str(self.rho)}


@dataclass(frozen=True)
class _WithDelta:
    epsilon: Fraction
    delta: Fraction

    def __init__(self, epsilon: float | str | Fraction, delta: float | str | Fraction):
        object.__setattr__(self, "epsilon", _positive("epsilon", epsilon, SMALLEST, LARGEST))
        object.__setattr__(self, "delta", _positive("delta", delta, Fraction(1, 10**30), Fraction(1, 10)))

    @property
    def guarantee(self) -> dict[str, float]:
        """What a run within this budget guarantees, whatever it spends; rounded up."""
        return {"epsilon": _rounded_up(self.epsilon), "delta": _rounded_up(self.delta)}


@dataclass(frozen=True, init=False)
class ApproxDP(_WithDelta):
    """Approximate differential privacy: pure DP with epsilon, except for a probability of at most delta."""

    notion: ClassVar[Notion] = Notion.GAUSSIAN
    currency: ClassVar[Currency] = Currency.RHO
    noise: ClassVar[type[Noise]] = Gaussian

    @property
    def total(self) -> Share:
        """All of it: the largest Gaussian cost that is (epsilon, delta)-DP, rounded down."""
        return Share(self.currency, gaussian_budget(float(self.epsilon), float(self.delta)))

    def spent(self, amount: Fraction) -> dict[str, float]:
        """A cost at this budget's delta, for readers. It guarantees nothing: it may depend on the answers."""
        return {"epsilon": gaussian_epsilon(amount, float(self.delta)), "delta": _rounded_up(self.delta)}

    def to_dict(self) -> dict[str, Any]:
        """This budget as JSON."""
        return {"kind": "approximate", "epsilon": str(self.epsilon), "delta": str(self.delta)}


@dataclass(frozen=True, init=False)
class SkellamDP(_WithDelta):
    """Approximate differential privacy over many parties, whose Skellam noise is charged by Renyi divergences."""

    notion: ClassVar[Notion] = Notion.RENYI
    currency: ClassVar[Currency] = Currency.RHO
    noise: ClassVar[type[Noise]] = Skellam

    @property
    def total(self) -> Share:
        """All of it: the largest Renyi cost that is (epsilon, delta)-DP, rounded down."""
        return Share(self.currency, renyi_budget(float(self.epsilon), float(self.delta)))

    def spent(self, amount: Fraction) -> dict[str, float]:
        """A cost at this budget's delta, for readers. It guarantees nothing: it may depend on the answers."""
        return {"epsilon": renyi_epsilon(amount, float(self.delta)), "delta": _rounded_up(self.delta)}

    def to_dict(self) -> dict[str, Any]:
        """This budget as JSON."""
        return {"kind": "skellam", "epsilon": str(self.epsilon), "delta": str(self.delta)}


Budget = PureDP | ZCDP | ApproxDP | SkellamDP


def amount_of(part: Share, budget: Budget) -> Fraction:
    """The amount of a part of a budget; one of another currency is refused, since its number means something else."""
    if part.currency is not budget.currency:
        raise BudgetError(f"a part of {part.currency.value} was given; the ledger counts {budget.currency.value}")
    if part.amount <= 0:
        raise BudgetExceeded(
            f"a question was to cost {part.amount} {part.currency.value}; no noise is wide enough for that; "
            "nothing was computed"
        )
    return part.amount


def budget_of(epsilon: float | str | None, delta: float | str | None) -> Budget:
    """The budget that a user means by epsilon and delta; no delta (or 0) is pure DP."""
    if epsilon is None:
        raise BudgetError("no epsilon was given; say how much privacy may be spent, for example epsilon = 1")
    if delta is None or delta == 0 or delta == "0":
        return PureDP(epsilon)
    return ApproxDP(epsilon, delta)


def budget_from_dict(record: Mapping[str, Any]) -> Budget:
    """Read a budget back from JSON."""
    match record.get("kind"):
        case "pure":
            return PureDP(record["epsilon"])
        case "zcdp":
            return ZCDP(record["rho"])
        case "approximate":
            return ApproxDP(record["epsilon"], record["delta"])
        case "skellam":
            return SkellamDP(record["epsilon"], record["delta"])
        case kind:
            raise BudgetError(
                f"a ledger has a budget of kind {kind!r}; known kinds are pure, zcdp, approximate and skellam"
            )


def _positive(name: str, value: float | str | Fraction, low: Fraction, high: Fraction) -> Fraction:
    """An exact fraction from a user's number: 0.1 means one tenth, not the nearest binary float."""
    given = str(value)[:40]
    try:
        exact = exact_number(value)
    except ValueError:
        raise BudgetError(
            f"{name} is {given!r}; a number above 0 is wanted, for example {name} = {_EXAMPLE[name]}"
        ) from None
    if exact <= 0:
        raise BudgetError(f"{name} is {given}; it must be above 0, for example {name} = {_EXAMPLE[name]}")
    if not low <= exact <= high:
        raise BudgetError(f"{name} is {given}; it must lie between {float(low):g} and {float(high):g}")
    return exact


def _rounded_up(value: Fraction) -> float:
    """A float whose decimal text is not below the exact value: 0.3 for three tenths, whatever the nearest float is."""
    return float(printed_up(value, 15))


_EXAMPLE = {"epsilon": "1", "rho": "0.1", "delta": "1e-9"}
