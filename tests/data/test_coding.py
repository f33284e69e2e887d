"""Codings are data: however many steps there are, rows, tables and JSON agree with the steps done one by one."""

import json
from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers_codings import by_hand, codings, domains, rows_of
from sfumato.data.coding import MOST_LEVELS, MOST_STEPS, Coding, Keep, Level, Levels, Merge
from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal
from sfumato.data.records import Records, coded
from sfumato.errors import SchemaError

SMALL = Domain({"age": 5, "sex": 2})
HALVES = Level("age", (0, 0, 1, 1, 2))


def row_dicts(records):
    columns = [column.tolist() for column in records.columns]
    return [dict(zip(records.domain, row, strict=True)) for row in zip(*columns, strict=True)]


@given(codings(), st.integers(0, 99))
def test_composed_lookups_do_to_rows_what_the_steps_do_one_by_one(coding, seed):
    records = rows_of(coding.base, 20, seed)
    expected = [by_hand(row, coding.steps) for row in row_dicts(records)]
    assert row_dicts(coded(records, coding)) == expected
    for name in coding.domain:
        source, lookup = coding.lookup(name)
        codes = records[source] if lookup is None else lookup[records[source]]
        assert codes.tolist() == [row[name] for row in expected]
        assert coding.domain[name] == (coding.base[source] if lookup is None else lookup.max() + 1)
    again = [name for row in expected for name in row]
    assert set(again) <= set(coding.domain)


@given(codings(), st.integers(0, 99), st.data())
def test_a_coded_table_is_the_table_of_coded_rows(coding, seed, data):
    records = rows_of(coding.base, 60, seed)
    names = data.draw(st.permutations(coding.domain.names))
    clique = tuple({coding.lookup(name)[0]: name for name in names}.values())[: data.draw(st.integers(0, 3))]
    sources = [coding.lookup(name)[0] for name in clique]  # no two of them come from one attribute
    expected = np.zeros(coding.domain.project(clique).shape, dtype=np.int64)
    for row in row_dicts(records):
        after = by_hand(row, coding.steps)
        expected[tuple(after[name] for name in clique)] += 1
    table = coding.apply(records.project(sources), clique)
    assert table.clique == clique
    assert np.array_equal(table.counts, expected)
    floats = Marginal(coding.base.project(sources), records.project(sources).counts * 0.5)
    assert coding.apply(floats, clique).counts == pytest.approx(expected / 2)


@given(codings())
def test_codings_survive_json(coding):
    text = json.dumps(coding.to_dict())
    again = Coding.from_dict(coding.base, json.loads(text))
    assert again == coding
    assert hash(again) == hash(coding)
    assert again.domain == coding.domain
    assert json.dumps(again.to_dict()) == text


@given(codings(), st.data())
def test_what_comes_after_a_beginning_is_the_rest(coding, data):
    cut = data.draw(st.integers(0, len(coding.steps)))
    first = Coding(coding.base, coding.steps[:cut])
    rest = coding.after(first)
    assert rest.base == first.domain
    assert rest.domain == coding.domain
    assert rest.steps == coding.steps[cut:]
    records = rows_of(coding.base, 15, cut)
    if first.domain.names:
        assert row_dicts(coded(coded(records, first), rest)) == row_dicts(coded(records, coding))


@given(codings(), codings())
def test_a_coding_that_does_not_continue_another_is_no_rest_of_it(one, other):
    if one.base == other.base and one.steps[: len(other.steps)] == other.steps:
        assert one.after(other).steps == one.steps[len(other.steps) :]
        return
    with pytest.raises(SchemaError, match="does not continue it"):
        one.after(other)


# ------------------------------------------------------------------------------------------- text of strangers

