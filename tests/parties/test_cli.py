import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers_consortium import NAMES, SCHEMA, certificates, fast_folder, manifest_of, new_signers, signed_consortium
from typer.testing import CliRunner

from sfumato.cli import app
from sfumato.data.schema import Schema
from sfumato.errors import BudgetError, ProtocolError
from sfumato.parties.audit import verify_log
from sfumato.parties.book import Book
from sfumato.parties.certificates import TlsFiles
from sfumato.parties.curator import Plan
from sfumato.parties.folder import FolderMailbox
from sfumato.parties.https import HttpsMailbox, Reception, listening
from sfumato.parties.identity import Signer
from sfumato.parties.manifest import signed_manifest
from sfumato.parties.messages import CURATOR, Question, Roster, Share, open_, seal
from sfumato.parties.party import answer
from sfumato.parties.store import State
from sfumato.parties.study import Waiting, attend, curate, open_book, seat_of, traffic
from sfumato.privacy.events import Laplace
from sfumato.release import Release
from sfumato.survey import simulate

QUICK = Waiting(0.01, 20)


def sfumato(*arguments, typed=None):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=typed)


def refused(result, *words):
    assert result.exit_code == 2, result.output
    for word in words:
        assert word in result.output


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

    def __init__(self, folder, **changes):
        self.folder = folder
        signed_consortium(folder / "consortium", new_signers(), **changes)
        self.manifest = signed_manifest(folder / "consortium")
        self.schema = Schema.parse(SCHEMA)
        (folder / "schema.json").write_text(json.dumps(SCHEMA))
        for name in NAMES:
            rows_of(name).to_csv(folder / f"{name}.csv", index=False)

    def signer(self, name):
        return Signer.load(self.folder / "consortium" / f"{name}.key")

    def book(self, name, epsilon="100000"):
        return open_book(self.folder / f"{name}-work", self.manifest, name, self.signer(name), epsilon)

    def seat(self, name, book, approve=lambda summary: True):
        return seat_of(self.manifest, name, self.signer(name), self.folder / f"{name}.csv", self.schema, book, approve)

    def attend(self, name, mailbox, **options):
        book = self.book(name)
        try:
            return attend(self.seat(name, book, **options), mailbox, book, QUICK)
        finally:
            book.close()

    def curate(self, mailbox, waiting=QUICK):
        book = self.book(CURATOR)
        try:
            return curate(self.manifest, self.signer(CURATOR), mailbox, book, waiting, lambda stage: None)
        finally:
            book.close()

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
            thread.join(30)
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


def test_a_study_over_a_shared_folder(study):
    with Parties(study, lambda name, stack: FolderMailbox(study.folder / "mail")) as parties:
        release = study.curate(FolderMailbox(study.folder / "mail"))
    check_outcome(study, release, parties.statements)
    counted = traffic(FolderMailbox(study.folder / "mail"), study.manifest)
    files = sum(path.stat().st_size for path in (study.folder / "mail").glob("*/*.message"))
    assert counted.total == files
    assert {stage for stage, *_ in counted.rows()} <= {"encode", "select", "measure", "end"}
    assert {party for _, party, *_ in counted.rows()} == set(NAMES)


def test_a_study_over_https(study):
    certificates(study.folder / "tls")
    mailbox = FolderMailbox(study.folder / "mail")
    reception = Reception(mailbox, study.manifest)
    with listening(reception, study.manifest, "127.0.0.1", 0, TlsFiles(study.folder / "tls" / CURATOR)) as port:

        def connected(name, stack):
            files = TlsFiles(study.folder / "tls" / name)
            box = HttpsMailbox(f"https://localhost:{port}", study.manifest.study, files, 20)
            stack.callback(box.close)
            return box

        with Parties(study, connected) as parties:
            release = study.curate(mailbox)
    check_outcome(study, release, parties.statements)
    assert reception.refused == []


KILLED = """
import os, signal, sys
from sfumato.parties.book import Book
from sfumato.parties.store import State
save = Book.save
def killed(self, record):
    if record.state is State.SENT:
        os.kill(os.getpid(), signal.SIGKILL)
    save(self, record)
Book.save = killed
from sfumato.cli import app
app(sys.argv[1:])
"""


