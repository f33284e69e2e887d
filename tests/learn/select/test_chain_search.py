from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers_sizes import ADULT, CENSUS_INCOME, KDDCUP99
from sfumato.data.domain import Domain
from sfumato.learn.select.chain_search import Arrangement, Pricing, local_search, random_arrangement, random_restarts
from sfumato.learn.select.chains import Layout, by_size, chain_of, views_of


def every_arrangement(layout):
    """All partitions into groups with a short one last, each with all choices of columns to copy."""
    for short in combinations(range(layout.columns), layout.last % layout.width):
        rest = [column for column in range(layout.columns) if column not in short]
        for groups in partitions(rest, layout.width):
            for copied in combinations(range(layout.width), layout.copied):
                yield Arrangement((*groups, short) if short else groups, copied)


def partitions(columns, width):
    if not columns:
        yield ()
        return
    for others in combinations(columns[1:], width - 1):
        rest = [column for column in columns[1:] if column not in others]
        for groups in partitions(rest, width):
            yield ((columns[0], *others), *groups)


def seeded(seed=0):
    return np.random.default_rng(seed)


lists = st.lists(st.integers(1, 60), min_size=1, max_size=16)


@given(lists, st.integers(2, 7), st.booleans(), st.integers(0, 2**32))
def test_the_price_is_the_number_of_cells_of_the_chain(sizes, width, upper, seed):
    domain = Domain({f"c{place}": size for place, size in enumerate(sizes)})
    layout = Layout(len(sizes), width)
    arrangement = random_arrangement(layout, seeded(seed))
    names = by_size(domain, domain.names)
    groups = [[names[column] for column in group] for group in arrangement.groups]
    chain = chain_of(domain, groups, layout.width, arrangement.copied, upper)
    largest = max(map(domain.cells, chain.base))
    excess = max([0, *(domain.cells(cross) - largest for cross in chain.cross if cross is not None)])
    cells = sum(map(domain.cells, views_of(chain)))
    assert Pricing(sizes, layout, 1, upper).cost(arrangement) == (excess, cells)
    together = [frozenset(one.tolist()) for one in seeded(seed).integers(0, len(sizes), (6, 2))]
    views = [{*view} for view in (*chain.base, *chain.cross) if view is not None]
    pairs = [{names[column] for column in one} for one in together if len(one) > 1]
    apart = sum(not any(one <= view for view in views) for one in pairs)
    assert Pricing(sizes, layout, 1, upper, together).cost(arrangement).cells == cells * (1 + apart) ** 3


@settings(deadline=None)
@given(st.lists(st.integers(1, 200), min_size=2, max_size=7), st.integers(2, 4), st.booleans())
def test_local_search_finds_the_best_arrangement_of_few_columns(sizes, width, upper):
    layout = Layout(len(sizes), width)
    everything = Pricing(sizes, layout, 1, upper)
    best = min(map(everything.cost, every_arrangement(layout)))
    assert local_search(Pricing(sizes, layout, 2000, upper), seeded()).cost == best


CASES = [
    (sizes, width, upper)
    for sizes in (ADULT, CENSUS_INCOME, KDDCUP99)
    for width in (2, 3, 4, 5)
    for upper in (False, True)
]


@pytest.mark.parametrize(("sizes", "width", "upper"), CASES)
def test_local_search_beats_random_restarts_with_as_many_evaluations(sizes, width, upper):
    layout, evaluations = Layout(len(sizes), width), 3000
    local, restarts = (Pricing(sizes, layout, evaluations, upper) for _ in range(2))
    found, theirs = local_search(local, seeded()).cost, random_restarts(restarts, seeded()).cost
    assert local.left >= 0
    assert restarts.left == 0
    assert found <= theirs
    if len(sizes) == 42:
        a_third = Pricing(sizes, layout, evaluations // 3, upper)
        assert local_search(a_third, seeded(1)).cost < theirs


@pytest.mark.parametrize("seed", range(12))
def test_local_search_is_never_worse_than_random_restarts(seed):
    # For this many columns luck can still favour the restarts, in about one list of a thousand; hence fixed lists.
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 1001, rng.integers(8, 21)).tolist()
    width, upper = int(rng.integers(2, 7)), bool(rng.integers(2))
    layout = Layout(len(sizes), width)
    found = local_search(Pricing(sizes, layout, 2000, upper), seeded(seed)).cost
    assert found <= random_restarts(Pricing(sizes, layout, 2000, upper), seeded(seed)).cost


@given(lists, st.integers(2, 7), st.integers(1, 30))
def test_local_search_keeps_the_cap_however_few_arrangements_it_may_price(sizes, width, evaluations):
    # With the d largest columns in one base view, no view of d columns has more cells than that one.
    pricing = Pricing(sizes, Layout(len(sizes), width), evaluations)
    assert local_search(pricing, seeded()).cost.excess == 0
    assert pricing.left >= 0


# With 100 · 9 > 90 the chain (100, 1), (10, 9) breaks the cap; (100, 9), (10, 1) and (100, 10), (9, 1) keep it.
FOUR = (1, 9, 10, 100)


def test_an_arrangement_that_breaks_the_cap_is_passed_over_and_does_not_end_the_search():
    broken, kept = Arrangement(((0, 3), (1, 2)), ()), Arrangement(((1, 3), (0, 2)), ())
    pricing = Pricing(FOUR, Layout(4, 2), 10)
    assert pricing.cost(broken) == (900 - 100, 100 + 90 + 900)
    assert pricing.found.arrangement == broken
    assert pricing.cost(kept) == (0, 900 + 10 + 100)
    assert pricing.cost(broken).excess
    assert pricing.cost(Arrangement(((2, 3), (0, 1)), ())) == (0, 1000 + 9 + 100)
    assert pricing.found.arrangement == kept


@pytest.mark.parametrize("seed", range(5))
def test_random_restarts_fall_back_on_the_smallest_excess(seed):
    layout = Layout(12, 3)
    sizes = (2, 2, 2, 3, 4, 5, 40, 45, 50, 60, 70, 80)
    rng = seeded(seed)
    drawn = [random_arrangement(layout, rng) for _ in range(4)]
    costs = [Pricing(sizes, layout, 1).cost(arrangement) for arrangement in drawn]
    assert random_restarts(Pricing(sizes, layout, 4), seeded(seed)).cost == min(costs)


def test_random_restarts_stop_early():
    pricing = Pricing((5,) * 9, Layout(9, 3), 1000)
    random_restarts(pricing, seeded(), patience=20)
    assert pricing.left == 1000 - 1 - 20
    pricing = Pricing(ADULT, Layout(15, 3), 5000)
    random_restarts(pricing, seeded(), patience=100)
    assert 0 < pricing.left < 5000 - 100


def test_local_search_stops_early_where_there_is_nothing_to_find():
    pricing = Pricing((5,) * 9, Layout(9, 3), 10_000)
    local_search(pricing, seeded(), patience=10)
    assert pricing.left == 10_000 - 1 - 10


def test_nothing_was_priced():
    with pytest.raises(ValueError, match="nothing has been priced yet"):
        _ = Pricing((2, 3), Layout(2, 2), 1).cheapest
