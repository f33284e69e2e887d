"""Laplace or Gaussian noise: which needs less for a number of tables. Why it is private: docs/proofs/accounting.md."""

from __future__ import annotations

from sfumato.errors import MethodError
from sfumato.privacy.budget import ApproxDP, Budget, Currency, PureDP, Share, SkellamDP
from sfumato.privacy.mechanisms import Gaussian, Laplace, Noise
from sfumato.privacy.neighbours import Neighbours
from sfumato.privacy.sensitivity import Sensitivity


def planned_noise(share: Share, sensitivity: Sensitivity) -> Noise:
    """The noise that one holder of all rows would calibrate, for plans that are made before a ledger is opened."""
    noise = Laplace if share.currency is Currency.EPSILON else Gaussian
    return noise.calibrate(share.amount, sensitivity)


def choose_mechanism(budget: Budget, tables: int, neighbours: Neighbours) -> Budget:
    """The budget under which `tables` tables of equal cost have less noise in each cell.

    An (epsilon, delta) budget becomes PureDP(epsilon), which implies it, if Laplace noise with epsilon / tables for
    each table has a smaller variance than Gaussian noise; otherwise, and for all other budgets, it stays as it is. The
    answer follows from public numbers alone. It must be known before a ledger is opened: afterwards a ledger keeps to
    its kind of budget.
    """
    if tables < 1:
        raise MethodError(f"the noise of {tables} tables was asked for; give 1 or more")
    if not isinstance(budget, ApproxDP | SkellamDP):
        return budget
    pure = PureDP(budget.epsilon)
    laplace, gaussian = (
        planned_noise(Share(total.currency, total.amount / tables), neighbours.marginal).variance
        for total in (pure.total, budget.total)
    )
    return pure if laplace < gaussian else budget
