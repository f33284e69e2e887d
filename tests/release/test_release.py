"""The Python interface: fit spends, sampling is free; the same kind of table comes out that went in."""

import io
import json
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import BudgetError, DataError, FileError, MethodError, ReleaseError, SchemaError, SfumatoError
from sfumato.learn.select.given_views import GivenView, GivenViews
from sfumato.recipes import RECIPES
from sfumato.synthesize.sorted_views import SortedViews

SCHEMA = sfumato.Schema.parse(
    {
        "name": "people",
        "columns": [
            {"name": "age", "type": "integer", "min": 0, "max": 99, "bins": 20},
            {"name": "city", "type": "categorical", "categories": ["Rome", "Milan", "Turin"], "nullable": True},
            {"name": "pay", "type": "number", "min": 0, "max": 1000, "bins": 10, "decimals": 2},
        ],
    }
)


def frame(rows=2000, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 100, rows)
    city = np.where(age < 50, "Rome", "Milan").astype(object)
    city[rng.random(rows) < 0.1] = None
    return pd.DataFrame({"age": age.astype("int32"), "city": city, "pay": np.round(age * 9.99 + 0.5, 2)})


def fit(data, **more):
    return sfumato.fit(data, SCHEMA, **({"epsilon": 3, "delta": 1e-6} | more))


@pytest.fixture(scope="module")
def release():
    return fit(frame())


def test_pandas_in_pandas_out(release):
    sample = release.sample(500, seed=1)
    assert isinstance(sample, pd.DataFrame)
    assert list(sample.columns) == ["age", "city", "pay"]
    assert sample.dtypes.astype(str).tolist() == ["int64", "str", "float64"]
    assert sample["age"].between(0, 99).all()
    assert (sample["pay"].round(2) == sample["pay"]).all()
    assert sample["city"].isna().any()


def test_polars_and_arrow_come_out_as_they_went_in():
    arrow = pa.Table.from_pandas(frame(), preserve_index=False)
    assert isinstance(fit(arrow).sample(10), pa.Table)
    sample = fit(pl.from_arrow(arrow)).sample(10)
    assert isinstance(sample, pl.DataFrame)
    assert sample.schema["age"] == pl.Int64


def test_the_synthetic_table_keeps_the_dependence(release):
    sample = release.sample(4000, seed=0)
    assert (sample.loc[sample["age"] < 40, "city"] == "Rome").mean() > 0.75
    assert np.corrcoef(sample["age"], sample["pay"])[0, 1] > 0.8


def test_sampling_is_repeatable_and_never_spends(release):
    before = release.ledger
    one, two, three = (release.sample(300, seed=seed) for seed in (7, 7, 8))
    assert one.equals(two)
    assert not one.equals(three)
    assert release.ledger is before
    assert not release.sample(300).equals(release.sample(300))


def test_two_releases_of_one_table_have_different_noise():
    counts = [fit(frame()).model.measurements[0].marginal.counts for _ in range(2)]
    assert not np.array_equal(*counts)


def test_the_number_of_rows_is_estimated_and_not_read(release):
    assert release.rows != 0
    assert abs(release.rows - 2000) < 200
    assert len(release.sample(seed=3)) == release.rows
    with pytest.raises(DataError, match="-1 rows"):
        release.sample(-1)


def test_a_saved_release_is_the_same_release(release, tmp_path):
    release.save(tmp_path / "out", seed=5)
    again = sfumato.Release.load(tmp_path / "out")
    assert again.ledger == release.ledger
    assert again.kind == "arrow"
    assert again.sample(200, seed=9).equals(release.sample_arrow(200, seed=9))
    for one, two in zip(release.model.measurements, again.model.measurements, strict=True):
        assert np.array_equal(one.marginal.counts, two.marginal.counts)
        assert (one.variance, one.coding, one.event) == (two.variance, two.coding, two.event)
    with pytest.raises(FileError, match="exists already"):
        release.save(tmp_path / "out")
    with pytest.raises(ReleaseError, match="format 'xls'"):
        release.save(tmp_path / "other", format="xls")


