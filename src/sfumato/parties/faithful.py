"""The paper's own protection, in one process: for figures, and to show what is wrong with it. Never over a network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sfumato.data.schema import Schema
from sfumato.errors import BudgetError
from sfumato.pipeline import Model, Recipe
from sfumato.pipeline import run as run_recipe
from sfumato.privacy.budget import PureDP
from sfumato.privacy.holder import LocalHolder, Neighbours
from sfumato.privacy.ledger import Ledger, Statement
from sfumato.privacy.one_share import OneShareHolder


@dataclass(frozen=True)
class FaithfulOutcome:
    """What a faithful run gave, what it counts as spent by the paper's rules, and what these leave out."""

    model: Model
    statement: Statement
    notice: str


def corrected_epsilon(epsilon: Fraction, parties: int) -> Fraction:
    """What DP-SUBN provably costs its first party: three phases of epsilon / 4, and one update for each party.

    The paper counts the updates once; but each of them releases the first party's counts again, under fresh noise.
    """
    return epsilon * Fraction(3 + parties, 4)


def notice(epsilon: Fraction, parties: int) -> str:
    """The line that every report of a faithful run carries."""
    corrected = float(corrected_epsilon(epsilon, parties))
    return (
        f"NO GUARANTEE AGAINST PARTICIPANTS: with probability 1/{parties} a party can take all noise off. Against "
        f"others, the sequential updates of DP-SUBN cost the first party epsilon = {corrected:g}, "
        f"not {float(epsilon):g}"
    )


def run(recipe: Recipe, holders: Sequence[LocalHolder], schema: Schema, budget: PureDP) -> FaithfulOutcome:
    """Run a recipe over the union of rows, with one share of noise in every answer."""
    if not isinstance(budget, PureDP):
        raise BudgetError("the faithful mode adds Laplace noise, as the paper does; leave delta out")
    ledger = Ledger(budget, str(Neighbours.of(schema)))
    line = notice(budget.epsilon, len(holders))
    ledger.note("one share of noise in every answer", line)
    model = run_recipe(recipe, OneShareHolder(holders, ledger), schema, ledger)
    return FaithfulOutcome(model, ledger.statement(), line)
