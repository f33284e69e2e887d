"""`sfumato consortium`: agree on a study. Keys, the manifest, signatures, certificates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from sfumato.cli.console import JsonOption, err, explained, out, print_json
from sfumato.errors import ProtocolError
from sfumato.fitting import check_fits
from sfumato.identity import Signer, check_public, passphrase_of
from sfumato.outlook import outlook
from sfumato.parties.authority import DAYS, Authority, write_certificates, write_request
from sfumato.parties.consortium import add_signature, check_consent, read_manifest, signature_problems, write_manifest
from sfumato.parties.consortium import revoke as revoke_signature
from sfumato.parties.letters import CURATOR, MOST_ROWS
from sfumato.parties.manifest import Manifest
from sfumato.parties.rotation import check_successor, successor
from sfumato.parties.rotation import rotate as announce
from sfumato.parties.study import protected
from sfumato.schema.schema import Schema

FolderArgument = Annotated[Path, typer.Argument(help="The folder of the consortium.")]
KeyOption = Annotated[Path, typer.Option("--key", help="The file of your private key.")]
ObservedOption = Annotated[
    bool, typer.Option("--accept-observed-domain", help="Agree that domains which were read off data are public.")
]


@explained
def key(
    file: Annotated[Path, typer.Argument(help="The new file of your private key.")],
    passphrase: Annotated[bool, typer.Option("--passphrase", help="Encrypt it; the passphrase is asked for.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Make a key pair: the private half into a file that only you can read, the public half onto the screen."""
    signer = Signer.new()
    signer.save(file, passphrase_of(file, twice=True) if passphrase else None)
    if as_json:
        print_json({"file": str(file), "public": signer.public})
    else:
        print(signer.public)


