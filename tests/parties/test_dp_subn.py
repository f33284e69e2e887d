"""DP-SUBN and DP-CCBN over many parties: every question is a round, and no ledger goes above epsilon."""

import numpy as np
import pytest

from helpers_parties import DOMAIN, SCHEMA, holders_of, rows_of, split
from sfumato.evaluate.marginals import cliques_of, mean_total_variation
from sfumato.job import Job
from sfumato.parties import local
from sfumato.privacy.budget import ApproxDP, PureDP
from sfumato.recipes.dp_ccbn import DP_CCBN
from sfumato.recipes.dp_subn import DP_SUBN

ROWS = rows_of(6_000)


@pytest.mark.parametrize("recipe", [DP_SUBN, DP_CCBN], ids=lambda recipe: recipe.name)
@pytest.mark.parametrize("budget", [PureDP(8), ApproxDP(8, "1e-6")], ids=["epsilon", "epsilon and delta"])
def test_a_network_is_learned_from_the_union(recipe, budget):
    outcome = local.run(Job(SCHEMA, recipe, budget), holders_of(split(ROWS, 3)))
    for statement in outcome.parties.values():
        assert statement.guarantee["epsilon"] == 8
        assert 7.9 < statement.budget.spent(statement.spent)["epsilon"] <= 8
    ties = {
        frozenset((family.column, parent))
        for family in outcome.model.selection.structure.families
        for parent in family.parents
    }
    assert {frozenset("ab"), frozenset("cd")} <= ties
    rows = recipe.synthesize(outcome.model.marginals, outcome.model.selection, len(ROWS), np.random.default_rng(0))
    assert mean_total_variation(ROWS, rows, cliques_of(DOMAIN, 2)) < 0.05


def test_all_parties_spend_the_same():
    outcome = local.run(Job(SCHEMA, DP_SUBN, PureDP(1)), holders_of(split(ROWS, 3)))
    entries = [statement.entries for statement in outcome.parties.values()]
    assert entries[0] == entries[1] == entries[2]
