"""What leaves a holder and is no table is kept by the ledger; noise that says nothing about rows is not seen."""

from fractions import Fraction

import numpy as np

from helpers_holders import holder_of
from sfumato.data.constraints import Constraint, Constraints
from sfumato.data.domain import Domain
from sfumato.data.records import Records
from sfumato.data.selection import Family
from sfumato.privacy.budget import PureDP
from sfumato.privacy.questions import Dependence, Distances
from sfumato.privacy.ruled_holder import RuledHolder
from sfumato.privacy.scores import SCORES

DOMAIN = Domain({"a": 2, "b": 3, "c": 2})
RECORDS = Records(DOMAIN, [np.array([0, 1, 1, 0]), np.array([0, 2, 1, 1]), np.array([1, 1, 0, 0])])
PAIRS = [("a", "b"), ("b", "c")]


def test_the_ledger_keeps_what_the_holder_answered():
    holder, ledger = holder_of(RECORDS, PureDP(1))
    part = ledger.budget.total.part(Fraction(1, 4))
    scores = holder.dependence(PAIRS, part)
    found = holder.distances(PAIRS, [np.ones((2, 3)), np.zeros((3, 2))], part)
    families = [Family("a", ("b",)), Family("a", ("c",))]
    chosen = holder.choose(families, SCORES["R"], part, [0, 0])
    (table,) = holder.measure([("a",)], [part])
    events = [event for _, event in ledger.statement().entries]
    assert list(ledger.answers) == [0, 1, 2]  # tables are kept as tables
    again = Dependence.of(np.array(ledger.answers[0]), holder.neighbours)
    assert again.scores.tobytes() == scores.scores.tobytes()
    distances = Distances.of(np.array(ledger.answers[1]), events[1], holder.neighbours)
    assert (distances.values.tobytes(), distances.variance) == (found.values.tobytes(), found.variance)
    assert ledger.answers[2] == (chosen,)
    assert table.event == 3


def test_noise_in_cells_that_may_hold_no_row_is_not_seen():
    holder, ledger = holder_of(RECORDS, PureDP("0.01"))
    allowed = np.array([[True, False, True], [True, True, False]])
    ruled = RuledHolder(holder, Constraints(DOMAIN, (Constraint(("a", "b"), allowed),)))
    part = ledger.budget.total.part(Fraction(1, 2))
    one, other = ruled.measure([("a", "b"), ("b", "c")], [part, part])
    assert (one.marginal.counts[~allowed] == 0).all()
    assert one.allowed is not None
    assert other.allowed is None