@explained
def init(
    folder: FolderArgument,
    name: Annotated[str, typer.Option(help="What people call the study.")],
    schema: Annotated[Path, typer.Option(help="The public schema that all tables have.")],
    epsilon: Annotated[str, typer.Option(help="What the study may cost the persons of each party.")],
    party: Annotated[list[str], typer.Option(help="A party and its public key, as NAME=KEY; once for each.")],
    curator_key: KeyOption,
    method: Annotated[str, typer.Option(help="The method; `sfumato methods` lists them.")] = "auto",
    delta: Annotated[str | None, typer.Option(help="The probability that epsilon may fail.")] = None,
    colluding: Annotated[int, typer.Option(help="How many parties may put together what they know.")] = 1,
    missing: Annotated[int, typer.Option(help="How many parties may stay away; each one makes more noise.")] = 0,
    max_parties_per_person: Annotated[
        int, typer.Option(help="At how many parties one person may have rows; noise grows with it.")
    ] = 1,
    most_rows: Annotated[int, typer.Option(help="A public upper limit of the rows of all parties.")] = MOST_ROWS,
    purpose: Annotated[str, typer.Option(help="What the study is for, in one line.")] = "",
    contact: Annotated[str, typer.Option(help="Whom to ask, in one line.")] = "",
    valid_until: Annotated[str, typer.Option(help="The last day of the study, YYYY-MM-DD.")] = "",
    accept_observed_domain: ObservedOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write the manifest of a study (the curator does this), and sign it."""
    public = Schema.load(schema)
    check_consent(public, accept_observed_domain)
    signer = Signer.load(curator_key)
    manifest = Manifest(
        name=name,
        schema_text=json.dumps(public.to_dict(), ensure_ascii=False),
        method=method,
        epsilon=epsilon,
        delta=delta,
        colluding=colluding,
        missing=missing,
        max_parties_per_person=max_parties_per_person,
        most_rows=most_rows,
        purpose=purpose,
        contact=contact,
        valid_until=valid_until,
        parties=tuple(map(_party, party)),
        curator=signer.public,
    )
    write_manifest(folder, manifest)
    add_signature(folder, signer, accept_observed_domain=accept_observed_domain)
    if as_json:
        print_json({"folder": str(folder), **_facts(manifest)})
        return
    out.print(f"{folder}: give a copy to each party, and ask for its signature: sfumato consortium sign")
    _show(manifest)


@explained
def sign(
    folder: FolderArgument,
    key: KeyOption,
    data: Annotated[
        Path | None, typer.Option(help="Your table: sign only if it fits the schema. Nothing of it leaves.")
    ] = None,
    follows: Annotated[
        Path | None,
        typer.Option(help="The folder of the same study with earlier keys: sign only if all else is as it was."),
    ] = None,
    accept_observed_domain: ObservedOption = False,
    as_json: JsonOption = False,
) -> None:
    """Sign the manifest: you agree to all of it. Send signatures/NAME.json back to the others."""
    manifest = read_manifest(folder)
    if not as_json:
        _show(manifest)
    if follows is not None:
        new = check_successor(manifest, follows, read_manifest(follows))
        if not as_json:
            out.print(f"The same study as before; {', '.join(new)} has announced a new key, signed with the old one.")
    if data is not None:
        check_fits(data, manifest.schema)
        if not as_json:
            out.print("Your table fits the schema.")
    name = add_signature(folder, Signer.load(key), accept_observed_domain=accept_observed_domain)
    file = folder / "signatures" / f"{name}.json"
    _tell(as_json, f"{name} has signed: {file}", party=name, file=str(file), **_facts(manifest))


@explained
def check(folder: FolderArgument, as_json: JsonOption = False) -> None:
    """Say what is signed and by whom; anything that is missing or was changed is an error."""
    manifest = read_manifest(folder)
    problems = signature_problems(folder, manifest)
    if as_json:
        missing = {name: problems.get(name, "signed") for name in manifest.keys}
        print_json(_facts(manifest) | {"signatures": missing})
    else:
        _show(manifest)
        for name in manifest.keys:
            out.print(f"{name}: {problems.get(name, 'signed')}")
    if problems:
        found = "; ".join(f"{name} {problem}" for name, problem in problems.items())
        raise ProtocolError(f"the manifest is not signed by everybody: {found}")


@explained
def revoke(folder: FolderArgument, key: KeyOption, as_json: JsonOption = False) -> None:
    """Take your signature back for good, for example because your key was stolen. Send the file to all others."""
    name = revoke_signature(folder, Signer.load(key))
    file = folder / "signatures" / f"{name}.revoked.json"
    _tell(as_json, f"{name} takes part no longer: {file}", name=name, file=str(file))


@explained
def rotate(
    folder: FolderArgument,
    key: KeyOption,
    new_key: Annotated[Path, typer.Option("--new-key", help="The file of your new private key.")],
    as_json: JsonOption = False,
) -> None:
    """Announce a new key, signed with the old one, which nobody accepts from then on. Send the file to all others."""
    name = announce(folder, read_manifest(folder), Signer.load(key), Signer.load(new_key))
    file = folder / "signatures" / f"{name}.rotated.json"
    words = f"{file}: send it to all others; the study goes on under its successor: sfumato consortium succeed"
    _tell(as_json, words, name=name, file=str(file))


@explained
def succeed(
    folder: FolderArgument,
    key: KeyOption,
    out_folder: Annotated[Path, typer.Option("--out", help="A new folder, for the successor.")],
    accept_observed_domain: ObservedOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write the same study with the keys that members have announced (the curator does this), and sign it."""
    later = successor(folder, read_manifest(folder))
    write_manifest(out_folder, later)
    add_signature(out_folder, Signer.load(key), accept_observed_domain=accept_observed_domain)
    words = f"{out_folder}: give a copy to each party; it signs with: sfumato consortium sign --follows {folder}"
    _tell(as_json, words, folder=str(out_folder), **_facts(later))


@explained
def request(
    name: Annotated[str, typer.Argument(help="Your name in the consortium.")],
    out_folder: Annotated[Path, typer.Option("--out", help="A new folder for your TLS key, which stays there.")],
    as_json: JsonOption = False,
) -> None:
    """Make a TLS key that never leaves your machine, and a request to certify it. Send request.pem to the curator."""
    file = write_request(out_folder, name)
    _tell(as_json, f"{file}: send it to the curator; put what comes back beside your key", request=str(file))


@explained
def certificates(
    folder: FolderArgument,
    host: Annotated[list[str], typer.Option(help="A name or address of the curator; once for each.")],
    out_folder: Annotated[Path, typer.Option("--out", help="A new folder; it gets one folder for each member.")],
    request: Annotated[
        list[str] | None, typer.Option(help="A member's own request, as NAME=FILE; once for each that made one.")
    ] = None,
    authority: Annotated[
        Path | None, typer.Option(help="Keep the authority in this folder, or use the one in it. Keep it safe.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make TLS certificates for all members. Give each its own folder; one without a request over a safe way."""
    manifest = read_manifest(folder)
    asked = {name: Path(file) for name, _, file in (one.partition("=") for one in request or [])}
    kept = None
    if authority is not None:
        kept = Authority.load(authority) if (authority / "authority-key.pem").exists() else Authority.new()
        if not (authority / "authority-key.pem").exists():
            kept.save(authority)
    write_certificates(out_folder, list(manifest.keys), CURATOR, host, requests=asked, authority=kept)
    words = f"{out_folder}: {', '.join(manifest.keys)}; valid for {DAYS} days."
    _tell(as_json, words, folder=str(out_folder), members=list(manifest.keys), days=DAYS)


@explained
def strike(
    certificate: Annotated[list[Path], typer.Argument(help="The certificates that are no longer to be accepted.")],
    authority: Annotated[Path, typer.Option(help="The folder of the authority that made them.")],
    out_file: Annotated[Path, typer.Option("--out", help="revoked.pem in the curator's TLS folder; it is added to.")],
    as_json: JsonOption = False,
) -> None:
    """Strike certificates off. The curator does not accept them from its next start on."""
    count = Authority.load(authority).revoke(certificate, out_file)
    words = f"{out_file}: {count} certificates are no longer accepted"
    _tell(as_json, words, file=str(out_file), certificates=count)


def _facts(manifest: Manifest) -> dict[str, Any]:
    """What a signature is a signature of, for programs."""
    foreseen = list(outlook(manifest.job, parties=manifest.max_parties_per_person).warnings)
    return manifest.to_dict() | {"sha256": manifest.digest, "study": manifest.study, "foreseen": foreseen}


def _tell(as_json: bool, words: str, **facts: Any) -> None:
    """Say what was done, in words or as JSON."""
    if as_json:
        print_json(facts)
    else:
        out.print(words)


def _party(text: str) -> tuple[str, str]:
    name, equals, public = text.partition("=")
    if not equals:
        raise ProtocolError(f"party {text!r} was given; wanted is NAME=KEY, with the key that consortium key printed")
    return name, check_public(name, public)


def _show(manifest: Manifest) -> None:
    """What a signature is a signature of."""
    table = Table(show_header=False, title=f"study {manifest.name!r}, {manifest.study}")
    delta = f", delta {manifest.delta}" if manifest.delta else ""
    table.add_row("method", manifest.method)
    table.add_row("cost", f"at most epsilon {manifest.epsilon}{delta} for the persons of each party")
    table.add_row("protects", protected(manifest))
    places = manifest.max_parties_per_person
    table.add_row("one person may be at", "1 party" if places == 1 else f"{places} parties")
    table.add_row("may stay away", str(manifest.missing))
    table.add_row("rows of all parties", f"at most {manifest.most_rows:,}")
    for label, text in (("for", manifest.purpose), ("ask", manifest.contact), ("last day", manifest.valid_until)):
        if text:
            table.add_row(label, text)
    table.add_row("schema", f"{manifest.schema.name}: {', '.join(manifest.schema.names)}")
    observed = ", ".join(manifest.schema.observed)
    table.add_row("domains read from data", f"{observed}: no noise covers them" if observed else "none")
    table.add_row("version", f"Sfumato {manifest.code}")
    out.print(table)
    if places < len(manifest.names):
        times = "twice" if places == 1 else f"{places + 1}/{places} of"
        many = f"{'two' if places == 1 else places + 1} of them is protected with {times} the epsilon only"
        out.print(f"A person with rows at {many}; --max-parties-per-person makes noise for more.", soft_wrap=True)
    for words in outlook(manifest.job, parties=places).warnings:
        err.print(f"warning: {words}.", soft_wrap=True)
    for name, public in {**manifest.keys, "SHA-256 of all this": manifest.digest}.items():
        out.print(f"{name}: {public}", soft_wrap=True)
