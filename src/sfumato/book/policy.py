"""Policies: what releases may cost a population, and who has to agree. Proofs: docs/proofs/accounting.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from fractions import Fraction
from typing import Any

from sfumato.errors import BudgetError
from sfumato.exact import exact_number, printed_up
from sfumato.identity import check_public
from sfumato.privacy.budget import SMALLEST, ZCDP, ApproxDP, Budget, PureDP, SkellamDP, budget_from_dict
from sfumato.privacy.conversions import cost_of_pure
from sfumato.privacy.sensitivity import Notion


@dataclass(frozen=True)
class Price:
    """What a release costs a population.

    Args:
        amount: in the currency of the policy.
        pure: an epsilon that is charged to the part which the policy keeps for pure releases.
        outside_delta: a delta that no currency has, of a release which only states one.
    """

    amount: Fraction
    pure: Fraction = Fraction(0)
    outside_delta: Fraction = Fraction(0)

    def __add__(self, other: Price) -> Price:
        sums = (one + two for one, two in zip(astuple(self), astuple(other), strict=True))
        return Price(*sums)


FREE = Price(Fraction(0))


@dataclass(frozen=True)
class Policy:
    """What may be spent on a population, fixed before its first release.

    Limits are epsilons (or rhos, if the budget is one) at the delta of the budget.

    Args:
        budget: for ever, over all releases; it also fixes the currency in which costs add up.
        per_release: for one release.
        per_year: for all releases that were reserved in one calendar year (UTC).
        two_names_above: a dearer release needs the approval of two persons.
        approvers: who may approve, and the public key of each: an approval is then a signature with that key. Without
            any, an approval is a name that somebody typed.
        pure_epsilon: the part of epsilon that is kept for pure releases, which add up within it. Without one they are
            paid in the currency of the budget, which is dear for an epsilon above about 0.3.
        outside_delta: the part of delta that is kept for releases which only state an (epsilon, delta).
        methods: the methods that may be used; all, if there are none.
    """

    budget: Budget
    per_release: Fraction | None = None
    per_year: Fraction | None = None
    two_names_above: Fraction | None = None
    pure_epsilon: Fraction = Fraction(0)
    outside_delta: Fraction = Fraction(0)
    methods: tuple[str, ...] = ()
    approvers: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        names, keys = [name for name, _ in self.approvers], [check_public(*one) for one in self.approvers]
        if len(set(names)) < len(names) or len(set(keys)) < len(keys) or (keys and len(keys) < 2):
            raise BudgetError("'approvers' needs two persons or more, each with a name and a key of their own")
        if self.pure_epsilon and not (
            isinstance(self.budget, ApproxDP | SkellamDP) and 0 < self.pure_epsilon < self.budget.epsilon
        ):
            raise BudgetError(
                "'pure_epsilon' is a part of the epsilon of a budget with delta; give less than that, or leave it out"
            )
        if self.outside_delta and not (
            isinstance(self.budget, ApproxDP | SkellamDP) and 0 < self.outside_delta < self.budget.delta
        ):
            raise BudgetError(
                "'outside_delta' is a part of the delta of the budget; give less than that, or leave it out"
            )
        for name in ("per_release", "per_year", "two_names_above"):
            if (limit := getattr(self, name)) is not None:
                self._limited(limit)  # refuses what is no budget

    @property
    def total(self) -> Fraction:
        """What may be spent for ever, in the currency of the policy."""
        return self._inside.total.amount

    @property
    def _inside(self) -> Budget:
        """The budget without the parts that are kept for pure releases and for those of others."""
        if isinstance(self.budget, ApproxDP | SkellamDP):
            return type(self.budget)(self.budget.epsilon - self.pure_epsilon, self.budget.delta - self.outside_delta)
        return self.budget

    def _limited(self, limit: Fraction) -> Budget:
        """The budget with another epsilon (or rho) and the same delta."""
        if isinstance(self.budget, ApproxDP | SkellamDP):
            return type(self.budget)(limit, self.budget.delta)
        return type(self.budget)(limit)

    def allows(self, spent: Price) -> bool:
        """Whether so much may be spent for ever: the filter on which the guarantee of the book rests."""
        return (
            spent.amount <= self.total and spent.pure <= self.pure_epsilon and spent.outside_delta <= self.outside_delta
        )

    def exceeds(self, spent: Price, limit: Fraction) -> bool:
        """Whether something costs more than a limit for one release or one year."""
        rest = limit - spent.pure
        if not spent.amount:
            return rest < 0
        return rest < SMALLEST or spent.amount > self._limited(rest).total.amount

    def wants_two_names(self, price: Price) -> bool:
        """Whether a release of that price needs the approval of two persons."""
        return self.two_names_above is not None and self.exceeds(price, self.two_names_above)

    def price(self, budget: Budget) -> Price:
        """What a release of that budget costs; a BudgetError where the policy's currency has no price for it."""
        notion = self.budget.notion
        if isinstance(budget, PureDP):
            return self.price_stated(budget.epsilon, Fraction(0))
        if isinstance(budget, ApproxDP) and notion is not Notion.PURE:
            return Price(budget.total.amount)  # Gaussian DP, which implies zCDP and its Renyi divergences
        if isinstance(budget, ZCDP) and notion in (Notion.CONCENTRATED, Notion.RENYI):
            return Price(budget.rho)
        if isinstance(budget, SkellamDP) and notion is Notion.RENYI:
            return Price(budget.total.amount)
        if isinstance(budget, SkellamDP) and notion is not Notion.PURE:
            return self.price_stated(budget.epsilon, budget.delta)
        raise BudgetError(
            f"a release with a budget of kind {budget.to_dict()['kind']!r} has no price in a book of kind "
            f"{self.budget.to_dict()['kind']!r}; give it another budget, or keep it in a book of its kind"
        )

    def price_stated(self, epsilon: Fraction, delta: Fraction) -> Price:
        """What a release costs of which nothing is known but its epsilon and delta."""
        if self.pure_epsilon:
            return Price(Fraction(0), epsilon, delta)
        return Price(cost_of_pure(epsilon, self.budget.notion), outside_delta=delta)

    def price_outside(self, budget: Budget) -> Price:
        """What a release of another tool costs, whose noise is not known: only what it states counts."""
        if isinstance(budget, ZCDP):
            return self.price(budget)
        return self.price_stated(budget.epsilon, Fraction(0) if isinstance(budget, PureDP) else budget.delta)

    def stated(self, spent: Price) -> dict[str, float]:
        """A sum of prices as epsilon and delta, or rho, rounded up, for readers."""
        stated = self._inside.spent(spent.amount)
        if "epsilon" in stated:
            stated["epsilon"] = float(printed_up(exact_number(stated["epsilon"]) + spent.pure, 15))
            stated["delta"] = float(printed_up(exact_number(stated["delta"]) + spent.outside_delta, 15))
        return stated

    def printed(self, spent: Price) -> str:
        """The epsilon or rho of a sum of prices, in a few digits."""
        stated = self.stated(spent)
        return printed_up(exact_number(stated.get("epsilon", stated.get("rho", 0.0))), 4)

    def to_dict(self) -> dict[str, Any]:
        """This policy as JSON."""
        limits = {name: getattr(self, name) for name in ("per_release", "per_year", "two_names_above")}
        return {
            "budget": self.budget.to_dict(),
            **{name: str(limit) for name, limit in limits.items() if limit is not None},
            **{name: str(getattr(self, name)) for name in ("pure_epsilon", "outside_delta") if getattr(self, name)},
            **({"methods": list(self.methods)} if self.methods else {}),
            **({"approvers": dict(self.approvers)} if self.approvers else {}),
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Policy:
        """Read a policy; what it does not know is an error, since a limit with a slip in its name would be none."""
        numbers = ("per_release", "per_year", "two_names_above", "pure_epsilon", "outside_delta")
        known = {"budget", "methods", "approvers", *numbers}
        try:
            if unknown := sorted(set(record) - known):
                raise BudgetError(f"a policy has the key {unknown[0]!r}; known keys are {', '.join(sorted(known))}")
            limits = {name: exact_number(record[name]) for name in numbers if name in record}
            methods = record.get("methods", [])
            if type(methods) is not list or any(type(one) is not str for one in methods):
                raise ValueError
            approvers = tuple((str(name), str(key).lower()) for name, key in record.get("approvers", {}).items())
            return cls(budget_from_dict(record["budget"]), **limits, methods=tuple(methods), approvers=approvers)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise BudgetError(
                "a policy cannot be read; wanted 'budget', such as {'kind': 'approximate', 'epsilon': '4', "
                "'delta': '1e-9'}, and limits as numbers"
            ) from None
