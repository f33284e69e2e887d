"""The noise in a holder's answers is the noise in its ledger: the charged width is accepted, 30 % off is rejected."""

from math import sqrt

import numpy as np
import pytest
from scipy import stats

from helpers_entropy import ScriptedEntropy
from helpers_holders import holder_of
from sfumato.data.coding import Merge
from sfumato.data.domain import Domain
from sfumato.data.records import Records
from sfumato.privacy.budget import ZCDP, ApproxDP, PureDP, SkellamDP
from sfumato.privacy.mechanisms import Laplace, Skellam
from sfumato.privacy.scores import GRID

DOMAIN = Domain({"a": 100, "b": 80})


def answers(budget, question):
    """Noise of many answers, and the event that was charged for them."""
    rng = np.random.default_rng(0)
    records = Records(DOMAIN, [rng.integers(0, 100, 5000), rng.integers(0, 80, 5000)])
    holder, ledger = holder_of(records, budget, entropy=ScriptedEntropy(5))
    if question == "dependence":
        pairs = [("a", "b")] * 2000
        noisy = holder.dependence(pairs, budget.total).scores * GRID
        exact = np.median(noisy)
    else:
        if question == "coded table":
            holder = holder.through(Merge((("a", tuple(code // 2 for code in range(100))),)))
        (table,) = holder.measure([("a", "b")], [budget.total])
        noisy = table.marginal.counts.ravel().astype(float)
        assert holder.variance(budget.total) == table.variance
        assert np.var(noisy) == pytest.approx(table.variance, rel=0.15)  # what the table says of itself
        exact = table.coding.apply(records.project(("a", "b"))).counts.ravel()
    ((_, event),) = ledger.statement().entries
    return noisy - exact, event


def fits(noise, event, factor):
    """Whether the noise could have the charged distribution with its width times `factor`."""
    if isinstance(event.noise, Laplace):
        scale = float(event.noise.scale) * factor
        return stats.kstest(noise, stats.laplace(scale=scale).cdf).pvalue > 1e-4
    sigma = sqrt(event.noise.mu) if isinstance(event.noise, Skellam) else float(event.noise.sigma)
    return stats.kstest(noise, stats.norm(scale=sigma * factor).cdf).pvalue > 1e-4


@pytest.mark.parametrize(
    ("budget", "question"),
    [
        (PureDP("0.05"), "table"),
        (ApproxDP("0.1", "1e-6"), "table"),
        (ZCDP("0.00001"), "table"),
        (SkellamDP("0.1", "1e-6"), "table"),
        (PureDP("0.05"), "coded table"),
        (ApproxDP("1", "1e-6"), "dependence"),
    ],
    ids=["Laplace table", "Gaussian table", "zCDP table", "Skellam table", "coded table", "Gaussian dependence"],
)
def test_the_noise_drawn_is_the_noise_charged(budget, question):
    noise, event = answers(budget, question)
    assert fits(noise, event, 1.0)
    assert not fits(noise, event, 0.7)
    assert not fits(noise, event, 1.3)


def test_the_whole_budget_is_one_gaussian_of_the_charged_mu():
    # White-box audit: the best test between neighbours sees a normal shifted by mu, which is what was charged.
    budget = ApproxDP(1, "1e-6")
    noise, event = answers(budget, "table")
    charged = sqrt(2 * float(event.cost(budget.notion)))
    measured = 1 / np.std(noise)
    assert measured == pytest.approx(charged, rel=0.1)
    assert charged == pytest.approx(sqrt(2 * float(budget.total.amount)), rel=1e-6)
