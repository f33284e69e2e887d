"""private-pgm: MST and AIM on mbi, whose wheel has the inference and no mechanism; so the mechanisms are ours.

MST: McKenna, Miklau and Sheldon, "Winning the NIST Contest" (2021). AIM: McKenna, Mullins, Sheldon and Miklau, "AIM: An
Adaptive and Iterative Mechanism" (2022), for all pairs of columns. Floating-point Gaussian noise, as in theirs.
"""

import itertools
import math

import jax
import mbi
import networkx as nx
import numpy as np
import pandas as pd
from contract import answer, request
from mbi.junction_tree import hypothetical_model_size
from scipy.optimize import bisect, minimize_scalar

MEGABYTES = 80
"""The largest model that AIM may grow to, as in its paper's experiments."""

ITERATIONS = 1000


def rho_of(epsilon: float, delta: float) -> float:
    """The zCDP budget that implies (epsilon, delta), by the bound of Canonne, Kamath and Steinke."""

    def epsilon_of(rho: float) -> float:
        def bound(log_order: float) -> float:
            order = 1 + math.exp(log_order)
            rest = math.log(1 / delta) + (order - 1) * math.log1p(-1 / order) - math.log(order)
            return rho * order + rest / (order - 1)

        return max(0.0, minimize_scalar(bound, bounds=(-5, 12), method="bounded").fun)

    return bisect(lambda rho: epsilon_of(rho) - epsilon, 1e-9, 100)


class Data:
    """The private rows, their noise, and what was measured."""

    def __init__(self, rows: pd.DataFrame, sizes: dict[str, int], seed: int):
        self.rng = np.random.default_rng(seed)
        self.table = mbi.Dataset({name: rows[name].to_numpy() for name in sizes}, mbi.Domain.fromdict(sizes))
        self.log: list[mbi.LinearMeasurement] = []

    def counts(self, clique: tuple[str, ...]) -> np.ndarray:
        """The true table."""
        return np.asarray(self.table.project(clique).datavector())

    def measure(self, clique: tuple[str, ...], sigma: float) -> np.ndarray:
        """A noisy table."""
        exact = self.counts(clique)
        noisy = exact + self.rng.normal(0, sigma, exact.size)
        self.log.append(mbi.LinearMeasurement(noisy, clique, sigma))
        return noisy

    def choose(self, scores: np.ndarray, epsilon: float, sensitivity: float) -> int:
        """The exponential mechanism."""
        return int(np.argmax(0.5 * epsilon / sensitivity * scores + self.rng.gumbel(size=len(scores))))

    def fit(self, warm_start: object = None) -> mbi.MarkovRandomField:
        """The model of all that was measured."""
        return mbi.estimation.MirrorDescent().estimate(
            self.table.domain, self.log, iters=ITERATIONS, warm_start=warm_start
        )

    def compress(self, sigma: float) -> dict[str, np.ndarray]:
        """Merge the values of each column whose noisy count is below three sigma, as MST does."""
        mapping = {}
        for one in self.log:
            kept = np.asarray(one.noisy_measurement) >= 3 * sigma
            if (~kept).sum() > 1:
                mapping[one.clique[0]] = np.where(kept, np.cumsum(kept) - 1, kept.sum())
        self.log = [one.compress(mapping, self.table.domain) for one in self.log]
        self.table = self.table.compress(mapping)
        return mapping


def mst(data: Data, rho: float) -> mbi.MarkovRandomField:
    """A third of the budget each for the columns, for a tree of pairs, and for the pairs of that tree."""
    names = data.table.domain.attributes
    tree = nx.Graph()
    tree.add_nodes_from(names)
    model = data.fit()
    pairs = list(itertools.combinations(names, 2))
    weights = {pair: distance(data, model, pair) for pair in pairs}
    epsilon = math.sqrt(8 * rho / 3 / (len(names) - 1))
    while not nx.is_connected(tree):
        parts = {name: place for place, part in enumerate(nx.connected_components(tree)) for name in part}
        open_pairs = [(a, b) for a, b in pairs if parts[a] != parts[b]]
        tree.add_edge(*open_pairs[data.choose(np.array([weights[pair] for pair in open_pairs]), epsilon, 1.0)])
    edges = [pair for pair in pairs if tree.has_edge(*pair)]
    for pair in edges:
        data.measure(pair, math.sqrt(3 * len(edges) / (2 * rho)))
    return data.fit()


def distance(data: Data, model: mbi.MarkovRandomField, clique: tuple[str, ...]) -> float:
    """The L1 distance between a true table and the model's."""
    return float(np.abs(data.counts(clique) - np.asarray(model.project(clique).datavector())).sum())


def aim(data: Data, rho: float) -> mbi.MarkovRandomField:
    """Choose the worst pair, measure it, fit again, until the budget is spent; budgets grow where noise drowns all."""
    domain = data.table.domain
    columns = len(domain.attributes)
    rounds = 16 * columns
    sigma, epsilon = math.sqrt(rounds / (2 * 0.9 * rho)), math.sqrt(8 * 0.1 * rho / rounds)
    pairs = list(itertools.combinations(domain.attributes, 2))
    candidates = [(name,) for name in domain.attributes] + pairs
    # A candidate counts as much as it overlaps the workload.
    weights = {one: float(sum(len(set(one) & set(other)) for other in pairs)) for one in candidates}
    for name in domain.attributes:
        data.measure((name,), sigma)
    spent = columns / (2 * sigma**2)
    model, last = data.fit(), False
    while not last:
        left = rho - spent
        last = left < 2 * (1 / (2 * sigma**2) + epsilon**2 / 8)
        if last:
            sigma, epsilon = math.sqrt(1 / (2 * 0.9 * left)), math.sqrt(8 * 0.1 * left)
        spent += epsilon**2 / 8 + 1 / (2 * sigma**2)
        measured = [one.clique for one in data.log]
        room = MEGABYTES * spent / rho
        fitting = [one for one in candidates if hypothetical_model_size(domain, [*measured, one]) <= room]
        errors = [distance(data, model, one) - math.sqrt(2 / math.pi) * sigma * domain.size(one) for one in fitting]
        scores = np.array([weights[one] * error for one, error in zip(fitting, errors, strict=True)])
        chosen = fitting[data.choose(scores, epsilon, max(weights[one] for one in fitting))]
        before = np.asarray(model.project(chosen).datavector())
        data.measure(chosen, sigma)
        model = data.fit(model)
        moved = np.abs(np.asarray(model.project(chosen).datavector()) - before).sum()
        if moved <= sigma * math.sqrt(2 / math.pi) * domain.size(chosen):
            sigma, epsilon = sigma / 2, epsilon * 2
    return model


def main() -> None:
    """Run one mechanism and draw as many rows as there were."""
    jax.config.update("jax_enable_x64", True)  # mbi's own advice, for tables as large as these
    jax.config.update("jax_enable_compilation_cache", False)
    asked = request()
    np.random.seed(asked.seed)  # noqa: NPY002 - mbi draws rows from the global generator
    data, rho = Data(asked.rows, asked.sizes, asked.seed), rho_of(asked.epsilon, asked.delta)
    mapping: dict[str, np.ndarray] = {}
    if asked.variant == "mst":
        sigma = math.sqrt(3 * len(asked.sizes) / (2 * rho))
        for name in asked.sizes:
            data.measure((name,), sigma)
        mapping = data.compress(sigma)
        model = mst(data, rho)
    else:
        model = aim(data, rho)
    made = model.synthetic_data(rows=len(asked.rows)).decompress(mapping)
    answer(asked, pd.DataFrame(made.to_dict()))


if __name__ == "__main__":
    main()
