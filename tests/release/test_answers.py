"""Any table of counts from a release: near the truth where it is covered, better than independence where not."""

import json
from itertools import combinations
from math import sqrt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato
from sfumato.data.coding import Coding
from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal, Measurement
from sfumato.data.marginals import Marginals
from sfumato.data.recoding import Merging, Recoding
from sfumato.data.selection import Selection
from sfumato.errors import ModelTooLarge, SchemaError
from sfumato.intake.codec import SchemaCodec
from sfumato.models.residuals import NoisyTable
from sfumato.pipeline import Model
from sfumato.release import answers
from sfumato.release.answers import split
from sfumato.survey import simulate, survey_schema_text

SCHEMA = sfumato.Schema.parse(
    {
        "name": "people",
        "columns": [
            {"name": "sex", "type": "categorical", "categories": ["f", "m"]},
            {"name": "city", "type": "categorical", "categories": ["Rome", "Milan", "Turin"], "nullable": True},
            {"name": "count", "type": "integer", "min": 0, "max": 3, "bins": 2},
        ],
    }
)
FINE = Domain({"sex": 2, "city": 4, "count": 2})


FIGURES = ["count", "standard_error", "low", "high", "unbiased"]


def answer(model, schema, columns, **options):
    """As a release answers, with normal noise in all tables."""
    return answers.answer(model, schema, [NoisyTable(one) for one in model.measurements], columns, **options)


def model(city=None):
    """Tables over sex and city, and over count; `city` may merge codes. One-way tables are over the schema's codes."""
    mergings = (Merging.identity(2), city or Merging.identity(4), Merging.identity(2))
    recoding = Recoding(FINE, mergings)
    size = recoding.domain["city"]
    pair = Marginal(recoding.domain.project(("sex", "city")), np.arange(2.0 * size).reshape(2, size) + 1)
    one_way = Marginal(FINE.project(("count",)), np.array([30.0, 10.0]))
    plain = Coding(FINE)
    measurements = (Measurement(one_way, 9.0, plain), Measurement(pair, 4.0, plain.then(recoding.step)))
    tables = Marginals(recoding.domain, (one_way, Marginal(pair.domain, pair.counts * (40 / pair.total))))
    return Model(recoding, Selection((("sex", "city"),)), measurements, tables)


