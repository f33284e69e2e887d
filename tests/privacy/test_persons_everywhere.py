"""Where persons are counted: parties that cannot are refused, and releases can be verified and audited."""

import json

import numpy as np
import pytest

from helpers_holders import silence
from helpers_persons import CELLS, OTHERS, held, schema_of, table_of
from sfumato.audit.replay import replay
from sfumato.errors import MethodError
from sfumato.fitting import fit
from sfumato.job import Job, recipe_of
from sfumato.parties import local
from sfumato.privacy.budget import PureDP, budget_of
from sfumato.privacy.entropy import SystemEntropy
from sfumato.privacy.neighbours import Neighbours
from sfumato.privacy.opening import open_engine
from sfumato.privacy.scores import SCORES
from sfumato.release import standalone
from sfumato.release.manifest import write_manifest
from sfumato.report.card import card_of_release
from sfumato.schema.schema import Schema
from sfumato.verify import Result, verify


class Untouched:
    """A table that nobody may read."""

    def __getattr__(self, name):
        raise AssertionError(f"{name} was read")


def persons(number=400, seed=1):
    rng = np.random.default_rng(seed)
    return table_of([[CELLS[cell] for cell in rng.integers(0, 6, rng.integers(1, 6))] for _ in range(number)])


def wrong(folder):
    checks = {one.check for one in verify(folder).findings if one.result is Result.FAILED}
    return checks, {name for name, passed, _ in standalone.check(str(folder)) if passed is False}


@pytest.mark.parametrize("name", ["memory", "spool"])
def test_a_closed_engine_has_forgotten_persons(name):
    engine = open_engine(persons(), schema_of(), SystemEntropy(), name)
    assert len(engine.sizes) == 400
    engine.close()
    assert engine.sizes is None


@pytest.mark.parametrize("engine", ["memory", "spool"])
@pytest.mark.parametrize("count", ["rows", "persons"])
def test_every_run_on_persons_says_which_share_was_cut(monkeypatch, engine, count):
    silence(monkeypatch)
    table = table_of([[CELLS[0]]] * 50 + [[CELLS[1]] * 6] * 25)
    release = fit(table, schema_of(rows=2, count=count), epsilon=1, method="dpview", engine=engine)
    assert release.persons.counts == (50, 0, 0, 0, 0, 25, 0, 0, 0)
    wanted = 25 * (6 - 2) / (50 + 25 * 6)
    assert release.persons.share_cut == pytest.approx(wanted)
    assert f"about {wanted:.1%}" in card_of_release(release).cut


def test_runs_that_tell_no_persons_apart_spend_nothing_on_them():
    schema = Schema.parse({**schema_of().to_dict(), "unit": {"rows": 2}, "ignore": ["who"]})
    release = fit(persons(), schema, epsilon=1, method="dpview")
    assert release.persons is None
    assert "persons" not in [stage for stage, _ in release.ledger.entries]
    assert card_of_release(release).cut == ""


def test_parties_say_why_they_do_not_know_what_was_cut(tmp_path):
    release, _ = local.fit([persons(), persons(seed=2)], schema_of(count="rows"), epsilon=1, method="dpview")
    assert release.persons is None
    note = next(event for _, event in release.ledger.entries if event.question.startswith("which share of the rows"))
    assert "rows at several parties" in note.reason
    assert wrong(release.save(tmp_path / "out")) == (set(), set())


def test_parties_in_one_process_refuse_before_a_row_is_read():
    with pytest.raises(MethodError, match="one person may have rows at several"):
        local.fit([Untouched(), Untouched()], schema_of(), epsilon=1, delta="1e-6")


def test_a_person_at_two_parties_has_twice_the_parts():
    one, two = (Neighbours.of(schema_of(), parties) for parties in (1, 2))
    assert two.marginal.l1 == 2 * one.marginal.l1


@pytest.mark.parametrize("score", ["I", "F"])
def test_scores_that_are_not_in_proportion_to_rows_are_refused_before_they_are_charged(score):
    holder, ledger = held(OTHERS[1], schema_of(), PureDP(1))
    before = ledger.statement().entries
    with pytest.raises(MethodError, match="use score R"):
        holder.choose([], SCORES[score], ledger.budget.total, [])
    assert ledger.statement().entries == before


def test_distances_are_in_persons(monkeypatch):
    silence(monkeypatch)
    holder, ledger = held(OTHERS[1], schema_of())
    found = holder.distances([("a",)] * 2, [np.array([0.0, 0.0]), np.array([10.0, 10.0])], ledger.budget.total)
    assert found.values.tolist() == [2, 18]


@pytest.mark.parametrize("count", ["rows", "persons"])
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_an_honest_release_of_persons_is_verified(tmp_path, rows, neighbours, count):
    schema = schema_of(rows=rows, count=count).model_copy(update={"neighbours": neighbours})
    folder = fit(persons(), schema, epsilon=2, delta="1e-6", method="privsyn").save(tmp_path / "out")
    assert wrong(folder) == (set(), set())


def forged(release, path, change):
    folder = release.save(path)
    change(folder)
    write_manifest(folder)
    return wrong(folder)


def edit(name, change):
    def do(folder):
        record = json.loads((folder / name).read_text())
        change(record)
        (folder / name).write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")

    return do


@pytest.mark.parametrize("count", ["rows", "persons"])
def test_forged_tables_of_persons_are_noticed(tmp_path, count):
    release = fit(persons(), schema_of(count=count), epsilon=2, method="dpview")
    changes = {
        "lost": edit("release.json", lambda record: record.pop("rows_per_person")),
        "quieter": edit("release.json", lambda record: record["rows_per_person"].update(variance=0.5)),
        "of another event": edit("release.json", lambda record: record["rows_per_person"].update(event=3)),
    }
    for name, change in changes.items():
        ours, alone = forged(release, tmp_path / name, change)
        assert "tables" in ours, name
        assert "tables" in alone, name


def test_counting_rows_with_the_charges_of_persons_is_noticed(tmp_path):
    """The same ledger under a schema that counts rows: other sensitivities."""
    release = fit(persons(), schema_of(), epsilon=2, method="dpview")
    ours, alone = forged(release, tmp_path / "x", edit("schema.json", lambda one: one["unit"].update(count="rows")))
    assert "unit" in ours
    assert "unit" in alone


@pytest.mark.parametrize("count", ["rows", "persons"])
@pytest.mark.parametrize("method", ["privsyn", "privbayes", "auto"])
def test_made_up_neighbours_get_what_was_charged_for(method, count):
    job = Job(schema_of(rows=2, count=count), recipe_of(method), budget_of(1, "1e-6"))
    found = replay(job, few=True)
    assert found.problems == ()
    assert found.reached == 1


def test_the_program_for_outsiders_cuts_persons_alike():
    for rows in range(1, 101):
        unit = schema_of(rows=rows).unit
        assert standalone.parts_of(unit.model_dump()) == unit.parts
    assert standalone.parts_of({"rows": 5}) == 1
