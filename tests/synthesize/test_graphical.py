import json
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from helpers_holders import opened
from helpers_population import marginals_of, population
from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal
from sfumato.data.marginals import Marginals
from sfumato.data.selection import Selection
from sfumato.errors import MethodError, ModelTooLarge, SchemaError
from sfumato.models.drawing import draw
from sfumato.models.graphical import fit
from sfumato.models.junction_tree import junction_tree
from sfumato.pipeline import run
from sfumato.privacy.budget import PureDP
from sfumato.recipes.priview import PRIVIEW
from sfumato.recipes.privsyn import PRIVSYN
from sfumato.schema.schema import Schema
from sfumato.survey import simulate, survey_schema_text
from sfumato.synthesize.graphical import Graphical

NONE = Selection(())
NAMES = "abcde"
CYCLE = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d"), ("e",)]


def dense_joint(model):
    """All cells of a model: cliques multiplied, separators divided out."""
    domain = model.domain
    joint = np.ones(domain.shape)

    def spread(names):
        table = np.asarray(model.project(names).counts)
        return table.reshape([domain[name] if name in names else 1 for name in domain.names])

    for clique, separator in zip(model.tree.cliques, model.tree.separators, strict=True):
        shared = spread(separator)
        joint = joint * spread(clique) * np.divide(1, shared, out=np.zeros_like(shared), where=shared > 0)
    return joint


def dense_fit(domain, tables, sweeps=3000):
    """Maximum entropy on the whole joint, by proportional fitting of every cell."""
    joint = np.full(domain.shape, 1 / domain.cells())
    for _ in range(sweeps):
        before = joint
        for table in tables:
            shape = [domain[name] if name in table.clique else 1 for name in domain.names]
            summed = tuple(axis for axis, name in enumerate(domain.names) if name not in table.clique)
            found = joint.sum(axis=summed, keepdims=True)
            wanted = (table.counts / table.total).reshape(shape)
            joint = joint * np.divide(wanted, found, out=np.zeros_like(found), where=found > 0)
        if np.abs(joint - before).sum() < 1e-12:
            break
    return joint


