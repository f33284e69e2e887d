"""DistDiffGen, for figures: two parties release one generalised table for one classifier.

Alhadidi, Mohammed, Fung and Debbabi (2012), the method that the DP-SUBN paper compares with for two parties. Every
column but the label begins as one group of codes. In each of h steps one group is split, chosen by the exponential
mechanism; at the end the rows in each combination of groups and labels are counted, with Laplace noise. Half of epsilon
is for choices, epsilon / (2 (numeric columns + 2 h)) each, and half is for the counts.

It is not for use. What the paper does by secure computation of two parties, this does in one process: a choice is the
one that somebody with all rows would make, and one party's noise is in the counts, so neither party is protected from
the other (`NOTICE`). Against others the ledger has every choice and every count, and says what they cost.

What the text leaves open, and how it is read here: the score of a group is `Max`, the rows that would be labelled
rightly if every child had its most frequent label; a group of a column without an order is split in the middle of its
codes, since no public taxonomy is at hand (children are fewer than under a flat one, which is to the method's
advantage); counts below 0 are 0; within a group, codes are drawn uniformly.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from reproductions.one_share import Pooled
from sfumato.data.coding import Coding, Merge
from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal
from sfumato.data.records import Records
from sfumato.engines import MOST_CELLS, Engine
from sfumato.errors import BudgetError, MethodError
from sfumato.privacy.budget import PureDP
from sfumato.privacy.entropy import Entropy, SystemEntropy
from sfumato.privacy.events import Choice
from sfumato.privacy.holder import LocalHolder
from sfumato.privacy.ledger import Ledger, Statement
from sfumato.privacy.mechanisms.exponential import Exponential, Race
from sfumato.privacy.neighbours import Neighbours

CIPHERTEXT = 128
"""Bytes of a ciphertext of 1024 bits, as the DP-SUBN paper counts them."""

NOTICE = (
    "NO GUARANTEE AGAINST THE OTHER PARTY: choices and counts are made as by one who has all rows, and one draw of "
    "noise is added, which whoever drew it can take off"
)

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Group:
    """Codes `start` to `end` of a column, which are not told apart, and where they would be split."""

    column: str
    start: int
    end: int
    at: int

    @property
    def children(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The two groups it would be split into."""
        return (self.start, self.at), (self.at, self.end)


@dataclass(frozen=True, eq=False)
class Generalised:
    """What DistDiffGen releases.

    Args:
        domain: of the rows, in codes of the attributes.
        label: the column that a classifier is for.
        lookups: from codes to groups, for every column but the label; columns that were left out have one group.
        table: noisy counts of all combinations of groups and labels.
        statement: what it cost, against outsiders.
        sent: bytes that two parties would send at least: each count under encryption, once each way.
        notice: the line that every report must carry.
    """

    domain: Domain
    label: str
    lookups: Mapping[str, Counts]
    table: Marginal
    statement: Statement
    sent: int
    notice: str = NOTICE

    def sample(self, seed: int | None = None) -> Records:
        """As many rows as the counts say, in attributes of the schema."""
        rng = np.random.default_rng(seed)
        counts = np.maximum(np.asarray(self.table.counts), 0).ravel().astype(np.int64)
        cells = np.unravel_index(np.repeat(np.arange(counts.size), counts), self.table.domain.shape)
        drawn = dict(zip(self.table.domain, cells, strict=True))
        columns = []
        for name in self.domain:
            groups = drawn.get(name, np.zeros(len(cells[0]), dtype=np.int64))
            columns.append(groups if name == self.label else _within(self.lookups[name], groups, rng))
        return Records(self.domain, columns)


def dist_diff_gen(
    engines: Sequence[Engine],
    neighbours: Neighbours,
    budget: PureDP,
    *,
    label: str,
    numeric: Collection[str] = (),
    hidden: Collection[str] = (),
    steps: int = 10,
    entropy: Entropy | None = None,
) -> Generalised:
    """Release a table of two parties for one classifier.

    Args:
        engines: the rows of the two parties.
        neighbours: which tables must look alike.
        budget: epsilon.
        label: the column that is to be predicted.
        numeric: columns whose groups are intervals, and are split where the exponential mechanism says.
        hidden: columns that are left out.
        steps: how many groups are split (h).
        entropy: of noise and choices; for tests.
    """
    if not isinstance(budget, PureDP):
        raise BudgetError("DistDiffGen adds Laplace noise, as its paper does; leave delta out")
    domain = engines[0].domain
    if len(engines) != 2 or label not in domain or steps < 1:
        raise MethodError(
            "DistDiffGen wants the rows of two parties, a label among their columns, and one step or more"
        )
    ledger = Ledger(budget, str(neighbours))
    ledger.note("choices and counts as one with all rows would make them", NOTICE)
    names = [name for name in domain if name != label and name not in hidden and domain[name] > 1]
    search = _Search(Pooled(engines), neighbours, ledger, entropy or SystemEntropy(), names, label)
    intervals = [name for name in names if name in numeric]
    search.begin(frozenset(intervals), budget.epsilon / (2 * (len(intervals) + 2 * steps)))
    for _ in range(steps):
        if not search.split():
            break
    lookups = {name: search.lookup(name) for name in domain if name != label}
    ledger.stage = "counts"
    holder = LocalHolder(Pooled(engines), neighbours, ledger, search.entropy)
    merged = holder.through(Merge(tuple((name, tuple(lookups[name].tolist())) for name in lookups)))
    clique = (*(name for name in names if lookups[name].max()), label)
    (measured,) = merged.measure([clique], [budget.total.part(Fraction(1, 2))])
    statement = ledger.statement()
    statement.verify()
    sent = search.sent + 2 * CIPHERTEXT * measured.domain.cells()
    return Generalised(domain, label, lookups, measured.marginal, statement, sent)


