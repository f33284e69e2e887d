"""Selections that are read from a file may be forged: each way of not fitting is refused, and what fits is not."""

import pytest

from sfumato.data.coding import Level
from sfumato.data.domain import Domain
from sfumato.data.selection import Apart, Chain, Family, Layers, Network, Selection
from sfumato.errors import SchemaError

DOMAIN = Domain({"a": 4, "b": 2, "c": 3})
HALVES = Level("a", (0, 0, 1, 1))
WITH_LEVEL = Domain({"a": 4, "b": 2, "c": 3, HALVES.name: 2})
CHAIN = Chain((("a",), ("b",), ("c",)), (("a", "b"), ("b", "c")))
NETWORK = Network((Family("a", ()), Family("b", (HALVES.name,)), Family("c", ("a", "b"))), (HALVES,))
PARTS = (Selection((("a", "b"),), Layers((("a", "b"),))), Selection((("c",),)))

FITTING = [
    (Selection((("a", "c"),), CHAIN, (1.0,)), DOMAIN),
    (Selection((("b", HALVES.name),), NETWORK), WITH_LEVEL),
    (Selection((), Apart((("a", "b"), ("c",)), PARTS)), DOMAIN),
    (Selection((), Apart((("a", "b", "c"),), (Selection((), NETWORK),))), WITH_LEVEL),
]
FORGED = {
    "a column that is not there": Selection((("a", "z"),)),
    "fewer weights than cliques": Selection((("a",), ("b",)), weights=(1.0,)),
    "a weight of nothing": Selection((("a",),), weights=(0.0,)),
    "a weight that is no number": Selection((("a",),), weights=(float("nan"),)),
    "a chain with a tie too few": Selection((), Chain(CHAIN.base, CHAIN.cross[:1])),
    "a chain with an upper view too few": Selection((), Chain(CHAIN.base, CHAIN.cross, (("a", "c"),))),
    "a chain that leaves a column out": Selection((), Chain((("a",), ("b",)), (("a", "b"),))),
    "a column twice in a network": Selection((), Network((*NETWORK.families[:1], *NETWORK.families[:1]))),
    "a column before its parents": Selection((), Network((Family("a", ("b",)), Family("b", ()), Family("c", ())))),
    "a network that leaves a column out": Selection((), Network((Family("a", ()), Family("b", ("a",))))),
    "groups that leave a column out": Selection((), Apart((("a", "b"),), PARTS[:1])),
    "groups that overlap": Selection((), Apart((("a", "b"), ("b", "c")), PARTS)),
    "a group without a selection": Selection((), Apart((("a", "b"), ("c",)), PARTS[:1])),
    "a group's selection of another column": Selection((), Apart((("a", "b"), ("c",)), (PARTS[1], PARTS[1]))),
}


@pytest.mark.parametrize(("selection", "domain"), FITTING, ids=["chain", "network", "groups", "a group with levels"])
def test_a_selection_that_fits_is_taken(selection, domain):
    selection.require(domain)


@pytest.mark.parametrize("selection", FORGED.values(), ids=FORGED)
def test_a_selection_that_does_not_fit_is_refused(selection):
    with pytest.raises(SchemaError):
        selection.require(DOMAIN)


@pytest.mark.parametrize(
    "change",
    [{"cliques": "ab"}, {"cliques": [["a", 1]]}, {"cliques": ["ab"]}, {"too_large": -1}, {"too_large": True},
     {"structure": {"kind": "network", "families": [[1, []]], "levels": []}}],
    ids=str,
)  # fmt: skip
def test_json_of_another_type_is_refused(change):
    with pytest.raises(TypeError):
        Selection.from_dict(Selection((("a", "b"),)).to_dict() | change)


def test_a_selection_is_a_network_if_each_of_its_groups_is_one():
    network = Selection((), NETWORK)
    assert network.is_network
    assert Selection((), Apart((("a", "b", "c"), ("d",)), (network, network))).is_network
    assert not Selection((), Apart((("a", "b", "c"), ("d",)), (network, Selection(())))).is_network
    assert not Selection((), CHAIN).is_network
