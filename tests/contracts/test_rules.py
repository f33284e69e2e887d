"""Every rule holds in every row, whatever the recipe, the synthesizer and the rules are."""

import json
import os
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pytest

from helpers_rules import KINDS, narrowed, obeying_table, random_schema, schema_with
from sfumato.data.records import Records
from sfumato.errors import MethodError
from sfumato.evaluate.rules import violations
from sfumato.fitting import fit
from sfumato.intake.codec import SchemaCodec
from sfumato.intake.ruled import Ruled
from sfumato.pipeline import Guarantee
from sfumato.recipes import RECIPES, SYNTHESIZERS
from sfumato.schema.schema import Schema
from sfumato.synthesize.repair import broken

LABELS = ["if then", "allowed", "forbidden", "exactly one", "missing iff", "not missing", "always"]
VALUES = ["less", "a chain", "equal", "months", "increments", "a range that depends"]
SUMS = ["a sum", "at most some days", "numbers", "dependency", "missing together", "a difference"]


def schema_of(kinds):
    rng = np.random.default_rng(7)
    return schema_with([KINDS[kind](rng) for kind in kinds])


def released(recipe, schema):
    table = obeying_table(schema, 400)
    delta = None if recipe.guarantee is Guarantee.PURE else 1e-6
    return fit(table, schema, epsilon=2, delta=delta, method=recipe)


def assert_obeyed(release, rows=500, seed=3):
    table = release.sample_arrow(rows, seed)
    schema = release.schema
    assert table.num_rows == rows
    assert violations(table, schema.rules, schema.columns) == (0.0,) * len(schema.rules)
    codes = SchemaCodec(schema).encode(table)
    checks = Ruled(schema).checks
    attributes = checks[0].attributes
    assert not broken(attributes.encode(codes), checks).any()


@pytest.mark.parametrize("kinds", [LABELS, VALUES, SUMS], ids=["labels", "values", "sums"])
@pytest.mark.parametrize("recipe", RECIPES.values(), ids=lambda recipe: recipe.name)
def test_every_recipe_obeys_every_kind_of_rule(recipe, kinds):
    assert_obeyed(released(recipe, schema_of(kinds)))


@pytest.mark.parametrize("name", SYNTHESIZERS)
def test_every_synthesizer_obeys(name):
    release = released(RECIPES["pgm"], schema_of(["a chain", "missing together", "exactly one"]))
    assert_obeyed(replace(release, recipe=replace(release.recipe, synthesize=SYNTHESIZERS[name])))


SETS = int(os.environ.get("SFUMATO_RULE_SETS", "2"))
"""Random rule sets for each recipe and synthesizer; 200 take about ten minutes."""


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=lambda recipe: recipe.name)
def test_every_recipe_obeys_random_rules(recipe):
    for seed in range(SETS):
        schema = narrowed(random_schema(5000 + seed))
        assert_obeyed(released(recipe, schema), rows=300)


@pytest.mark.parametrize("name", SYNTHESIZERS)
def test_every_synthesizer_obeys_random_rules(name):
    for seed in range(SETS):
        schema = narrowed(random_schema(6000 + seed))
        release = released(RECIPES["pgm"], schema)
        assert_obeyed(replace(release, recipe=replace(release.recipe, synthesize=SYNTHESIZERS[name])), rows=300)


@dataclass(frozen=True)
class Careless:
    """A synthesizer of somebody else that knows nothing of tables or rules."""

    always: int | None = None

    def __call__(self, marginals, selection, rows, rng):
        sizes = marginals.domain.shape
        codes = [np.full(rows, self.always % size) if self.always else rng.integers(0, size, rows) for size in sizes]
        return Records(marginals.domain, codes)


@pytest.fixture(scope="module")
def simple():
    return released(RECIPES["dpview"], schema_with([]))


@pytest.mark.parametrize("seed", range(25))
def test_a_synthesizer_that_knows_nothing_obeys_random_rules(simple, seed):
    careless = replace(simple.recipe, synthesize=Careless())
    assert_obeyed(_with_schema(replace(simple, recipe=careless), random_schema(seed)))


def test_a_synthesizer_whose_every_row_breaks_a_rule_obeys(simple):
    stubborn = replace(simple.recipe, synthesize=Careless(always=2))
    assert_obeyed(_with_schema(replace(simple, recipe=stubborn), schema_of(["dependency", "exactly one"])))