@st.composite
def problems(draw):
    """A small domain, cliques that cover it, and their exact tables in a random joint with some empty cells."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=5, max_size=5))
    domain = Domain(dict(zip(NAMES, sizes, strict=True)))
    cliques = draw(st.lists(st.sets(st.sampled_from(NAMES), min_size=1, max_size=3), min_size=1, max_size=7))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    joint = rng.gamma(draw(st.sampled_from([0.3, 1.0, 5.0])), size=domain.shape) + 1e-3
    whole = Marginal(domain, joint * 1000 / joint.sum())
    wanted = {domain.canonical(clique) for clique in cliques} | {(name,) for name in NAMES}
    return Marginals(domain, tuple(whole.project(clique) for clique in sorted(wanted)))


@settings(max_examples=100, deadline=None)
@given(problems())
def test_the_model_is_the_maximum_entropy_joint(marginals):
    model = Graphical().model(marginals)
    joint = dense_joint(model)
    assert joint.sum() == pytest.approx(1)
    assert np.abs(joint - dense_fit(marginals.domain, marginals.tables)).sum() < 2e-4


@settings(max_examples=100, deadline=None)
@given(problems())
def test_the_tables_of_the_model_are_the_given_ones(marginals):
    model = Graphical().model(marginals)
    for table in marginals.tables:
        assert np.abs(model.project(table.clique).counts - table.counts / 1000).sum() < 1e-5


@settings(max_examples=100, deadline=None)
@given(problems())
def test_the_tables_of_the_tree_agree_where_they_meet(marginals):
    model = Graphical().model(marginals)
    assert sum(table.size for table in model.tables) == model.tree.cells
    for one, other in combinations(range(len(model.tables)), 2):
        shared = tuple(name for name in model.tree.cliques[one] if name in model.tree.cliques[other])
        sums = [
            Marginal(model.domain.project(c), t.reshape(model.domain.project(c).shape)).project(shared).counts
            for c, t in ((model.tree.cliques[place], model.tables[place]) for place in (one, other))
        ]
        assert sums[0] == pytest.approx(sums[1], abs=1e-9)


def test_a_tree_of_tables_has_the_closed_form():
    records = population()
    marginals = marginals_of(records, [("a", "b"), ("b", "c")])
    ab, bc, b = (np.asarray(records.project(c).counts) for c in (("a", "b"), ("b", "c"), ("b",)))
    joint = dense_joint(Graphical().model(marginals)).sum(axis=(3, 4, 5))
    assert joint == pytest.approx(ab[:, :, None] * bc[None] / b[None, :, None] / len(records), abs=1e-12)


def test_cells_that_a_table_has_empty_stay_empty():
    records = population()
    assert records.project(("f",)).counts[4] == 0
    rows = Graphical()(marginals_of(records, [("a", "b")]), NONE, 5000, np.random.default_rng(0))
    assert not rows.project(("a", "b")).counts[records.project(("a", "b")).counts == 0].any()
    assert rows.project(("f",)).counts[4] == 0


def test_tables_that_contradict_each_other_still_give_a_distribution():
    domain = Domain({"a": 2, "b": 2, "c": 2})
    equal, opposite = np.array([[5.0, 0.0], [0.0, 5.0]]), np.array([[0.0, 5.0], [5.0, 0.0]])
    tables = [(("a", "b"), equal), (("b", "c"), equal), (("a", "c"), opposite)]
    model = fit(
        junction_tree(domain, [c for c, _ in tables]), [Marginal(domain.project(c), cells) for c, cells in tables]
    )
    assert all(table.sum() == pytest.approx(1) and (table >= 0).all() for table in model.tables)


def test_tables_without_rows_give_equal_cells():
    domain = Domain({"a": 2, "b": 3})
    marginals = Marginals(domain, (Marginal(domain, np.zeros(domain.shape)),))
    assert Graphical().model(marginals).project(("a", "b")).counts == pytest.approx(np.full((2, 3), 1 / 6))
    assert len(Graphical()(marginals, NONE, 0, np.random.default_rng(0))) == 0


@pytest.mark.parametrize("rows", [1, 999, 40_000])
def test_rows_keep_the_tables_of_the_model(rows):
    marginals = marginals_of(population(), [("a", "b"), ("b", "c"), ("c", "d", "e")])
    model = Graphical().model(marginals)
    records = draw(model, rows, np.random.default_rng(1))
    assert len(records) == rows
    for table in marginals.tables:  # 1 for each cell of the separators that a table is summed over
        gap = np.abs(records.project(table.clique).counts - rows * model.project(table.clique).counts)
        assert gap.max() <= 4


def test_rows_are_right_on_average():
    model = Graphical().model(marginals_of(population(), CYCLE))
    rng = np.random.default_rng(2)
    pairs = list(combinations("abcde", 2))
    total = dict.fromkeys(pairs, 0.0)
    for _ in range(200):
        records = draw(model, 50, rng)
        for pair in pairs:
            total[pair] = total[pair] + records.project(pair).counts
    joint = dense_joint(model)
    for pair in pairs:
        summed = tuple(axis for axis, name in enumerate(model.domain.names) if name not in pair)
        wanted = joint.sum(axis=summed) * 10_000
        assert np.abs(total[pair] - wanted).max() < 6 * np.sqrt(wanted.max())


def conditional(model, given_codes):
    """The joint of all allowed rows, from all cells."""
    joint = dense_joint(model)
    for name, allowed in given_codes.items():
        shape = [-1 if one == name else 1 for one in model.domain.names]
        joint = joint * np.asarray(allowed).reshape(shape)
    return joint / joint.sum()


@settings(max_examples=100, deadline=None)
@given(problems(), st.data())
def test_the_model_given_some_codes_is_the_conditional_of_the_joint(marginals, data):
    model = Graphical().model(marginals)
    masks = {
        name: np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size).filter(any)))
        for name, size in model.domain.items()
        if data.draw(st.booleans())
    }
    assert dense_joint(model.given(masks)) == pytest.approx(conditional(model, masks), abs=1e-9)


def test_evidence_passes_through_a_clique_that_has_nothing_but_its_separator():
    domain = Domain({"a": 1, "b": 2, "c": 1, "d": 3, "e": 3})
    whole = Marginal(domain, np.random.default_rng(5).random(domain.shape))
    cliques = [("a", "b", "e"), ("a", "c"), ("b", "c", "d")]
    model = Graphical().model(Marginals(domain, tuple(whole.project(clique) for clique in cliques)))
    masks = {"e": np.array([False, False, True])}
    assert ("a", "b", "c") in model.tree.cliques
    assert dense_joint(model.given(masks)) == pytest.approx(conditional(model, masks), abs=1e-12)


def test_rows_given_some_codes_follow_the_conditional_of_the_joint():
    marginals = marginals_of(population(), [*CYCLE, ("c", "d", "e"), ("f",)])
    allowed = {"a": np.array([True, False, True, False]), "e": np.array([False, True])}
    records = Graphical().sample_given(marginals, NONE, 20_000, np.random.default_rng(3), allowed)
    wanted = conditional(Graphical().model(marginals), allowed).sum(axis=5) * 20_000
    found = records.project(("a", "b", "c", "d", "e")).counts
    assert not found[wanted == 0].any()
    common = wanted >= 5
    observed = np.append(found[common], found[~common].sum() + 1)
    expected = np.append(wanted[common], wanted[~common].sum() + 1)  # one more in both, where nothing is left
    assert chisquare(observed, expected).pvalue > 0.001
    assert chisquare(observed, np.roll(expected, 1)).pvalue < 1e-6  # the test can fail


def test_impossible_codes_are_refused_by_name():
    marginals = marginals_of(population(), [])
    allowed = {"f": np.arange(5) == 4}
    with pytest.raises(MethodError, match="no rows with the codes that are asked for in f; allow more"):
        Graphical().sample_given(marginals, NONE, 10, np.random.default_rng(0), allowed)


def test_a_mask_of_the_wrong_length_is_refused():
    with pytest.raises(MethodError, match=r"mask of column 'a' has shape \(3,\); it needs 4 codes"):
        Graphical().model(marginals_of(population(), [])).given({"a": np.ones(3, dtype=bool)})


def test_a_model_that_is_too_large_is_refused_with_its_columns():
    marginals = marginals_of(population(), CYCLE)
    with pytest.raises(ModelTooLarge, match=r"of them over a \(4\), b \(4\), d \(3\); at most 50"):
        Graphical(limit=50)(marginals, NONE, 10, np.random.default_rng(0))


def test_a_column_that_no_table_knows_is_refused():
    domain = Domain({"a": 2, "b": 2})
    marginals = Marginals(domain, (Marginal(domain.project("a"), np.ones(2)),))
    with pytest.raises(SchemaError, match="no table contains b"):
        Graphical()(marginals, NONE, 10, np.random.default_rng(0))


def test_a_table_outside_the_tree_cannot_be_read_off():
    with pytest.raises(MethodError, match="columns a, f lie in no clique"):
        Graphical().model(marginals_of(population(), [])).project(("a", "f"))


def test_any_recipe_can_end_in_a_graphical_model():
    recipe = replace(PRIVSYN, synthesize=Graphical())
    records = population()
    marginals = marginals_of(records, [("a", "b"), ("b", "c"), ("c", "d", "e")])
    rows = recipe.synthesize(marginals, NONE, len(records), np.random.default_rng(4))
    for clique in [("a", "b"), ("c", "d", "e"), ("a", "c")]:
        assert np.abs(rows.project(clique).counts - records.project(clique).counts).sum() / len(records) < 0.02


def test_a_selection_that_is_too_large_is_refused_before_its_tables_are_paid_for():
    schema = Schema.parse(json.loads(survey_schema_text()))
    holder, ledger = opened(simulate(2000), schema, PureDP(1))
    with pytest.raises(ModelTooLarge, match="cells"):
        run(replace(PRIVIEW, synthesize=Graphical(limit=1000)), holder, schema, ledger)
    assert ledger.left == ledger.budget.total.amount