def test_a_party_killed_before_it_sends_sends_the_stored_bytes_when_it_is_back(study):
    box = FolderMailbox(study.folder / "mail")
    options = {
        "data": "north.csv",
        "schema": "schema.json",
        "consortium": "consortium",
        "key": "consortium/north.key",
        "mailbox": "mail",
        "work": "north-work",
    }
    command = [text for option, file in options.items() for text in (f"--{option}", str(study.folder / file))]
    command += ["--name", "north", "--epsilon", "1000", "--approve", "always", "--poll", "0.02"]
    with Parties(study, lambda name, stack: box, NAMES[1:]) as parties:
        releases = []
        curator = threading.Thread(target=lambda: releases.append(study.curate(FolderMailbox(study.folder / "mail"))))
        curator.start()
        killed = subprocess.run([sys.executable, "-c", KILLED, "party", "serve", *command], timeout=60, check=False)
        assert killed.returncode == -signal.SIGKILL
        book = study.book("north")
        (stored,) = book.attempts(0)
        assert stored.state is State.COMPUTED
        assert [one for one in box.fetch(CURATOR, 0) if b'"share"' in one and b'"north"' in one] == []
        book.close()
        parties.statements["north"] = study.attend("north", box)
        curator.join(30)
    check_outcome(study, releases[0], parties.statements)
    messages = [open_(one, study.manifest) for one in box.fetch(CURATOR, 0)]
    (sent,) = (one for one in messages if isinstance(one, Share) and one.sender == "north" and one.round == 0)
    assert stored.payload.endswith(sent.body())


class Stopped(BaseException):
    """A curator that is killed."""


def test_a_curator_stopped_at_any_write_goes_on_where_it_was(study, monkeypatch):
    save, left = Book.save, [0]

    def stopping(self, record):
        if self._budget is None:
            left[0] -= 1
            if left[0] < 0:
                raise Stopped
        save(self, record)

    monkeypatch.setattr(Book, "save", stopping)
    with Parties(study, lambda name, stack: FolderMailbox(study.folder / "mail")) as parties:
        for writes in range(20):
            left[0] = writes % 4  # the first runs are stopped at their first, second, third … write
            try:
                release = study.curate(FolderMailbox(study.folder / "mail"))
            except Stopped:
                continue
            break
    assert writes > 1
    check_outcome(study, release, parties.statements)
    for name in NAMES:
        book = study.book(name)
        assert [one.attempt for one in book.attempts(0)] == [0]
        book.close()


@pytest.mark.parametrize("writes", range(7))
def test_a_party_stopped_at_any_write_sends_one_vector_and_pays_once(study, monkeypatch, writes):
    # A round has six writes: proposed, approved, reserved, computed, sent, opened. A seventh never comes.
    save, left = Book.save, [writes]

    def stopping(self, record):
        if threading.current_thread() is threading.main_thread():
            left[0] -= 1
            if left[0] == -1:
                raise Stopped
        save(self, record)

    monkeypatch.setattr(Book, "save", stopping)
    releases = []
    with Parties(study, lambda name, stack: FolderMailbox(study.folder / "mail"), NAMES[1:]) as parties:
        curator = threading.Thread(target=lambda: releases.append(study.curate(FolderMailbox(study.folder / "mail"))))
        curator.start()
        starts = 0
        while "north" not in parties.statements:
            starts += 1
            with contextlib.suppress(Stopped):
                parties.statements["north"] = study.attend("north", FolderMailbox(study.folder / "mail"))
        curator.join(30)
    assert starts == (2 if writes < 6 else 1)
    check_outcome(study, releases[0], parties.statements)
    senders = [open_(one, study.manifest) for one in FolderMailbox(study.folder / "mail").fetch(CURATOR, 0)]
    assert [one.sender for one in senders if isinstance(one, Share)].count("north") == 1


def test_a_party_that_stays_away_ends_the_run_with_a_clear_message(study):
    slept = []
    box = FolderMailbox(study.folder / "mail")
    with pytest.raises(ProtocolError, match=r"without north \(no answer\), south \(no answer\), west \(no answer\)"):
        study.curate(box, Waiting(60, 600, slept.append))
    assert sum(slept) == 600
    with Parties(study, lambda name, stack: box) as parties:  # they come back later: nothing was lost
        release = study.curate(box)
    check_outcome(study, release, parties.statements)


