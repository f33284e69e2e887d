"""Both reports as pages: whole, self-contained, stamped, escaped, and equal to their figures."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from helpers_html import read
from sfumato.evaluate.classifiers import Score
from sfumato.fitting import fit
from sfumato.privacy.mechanisms import Laplace
from sfumato.report import assessment
from sfumato.report.assessment import assess
from sfumato.report.card import card_of, card_report
from sfumato.report.figures import ClassifierFigures, RuleFigures
from sfumato.report.internal import internal_report
from sfumato.report.page import INTERNAL, PUBLISHABLE
from sfumato.report.svg import percent
from sfumato.schema.schema import Schema
from sfumato.survey import simulate, survey_schema_text

NASTY = "<b>\"x\" & 'y'"


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    """An assessment of a small survey with its release, and the card of that release."""
    keys = json.loads(survey_schema_text())
    keys["columns"][1]["note"] = NASTY
    schema, table = Schema.parse(keys), simulate(rows=600)
    release = fit(table, schema, epsilon="5", delta="1e-6")
    folder = release.save(tmp_path_factory.mktemp("card") / "release", seed=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assessment, "scores", lambda *given: [Score(given[4][0], 0.61, 0.52, 0.73)])
        found = assess(table, release.sample_arrow(seed=1), schema, release, fast=True)
    return schema, found, card_of(folder)


def test_the_internal_report_is_stamped_and_shows_every_column(survey):
    schema, found, _ = survey
    reader = read(internal_report(found))
    assert sum(attributes.get("class") == "stamp" for _, attributes in reader.tags) == 1
    assert ("body", {"class": "internal"}) in reader.tags
    assert reader.text.count("INTERNAL, NOT PRIVATE") == 2
    assert "PUBLISHABLE" not in reader.text
    for name in schema.names:
        assert name in reader.words
        assert f"Histogram of {name}" in [attributes.get("aria-label") for _, attributes in reader.tags]


def test_the_stamp_stays_in_sight_on_screen_and_on_every_printed_page(survey):
    html = internal_report(survey[1])
    style = html[html.index("<style>") : html.index("</style>")]
    screen, _, paper = style.partition("@media print")
    assert "position: sticky" in screen[screen.index(".stamp {") :].partition("}")[0]
    assert "position: fixed" in paper[paper.index(".stamp {") :].partition("}")[0]
    assert "prefers-color-scheme: dark" in style


def test_the_page_shows_the_figures_of_the_json(survey):
    _, found, _ = survey
    figures = json.loads(json.dumps(found.to_dict()))
    text = read(internal_report(found)).text
    for table in figures["tables"]:
        assert f"{table['mean']:.4f}" in text
        assert " × ".join(table["worst_columns"]) in text
    for pair in figures["worst_pairs"]:
        assert f"{' × '.join(pair['columns'])} error {percent(pair['error'])}".replace("\u00a0", " ") in text
    for column in figures["columns"]:
        label, real, synthetic = (column[key][0] for key in ("labels", "real", "synthetic"))
        assert f"{label}: real {percent(real)}, synthetic {percent(synthetic)}".replace("\u00a0", " ") in text
    assert "0.610" in text
    assert figures["release"]["spending"]["sentence"] in text
    assert percent(figures["release"]["stages"]["noise"]).replace("\u00a0", " ") in text
    assert internal_report(found).count("<circle") == len(figures["ranges"])


def test_names_and_labels_are_escaped(survey):
    _, found, card = survey
    column = replace(found.columns[0], name=NASTY, labels=tuple(NASTY for _ in found.columns[0].labels))
    pair = replace(found.worst_pairs[0], columns=(NASTY, "sex"))
    assert NASTY in read(internal_report(replace(found, name=NASTY, columns=(column, *found.columns[1:])))).text
    assert f"{NASTY} × sex" in read(internal_report(replace(found, worst_pairs=(pair,)))).text
    assert NASTY in read(card_report(card)).text
    assert NASTY in read(card_report(replace(card, name=NASTY))).text


def test_a_report_without_release_classifiers_or_pairs(survey):
    _, found, _ = survey
    bare = replace(
        found,
        release=None,
        worst_pairs=(),
        copies=None,
        classifiers=ClassifierFigures("health", left_out="classifiers need scikit-learn; install sfumato[evaluate]"),
    )
    text = read(internal_report(bare)).text
    assert "Classifiers were left out: classifiers need scikit-learn; install sfumato[evaluate]." in text
    assert "What it cost" not in text


def test_rules_are_shown_if_there_are_any(survey):
    _, found, _ = survey
    broken = replace(found, rules=(RuleFigures("a <= b", 0.0, 0.25),))
    assert "a <= b 0 % 25 %" in read(internal_report(broken)).text
    assert "Rules" not in read(internal_report(replace(found, rules=()))).words
    assert internal_report(broken).index("a &lt;= b") < internal_report(broken).index("Each column")


def test_rules_that_no_row_breaks_are_counted_and_not_listed(survey):
    _, found, _ = survey
    kept = tuple(RuleFigures(f"kept {number}", 0.0, 0.0) for number in range(3))
    text = read(internal_report(replace(found, rules=kept))).text
    assert "All rules of the schema (3) hold in every row, real and synthetic." in text
    assert "kept 1" not in text
    text = read(internal_report(replace(found, rules=(*kept, RuleFigures("a <= b", 0.001, 0.0))))).text
    assert "3 of 4 rules hold in every row, real and synthetic. The others:" in text
    assert "a <= b 0.1 % 0 %" in text
    assert "kept 1" not in text


def test_of_very_many_columns_the_worst_are_mapped(survey):
    _, found, _ = survey
    one = found.columns[0]
    many = tuple(replace(one, name=f"c{i}") for i in range(70))
    errors = np.zeros((70, 70))
    errors[5:65, 5:65] = 0.5
    text = read(internal_report(replace(found, columns=many, pairs=tuple(map(tuple, errors.tolist()))))).text
    assert "the 60 columns with the largest errors" in text
    assert "c5 × c64: 0.5000" in text
    assert "c4 × c5" not in text


def test_the_card_is_stamped_and_tells_guarantee_ledger_errors_and_schema(survey):
    schema, _, card = survey
    reader = read(card_report(card))
    assert ("body", {"class": "publishable"}) in reader.tags
    assert "NOT PRIVATE" not in reader.text
    assert reader.text.count("PUBLISHABLE made from the release alone") == 1
    assert card.spending.sentence in reader.text
    assert card.spending.best_guess == pytest.approx(1 / (1 + np.exp(-5)), abs=1e-4)
    for question in card.spending.questions:
        assert question.question in reader.text
    for column in schema.columns:
        assert column.name in reader.text
        assert column.domain_from in reader.text
    assert f"version of sfumato {card.versions['sfumato']}" in reader.text
    assert json.loads(json.dumps(card.to_dict()))["stamp"].startswith("PUBLISHABLE")


def test_expected_errors_are_those_of_the_noise(survey):
    _, _, card = survey
    first = card.tables[0]
    # Gaussian noise of deviation s moves each of m cells by s sqrt(2 / pi) on average; half of it moves rows.
    wanted = first.cells * first.deviation * np.sqrt(2 / np.pi) / 2 / card.estimated_rows
    assert first.share_of_rows == pytest.approx(wanted)
    rng = np.random.default_rng(1)
    noise = np.abs(rng.normal(0, first.deviation, (20_000, first.cells))).sum(axis=1).mean()
    assert first.share_of_rows == pytest.approx(noise / 2 / card.estimated_rows, rel=0.02)


def test_pure_privacy_is_also_told_as_a_change_of_belief(tmp_path):
    schema = Schema.parse({"name": "one", "columns": [{"name": "sex", "type": "boolean", "domain_from": "observed"}]})
    table = pa.table({"sex": [i % 3 == 0 for i in range(300)]})
    release = fit(table, schema.accepting(["sex"], "A. Steward", "two words"), epsilon="1", method="dpview")
    card = card_of(release.save(tmp_path / "release"))
    text = read(card_report(card)).text
    assert "at most 2.68 % afterwards" in text  # odds of 1 : 99 times e
    assert "does not cover the declared values of sex" in text
    # The expected noise of both cells, without its sign, as a part of the rows; halved, as distances are.
    expected = 2 * Laplace(Fraction(1)).mean_absolute
    assert card.tables[0].share_of_rows * 2 * card.estimated_rows == pytest.approx(expected)


def test_the_two_stamps_are_never_confused():
    assert INTERNAL.kind != PUBLISHABLE.kind
    assert not set(INTERNAL.words.split()) & set(PUBLISHABLE.words.split())


def test_the_card_says_how_wide_the_intervals_are(survey):
    _, found, card = survey
    # All tables together know a count at least as well as its own table does.
    assert all(0 < one.interval <= 1.97 * one.deviation for one in card.tables)
    assert "95 % interval" in read(card_report(card)).text
    assert found.release.intervals.cells > 1_000
    assert 0.9 < found.release.intervals.inside < 1
    assert "Do the intervals hold?" in read(internal_report(found)).text
