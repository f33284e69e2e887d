"""Laplace or Gaussian noise: which needs less for a number of tables. Why it is private: docs/proofs/accounting.md."""

from __future__ import annotations

from sfumato.errors import MethodError
from sfumato.privacy.budget import ApproxDP, Budget, PureDP, Share, SkellamDP
from sfumato.privacy.holder import Neighbours


def less_noise(budget: Budget, tables: int, neighbours: Neighbours) -> Budget:
    """The budget under which `tables` tables of equal cost get the lesser noise in each cell.

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
        Share(total.unit, total.amount / tables).noise(neighbours.marginal).variance
        for total in (pure.total, budget.total)
    )
    return pure if laplace < gaussian else budget
