"""Checks of a folder as files: hashes, and signatures."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

from sfumato.book import Book
from sfumato.errors import ReleaseError
from sfumato.release.manifest import ENVELOPE, MANIFEST, PREDICATE, STATEMENT, VERIFIER, hashes, manifest_hash, verifier
from sfumato.release.storage import read_json
from sfumato.verify.findings import Finding, found, not_checked
from sfumato.verify.signing import signature_problems, signers


def check_files(folder: Path) -> Finding:
    """Every file is listed in the manifest with its hash, and nothing else is there."""
    there = hashes(folder)
    try:
        manifest = read_json(folder / MANIFEST)
        if (manifest["_type"], manifest["predicateType"]) != (STATEMENT, PREDICATE):
            return found("files", [f"{MANIFEST} is no manifest of a release"], "")
        pairs = [(str(one["name"]), one["digest"]["sha256"]) for one in manifest["subject"]]
    except ReleaseError as problem:
        return found("files", [str(problem)], "")
    except (KeyError, TypeError):
        return found("files", [f"{MANIFEST} cannot be read as an in-toto statement"], "")
    listed = dict(pairs)
    problems = ["the manifest lists a file twice"] if len(listed) < len(pairs) else []
    problems += [f"{name!r} is missing" for name in sorted(listed.keys() - there.keys())]
    problems += [f"{name!r} is not in the manifest" for name in sorted(there.keys() - listed.keys())]
    problems += [
        f"{name!r} was changed" for name in sorted(listed.keys() & there.keys()) if listed[name] != there[name]
    ]
    return found("files", problems, f"{len(there)} files, all as the manifest says")


def check_signature(folder: Path, key: str | None) -> Finding:
    """Every signature is right, and one of them is by `key`, if that is given."""
    if not (folder / ENVELOPE).exists():
        if key is not None:
            return found("signature", ["there is none, and one by the given key was wanted"], "")
        return not_checked("signature", "nobody has signed: whoever changed a file could write the manifest anew")
    if problems := signature_problems(folder):
        return found("signature", problems, "")
    names = ", ".join(signers(folder))
    if key is None:
        return not_checked("signature", f"signed by {names}; ask the owner of that key, and give it with --key")
    problems = [] if key in signers(folder) else [f"signed by {names}, and not by the given key"]
    return found("signature", problems, f"signed by {key}")


def check_verifier(folder: Path, unlike: str) -> Finding:
    """The program for outsiders is the one that this version writes."""
    if (folder / VERIFIER).is_file() and (folder / VERIFIER).read_bytes() == verifier():
        return found("verify.py", [], f"{VERIFIER} in the folder is the one of this version")
    if unlike:
        return not_checked("verify.py", f"{VERIFIER} in the folder is not the one of this version; do not run it")
    return found("verify.py", [f"{VERIFIER} in the folder is not the one that Sfumato writes; do not run it"], "")


def check_book(folder: Path, receipt: Any, path: Path | None) -> Finding:
    """The book holds the payment that the release names, and the payment names the release."""
    if path is None:
        if receipt is None:
            return not_checked(
                "book", "the release names no book: what else was released of these persons is not known"
            )
        return not_checked("book", f"paid for by a book with the head {receipt['head']}; give the book with --book")
    if receipt is None:
        return found("book", ["the release names no book, and one was given"], "")
    with closing(Book(path)) as book:
        if not book.holds(receipt["head"]):
            return found("book", ["the book does not hold the payment: it is another one, or an older copy"], "")
        payments = [one for name in book.populations for one in book.standing(name).payments]
    own = [one for one in payments if one.number == receipt["payment"] and one.release == manifest_hash(folder)]
    problems = [] if own else ["the payment in the book is for another release"]
    return found("book", problems, f"payment {receipt['payment']} of the book is for this release")
