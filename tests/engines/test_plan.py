from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from helpers_codings import domains
from sfumato.data.domain import Domain
from sfumato.engines.plan import JOINT_CELLS, plan


def test_a_plan_covers_every_table_and_stays_small():
    sizes = [85, 9, 100, 16, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2]
    domain = Domain({f"c{i}": size for i, size in enumerate(sizes)})
    pairs = list(combinations(domain.names, 2))
    joints = plan(domain, tuple(pairs))
    assert all(set(pair) <= set(joint) for pair, joint in zip(pairs, joints, strict=True))
    assert len(set(joints)) <= 50  # of 105 pairs
    for joint in set(joints):
        assert domain.cells(joint) <= JOINT_CELLS or joint in pairs


@given(domains(most=6, sizes=st.sampled_from([1, 2, 7, 300, 70_000])), st.data())
def test_every_table_lies_in_its_joint_which_is_small_or_the_table_itself(domain, data):
    cliques = data.draw(st.lists(st.lists(st.sampled_from(domain.names), unique=True).map(tuple), max_size=6))
    joints = plan(domain, tuple(cliques))
    for clique, joint in zip(cliques, joints, strict=True):
        assert set(clique) <= set(joint)
        assert joint == domain.canonical(joint)
        assert domain.cells(joint) <= JOINT_CELLS or any(set(joint) == set(one) for one in cliques)