def test_rows_that_are_asked_for_obey(simple):
    schema = schema_of(["if then", "less"])
    release = _with_schema(replace(simple, recipe=replace(simple.recipe, synthesize=Careless())), schema)
    table = release.sample_arrow(200, 1, {"shape": ["round"]})
    assert set(table["shape"].to_pylist()) == {"round"}
    assert violations(table, schema.rules, schema.columns) == (0.0, 0.0)


def test_answers_have_nobody_in_forbidden_cells():
    """Neither in tables that were measured nor in those that follow from others, and the total is that of all rows."""
    release = released(RECIPES["pgm"], schema_of(["dependency", "missing iff"]))
    for columns, forbidden in ((("shape", "before"), 6), (("colour", "part"), None)):
        table = release.marginal(*columns)
        empty = np.array(table["count"]) == 0
        assert empty.sum() >= (forbidden or 5)
        for figure in ("standard_error", "low", "high", "unbiased"):  # known, so without noise
            known = table[figure].to_numpy()
            assert np.count_nonzero(known == 0) >= (forbidden or 5)
        assert table["count"].to_numpy().sum() == pytest.approx(release.rows, rel=0.02, abs=2)


def test_a_table_with_a_violation_is_never_written(simple, tmp_path, monkeypatch):
    schema = schema_of(["less"])
    release = _with_schema(replace(simple, recipe=replace(simple.recipe, synthesize=Careless())), schema)
    monkeypatch.setattr("sfumato.intake.codec.settled", lambda schema, records, arrays, rng: (arrays, 0))
    monkeypatch.setattr(Ruled, "checks", ())
    with pytest.raises(MethodError, match=r"rows break the rule 'start < end', so no table is made"):
        release.save(tmp_path / "release", rows=100)
    assert not (tmp_path / "release" / "synthetic.csv").exists()


def _with_schema(release, schema):
    """A release of the same columns under other rules: its tables are left out, the careless synthesizer needs none."""
    from sfumato.data.marginals import Marginals
    from sfumato.data.recoding import Recoding
    from sfumato.intake.attributes import Attributes

    domain = Attributes(schema).domain
    model = replace(release.model, recoding=Recoding.identity(domain), marginals=Marginals(domain, ()))
    return replace(release, schema=schema, model=model)


def test_a_release_is_saved_and_read_back_with_its_rules(tmp_path):
    release = released(RECIPES["pgm"], schema_of(["dependency", "less"]))
    folder = release.save(tmp_path / "out", rows=200, seed=5)
    told = json.loads((folder / "release.json").read_text(encoding="utf-8"))["rules"]
    assert (told["declared"], told["violations"]) == (2, 0)
    loaded = type(release).load(folder)
    assert loaded.schema == release.schema
    assert loaded.sample_arrow(100, 9).equals(release.sample_arrow(100, 9))
    for one, other in zip(loaded.model.measurements, release.model.measurements, strict=True):
        assert (one.allowed is None) == (other.allowed is None)
        assert np.allclose(one.marginal.counts, other.marginal.counts)
        assert one.allowed is None or not one.marginal.counts[~one.allowed].any()


def test_rows_whose_bins_hold_no_values_are_copies_and_counted():
    """Two equal numbers have an even sum, which no bin of theirs tells: a row with an odd one becomes another."""
    whole = {"type": "integer", "min": 0, "max": 9}
    columns = [{"name": "a", **whole, "bins": 1}, {"name": "b", **whole, "bins": 1}]
    columns.append({"name": "total", "type": "integer", "min": 0, "max": 18})
    rules = [{"sum": ["a", "b"], "equals": "total"}, {"difference": ["a", "b"], "min": 0, "max": 0}]
    schema = Schema.parse({"name": "pairs", "columns": columns, "rules": rules})
    codec = SchemaCodec(schema)
    totals = np.arange(19)
    records = Records(codec.domain, [np.zeros(19, dtype=int), np.zeros(19, dtype=int), totals])
    table, copies = codec.decode_counting(records, np.random.default_rng(0))
    assert 9 <= copies < 19  # odd ones, and even ones for which the search ended too early
    assert violations(table, schema.rules, schema.columns) == (0, 0)
    even = pa.table({"a": np.arange(10), "b": np.arange(10), "total": 2 * np.arange(10)})
    drawing = fit(even, schema, epsilon=1, method="privbayes")._drawing(200)
    rows = pa.concat_tables(drawing.blocks(0))
    assert (rows["total"].to_numpy() % 2 == 0).all()
    assert 0 < drawing.tally.copies <= 200
    assert drawing.tally.share >= drawing.tally.copies / 200
