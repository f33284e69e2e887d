"""Draws per CPU second of our exact samplers, OpenDP's, and NumPy's (floating-point, insecure), in one run.

python benchmarks/noise.py [--draws 1000000] [--scale 50]
"""

import argparse
from collections.abc import Callable
from fractions import Fraction
from statistics import median
from time import process_time

import numpy as np
import opendp.prelude as dp
from rich.console import Console
from rich.table import Table

from sfumato.privacy.entropy import SystemEntropy
from sfumato.privacy.noise import discrete_laplace, rounded_gaussian


def samplers(scale: int, draws: int) -> dict[str, tuple[int, Callable[[], object]]]:
    """Each sampler with the number of draws of one call; OpenDP gets a tenth, because it is slow."""
    dp.enable_features("contrib")
    few = draws // 10
    zeros = np.zeros(few, dtype=np.int64)
    domain = dp.vector_domain(dp.atom_domain(T="i64"), size=few)
    laplace = (domain, dp.l1_distance(T="i64")) >> dp.m.then_laplace(scale=float(scale))
    gaussian = (domain, dp.l2_distance(T=float)) >> dp.m.then_gaussian(scale=float(scale))
    rng, entropy = np.random.default_rng(), SystemEntropy()
    return {
        "discrete Laplace": (draws, lambda: discrete_laplace(Fraction(scale), draws, entropy)),
        "rounded Gaussian": (draws, lambda: rounded_gaussian(Fraction(scale), draws, entropy)),
        "OpenDP Laplace": (few, lambda: laplace(zeros)),
        "OpenDP Gaussian": (few, lambda: gaussian(zeros)),
        "NumPy Laplace, rounded (insecure)": (draws, lambda: np.rint(rng.laplace(0, scale, draws))),
        "NumPy normal, rounded (insecure)": (draws, lambda: np.rint(rng.normal(0, scale, draws))),
    }


def main() -> None:
    """Time every sampler five times, in turn, and print medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=1_000_000)
    parser.add_argument("--scale", type=int, default=50)
    options = parser.parse_args()
    contestants = samplers(options.scale, options.draws)
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(5):
        for name, (_, draw) in contestants.items():
            started = process_time()
            draw()
            seconds[name].append(process_time() - started)
    speed = {name: contestants[name][0] / median(times) / 1e6 for name, times in seconds.items()}
    table = Table("sampler", "million draws / CPU s", "against OpenDP", title=f"scale {options.scale}")
    for name, value in speed.items():
        rival = speed["OpenDP Laplace" if "aplace" in name else "OpenDP Gaussian"]
        table.add_row(name, f"{value:.2f}", f"{value / rival:.0f}")
    Console().print(table)


if __name__ == "__main__":
    main()
