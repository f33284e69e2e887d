"""A small study for tests of many parties: a schema, rows split among parties, and holders of them."""

from fractions import Fraction
from itertools import pairwise

import numpy as np

import sfumato
from sfumato.data.records import Records
from sfumato.engines.memory import Memory
from sfumato.intake.attributes import Attributes
from sfumato.privacy.budget import Currency, Share
from sfumato.privacy.neighbours import Neighbours
from sfumato.privacy.party_holder import PartyHolder

SIZES = {"a": 4, "b": 4, "c": 3, "d": 3}

SCHEMA = sfumato.Schema.parse(
    {
        "name": "small",
        "columns": [
            {"name": name, "type": "categorical", "categories": [f"{name}{code}" for code in range(size)]}
            for name, size in SIZES.items()
        ],
    }
)
DOMAIN = Attributes(SCHEMA).domain


def rows_of(count=900, seed=0):
    """Rows in which a and b, and c and d, depend on each other."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, count)
    b = (a + rng.integers(0, 2, count)) % 4
    c = rng.integers(0, 3, count)
    d = np.where(rng.random(count) < 0.7, c, rng.integers(0, 3, count))
    return Records(DOMAIN, [a, b, c, d])


def split(records, parties):
    """The rows in parts of different sizes; the first is empty where there are more than three."""
    cuts = np.linspace(0, len(records), parties + 1).astype(int)
    if parties > 3:
        cuts[1] = 0
    order = np.arange(len(records))
    return [records.take(order[start:end]) for start, end in pairwise(cuts)]


def epsilon(amount, times=1):
    """As many parts of a budget of pure epsilon, each of this amount."""
    return [Share(Currency.EPSILON, Fraction(amount))] * times


def engines_of(parts):
    """An engine for each part."""
    return [Memory(DOMAIN, [part]) for part in parts]


def holders_of(parts, entropy=None):
    """The holder of each party."""
    return [PartyHolder(engine, Neighbours.of(SCHEMA), entropy) for engine in engines_of(parts)]
