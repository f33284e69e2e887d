"""What was made from real rows, and what must stay secret, is readable by its owner alone, whatever the umask."""

import os
import stat
from contextlib import contextmanager

import pytest
from test_commands import clinic, sfumato, table

from sfumato.evaluate.classifiers import Score
from sfumato.parties.journal import Journal
from sfumato.privacy.budget import PureDP
from sfumato.report import assessment

__all__ = ["clinic"]  # the fixture


@contextmanager
def umask(mask):
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


every_umask = pytest.mark.parametrize("mask", [0o000, 0o022, 0o077], ids=["000", "022", "077"])


@every_umask
def test_the_internal_report_is_for_its_owner(clinic, mask, monkeypatch):
    monkeypatch.setattr(assessment, "scores", lambda *given: [Score(given[4][0], 0.6, 0.5, 0.7)])
    table(50).to_csv(clinic / "synthetic.csv", index=False)
    options = ["--schema", clinic / "clinic.schema.json", "--out", clinic / "report.html", "--fast"]
    with umask(mask):
        result = sfumato("evaluate", clinic / "clinic.csv", clinic / "synthetic.csv", *options)
    assert result.exit_code == 0, result.output
    assert {mode(clinic / name) for name in ("report.html", "report.json")} == {0o600}


@every_umask
def test_a_draft_of_a_schema_is_for_its_owner(clinic, mask):
    with umask(mask):
        assert sfumato("schema", "draft", clinic / "clinic.csv", "--out", clinic / "draft.json").exit_code == 0
    assert mode(clinic / "draft.json") == 0o600


@every_umask
def test_keys_and_journals_are_for_their_owner(tmp_path, mask):
    with umask(mask):
        assert sfumato("consortium", "key", tmp_path / "north.key").exit_code == 0
        journal = Journal(tmp_path / "work", "flu", "north", PureDP(1))
        journal.note("hello")
        found = {path.name: mode(path) for path in (tmp_path / "work").iterdir()}
        journal.close()
    assert mode(tmp_path / "north.key") == 0o600
    assert mode(tmp_path / "work") == 0o700
    assert set(found.values()) == {0o600}
    assert {"journal.sqlite", "journal.sqlite-wal", "audit.jsonl"} <= set(found)
