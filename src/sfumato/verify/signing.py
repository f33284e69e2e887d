"""Signatures of a release: Ed25519 over its manifest, in a DSSE envelope that other tools can read too."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from sfumato.errors import ReleaseError
from sfumato.files import write
from sfumato.identity import Signer, verified
from sfumato.release.manifest import ENVELOPE, MANIFEST, manifest_of
from sfumato.release.storage import read_json

PAYLOAD_TYPE = "application/vnd.in-toto+json"


def sign(folder: Path, signer: Signer) -> str:
    """Add a signature to a release whose files are as its manifest says; gives the public key of who signed."""
    if not folder.is_dir() or read_json(folder / MANIFEST) != manifest_of(folder):
        raise ReleaseError(
            f"the files in {str(folder)!r} are not those of its manifest; only a release as Sfumato wrote it is signed"
        )
    payload = (folder / MANIFEST).read_bytes()
    earlier: list[dict[str, str]] = []
    if (folder / ENVELOPE).exists():
        if problems := signature_problems(folder):
            raise ReleaseError(f"the signatures in {str(folder)!r} are damaged: {problems[0]}; remove {ENVELOPE} first")
        earlier = [one for one in read_json(folder / ENVELOPE)["signatures"] if one["keyid"] != signer.public]
    signature = base64.b64encode(signer.sign(signed_bytes(PAYLOAD_TYPE, payload))).decode()
    envelope = {
        "payload": base64.b64encode(payload).decode(),
        "payloadType": PAYLOAD_TYPE,
        "signatures": [*earlier, {"keyid": signer.public, "sig": signature}],
    }
    write(folder / ENVELOPE, json.dumps(envelope, indent=1) + "\n")
    return signer.public


def signers(folder: Path) -> tuple[str, ...]:
    """The public keys that an envelope names; whether their signatures are right, `signature_problems` says."""
    return tuple(one["keyid"] for one in _envelope(folder)["signatures"])


def signature_problems(folder: Path) -> list[str]:
    """What is wrong with the envelope of a release."""
    try:
        envelope = _envelope(folder)
        payload = base64.b64decode(envelope["payload"], validate=True)
        if payload != (folder / MANIFEST).read_bytes():
            return ["the signed manifest is not the one in the folder"]
        signed = signed_bytes(envelope["payloadType"], payload)
        return [
            f"the signature by {one['keyid']} is wrong"
            for one in envelope["signatures"]
            if not verified(one["keyid"], base64.b64decode(one["sig"], validate=True), signed)
        ]
    except (ReleaseError, OSError, ValueError, KeyError, TypeError, AttributeError):
        return [f"{ENVELOPE} cannot be read as a DSSE envelope"]


def signed_bytes(kind: str, payload: bytes) -> bytes:
    """What a DSSE signature is over: the type and the payload, each with its length."""
    parts = (b"DSSEv1", str(len(kind.encode())).encode(), kind.encode(), str(len(payload)).encode(), payload)
    return b" ".join(parts)


def _envelope(folder: Path) -> dict[str, Any]:
    envelope = read_json(folder / ENVELOPE)
    if not isinstance(envelope, dict) or not isinstance(envelope.get("signatures"), list) or not envelope["signatures"]:
        raise ReleaseError(f"{ENVELOPE} has no signature")
    if not all(isinstance(one, dict) and isinstance(one.get("keyid"), str) for one in envelope["signatures"]):
        raise ReleaseError(f"{ENVELOPE} has a signature without a key")
    return envelope