class TestByHand:
    def test_a_covered_table_has_its_counts_and_the_error_of_its_noise(self):
        found = answer(model(), SCHEMA, ["city", "sex"])
        assert found.column_names == ["city", "sex", *FIGURES]
        assert found["city"].to_pylist() == [c for c in ("Rome", "Milan", "Turin", "(missing)") for _ in "fm"]
        assert found["sex"].to_pylist() == ["f", "m"] * 4
        assert found["count"].to_pylist() == pytest.approx([40 / 36 * n for n in (1, 5, 2, 6, 3, 7, 4, 8)])
        # Each cell has noise of variance 4. The total of the table, of variance 32, is known better together with that
        # of the table over count, of variance 18: an eighth of it is known with 11.52 / 64.
        assert found["standard_error"].to_pylist() == pytest.approx([sqrt(4 * 7 / 8 + 11.52 / 64)] * 8)
        assert found["unbiased"][0].as_py() == pytest.approx(1 + (11.52 / 32 * 36 + 11.52 / 18 * 40 - 36) / 8)
        assert found["low"].to_pylist()[0] == 0.0
        assert found["high"][7].as_py() == pytest.approx(found["unbiased"][7].as_py() + 1.96 * sqrt(3.68), abs=1e-3)
        assert "no_interval" not in str(found.schema.metadata)

    def test_a_sum_of_cells_has_the_error_of_the_sum(self):
        assert answer(model(), SCHEMA, ["sex"])["standard_error"].to_pylist() == pytest.approx(
            [sqrt(4 * 4 / 2 + 11.52 / 4)] * 2
        )
        assert answer(model(), SCHEMA, ["city"])["standard_error"].to_pylist() == pytest.approx(
            [sqrt(2 * 4 * 3 / 4 + 11.52 / 16)] * 4
        )

    def test_all_noisy_tables_together_give_the_error(self):
        plain = model()
        sex = Measurement(Marginal(FINE.project(("sex",)), np.array([11.0, 29.0])), 3.0, Coding(FINE))
        better = Model(plain.recoding, plain.selection, (*plain.measurements, sex), plain.marginals)
        # Total and difference of the two cells, of variance 2·3 here and 2·4·4 there, are averaged by precision; the
        # total is in the table over count too, with variance 2·9.
        total, difference = 1 / (1 / 6 + 1 / 32 + 1 / 18), 1 / (1 / 6 + 1 / 32)
        found = answer(better, SCHEMA, ["sex"])
        assert found["standard_error"].to_pylist() == pytest.approx([sqrt((total + difference) / 4)] * 2)

    def test_what_no_table_covers_has_no_standard_error(self):
        found = answer(model(), SCHEMA, ["sex", "count"])
        assert found["count_"].to_pylist() == pytest.approx(
            [40 * a * b for a in (10 / 36, 26 / 36) for b in (3 / 4, 1 / 4)]
        )
        assert found["standard_error"].null_count == found["low"].null_count == found["unbiased"].null_count == 4
        assert b"no noisy table holds sex, count together" in found.schema.metadata[b"no_interval"]

    def test_a_noisy_table_gives_an_interval_whether_the_model_holds_it_or_not(self):
        plain = model()
        bare = Marginals(FINE, tuple(plain.marginals.project((name,)) for name in FINE.names))
        found = answer(Model(plain.recoding, plain.selection, plain.measurements, bare), SCHEMA, ["sex", "city"])
        assert found["low"].null_count == 0

    def test_the_names_of_columns_are_kept(self):
        assert answer(model(), SCHEMA, ["count"]).column_names == ["count", "count_", *FIGURES[1:]]

    def test_merged_codes_are_split_by_weight_and_have_no_standard_error(self):
        # Milan and (missing) are one code of the model, of which Milan is three quarters.
        merged = Merging(np.array([0, 2, 1, 2]), np.array([5.0, 3.0, 1.0, 1.0]))
        found = answer(model(merged), SCHEMA, ["sex", "city"]).to_pandas().set_index(["sex", "city"])
        unit = 40 / 21
        assert found["count"]["f"].to_dict() == pytest.approx(
            {"Rome": unit, "Milan": 3 * unit * 0.75, "Turin": 2 * unit, "(missing)": 3 * unit * 0.25}
        )
        error = sqrt(4 * 5 / 6 + 1 / (1 / 24 + 1 / 18) / 36)
        assert found["standard_error"]["m"].dropna().to_dict() == pytest.approx({"Rome": error, "Turin": error})
        metadata = answer(model(merged), SCHEMA, ["sex", "city"]).schema.metadata
        assert metadata[b"no_interval"].startswith(b"4 of 8 cells have no interval: their values were merged")
        assert found["count"].sum() == pytest.approx(40)

    def test_splitting_undoes_merging(self):
        rng = np.random.default_rng(0)
        merged = Merging(np.array([1, 0, 1, 1]), np.array([2.0, 9.0, 0.0, 3.0]))
        recoding = Recoding(FINE, (Merging.identity(2), merged, Merging(np.array([0, 0]), np.ones(2))))
        coarse = Marginal(recoding.domain.project(("count", "city", "sex")), rng.random((1, 2, 2)))
        fine = split(coarse, recoding)
        assert fine.domain == FINE.project(("count", "city", "sex"))
        assert np.allclose(recoding.merge(Measurement(fine, 1.0)).marginal.counts, coarse.counts)
        assert np.allclose(fine.counts[:, 2], 0)

    def test_questions_that_make_no_sense_are_refused(self):
        with pytest.raises(SchemaError, match="no columns were asked for; name one or more of sex, city, count"):
            answer(model(), SCHEMA, [])
        with pytest.raises(SchemaError, match="column 'town' is not in the table; it has sex, city, count"):
            answer(model(), SCHEMA, ["sex", "town"])
        with pytest.raises(SchemaError, match="sex occur twice"):
            answer(model(), SCHEMA, ["sex", "city", "sex"])

    def test_too_many_cells_are_refused(self):
        wide = Domain({f"c{i}": 20 for i in range(6)})
        kinds = [{"name": name, "type": "integer", "min": 1, "max": 20} for name in wide]
        wide_schema = sfumato.Schema.parse({"name": "wide", "columns": kinds})
        mergings = tuple(map(Merging.identity, wide.shape))
        nothing = Model(Recoding(wide, mergings), Selection(()), (), Marginals(wide, ()))
        with pytest.raises(ModelTooLarge, match="64,000,000 cells; at most 5,000,000 are answered; ask for fewer"):
            answer(nothing, wide_schema, wide.names)