def test_nothing_in_the_folder_is_a_pickle_or_comes_straight_from_the_rows(release, tmp_path):
    release.save(tmp_path / "out", seed=5)
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert {path.suffix for path in files} <= {".csv", ".json", ".parquet", ".npz", ".py", ".yaml"}
    with zipfile.ZipFile(tmp_path / "out" / "model" / "tables.npz") as archive:
        for name in archive.namelist():
            assert np.load(io.BytesIO(archive.read(name)), allow_pickle=False).dtype == np.float64
    assert "2000" not in (tmp_path / "out" / "release.json").read_text()  # the true number of rows


def test_a_notebook_shows_the_guarantee(release):
    assert "epsilon = " in release._repr_html_()
    assert "table age" in release._repr_html_()
    assert "auto" in repr(release)


def test_a_release_is_described_by_the_recipe_that_ran_and_read_back_as_it_was(tmp_path):
    """The card of a run with views of a user named parts that had never run (defect B1)."""
    views = tmp_path / "views.json"
    views.write_text('[{"columns": ["age", "city"]}, {"columns": ["pay"]}]')
    release = fit(frame(), views=views, synthesizer="sorted-views")
    recipe = release.recipe
    assert recipe.learn.select == GivenViews((GivenView(("age", "city")), GivenView(("pay",))))
    assert recipe.parameters()["synthesize"] == "SortedViews(repeats=10)"
    release = replace(release, recipe=replace(recipe, synthesize=SortedViews(repeats=3)))
    again = sfumato.Release.load(release.save(tmp_path / "out", rows=10, seed=1))
    assert again.recipe == replace(recipe, synthesize=SortedViews(repeats=3))
    assert again.recipe.parameters() == {**recipe.parameters(), "synthesize": "SortedViews(repeats=3)"}
    assert again.description() == release.description()


def test_an_old_release_is_sampled_by_what_made_it_and_not_by_todays_method(release, tmp_path, monkeypatch):
    folder = release.save(tmp_path / "out", rows=10)
    before = release.sample_arrow(100, seed=1)
    monkeypatch.setitem(RECIPES, "auto", replace(RECIPES["auto"], synthesize=SortedViews()))
    again = sfumato.Release.load(folder)
    assert again.sample(100, seed=1).equals(before)
    record = json.loads((folder / "release.json").read_text())
    assert again.description() == {key: value for key, value in record.items() if key != "sample"}


@pytest.mark.parametrize("stage", ["encode", "learn", "reconcile", "synthesize"])
@pytest.mark.parametrize(
    "broken",
    [
        *({}, [], None, 3, "GradualUpdate", {"part": 3}, {"part": "GradualUpdate", "sweeps": "x"}),
        *({"part": "GradualUpdate", "depth": 1}, {"part": "GradualUpdate", "sweeps": {"fraction": "1/0"}}),
    ],
    ids=str,
)
def test_a_part_that_cannot_be_read_is_refused(release, tmp_path, stage, broken):
    path = release.save(tmp_path / "out", rows=10) / "release.json"
    record = json.loads(path.read_text())
    record["recipe"][stage] = broken
    path.write_text(json.dumps(record))
    with pytest.raises(SfumatoError, match=r"a recipe cannot be read|a part of a recipe cannot|has other fields"):
        sfumato.Release.load(tmp_path / "out")


def test_a_part_that_is_not_known_here_can_be_shown_and_stored_but_not_run(release, tmp_path):
    path = release.save(tmp_path / "out", rows=10) / "release.json"
    record = json.loads(path.read_text())
    record["recipe"]["synthesize"] = {"part": "Gan", "layers": [3, {"fraction": "1/3"}]}
    path.write_text(json.dumps(record))
    again = sfumato.Release.load(tmp_path / "out")
    assert again.description()["recipe"] == record["recipe"]
    assert again.marginal("city")["count"].to_pylist() == release.marginal("city")["count"].to_list()
    with pytest.raises(
        MethodError, match=r"a part named 'Gan', which is not known here; .* sfumato\.recipes\.register"
    ):
        again.sample(10)


