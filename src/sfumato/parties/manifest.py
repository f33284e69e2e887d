"""The manifest: what a study is, who takes part, and what it may cost. Every party signs it before it sends."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sfumato.errors import ProtocolError
from sfumato.identity import Signer, check_public, verified
from sfumato.job import Job, recipe_of
from sfumato.parties.federation import check_columns, check_method, check_unit
from sfumato.parties.letters import CURATOR, MOST_ROWS
from sfumato.parties.questions import UNREADABLE
from sfumato.parties.recovery import check_recovery
from sfumato.privacy.budget import Budget, budget_of
from sfumato.recipes.auto import over_parties
from sfumato.schema.schema import Schema
from sfumato.text import one_line

FORMAT = 3
LONGEST = 1 << 24
"""Most bytes of a file of a consortium."""

NAME = 100
"""Most characters of the name of a study."""

LINE = 300
"""Most characters of its purpose and its contact."""

MOST_ROWS_EVER = 1 << 36
"""The limit of the upper limit of rows."""

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
        max_parties_per_person: at how many parties one person may have rows; noise is made for that.
        most_rows: a public upper limit of the rows of all parties together; a sum beyond it is nobody's count.
        purpose: what the study is for, in one line.
        contact: whom to ask, in one line.
        valid_until: the last day on which the study may be run, as YYYY-MM-DD; empty if there is none.
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
    max_parties_per_person: int = 1
    most_rows: int = MOST_ROWS
    purpose: str = ""
    contact: str = ""
    valid_until: str = ""
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
        if not 1 <= self.max_parties_per_person <= len(names):
            raise ProtocolError(
                f"a person may be at {self.max_parties_per_person} parties; give a number from 1 to {len(names)}, the "
                "number of parties"
            )
        if not 1 <= self.most_rows <= MOST_ROWS_EVER:
            raise ProtocolError(f"at most {self.most_rows} rows were declared; give 1 to {MOST_ROWS_EVER:,}")
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
        check_columns(self.job.recipe, self.schema)
        check_unit(self.schema)

    def _check_types(self) -> None:
        """Refuse fields of other types, and a name that is more than a name: strangers write manifests too."""
        texts = [self.name, self.schema_text, self.method, self.epsilon, self.curator, self.code]
        texts += [self.purpose, self.contact, self.valid_until]
        texts += [text for party in self.parties for text in party] + ([] if self.delta is None else [self.delta])
        numbers = (self.colluding, self.missing, self.max_parties_per_person, self.most_rows)
        if not all(type(text) is str for text in texts) or {type(number) for number in numbers} != {int}:
            raise ProtocolError("the manifest cannot be read: a field is not a text, or not a number")
        if len(self.name) > NAME or self.name != one_line(self.name):
            raise ProtocolError(
                f"the study is named '{one_line(self.name, NAME)}'; give a name of one line and {NAME} characters at "
                "most, in which all can be seen"
            )
        for field, text in (("purpose", self.purpose), ("contact", self.contact)):
            if len(text) > LINE or text != one_line(text):
                raise ProtocolError(
                    f"the {field} is '{one_line(text, 80)}'; give one line of {LINE} characters at most"
                )
        if self.valid_until:
            try:
                date.fromisoformat(self.valid_until)
            except ValueError:
                raise ProtocolError(
                    f"valid_until is {one_line(self.valid_until, 40)!r}; give a day, YYYY-MM-DD"
                ) from None

    @property
    def job(self) -> Job:
        """The run that the members agreed on."""
        return Job(self.schema, over_parties(recipe_of(self.method)), self.budget)

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


def read_file(path: Path) -> Any:
    """The content of a JSON file of a consortium, of which no more is read than such a file may have."""
    with path.open("rb") as file:
        content = file.read(LONGEST + 1)
    if len(content) > LONGEST:
        raise ValueError
    return json.loads(content)