def test_a_study_goes_on_without_a_party_where_the_manifest_allows_it(folder):
    study = Study(folder, epsilon="1000", missing=1)
    with Parties(study, lambda name, stack: FolderMailbox(study.folder / "mail"), NAMES[:2]) as parties:
        release = study.curate(FolderMailbox(study.folder / "mail"), Waiting(0.01, 1))
    assert abs(release.rows - 400) <= 2
    assert set(parties.statements) == {"north", "south"}


def test_a_party_whose_operator_declines_is_named(study):
    box = FolderMailbox(study.folder / "mail")
    summaries = []
    book = study.book("west")
    west = study.seat("west", book, approve=lambda summary: bool(summaries.append(summary)))
    with pytest.raises(ProtocolError, match=r"west \(the operator of west did not approve round 0\)"):
        study.curate(_Answering(box, study, west), Waiting(0.01, 0.05))
    book.close()
    with pytest.raises(ProtocolError, match=r"the curator ended the study: .* west \(the operator"):
        study.attend("south", box)
    book = study.book("south")
    assert book.spent() == ()  # questions of a study that is over are not answered, and cost nothing
    book.close()
    (summary,) = summaries
    assert (summary.round, summary.before["epsilon"]) == (0, 0)
    assert 0 < summary.after["epsilon"] <= 1000
    assert summary.bytes == 8 * summary.cells > 0


class _Answering:
    """A mailbox in which one party answers at once."""

    def __init__(self, box, study, seat):
        self._box, self._study, self._seat = box, study, seat

    def put(self, envelope):
        message = open_(envelope, self._study.manifest)
        self._box.put(envelope)
        if message.recipient == self._seat.name:
            for one in answer(self._seat, message):
                self._box.put(seal(one, self._study.manifest.study, self._seat.signer))

    def fetch(self, recipient, seen):
        return self._box.fetch(recipient, seen)


def test_an_operator_sees_what_is_sent_and_what_it_costs_before_he_agrees(study):
    box = FolderMailbox(study.folder / "mail")
    releases = []
    with Parties(study, lambda name, stack: box, NAMES[1:]):
        curator = threading.Thread(target=lambda: releases.append(study.curate(FolderMailbox(study.folder / "mail"))))
        curator.start()
        silent = study.serve(approve="ask", patience=20, poll=0.02, typed="")
        assert silent.exit_code == 2
        assert "nobody is here to approve" in silent.output
        result = study.serve(approve="ask", patience=20, poll=0.02, typed="y\ny\ny\n")
        curator.join(30)
    assert result.exit_code == 0, result.output
    for words in ("Round 0 (", " cells, ", "epsilon spent: 0 before", "Send this? [y/N]: y", "The study is over."):
        assert words in " ".join(result.output.split())
    log = (study.folder / "north-work" / "audit.jsonl").read_text()
    assert "approved by the operator" in log
    assert study.manifest.digest in log
    assert len(releases) == 1


def test_a_party_that_lost_its_memory_does_not_answer_twice(study):
    with Parties(study, lambda name, stack: FolderMailbox(study.folder / "mail")):
        study.curate(FolderMailbox(study.folder / "mail"))
    before = FolderMailbox(study.folder / "mail").fetch(CURATOR, 0)
    shutil.rmtree(study.folder / "north-work")
    with pytest.raises(ProtocolError, match="restored from a copy"):
        study.attend("north", FolderMailbox(study.folder / "mail"))
    assert FolderMailbox(study.folder / "mail").fetch(CURATOR, 0) == before


def test_a_study_with_a_delta_adds_up_skellam_noise(folder):
    study = Study(folder, epsilon="2", delta="1e-6", method="privsyn")
    with Parties(study, lambda name, stack: FolderMailbox(study.folder / "mail")) as parties:
        release = study.curate(FolderMailbox(study.folder / "mail"))
    for statement in parties.statements.values():
        assert statement.spent == release.ledger.spent <= release.ledger.budget.total.amount
        assert 0 < statement.guarantee["epsilon"] <= 2
        assert statement.guarantee["delta"] == 1e-6
    assert 400 < release.rows < 800


