"""DPView with one part changed at a time, on UCI Adult: budget shares, post-processing, view size, matching.

    python benchmarks/dpview.py --data FOLDER [--epsilons 0.2 1] [--repeats 3]

Mean total variation in the bins of the schema (all pairs, 300 triples), and 1000 range queries; 80 % of the rows.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from sfumato.measure.laplace import LaplaceTables

from privsyn import training_rows
from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal, Measurement
from sfumato.data.marginals import Marginals
from sfumato.data.selection import Selection
from sfumato.evaluate.marginals import cliques_of, mean_total_variation
from sfumato.evaluate.ranges import mean_range_error, random_ranges
from sfumato.fitting import take_in
from sfumato.intake.codec import SchemaCodec
from sfumato.learn.select.chained_views import ChainedViews
from sfumato.models.nonnegative import norm_sub
from sfumato.pipeline import Recipe, run
from sfumato.privacy.budget import PureDP
from sfumato.recipes.dpview import DPVIEW, DPVIEW_PLUS
from sfumato.reconcile.consistency import Overlaps
from sfumato.synthesize.linking import Linking


@dataclass(frozen=True)
class Partly:
    """Post-processing with one of its two steps left out (totals are always made equal)."""

    consistent: bool
    nonnegative: bool

    def __call__(self, domain: Domain, measurements: Sequence[Measurement], selection: Selection) -> Marginals:
        """The tables after the steps that are left."""
        overlaps = Overlaps.of(measurements)
        tables = [np.array(one.marginal.counts, dtype=np.float64) for one in measurements]
        total = overlaps.total(tables)
        if self.consistent:
            overlaps.agree(tables)
        if self.nonnegative:
            tables = [norm_sub(table, total) for table in tables]
        made = tuple(Marginal(one.domain, table) for one, table in zip(measurements, tables, strict=True))
        return Marginals(domain, made, tuple(sqrt(one.variance) for one in measurements))


VARIANTS: dict[str, Recipe] = {
    "dpview": DPVIEW,
    "equal budget for every view": replace(DPVIEW, measure=LaplaceTables(power=0)),
    "no weighted consistency": replace(DPVIEW, reconcile=Partly(consistent=False, nonnegative=True)),
    "no non-negativity": replace(DPVIEW, reconcile=Partly(consistent=True, nonnegative=False)),
    "neither": replace(DPVIEW, reconcile=Partly(consistent=False, nonnegative=False)),
    "first view without threshold": replace(DPVIEW, synthesize=Linking(confidence=0)),
    "views of 2 columns": replace(DPVIEW, select=ChainedViews(columns=2)),
    "views of 3 columns": replace(DPVIEW, select=ChainedViews(columns=3)),
    "views of 4 columns": replace(DPVIEW, select=ChainedViews(columns=4)),
    "dpview+": DPVIEW_PLUS,
    "dpview+, equal budget": replace(DPVIEW_PLUS, measure=LaplaceTables(power=0)),
    "dpview+, maximum matching": replace(DPVIEW_PLUS, synthesize=Linking(matching="maximum")),
}


def main() -> None:
    """Run every variant and print one table for each epsilon."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--epsilons", nargs="+", default=["0.2", "1"])
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    table, schema = training_rows(options.data)
    real = SchemaCodec(schema).encode(table)
    ordered = frozenset(column.name for column in schema.columns if column.is_ordered)
    queries = random_ranges(real.domain, ordered, 1000, seed=1)
    for epsilon in options.epsilons:
        report = Table("variant", "1-way", "2-way", "3-way", "range", title=f"Adult, epsilon {epsilon}")
        for name, recipe in VARIANTS.items():
            found = []
            for repeat in range(options.repeats):
                holder, ledger = take_in(table, schema, PureDP(epsilon))
                model = run(recipe, holder, schema, ledger)
                rng = np.random.default_rng(repeat)
                rows = recipe.synthesize(model.marginals, model.selection, max(model.marginals.rows, 1), rng)
                synthetic = model.recoding.decode(rows, rng)
                ways = [
                    mean_total_variation(real, synthetic, cliques_of(real.domain, k, 300, seed=1)) for k in (1, 2, 3)
                ]
                found.append([*ways, mean_range_error(real, synthetic, queries)])
            report.add_row(name, *(f"{score:.4f}" for score in np.mean(found, axis=0)))
        Console().print(report)


if __name__ == "__main__":
    main()
