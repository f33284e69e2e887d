"""Rows of a release, piece by piece: memory depends on the size of a piece and not on the number of rows.

Pieces and blocks have sizes of their own, whatever parts a caller wants rows in: a sample is a function of the release,
the number of rows, the seed and what is given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock

import numpy as np
import pyarrow as pa

from sfumato.data.coding import Coding, Levels
from sfumato.data.records import Records
from sfumato.data.selection import Apart
from sfumato.errors import MethodError, ReleaseError
from sfumato.evaluate.rules import violations
from sfumato.intake.attributes import Attributes, Ints
from sfumato.intake.codec import SchemaCodec
from sfumato.intake.ruled import Ruled
from sfumato.loops import tell
from sfumato.models.tree_model import Evidence
from sfumato.pipeline import Conditional, Model, Synthesize
from sfumato.release import answers
from sfumato.schema.schema import Schema
from sfumato.synthesize.conditional import conditioned
from sfumato.synthesize.joining import Draw, prepared
from sfumato.synthesize.repair import repaired_by, split_again
from sfumato.synthesize.splitting import split
from sfumato.threads import in_order, may_use

PIECE = 1 << 19
"""At most this many rows are synthesised together. Methods that fit rows to tables do worse in small pieces."""

BLOCK = 1 << 16
"""At most this many rows are turned from codes into values at once."""

BYTES_A_VALUE = 24
"""What drawing a piece takes for each value of its rows, as it was measured on tables of 15 columns; for a message."""

ENOUGH_ROWS = 50_000
"""A sample of fewer rows is drawn from a fit of this many (or of as many as the private table has)."""


@dataclass
class Tally:
    """How many rows were drawn, and how many of them were drawn again in part because they broke a rule.

    Of the rows that were decoded, `copies` stand for ones whose bins had no values that obey.
    """

    rows: int = 0
    repairs: int = 0
    decoded: int = 0
    copies: int = 0
    _lock: Lock = field(default_factory=Lock, repr=False)

    def add(self, *, rows: int = 0, repairs: int = 0, decoded: int = 0, copies: int = 0) -> None:
        """Count more; pieces that are drawn at the same time share a tally."""
        with self._lock:
            self.rows += rows
            self.repairs += repairs
            self.decoded += decoded
            self.copies += copies

    @property
    def share(self) -> float:
        """The part of the rows that was drawn again, or replaced by a copy of another."""
        return min(1.0, self.repairs / max(self.rows, 1) + self.copies / max(self.decoded, 1))


@dataclass(frozen=True, eq=False)
class Drawing:
    """What makes the rows of a release.

    Args:
        schema: the public schema.
        model: what was learned.
        synthesize: the part that makes rows.
        given: for each column with evidence, the codes that are allowed.
        rows: how many rows to draw.
        threads: how many pieces are drawn at the same time; rows do not depend on it.
        tally: what the last step, which makes every row obey the rules, had to do.
    """

    schema: Schema
    model: Model
    synthesize: Synthesize
    given: Mapping[str, Ints]
    rows: int
    threads: int = field(default_factory=may_use)
    tally: Tally = field(default_factory=Tally)

    def blocks(self, seed: int | None) -> Iterator[pa.Table]:
        """Decoded rows, block by block; at least one block, if only an empty one. No row breaks a rule."""
        rng = np.random.default_rng(seed)
        draw = self._draw()
        sizes = _equal_sizes(self.rows, PIECE)
        # Every piece has a seed of its own, so pieces can be drawn in any order, and several at a time.
        pieces = [partial(self._piece, draw, size, own) for size, own in zip(sizes, rng.spawn(len(sizes)), strict=True)]
        done = 0
        tell("rows", done, self.rows)
        try:
            for block in in_order(pieces, self.threads):
                done += len(block)
                tell("rows", done, self.rows)
                yield block
        except MemoryError:
            problem = self._no_memory(min(self.threads, len(sizes)), max(*sizes, self._enough))
        else:
            return
        raise problem  # here: without the first one, whose words are not ours

    def _no_memory(self, pieces: int, rows: int) -> ReleaseError:
        need = pieces * rows * len(self.schema.columns) * BYTES_A_VALUE
        return ReleaseError(
            f"memory ended while rows were drawn: {pieces} pieces of up to {rows:,} rows at a time need about {need:,} "
            "bytes; OMP_NUM_THREADS=1 draws one at a time"
        )

    def _piece(self, draw: Draw, rows: int, rng: np.random.Generator) -> Iterator[pa.Table]:
        """The blocks of one piece."""
        for block in self._decoded(draw(rows, rng), rows, rng):
            require_rules(block, self.schema)
            yield block

    @property
    def _in_columns(self) -> bool:
        """Whether rows are drawn in the codes of columns; those of the model need less memory."""
        return bool(self.given or self.schema.rules)

    def _draw(self) -> Draw:
        if not self._in_columns:
            draw = prepared(self.synthesize, self.model.marginals, self.model.selection)
            return lambda rows, rng: draw(max(rows, self._enough), rng)
        draw = self._draw_columns(answers.likely_codes(self.model, self.schema, self.given))
        return (lambda rows, rng: conditioned(draw, self.given, rows, rng)) if self.given else draw

    def _draw_columns(self, likely: Evidence) -> Draw:
        """Rows in the codes of columns; a graphical model draws only those that agree with `likely`."""
        model, synthesize = self._ruled_model(), self.synthesize
        if likely and isinstance(synthesize, Conditional) and not isinstance(model.selection.structure, Apart):

            def draw(rows: int, rng: np.random.Generator) -> Records:
                return synthesize.sample_given(model.marginals, model.selection, rows, rng, likely)
        else:
            every = prepared(synthesize, model.marginals, model.selection)

            def draw(rows: int, rng: np.random.Generator) -> Records:
                return every(max(rows, self._enough), rng)

        return lambda rows, rng: self._columns(draw(rows, rng), rng)

    def _ruled_model(self) -> Model:
        """The model with the cells that rules leave empty."""
        if not self.schema.rules:
            return self.model
        coding = Coding(self.model.recoding.fine, (self.model.recoding.step, Levels(self.model.selection.levels)))
        constraints = Ruled(self.schema).constraints.through(coding)
        return replace(self.model, marginals=replace(self.model.marginals, constraints=constraints))

    @property
    def _enough(self) -> int:
        # Methods that fit rows to tables need enough rows to fit; a small sample is drawn from a larger fit.
        return min(self.model.marginals.rows, ENOUGH_ROWS)

    def _columns(self, records: Records, rng: np.random.Generator) -> Records:
        """Rows in the codes of columns. Those that break a rule are drawn again in part, whoever made them."""
        if not self.schema.rules:
            return Attributes(self.schema).decode(self.model.recoding.decode(records, rng))
        ruled = Ruled(self.schema)
        recoding = self.model.recoding
        fine = split(records, recoding, ruled.constraints, rng)
        fine = split_again(records, fine, lambda some: recoding.decode(some, rng), ruled.checks)
        obeying = repaired_by(ruled, fine, rng)
        self.tally.add(rows=len(records), repairs=obeying.repairs)
        return Attributes(self.schema).decode(obeying.records)

    def _decoded(self, records: Records, rows: int, rng: np.random.Generator) -> Iterator[pa.Table]:
        """`rows` of the records in random order, as values."""
        codec = SchemaCodec(self.schema)
        order = rng.permutation(len(records))[:rows]
        for start in range(0, max(rows, 1), BLOCK):
            block = records.take(order[start : start + BLOCK])
            made, copies = codec.decode_counting(block if self._in_columns else self._columns(block, rng), rng)
            self.tally.add(decoded=len(made), copies=copies)
            yield made


def require_rules(table: pa.Table, schema: Schema) -> None:
    """No row that breaks a rule leaves."""
    for rule, share in zip(schema.rules, violations(table, schema.rules, schema.columns), strict=True):
        if share:
            raise MethodError(f"rows break the rule {str(rule)!r}, so no table is made; please report this")


def rechunked(blocks: Iterator[pa.Table], rows: int) -> Iterator[pa.Table]:
    """The same rows in tables of `rows` rows each, the last one with what is left."""
    waiting: list[pa.Table] = []
    for block in blocks:
        waiting.append(block)
        while sum(map(len, waiting)) > rows:
            whole = pa.concat_tables(waiting)
            yield whole.slice(0, rows)
            waiting = [whole.slice(rows)]
    yield pa.concat_tables(waiting)


def _equal_sizes(rows: int, most: int) -> list[int]:
    """Sizes of pieces of at most `most` rows, as equal as can be; one piece if there are no rows."""
    pieces = max(1, -(-rows // most))
    return [rows // pieces + (number < rows % pieces) for number in range(pieces)]
