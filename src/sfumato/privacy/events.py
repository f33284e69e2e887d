"""Privacy events: what was done to the rows, as data. Noise is drawn and charged from one and the same object."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.errors import BudgetError
from sfumato.privacy.noise import discrete_laplace_variance, rounded_gaussian_variance

LEAST_VARIANCE = 1e-12
"""Noise far narrower than 1 is all but surely 0; tables are weighed by its variance, which must not be."""


@dataclass(frozen=True)
class Laplace:
    """Discrete Laplace noise: P(x) proportional to exp(-|x| / scale) on the integers."""

    scale: Fraction

    @property
    def variance(self) -> float:
        """Variance of one draw."""
        return max(discrete_laplace_variance(self.scale), LEAST_VARIANCE)


@dataclass(frozen=True)
class Gaussian:
    """A normal deviate of standard deviation `sigma`, rounded to the nearest integer."""

    sigma: Fraction

    @property
    def variance(self) -> float:
        """Variance of one draw."""
        return max(rounded_gaussian_variance(self.sigma), LEAST_VARIANCE)


@dataclass(frozen=True)
class Skellam:
    """The difference of two Poisson numbers, of variance `mu`: unlike rounded normals, shares of it add up exactly."""

    mu: Fraction

    @property
    def variance(self) -> float:
        """Variance of one draw."""
        return max(float(self.mu), LEAST_VARIANCE)


Noise = Laplace | Gaussian | Skellam


@dataclass(frozen=True)
class Sensitivity:
    """How far one person can move an answer: the L1 norm, and the square of the L2 norm (which is rational)."""

    l1: Fraction
    l2_squared: Fraction

    @classmethod
    def single(cls, bound: int) -> Sensitivity:
        """Of one number that moves by at most `bound`."""
        return cls(Fraction(bound), Fraction(bound) ** 2)

    def repeated(self, times: int) -> Sensitivity:
        """Of `times` such answers side by side."""
        return Sensitivity(self.l1 * times, self.l2_squared * times)


@dataclass(frozen=True)
class Noisy:
    """An answer of integers about the rows, released with independent noise on each of them."""

    question: str
    noise: Noise
    sensitivity: Sensitivity

    def to_dict(self) -> dict[str, Any]:
        """This event as JSON; every number is an exact fraction in text form."""
        match self.noise:
            case Laplace(width):
                kind, name = "laplace", "scale"
            case Gaussian(width):
                kind, name = "gaussian", "sigma"
            case Skellam(width):
                kind, name = "skellam", "mu"
        return {
            "event": kind,
            "question": self.question,
            name: str(width),
            "sensitivity_l1": str(self.sensitivity.l1),
            "sensitivity_l2_squared": str(self.sensitivity.l2_squared),
        }


@dataclass(frozen=True)
class Choice:
    """One of several candidates, drawn with probability proportional to exp(rate * score).

    One person moves every score by at most `sensitivity`, in the unit of the scores.
    """

    question: str
    rate: Fraction
    sensitivity: int

    @property
    def epsilon(self) -> Fraction:
        """Weights move by a factor of at most exp(rate * sensitivity), and so does their sum, maybe the other way."""
        return 2 * self.rate * self.sensitivity

    def to_dict(self) -> dict[str, Any]:
        """This event as JSON; every number is exact."""
        return {
            "event": "choice",
            "question": self.question,
            "rate": str(self.rate),
            "sensitivity": str(self.sensitivity),
        }


@dataclass(frozen=True)
class Free:
    """A step that read no rows, recorded so that the ledger is the whole story of a run."""

    question: str
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """This event as JSON."""
        return {"event": "free", "question": self.question, "reason": self.reason}


Event = Noisy | Choice | Free


def event_from_dict(record: dict[str, Any]) -> Event:
    """Read an event back; a kind that is not known is an error, never free."""
    try:
        kind = record["event"]
        if kind == "free":
            return Free(record["question"], record["reason"])
        if kind == "choice":
            return Choice(record["question"], Fraction(record["rate"]), int(record["sensitivity"]))
        sensitivity = Sensitivity(Fraction(record["sensitivity_l1"]), Fraction(record["sensitivity_l2_squared"]))
        if kind == "laplace":
            return Noisy(record["question"], Laplace(Fraction(record["scale"])), sensitivity)
        if kind == "gaussian":
            return Noisy(record["question"], Gaussian(Fraction(record["sigma"])), sensitivity)
        if kind == "skellam":
            return Noisy(record["question"], Skellam(Fraction(record["mu"])), sensitivity)
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as problem:
        raise BudgetError(f"a ledger event cannot be read ({problem!r}); wanted the keys that Sfumato writes") from None
    raise BudgetError(
        f"a ledger has an event of kind {kind!r}; known kinds are laplace, gaussian, skellam, choice and free"
    )
