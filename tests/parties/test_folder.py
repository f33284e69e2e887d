import hashlib
import os

import pytest
from helpers_consortium import manifest_of, new_signers, share_of

from sfumato.errors import FileError, ProtocolError
from sfumato.parties import folder as folder_module
from sfumato.parties.folder import FolderMailbox
from sfumato.parties.mailbox import Desk, everything


@pytest.fixture(scope="module")
def signers():
    return new_signers()


@pytest.fixture(scope="module")
def manifest(signers):
    return manifest_of(signers)


def test_messages_come_in_the_order_in_which_they_were_put_and_stay(tmp_path, manifest, signers):
    mailbox = FolderMailbox(tmp_path, manifest)
    messages = [share_of(manifest, signers["north"], "north", round_=number) for number in range(12)]
    for message in messages:
        mailbox.put(message)
    assert mailbox.fetch("curator", 0) == messages
    assert mailbox.fetch("curator", 11) == messages[11:]
    assert mailbox.fetch("curator", 12) == []
    assert FolderMailbox(tmp_path, manifest).fetch("curator", 3) == messages[3:]
    assert mailbox.fetch("north", 0) == []


def test_the_same_message_again_is_accepted_and_another_in_its_place_is_not(tmp_path, manifest, signers):
    mailbox = FolderMailbox(tmp_path, manifest)
    message = share_of(manifest, signers["north"], "north")
    mailbox.put(message)
    FolderMailbox(tmp_path, manifest).put(message)
    with pytest.raises(ProtocolError, match="'north' has sent a share for round 1, attempt 1 already"):
        mailbox.put(share_of(manifest, signers["north"], "north", value=8))
    assert mailbox.fetch("curator", 0) == [message]
    other = share_of(manifest, signers["north"], "north", attempt=2)
    mailbox.put(other)
    assert mailbox.fetch("curator", 0) == [message, other]


def test_a_late_file_does_not_move_those_that_were_seen(tmp_path, manifest, signers):
    reader = FolderMailbox(tmp_path / "shared", manifest)
    one, two = (share_of(manifest, signers[name], name) for name in ("north", "south"))
    FolderMailbox(tmp_path / "shared", manifest).put(two)
    assert reader.fetch("curator", 0) == [two]
    # North numbered its file before it saw south's, so it sorts first; it arrives later.
    FolderMailbox(tmp_path / "elsewhere", manifest).put(one)
    (late,) = (tmp_path / "elsewhere" / "curator").iterdir()
    late.rename(tmp_path / "shared" / "curator" / late.name)
    assert reader.fetch("curator", 0) == [two, one]
    assert reader.fetch("curator", 1) == [one]


def test_half_written_and_foreign_files_are_passed_over(tmp_path, manifest, signers, monkeypatch):
    mailbox = FolderMailbox(tmp_path, manifest)
    message = share_of(manifest, signers["north"], "north")
    mailbox.put(message)
    for name in (".tmp123", "notes.txt", "x-y-z.message", "²-share-1-1-north-00.message"):
        (tmp_path / "curator" / name).write_bytes(message[:9])
    assert FolderMailbox(tmp_path, manifest).fetch("curator", 0) == [message]
    monkeypatch.setattr(folder_module, "LONGEST", len(message) - 1)
    assert FolderMailbox(tmp_path, manifest).fetch("curator", 0) == [b""]
    with pytest.raises(ProtocolError, match="longer than any may be"):
        mailbox.put(message)


def test_a_file_of_garbage_is_in_nobodys_way(tmp_path, manifest, signers):
    message = share_of(manifest, signers["north"], "north")
    name = f"share-1-1-north-{hashlib.sha256(message).hexdigest()[:32]}.message"
    forged = share_of(manifest, signers["south"], "north")
    folder = tmp_path / "curator"
    folder.mkdir()
    for number, content in enumerate((b"", b"garbage", message[:-1], message[:-1] + b"x", forged, message + b"x"), 1):
        (folder / f"{number:06}-{name}").write_bytes(content)
        (folder / f"{number:06}-share-1-1-north-00.message").write_bytes(content)
    mailbox = FolderMailbox(tmp_path, manifest)
    mailbox.put(message)
    found = mailbox.fetch("curator", 0)
    assert found.count(message) == 1
    desk = Desk("curator", manifest, signers["curator"], mailbox)
    assert [one.sender for one in desk.collect()] == ["north"]
    assert len(desk.refused) == len(found) - 1
    mailbox.put(message)
    assert len(mailbox.fetch("curator", 0)) == len(found)
    with pytest.raises(ProtocolError, match="'north' has sent a share for round 1, attempt 1 already"):
        mailbox.put(share_of(manifest, signers["north"], "north", value=8))


def test_whatever_lies_in_the_folder_the_messages_come_through(tmp_path, manifest, signers):
    folder = tmp_path / "curator"
    folder.mkdir()
    (folder / "000001-share-1-1-north-00.message").mkdir()
    (folder / "000002-share-1-1-north-00.message").symlink_to("/dev/zero")
    (folder / "000003-share-1-1-north-00.message").symlink_to("nowhere")
    os.mkfifo(folder / "000004-share-1-1-north-00.message")
    (folder / ("9" * 200 + "-share-1-1-north-00.message")).write_bytes(b"x")
    (folder / "999999999-share-1-1-north-00.message").write_bytes(b"x")
    mailbox = FolderMailbox(tmp_path, manifest)
    messages = [share_of(manifest, signers["north"], "north", round_=number) for number in range(3)]
    for message in messages:
        mailbox.put(message)
    assert sorted(mailbox.fetch("curator", 0)) == sorted([b"x", *messages])
    assert sorted(FolderMailbox(tmp_path, manifest).fetch("curator", 0)) == sorted([b"x", *messages])


def test_much_is_handed_over_in_parts(tmp_path, manifest, signers, monkeypatch):
    mailbox = FolderMailbox(tmp_path, manifest)
    messages = [share_of(manifest, signers["north"], "north", round_=number) for number in range(9)]
    for message in messages:
        mailbox.put(message)
    monkeypatch.setattr(folder_module, "LONGEST", len(messages[0]) + 1)
    assert mailbox.fetch("curator", 0) == messages[:2]
    assert list(everything(mailbox, "curator")) == messages


@pytest.mark.parametrize("recipient", ["../elsewhere", "", "a/b", "."])
def test_a_name_cannot_lead_out_of_the_folder(tmp_path, manifest, signers, recipient):
    with pytest.raises(ProtocolError, match="nobody whose name"):
        FolderMailbox(tmp_path, manifest).put(share_of(manifest, signers["north"], "north", recipient=recipient))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_explained(tmp_path, manifest, signers, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folder_module.os, "fsync", full)
    with pytest.raises(FileError, match="No space left"):
        FolderMailbox(tmp_path, manifest).put(share_of(manifest, signers["north"], "north"))
    assert list((tmp_path / "curator").iterdir()) == []
