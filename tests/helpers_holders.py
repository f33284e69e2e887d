"""Holders of rows that are in memory already, and holders whose noise is taken away."""

import numpy as np

from sfumato.engines.memory import Memory
from sfumato.privacy.holder import LocalHolder
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.mechanisms import NOISES
from sfumato.privacy.neighbours import Neighbours
from sfumato.privacy.opening import open_local


def engine_of(records):
    """An engine that counts these records."""
    return Memory(records.domain, [records])


def holder_of(records, budget, neighbours=Neighbours(), entropy=None):  # noqa: B008  # it is frozen
    """A holder of records with a new ledger, and that ledger."""
    ledger = Ledger(budget, str(neighbours))
    return LocalHolder(engine_of(records), neighbours, ledger, entropy), ledger


def opened(table, schema, budget, entropy=None):
    """A holder of a table, with a new ledger, and that ledger."""
    ledger = Ledger(budget, str(Neighbours.of(schema)))
    return open_local(table, schema, ledger, entropy), ledger


def silence(monkeypatch):
    """Every kind of noise is drawn as zeros, wherever it is drawn."""
    for noise in NOISES.values():
        monkeypatch.setattr(noise, "draw", lambda self, size, entropy: np.zeros(size, dtype=np.int64))
        monkeypatch.setattr(noise, "draw_share", lambda self, honest, size, entropy: np.zeros(size, dtype=np.int64))


class Unreadable:
    """An engine whose rows must not be looked at yet."""

    def __init__(self, domain):
        self.domain = domain

    def count(self, coding, cliques):
        raise AssertionError("the rows were looked at")

    def close(self):
        raise AssertionError("nothing was opened")
