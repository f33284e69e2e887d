"""Releases that this format's first version wrote: every later one opens, checks, samples and asks them."""

import json
from pathlib import Path

import pytest

import sfumato

FOLDERS = sorted((Path(__file__).parents[1] / "golden" / "releases-2").iterdir())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_kept_release_opens_and_is_what_it_was(folder):
    release = sfumato.Release.load(folder)
    ledger = json.loads((folder / "ledger.json").read_text())
    assert release.ledger.guarantee["epsilon"] == 2
    assert len(release.ledger.entries) == len(ledger["events"])
    release.ledger.verify()
    rows = release.sample(300, seed=1)
    assert rows.equals(release.sample(300, seed=1))
    assert rows.column_names == list(release.schema.names)
    assert release.share({"ward": "north"}).value == pytest.approx(0.5, abs=0.25)
    if release.schema.rules:
        south = rows.filter(rows["ward"].to_numpy(zero_copy_only=False) == "south")
        assert min(south["age"].to_pylist()) >= 20


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_what_a_kept_release_says_of_itself_is_still_checked(folder):
    """Fits and rows may follow another way in a later version; the ledger, the tables and the words may not."""
    found = {one.check: one.result.value for one in sfumato.verify(folder).findings}
    assert {found[check] for check in ("files", "ledger", "unit", "tables", "description", "values")} == {"passed"}
