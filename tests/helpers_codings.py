"""Random domains, rows and stacks of coding steps; and the steps done by hand, one row and one step at a time."""

import numpy as np
from hypothesis import strategies as st

from sfumato.data.coding import Coding, Keep, Level, Levels, Merge
from sfumato.data.domain import Domain
from sfumato.data.records import Records


def domains(most=4, sizes=None):
    """Domains of a few attributes."""
    return st.lists(st.integers(1, 6) if sizes is None else sizes, min_size=1, max_size=most).map(
        lambda shape: Domain([(f"a{place}", size) for place, size in enumerate(shape)])
    )


@st.composite
def onto(draw, size):
    """A map of codes to 0, 1, 2, … without a gap; the coarse codes are in any order."""
    if size <= 20:
        targets = draw(st.lists(st.integers(0, size - 1), min_size=size, max_size=size))
    else:  # too many to be drawn one by one
        targets = np.random.default_rng(draw(st.integers(0, 99))).integers(0, size, size)
    return tuple(np.unique(targets, return_inverse=True)[1].tolist())


@st.composite
def steps(draw, before):
    """A step that fits a domain."""
    names = list(before.names)
    some = draw(st.lists(st.sampled_from(names), unique=True))
    match draw(st.sampled_from(["merge", "keep", "levels"])):
        case "merge":
            return Merge(tuple((name, draw(onto(before[name]))) for name in some))
        case "keep":
            return Keep(tuple(some or names))
        case _:
            levels = [Level(name, draw(onto(before[name]))) for name in some for _ in range(draw(st.integers(1, 2)))]
            return Levels(tuple({one.name: one for one in levels if one.name not in before}.values()))


@st.composite
def codings(draw, base=None, most=4):
    """A base domain, or the given one, and a few steps from there."""
    coding = Coding(draw(domains()) if base is None else base)
    for _ in range(draw(st.integers(0, most))):
        coding = coding.then(draw(steps(coding.domain)))
    return coding


def by_hand(row, made):
    """What steps do to one row, an attribute at a time."""
    for step in made:
        match step:
            case Merge(maps=maps):
                row = row | {name: to[row[name]] for name, to in maps}
            case Keep(names=names):
                row = {name: row[name] for name in names}
            case Levels(levels=levels):
                row = row | {f"{one.column} in {max(one.to) + 1}": one.to[row[one.column]] for one in levels}
    return row


def rows_of(domain, rows, seed=0):
    """Random rows."""
    rng = np.random.default_rng(seed)
    return Records(domain, [rng.integers(0, size, rows) for size in domain.shape])