leaves = st.none() | st.booleans() | st.integers(-3, 6) | st.integers() | st.floats() | st.text(max_size=3)
words = st.sampled_from(["merge", "keep", "levels", "column", "to", "age", "sex", "age in 3", "part"])
trees = st.recursive(
    leaves | words,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(words | st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)


def places(tree):
    """Every place in a tree: the container and the key of each value."""
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        yield tree, key
        if isinstance(value, dict | list):
            yield from places(value)


def read(base, record):
    """A coding, or nothing if it is refused; any other error is a crash."""
    try:
        return Coding.from_dict(base, record)
    except SchemaError:
        return None


@given(trees)
def test_json_of_any_shape_is_a_coding_or_a_schema_error(record):
    for tree in (record, [record], [{"merge": record}], [{"keep": record}], [{"levels": record}]):
        coding = read(SMALL, tree)
        assert coding is None or coding.to_dict() == tree


@given(codings(), trees, st.data())
def test_a_coding_with_anything_changed_in_it_is_another_one_or_a_schema_error(coding, other, data):
    """What is read is all that was written: no key is passed over, and no number is rounded."""
    record = deepcopy(coding.to_dict())
    found = list(places(record))
    if found:
        container, key = found[data.draw(st.integers(0, len(found) - 1))]
        if isinstance(container, list):
            data.draw(st.sampled_from([lambda: container.insert(key, other), lambda: container.__delitem__(key)]))()
        elif data.draw(st.booleans()):
            container["more" if data.draw(st.booleans()) else key] = other
        else:
            del container[key]
    again = read(coding.base, record)
    assert again is None or again.to_dict() == record


@pytest.mark.parametrize(
    "record",
    [
        None,
        {},
        "keep",
        [[]],
        [{}],
        [{"merge": {}, "keep": []}],
        [{"shuffle": {}}],
        [{"merge": {"age": [0, 0, 1, 1, True]}}],
        [{"merge": {"age": [0, 0, 1, 1, 1.0]}}],
        [{"merge": {"age": [0, 0, 1, 1, -1]}}],
        [{"merge": {"age": [0, 0, 1, 1, 10**400]}}],
        [{"merge": {"age": "00112"}}],
        [{"merge": [["age", [0, 0, 1, 1, 2]]]}],
        [{"keep": {"age": 1}}],
        [{"keep": "age"}],
        [{"keep": [["age"]]}],
        [{"levels": [{"column": "age"}]}],
        [{"levels": [{"column": "age", "to": [0, 0, 1, 1, 2], "name": "sex"}]}],
        [{"levels": {"column": "age", "to": [0, 0, 1, 1, 2]}}],
        [{"keep": ["age", "sex"]}] * (MOST_STEPS + 1),
    ],
    ids=lambda record: str(record)[:50],
)
def test_what_no_coding_would_write_is_refused(record):
    with pytest.raises(SchemaError, match=f"a coding cannot be read; wanted a list of at most {MOST_STEPS} steps"):
        Coding.from_dict(SMALL, record)


def test_more_levels_than_anybody_would_make_are_refused():
    base = Domain([(f"c{place}", 2) for place in range(MOST_LEVELS + 1)])
    levels = [Level(name, (0, 0)).to_dict() for name in base]
    with pytest.raises(SchemaError, match="a coding cannot be read"):
        Coding.from_dict(base, [{"levels": levels[:5000]}, {"levels": levels[5000:]}])


# -------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Merge((("age", (0, 2, 2, 2)),)), "the merging of 'age' must send codes to 0, 1, 2, … without a gap"),
        (lambda: Merge((("age", ()),)), "without a gap"),
        (lambda: Merge((("age", (-1, 0)),)), "without a gap"),
        (lambda: Merge((("age", (0, 1)), ("age", (0, 0)))), "'age' is merged twice"),
        (lambda: Level("age", (1, 2)), r"a level of 'age' must send codes to 0, 1, 2, … without a gap"),
        (lambda: Level("age", ()), "without a gap"),
        (lambda: Coding(SMALL).then(Merge((("age", (0, 0)),))), "'age' has 5 codes; a coding was given for 2"),
        (lambda: Coding(SMALL).then(Merge((("job", (0, 0)),))), "column 'job' is not in the table; it has age, sex"),
        (lambda: Coding(SMALL).then(Keep(("sex", "job"))), "column 'job' is not in the table"),
        (lambda: Keep(()), "a coding keeps no attribute; it must keep at least one"),
        (lambda: Coding(SMALL).then(Keep(("sex", "sex"))), "columns sex occur twice"),
        (lambda: Coding(SMALL).then(Levels((Level("age", (0, 0, 1)),))), "'age' has 5 codes; a coding was given for 3"),
        (lambda: Coding(SMALL).then(Levels((Level("job", (0, 0, 1)),))), "column 'job' is not in the table"),
        (lambda: Coding(SMALL, (Levels((HALVES,)), Levels((HALVES,)))), "a level is named 'age in 3', as another"),
        (lambda: Levels((HALVES, Level("age", (0, 1, 1, 1, 2)))), "two levels are named 'age in 3'"),
        (lambda: Coding(SMALL, (Keep(("sex",)), Merge((("age", (0,) * 5),)))), "column 'age' is not in the table"),
        (lambda: Coding(SMALL).lookup("job"), "column 'job' is not in the table"),
        (lambda: Coding(SMALL).then(Keep(("sex",))).lookup("age"), "column 'age' is not in the table"),
    ],
)  # fmt: skip
def test_steps_that_do_not_fit_are_refused_when_they_are_put_together(make, message):
    with pytest.raises(SchemaError, match=message):
        make()


def test_a_table_is_not_taken_for_one_of_another_attribute():
    coding = Coding(SMALL).then(Levels((HALVES,)))
    table = Marginal(SMALL.project(("sex",)), np.array([3, 4]))
    with pytest.raises(SchemaError, match="'age in 3' comes from 'age' and not from 'sex'"):
        coding.apply(table, ("age in 3",))
    assert coding.apply(table).counts.tolist() == [3, 4]
    with pytest.raises(SchemaError, match="column 'sex' is not in the table"):
        coding.then(Keep(("age in 3",))).apply(table)


def test_levels_are_further_attributes_and_name_themselves():
    coding = Coding(SMALL).then(Levels((HALVES, Level("age", (0, 0, 0, 0, 1)))))
    assert coding.domain == Domain({"age": 5, "sex": 2, "age in 3": 3, "age in 2": 2})
    seen = coded(Records(SMALL, [np.arange(5), np.array([0, 1, 0, 1, 0])]), coding)
    assert seen["age in 3"].tolist() == [0, 0, 1, 1, 2]
    assert seen["age"].tolist() == list(range(5))


@given(domains())
def test_no_steps_change_nothing(base):
    coding = Coding(base)
    assert coding.domain == base
    assert coding.to_dict() == []
    assert all(coding.lookup(name) == (name, None) for name in base)
    assert coding.then(Merge(())).then(Keep(base.names)).then(Levels(())).domain == base
