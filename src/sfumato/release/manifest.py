"""The manifest of a release folder: the hash of every file, as an in-toto statement that can be signed.

manifest.json        an in-toto Statement: each file of the folder is a subject with its SHA-256
manifest.dsse.json   only if it was signed: a DSSE envelope around the bytes of manifest.json
verify.py            checks the folder with nothing but Python's standard library

The manifest names every other file and itself is named by none; the envelope holds its bytes.
"""

from __future__ import annotations

import hashlib
import json
import stat
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

from sfumato.errors import ReleaseError
from sfumato.files import digest_of, write

MANIFEST, ENVELOPE, VERIFIER = "manifest.json", "manifest.dsse.json", "verify.py"
STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "urn:sfumato:release:2"


def write_manifest(folder: Path) -> None:
    """Write the manifest of a folder, and the program that checks it; to be called last."""
    write(folder / VERIFIER, verifier())
    write(folder / MANIFEST, json.dumps(manifest_of(folder), indent=1, sort_keys=True) + "\n")


def verifier() -> bytes:
    """The program that is put beside a release for outsiders."""
    return files("sfumato.release").joinpath("standalone.py").read_bytes()


def manifest_of(folder: Path) -> dict[str, Any]:
    """What the manifest of a folder has to say."""
    subjects = [{"name": name, "digest": {"sha256": digest}} for name, digest in sorted(hashes(folder).items())]
    return {"_type": STATEMENT, "subject": subjects, "predicateType": PREDICATE, "predicate": {"format": 2}}


def manifest_hash(folder: Path) -> str:
    """The hash of a release: that of its manifest, which has those of all its files."""
    return hashlib.sha256((folder / MANIFEST).read_bytes()).hexdigest()


def hashes(folder: Path) -> dict[str, str]:
    """The SHA-256 of every file of a folder by its path in it, but for the manifest and its envelope."""
    found = {}
    for path in _walk(folder):
        name = path.relative_to(folder).as_posix()
        if name in (MANIFEST, ENVELOPE):
            continue
        found[name] = digest_of(path)
    return found


def _walk(folder: Path) -> Iterator[Path]:
    """Every file; what is neither a file nor a folder is refused, since its content is elsewhere, or never ends."""
    for path in sorted(folder.iterdir()):
        mode = path.lstat().st_mode
        if stat.S_ISDIR(mode):
            yield from _walk(path)
        elif stat.S_ISREG(mode):
            yield path
        else:
            raise ReleaseError(f"{str(path)!r} is a link or a device; a release holds plain files and folders only")
