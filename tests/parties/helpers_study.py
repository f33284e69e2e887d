"""A small study for tests: its members, its rows, and runs of both sides."""

import json
import threading
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers_consortium import NAMES, SCHEMA, fast_folder, new_signers, signed_consortium
from typer.testing import CliRunner

from sfumato.cli import app
from sfumato.identity import Signer
from sfumato.parties.audit import verify_log
from sfumato.parties.consortium import signed_manifest
from sfumato.parties.journal import Journal
from sfumato.parties.letters import CURATOR
from sfumato.parties.study import Waiting, attend, curate, open_journal, seat_of
from sfumato.release import Release
from sfumato.schema.schema import Schema

QUICK = Waiting(0.01, 600)
"""Looks often, and waits as long as a busy machine may take."""


def sfumato(*arguments, typed=None):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=typed)


def refused(result, *words, code=2):
    assert result.exit_code == code, result.output
    shown = " ".join(result.output.replace("│", " ").split())
    for word in words:
        assert word in result.output or word in shown


def rows_of(name, rows=200):
    draws = np.random.default_rng(sum(map(ord, name)))
    return pd.DataFrame(
        {
            "smoker": draws.choice(["true", "false"], rows, p=[0.3, 0.7]),
            "ill": draws.choice(["true", "false"], rows),
            "ward": draws.choice(["a", "b", "c"], rows),
        }
    )


class Study:
    """A signed study of three clinics, in a folder."""

    def __init__(self, folder, names=NAMES, **changes):
        self.folder = folder
        signed_consortium(folder / "consortium", new_signers(names), **changes)
        self.manifest = signed_manifest(folder / "consortium")
        self.schema = Schema.parse(SCHEMA)
        (folder / "schema.json").write_text(json.dumps(SCHEMA))
        for name in names:
            rows_of(name).to_csv(folder / f"{name}.csv", index=False)

    def signer(self, name):
        return Signer.load(self.folder / "consortium" / f"{name}.key")

    def journal(self, name, epsilon="100000"):
        return open_journal(self.folder / f"{name}-work", self.manifest, name, self.signer(name), epsilon)

    def seat(self, name, journal, approve=lambda summary: True):
        table = self.folder / f"{name}.csv"
        if isinstance(journal, Journal):
            return seat_of(self.manifest, name, self.signer(name), table, self.schema, journal, approve)
        passing = open_journal(self.folder / f"{name}-passing", self.manifest, name, self.signer(name), "100000")
        try:
            return replace(
                seat_of(self.manifest, name, self.signer(name), table, self.schema, passing, approve), store=journal
            )
        finally:
            passing.close()

    def attend(self, name, mailbox, **options):
        journal = self.journal(name)
        try:
            return attend(self.seat(name, journal, **options), mailbox, journal, QUICK)
        finally:
            journal.close()

    def curate(self, mailbox, waiting=QUICK, **options):
        journal = self.journal(CURATOR)
        try:
            return curate(self.manifest, self.signer(CURATOR), mailbox, journal, waiting, lambda stage: None, **options)
        finally:
            journal.close()

    def serve(self, *more, name="north", typed=None, **changes):
        options = {
            "data": self.folder / "north.csv",
            "schema": self.folder / "schema.json",
            "consortium": self.folder / "consortium",
            "name": name,
            "epsilon": "10000",
            "key": self.folder / "consortium" / "north.key",
            "mailbox": self.folder / "mail",
            "work": self.folder / "north-work",
            "approve": "always",
            "patience": 0,
        } | changes
        given = [text for option, value in options.items() if value is not None for text in (f"--{option}", value)]
        return sfumato("party", "serve", *given, *more, typed=typed)


@pytest.fixture
def folder():
    with fast_folder() as place:
        yield Path(place)


@pytest.fixture
def study(folder):
    return Study(folder, epsilon="1000")


class Parties:
    """Parties in threads, whose ends are waited for."""

    def __init__(self, study, mailbox_of, names=NAMES):
        self.statements = {}
        self.threads = [threading.Thread(target=self._run, args=(study, mailbox_of, name)) for name in names]

    def _run(self, study, mailbox_of, name):
        with ExitStack() as stack:
            self.statements[name] = study.attend(name, mailbox_of(name, stack))

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        for thread in self.threads:
            thread.join(600)
            assert not thread.is_alive()


def check_outcome(study, release, statements):
    """The release is that of the pooled rows; everybody spent what the release says, and no more."""
    pooled = pd.concat([rows_of(name) for name in NAMES])
    assert abs(release.rows - len(pooled)) <= 2  # epsilon is 1000: the sum of three noise shares is all but always 0
    release.save(study.folder / "release", seed=1)
    again = Release.load(study.folder / "release")
    assert again.ledger.budget.epsilon == 1000
    for word in ("north, south and west", "even from the curator and any one party"):
        assert word in again.ledger.protects
    synthetic = pd.read_csv(study.folder / "release" / "synthetic.csv", dtype=str)
    for column in pooled:
        real = pooled[column].value_counts().sort_index()
        assert np.abs(real - synthetic[column].value_counts().sort_index()).max() <= 4
    assert set(statements) == set(NAMES)
    for statement in statements.values():
        assert statement.spent == again.ledger.spent <= 1000
    for name in (*NAMES, CURATOR):
        assert verify_log(study.folder / f"{name}-work" / "audit.jsonl")[0] > 1
