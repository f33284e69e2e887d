"""Releases that older versions wrote: folders of format 1 open, describe themselves, answer and can be sampled."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import sfumato
from sfumato.errors import ReleaseError
from sfumato.recipes import RECIPES, SYNTHESIZERS

OLD = Path(__file__).parents[1] / "golden" / "releases"

every_old_release = pytest.mark.parametrize("folder", sorted(OLD.iterdir()), ids=lambda folder: folder.name)


@every_old_release
def test_it_opens_with_its_ledger_its_tables_and_the_method_that_it_names(folder):
    release = sfumato.Release.load(folder)
    described = json.loads((folder / "release.json").read_text())
    ledger = json.loads((folder / "ledger.json").read_text())
    assert release.recipe == RECIPES[described["method"]]
    assert release.rows == described["estimated_rows"]
    assert release.ledger.guarantee["epsilon"] == 2
    assert float(release.ledger.spent) == pytest.approx(ledger["spent"], rel=1e-9)
    assert len(release.ledger.entries) == len(ledger["events"])
    assert len(release.model.measurements) == len(json.loads((folder / "marginals" / "index.json").read_text()))
    for one in release.model.measurements:
        assert one.coding.domain.project(one.clique) == one.domain


@every_old_release
def test_it_is_sampled_and_answers(folder):
    release = sfumato.Release.load(folder)
    rows = release.sample(2000, seed=1)
    assert rows.equals(release.sample(2000, seed=1))
    assert rows.num_rows == 2000
    assert rows.column_names == list(release.schema.names)
    answer = release.marginal("sex", "smokes").to_pandas()
    assert answer["count"].sum() == pytest.approx(release.rows, rel=0.02)
    sex = np.array(release.marginal("sex")["count"])
    drawn = np.array([rows["sex"].to_pylist().count(value) for value in ("female", "male")])
    assert drawn / 2000 == pytest.approx(sex / sex.sum(), abs=0.03)


@every_old_release
def test_it_is_saved_in_the_format_of_today(folder, tmp_path):
    release = sfumato.Release.load(folder)
    again = sfumato.Release.load(release.save(tmp_path / "new", rows=10, seed=1))
    assert again.description() == release.description()
    assert again.sample(50, seed=2).equals(release.sample(50, seed=2))


@pytest.mark.parametrize("name", SYNTHESIZERS)
def test_a_synthesizer_that_it_names_is_used(name, tmp_path):
    folder = shutil.copytree(OLD / "release-1-privsyn", tmp_path / "old")
    path = folder / "release.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"synthesizer": name}))
    assert sfumato.Release.load(folder).recipe.synthesize == SYNTHESIZERS[name]


@pytest.mark.parametrize(
    "change", [{"method": "magic"}, {"method": None}, {"method": []}, {"synthesizer": "gan"}], ids=str
)
def test_what_is_not_known_any_more_is_refused_by_name(change, tmp_path):
    folder = shutil.copytree(OLD / "release-1-privsyn", tmp_path / "old")
    path = folder / "release.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(sfumato.SfumatoError, match=r"unknown|damaged"):
        sfumato.Release.load(folder)


def test_a_format_between_or_beyond_is_refused(tmp_path):
    folder = shutil.copytree(OLD / "release-1-privsyn", tmp_path / "old")
    path = folder / "release.json"
    for form in (0, 2, 3, "1", None, [1]):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"format": form}))
        with pytest.raises(ReleaseError, match="not a release of format 1 or 2"):
            sfumato.Release.load(folder)
