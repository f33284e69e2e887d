"""Is the output like the input? Public codes of these methods fail here while all their other tests pass."""

import json

import numpy as np
import pytest

from bench.baselines import INDEPENDENT
from helpers_entropy import ScriptedEntropy
from helpers_holders import holder_of
from sfumato.evaluate.marginals import cliques_of, mean_total_variation
from sfumato.intake.codec import SchemaCodec
from sfumato.pipeline import run
from sfumato.privacy.budget import ApproxDP
from sfumato.recipes.privsyn import PRIVSYN
from sfumato.schema.schema import Schema
from sfumato.survey import simulate, survey_schema_text

pytestmark = pytest.mark.xdist_group("utility")  # the fits below are shared

KEYS = json.loads(survey_schema_text())
KEYS.pop("rules")  # what methods do by themselves; tests/contracts/test_rules.py has the rules
SCHEMA = Schema.parse(KEYS)


@pytest.fixture(scope="module")
def real():
    return SchemaCodec(SCHEMA).encode(simulate())


def fitted(recipe, real, epsilon):
    """A run with scripted noise, so a figure is always the same."""
    holder, ledger = holder_of(real, ApproxDP(epsilon, "1e-9"), entropy=ScriptedEntropy(1))
    return run(recipe, holder, SCHEMA, ledger)


def errors(recipe, real, epsilon):
    """Mean total variation distance of all one- and two-way and 200 three-way tables, in the bins of the schema."""
    model = fitted(recipe, real, epsilon)
    rng = np.random.default_rng(0)
    synthetic = model.recoding.decode(
        recipe.synthesize(model.marginals, model.selection, model.marginals.rows, rng), rng
    )
    return np.array([mean_total_variation(real, synthetic, cliques_of(real.domain, k, 200)) for k in (1, 2, 3)])


@pytest.fixture(scope="module")
def privsyn(real):
    return {epsilon: errors(PRIVSYN, real, epsilon) for epsilon in ("0.2", "1", "5")}


@pytest.fixture(scope="module")
def independent(real):
    return {epsilon: errors(INDEPENDENT, real, epsilon) for epsilon in ("0.2", "1", "5")}


@pytest.mark.parametrize("epsilon", ["0.2", "5"])
def test_reconciled_tables_agree_to_the_stated_tolerance(real, epsilon):
    tables = fitted(PRIVSYN, real, epsilon).marginals
    for table in tables.tables:
        for name in table.clique:
            off = np.abs(table.project((name,)).counts - tables.project((name,)).counts).max()
            assert off <= PRIVSYN.reconcile.tolerance * tables.rows * 1.01


def test_error_falls_with_every_larger_epsilon(privsyn):
    assert (privsyn["0.2"] > privsyn["1"]).all()
    assert (privsyn["1"] > privsyn["5"]).all()


def test_it_beats_independent_columns(privsyn, independent):
    assert privsyn["1"][1] < 0.85 * independent["1"][1]
    assert privsyn["5"][1] < 0.6 * independent["5"][1]
    assert privsyn["5"][2] < 0.7 * independent["5"][2]


def test_at_a_small_budget_it_is_not_far_behind_independent_columns_and_ahead_where_three_meet(privsyn, independent):
    # Independent columns spend everything on one-way tables, PrivSyn a tenth.
    assert privsyn["0.2"][1] < 1.2 * independent["0.2"][1]
    assert privsyn["0.2"][2] < 1.05 * independent["0.2"][2]


def test_it_is_near_the_truth_and_not_uniform(privsyn, real):
    assert privsyn["5"][0] < 0.02
    assert privsyn["5"][1] < 0.07
    uniform = np.random.default_rng(0)
    from sfumato.data.records import Records

    nonsense = Records(real.domain, [uniform.integers(0, size, len(real)) for size in real.domain.shape])
    assert mean_total_variation(real, nonsense, cliques_of(real.domain, 2)) > 5 * privsyn["1"][1]
