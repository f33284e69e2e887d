"""One party of many, replayed: its masked answers on neighbours, and its shares of noise against their law."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.audit.noise import law_problems
from sfumato.audit.replay import Tape
from sfumato.audit.rows import Pair, pairs
from sfumato.data.coding import Coding
from sfumato.data.domain import Clique, Domain
from sfumato.engines import Engine
from sfumato.engines.memory import Memory
from sfumato.privacy.budget import Budget, PureDP, SkellamDP
from sfumato.privacy.entropy import Entropy, SystemEntropy
from sfumato.privacy.events import Noisy
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.neighbours import Neighbours
from sfumato.privacy.opening import open_engine
from sfumato.privacy.party_holder import PartyHolder
from sfumato.privacy.questions import table_noises
from sfumato.schema.schema import Schema

HONEST = 3
"""How many parties of a made-up study are sure to add their shares."""

Words = NDArray[np.uint64]


def share_problems(schema: Schema, draws: int) -> tuple[list[str], int]:
    """What is wrong with the answers of a party, and how many pairs of neighbours were tried."""
    problems, tried = [], 0
    neighbours = Neighbours.of(schema)
    for budget in (PureDP("1"), SkellamDP("1", "1e-6")):
        tape = Tape()
        for pair in pairs(schema, few=True):
            problems += [f"{pair.name}: {one}" for one in _replayed(schema, pair, budget, tape)]
            tried += 1
        problems += tape.problems
        if not tape.problems and tape.reached < 1:
            problems.append(f"no pair of neighbours reached what is charged for (only {tape.reached:.3g} of it)")
        problems += _law_problems(neighbours, budget, draws)
    return list(dict.fromkeys(problems)), tried


def _replayed(schema: Schema, pair: Pair, budget: Budget, tape: Tape) -> list[str]:
    """With the same random numbers, answers on neighbours differ by what the rows differ by, and by nothing else."""
    engines = [open_engine(rows, schema, SystemEntropy()) for rows in (pair.first, pair.second)]
    names = tuple(engines[0].domain.names)
    cliques: list[Clique] = [(), *((name,) for name in names), names]
    made = [_answered(one, Neighbours.of(schema), cliques, budget, _Repeated()) for one in engines]
    (first, events), (second, again) = made
    counted = [list(one.count(Coding(one.domain), cliques)) for one in engines]
    exact = [[np.asarray(table.counts, dtype=np.int64).ravel() for table in tables] for tables in counted]
    for one, two, event in zip(*exact, events, strict=True):
        tape.compare(one, two, event)
    problems = [] if events == again else ["a party pays something else on the neighbour"]
    if not np.array_equal((second - first).view(np.int64), np.concatenate(exact[1]) - np.concatenate(exact[0])):
        problems.append("the noise or the mask of a party depends on its rows")
    return problems


def _law_problems(neighbours: Neighbours, budget: Budget, draws: int) -> list[str]:
    """Shares of parties without rows add up to the noise that is charged, no two are alike, and a mask covers each."""
    engine = Memory(Domain({"one": draws}), [])
    made = [_answered(engine, neighbours, [("one",)], budget, SystemEntropy()) for _ in range(HONEST)]
    shares, ((event,), *_) = zip(*made, strict=True)
    name = f"shares of {event.noise.kind} noise"
    total = np.sum([one.view(np.int64) for one in shares], axis=0)
    problems = [f"{name}: {one}" for one in law_problems(total, event.noise)]
    if np.array_equal(shares[0], shares[1]):
        problems.append(f"{name}: two parties drew the same numbers")
    mask = SystemEntropy().words(draws)
    bare, masked = (_answered(engine, neighbours, [("one",)], budget, _Repeated(), one)[0] for one in (None, mask))
    if not np.array_equal(masked - bare, mask):
        problems.append("the answer of a party leaves without its mask")
    return problems


def _answered(
    engine: Engine,
    neighbours: Neighbours,
    cliques: Sequence[Clique],
    budget: Budget,
    entropy: Entropy,
    mask: Words | None = None,
) -> tuple[Words, list[Noisy]]:
    """The answer of one party, under a mask of zeros if none is given, and what it charged."""
    coding, ledger = Coding(engine.domain), Ledger(budget, str(neighbours))
    cells = sum(engine.domain.cells(clique) for clique in cliques)
    noises = table_noises(budget, [budget.total.part(Fraction(1, len(cliques) + 1))] * len(cliques), neighbours)
    zeros = np.zeros(cells, dtype=np.uint64)
    holder = PartyHolder(engine, neighbours, entropy)
    answer = holder.share(coding, cliques, noises, HONEST, zeros if mask is None else mask, ledger)
    return answer, [event for _, event in ledger.statement().entries if isinstance(event, Noisy)]


class _Repeated:
    """Numbers that are the same each time, for made-up rows only: whoever can repeat noise can subtract it."""

    def __init__(self) -> None:
        self._numbers = np.random.PCG64(7)

    def words(self, count: int) -> Words:
        """The next words."""
        return np.asarray(self._numbers.random_raw(count), dtype=np.uint64)
