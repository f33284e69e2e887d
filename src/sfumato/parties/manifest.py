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

from sfumato.errors import ProtocolError, SchemaError
from sfumato.job import Job, check_observed, recipe_of
from sfumato.parties.federation import check_method
from sfumato.parties.identity import Signer, check_public, verified
from sfumato.parties.letters import CURATOR
from sfumato.parties.questions import UNREADABLE
from sfumato.parties.recovery import check_recovery
from sfumato.privacy.budget import Budget, budget_of
from sfumato.schema.schema import Schema
from sfumato.text import one_line

FORMAT = 2
LONGEST = 1 << 24
"""Most bytes of a file of a consortium."""

NAME = 100
"""Most characters of the name of a study."""

MOST_PARTIES = 1000
"""What a party says about all others must fit into one message."""

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
        self._check_types()
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
        check_recovery(len(names), self.colluding, self.missing)
        if len(names) > MOST_PARTIES:
            raise ProtocolError(f"{len(names)} parties were given; messages have room for {MOST_PARTIES} at most")
        self.budget, self.schema  # noqa: B018 -- a manifest in which these make no sense cannot be built
        check_method(self.job.recipe)

    def _check_types(self) -> None:
        """Refuse fields of other types, and a name that is more than a name: strangers write manifests too."""
        texts = [self.name, self.schema_text, self.method, self.epsilon, self.curator, self.code]
        texts += [text for party in self.parties for text in party] + ([] if self.delta is None else [self.delta])
        if not all(type(text) is str for text in texts) or {type(self.colluding), type(self.missing)} != {int}:
            raise ProtocolError("the manifest cannot be read: a field is not a text, or not a number")
        if len(self.name) > NAME or self.name != one_line(self.name):
            raise ProtocolError(
                f"the study is named '{one_line(self.name, NAME)}'; give a name of one line and {NAME} characters at "
                "most, in which all can be seen"
            )

    @property
    def job(self) -> Job:
        """The run that the members agreed on."""
        return Job(self.schema, recipe_of(self.method), self.budget)

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
        try:
            return Schema.parse(json.loads(self.schema_text))
        except UNREADABLE:
            raise ProtocolError("the schema in the manifest cannot be read; agree on a new manifest") from None

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
            "observed": list(self.schema.observed),
            "parties": [{"name": name, "key": key} for name, key in self.parties],
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Manifest:
        """Read a manifest back; a key too many or too few is refused."""
        fields = dict(record)
        try:
            form, digest, observed = (fields.pop(key) for key in ("format", "schema_sha256", "observed"))
            if form != FORMAT:
                raise ProtocolError(
                    f"the manifest has format {one_line(form, 40)}; this version reads format {FORMAT} only"
                )
            parties = tuple(
                (str(one["name"]), check_public(str(one["name"]), one["key"])) for one in fields.pop("parties")
            )
            manifest = cls(**fields, parties=parties)
            said = manifest.to_dict()
        except UNREADABLE:
            raise ProtocolError("the manifest cannot be read; give the folder that consortium init wrote") from None
        if said["schema_sha256"] != digest:
            raise ProtocolError("the schema in the manifest is not the one that its hash names; it was changed")
        if said["observed"] != observed:
            raise ProtocolError("the manifest does not name the domains that its schema says were observed in data")
        if said != record:
            raise ProtocolError("the manifest holds more than what is signed; give the file that consortium init wrote")
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
        record = _read_json(folder / "consortium.json")
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
            f"the domain of {', '.join(schema.observed)} was observed in the data, which can reveal persons; if you "
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
    (folder / "signatures" / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return name


def signature_problems(folder: Path, manifest: Manifest) -> dict[str, str]:
    """What is wrong with each member's signature; members whose signature is right are left out."""
    problems: dict[str, str] = {}
    for name in manifest.keys:
        try:
            record = _read_json(folder / "signatures" / f"{name}.json")
            signature = bytes.fromhex(record["signature"])
        except FileNotFoundError:
            problems[name] = "has not signed"
        except (OSError, *UNREADABLE):
            problems[name] = "has a signature file that cannot be read"
        else:
            if not manifest.signed_by(name, signature):
                problems[name] = "signed something else"
    return problems


def _read_json(path: Path) -> Any:
    """The content of a file, of which no more is read than a file of a consortium may have."""
    with path.open("rb") as file:
        content = file.read(LONGEST + 1)
    if len(content) > LONGEST:
        raise ValueError
    return json.loads(content)


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
