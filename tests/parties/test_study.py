"""Whole studies: over a folder and over HTTPS, with members that are killed, stay away or decline."""

import contextlib
import shutil
import signal
import subprocess
import sys
import threading

import pytest
from helpers_consortium import NAMES, certificates
from helpers_study import Parties, Study, check_outcome, folder, study

from sfumato.errors import ProtocolError
from sfumato.parties.agreement import Roster
from sfumato.parties.certificates import TlsFiles
from sfumato.parties.envelopes import open_, seal
from sfumato.parties.folder import FolderMailbox
from sfumato.parties.https import Reception, listening
from sfumato.parties.https_mailbox import HttpsMailbox
from sfumato.parties.journal import Journal
from sfumato.parties.letters import CURATOR
from sfumato.parties.messages import Done, Share
from sfumato.parties.party import answer
from sfumato.parties.seat import parts_of
from sfumato.parties.store import FINAL, MemoryStore, Record, State
from sfumato.parties.study import Waiting, _check_memory
from sfumato.parties.traffic import traffic

__all__ = ["folder", "study"]  # the fixtures


def test_a_study_over_a_shared_folder(study):
    with Parties(study, lambda name, stack: FolderMailbox(study.folder / "mail", study.manifest)) as parties:
        release = study.curate(FolderMailbox(study.folder / "mail", study.manifest))
    check_outcome(study, release, parties.statements)
    counted = traffic(FolderMailbox(study.folder / "mail", study.manifest), study.manifest)
    files = sum(path.stat().st_size for path in (study.folder / "mail").glob("*/*.message"))
    assert counted.total == files
    assert {stage for stage, *_ in counted.rows()} <= {"encode", "learn", "end"}
    assert {party for _, party, *_ in counted.rows()} == set(NAMES)


def test_a_study_in_which_parties_choose_in_turn(folder):
    study = Study(folder, method="privbayes", epsilon="1000")
    with Parties(study, lambda name, stack: FolderMailbox(study.folder / "mail", study.manifest)) as parties:
        release = study.curate(FolderMailbox(study.folder / "mail", study.manifest))
    release.save(folder / "release", seed=1)
    assert abs(release.rows - 600) <= 20
    chosen = [
        event
        for statement in parties.statements.values()
        for _, event in statement.entries
        if "sets of parents" in event.question
    ]
    assert len(chosen) == 2  # of three columns
    assert all(statement.spent <= release.ledger.spent for statement in parties.statements.values())
    counted = traffic(FolderMailbox(study.folder / "mail", study.manifest), study.manifest)
    assert {stage for stage, *_ in counted.rows()} <= {"encode", "learn", "end"}


def test_a_study_over_https(study):
    certificates(study.folder / "tls")
    mailbox = FolderMailbox(study.folder / "mail", study.manifest)
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
from sfumato.parties.journal import Journal
from sfumato.parties.seat import parts_of
from sfumato.parties.store import State
save = Journal.save
def killed(self, record, heads=None):
    if record.state is State.SENT:
        os.kill(os.getpid(), signal.SIGKILL)
    save(self, record, heads)