def test_two_attempts_never_share_noise_and_both_are_paid(folder):
    study = Study(folder, epsilon="1")
    books = {name: study.book(name) for name in NAMES}
    seats = {name: study.seat(name, books[name]) for name in NAMES}
    question = Question(("smoker", "ill", "ward"), Laplace(Fraction(40)))  # 1/40 for each attempt
    totals = []
    for attempt in (0, 1):
        plan = Plan(0, "measure", "[]", (question,), 12)
        keys = [answer(seats[name], plan.ask(attempt, name))[0] for name in NAMES]
        shares = [answer(seats[name], Roster(0, attempt, CURATOR, name, tuple(keys)))[0].vector for name in NAMES]
        again = answer(seats["north"], Roster(0, attempt, CURATOR, "north", tuple(keys)))[0].vector
        assert (again == shares[0]).all()
        totals.append(sum(shares).view(np.int64))
    exact = sum(np.array([len(rows_of(name))]) for name in NAMES)
    for total in totals:
        assert abs(total.sum() - exact) < 40 * 12 * 10
    assert (totals[0] != totals[1]).sum() > 6  # new noise; the same one would make them equal
    for book in books.values():
        assert book.statement().spent == Fraction(2, 40)
        book.close()


def test_a_consortium_agrees_on_the_command_line(folder):
    (folder / "schema.json").write_text(json.dumps(SCHEMA))
    keys = {}
    for name in (*NAMES, CURATOR):
        result = sfumato("consortium", "key", folder / f"{name}.key")
        keys[name] = result.output.strip()
        assert re.fullmatch("[0-9a-f]{64}", keys[name])
        assert os.stat(folder / f"{name}.key").st_mode & 0o077 == 0
    parties = [text for name in NAMES for text in ("--party", f"{name}={keys[name]}")]
    common = ["--name", "flu", "--schema", folder / "schema.json", "--epsilon", "1", "--key", folder / "curator.key"]
    result = sfumato("consortium", "init", folder / "c", *common, *parties, "--method", "dpview")
    assert result.exit_code == 0, result.output
    refused(sfumato("consortium", "check", folder / "c"), "north has not signed", "curator: signed")
    for name in NAMES:
        result = sfumato("consortium", "sign", folder / "c", "--key", folder / f"{name}.key")
        assert f"{name} has signed" in result.output
        assert keys[name] in result.output
    result = sfumato("consortium", "check", folder / "c", "--json")
    assert result.exit_code == 0
    assert set(json.loads(result.output)["signatures"].values()) == {"signed"}
    text = (folder / "c" / "consortium.json").read_text()
    (folder / "c" / "consortium.json").write_text(text.replace('"epsilon": "1"', '"epsilon": "2"'))
    refused(sfumato("consortium", "check", folder / "c"), "west signed something else", "not signed by everybody")
    private = (folder / "north.key").read_text().splitlines()[1]
    assert private not in result.output
    result = sfumato("consortium", "certificates", folder / "c", "--host", "localhost", "--out", folder / "tls")
    assert sorted(path.name for path in (folder / "tls").iterdir()) == sorted((*NAMES, CURATOR))


def test_a_consortium_cannot_be_made_of_nonsense(folder):
    (folder / "schema.json").write_text(json.dumps(SCHEMA))
    sfumato("consortium", "key", folder / "curator.key")
    refused(sfumato("consortium", "key", folder / "curator.key"), "never overwritten")
    common = ["--name", "flu", "--schema", folder / "schema.json", "--key", folder / "curator.key"]
    for given, words in (
        (["--epsilon", "1", "--party", "north", "--method", "dpview"], "wanted is NAME=KEY"),
        (["--epsilon", "1", "--party", "north=12", "--method", "dpview"], "64 hexadecimal digits"),
        (["--epsilon", "0", "--party", f"north={Signer.new().public}", "--method", "dpview"], "nobody whose noise"),
        (["--epsilon", "1", "--party", f"north={Signer.new().public}", "--method", "magic"], "nobody whose noise"),
    ):
        refused(sfumato("consortium", "init", folder / "c", *common, *given), words)
    assert not (folder / "c").exists()


