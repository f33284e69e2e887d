"""The error of a release after each of its stages, from its model and the real rows."""

from __future__ import annotations

from sfumato.data.coding import Coding
from sfumato.data.domain import Clique
from sfumato.data.marginal import Marginal
from sfumato.data.marginals import Marginals
from sfumato.data.records import Records, coded
from sfumato.evaluate.marginals import cliques_of
from sfumato.evaluate.stages import StageErrors, stage_errors
from sfumato.intake.attributes import Attributes
from sfumato.models.max_entropy import bridged, maximum_entropy
from sfumato.release import Release

CELLS = 20_000
"""Pairs with more cells are not followed: they take long, and are mostly empty."""


def errors_by_stage(real: Records, synthetic: Records, release: Release, most: int) -> tuple[StageErrors | None, int]:
    """The mean error of at most `most` pairs of attributes after each stage, and how many pairs there were.

    Rows are in the codes of the schema. A stage before synthesis answers a pair by maximum entropy from its tables.
    """
    model, attributes = release.model, Attributes(release.schema)
    coding = Coding(attributes.domain).then(model.recoding.step)
    real, synthetic = (coded(attributes.encode(rows), coding) for rows in (real, synthetic))
    domain = real.domain
    known = {name for measurement in model.measurements for name in measurement.clique}
    pairs = [
        pair for pair in cliques_of(domain, min(2, len(domain))) if set(pair) <= known and domain.cells(pair) <= CELLS
    ]
    if not pairs:
        return None, 0
    step = -(-len(pairs) // most)
    asked = pairs[::step]
    # As the reconcile stage saw them: what was measured in the codes of the schema, in merged codes.
    measured = [one if one.coding and one.coding.steps else model.recoding.merge(one) for one in model.measurements]
    return stage_errors(real, measured, model.marginals, synthetic, asked, _estimate), len(asked)


def _estimate(tables: Marginals, clique: Clique) -> Marginal:
    return maximum_entropy(tables, bridged(tables, clique, CELLS)).project(clique)
