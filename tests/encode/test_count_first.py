"""The count that decides how auto without a delta goes on."""

from fractions import Fraction

import pytest

from helpers_auto import records_of, schema_of
from helpers_entropy import ScriptedEntropy
from helpers_holders import holder_of
from sfumato.encode.count_first import CountFirst
from sfumato.encode.rare_values import RareValues
from sfumato.encode.supported_levels import SupportedLevels
from sfumato.privacy.budget import PureDP

COLUMNS = {"age": 200, "a": 30, "b": 3}
PART = CountFirst(SupportedLevels(), RareValues())


def encoded(rows, epsilon, columns=COLUMNS):
    holder, ledger = holder_of(records_of(columns, rows), PureDP(epsilon), entropy=ScriptedEntropy())
    share = ledger.budget.total.part(Fraction(1, 2))
    return PART(holder, schema_of(columns), share), ledger, share


@pytest.mark.parametrize(
    ("rows", "epsilon", "many"), [(0, 1, False), (200, 1, False), (20_000, 1, True), (200, 90, True)]
)
def test_columns_are_measured_where_scores_will_be_clear(rows, epsilon, many):
    found, ledger, share = encoded(rows, epsilon)
    assert [one.clique for one in found.tables] == [(), *([(name,) for name in COLUMNS] if many else [])]
    spent = ledger.budget.total.amount - ledger.left
    assert spent <= share.amount
    # Where nothing else is measured, the count is all that was paid for: the rest is for the network.
    assert many or spent <= share.amount / 100


def test_more_columns_need_more_rows():
    wide = {f"c{number}": 3 for number in range(40)}
    assert len(encoded(20_000, 1, wide)[0].tables) == 1
    assert len(encoded(20_000, 200, wide)[0].tables) == 41
