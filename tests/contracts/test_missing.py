"""Missing stays missing, and spikes stay spikes: every method keeps their shares where the noise lets it."""

import numpy as np
import pyarrow as pa
import pytest

from sfumato.fitting import fit
from sfumato.recipes import RECIPES
from sfumato.schema.schema import Schema

SCHEMA = Schema.parse(
    {
        "name": "t",
        "columns": [
            {"name": "days", "type": "integer", "min": 0, "max": 30, "bins": 6, "special": [999], "nullable": True},
            {"name": "sex", "type": "categorical", "categories": ["f", "m"], "nullable": True},
            {"name": "old", "type": "boolean"},
        ],
    }
)


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=lambda recipe: recipe.name)
def test_shares_of_missing_and_special_values_are_kept(recipe):
    rng = np.random.default_rng(1)
    rows = 4_000
    days = np.where(rng.random(rows) < 0.6, 999, rng.integers(0, 31, rows))
    table = pa.table(
        {
            "days": pa.array(days, mask=rng.random(rows) < 0.1),
            "sex": pa.array(rng.choice(["f", "m"], rows), mask=rng.random(rows) < 0.2),
            "old": rng.random(rows) < 0.5,
        }
    )
    # At epsilon 8 noise moves a share by a fraction of a percent; six of its deviations are far below 3 %.
    sample = fit(table, SCHEMA, epsilon="8", delta="1e-6", method=recipe).sample_arrow(rows, seed=1)
    assert sample["days"].null_count / rows == pytest.approx(0.1, abs=0.03)
    assert sample["sex"].null_count / rows == pytest.approx(0.2, abs=0.04)
    assert sum(value == 999 for value in sample["days"].to_pylist()) / rows == pytest.approx(0.54, abs=0.05)
