"""Made-up rows for rehearsals: they follow from the schema and a few assumptions, and from nothing else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.data.records import Records
from sfumato.intake.attributes import Attributes
from sfumato.intake.codec import SchemaCodec
from sfumato.intake.ruled import Ruled
from sfumato.schema.schema import Schema
from sfumato.synthesize.repair import repaired_by


@dataclass(frozen=True)
class Population:
    """An assumed population.

    Args:
        name: what it is called.
        skew: the k-th most frequent value of a column has a share proportional to 1 / k^skew; 0 is even.
        dependence: the correlation of the normal numbers behind any two columns (a Gaussian copula).
        grouped: what is added to it between columns of one group, of `GROUP` columns each.
    """

    name: str
    skew: float
    dependence: float
    grouped: float = 0.0

    def table(self, schema: Schema, rows: int, seed: int) -> pa.Table:
        """This many rows of the population, as values of the schema."""
        from scipy.special import ndtr  # on demand: it takes as long to load as a small run

        rng = np.random.default_rng(seed)
        attributes = Attributes(schema)
        shared = np.sqrt(self.dependence) * rng.standard_normal(rows)
        columns = []
        for number, attribute in enumerate(attributes.all):
            if number % GROUP == 0:
                group = np.sqrt(self.grouped) * rng.standard_normal(rows)
            own = np.sqrt(1 - self.dependence - self.grouped) * rng.standard_normal(rows)
            place = np.asarray(ndtr(shared + group + own), dtype=np.float64)
            columns.append(_codes(attribute.size, self.skew, place, rng))
        made = Records(attributes.domain, columns)
        if schema.rules:  # real rows obey them: others would be refused, or counted as if they did
            made = repaired_by(Ruled(schema), made, rng).records
        table = SchemaCodec(schema).decode(attributes.decode(made), rng)
        if schema.unit.column is not None:  # as many rows of each person as are kept; one, where persons are counted
            each = 1 if schema.unit.count == "persons" else schema.unit.rows
            persons = pa.array(np.arange(rows) // each).cast(pa.string())
            table = table.append_column(schema.unit.column, persons)
        return table


GROUP = 3
"""How many columns depend much on each other, where only few do."""

POPULATIONS = (
    Population("even values, all columns depend a little", 0.0, 0.3),
    Population("even values, few columns depend much", 0.0, 0.03, 0.6),
    Population("skewed values, all columns depend a little", 1.0, 0.3),
    Population("very skewed values, few columns depend much", 2.0, 0.03, 0.6),
)
"""What rehearsals assume, since nobody knows: that the real table lies between these, or not too far from them."""


def _codes(size: int, skew: float, place: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Codes of which the frequent ones lie anywhere, and which rise with `place`, from 0 to 1."""
    share = 1 / np.arange(1, size + 1) ** skew
    share = rng.permutation(share / share.sum())
    return np.searchsorted(np.cumsum(share)[:-1], place, side="right").astype(np.int64)