Journal.save = killed
from sfumato.cli import app
app(sys.argv[1:])
"""


def test_a_party_killed_before_it_sends_sends_the_stored_bytes_when_it_is_back(study):
    box = FolderMailbox(study.folder / "mail", study.manifest)
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
        curator = threading.Thread(
            target=lambda: releases.append(study.curate(FolderMailbox(study.folder / "mail", study.manifest)))
        )
        curator.start()
        killed = subprocess.run([sys.executable, "-c", KILLED, "party", "serve", *command], timeout=600, check=False)
        assert killed.returncode == -signal.SIGKILL
        journal = study.journal("north")
        (stored,) = journal.attempts(0)
        assert stored.state is State.COMPUTED
        assert [one for one in box.fetch(CURATOR, 0) if b'"share"' in one and b'"north"' in one] == []
        journal.close()
        parties.statements["north"] = study.attend("north", box)
        curator.join(600)
    check_outcome(study, releases[0], parties.statements)
    messages = [open_(one, study.manifest) for one in box.fetch(CURATOR, 0)]
    (sent,) = (one for one in messages if isinstance(one, Share) and one.sender == "north" and one.round == 0)
    assert parts_of(stored.payload)[3] == sent.body()


class Stopped(BaseException):
    """A curator that is killed."""


def test_a_curator_stopped_at_any_write_goes_on_where_it_was(study, monkeypatch):
    save, left = Journal.save, [0]

    def stopping(self, record, heads=None):
        if self._budget is None:
            left[0] -= 1
            if left[0] < 0:
                raise Stopped
        save(self, record, heads)

    monkeypatch.setattr(Journal, "save", stopping)
    with Parties(study, lambda name, stack: FolderMailbox(study.folder / "mail", study.manifest)) as parties:
        for writes in range(20):
            left[0] = writes % 5  # the first runs are stopped at their first, second, third … write
            try:
                release = study.curate(FolderMailbox(study.folder / "mail", study.manifest))
            except Stopped:
                continue
            break
    assert writes > 1
    check_outcome(study, release, parties.statements)
    for name in NAMES:
        journal = study.journal(name)
        assert [one.attempt for one in journal.attempts(0)] == [0]
        journal.close()


@pytest.mark.parametrize("writes", range(7))
def test_a_party_stopped_at_any_write_sends_one_vector_and_pays_once(study, monkeypatch, writes):
    # A round has six writes: proposed, approved, reserved, computed, sent, opened. A seventh never comes.
    save, left = Journal.save, [writes]

    def stopping(self, record, heads=None):
        if threading.current_thread() is threading.main_thread():
            left[0] -= 1
            if left[0] == -1:
                raise Stopped
        save(self, record, heads)

    monkeypatch.setattr(Journal, "save", stopping)
    releases = []
    with Parties(study, lambda name, stack: FolderMailbox(study.folder / "mail", study.manifest), NAMES[1:]) as parties:
        curator = threading.Thread(
            target=lambda: releases.append(study.curate(FolderMailbox(study.folder / "mail", study.manifest)))
        )
        curator.start()
        starts = 0
        while "north" not in parties.statements:
            starts += 1
            with contextlib.suppress(Stopped):
                parties.statements["north"] = study.attend(
                    "north", FolderMailbox(study.folder / "mail", study.manifest)
                )
        curator.join(600)
    assert starts == (2 if writes < 6 else 1)
    check_outcome(study, releases[0], parties.statements)
    senders = [
        open_(one, study.manifest) for one in FolderMailbox(study.folder / "mail", study.manifest).fetch(CURATOR, 0)
    ]
    assert [one.sender for one in senders if isinstance(one, Share)].count("north") == 1


def test_a_party_that_stays_away_ends_the_run_with_a_clear_message(study):
    slept = []
    box = FolderMailbox(study.folder / "mail", study.manifest)
    with pytest.raises(ProtocolError, match=r"without north \(no answer\), south \(no answer\), west \(no answer\)"):
        study.curate(box, Waiting(60, 600, slept.append))
    assert sum(slept) == 600
    with Parties(study, lambda name, stack: box) as parties:  # they come back later: nothing was lost
        release = study.curate(box)
    check_outcome(study, release, parties.statements)


FOUR = (*NAMES, "east")


def test_a_study_goes_on_without_a_party_where_the_manifest_allows_it(folder):
    study = Study(folder, FOUR, epsilon="1000", missing=1)
    with Parties(study, lambda name, stack: FolderMailbox(study.folder / "mail", study.manifest), NAMES) as parties:
        release = study.curate(FolderMailbox(study.folder / "mail", study.manifest), Waiting(0.01, 2))
    assert abs(release.rows - 600) <= 2
    assert set(parties.statements) == set(NAMES)
    for statement in parties.statements.values():
        assert statement.spent == release.ledger.spent <= 1000


@pytest.mark.parametrize("state", [State.RESERVED, State.COMPUTED, State.SENT, State.REVEALED])
def test_a_party_lost_for_good_in_any_state_costs_nobody_a_round(folder, monkeypatch, state):
    study = Study(folder, FOUR, epsilon="1000", missing=1)
    save = Journal.save

    def stopping(self, record, heads=None):
        save(self, record, heads)
        if record.state is state and threading.current_thread() is threading.main_thread():
            raise Stopped

    monkeypatch.setattr(Journal, "save", stopping)
    releases = []
    mail = study.folder / "mail"
    with Parties(study, lambda name, stack: FolderMailbox(mail, study.manifest), NAMES) as parties:
        curator = threading.Thread(
            target=lambda: releases.append(study.curate(FolderMailbox(mail, study.manifest), Waiting(0.01, 2)))
        )
        curator.start()
        with pytest.raises(Stopped):
            study.attend("east", FolderMailbox(mail, study.manifest))
        curator.join(600)
    (release,) = releases
    assert abs(release.rows - (600 if state is not State.REVEALED else 800)) <= 2
    for statement in parties.statements.values():
        assert statement.spent == release.ledger.spent <= 1000


def test_messages_that_are_read_again_do_not_make_a_silence_shorter(folder, monkeypatch):
    # A party has sent its vector and is lost; the curator reads all messages again, and still ends its wait.
    monkeypatch.setattr("sfumato.parties.study.REREAD", 0.2)
    study = Study(folder, FOUR, epsilon="1000", missing=1)
    mail = study.folder / "mail"
    waits = Waiting(0.01, 1)
    with Parties(study, lambda name, stack: FolderMailbox(mail, study.manifest), NAMES) as parties:
        release = study.curate(FolderMailbox(mail, study.manifest), waits)
    assert abs(release.rows - 600) <= 2
    assert set(parties.statements) == set(NAMES)


def test_a_party_whose_operator_declines_is_named(study):
    box = FolderMailbox(study.folder / "mail", study.manifest)
    summaries = []
    journal = study.journal("west")
    west = study.seat("west", journal, approve=lambda summary: bool(summaries.append(summary)))
    with pytest.raises(ProtocolError, match=r"west \(the operator of west did not approve round 0\)"):
        study.curate(_Answering(box, study, west), Waiting(0.01, 0.05))
    journal.close()
    with pytest.raises(ProtocolError, match=r"the curator ended the study: .* west \(the operator"):
        study.attend("south", box)
    journal = study.journal("south")
    assert journal.spent() == ()  # questions of a study that is over are not answered, and cost nothing
    journal.close()
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
    box = FolderMailbox(study.folder / "mail", study.manifest)
    releases = []
    with Parties(study, lambda name, stack: box, NAMES[1:]):
        curator = threading.Thread(
            target=lambda: releases.append(study.curate(FolderMailbox(study.folder / "mail", study.manifest)))
        )
        curator.start()
        silent = study.serve(approve="ask", patience=600, poll=0.02, typed="")
        assert silent.exit_code == 2
        assert "nobody is here to approve" in silent.output
        result = study.serve(approve="ask", patience=600, poll=0.02, typed="y\ny\ny\n")
        curator.join(600)
    assert result.exit_code == 0, result.output
    for words in ("Round 0 (", " cells, ", "epsilon spent: 0 before", "Send this? [y/N]: y", "The study is over."):
        assert words in " ".join(result.output.split())
    log = (study.folder / "north-work" / "audit.jsonl").read_text()
    assert "approved by the operator" in log
    assert study.manifest.digest in log
    assert len(releases) == 1


def test_a_party_that_lost_its_memory_does_not_answer_twice(study):
    with Parties(study, lambda name, stack: FolderMailbox(study.folder / "mail", study.manifest)):
        study.curate(FolderMailbox(study.folder / "mail", study.manifest))
    before = FolderMailbox(study.folder / "mail", study.manifest).fetch(CURATOR, 0)
    shutil.rmtree(study.folder / "north-work")
    with pytest.raises(ProtocolError, match="restored from a copy"):
        study.attend("north", FolderMailbox(study.folder / "mail", study.manifest))
    assert FolderMailbox(study.folder / "mail", study.manifest).fetch(CURATOR, 0) == before


def test_a_study_with_a_delta_adds_up_skellam_noise(folder):
    study = Study(folder, epsilon="2", delta="1e-6", method="privsyn")
    with Parties(study, lambda name, stack: FolderMailbox(study.folder / "mail", study.manifest)) as parties:
        release = study.curate(FolderMailbox(study.folder / "mail", study.manifest))
    for statement in parties.statements.values():
        assert statement.spent == release.ledger.spent <= release.ledger.budget.total.amount
        assert 0 < statement.guarantee["epsilon"] <= 2
        assert statement.guarantee["delta"] == 1e-6
    assert 400 < release.rows < 800


@pytest.mark.parametrize("missing", [0, 1])
@pytest.mark.parametrize("state", [None, *State])
def test_which_journals_know_of_a_round_that_is_over(missing, state):
    # A party that was lost when it was ready comes back to a round that went on without it, and is no copy.
    store = MemoryStore()
    if state is not None:
        store.save(Record(0, 0, state, "ab"))
    incoming = (Roster(0, 0, CURATOR, "north", "ab", ()), Done(0, 0, CURATOR, "north", "00"))
    fine = state in FINAL or (missing and state is State.COMPUTED)
    with contextlib.nullcontext() if fine else pytest.raises(ProtocolError, match="its journal knows nothing"):
        _check_memory(store, incoming, missing)
    _check_memory(store, incoming[:1], missing)
