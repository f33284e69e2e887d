"""The holder of one party of many: its counts leave only as one masked vector that has its share of the noise."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from sfumato.data.coding import Coding
from sfumato.data.domain import Clique, Domain
from sfumato.data.selection import Family
from sfumato.engines import Engine
from sfumato.errors import MethodError
from sfumato.privacy.entropy import Entropy, SystemEntropy
from sfumato.privacy.events import Choice
from sfumato.privacy.holder import scores_of
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.mechanisms import Noise
from sfumato.privacy.mechanisms.exponential import Race
from sfumato.privacy.neighbours import Neighbours
from sfumato.privacy.questions import table_events
from sfumato.privacy.scores import Score


class PartyHolder:
    """The rows of one party. It has none of the ways of a local holder to answer.

    A share of the noise protects only in a sum with those of other parties. So `share` wants a mask, which is as
    uniform as the keys of the parties are secret, and adds it before anything leaves this room.
    """

    def __init__(self, engine: Engine, neighbours: Neighbours, entropy: Entropy | None = None):
        if neighbours.parts > 1:
            raise MethodError(
                "persons cannot be counted by many parties, since one person may have rows at several; "
                "set 'unit.count' to rows"
            )
        self._engine = engine
        self._entropy = entropy or SystemEntropy()
        self._scored: tuple[Coding, str] | None = None
        self._scores: dict[Family, int] = {}
        self.neighbours = neighbours

    @property
    def domain(self) -> Domain:
        """The attributes of the schema, which every coding starts from."""
        return self._engine.domain

    def share(
        self,
        coding: Coding,
        cliques: Sequence[Clique],
        noises: Sequence[Noise],
        honest: int,
        mask: NDArray[np.uint64],
        ledger: Ledger,
    ) -> NDArray[np.uint64]:
        """Charge the ledger, and answer with counts, shares of noise and mask, modulo 2^64, cell after cell.

        Args:
            coding: the codes to count in.
            cliques: the tables to count.
            noises: the noise of each, as the sum of `honest` shares.
            honest: how many parties, this one among them, are sure to add their shares and to keep them secret.
            mask: one uniform number for each cell.
            ledger: the party's own book of all that it has ever answered in this study.
        """
        cells = [coding.domain.cells(clique) for clique in cliques]
        if mask.shape != (sum(cells),):
            raise MethodError(f"a mask of {mask.size} numbers was given for {sum(cells)} cells; each needs its own")
        ledger.charge(*table_events(cliques, noises, self.neighbours))
        # Noise is drawn before the rows are counted: its running time cannot depend on them.
        # Tables with the same noise are drawn together, since a call takes longer than a small table.
        drawn = [
            noise.draw_share(honest, sum(size for _, size in tables), self._entropy)
            for noise, tables in groupby(zip(noises, cells, strict=True), key=itemgetter(0))
        ]
        exact = self._engine.count(coding, cliques)
        counts = np.concatenate([table.counts.ravel() for table in exact]).astype(np.int64) + np.concatenate(drawn)
        masked: NDArray[np.uint64] = counts.view(np.uint64) + mask
        return masked

    def choose(
        self,
        coding: Coding,
        families: Sequence[Family],
        score: Score,
        event: Choice,
        handicaps: Sequence[int],
        ledger: Ledger,
    ) -> int:
        """Charge the ledger, and choose one family by the exponential mechanism on this party's rows alone.

        Args:
            coding: the codes to count in.
            families: the candidates.
            score: what the choice prefers.
            event: the choice, whose sensitivity is this holder's.
            handicaps: public numbers, one for each family, in the unit of the score.
            ledger: the party's own book of all that it has ever answered in this study.
        """
        if event.sensitivity != self.neighbours.score_of_one_party(score):
            raise MethodError("a choice of another sensitivity than that of these rows was asked for")
        ledger.charge(event)
        race = Race.draw(len(families), self._entropy)
        if self._scored != (coding, score.name):
            self._scored, self._scores = (coding, score.name), {}
        new = [family for family in families if family not in self._scores]
        self._scores |= scores_of(self._engine, coding, new, score)
        exact = [self._scores[family] - less for family, less in zip(families, handicaps, strict=True)]
        return race.winner(exact, event.mechanism.rate)

    def __repr__(self) -> str:
        return f"PartyHolder({self.domain!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a holder has private rows and cannot be pickled or copied")
