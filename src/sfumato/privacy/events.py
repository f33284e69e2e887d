"""Privacy events: what was done to the rows, as data. Noise is drawn and charged from one and the same object."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.errors import BudgetError
from sfumato.exact import exact_number
from sfumato.privacy.noise import discrete_laplace_variance, rounded_gaussian_variance

LEAST_VARIANCE = 1e-12
"""Noise far narrower than 1 is all but surely 0; tables are weighed by its variance, which must not be."""


@dataclass(frozen=True)
class Laplace:
    """Discrete Laplace noise: P(x) proportional to exp(-|x| / scale) on the integers."""

    scale: Fraction

    def __post_init__(self) -> None:
        _require_positive("Laplace noise of scale", self.scale)

    @property
    def variance(self) -> float:
        """Variance of one draw."""
        return max(discrete_laplace_variance(self.scale), LEAST_VARIANCE)


@dataclass(frozen=True)
class Gaussian:
    """A normal deviate of standard deviation `sigma`, rounded to the nearest integer."""

    sigma: Fraction

    def __post_init__(self) -> None:
        _require_positive("Gaussian noise of standard deviation", self.sigma)

    @property
    def variance(self) -> float:
        """Variance of one draw."""
        return max(rounded_gaussian_variance(self.sigma), LEAST_VARIANCE)


@dataclass(frozen=True)
class Skellam:
    """The difference of two Poisson numbers, of variance `mu`: unlike rounded normals, shares of it add up exactly."""

    mu: Fraction

    def __post_init__(self) -> None:
        _require_positive("Skellam noise of variance", self.mu)

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

    def __post_init__(self) -> None:
        _require_positive("an L1 sensitivity of", self.l1)
        _require_positive("a squared L2 sensitivity of", self.l2_squared)

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
        kind, name = next((kind, name) for kind, (noise, name) in _NOISES.items() if isinstance(self.noise, noise))
        return {
            "event": kind,
            "question": self.question,
            name: str(getattr(self.noise, name)),
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

    def __post_init__(self) -> None:
        _require_positive("a choice of rate", self.rate)
        _require_positive("a choice among scores of sensitivity", self.sensitivity)

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
    """Read an event back; a kind that is not known is an error, never free, and so is a number that cannot be true."""
    try:
        kind, question = record["event"], str(record["question"])
        if kind == "free":
            return Free(question, str(record["reason"]))
        if kind == "choice":
            return Choice(question, exact_number(record["rate"]), _whole(record["sensitivity"]))
        if kind in _NOISES:
            noise, width = _NOISES[kind]
            sensitivity = Sensitivity(*(exact_number(record[f"sensitivity_{norm}"]) for norm in ("l1", "l2_squared")))
            # One person moves whole numbers by whole numbers, so that no coordinate's square is below its size.
            if not sensitivity.l1 <= sensitivity.l2_squared <= sensitivity.l1**2:
                raise ValueError("no whole numbers move by these L1 and L2 norms")
            return Noisy(question, noise(exact_number(record[width])), sensitivity)
    except (KeyError, TypeError, ValueError) as problem:
        raise BudgetError(f"a ledger event cannot be read ({problem!r}); wanted the keys that Sfumato writes") from None
    raise BudgetError(
        f"a ledger has an event of kind {kind!r}; known kinds are laplace, gaussian, skellam, choice and free"
    )


_NOISES: dict[str, tuple[type[Laplace] | type[Gaussian] | type[Skellam], str]] = {
    "laplace": (Laplace, "scale"),
    "gaussian": (Gaussian, "sigma"),
    "skellam": (Skellam, "mu"),
}
"""Kinds of noise as they are written down, and the name of their width."""


def _whole(value: Any) -> int:
    exact = exact_number(value)
    if exact.denominator != 1:
        raise ValueError(f"{exact} is not whole")
    return int(exact)


def _require_positive(what: str, number: Fraction | int) -> None:
    # Noise without width would hide nothing, and what moves nothing, or less than nothing, would cost nothing.
    if not number > 0:
        raise BudgetError(f"{what} {number} was given; it must be above 0")
