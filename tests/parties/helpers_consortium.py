"""A small consortium for tests: keys, a manifest, and messages."""

import json
import tempfile
from pathlib import Path

import numpy as np

from sfumato.identity import Signer
from sfumato.parties.authority import write_certificates
from sfumato.parties.consortium import add_signature, write_manifest
from sfumato.parties.envelopes import seal
from sfumato.parties.letters import CURATOR
from sfumato.parties.manifest import Manifest
from sfumato.parties.messages import Share

NAMES = ("north", "south", "west")
SCHEMA = {
    "name": "clinic",
    "columns": [
        {"name": "smoker", "type": "boolean"},
        {"name": "ill", "type": "boolean"},
        {"name": "ward", "type": "categorical", "categories": ["a", "b", "c"]},
    ],
}
FAST = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 -- journals wait for the disk, and tests need not


def fast_folder():
    return tempfile.TemporaryDirectory(dir=FAST)


def new_signers(names=NAMES):
    return {name: Signer.new() for name in (*names, CURATOR)}


def manifest_of(signers, **changes):
    fields = {
        "name": "flu",
        "schema_text": json.dumps(SCHEMA),
        "method": "dpview",
        "epsilon": "1",
        "delta": None,
        "colluding": 1,
        "missing": 0,
        "parties": tuple((name, signer.public) for name, signer in signers.items() if name != CURATOR),
        "curator": signers[CURATOR].public,
    }
    return Manifest(**(fields | changes))


def signed_consortium(folder, signers, accept_observed_domain=False, **changes):
    """A consortium folder that everybody has signed, keys beside it."""
    write_manifest(folder, manifest_of(signers, **changes))
    for name, signer in signers.items():
        add_signature(folder, signer, accept_observed_domain=accept_observed_domain)
        signer.save(folder / f"{name}.key")


def certificates(folder):
    write_certificates(folder, [*NAMES, CURATOR], CURATOR, ["localhost", "127.0.0.1"])


def share_of(manifest, signer, sender, cells=4, round_=1, attempt=1, recipient=CURATOR, value=7):
    vector = np.full(cells, value, dtype=np.uint64)
    return seal(Share(round_, attempt, sender, recipient, vector), manifest.study, signer)
