"""New keys for old ones: an old key is refused, a forged rotation counts for nothing; and keys with a passphrase."""

import json
import os
from dataclasses import replace

import pytest
from helpers_consortium import manifest_of
from helpers_study import refused, sfumato

from sfumato import identity
from sfumato.errors import ProtocolError
from sfumato.identity import PASSPHRASE, PASSPHRASE_FILE, Signer
from sfumato.parties.consortium import add_signature, revoke, signature_problems, signed_manifest, write_manifest
from sfumato.parties.letters import CURATOR
from sfumato.parties.rotation import check_successor, rotate, rotated, successor


@pytest.fixture
def signers():
    return {name: Signer.new() for name in ("north", "south", "west", "curator")}


@pytest.fixture
def consortium(tmp_path, signers):
    manifest = manifest_of(signers)
    write_manifest(tmp_path / "first", manifest)
    for signer in signers.values():
        add_signature(tmp_path / "first", signer)
    return tmp_path / "first", manifest


@pytest.mark.parametrize("name", ["north", CURATOR])
def test_an_old_key_is_refused_after_its_rotation_and_the_successor_runs(consortium, signers, tmp_path, name):
    folder, manifest = consortium
    new = Signer.new()
    assert rotate(folder, manifest, signers[name], new) == name
    with pytest.raises(ProtocolError, match=f"{name} has another key now"):
        signed_manifest(folder)
    later = successor(folder, manifest)
    assert later.keys == {**manifest.keys, name: new.public}
    assert later.study != manifest.study
    assert check_successor(later, folder, manifest) == {name: new.public}
    write_manifest(tmp_path / "second", later)
    with pytest.raises(ProtocolError, match="is not in the manifest"):
        add_signature(tmp_path / "second", signers[name])
    for signer in ({**signers, name: new}).values():
        add_signature(tmp_path / "second", signer)
    assert signed_manifest(tmp_path / "second") == later


def test_a_forged_rotation_counts_for_nothing(consortium, signers, tmp_path):
    folder, manifest = consortium
    thief, file = Signer.new(), folder / "signatures" / "north.rotated.json"
    rotate(folder, manifest, signers["north"], Signer.new())
    right = json.loads(file.read_text())
    rotate(folder, manifest_of({**signers, "north": thief}), thief, Signer.new())  # of another study, by another key
    forged = json.loads(file.read_text())
    mixed = [
        forged,
        {**right, "key": thief.public},  # a key that the owner did not name
        {**right, "old": forged["old"]},
        {**right, "new": forged["new"]},  # nobody has shown to have the new key
        {**right, "old": "00"},
        {**right, "key": "no key"},
        {"member": "north"},
        [],
    ]
    for record in mixed:
        file.write_text(json.dumps(record))
        assert rotated(folder, manifest) == {}
        assert signature_problems(folder, manifest) == {}
    file.write_text(json.dumps(right))
    assert set(rotated(folder, manifest)) == {"north"}
    other = folder / "signatures" / "south.rotated.json"
    other.write_text(json.dumps({**right, "member": "south"}))  # a rotation is of one member
    assert set(rotated(folder, manifest)) == {"north"}


def test_a_successor_with_anything_else_changed_is_refused(consortium, signers):
    folder, manifest = consortium
    with pytest.raises(ProtocolError, match="nobody has a new key"):
        successor(folder, manifest)
    rotate(folder, manifest, signers["north"], Signer.new())
    later = successor(folder, manifest)
    parties = (later.parties[0], ("south", Signer.new().public), *later.parties[2:])
    for changed in (replace(later, epsilon="2"), replace(later, parties=parties), manifest):
        with pytest.raises(ProtocolError, match="something else was changed"):
            check_successor(changed, folder, manifest)


def test_a_revoked_key_has_no_successor(consortium, signers):
    folder, manifest = consortium
    rotate(folder, manifest, signers["north"], Signer.new())
    revoke(folder, signers["north"])
    with pytest.raises(ProtocolError, match="north has taken its signature back"):
        successor(folder, manifest)
    assert signature_problems(folder, manifest) == {"north": "has taken its signature back"}


