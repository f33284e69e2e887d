"""The systems that benchmarks/parties.py compares: ours over a federation, and those of the papers as published."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa

from reproductions import faithful
from reproductions.dist_diff_gen import Generalised, dist_diff_gen
from reproductions.independent import appended, independent
from sfumato.data.records import Records
from sfumato.engines import Engine
from sfumato.evaluate.tasks import Task
from sfumato.intake.attributes import Attributes
from sfumato.intake.codec import SchemaCodec
from sfumato.job import Job
from sfumato.learn import Known, Learned
from sfumato.learn.measure import Tables
from sfumato.learn.once import Once
from sfumato.learn.select.candidate_network import CandidateNetwork
from sfumato.learn.select.greedy_network import GreedyNetwork
from sfumato.learn.select.non_overlapping import NonOverlapping
from sfumato.parties import local
from sfumato.pipeline import Model, Recipe
from sfumato.pipeline import run as run_recipe
from sfumato.privacy.budget import ApproxDP, PureDP
from sfumato.privacy.entropy import SystemEntropy
from sfumato.privacy.holder import Holder
from sfumato.privacy.ledger import Ledger, Purse
from sfumato.privacy.neighbours import Neighbours
from sfumato.privacy.opening import open_engine, open_local, open_party
from sfumato.recipes.auto import AUTO_PARTIES
from sfumato.recipes.dp_ccbn import DP_CCBN
from sfumato.recipes.dp_subn import DP_SUBN
from sfumato.recipes.dpview import DPVIEW
from sfumato.recipes.privbayes import PRIVBAYES
from sfumato.recipes.privsyn import PRIVSYN
from sfumato.schema.schema import Schema
from sfumato.synthesize.joining import prepared

DELTA = "1e-9"


def candidates_again(holder: Holder, known: Known, purse: Purse) -> Learned:
    """DP-CCBN as it pays in the paper: half for candidates, once for each of d - 1 columns, and half for tables."""
    half = purse.left.part(Fraction(1, 2))
    once = half.part(Fraction(1, len(holder.domain) - 1))
    chosen = CandidateNetwork(score="I")(holder, known, once, half)
    measured = Tables(epsilon_power=0.0)(holder, chosen.selection, half)
    return Learned(chosen.selection, (*chosen.tables, *measured))


PRIVBAYES_PAPER = replace(
    PRIVBAYES,
    encode_part=Fraction(0),
    learn=Once(GreedyNetwork(theta=4.0, price=0.0), Tables(epsilon_power=0.0), Fraction(3, 10)),
    reconcile=lambda domain, measured, selection: faithful.clipped(domain, measured),
)
CCBN_PAPER = replace(
    DP_CCBN,
    encode_part=Fraction(0),
    learn=candidates_again,
    reconcile=lambda domain, measured, selection: faithful.clipped(domain, measured),
)
Synthesize = Callable[[list[pa.Table], Schema, str], Records]
"""From the tables of all parties, the schema and epsilon to synthetic rows, in codes of the schema."""


def with_rounds(rounds: int) -> Recipe:
    """Our DP-SUBN with this many joint frontier rounds."""
    return replace(DP_SUBN, name=f"dp-subn, {rounds} rounds", learn=_searching(rounds=rounds))


def with_views(cells: int) -> Recipe:
    """Our DP-SUBN with views of at most this many cells."""
    return replace(DP_SUBN, learn=_searching(views=NonOverlapping(cells=cells)))


def _searching(**settings: object) -> Once:
    return replace(DP_SUBN.learn, select=replace(DP_SUBN.learn.select, **settings))


def rows_of(recipe: Recipe, model: Model, schema: Schema) -> Records:
    """Synthetic rows in codes of the schema."""
    rng = np.random.default_rng()
    made = prepared(recipe.synthesize, model.marginals, model.selection)(model.marginals.rows, rng)
    return Attributes(schema).decode(model.recoding.decode(made, rng))


def federated(recipe: Recipe, delta: str | None = None) -> Synthesize:
    """A recipe over a federation."""

    def synthesize(parts: list[pa.Table], schema: Schema, epsilon: str) -> Records:
        budget = ApproxDP(epsilon, delta) if delta else PureDP(epsilon)
        outcome = local.run(Job(schema, recipe, budget), [open_party(part, schema) for part in parts])
        return rows_of(recipe, outcome.model, schema)

    return synthesize


def as_published(parts: list[pa.Table], schema: Schema, epsilon: str) -> Records:
    """The paper's DP-SUBN, with epsilon as the paper counts it."""
    return _faithful(parts, schema, PureDP(epsilon))


def at_true_cost(parts: list[pa.Table], schema: Schema, epsilon: str) -> Records:
    """The paper's DP-SUBN with a budget so much smaller that its first party pays epsilon in truth."""
    exact = PureDP(epsilon).epsilon
    return _faithful(parts, schema, PureDP(exact**2 / faithful.corrected_epsilon(exact, len(parts))))


def _faithful(parts: list[pa.Table], schema: Schema, budget: PureDP) -> Records:
    return Attributes(schema).decode(faithful.sample(faithful.dp_subn(engines_of(parts, schema), schema, budget)))


def engines_of(parts: list[pa.Table], schema: Schema) -> list[Engine]:
    """The rows of each party, for methods of the papers."""
    return [open_engine(part, schema, SystemEntropy()) for part in parts]


def on_their_own(parts: list[pa.Table], schema: Schema, epsilon: str) -> Records:
    """PrivBayes at every party."""
    return SchemaCodec(schema).encode(appended(independent(parts, schema, epsilon=epsilon)))


def on_their_own_as_published(parts: list[pa.Table], schema: Schema, epsilon: str) -> Records:
    """PrivBayes at every party, with the settings of its paper."""
    made = []
    for part in parts:
        ledger = Ledger(PureDP(epsilon), str(Neighbours.of(schema)))
        holder = open_local(part, schema, ledger)
        made.append(rows_of(PRIVBAYES_PAPER, run_recipe(PRIVBAYES_PAPER, holder, schema, ledger), schema))
    return Records(
        made[0].domain, [np.concatenate(column) for column in zip(*(one.columns for one in made), strict=True)]
    )


def ccbn_as_published(parts: list[pa.Table], schema: Schema, epsilon: str) -> Records:
    """DP-CCBN with one share of noise and mutual information."""
    outcome = faithful.run(CCBN_PAPER, engines_of(parts, schema), schema, PureDP(epsilon))
    return rows_of(CCBN_PAPER, outcome.model, schema)


def generalised(parts: list[pa.Table], schema: Schema, epsilon: str, task: Task) -> Generalised:
    """DistDiffGen for one task, with half of epsilon: the paper has two tasks."""
    numeric = [column.name for column in schema.columns if column.type in ("integer", "number")]
    budget, engines = PureDP(PureDP(epsilon).epsilon / 2), engines_of(parts, schema)
    label = next(name for name in reversed(engines[0].domain.names) if name.startswith(task.column))
    return dist_diff_gen(engines, Neighbours.of(schema), budget, label=label, numeric=numeric, hidden=task.hidden)


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
    "auto": federated(AUTO_PARTIES),
    "auto, with delta": federated(AUTO_PARTIES, DELTA),
    "privsyn": federated(PRIVSYN, DELTA),
    "dpview": federated(DPVIEW),
    "resampled": the_rows_themselves,
}
