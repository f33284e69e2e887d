"""Codings that a dishonest curator writes: a party follows what Sfumato would have written, and refuses the rest."""

import json
import time
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from helpers_protocol import NO_NOISE, Study, ask_of, refusal
from hypothesis import given
from hypothesis import strategies as st

from helpers_parties import DOMAIN
from sfumato.data.coding import MOST_LEVELS, MOST_STEPS, Coding
from sfumato.data.domain import Domain
from sfumato.errors import ProtocolError
from sfumato.parties.agreement import Key
from sfumato.parties.party import answer
from sfumato.parties.questions import Question, coding_text, read_coding
from sfumato.parties.seat import AskedTable
from sfumato.privacy.mechanisms import Laplace

MERGED = {"merge": {"a": [0, 0, 1, 1]}}
HALF = {"column": "a", "to": [0, 0, 1, 1]}
REFUSED = {
    "a step too many": [{"merge": {}}] * (MOST_STEPS + 1),
    "two kinds in one step": [{"merge": {}, "keep": ["a"]}],
    "no kind": [{}],
    "another kind": [{"bits": True}],
    "a step that is a text": ["merge"],
    "steps that are no list": {"merge": {}},
    "a merge that is a list": [{"merge": [["a", [0, 0, 1, 1]]]}],
    "a code as large as the column": [{"merge": {"a": [0, 1, 2, 4]}}],
    "a code below 0": [{"merge": {"a": [0, 0, 1, -1]}}],
    "a code that is true": [{"merge": {"a": [0, 0, True, True]}}],
    "a code that is no whole number": [{"merge": {"a": [0, 0, 1.0, 1]}}],
    "a code that is left out": [{"merge": {"a": [0, 0, 2, 2]}}],
    "codes of a code too few": [{"merge": {"a": [0, 0, 1]}}],
    "codes of a code too many": [{"merge": {"a": [0, 0, 1, 1, 1]}}],
    "no codes": [{"merge": {"a": []}}],
    "codes that are a text": [{"merge": {"a": "0011"}}],
    "an attribute that is not there": [{"merge": {"x": [0]}}],
    "an attribute that was dropped": [{"keep": ["b"]}, MERGED],
    "codes that were merged before": [MERGED, MERGED],
    "nothing kept": [{"keep": []}],
    "an attribute kept twice": [{"keep": ["a", "a"]}],
    "kept names that are a text": [{"keep": "ab"}],
    "a kept name that is no text": [{"keep": [["a"]]}],
    "a level of two names": [{"levels": [HALF | {"name": "b"}]}],
    "a level without codes": [{"levels": [{"column": "a"}]}],
    "a level with a code as large as the column": [{"levels": [{"column": "a", "to": [0, 1, 2, 4]}]}],
    "two levels of one name": [{"levels": [HALF, {"column": "a", "to": [0, 1, 1, 1]}]}],
    "one level twice": [{"levels": [HALF]}, {"levels": [HALF]}],
    "levels too many": [{"levels": [HALF] * (MOST_LEVELS + 1)}],
    "levels that are an object": [{"levels": HALF}],
}


@pytest.mark.parametrize("coding", REFUSED.values(), ids=REFUSED)
def test_a_coding_that_sfumato_would_not_write_is_refused_and_costs_nothing(coding):
    study = Study()
    seen = []
    study.approve = seen.append
    asked = ask_of([Question((), NO_NOISE)], coding=json.dumps(coding))
    assert "cannot be followed" in refusal(study, "p0", asked)
    assert not seen
    assert not list(study.stores["p0"])


json_values = st.recursive(
    st.sampled_from([0, 1, 2, True, 0.0, None, "a", "b", "a in 2", "column", "to"]),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(st.sampled_from(["a", "b", "column", "to", "name"]), inner, max_size=3)
    ),
    max_leaves=10,
)
codes = st.lists(st.integers(-1, 4), min_size=3, max_size=4)
names = st.sampled_from([*DOMAIN.names, "a in 2", "a in 1", "x"])
likely = st.one_of(
    st.builds(lambda maps: {"merge": maps}, st.dictionaries(names, codes, max_size=2)),
    st.builds(lambda kept: {"keep": kept}, st.lists(names, max_size=4)),
    st.builds(
        lambda levels: {"levels": levels}, st.lists(st.builds(lambda c, t: {"column": c, "to": t}, names, codes))
    ),
    st.builds(lambda kind, detail: {kind: detail}, st.sampled_from(["merge", "keep", "levels", "run"]), json_values),
)


@given(st.lists(likely, max_size=4) | json_values)
def test_what_is_followed_is_exactly_what_would_be_written(record):
    text = json.dumps(record, sort_keys=True, separators=(",", ":"))
    try:
        coding = read_coding(text, DOMAIN)
    except ProtocolError:
        return
    assert coding_text(coding) == text
    for name, size in coding.domain.items():
        source, lookup = coding.lookup(name)
        reached = np.arange(DOMAIN[source]) if lookup is None else lookup
        assert lookup is None or len(lookup) == DOMAIN[source]
        assert set(reached.tolist()) == set(range(size))


WIDE = Domain([(f"column {number}", 60) for number in range(200)])


def levels_of(count):
    """As many levels, no two of one name."""
    return [
        {"column": f"column {number % 200}", "to": [min(code, number // 200) for code in range(60)]}
        for number in range(count)
    ]


def test_the_largest_codings_are_followed_in_seconds():
    levels = levels_of(MOST_LEVELS)
    names = list(Coding.from_dict(WIDE, [{"levels": levels}]).domain)
    merged = {"merge": {name: [0] * 60 for name in WIDE}}
    for rest in ([{"keep": names}] * 15, [merged, *[{"keep": names}] * 14], [{"levels": []}] * 15):
        text = json.dumps([{"levels": levels}, *rest])
        started = time.process_time()
        read_coding(text, WIDE)
        assert time.process_time() - started < 5
    with pytest.raises(ProtocolError, match="cannot be followed"):
        read_coding(json.dumps([{"levels": levels_of(MOST_LEVELS // 2)}, {"levels": levels}]), WIDE)


def shown(coding, *cliques):
    """What the operator of a party sees of tables in a coding."""
    seen = []
    study = Study(approve=lambda summary: seen.append(summary) or True)
    asked = ask_of([Question(clique, Laplace(Fraction(8))) for clique in cliques], coding=json.dumps(coding))
    (key,) = answer(study.seat("p0"), replace(asked, recipient="p0"))
    assert isinstance(key, Key)
    return [(table.columns, table.codes) for table in seen[0].tables if isinstance(table, AskedTable)]


def test_an_operator_is_shown_what_codes_are_made_of():
    assert shown([], ("a", "b")) == [("a × b", "4 × 4")]
    assert shown([MERGED], ("a", "b")) == [("a × b", "2 of 4, merged × 4")]
    assert shown([{"levels": [HALF]}], ("a in 2", "c")) == [("a in 2 × c", "2 made of the 4 of a × 3")]
    # As many codes as before, but not the same ones.
    assert shown([{"merge": {"a": [3, 2, 1, 0]}}], ("a",)) == [("a", "4 of 4, merged")]
    two = [{"levels": [HALF]}, {"merge": {"a in 2": [0, 0]}}, {"keep": ["a in 2"]}]
    assert shown(two, ("a in 2",)) == [("a in 2", "1 made of the 4 of a")]