SURVEY = sfumato.Schema.parse(json.loads(survey_schema_text()))


@pytest.fixture(scope="module")
def survey():
    return simulate()


@pytest.fixture(scope="module")
def real(survey):
    return SchemaCodec(SURVEY).encode(survey)


@pytest.fixture(scope="module")
def release(survey):
    return sfumato.fit(survey, SURVEY, epsilon=5, delta="1e-9")


def covered(release, clique):
    return any(set(clique) <= set(table) for table in release.model.marginals.cliques)


def distance(real, clique, counts):
    truth = real.project(clique).counts.ravel() / len(real)
    return np.abs(truth - np.asarray(counts).ravel() / np.sum(counts)).sum() / 2


class TestSurvey:
    """A release of the built-in survey at epsilon 5."""

    def test_covered_pairs_come_near_the_truth(self, release, real):
        pairs = [pair for pair in combinations(SURVEY.names, 2) if covered(release, pair)]
        assert len(pairs) > 20
        errors = [distance(real, pair, release.marginal(*pair)["count"]) for pair in pairs]
        assert np.mean(errors) < 0.05

    def test_uncovered_triples_are_nearer_to_the_truth_than_independent_columns(self, release, real):
        rng = np.random.default_rng(0)
        triples = [
            c for c in combinations(SURVEY.names, 3) if not covered(release, c) and real.domain.cells(c) < 20_000
        ]
        chosen = [triples[index] for index in rng.choice(len(triples), 40, replace=False)]
        errors = []
        for clique in chosen:
            one_way = [np.asarray(release.marginal(name)["count"]) for name in clique]
            product = one_way[0][:, None, None] * one_way[1][:, None] * one_way[2]
            found = release.marginal(*clique)
            errors_of_noise = found["standard_error"].drop_null().to_pylist()
            assert set(errors_of_noise) <= {0.0}  # of cells that rules leave empty; no table holds the others
            assert found["standard_error"].null_count > found.num_rows / 4  # rules on hours leave most cells empty
            errors.append([distance(real, clique, found["count"]), distance(real, clique, product)])
        fitted, independent = np.mean(errors, axis=0)
        assert fitted < 0.65 * independent

    def test_an_answer_is_free_the_same_every_time_and_survives_saving(self, release, tmp_path):
        before = release.ledger
        release.save(tmp_path / "release", rows=10)
        again = sfumato.Release.load(tmp_path / "release")
        assert again.marginal("age", "rent", "smoker").equals(release.marginal("age", "rent", "smoker"))
        assert release.ledger is before

    def test_a_release_of_a_file_or_an_arrow_table_answers_in_arrow(self, release):
        assert isinstance(release.marginal("sex"), pa.Table)


def test_an_answer_is_of_the_kind_that_was_given_to_fit():
    rows = pd.DataFrame({"sex": ["f", "m"] * 300, "city": ["Rome", None, "Turin"] * 200, "count": [0, 1, 2, 3] * 150})
    found = sfumato.fit(rows, SCHEMA, epsilon=5, delta=1e-6).marginal("sex", "city")
    assert isinstance(found, pd.DataFrame)
    # Cells keep the order of the schema when a table is turned.
    turned = found.pivot_table(index="city", columns="sex", values="count", observed=False)
    assert list(turned.index) == ["Rome", "Milan", "Turin", "(missing)"]
    assert turned.loc["Rome", "f"] == pytest.approx(100, abs=40)
    frame = sfumato.fit(pl.from_pandas(rows), SCHEMA, epsilon=5, delta=1e-6).marginal("sex")
    assert isinstance(frame, pl.DataFrame)
    assert frame["sex"].cast(pl.String).to_list() == ["f", "m"]
    assert frame.schema["count"] == pl.Float64
