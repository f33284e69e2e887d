"""Studies with other parties, as the folders below the named ones tell of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sfumato.app.work import Work
from sfumato.errors import FileError, SfumatoError
from sfumato.parties.approvals import Asked, read_asked
from sfumato.parties.consortium import read_manifest, signature_problems
from sfumato.parties.manifest import Manifest
from sfumato.parties.member_folder import MemberFolder, read_member

DEPTH = 3
"""How deep below a named folder a study is looked for."""


@dataclass(frozen=True)
class Member:
    """A member whose work folder is on this machine.

    Args:
        work: its folder.
        found: what the folder says.
        asked: the round that waits for approval, if one does.
    """

    work: Path
    found: MemberFolder
    asked: Asked | None


@dataclass(frozen=True)
class Study:
    """A study, from the folder of its consortium.

    Args:
        folder: of the consortium.
        manifest: what everybody signs.
        problems: what is wrong with the signature of each member; those that have signed are left out.
        members: those whose work folders are on this machine.
    """

    folder: Path
    manifest: Manifest
    problems: dict[str, str]
    members: tuple[Member, ...]

    @property
    def waits(self) -> bool:
        """Whether a round waits for somebody's approval here."""
        return any(one.asked is not None for one in self.members)


def every(work: Work) -> list[Study]:
    """All studies below the named folders; what cannot be read is left out."""
    members: dict[str, list[Member]] = {}
    for path in _found(work, "journal.sqlite"):
        try:
            one = Member(path.parent, read_member(path.parent), read_asked(path.parent))
            members.setdefault(one.found.study, []).append(one)
        except (SfumatoError, KeyError, ValueError):
            continue
    studies: dict[str, Study] = {}
    for path in _found(work, "consortium.json"):
        try:
            manifest = read_manifest(path.parent)
            problems = signature_problems(path.parent, manifest)
        except SfumatoError:
            continue
        own = tuple(members.get(manifest.study, ()))
        studies.setdefault(manifest.study, Study(path.parent, manifest, problems, own))
    return list(studies.values())


def load(work: Work, id: str) -> Study:
    """The study of that name."""
    for one in every(work):
        if one.manifest.study == id:
            return one
    raise FileError("there is no such study below the folders that this page may read; name its folder with --studies")


def _found(work: Work, name: str) -> list[Path]:
    patterns = ["*/" * depth + name for depth in range(DEPTH + 1)]
    return [path for source in work.studies for pattern in patterns for path in sorted(source.glob(pattern))]
