"""Layers are stored, and refused where they do not fit their domain."""

import json

import pytest

from sfumato.data.coding import Level
from sfumato.data.domain import Domain
from sfumato.data.selection import Apart, Layers, Selection
from sfumato.errors import SchemaError

DOMAIN = Domain({"a": 4, "b": 2, "c": 3})
HALVES = Level("a", (0, 0, 1, 1))
LAYERS = Layers((("a", "b"), ("b", "c")), (HALVES,))


def test_layers_are_read_back():
    LAYERS.require(DOMAIN)
    for one in (LAYERS, Layers(), LAYERS.within(("a", "b"))):
        selection = Selection((("a", "b"),), one)
        assert Selection.from_dict(json.loads(json.dumps(selection.to_dict()))) == selection
    apart = Selection((), Apart((("a", "b"), ("c",)), (Selection((), LAYERS.within(("a", "b"))), Selection(()))))
    assert Selection.from_dict(json.loads(json.dumps(apart.to_dict()))) == apart
    assert LAYERS.within(("b", "c")) == Layers((("b", "c"),))


WRONG = [
    Layers((("a", "z"),)),
    Layers((("a", "b", "c"),)),
    Layers((("a", "b"), ("a", "b"))),
    Layers((), (HALVES, HALVES)),
    Layers((), (Level("b", (0, 0, 1)),)),
    Layers((), (Level("z", (0,)),)),
]


@pytest.mark.parametrize("layers", WRONG, ids=str)
def test_layers_that_do_not_fit_are_refused(layers):
    with pytest.raises(SchemaError):
        layers.require(DOMAIN)
