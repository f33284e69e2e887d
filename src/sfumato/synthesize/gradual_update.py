"""The gradual update method (GUM): start from independent columns and move rows, bit by bit, towards every table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, sqrt

import numpy as np
from numpy.typing import NDArray

from sfumato import kernels
from sfumato.data.constraints import Constraints
from sfumato.data.domain import Clique, components
from sfumato.data.marginals import Marginals
from sfumato.data.records import Codes, Records, code_type
from sfumato.data.selection import Selection
from sfumato.loops import counted
from sfumato.models.rounding import draw_given, round_counts
from sfumato.synthesize.allowed_lines import Ruling, allowed_lines
from sfumato.synthesize.appending import Append, peel
from sfumato.synthesize.repair import obeying
from sfumato.synthesize.start import Barrier, Table, Target, by_row, independent_columns

Array = NDArray[np.float64]

FULL = 1e6
"""Rows too many that a forbidden cell counts as having."""

MOST_UPDATES, FEWEST_SWEEPS = 15_000, 5
"""Tables are visited at most this often in all, but each of them this many times: 500 tables have 30 sweeps."""

DECAYS: dict[str, Callable[[int], float]] = {
    "step": lambda sweep: float(0.84 ** (sweep // 3)),
    "exponential": lambda sweep: exp(-0.053 * sweep),
    "linear": lambda sweep: 1 / (1 + 0.13 * sweep),
    "root": lambda sweep: 1 / sqrt(1 + 0.8 * sweep),
}
"""The factor on alpha in sweep 0, 1, …: the authors' four, with time running 20/3 times as fast as theirs."""


