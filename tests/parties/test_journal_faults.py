"""A journal survives what happens to machines: a full disk, and crashes one after the other."""

import resource
from contextlib import contextmanager

import pytest
from helpers_study import folder
from test_journal import opened, record, spent

from sfumato.errors import FileError, ProtocolError
from sfumato.parties.audit import AuditLog, verify_log
from sfumato.parties.journal import Journal
from sfumato.parties.store import State

__all__ = ["folder"]  # the fixture


@contextmanager
def files_of_at_most(size):
    """No file may grow beyond this size, as on a full disk: the log still has room, the journal has not."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_is_named_and_the_journal_goes_on_when_there_is_room(folder):
    journal = opened(folder)
    journal.save(record(State.RESERVED))
    journal.close()
    for _ in range(4):  # a service manager starts it again and again
        journal = opened(folder)
        with files_of_at_most(3000), pytest.raises(FileError, match=r"cannot be written .*nothing was sent: make room"):
            journal.save(record(State.COMPUTED, payload=bytes(8000)))
        journal.close()
    journal = opened(folder)
    assert journal.load(0, 0) == record(State.RESERVED)
    journal.save(record(State.COMPUTED))
    journal.save(record(State.SENT))
    assert spent(journal) == pytest.approx(1 / 3)
    journal.close()
    opened(folder).close()
    assert verify_log(folder / "audit.jsonl")[0] >= 5


def test_a_disk_that_is_full_when_the_log_is_written_leaves_no_half_line(folder):
    log = AuditLog(folder / "audit.jsonl")
    log.record("started")
    size = (folder / "audit.jsonl").stat().st_size
    with files_of_at_most(size + 20), pytest.raises(FileError, match="cannot be written"):
        log.record("a line that does not fit")
    log.record("a line that does")
    assert verify_log(folder / "audit.jsonl")[0] == 2


@pytest.mark.parametrize("crashes", [1, 2, 5])
def test_any_number_of_crashes_between_log_and_journal_is_no_reason_to_refuse(folder, crashes, monkeypatch):
    journal = opened(folder)
    journal.save(record(State.RESERVED))
    journal.close()
    written = Journal._write_log

    def crash(self, happened, **facts):
        written(self, happened, **facts)
        raise KeyboardInterrupt

    for _ in range(crashes):
        journal = opened(folder)
        with monkeypatch.context() as patched:
            patched.setattr(Journal, "_write_log", crash)
            with pytest.raises(KeyboardInterrupt):
                journal.save(record(State.COMPUTED))
        journal.close()
    journal = opened(folder)
    assert journal.load(0, 0) == record(State.RESERVED)
    journal.save(record(State.COMPUTED))
    journal.close()
    opened(folder).close()


def test_a_journal_that_was_restored_is_refused_however_many_crashes_there_were(folder, monkeypatch):
    journal = opened(folder)
    journal.save(record(State.RESERVED))
    journal.close()
    old = (folder / "journal.sqlite").read_bytes()
    journal = opened(folder)
    journal.save(record(State.COMPUTED))
    journal.save(record(State.SENT))
    journal.close()
    (folder / "journal.sqlite").write_bytes(old)
    with pytest.raises(ProtocolError, match="not of the same moment"):
        opened(folder)


def test_a_log_of_the_right_length_and_another_content_is_refused(folder):
    journal = opened(folder)
    journal.save(record(State.RESERVED))
    journal.close()
    (folder / "audit.jsonl").unlink()
    log = AuditLog(folder / "audit.jsonl")
    log.record("reserved", committed=0)
    with pytest.raises(ProtocolError, match="not of the same moment"):
        opened(folder)
