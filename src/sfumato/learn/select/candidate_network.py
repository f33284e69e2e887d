"""A Bayesian network from noisy tables of all candidates: DP-CCBN, section V of Su et al.

Where we depart from the paper, and why: the paper asks for the tables of all candidates again in each of d - 1 steps.
All of them lie in the tables of any k + 1 columns, so one question with the whole budget serves all steps: for 52
binary columns and k = 2 it has 22,100 tables, where the steps of the paper have 292,825, and pay for each.
The degree, or the limit on cells, is chosen as DP-SUBN does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from math import comb

import numpy as np

from sfumato.data.domain import Clique, Domain
from sfumato.learn import Known, Learned
from sfumato.learn.select.frontier import Usefulness
from sfumato.learn.select.frontier_network import MOST_CELLS, Parents, ask, network_selection, noise_scale
from sfumato.learn.select.gain import Gain
from sfumato.learn.select.parent_sets import maximal_sets
from sfumato.models.noisy_tables import NoisyTables
from sfumato.privacy.budget import Share
from sfumato.privacy.holder import Holder

COUNT_PART = 1 / 50
"""The part of the share that measures the number of rows, on which the size of the tables depends."""


@dataclass(frozen=True)
class CandidateNetwork:
    """A greedy network, every step of it from the same noisy tables.

    Args:
        score: I (mutual information), which the paper uses, or R (distance to independence); see `Gain`.
        price: the part of a table's expected noise by which its gain is lowered (R only).
        theta: of the tables of the network; see `Usefulness`.
        most_tables: at most this many candidates are measured; where there would be more, tables are made smaller.
        seed: of the sets of columns that are tried where there are too many to list; public.
    """

    score: str = "R"
    price: float = 1.2
    theta: float = 6.0
    most_tables: int = 25_000
    seed: int = 0

    def __call__(self, holder: Holder, known: Known, share: Share, ahead: Share) -> Learned:
        """The tables of the network; those that lie inside another one are not measured again."""
        domain = holder.domain.project([name for name in holder.domain if holder.domain[name] > 1])
        if len(domain) < 2:
            return Learned(network_selection(holder.domain, dict.fromkeys(domain, ())))
        counting, choosing = share.split([COUNT_PART, 1 - COUNT_PART])
        (total,) = ask(holder, [()], counting)
        scale = noise_scale(holder, ahead)
        useful = Usefulness(domain.shape, max(1.0, total.marginal.total), self.theta)
        cells = min(useful.network_cells(scale), MOST_CELLS)
        tables = ask(holder, self.candidates(domain, cells), choosing)
        noisy = NoisyTables(domain, tables)
        gain = Gain(self.score, self.price * scale(len(domain)) / 2 if self.score == "R" else 0.0)
        chosen = network_selection(holder.domain, greedy_network(noisy, gain))
        return Learned(replace(chosen, too_large=domain.pairs_above(cells)), (total, *tables))

    def candidates(self, domain: Domain, cells: float) -> tuple[Clique, ...]:
        """All sets of columns that are as large as `cells` cells allow, and at most `most_tables` of them."""
        if all(size == 2 for size in domain.shape):
            degree = min(int(cells).bit_length() - 2, len(domain) - 1)
            while degree > 1 and comb(len(domain), degree + 1) > self.most_tables:
                degree -= 1
            return tuple(combinations(domain.names, degree + 1))
        rng = np.random.default_rng(self.seed)
        sets = maximal_sets([[item] for item in domain.items()], int(cells), self.most_tables, rng)
        alone = set(domain) - {name for one in sets for name in one}
        return (*(domain.canonical(one) for one in sets if one), *((name,) for name in domain if name in alone))


def greedy_network(noisy: NoisyTables, gain: Gain) -> Parents:
    """The network that takes, again and again, the column and the parents with the largest gain.

    It starts with the column that has the largest sum of gains with all others.
    """
    domain = noisy.domain
    first = domain.names[int(np.argmax(gain.pairs(noisy).sum(axis=0)))]
    network: Parents = {}
    best: dict[str, tuple[float, Clique]] = dict.fromkeys(domain, (0.0, ()))
    best[first] = (np.inf, ())
    while best:
        column = max(best, key=lambda name: best[name][0])
        network[column] = best.pop(column)[1]
        for other in best:
            sets = {domain.canonical(set(clique) & network.keys()) for clique in noisy.cliques_with(column, other)}
            for parents in sorted(sets):
                best[other] = max(best[other], (gain(noisy, other, parents), parents), key=lambda one: one[0])
    return network
