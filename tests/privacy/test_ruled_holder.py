"""A holder under rules gives the answers of the holder below it, less the noise where no row can be."""

import numpy as np

from helpers_entropy import ScriptedEntropy
from helpers_holders import holder_of
from sfumato.data.coding import Merge
from sfumato.data.constraints import Constraint, Constraints
from sfumato.data.domain import Domain
from sfumato.data.records import Records
from sfumato.data.selection import Family
from sfumato.privacy.budget import ZCDP, PureDP
from sfumato.privacy.ruled_holder import RuledHolder
from sfumato.privacy.scores import SCORES

DOMAIN = Domain({"a": 3, "b": 4})
ALLOWED = np.array([[1, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]], dtype=np.bool_)
RULES = Constraints(DOMAIN, (Constraint(("a", "b"), ALLOWED),))
PAIR = ("a", "b")


def both(budget):
    """The same holder twice, with the same noise: once as it is, and once under the rules."""
    rng = np.random.default_rng(0)
    places = np.flatnonzero(ALLOWED)[rng.integers(0, int(ALLOWED.sum()), 500)]
    records = Records(DOMAIN, list(np.unravel_index(places, ALLOWED.shape)))
    plain, charged = holder_of(records, budget, entropy=ScriptedEntropy(1))
    other, ledger = holder_of(records, budget, entropy=ScriptedEntropy(1))
    return plain, charged, RuledHolder(other, RULES), ledger


def test_noise_is_gone_where_no_row_can_be_and_is_charged_all_the_same():
    plain, charged, ruled, ledger = both(ZCDP(1))
    parts = ledger.budget.total.split([1, 1])
    pair, single = plain.measure([PAIR, ("a",)], parts)
    found, again = ruled.measure([PAIR, ("a",)], parts)
    assert np.count_nonzero(pair.marginal.counts[~ALLOWED]) > 0
    assert (found.marginal.counts == np.where(ALLOWED, pair.marginal.counts, 0)).all()
    assert (again.marginal.counts == single.marginal.counts).all()
    assert ledger.statement() == charged.statement()
    assert ruled.variance(parts[0]) == plain.variance(parts[0]) == found.variance


def test_merged_cells_are_empty_if_all_their_parts_are():
    step = Merge((("b", (0, 0, 1, 1)),))
    _, _, ruled, ledger = both(ZCDP(1))
    coarse = ruled.through(step)
    assert coarse.domain == Domain({"a": 3, "b": 2})
    assert (coarse.coding.steps, coarse.neighbours) == ((step,), ruled.neighbours)
    (found,) = coarse.measure([PAIR], [ledger.budget.total])
    assert found.allowed.tolist() == [[True, True], [False, True], [False, True]]
    assert found.marginal.counts[1:, 0].tolist() == [0, 0]


def test_all_other_answers_are_those_of_the_holder():
    plain, charged, ruled, ledger = both(ZCDP(1))
    first, second = ledger.budget.total.split([1, 1])
    assert (ruled.dependence([PAIR], first).scores == plain.dependence([PAIR], first).scores).all()
    expected = np.full(DOMAIN.shape, 40.0)
    found = [one.distances([PAIR], iter([expected]), second) for one in (plain, ruled)]
    assert (found[0].values == found[1].values).all()
    for one in (plain, ruled):
        one.note("nothing", "needs no rows")
    assert ledger.statement() == charged.statement()


def test_choices_are_those_of_the_holder():
    plain, charged, ruled, ledger = both(PureDP(1))
    families = [Family("a", ("b",)), Family("b", ("a",)), Family("a", ())]
    asked = (families, SCORES["R"], ledger.budget.total, [0, 0, 0])
    assert plain.choose(*asked) == ruled.choose(*asked)
    assert ledger.statement() == charged.statement()
