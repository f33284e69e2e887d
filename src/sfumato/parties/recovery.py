"""Recovery of masks: a party that is lost between its promise and its vector does not cost the others the round.

Each party has two secrets for an attempt: the private half of its mask key, and the seed of a stream of its own. It
splits both among the keepers of the roster (`parties.circle`), in pieces of which any `threshold` give the secret and
fewer say nothing (Shamir 1979). When vectors have come, keepers give their pieces of the seeds of those in the sum and
of the keys of those who are not, never both of one party. So exactly one sum can be read. The argument:
docs/proofs/parties.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ProtocolError
from sfumato.parties.agreement import Go, Roster
from sfumato.parties.circle import keepers, neighbours
from sfumato.parties.letters import Members
from sfumato.parties.masking import mask, own_mask, public_key, sealed, unsealed
from sfumato.parties.messages import Reveal
from sfumato.privacy.entropy import Entropy

PRIME = (1 << 256) + 297
"""Pieces are numbers modulo the least prime above all secrets of 32 bytes."""

_PIECE = 33  # bytes


def can_recover(parties: int, colluding: int, missing: int) -> bool:
    """Whether that many parties may be lost, and still nobody can read two sums, or one of too few parties."""
    return parties > colluding + missing * (missing + 1)


def check_recovery(parties: int, colluding: int, missing: int) -> None:
    """Refuse to let more parties stay away than can be made up for."""
    if missing and not can_recover(parties, colluding, missing):
        wanted = colluding + missing * (missing + 1) + 1
        raise ProtocolError(
            f"of {parties} parties, {colluding} may collude and {missing} may stay away; the masks of those who are "
            f"lost can be taken off safely from {wanted} parties on: take more parties, or let fewer stay away"
        )


def threshold(keepers: int, colluding: int, missing: int) -> int:
    """How many pieces give a secret if there are this many keepers; see docs/proofs/parties.md, section 4."""
    return colluding + (keepers - colluding) * missing // (missing + 1) + 1


def deal(
    key: bytes, seed: bytes, sealing: bytes, name: str, roster: Roster, members: Members, entropy: Entropy
) -> dict[str, str]:
    """The pieces of a party's two secrets, sealed for each keeper."""
    kept, public = keepers(roster.names(members), members), {one.sender: one for one in roster.keys}
    keys, seeds = (_split(secret, _least(roster, members), len(kept), entropy) for secret in (key, seed))
    return {
        other: sealed(
            sealing, name, public[other], roster, members.study, _written(keys[place]) + _written(seeds[place])
        )
        for place, other in enumerate(kept)
    }


def check_pieces(sealing: bytes, name: str, roster: Roster, go: Go, members: Members) -> None:
    """Refuse to go on if a keeper has no piece from somebody, or one that cannot be opened."""
    for other in roster.keys if name in keepers(roster.names(members), members) else ():
        _pieces(sealing, name, roster, go, members, other.sender)


def reveal(
    sealing: bytes, name: str, roster: Roster, go: Go, members: Members, summed: Sequence[str]
) -> dict[str, str]:
    """Pieces of the seeds of those who are in the sum, and of the keys of those who are not."""
    found = {}
    for other in roster.names(members):
        key, seed = _pieces(sealing, name, roster, go, members, other)
        found[other] = (seed if other in summed else key).hex()
    return found


def unmask(
    total: NDArray[np.uint64],
    roster: Roster,
    members: Members,
    summed: Sequence[str],
    revealed: Mapping[str, Mapping[str, str]],
) -> NDArray[np.uint64]:
    """The sum of the vectors of some parties without what is left of their masks.

    Args:
        total: the sum of their vectors.
        roster: of the attempt, with all keys.
        members: of the study.
        summed: whose vectors are in it.
        revealed: what keepers gave (see `reveal`), of as many as are `enough`.
    """
    clear, names = total.copy(), roster.names(members)
    for key in roster.keys:
        secret = _combined(roster, members, {name: pieces[key.sender] for name, pieces in revealed.items()})
        if key.sender in summed:
            clear -= own_mask(secret, key.sender, roster, members.study, total.size)
            continue
        if public_key(secret) != key.public:
            raise ProtocolError(
                f"the masks of {key.sender!r} cannot be taken off: somebody gave a wrong piece; the study ends here"
            )
        shared = set(summed) & set(neighbours(names, key.sender, members))
        clear += mask(secret, key.sender, roster, members.study, total.size, shared)
    return clear


def is_right(reveal: Reveal, names: Sequence[str], summed: Sequence[str]) -> bool:
    """Whether pieces are for this sum, and of everybody on the roster."""
    try:
        sound = all(0 <= int(piece, 16) < PRIME and len(piece) == 2 * _PIECE for piece in reveal.pieces.values())
    except ValueError:
        return False
    return sound and list(reveal.names) == list(summed) and set(reveal.pieces) == set(names)


def enough(roster: Roster, members: Members, revealed: int) -> bool:
    """Whether this many keepers' pieces take all masks off."""
    return revealed >= _least(roster, members)


def _least(roster: Roster, members: Members) -> int:
    return threshold(len(keepers(roster.names(members), members)), members.colluding, members.missing)


def _pieces(sealing: bytes, name: str, roster: Roster, go: Go, members: Members, other: str) -> tuple[bytes, bytes]:
    sender = next(key for key in roster.keys if key.sender == other)
    content = unsealed(sealing, sender, name, roster, members.study, go.pieces.get(other, ""))
    if len(content) != 2 * _PIECE:
        raise ProtocolError(f"a piece that {other!r} has sealed is none; nothing is sent")
    return content[:_PIECE], content[_PIECE:]


def _split(secret: bytes, least: int, count: int, entropy: Entropy) -> list[int]:
    """A polynomial whose value at 0 is the secret, at 1, 2, … ; its other coefficients are random."""
    # 512 bits modulo a prime of 257: uniform but for 2^-255.
    drawn = [int.from_bytes(entropy.words(8).tobytes(), "big") % PRIME for _ in range(least - 1)]
    coefficients = [int.from_bytes(secret, "big"), *drawn]
    return [sum(one * pow(place, power, PRIME) for power, one in enumerate(coefficients)) % PRIME
            for place in range(1, count + 1)]  # fmt: skip


def _combined(roster: Roster, members: Members, pieces: Mapping[str, str]) -> bytes:
    """The secret, from pieces by the names of those who had them; refuses what is none."""
    places = {name: place for place, name in enumerate(keepers(roster.names(members), members), start=1)}
    points = {places[name]: int(piece, 16) for name, piece in sorted(pieces.items())[: _least(roster, members)]}
    total = 0
    for place, value in points.items():
        above = below = 1
        for other in points:
            if other != place:
                above, below = above * other % PRIME, below * (other - place) % PRIME
        total += value * above * pow(below, -1, PRIME)
    try:
        return (total % PRIME).to_bytes(32, "big")
    except OverflowError:
        raise ProtocolError("the masks cannot be taken off: somebody gave a wrong piece; the study ends here") from None


def _written(number: int) -> bytes:
    return number.to_bytes(_PIECE, "big")
