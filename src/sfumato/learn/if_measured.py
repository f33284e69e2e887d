"""Learn in rounds if encode has measured every column, and otherwise a network."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.learn import Known, Learn, Learned
from sfumato.privacy.holder import Holder
from sfumato.privacy.ledger import Purse


@dataclass(frozen=True)
class IfMeasured:
    """The way to learn that fits what encode did: rounds begin with a table of every column, a network with none.

    Args:
        rounds: where every column was measured.
        otherwise: where not.
    """

    rounds: Learn
    otherwise: Learn

    def __call__(self, holder: Holder, known: Known, purse: Purse) -> Learned:
        """Spend the purse."""
        measured = {one.clique for one in known.tables}
        every = all((name,) in measured for name in holder.domain)
        return (self.rounds if every else self.otherwise)(holder, known, purse)
