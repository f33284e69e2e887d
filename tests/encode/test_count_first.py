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
    ("rows", "epsilon", "low", "high"),
    [
        (0, 1, "0.99", 1),
        (60, "0.5", "0.99", 1),
        (1800, 1, 0, "0.005"),
        (20_000, 1, "0.1", "0.5"),
        (200, 90, "0.1", "0.5"),
    ],
)
def test_columns_are_measured_alone_or_for_rounds_or_not_at_all(rows, epsilon, low, high):
    """Few rows: all for the columns. Some: the count alone, the rest is for the network. Many: a half at most."""
    found, ledger, share = encoded(rows, epsilon)
    is_network = low == 0
    assert [one.clique for one in found.tables] == [(), *([] if is_network else [(name,) for name in COLUMNS])]
    spent = (ledger.budget.total.amount - ledger.left) / share.amount
    assert Fraction(low) <= spent <= Fraction(high)


def test_more_columns_need_more_rows():
    wide = {f"c{number}": 3 for number in range(40)}
    assert len(encoded(20_000, 1, wide)[0].tables) == 1  # a network
    assert len(encoded(20_000, 200, wide)[0].tables) == 41