@dataclass(frozen=True)
class GradualUpdate:
    """GUM with attribute appending and separate-and-join (appendix A of the DPSyn paper).

    Args:
        alpha: how much an under-full cell may grow in the first sweep, as a part of its rows.
        decay: how alpha falls from sweep to sweep; a key of `DECAYS`.
        sweeps: how often every table is visited; fewer times if there are more than some hundred.
        swaps: afterwards, how many random swaps of single values are tried for each row; a swap is made where it brings
            the tables nearer. Gradual update ends in a balance of tables that pull at the same rows, and this goes on
            from there.
    """

    alpha: float = 1.0
    decay: str = "step"
    sweeps: int = 30
    swaps: int = 50

    def __call__(self, marginals: Marginals, selection: Selection, rows: int, rng: np.random.Generator) -> Records:
        """`rows` rows whose marginals come close to `marginals`, which must agree with each other."""
        fitted, appended = peel(marginals.cliques)
        drawn_last = {step.column for step in appended}
        alone = [(name,) for name in marginals.domain if name not in drawn_last]
        constraints = marginals.constraints or Constraints(marginals.domain)
        zeros = constraints.within(name for (name,) in alone).items
        # Only the columns that are being fitted have wide codes: they are what takes memory.
        codes: dict[str, Codes] = {}
        # Columns that a constraint ties are not joined at random.
        tied = [*alone, *fitted, *(one.clique for one in zeros)]
        for component in map(marginals.domain.canonical, components(tied)):
            cliques = [clique for clique in fitted if clique[0] in component]
            table = independent_columns(marginals, rows, rng, component)
            if rows:
                start = Records(marginals.domain.project(component), list(table))
                table[:] = np.array(obeying(start, constraints.within(component), rng).columns)
            if cliques and rows:
                table = by_row(table, (marginals.domain[name] for name in component))
                self._fit(table, component, cliques, marginals, rng)
            order = rng.permutation(rows)  # components are joined at random
            codes |= {
                name: column.astype(code_type(marginals.domain[name]))[order]
                for name, column in zip(component, table, strict=True)
            }
        for step in appended:
            ruling = constraints.given(step.column, codes)
            codes[step.column] = _append(codes, step, marginals, rows, rng, ruling)
        return Records(marginals.domain, [codes[name] for name in marginals.domain])

    def _sweeps(self, tables: int) -> int:
        """How often each of this many tables is visited: fewer times where they are thousands."""
        most = max(FEWEST_SWEEPS, MOST_UPDATES // tables)
        # The last sweep replaces: one that only copies takes with each row what all other tables say of it.
        return self.sweeps if self.sweeps <= most else most - 1 + most % 2

    def _fit(
        self, part: Table, names: Clique, cliques: list[Clique], marginals: Marginals, rng: np.random.Generator
    ) -> None:
        """Fit the columns of one component."""
        targets = [Target.of(marginals.project(clique), names, part.shape[1]) for clique in cliques]
        zeros = [] if marginals.constraints is None else marginals.constraints.within(names).items
        barriers = [Barrier.of(one, names) for one in zeros]
        errors = np.full(len(targets), np.inf)
        order = np.arange(len(targets))
        for step in counted(range(self._sweeps(len(targets)) * len(targets)), "updates"):
            sweep, place = divmod(step, len(targets))
            if place == 0:
                order = np.argsort(-errors, kind="stable")
            alpha = self.alpha * DECAYS[self.decay](sweep)
            number = order[place]
            errors[number] = update(part, targets[number], alpha, sweep % 2 == 0, rng, barriers)
        swap(part, targets, self.swaps * part.shape[1], rng, barriers)


def update(
    table: Table,
    target: Target,
    alpha: float,
    replacing: bool,
    rng: np.random.Generator,
    barriers: Sequence[Barrier] = (),
) -> float:
    """Move rows of `table` towards one target and return how far it was before, in rows.

    Args:
        table: the rows; changed in place.
        target: the table to move towards.
        alpha: an under-full cell grows by at most this part of itself.
        replacing: half of the rows that enter a cell keep their other columns; otherwise all become copies of rows that
            are in the cell already. Empty cells have nothing to copy and are always filled by replacing.
        rng: randomness of the synthesis, not of the noise.
        barriers: a row that would enter a forbidden cell stays as it was.
    """
    touched = [one for one in barriers if set(one.columns) & set(target.columns)]
    before, crossed = (table.copy(order="K"), [one.crossed(table) for one in touched]) if touched else (table, [])
    cell, counts = kernels.locate(table, target.columns, target.sizes)
    error = float(np.abs(target.wanted - counts).sum())
    leave, enter = moves(counts, target.wanted, alpha, rng)
    duplicate = np.where(counts > 0, enter, 0)
    if replacing:
        duplicate = duplicate // 2 + (duplicate % 2) * (rng.random(len(duplicate)) < 0.5)
    kernels.move(table, target.columns, target.sizes, cell, counts, leave, enter - duplicate, duplicate, rng)
    for one, already in zip(touched, crossed, strict=True):
        entered = one.crossed(table) & ~already
        table[:, entered] = before[:, entered]
    return error


def swap(
    table: Table,
    targets: Sequence[Target],
    proposals: int,
    rng: np.random.Generator,
    barriers: Sequence[Barrier] = (),
) -> None:
    """Try random swaps of one value between two rows; keep those that lower the squared errors of all targets.

    Forbidden cells count as far too full: no swap that brings a row into one is kept.
    """
    excess = [kernels.locate(table, target.columns, target.sizes)[1] - target.wanted for target in targets]
    excess += [np.where(one.forbidden, FULL, 0.0) for one in barriers]
    kernels.swap(
        table,
        [*(one.columns for one in targets), *(one.columns for one in barriers)],
        [*(one.sizes for one in targets), *(one.sizes for one in barriers)],
        np.concatenate(excess).astype(np.float32),
        proposals,
        rng,
    )


def moves(
    counts: NDArray[np.int64], wanted: Array, alpha: float, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many rows leave and how many enter each cell; the sums are equal.

    An under-full cell grows by min(gap, alpha * count), an empty one by alpha * gap. Over-full cells lose
    min(-gap, beta * count), with the one beta that balances the two.
    """
    gap = wanted - counts
    enter = np.where(counts > 0, np.minimum(gap, alpha * counts), np.minimum(gap, alpha * gap)).clip(min=0)
    surplus = (-gap).clip(min=0)
    amount = min(enter.sum(), surplus.sum())
    shrink = _balanced(surplus, counts.astype(np.float64), amount)
    leave = np.minimum(round_counts(shrink, int(amount + rng.random()), rng), counts)
    return leave, round_counts(enter, int(leave.sum()), rng)


def _balanced(surplus: Array, counts: Array, amount: float) -> Array:
    """min(surplus, beta * counts) with beta such that the sum is `amount`, by Newton steps on a concave function."""
    full = surplus > 0
    beta = 0.0
    for _ in range(60):
        shrink = np.minimum(surplus, beta * counts)
        missing = amount - shrink[full].sum()
        slope = counts[full & (shrink < surplus)].sum()
        if missing <= 1e-9 * max(amount, 1.0) or slope == 0:
            break
        beta += missing / slope
    return np.where(full, np.minimum(surplus, beta * counts), 0.0)


def _append(
    codes: Mapping[str, Codes],
    step: Append,
    marginals: Marginals,
    rows: int,
    rng: np.random.Generator,
    ruling: Ruling = (),
) -> NDArray[np.uint32]:
    """Draw one column given others, from the table over them; where that is empty, from the column's own table."""
    joint = marginals.project((*step.given, step.column)).counts.astype(np.float64).clip(min=0)
    joint = joint.reshape(-1, joint.shape[-1])
    own = joint.sum(axis=0) + 1e-300
    mass = joint.sum(axis=1, keepdims=True)
    conditional = np.where(mass > 0, joint / np.where(mass > 0, mass, 1), own / own.sum())
    parent = np.zeros(rows, dtype=np.int64)
    for name in step.given:
        parent = parent * marginals.domain[name] + codes[name]
    return draw_given(*allowed_lines(parent, conditional, ruling), rng)
