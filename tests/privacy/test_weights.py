"""Persons counted once: each of m rows counts 1/m, and a whole person moves a table by no more than one does."""

from fractions import Fraction
from itertools import combinations_with_replacement, pairwise
from math import lcm

import numpy as np
import pytest
from pydantic import ValidationError

from helpers_holders import silence
from helpers_persons import CELLS, OTHERS, held, schema_of, table_of
from sfumato.data.selection import Family
from sfumato.errors import MethodError
from sfumato.fitting import fit
from sfumato.privacy.budget import PureDP
from sfumato.privacy.neighbours import Neighbours
from sfumato.privacy.opening import open_party
from sfumato.privacy.rows_per_person import PRICE, RowsPerPerson
from sfumato.privacy.scores import GRID, SCORES
from sfumato.schema.column_base import Unit


def exact(persons, schema):
    """The table of both columns without noise, in persons."""
    holder, ledger = held(persons, schema)
    (measured,) = holder.measure([("a", "b")], [ledger.budget.total])
    return measured.marginal.counts


PERSONS = [list(rows) for size in range(1, 5) for rows in combinations_with_replacement(CELLS, size)]


@pytest.mark.parametrize("others", OTHERS, ids=["alone", "among others"])
def test_a_person_moves_a_table_by_one_whatever_its_rows_are(monkeypatch, others):
    """Brute force: every person of up to four rows, of which at most three count."""
    silence(monkeypatch)
    schema = schema_of()
    before = exact(others, schema)
    reached = 0
    for person in PERSONS:
        change = np.abs(exact([*others, person], schema) - before)
        assert change.sum() == pytest.approx(1, abs=1e-12)
        assert (change**2).sum() <= 1 + 1e-12
        reached += change.max() > 1 - 1e-12
    assert reached


def test_counting_rows_costs_as_often_as_there_are_rows(monkeypatch):
    silence(monkeypatch)
    changes = [np.abs(exact([person], schema_of(count="rows"))).sum() for person in PERSONS]
    assert max(changes) == 3


def test_what_is_charged_is_what_a_person_moves():
    schema = schema_of(rows=6)
    parts = lcm(*range(1, 7))
    neighbours = Neighbours.of(schema)
    assert (neighbours.parts, neighbours.marginal.l1, neighbours.marginal.l2_squared) == (parts, parts, parts**2)
    holder, ledger = held(OTHERS[1], schema)
    single, _ = held(OTHERS[1], schema_of(rows=1, count="rows"))
    share = ledger.budget.total.part(Fraction(1, 3))
    # The noise in persons is that of one row a person; only what rounding it to integers adds, 1/12, is smaller.
    assert 0 <= single.variance(share) - holder.variance(share) < 1 / 12 + 1e-6
    holder.measure([("a",)], [share])
    assert ledger.left == pytest.approx(float(ledger.budget.total.amount * Fraction(2, 3)), rel=1e-6)
    assert "in persons / 60" in ledger.statement().entries[-1][1].question


@pytest.mark.parametrize("replace", [False, True], ids=["add-remove", "replace-one"])
def test_dependence_and_scores_of_neighbouring_tables(monkeypatch, replace):
    silence(monkeypatch)
    schema = schema_of(rows=3)
    relation = Neighbours(3, replace, True, parts=schema.unit.parts)
    few = PERSONS[::7]

    def answers(persons):
        holder, ledger = held(persons, schema)
        dependence = np.rint(holder.dependence([("a", "b")], ledger.budget.total).scores * GRID * schema.unit.parts)
        table = holder._engine.count(holder.coding, [("a", "b")])
        return int(dependence[0]), SCORES["R"].of(next(table).counts)

    for others in OTHERS:
        seen = [answers([*others, person]) for person in few]
        seen += [] if replace else [answers(others)]
        for place, limit in enumerate((relation.dependence.l1, relation.score(SCORES["R"]))):
            values = [one[place] for one in seen]
            pairs = [(max(values) - min(values))] if replace else [abs(value - values[-1]) for value in values]
            assert max(pairs) <= limit


def test_every_row_of_a_person_counts_its_share(monkeypatch):
    silence(monkeypatch)
    counts = exact([[("x", "p"), ("x", "q"), ("x", "q")], [("y", "r")]], schema_of())
    assert counts.tolist() == [[pytest.approx(1 / 3), pytest.approx(2 / 3), 0], [0, 0, 1]]


def test_many_persons_with_many_rows_are_estimated_without_bias():
    rng = np.random.default_rng(0)
    persons = [[CELLS[cell] for cell in rng.integers(0, 6, rng.integers(1, 21))] for _ in range(300)]
    holder, ledger = held(persons, schema_of(rows=20), PureDP(1000))
    (measured,) = holder.measure([("a", "b")], [ledger.budget.total])
    wanted = np.zeros(6)
    for person in persons:
        for cell in person:
            wanted[CELLS.index(cell)] += 1 / len(person)
    assert np.abs(measured.marginal.counts.ravel() - wanted).max() < 0.1  # noise of scale 0.001 persons


