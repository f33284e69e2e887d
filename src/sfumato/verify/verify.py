"""`verify`: everything that can be said of a release from its folder alone."""

from __future__ import annotations

from pathlib import Path

from sfumato.book import Book
from sfumato.errors import ReleaseError, SfumatoError
from sfumato.identity import check_public
from sfumato.release import Release, storage
from sfumato.release.manifest import MANIFEST
from sfumato.verify import accounts, files, repeat, replay
from sfumato.verify.findings import Verdict, found


def verify(place: str | Path, key: str | None = None, book: Path | None = None) -> Verdict:
    """Check a release folder; what is wrong with it is a finding, and only what is no release is an error.

    Args:
        place: the folder.
        key: the public key of who must have signed it, if the reader knows it.
        book: the book that must hold its payment, if the reader has it.
    """
    place = Path(place)
    if not place.is_dir() or not ((place / MANIFEST).is_file() or (place / "release.json").is_file()):
        raise ReleaseError(f"{str(place)!r} is no release folder; give the folder that synthesize or save wrote")
    if _is_older(place):
        raise ReleaseError(
            f"{str(place)!r} is a release of format 1, which has no manifest and no seed; open it with Release.load "
            "and save it again to have one that can be verified"
        )
    key = None if key is None else check_public("the signer", key)
    if book is not None:
        Book(book).close()  # what is no book is an error, and no finding about the release
    try:
        findings = [files.check_files(place), files.check_signature(place, key)]
    except ReleaseError as problem:  # links and devices are not looked into
        return Verdict((found("files", [str(problem)], ""),))
    try:
        with storage.damaged(place):
            release = Release.load(place)
            description = storage.read_json(place / "release.json")
            unlike = repeat.other_versions(description)
            findings += [
                files.check_verifier(place, unlike),
                accounts.check_ledger(place),
                accounts.check_unit(release),
                accounts.check_tables(release, place),
                accounts.check_description(release, place),
                replay.check_run(release, unlike),
                repeat.check_model(release, place, unlike),
            ]
            if accounts.is_sample(sample := description.get("sample")):
                findings.append(repeat.check_rows(release, place, sample, unlike))
                findings.append(repeat.check_values(release, place, sample))
            receipt = description.get("book")
            if receipt is None or accounts.is_receipt(receipt):
                findings.append(files.check_book(place, receipt, book))
    except SfumatoError as problem:
        findings.append(found("read", [str(problem)], ""))
    return Verdict(tuple(findings))


def _is_older(place: Path) -> bool:
    try:
        description = storage.read_json(place / "release.json")
    except ReleaseError:
        return False
    return isinstance(description, dict) and description.get("format") == 1 and not (place / MANIFEST).exists()
