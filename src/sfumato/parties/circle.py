"""Who shares masks with whom, and who keeps pieces of whose secrets: a few parties each, however many take part.

The parties of a roster stand in a circle, in the order of their names. Each shares masks with the nearest ones on both
sides. If t parties collude and q are lost, the others are still connected by masks that nobody else knows, which is all
that masks need; so keys, signatures and streams grow with the number of parties and not with its square. Pieces of
secrets are kept by the first parties of the circle. The argument: docs/proofs/parties.md, section 4.
"""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.parties.letters import Members

CLOSE = 16
"""Parties that each shares masks with, and that keep pieces, at least, if there are this many. The proof needs fewer
where few collude; with these, more would have to collude than the manifest says before anything is seen."""


def neighbours(names: Sequence[str], name: str, members: Members) -> tuple[str, ...]:
    """With whom a party of a roster shares masks.

    A circle in which each is tied to the r nearest on either side stays connected when any 2r - 1 are taken out.
    """
    circle = sorted(names)
    reach = max(CLOSE, members.colluding + members.missing + 2) // 2  # at least t + q + 1 neighbours
    if len(circle) <= 2 * reach + 1:
        return tuple(other for other in circle if other != name)
    place = circle.index(name)
    steps = (*range(-reach, 0), *range(1, reach + 1))
    return tuple(sorted(circle[(place + step) % len(circle)] for step in steps))


def keepers(names: Sequence[str], members: Members) -> tuple[str, ...]:
    """Who keeps the pieces of everybody's secrets; nobody where no party may stay away."""
    if not members.missing:
        return ()
    fewest = members.colluding + members.missing * (members.missing + 1) + 1
    return tuple(sorted(names)[: max(CLOSE, fewest)])


def shown(names: Sequence[str], name: str, members: Members) -> tuple[str, ...]:
    """Whose keys and signatures a party is shown: its own, its neighbours' and the keepers'; a keeper is shown all."""
    kept = keepers(names, members)
    if name in kept:
        return tuple(sorted(names))
    return tuple(sorted({name, *neighbours(names, name, members), *kept}))