def test_the_table_of_rows_per_person(monkeypatch):
    silence(monkeypatch)
    persons = [[("x", "p")]] * 50 + [[("x", "p")] * 2] * 30 + [[("y", "q")] * 3] * 10 + [[("y", "q")] * 40] * 10
    schema = schema_of(rows=2)
    holder, ledger = held(persons, schema)
    found = holder.rows_per_person(2, ledger.budget.total.part(PRICE))
    assert RowsPerPerson.spans_of(2) == ((1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (7, 7), (8, 9), (10, None))
    assert found.counts == (50, 30, 10, 0, 0, 0, 0, 0, 10)
    assert RowsPerPerson.from_dict(found.to_dict()) == found
    event = ledger.statement().entries[found.event][1]
    assert (event.question, event.sensitivity.l1) == ("persons by their number of rows", 1)


@pytest.mark.parametrize("most", [1, 2, 3, 7, 20, 100, 10**9])
def test_every_number_of_rows_has_one_cell_and_none_is_partly_cut(most):
    spans = RowsPerPerson.spans_of(most)
    assert spans[0][0] == 1
    assert spans[-1][1] is None
    assert all(last + 1 == first for (_, last), (first, _) in pairwise(spans))
    assert most in [last for _, last in spans]
    assert len(spans) < 110
    sizes = np.unique(np.concatenate([np.array([first, last or 2 * first]) for first, last in spans]))
    assert RowsPerPerson.exact(most, sizes).sum() == len(sizes)
    assert all(RowsPerPerson.exact(most, sizes[place : place + 1]).sum() == 1 for place in range(len(sizes)))


@pytest.mark.parametrize("count", ["rows", "persons"])
def test_the_table_of_rows_per_person_moves_by_one(monkeypatch, count):
    silence(monkeypatch)
    schema = schema_of(rows=2, count=count)
    for person in ([("x", "p")] * size for size in (1, 2, 3, 30, 1000)):
        before, after = (held(persons, schema) for persons in (OTHERS[1], [*OTHERS[1], person]))
        tables = [np.array(one.rows_per_person(2, ledger.budget.total).counts) for one, ledger in (before, after)]
        assert np.abs(tables[0] - tables[1]).sum() == 1


def test_a_run_states_the_share_of_rows_that_it_cut(tmp_path):
    rng = np.random.default_rng(1)
    persons = [[CELLS[cell] for cell in rng.integers(0, 6, 4)] for _ in range(3000)]
    schema = schema_of(rows=2)
    release = fit(table_of(persons), schema, epsilon=5, delta=1e-6, method="pgm")
    assert release.persons.share_cut == pytest.approx(1 / 2, abs=0.03)
    assert abs(release.rows - 3000) < 200  # persons, not rows
    loaded = type(release).load(release.save(tmp_path / "out"))
    assert loaded.persons == release.persons
    spent = [event.cost(release.ledger.budget.notion) for stage, event in release.ledger.entries if stage == "persons"]
    assert sum(spent) <= release.ledger.budget.total.amount * PRICE
    assert "1% of the budget" in release.persons.sentence()


def test_a_replay_for_a_neighbour_asks_the_same(monkeypatch):
    """With the noise taken away and one person of many rows more, all questions and charges are the same."""
    silence(monkeypatch)
    rng = np.random.default_rng(2)
    persons = [[CELLS[cell] for cell in rng.integers(0, 6, rng.integers(1, 8))] for _ in range(400)]
    asked = []
    for rows in (persons, [*persons, [("x", "p")] * 50]):
        release = fit(table_of(rows), schema_of(rows=5), epsilon=1, method="dpview")
        asked.append([(stage, event.to_dict()) for stage, event in release.ledger.entries])
    assert asked[0] == asked[1]


@pytest.mark.parametrize("keys", [{"rows": 101, "column": "who", "count": "persons"}, {"rows": 2, "count": "persons"}])
def test_units_that_cannot_be_cut_are_refused(keys):
    with pytest.raises(ValidationError, match="'count' of persons needs 'column' and at most 100 rows"):
        Unit.model_validate(keys)


def test_many_parties_cannot_count_persons():
    with pytest.raises(MethodError, match="one person may have rows at several"):
        open_party(table_of(OTHERS[1]), schema_of())


def test_families_are_chosen_with_weights():
    schema = schema_of(rows=4)
    holder, ledger = held(OTHERS[1] * 20, schema, PureDP(1))
    families = [Family("a", ()), Family("a", ("b",))]
    assert holder.choose(families, SCORES["R"], ledger.budget.total, [0, 3 * GRID]) in (0, 1)


def test_small_shares_are_not_understated():
    """In a cell that holds less than its noise, persons still count: over many runs the share is right on average."""
    sizes = np.repeat(np.arange(1, 9), [20_000, *[12] * 7])  # each of the cells beyond 1 holds less than two deviations
    rng, wanted = np.random.default_rng(3), np.maximum(sizes - 1, 0).sum() / sizes.sum()
    exact, shares, errors = RowsPerPerson.exact(1, sizes), [], []
    for _ in range(400):
        noisy = RowsPerPerson(1, tuple(np.rint(exact + rng.normal(0, 10, len(exact))).astype(int).tolist()), 100.0, 0)
        rows, cut = noisy._sums()
        shares.append(cut / rows)
        errors.append(noisy.share_error)
    # A wide cell counts with its middle, and there may be less than nobody in one: the mean is right, each is not.
    assert np.mean(shares) == pytest.approx(wanted, rel=0.1)
    assert np.std(shares) == pytest.approx(np.mean(errors), rel=0.25)