def test_nothing_is_sent_before_everybody_has_signed_the_manifest_as_it_is(study):
    (study.folder / "consortium" / "signatures" / "south.json").unlink()
    refused(study.serve(), "south has not signed")
    out = study.folder / "release"
    options = ["--consortium", study.folder / "consortium", "--key", study.folder / "consortium" / "curator.key"]
    refused(sfumato("curate", *options, "--out", out, "--mailbox", study.folder / "mail"), "south has not signed")
    assert not (study.folder / "mail").exists()
    assert not out.exists()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"epsilon": "999"}, "may cost epsilon 1000, and 999 is allowed here"),
        ({"epsilon": "much"}, "epsilon is 'much'"),
        ({"name": "south"}, "belongs to 'north' and not to 'south'"),
        ({"approve": "maybe"}, "give ask or always"),
        ({"mailbox": None}, "say how messages travel"),
        ({"url": "https://localhost:1"}, "say how messages travel"),
        ({"mailbox": None, "url": "https://localhost:1"}, "say how messages travel"),
        ({"poll": "0"}, "give numbers above 0"),
        ({}, "nothing has come from the curator for 0 seconds"),
    ],
)
def test_a_party_that_cannot_take_part_is_told_why(study, changes, words):
    refused(study.serve(**changes), words)


def test_a_party_must_have_the_schema_of_the_manifest(study):
    other = SCHEMA | {"columns": SCHEMA["columns"][:2]}
    (study.folder / "other.json").write_text(json.dumps(other))
    refused(study.serve(schema=study.folder / "other.json"), "not the one in the manifest")


def test_https_without_its_packages_is_explained(study, monkeypatch):
    monkeypatch.setattr("sfumato.cli.party.find_spec", lambda name: None)
    refused(study.serve(mailbox=None, url="https://localhost:1", tls=study.folder), "install sfumato[parties]")


def test_the_curator_runs_the_method_that_was_signed(study):
    options = ["--consortium", study.folder / "consortium", "--key", study.folder / "consortium" / "curator.key"]
    options += ["--out", study.folder / "release", "--work", study.folder / "work"]
    mail = ["--mailbox", study.folder / "mail"]
    refused(sfumato("curate", *options, *mail, "--method", "priview"), "signed for method 'dpview'")
    refused(sfumato("curate", *options), "give --listen and --tls")
    certificates(study.folder / "tls")
    listening_badly = ["--listen", "8443", "--tls", study.folder / "tls" / CURATOR]
    refused(sfumato("curate", *options, *listening_badly), "give HOST:PORT")
    refused(sfumato("curate", *options, *mail, "--patience", "0"), "cannot go on without north (no answer)")
    north = ["--consortium", study.folder / "consortium", "--key", study.folder / "consortium" / "north.key"]
    refused(sfumato("curate", *north, *options[4:], *mail), "belongs to 'north' and not to 'curator'")


def test_an_audit_log_is_checked_on_the_command_line(study):
    study.book("north").note("hello")
    work = study.folder / "north-work"
    result = sfumato("party", "audit", work)
    assert "1 lines, an unbroken chain" in result.output
    (work / "audit.jsonl").write_text((work / "audit.jsonl").read_text().replace("hello", "hullo"))
    refused(sfumato("party", "audit", work), "broken at line 1")


def test_a_manifest_of_another_study_has_another_book(study):
    study.book("north").close()
    other = replace(study.manifest, name="cough")
    with pytest.raises(ProtocolError, match="has study"):
        open_book(study.folder / "north-work", other, "north", study.signer("north"), "1000")
    with pytest.raises(BudgetError, match="may cost epsilon 1000"):
        open_book(study.folder / "x", study.manifest, "north", study.signer("north"))
    assert manifest_of(new_signers()).study != study.manifest.study


def test_the_demonstration_plays_it_all_with_real_processes(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules["sfumato.cli.demo"], "simulate", lambda: simulate(600))
    result = sfumato("demo", "--parties", "2", "--out", tmp_path / "release", "--json")
    assert result.exit_code == 0, result.output
    report = json.loads(result.output)
    guarantee = Release.load(tmp_path / "release").ledger.guarantee
    assert guarantee == {"epsilon": pytest.approx(1, abs=1e-6), "delta": 0}
    assert guarantee["epsilon"] <= 1
    assert report["spent"] == {"north": guarantee, "south": guarantee}
    assert sum(row["bytes_from_party"] for row in report["traffic"]) > 1000
    refused(sfumato("demo", "--parties", "1", "--out", tmp_path / "other"), "2 to 10")
