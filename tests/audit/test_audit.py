"""The audit passes an honest build and fails every known bug."""

import json
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, norm
from typer.testing import CliRunner

from sfumato.audit import MUTANTS, audit, mutant, studies
from sfumato.audit.audit import COUNTED, PERSONS, REPLACED, _job, _judged, to_confirm
from sfumato.audit.canary import _Likelihood, epsilon_bound, play
from sfumato.audit.noise import law_problems
from sfumato.audit.replay import replay
from sfumato.cli import app
from sfumato.errors import MethodError
from sfumato.parties.federation import Federation
from sfumato.privacy.accountant import gaussian_epsilon
from sfumato.privacy.entropy import SystemEntropy
from sfumato.privacy.mechanisms import NOISES, Laplace
from sfumato.recipes import RECIPES
from sfumato.schema.schema import Schema
from sfumato.verify import Result


def failed(report):
    return {one.check.partition(" ")[0] for one in report.findings if one.result is Result.FAILED}


@pytest.mark.parametrize("method", ["auto", "dpview"])
def test_an_honest_build_passes(method):
    report = audit(PERSONS, method)
    assert report.passed, report.findings
    assert len(report.findings) == 9


@pytest.mark.parametrize("name", list(MUTANTS))
def test_each_known_bug_is_noticed_by_the_check_that_is_for_it(name):
    with mutant(name) as bug:
        assert bug.noticed_by in failed(audit(PERSONS, "dpview"))


def test_a_bug_is_switched_off_again():
    with mutant("half-sensitivity"):
        pass
    assert replay(_job(PERSONS, "dpview"), few=True).problems == ()
    with pytest.raises(MethodError, match="known ones are double-spend"), mutant("gremlin"):
        pass


@pytest.mark.parametrize("method", list(RECIPES))
@pytest.mark.parametrize("schema", [PERSONS, REPLACED, COUNTED], ids=["persons", "replaced", "counted"])
def test_neighbours_reach_what_is_charged_for_and_no_more(method, schema):
    done = replay(_job(schema, method), few=True)
    assert done.problems == ()
    assert done.reached == 1


@pytest.mark.parametrize("kind", list(NOISES))
@pytest.mark.parametrize("width", [Fraction(1, 2), Fraction(7), Fraction(300)])
def test_draws_of_a_law_pass_and_of_another_do_not(kind, width):
    noise = NOISES[kind](width)
    other = NOISES[kind](width * (Fraction(2) if kind == "skellam" else Fraction(14, 10)))
    assert law_problems(noise.draw(20_000, SystemEntropy()), noise) == []
    assert law_problems(other.draw(20_000, SystemEntropy()), noise) != []


def test_numbers_that_tell_the_next_are_noticed():
    noise = NOISES["laplace"](Fraction(9))
    drawn = np.sort(noise.draw(20_000, SystemEntropy()))
    assert law_problems(drawn, noise) == ["one number tells the next"]


@pytest.mark.parametrize("delta", [0.0, 1e-3])
@pytest.mark.parametrize(("alarms", "misses"), [(0.3, 0.3), (0.45, 0.15), (0.02, 0.5)])
def test_the_bound_of_a_game_is_above_the_truth_as_rarely_as_it_says(alarms, misses, delta):
    """Two rates of error whose mean is known: the chance that the bound exceeds the truth, summed over all outcomes."""
    half, mean = 25, (alarms + misses) / 2
    truth = np.log((1 - mean) / mean) if delta == 0 else gaussian_epsilon(Fraction(2 * norm.ppf(mean) ** 2), delta)
    first, second = (binom.pmf(np.arange(half + 1), half, rate) for rate in (alarms, misses))
    chances = np.convolve(first, second)
    for confidence in (0.8, 0.95, 1 - 1e-6):
        above = [epsilon_bound(wrong, 2 * half, delta, confidence) > truth for wrong in range(2 * half + 1)]
        assert chances @ np.array(above) <= 1 - confidence


