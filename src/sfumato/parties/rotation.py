"""Keys that are given up: a member's new key instead of its old one, by a statement that both have signed.

The statement lies beside the signatures of a consortium. Whoever has it refuses the old key, so it ends a study as a
revocation does. And it lets everybody agree on a successor, the same study with the new key, without comparing keys
over the telephone again. A stolen key is revoked, not rotated: the thief could sign a rotation too, and a study in
which somebody has revoked a key has no successor.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from sfumato import files
from sfumato.errors import ProtocolError
from sfumato.identity import Signer, check_public, verified
from sfumato.parties.letters import CURATOR
from sfumato.parties.manifest import Manifest, read_file
from sfumato.parties.questions import UNREADABLE

_SIGNED_AS = b"sfumato rotation 1\n"  # a signature of a rotation is a signature of nothing else


def rotate(folder: Path, manifest: Manifest, old: Signer, new: Signer) -> str:
    """Write a member's statement that another key is its own from now on; gives its name."""
    name = manifest.member(old)
    if new.public in manifest.keys.values():
        raise ProtocolError("the new key is in the manifest already; make another one: sfumato consortium key")
    content = _content(manifest, name, new.public)
    record = {"member": name, "key": new.public, "old": old.sign(content).hex(), "new": new.sign(content).hex()}
    files.write(folder / "signatures" / f"{name}.rotated.json", json.dumps(record, indent=1) + "\n")
    return name


def rotated(folder: Path, manifest: Manifest) -> dict[str, str]:
    """The new key of every member that has one. A file that both keys have not signed counts for nothing."""
    found = {}
    for name in manifest.keys:
        try:
            record = read_file(folder / "signatures" / f"{name}.rotated.json")
            key = check_public(name, record["key"])
            content = _content(manifest, name, key)
            signed = [bytes.fromhex(record[which]) for which in ("old", "new")]
        except (OSError, ProtocolError, *UNREADABLE):
            continue
        keys = (manifest.keys[name], key)
        if all(verified(public, signature, content) for public, signature in zip(keys, signed, strict=True)):
            found[name] = key
    return found


def successor(folder: Path, manifest: Manifest) -> Manifest:
    """The same study with the new keys; refuses a folder in which nobody has one."""
    keys = rotated(folder, manifest)
    gone = [name for name in manifest.keys if is_revoked(folder, manifest, name)]
    if gone:
        raise ProtocolError(f"{', '.join(gone)} has taken its signature back; agree on a new manifest")
    if not keys:
        raise ProtocolError(
            f"nobody has a new key in {str(folder)!r}; a member announces one with: sfumato consortium rotate"
        )
    parties = tuple((name, keys.get(name, public)) for name, public in manifest.parties)
    return replace(manifest, parties=parties, curator=keys.get(CURATOR, manifest.curator))


def check_successor(later: Manifest, folder: Path, earlier: Manifest) -> dict[str, str]:
    """The members that have a new key; refuses a manifest that is not an earlier one with just these keys."""
    if later != successor(folder, earlier):
        raise ProtocolError(
            "the manifest is not the earlier one with the keys that its members announced: something else was changed, "
            "or a key is not signed with the old one; read it as a new study"
        )
    return rotated(folder, earlier)


def revocation(manifest: Manifest) -> bytes:
    """What a member signs to take its signature back."""
    return b"sfumato revocation 1\n" + manifest.content


def is_revoked(folder: Path, manifest: Manifest, name: str) -> bool:
    """Whether a member has taken its signature back; a file that only says so counts for nothing."""
    try:
        signature = bytes.fromhex(read_file(folder / "signatures" / f"{name}.revoked.json")["revoked"])
    except (OSError, *UNREADABLE):
        return False
    return verified(manifest.keys[name], signature, revocation(manifest))


def _content(manifest: Manifest, name: str, key: str) -> bytes:
    """What is signed: for which study, whose key, and which one comes in its place."""
    return _SIGNED_AS + "\n".join((manifest.digest, name, manifest.keys[name], key)).encode()
