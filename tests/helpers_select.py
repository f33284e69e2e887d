"""Selections for tests: what a part chooses, and coarser versions of columns for it to choose from."""

from sfumato.data.coding import Level
from sfumato.learn import Known
from sfumato.privacy.neighbours import Neighbours
from sfumato.privacy.questions import table_noise

NOTHING = Known()
"""What a stage knows that comes first."""


class PublicHolder:
    """Knows what is public and nothing else: a stage that asks for rows fails."""

    def __init__(self, domain, budget, neighbours=Neighbours()):  # noqa: B008  # it is frozen
        self.domain, self.budget, self.neighbours = domain, budget, neighbours
        self.notes = []

    def variance(self, part):
        return table_noise(self.budget, part, self.neighbours).variance

    def note(self, question, reason):
        self.notes.append((question, reason))


def learned(select, holder, share, ahead=None, known=NOTHING):
    """What a part learns with a share, if as much, or `ahead`, will measure the tables."""
    return select(holder, known, share, share if ahead is None else ahead)


def chosen(select, holder, share, ahead=None, known=NOTHING):
    """Its selection."""
    return learned(select, holder, share, ahead, known).selection


def halvings(domain, column):
    """The levels of an ordered column that merge 2, 4, 8, … neighbouring codes, down to 2 codes."""
    size, width = domain[column], 2
    levels = []
    while -(-size // width) >= 2:
        levels.append(Level(column, tuple(code // width for code in range(size))))
        width *= 2
    return tuple(levels)
