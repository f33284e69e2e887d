"""How a budget is shared among tables: by the weights of the selection, or by a power of their cells."""

from __future__ import annotations

from collections.abc import Callable

from sfumato.data.marginal import Measurement
from sfumato.data.selection import Selection
from sfumato.privacy.budget import Share
from sfumato.privacy.events import Noise, Sensitivity
from sfumato.privacy.holder import Holder


def measure_tables(
    holder: Holder, selection: Selection, share: Share, power: float, noise: Callable[[Share, Sensitivity], Noise]
) -> tuple[Measurement, ...]:
    """One noisy table for each clique; the whole share is spent unless there is nothing to measure.

    Args:
        holder: who has the rows.
        selection: the cliques, and perhaps the part of the share that each gets.
        share: what the tables may cost together.
        power: without weights in the selection, parts are in proportion to cells^power.
        noise: from a part of the share to the noise that it pays for.
    """
    if not selection.cliques:
        return ()
    parts = share.split(selection.weights or [holder.domain.cells(clique) ** power for clique in selection.cliques])
    return holder.measure(selection.cliques, [noise(part, holder.neighbours.marginal) for part in parts])