def test_a_key_of_another_member_is_no_new_key(consortium, signers):
    folder, manifest = consortium
    with pytest.raises(ProtocolError, match="in the manifest already"):
        rotate(folder, manifest, signers["north"], signers["south"])
    with pytest.raises(ProtocolError, match="is not in the manifest"):
        rotate(folder, manifest, Signer.new(), Signer.new())


def test_the_commands_of_a_rotation(consortium, signers, tmp_path):
    folder, _ = consortium
    for name in ("north", "south", CURATOR):
        signers[name].save(tmp_path / f"{name}.key")
    assert sfumato("consortium", "key", tmp_path / "new.key").exit_code == 0
    keys = ["--key", tmp_path / "north.key", "--new-key", tmp_path / "new.key"]
    result = sfumato("consortium", "rotate", folder, *keys)
    assert result.exit_code == 0, result.output
    refused(sfumato("consortium", "check", folder), "north has another key now")
    second = tmp_path / "second"
    result = sfumato("consortium", "succeed", folder, "--key", tmp_path / "curator.key", "--out", second)
    assert result.exit_code == 0, result.output
    result = sfumato("consortium", "sign", second, "--key", tmp_path / "south.key", "--follows", folder)
    assert result.exit_code == 0, result.output
    assert "north has announced a new key" in " ".join(result.output.split())
    (folder / "signatures" / "north.rotated.json").unlink()
    refused(sfumato("consortium", "sign", second, "--key", tmp_path / "south.key", "--follows", folder), "nobody has")


def test_a_key_with_a_passphrase_opens_with_it_alone(tmp_path, monkeypatch):
    signer = Signer.new()
    path, word = tmp_path / "locked.key", tmp_path / "word"
    signer.save(path, "correct horse")
    assert b"ENCRYPTED" in path.read_bytes()
    with pytest.raises(ProtocolError, match="there is no terminal to ask at"):
        Signer.load(path)
    monkeypatch.setenv(PASSPHRASE, "wrong")
    with pytest.raises(ProtocolError, match="the passphrase does not open"):
        Signer.load(path)
    monkeypatch.setenv(PASSPHRASE, "correct horse")
    assert Signer.load(path).public == signer.public
    monkeypatch.delenv(PASSPHRASE)
    word.write_text("correct horse\n")
    monkeypatch.setenv(PASSPHRASE_FILE, str(word))
    os.chmod(word, 0o644)
    with pytest.raises(ProtocolError, match="can be read by others"):
        Signer.load(path)
    os.chmod(word, 0o600)
    assert Signer.load(path).public == signer.public
    with pytest.raises(ProtocolError, match="the passphrase is empty"):
        signer.save(tmp_path / "empty.key", "")


def test_a_passphrase_is_asked_for_at_a_terminal_and_twice_for_a_new_key(tmp_path, monkeypatch):
    class Terminal:
        def isatty(self):
            return True

    typed = iter(["one", "two", "one", "one", "one"])
    monkeypatch.setattr(identity.sys, "stdin", Terminal())
    monkeypatch.setattr(identity.getpass, "getpass", lambda prompt: next(typed))
    with pytest.raises(ProtocolError, match="the two passphrases differ"):
        identity.passphrase_of(tmp_path / "a.key", twice=True)
    signer = Signer.new()
    signer.save(tmp_path / "a.key", identity.passphrase_of(tmp_path / "a.key", twice=True))
    assert Signer.load(tmp_path / "a.key").public == signer.public


def test_the_command_makes_an_encrypted_key(tmp_path, monkeypatch):
    monkeypatch.setenv(PASSPHRASE, "correct horse")
    assert sfumato("consortium", "key", tmp_path / "a.key", "--passphrase").exit_code == 0
    Signer.load(tmp_path / "a.key")
    monkeypatch.delenv(PASSPHRASE)
    refused(sfumato("consortium", "key", tmp_path / "b.key", "--passphrase"), "there is no terminal to ask at")
    assert not (tmp_path / "b.key").exists()
