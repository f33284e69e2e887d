"""google/dpsynth: its MST, AIM and SWIFT on codes, with its own one-way tables and merging of rare codes."""

import math

import jax
import mbi
import numpy as np
import pandas as pd
from contract import answer, request
from dpsynth import discrete_mechanisms as mechanisms
from scipy.optimize import bisect
from scipy.stats import norm

CONFIGS = {"mst": mechanisms.MSTConfig, "aim": mechanisms.AIMConfig, "swift": mechanisms.SWIFTConfig}


def gaussian_rho(epsilon: float, delta: float) -> float:
    """Half the squared mu of the Gaussian release that is (epsilon, delta)-DP: what SWIFT, all Gaussian, may spend.

    Its own search begins at a budget of 0, by which it divides (dpsynth 0.3.0 with dp-accounting from PyPI).
    """

    def excess(mu: float) -> float:
        found = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
        return float(found - delta)

    return bisect(excess, 1e-4, 20) ** 2 / 2


def main() -> None:
    """Run one mechanism, with its defaults."""
    jax.config.update("jax_enable_x64", True)  # mbi's own advice, for tables as large as these
    jax.config.update("jax_enable_compilation_cache", False)
    asked = request()
    np.random.seed(asked.seed)  # noqa: NPY002 - mbi draws rows from the global generator
    rows = mbi.Dataset({name: asked.rows[name].to_numpy() for name in asked.sizes}, mbi.Domain.fromdict(asked.sizes))
    whole = mechanisms.DiscreteConfig(mechanism=CONFIGS[asked.variant](), compress_columns=True)
    if asked.variant == "swift":
        calibrated = whole.configure(zcdp_rho=gaussian_rho(asked.epsilon, asked.delta))
    else:
        calibrated = whole.calibrate(epsilon=asked.epsilon, delta=asked.delta)
    made = calibrated(np.random.default_rng(asked.seed), rows)
    answer(asked, pd.DataFrame(made.synthetic_data.to_dict()))


if __name__ == "__main__":
    main()
