"""The paper's own protection, in one process: for figures, and to show what is wrong with it. Never over a network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from reproductions.one_share import OneShareHolder, plain_sum
from reproductions.paillier import PaillierSum
from reproductions.paper_union import PaperUnion
from reproductions.sequential_network import SequentialNetwork
from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal, Measurement
from sfumato.data.marginals import Marginals
from sfumato.data.recoding import Recoding
from sfumato.data.records import Records
from sfumato.engines import Engine
from sfumato.errors import BudgetError
from sfumato.intake.attributes import Attributes
from sfumato.intake.codec import SchemaCodec
from sfumato.job import check_observed
from sfumato.learn.measure import Tables
from sfumato.pipeline import Model, Recipe
from sfumato.pipeline import run as run_recipe
from sfumato.privacy.budget import PureDP
from sfumato.privacy.entropy import Entropy, SystemEntropy
from sfumato.privacy.ledger import Ledger, Statement
from sfumato.privacy.neighbours import Neighbours
from sfumato.privacy.opening import open_engine
from sfumato.schema.schema import Schema
from sfumato.synthesize.ancestral import Ancestral


@dataclass(frozen=True)
class FaithfulOutcome:
    """What a faithful run gave, what it truly costs, and what it does not protect from.

    Args:
        model: what was learned.
        statement: what the run cost the party that pays most, against outsiders.
        notice: the line that every report must carry.
        parties: what it cost each party, against outsiders; the paper says that all of them paid epsilon.
        sent: bytes that passed between parties and curator, if sums were encrypted.
    """

    model: Model
    statement: Statement
    notice: str
    parties: dict[str, Statement] = field(default_factory=dict)
    sent: int = 0

    def accounting(self) -> dict[str, dict[str, Fraction]]:
        """What each phase cost each party."""
        return {name: _phases(statement) for name, statement in self.parties.items()}

    def report(self) -> str:
        """The notice, and the corrected accounting in lines."""
        lines = [self.notice]
        for name, phases in self.accounting().items():
            parts = ", ".join(f"{phase} {float(cost):.6g}" for phase, cost in phases.items())
            lines.append(f"{name}: epsilon = {float(sum(phases.values())):.6g} ({parts})")
        return "\n".join(lines)


def corrected_epsilon(epsilon: Fraction, parties: int, place: int = 1) -> Fraction:
    """What DP-SUBN provably costs a party: three phases of epsilon / 4, and one update for each party from it on.

    The paper counts the updates once; but each of them releases the earlier parties' counts again, under fresh noise.
    The first party (place 1) pays most, and the last one what the paper says.
    """
    return epsilon * Fraction(3 + parties - place + 1, 4)


def notice(epsilon: Fraction, parties: int) -> str:
    """The line that every report of a faithful run carries."""
    corrected = float(corrected_epsilon(epsilon, parties))
    return (
        f"NO GUARANTEE AGAINST PARTICIPANTS: with probability 1/{parties} a party can take all noise off. Against "
        f"others, the sequential updates of DP-SUBN cost the first party epsilon = {corrected:g}, "
        f"not {float(epsilon):g}"
    )


def run(recipe: Recipe, engines: Sequence[Engine], schema: Schema, budget: PureDP) -> FaithfulOutcome:
    """Run a recipe over the union of rows, with one share of noise in every answer."""
    _check(budget)
    neighbours = Neighbours.of(schema)
    ledger = Ledger(budget, str(neighbours))
    line = notice(budget.epsilon, len(engines))
    ledger.note("one share of noise in every answer", line)
    model = run_recipe(recipe, OneShareHolder(engines, neighbours, ledger), schema, ledger)
    return FaithfulOutcome(model, ledger.statement(), line)


def dp_subn(
    engines: Sequence[Engine],
    schema: Schema,
    budget: PureDP,
    *,
    paillier: int | None = None,
    search: SequentialNetwork | None = None,
    entropy: Entropy | None = None,
) -> FaithfulOutcome:
    """Run the paper's DP-SUBN: phases 1 to 4 with a quarter of epsilon each, as the paper counts it.

    Sums have one share of noise. Updates go through the parties in turn, in the charitable reading: the curator sees
    S_1 to S_K, and no party's own noisy counts.

    Args:
        engines: the parties' rows, in attributes of the schema, in the order of their turns.
        schema: the public schema of all of them.
        budget: epsilon, as the paper counts it.
        paillier: bits of a real Paillier key, 2048 or more, with which sums are made; None adds in the clear.
        search: phases 1 to 3, if not with the paper's settings.
        entropy: of noise and choices; for tests.
    """
    _check(budget)
    line = notice(budget.epsilon, len(engines))
    add = PaillierSum(paillier) if paillier is not None else None
    ledgers = [_ledger(schema, budget.epsilon, len(engines), place, line) for place in range(1, len(engines) + 1)]
    union = PaperUnion(engines, Neighbours.of(schema), ledgers, entropy, add=add or plain_sum)
    quarter = budget.total.part(Fraction(1, 4))
    selection = (search or SequentialNetwork())(union, budget.total.part(Fraction(3, 4)), quarter)
    union.stage = "parameter learning"
    measured = Tables(epsilon_power=0.0)(union, selection, quarter)
    statements = {f"party-{place}": one.statement() for place, one in enumerate(ledgers, 1)}
    for statement in statements.values():
        statement.verify()
    model = Model(Recoding.identity(union.domain), selection, measured, clipped(union.domain, measured))
    return FaithfulOutcome(model, statements["party-1"], line, statements, add.sent if add else 0)


def synthesize(
    parts: Sequence[Any],
    schema: Schema,
    *,
    epsilon: float | str,
    paillier: int | None = None,
    seed: int | None = None,
) -> tuple[pa.Table, FaithfulOutcome]:
    """Run the paper's DP-SUBN on tables of many parties; a synthetic table, and an outcome whose report must be read.

    Args:
        parts: the table of each party, as `fit` takes it.
        schema: the public schema that all have.
        epsilon: the budget, as the paper counts it.
        paillier: bits of a real Paillier key, 2048 or more; None adds in the clear.
        seed: of the synthesis.
    """
    check_observed(schema)
    budget = PureDP(epsilon)
    engines = [open_engine(part, schema, SystemEntropy()) for part in parts]
    outcome = dp_subn(engines, schema, budget, paillier=paillier)
    rows = Attributes(schema).decode(sample(outcome, seed))
    return SchemaCodec(schema).decode(rows, np.random.default_rng(seed)), outcome


def sample(outcome: FaithfulOutcome, seed: int | None = None) -> Records:
    """Phase 5, at the curator: as many rows as the tables say, in attributes of the schema."""
    marginals = outcome.model.marginals
    return Ancestral()(marginals, outcome.model.selection, marginals.rows, np.random.default_rng(seed))


def clipped(domain: Domain, measurements: Sequence[Measurement]) -> Marginals:
    """Tables without negative cells and with one total, each for itself: the papers do not make them agree."""
    total = max(1.0, float(np.mean([one.marginal.total for one in measurements])))
    tables = []
    for one in measurements:
        kept = np.clip(np.asarray(one.marginal.counts, dtype=np.float64), 0.0, None)
        kept = kept * (total / kept.sum()) if kept.any() else np.full(kept.shape, total / kept.size)
        tables.append(Marginal(one.domain, kept))
    return Marginals(domain, tuple(tables), tuple(float(one.variance) ** 0.5 for one in measurements))


def _check(budget: PureDP) -> None:
    if not isinstance(budget, PureDP):
        raise BudgetError("the faithful mode adds Laplace noise, as the paper does; leave delta out")


def _ledger(schema: Schema, epsilon: Fraction, parties: int, place: int, line: str) -> Ledger:
    ledger = Ledger(PureDP(corrected_epsilon(epsilon, parties, place)), str(Neighbours.of(schema)))
    ledger.note("one share of noise in every answer", line)
    return ledger


def _phases(statement: Statement) -> dict[str, Fraction]:
    costs: dict[str, Fraction] = {}
    for stage, event in statement.entries:
        cost = event.cost(statement.budget.notion)
        if cost:
            costs[stage] = costs.get(stage, Fraction(0)) + cost
    return costs