def test_a_game_against_honest_noise_shows_no_violation_and_against_none_it_does(monkeypatch):
    game = play(_job(PERSONS, "dpview", canary=True), 120)
    assert (game.epsilon, game.delta) == (1, 0)
    assert game.sure_bound <= 1
    assert _judged(game).result is Result.PASSED
    monkeypatch.setattr(Laplace, "draw", lambda self, size, entropy: np.zeros(size, dtype=np.int64))
    game = play(_job(PERSONS, "dpview", canary=True), 60)
    assert (game.wrong, game.sure_bound > 1) == (0, True)
    assert _judged(game).result is Result.FAILED


@pytest.mark.parametrize("method", ["privsyn", "privbayes", "auto"])
def test_a_game_hears_scores_distances_and_choices(method):
    """All that a method pays for is in the statistic, so in expectation it grows with all of the budget."""
    heard = []

    class Listening(_Likelihood):
        def hear(self, asked):
            heard.extend(asked.events)
            return super().hear(asked)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.audit.canary._Likelihood", Listening)
        play(_job(PERSONS, method, canary=True), 2)
    budget = _job(PERSONS, method, canary=True).opened
    cost = sum(event.cost(budget.notion) for event in heard)
    assert 1.8 < float(cost / budget.total.amount) <= 2


def test_what_only_the_steward_knows_is_asked():
    column = {"name": "a", "type": "categorical", "categories": ["x", "y"], "domain_from": "observed"}
    asked = " ".join(to_confirm(Schema.parse({"name": "t", "rows_guess": 1000, "columns": [column]})))
    for word in ("domain of a ", "1,000 rows", "persons apart", "bad value", "book"):
        assert word in asked
    assert len(to_confirm(PERSONS)) == 1


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


def test_the_command_says_pass_or_fail_by_its_exit_code(tmp_path):
    (tmp_path / "s.json").write_text(json.dumps(PERSONS.to_dict()))
    options = ("audit", "--schema", tmp_path / "s.json", "--method", "dpview")
    done = run(*options, "--out", tmp_path / "audit.json")
    assert (done.exit_code, "Passed." in done.stdout) == (0, True)
    assert json.loads((tmp_path / "audit.json").read_text())["passed"] is True
    assert (tmp_path / "audit.json").stat().st_mode & 0o077 == 0
    bad = run(*options, "--mutant", "half-sensitivity", "--json", "--out", tmp_path / "audit.html")
    words = (tmp_path / "audit.html").read_text()
    assert "AUDIT FAILED" in words
    assert "one person counts for half" in words
    assert (bad.exit_code, json.loads(bad.stdout)["passed"]) == (5, False)
    assert "a known bug" not in done.stdout
    for wrong in (
        ("--level", "huge"),
        ("--mutant", "gremlin"),
        ("--method", "magic"),
        ("--out", tmp_path / "audit.json"),
        ("--out", tmp_path / "audit.txt"),
    ):
        assert run(*options, *wrong).exit_code == 2


def test_whole_studies_are_replayed_with_one_more_person_at_a_party():
    assert studies.study_problems(REPLACED) == ([], 6)


def test_a_study_that_asks_by_the_rows_of_a_party_is_noticed(monkeypatch):
    sizes, opened, measure = [], studies.open_engine, Federation.measure

    def opening(table, *others):
        sizes.append(table.num_rows)
        return opened(table, *others)

    def peeking(self, cliques, parts):
        odd = sizes[-3] % 2  # the party whose table is exchanged is opened first
        return measure(self, cliques, [part.part(Fraction(99, 100)) if odd else part for part in parts])

    monkeypatch.setattr(studies, "open_engine", opening)
    monkeypatch.setattr(Federation, "measure", peeking)
    problems, _ = studies.study_problems(PERSONS)
    assert any("asks another question" in one for one in problems)


def test_a_schema_with_observed_domains_is_audited_before_anybody_accepts_them():
    columns = [{**one, "domain_from": "observed"} for one in PERSONS.to_dict()["columns"]]
    report = audit(Schema.parse({**PERSONS.to_dict(), "columns": columns}), "dpview")
    assert report.passed, report.findings
    assert any("was read from the data" in one for one in report.to_confirm)
