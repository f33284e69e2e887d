"""A book survives what happens to machines: a full disk, and crashes one after the other."""

import resource
from contextlib import contextmanager

import pytest
from helpers_study import folder
from test_party_book import opened, record, spent

from sfumato.errors import FileError, ProtocolError
from sfumato.parties.audit import AuditLog, verify_log
from sfumato.parties.book import Book
from sfumato.parties.store import State

__all__ = ["folder"]  # the fixture


@contextmanager
def files_of_at_most(size):
    """No file may grow beyond this size, as on a full disk: the log still has room, the book has not."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_is_named_and_the_book_goes_on_when_there_is_room(folder):
    book = opened(folder)
    book.save(record(State.RESERVED))
    book.close()
    for _ in range(4):  # a service manager starts it again and again
        book = opened(folder)
        with files_of_at_most(3000), pytest.raises(FileError, match=r"cannot be written .*nothing was sent: make room"):
            book.save(record(State.COMPUTED, payload=bytes(8000)))
        book.close()
    book = opened(folder)
    assert book.load(0, 0) == record(State.RESERVED)
    book.save(record(State.COMPUTED))
    book.save(record(State.SENT))
    assert spent(book) == pytest.approx(1 / 3)
    book.close()
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
def test_any_number_of_crashes_between_log_and_book_is_no_reason_to_refuse(folder, crashes, monkeypatch):
    book = opened(folder)
    book.save(record(State.RESERVED))
    book.close()
    written = Book._write_log

    def crash(self, happened, **facts):
        written(self, happened, **facts)
        raise KeyboardInterrupt

    for _ in range(crashes):
        book = opened(folder)
        with monkeypatch.context() as patched:
            patched.setattr(Book, "_write_log", crash)
            with pytest.raises(KeyboardInterrupt):
                book.save(record(State.COMPUTED))
        book.close()
    book = opened(folder)
    assert book.load(0, 0) == record(State.RESERVED)
    book.save(record(State.COMPUTED))
    book.close()
    opened(folder).close()


def test_a_book_that_was_restored_is_refused_however_many_crashes_there_were(folder, monkeypatch):
    book = opened(folder)
    book.save(record(State.RESERVED))
    book.close()
    old = (folder / "book.sqlite").read_bytes()
    book = opened(folder)
    book.save(record(State.COMPUTED))
    book.save(record(State.SENT))
    book.close()
    (folder / "book.sqlite").write_bytes(old)
    with pytest.raises(ProtocolError, match="not of the same moment"):
        opened(folder)


def test_a_log_of_the_right_length_and_another_content_is_refused(folder):
    book = opened(folder)
    book.save(record(State.RESERVED))
    book.close()
    (folder / "audit.jsonl").unlink()
    log = AuditLog(folder / "audit.jsonl")
    log.record("reserved", committed=0)
    with pytest.raises(ProtocolError, match="not of the same moment"):
        opened(folder)