def test_an_unknown_format_version_is_refused(release, tmp_path):
    release.save(tmp_path / "out")
    path = tmp_path / "out" / "release.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps(record | {"format": 99}))
    with pytest.raises(ReleaseError, match="not a release of format 1 or 2, which this version reads"):
        sfumato.Release.load(tmp_path / "out")


def test_fit_refuses_what_it_cannot_promise():
    with pytest.raises(BudgetError, match="needs a delta"):
        fit(frame(), delta=None, method="privsyn")
    observed = SCHEMA.to_dict()
    observed["columns"][0]["domain_from"] = "observed"
    schema = sfumato.Schema.parse(observed)
    with pytest.raises(SchemaError, match="domain of age was observed"):
        sfumato.fit(frame(), schema, epsilon=1, delta=1e-6)
    accepted = sfumato.fit(frame(), schema.accepting(["age"], "A. Steward", "law"), epsilon=1, delta=1e-6)
    assert any("'age' was observed" in event.question for _, event in accepted.ledger.entries)


class TestPersons:
    """One person may own several rows: sensitivities grow, and rows beyond the promise are dropped."""

    def schema(self, rows, neighbours="add-remove"):
        return sfumato.Schema.parse(
            {**SCHEMA.to_dict(), "unit": {"rows": rows, "column": "person"}, "neighbours": neighbours}
        )

    def table(self, persons=300, each=5):
        rows = frame(persons * each)
        names = [f"p{number}" for number in range(persons)]
        return rows.assign(person=np.repeat(names, each)).sample(frac=1, random_state=0)

    def test_only_the_promised_rows_are_used(self):
        release = sfumato.fit(self.table(), self.schema(2), epsilon=50, delta=1e-6)
        assert abs(release.rows - 600) < 60
        assert "person" not in release.sample(5).columns
        assert "all rows of one person (at most 2)" in release.ledger.protects

    def test_noise_grows_with_the_rows_of_a_person(self):
        sigma = {}
        for rows, relation in ((1, "add-remove"), (3, "add-remove"), (1, "replace-one")):
            release = sfumato.fit(self.table(), self.schema(rows, relation), epsilon=1, delta=1e-6)
            sigma[rows, relation] = np.sqrt(release.model.measurements[0].variance)
        assert sigma[3, "add-remove"] == pytest.approx(3 * sigma[1, "add-remove"], rel=0.01)
        assert sigma[1, "replace-one"] == pytest.approx(np.sqrt(2) * sigma[1, "add-remove"], rel=0.01)

    def test_a_person_column_must_be_there_and_complete(self):
        with pytest.raises(DataError, match="no column 'person'"):
            sfumato.fit(frame(), self.schema(1), epsilon=1, delta=1e-6)
        holes = self.table().assign(person=[None, *map(str, range(1499))])
        with pytest.raises(DataError, match="'person' identifies persons"):
            sfumato.fit(holes, self.schema(1), epsilon=1, delta=1e-6)


def test_the_public_names_are_complete_and_sorted():
    assert sfumato.__all__ == sorted(sfumato.__all__)
    assert all(hasattr(sfumato, name) for name in sfumato.__all__)
    signature = str(__import__("inspect").signature(sfumato.fit))
    assert "seed" not in signature  # noise cannot be seeded


def test_a_loaded_release_samples_what_is_asked_for(tmp_path):

    age = {"name": "age", "type": "integer", "min": 0, "max": 9}
    keys = {"name": "t", "columns": [age]}
    sfumato.fit(pl.LazyFrame({"age": [1, 2]}), keys, epsilon=1, method="dpview").save(tmp_path / "r")
    assert isinstance(sfumato.Release.load(tmp_path / "r", "pandas").sample(rows=2), pd.DataFrame)
    assert isinstance(sfumato.Release.load(tmp_path / "r", "polars").marginal("age"), pl.DataFrame)
    with pytest.raises(sfumato.SfumatoError, match="give one of arrow, pandas, polars"):
        sfumato.Release.load(tmp_path / "r", "spark")
