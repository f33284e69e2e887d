"""The systems that benchmarks/parties.py compares: ours over a federation, and those of the papers as published."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
from sfumato.measure.laplace import LaplaceTables
from sfumato.measure.least_noise import LeastNoise
from sfumato.measure.leveled import LeveledTables
from sfumato.parties.independent import appended, independent

from sfumato.data.marginal import Measurement
from sfumato.data.records import Records
from sfumato.data.selection import Selection
from sfumato.fitting import take_in
from sfumato.intake.attributes import Attributes
from sfumato.intake.codec import SchemaCodec
from sfumato.learn.select.candidate_network import CandidateNetwork
from sfumato.learn.select.greedy_network import GreedyNetwork
from sfumato.learn.select.non_overlapping import NonOverlapping
from sfumato.parties import faithful, local
from sfumato.pipeline import Model, Recipe
from sfumato.pipeline import run as run_recipe
from sfumato.privacy.budget import ApproxDP, PureDP, Share
from sfumato.privacy.holder import Holder
from sfumato.recipes.dp_ccbn import DP_CCBN
from sfumato.recipes.dp_subn import DP_SUBN
from sfumato.recipes.dpview import DPVIEW
from sfumato.recipes.privbayes import PRIVBAYES
from sfumato.recipes.privsyn import PRIVSYN
from sfumato.schema.schema import Schema
from sfumato.synthesize.joining import prepared

DELTA = "1e-9"


def candidates_again(holder: Holder, share: Share) -> Selection:
    """DP-CCBN as it pays in the paper: once for each of d - 1 columns, so that each question has so much less."""
    steps = len(holder.domain) - 1
    return CandidateNetwork(score="I", measure_ratio=steps)(holder, Share(share.unit, share.amount / steps))


def with_half(holder: Holder, selection: Selection, share: Share) -> tuple[Measurement, ...]:
    """Every table with the same noise, for half of the budget, whatever else is left."""
    return LeastNoise(laplace_power=0.0)(holder, selection, Share(share.unit, holder.budget.amount / 2))


PRIVBAYES_PAPER = replace(
    PRIVBAYES,
    shares={"encode": Fraction(0), "select": Fraction(3, 10), "measure": Fraction(7, 10)},
    select=GreedyNetwork(theta=4.0, price=0.0, measure_ratio=7 / 3),
    measure=LeveledTables(LaplaceTables(power=0.0)),
    reconcile=lambda domain, measured, selection: faithful.clipped(domain, measured),
)
CCBN_PAPER = replace(
    DP_CCBN,
    shares={"encode": Fraction(0), "select": Fraction(1, 2), "measure": Fraction(1, 2)},
    select=candidates_again,
    measure=with_half,
    reconcile=lambda domain, measured, selection: faithful.clipped(domain, measured),
)
Synthesize = Callable[[list[pa.Table], Schema, str], Records]
"""From the tables of all parties, the schema and epsilon to synthetic rows, in codes of the schema."""


def with_rounds(rounds: int) -> Recipe:
    """Our DP-SUBN with so many joint frontier rounds."""
    return replace(DP_SUBN, name=f"dp-subn, {rounds} rounds", select=replace(DP_SUBN.select, rounds=rounds))


def with_views(cells: int) -> Recipe:
    """Our DP-SUBN with views of at most so many cells."""
    return replace(DP_SUBN, select=replace(DP_SUBN.select, views=NonOverlapping(cells=cells)))


def rows_of(recipe: Recipe, model: Model, schema: Schema) -> Records:
    """Synthetic rows in codes of the schema."""
    rng = np.random.default_rng()
    made = prepared(recipe.synthesize, model.marginals, model.selection)(model.marginals.rows, rng)
    return Attributes(schema).decode(model.recoding.decode(made, rng))


def federated(recipe: Recipe, delta: str | None = None) -> Synthesize:
    """A recipe over a federation."""

    def synthesize(parts: list[pa.Table], schema: Schema, epsilon: str) -> Records:
        budget = ApproxDP(epsilon, delta) if delta else PureDP(epsilon)
        holders = [take_in(part, schema, budget)[0] for part in parts]
        return rows_of(recipe, local.run(recipe, holders, schema, budget).model, schema)

    return synthesize


def as_published(parts: list[pa.Table], schema: Schema, epsilon: str) -> Records:
    """The paper's DP-SUBN, with epsilon as the paper counts it."""
    return _faithful(parts, schema, PureDP(epsilon))


def at_true_cost(parts: list[pa.Table], schema: Schema, epsilon: str) -> Records:
    """The paper's DP-SUBN with a budget so much smaller that its first party pays epsilon in truth."""
    exact = PureDP(epsilon).epsilon
    return _faithful(parts, schema, PureDP(exact**2 / faithful.corrected_epsilon(exact, len(parts))))


def _faithful(parts: list[pa.Table], schema: Schema, budget: PureDP) -> Records:
    holders = [take_in(part, schema, budget)[0] for part in parts]
    return Attributes(schema).decode(faithful.sample(faithful.dp_subn(holders, schema, budget)))


def on_their_own(parts: list[pa.Table], schema: Schema, epsilon: str) -> Records:
    """PrivBayes at every party."""
    return SchemaCodec(schema).encode(appended(independent(parts, schema, epsilon=epsilon)))


def on_their_own_as_published(parts: list[pa.Table], schema: Schema, epsilon: str) -> Records:
    """PrivBayes at every party, with the settings of its paper."""
    made = []
    for part in parts:
        holder, ledger = take_in(part, schema, PureDP(epsilon))
        made.append(rows_of(PRIVBAYES_PAPER, run_recipe(PRIVBAYES_PAPER, holder, schema, ledger), schema))
    return Records(
        made[0].domain, [np.concatenate(column) for column in zip(*(one.columns for one in made), strict=True)]
    )


def ccbn_as_published(parts: list[pa.Table], schema: Schema, epsilon: str) -> Records:
    """DP-CCBN with one share of noise and mutual information."""
    holders = [take_in(part, schema, PureDP(epsilon))[0] for part in parts]
    return rows_of(CCBN_PAPER, faithful.run(CCBN_PAPER, holders, schema, PureDP(epsilon)).model, schema)


def the_rows_themselves(parts: list[pa.Table], schema: Schema, epsilon: str) -> Records:
    """A bootstrap sample of the real rows: the floor."""
    real = SchemaCodec(schema).encode(pa.concat_tables(parts))
    return real.take(np.random.default_rng().integers(0, len(real), len(real)))


SYSTEMS: dict[str, Synthesize] = {
    "dp-subn, faithful": as_published,
    "dp-subn, faithful, true cost": at_true_cost,
    "dp-subn": federated(DP_SUBN),
    "dp-subn, 0 rounds": federated(with_rounds(0)),
    "dp-subn, 2 rounds": federated(with_rounds(2)),
    "dp-ccbn, faithful": ccbn_as_published,
    "dp-ccbn": federated(DP_CCBN),
    "independent, faithful": on_their_own_as_published,
    "independent": on_their_own,
    "privsyn": federated(PRIVSYN, DELTA),
    "dpview": federated(DPVIEW),
    "resampled": the_rows_themselves,
}