class _Search:
    """The groups as they are, and the choices among them; every choice is charged before rows are counted."""

    def __init__(
        self,
        rows: Pooled,
        neighbours: Neighbours,
        ledger: Ledger,
        entropy: Entropy,
        names: Sequence[str],
        label: str,
    ):
        self._rows, self._ledger, self.entropy = rows, ledger, entropy
        self._names, self._label, self._sensitivity = names, label, neighbours.changes
        self._groups: list[Group] = []
        self._numeric: frozenset[str] = frozenset()
        self._mechanism = Exponential(Fraction(1))
        self._tables: dict[str, Counts] = {}
        self.sent = 0

    def begin(self, numeric: frozenset[str], part: Fraction) -> None:
        """One group for each column; intervals get a place to be split at."""
        self._numeric = numeric
        self._mechanism = Exponential.calibrate(part, self._sensitivity, self._ledger.budget.notion)
        for name in self._names:
            self._add(name, [(0, self._rows.domain[name])])

    def split(self) -> bool:
        """Split one group, if there is one that can be split and whose table could still be counted."""
        domain = self._rows.domain
        cells = domain[self._label]
        for name in self._names:
            cells *= int(self.lookup(name).max()) + 1
        able = [one for one in self._groups if one.at > one.start]
        if not able or 2 * cells > MOST_CELLS:
            return False
        self._charge(f"one of {len(able)} groups of codes to split")
        race = Race.draw(len(able), self.entropy)
        chosen = able[race.winner([self._score(one.column, one.children) for one in able], self._mechanism.rate)]
        self.sent += 2 * CIPHERTEXT * 2 * domain[self._label] * len(able)
        self._groups.remove(chosen)
        self._add(chosen.column, chosen.children)
        return True

    def lookup(self, name: str) -> Counts:
        """From codes of a column to its groups; one group for a column that is left out."""
        found = np.zeros(self._rows.domain[name], dtype=np.int64)
        for place, one in enumerate(sorted((one for one in self._groups if one.column == name), key=_start)):
            found[one.start : one.end] = place
        return found

    def _add(self, name: str, spans: Sequence[tuple[int, int]]) -> None:
        """New groups. The places at which several intervals would be split are one choice, by the sum of the scores."""
        places = {span: span[0] + (span[1] - span[0]) // 2 for span in spans}
        wide = [span for span in spans if span[1] - span[0] > 2]  # of two codes, there is one place
        if name in self._numeric and wide:
            self._charge(f"where to split {len(wide)} intervals of {name}")
            races = {span: Race.draw(span[1] - span[0] - 1, self.entropy) for span in wide}
            for (start, end), race in races.items():
                scores = [self._score(name, ((start, at), (at, end))) for at in range(start + 1, end)]
                places[start, end] = start + 1 + race.winner(scores, self._mechanism.rate)
                self.sent += 2 * CIPHERTEXT * 2 * self._rows.domain[self._label] * len(scores)
        self._groups += [Group(name, start, end, places[start, end]) for start, end in spans]

    def _charge(self, question: str) -> None:
        self._ledger.stage = "choices"
        self._ledger.charge(Choice(question, self._mechanism, self._sensitivity))

    def _score(self, name: str, spans: Sequence[tuple[int, int]]) -> int:
        """Rows that would be labelled rightly if each span of codes had its most frequent label."""
        if name not in self._tables:
            (table,) = self._rows.count(Coding(self._rows.domain), [(name, self._label)])
            self._tables[name] = np.cumsum(np.vstack([np.zeros_like(table.counts[:1]), table.counts]), axis=0)
        sums = self._tables[name]
        return sum(int((sums[end] - sums[start]).max()) for start, end in spans)


def _start(group: Group) -> int:
    return group.start


def _within(lookup: Counts, groups: Counts, rng: np.random.Generator) -> Counts:
    """A code of each group, uniformly."""
    order = np.argsort(lookup, kind="stable")
    sizes = np.bincount(lookup)
    starts = np.cumsum(sizes) - sizes
    return np.asarray(order[starts[groups] + (rng.random(len(groups)) * sizes[groups]).astype(np.int64)])
