"""The folder of a consortium: the manifest, and one signature of it for each member.

`consortium.json` holds the manifest, `signatures/NAME.json` one signature each, so members can sign copies on their own
machines and the signatures are put together by copying files.
"""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from importlib.metadata import version
from pathlib import Path

from sfumato import files
from sfumato.errors import ProtocolError, SchemaError
from sfumato.identity import Signer
from sfumato.job import check_observed
from sfumato.parties.manifest import Manifest, read_file
from sfumato.parties.questions import UNREADABLE
from sfumato.parties.rotation import is_revoked, revocation, rotated
from sfumato.schema.acceptance import observed_words
from sfumato.schema.schema import Schema


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write a new consortium folder."""
    if (folder / "consortium.json").exists():
        raise ProtocolError(f"{str(folder)!r} has a consortium already; give another folder, or move it away")
    (folder / "signatures").mkdir(parents=True, exist_ok=True)
    files.write(folder / "consortium.json", json.dumps(manifest.to_dict(), indent=1, ensure_ascii=False) + "\n")


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a consortium folder; signatures are looked at by `check_signatures`."""
    try:
        record = read_file(folder / "consortium.json")
    except (OSError, *UNREADABLE):
        raise ProtocolError(
            f"{str(folder / 'consortium.json')!r} is missing or is not JSON; make it with: sfumato consortium init"
        ) from None
    if not isinstance(record, dict):
        raise ProtocolError("the manifest cannot be read; give the folder that consortium init wrote")
    return Manifest.from_dict(record)


def check_consent(schema: Schema, agreed: bool) -> None:
    """Refuse domains that were observed in data, unless the schema says who accepted them and a signer agrees."""
    check_observed(schema)
    if schema.observed and not agreed:
        raise SchemaError(
            f"{observed_words(schema.observed)} was observed in the data, which can reveal persons; if you "
            "agree that it may be public, as the schema says, give --accept-observed-domain"
        )


def add_signature(folder: Path, signer: Signer, *, accept_observed_domain: bool = False) -> str:
    """Sign the manifest of a folder and return the member's name.

    Domains that were observed in data can reveal persons, and no noise covers them. Whoever signs for all must say that
    they may be public.
    """
    manifest = read_manifest(folder)
    name = manifest.member(signer)
    check_consent(manifest.schema, accept_observed_domain)
    record = {"member": name, "manifest_sha256": manifest.digest, "signature": manifest.sign(signer).hex()}
    (folder / "signatures").mkdir(exist_ok=True)
    files.write(folder / "signatures" / f"{name}.json", json.dumps(record, indent=1) + "\n")
    return name


def revoke(folder: Path, signer: Signer) -> str:
    """Take back the signature of a member for good, for example because its key was lost or stolen; gives its name.

    Whoever has the folder refuses the study from then on. Agree on a new manifest with a new key.
    """
    manifest = read_manifest(folder)
    name = manifest.member(signer)
    record = {"member": name, "revoked": signer.sign(revocation(manifest)).hex()}
    files.write(folder / "signatures" / f"{name}.revoked.json", json.dumps(record, indent=1) + "\n")
    return name


def signature_problems(folder: Path, manifest: Manifest) -> dict[str, str]:
    """What is wrong with each member's signature; members whose signature is right are left out."""
    problems: dict[str, str] = {}
    retired = rotated(folder, manifest)
    for name in manifest.keys:
        try:
            record = read_file(folder / "signatures" / f"{name}.json")
            signature = bytes.fromhex(record["signature"])
        except FileNotFoundError:
            problems[name] = "has not signed"
        except (OSError, *UNREADABLE):
            problems[name] = "has a signature file that cannot be read"
        else:
            if not manifest.signed_by(name, signature):
                problems[name] = "signed something else"
        if name in retired:
            problems[name] = "has another key now (agree on the successor: sfumato consortium succeed)"
        if is_revoked(folder, manifest, name):
            problems[name] = "has taken its signature back"
    return problems


def signed_manifest(folder: Path) -> Manifest:
    """The manifest of a folder, which every member has signed as it is; anything else is refused."""
    manifest = read_manifest(folder)
    problems = signature_problems(folder, manifest)
    if problems:
        found = "; ".join(f"{name} {problem}" for name, problem in problems.items())
        raise ProtocolError(
            f"the manifest is not signed by everybody: {found}. Nothing is sent before each member has run: "
            "sfumato consortium sign"
        )
    if manifest.code != version("sfumato"):
        raise ProtocolError(
            f"the manifest is for Sfumato {manifest.code}, and this is {version('sfumato')}; install that version, or "
            "agree on a new manifest"
        )
    if manifest.valid_until and datetime.now(UTC).date() > date.fromisoformat(manifest.valid_until):
        raise ProtocolError(f"the study ended on {manifest.valid_until}; agree on a new manifest")
    return manifest
