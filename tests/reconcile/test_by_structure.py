"""A network is fitted by the part for networks, and all else by the one for layers, however the tables come."""

import numpy as np
import pytest

from sfumato.data.coding import Coding
from sfumato.data.domain import Domain
from sfumato.data.marginal import Measurement
from sfumato.data.recoding import Recoding
from sfumato.data.records import Records
from sfumato.data.selection import Apart, Family, Layers, Network, Selection
from sfumato.reconcile.by_structure import FitByStructure
from sfumato.reconcile.consistency import ConsistentNormSub
from sfumato.reconcile.layered import LayeredFit
from sfumato.reconcile.pooling import reconciled_pooled

DOMAIN = Domain({"a": 3, "b": 4, "c": 2})
PAIRS = (("a", "b"), ("b", "c"))
NETWORK = Selection(PAIRS, Network((Family("a", ()), Family("b", ("a",)), Family("c", ("b",)))))
LAYERS = Selection(PAIRS, Layers(PAIRS))
APART = Selection((("a", "b"),), Apart((("a", "b"), ("c",)), (Selection((("a", "b"),)), Selection(()))))
PART = FitByStructure(ConsistentNormSub(), LayeredFit())


@pytest.fixture
def tables():
    rng = np.random.default_rng(0)
    records = Records(DOMAIN, [rng.integers(0, size, 5000) for size in DOMAIN.shape])
    cliques = (("a",), ("b",), ("c",), *PAIRS)
    return [Measurement(records.project(names), 4.0, Coding(DOMAIN), event=at) for at, names in enumerate(cliques)]


def counts(marginals):
    return {one.clique: one.counts.tolist() for one in marginals.tables}


def test_networks(tables):
    assert counts(PART(DOMAIN, tables, NETWORK)) == counts(ConsistentNormSub()(DOMAIN, tables, NETWORK))
    recoding = Recoding.identity(DOMAIN)
    wanted = reconciled_pooled(ConsistentNormSub(), recoding, tables, NETWORK)
    assert counts(PART.from_measured(recoding, tables, NETWORK)) == counts(wanted)


@pytest.mark.parametrize("selection", [LAYERS, APART], ids=["layers", "groups"])
def test_all_else(selection, tables):
    assert counts(PART(DOMAIN, tables, selection)) == counts(LayeredFit()(DOMAIN, tables, selection))
    recoding = Recoding.identity(DOMAIN)
    wanted = LayeredFit().from_measured(recoding, tables, selection)
    assert counts(PART.from_measured(recoding, tables, selection)) == counts(wanted)
