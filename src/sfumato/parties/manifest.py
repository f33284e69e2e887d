"""The manifest: what a study is, who takes part, and what it may cost. Every party signs it before it sends anything.

A consortium is a folder: `consortium.json` holds the manifest, `signatures/NAME.json` one signature each, so that
members can sign copies on their own machines and the signatures are put together by copying files.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sfumato.data.schema import Schema
from sfumato.errors import ProtocolError
from sfumato.fitting import check_budget
from sfumato.parties.faithful import refuse_network
from sfumato.parties.identity import Signer, check_public, verified
from sfumato.parties.messages import CURATOR
from sfumato.privacy.budget import Budget, budget_of

FORMAT = 1
_SIGNED_AS = b"sfumato consortium 1\n"  # a signature of a manifest is a signature of nothing else
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")


@dataclass(frozen=True)
class Manifest:
    """One study: its schema, its method, what it may cost each party, and the public keys of all who take part.

    Args:
        name: what people call the study.
        schema_text: the public schema, as JSON text.
        method: the name of a recipe.
        epsilon: what the study may cost the persons of each party, as exact text.
        delta: the probability with which epsilon may fail, or None for pure epsilon.
        colluding: how many parties (t) may put together what they know, with the curator too, and learn nothing.
        missing: how many parties (q) may stay away.
        parties: their names and public keys, in order.
        curator: the public key of the curator.
        code: the version of Sfumato that all of them run.
    """

    name: str
    schema_text: str
    method: str
    epsilon: str
    delta: str | None
    colluding: int
    missing: int
    parties: tuple[tuple[str, str], ...]
    curator: str
    code: str = version("sfumato")

    def __post_init__(self) -> None:
        names = self.names
        for name in names:
            if not _NAME.fullmatch(name) or name == CURATOR:
                raise ProtocolError(
                    f"party {name!r} cannot have this name; use lower-case letters, digits, - and _, not {CURATOR!r}"
                )
        if len(set(names)) < len(names) or len(set(self.keys.values())) <= len(names):
            raise ProtocolError("two members of the consortium have one name or one key; each needs its own")
        if self.colluding < 1:
            # A party knows its own share of the noise, and so is one colluding party by itself.
            raise ProtocolError(f"{self.colluding} colluding parties were given; 1 is the least that protects anybody")
        if self.missing < 0 or self.honest < 1:
            raise ProtocolError(
                f"of {len(names)} parties, {self.colluding} may collude and {self.missing} may stay away, which leaves "
                "nobody whose noise protects; take more parties, or let fewer collude or stay away"
            )
        self.budget  # noqa: B018 -- a manifest whose budget makes no sense cannot be built
        refuse_network(self.method)
        check_budget(self.budget, self.method)

    @property
    def names(self) -> tuple[str, ...]:
        """The parties, in order."""
        return tuple(name for name, _ in self.parties)

    @property
    def keys(self) -> dict[str, str]:
        """The public key of every member, the curator's too."""
        return {**dict(self.parties), CURATOR: self.curator}

    @property
    def honest(self) -> int:
        """How many shares of noise (h = K - t - q) add up to the noise that is charged."""
        return len(self.parties) - self.colluding - self.missing

    @property
    def budget(self) -> Budget:
        """What the study may cost each party."""
        return budget_of(self.epsilon, self.delta)

    @cached_property
    def schema(self) -> Schema:
        """The public schema."""
        return Schema.parse(json.loads(self.schema_text))

    @cached_property
    def content(self) -> bytes:
        """What is signed: every field, in one canonical form."""
        return json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the content."""
        return hashlib.sha256(self.content).hexdigest()

    @property
    def study(self) -> str:
        """The name of the study in messages: it is bound to every field of the manifest."""
        return self.digest[:32]

    def to_dict(self) -> dict[str, Any]:
        """The manifest as JSON."""
        return {
            **asdict(self),
            "format": FORMAT,
            "schema_sha256": hashlib.sha256(self.schema_text.encode()).hexdigest(),
            "parties": [{"name": name, "key": key} for name, key in self.parties],
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Manifest:
        """Read a manifest back; a key too many or too few is refused."""
        fields = dict(record)
        try:
            form, digest = fields.pop("format"), fields.pop("schema_sha256")
            parties = tuple(
                (str(one["name"]), check_public(str(one["name"]), one["key"])) for one in fields.pop("parties")
            )
            manifest = cls(**fields, parties=parties)
        except (KeyError, TypeError, AttributeError, ValueError):
            raise ProtocolError("the manifest cannot be read; give the folder that consortium init wrote") from None
        if form != FORMAT:
            raise ProtocolError(f"the manifest has format {form!r}; this version reads format {FORMAT} only")
        if manifest.to_dict()["schema_sha256"] != digest:
            raise ProtocolError("the schema in the manifest is not the one that its hash names; it was changed")
        return manifest

    def sign(self, signer: Signer) -> bytes:
        """A member's signature of all of it."""
        return signer.sign(_SIGNED_AS + self.content)

    def signed_by(self, member: str, signature: bytes) -> bool:
        """Whether this is that member's signature of exactly this manifest."""
        return verified(self.keys[member], signature, _SIGNED_AS + self.content)

    def member(self, signer: Signer) -> str:
        """The name of the member whose key this is."""
        for name, key in self.keys.items():
            if key == signer.public:
                return name
        raise ProtocolError(f"the key {signer.public[:16]}… is not in the manifest; members are {', '.join(self.keys)}")


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write a new consortium folder."""
    if (folder / "consortium.json").exists():
        raise ProtocolError(f"{str(folder)!r} has a consortium already; give another folder, or move it away")
    (folder / "signatures").mkdir(parents=True, exist_ok=True)
    text = json.dumps(manifest.to_dict(), indent=1, ensure_ascii=False) + "\n"
    (folder / "consortium.json").write_text(text, encoding="utf-8")


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a consortium folder; signatures are looked at by `check_signatures`."""
    try:
        record = json.loads((folder / "consortium.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise ProtocolError(
            f"{str(folder / 'consortium.json')!r} is missing or is not JSON; make it with: sfumato consortium init"
        ) from None
    if not isinstance(record, dict):
        raise ProtocolError("the manifest cannot be read; give the folder that consortium init wrote")
    return Manifest.from_dict(record)


def add_signature(folder: Path, signer: Signer) -> str:
    """Sign the manifest of a folder and return the member's name."""
    manifest = read_manifest(folder)
    name = manifest.member(signer)
    record = {"member": name, "manifest_sha256": manifest.digest, "signature": manifest.sign(signer).hex()}
    (folder / "signatures").mkdir(exist_ok=True)
    (folder / "signatures" / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return name


def signature_problems(folder: Path, manifest: Manifest) -> dict[str, str]:
    """What is wrong with each member's signature; members whose signature is right are left out."""
    problems: dict[str, str] = {}
    for name in manifest.keys:
        try:
            record = json.loads((folder / "signatures" / f"{name}.json").read_text(encoding="utf-8"))
            signature = bytes.fromhex(record["signature"])
        except FileNotFoundError:
            problems[name] = "has not signed"
        except (OSError, ValueError, KeyError, TypeError):
            problems[name] = "has a signature file that cannot be read"
        else:
            if not manifest.signed_by(name, signature):
                problems[name] = "signed something else"
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
    return manifest
