"""Certificates: from requests, from an own authority, renewed, and struck off; and signatures taken back."""

import contextlib
import ssl
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from helpers_consortium import NAMES
from helpers_study import folder, refused, sfumato, study

from sfumato.errors import ProtocolError
from sfumato.identity import Signer, write_secret
from sfumato.parties.authority import Authority, write_certificates, write_request
from sfumato.parties.certificates import TlsFiles
from sfumato.parties.consortium import revoke, signed_manifest
from sfumato.parties.folder import FolderMailbox
from sfumato.parties.https import Reception, listening
from sfumato.parties.https_mailbox import HttpsMailbox
from sfumato.parties.letters import CURATOR

__all__ = ["folder", "study"]  # the fixtures


@contextlib.contextmanager
def listening_curator(study, files):
    reception = Reception(FolderMailbox(study.folder / "mail", study.manifest), study.manifest)
    with listening(reception, study.manifest, "127.0.0.1", 0, files) as port:
        yield f"https://localhost:{port}"


def fetched(study, url, files, name="north"):
    box = HttpsMailbox(url, study.manifest.study, files, 1000, sleep=lambda _: None)
    with contextlib.closing(box):
        return box.fetch(name, 0)


def test_a_member_keeps_its_own_key(study):
    tls = study.folder / "tls"
    request = study.folder / "north-tls" / "request.pem"
    made = sfumato("consortium", "request", "north", "--out", study.folder / "north-tls")
    assert made.exit_code == 0, made.output
    options = ["--host", "localhost", "--out", tls, "--authority", study.folder / "authority"]
    asked = sfumato(
        "consortium", "certificates", study.folder / "consortium", *options, "--request", f"north={request}"
    )
    assert asked.exit_code == 0, asked.output
    assert not (tls / "north" / "tls-key.pem").exists()
    for name in ("certificate.pem", "authority.pem"):
        (study.folder / "north-tls" / name).write_bytes((tls / "north" / name).read_bytes())
    with listening_curator(study, TlsFiles(tls / CURATOR)) as url:
        assert fetched(study, url, TlsFiles(study.folder / "north-tls")) == []
    # Renewal: the same authority makes new certificates, and the old ones are still trusted.
    again = sfumato(
        "consortium", "certificates", study.folder / "consortium", "--host", "localhost",
        "--out", study.folder / "tls2", "--authority", study.folder / "authority",
    )  # fmt: skip
    assert again.exit_code == 0, again.output
    with listening_curator(study, TlsFiles(study.folder / "tls2" / CURATOR)) as url:
        assert fetched(study, url, TlsFiles(study.folder / "north-tls")) == []


def test_a_request_in_another_name_is_refused(study):
    request = write_request(study.folder / "south-tls", "south")
    for member, path in (("north", request), ("north", study.folder / "schema.json"), ("stranger", request)):
        with pytest.raises(ProtocolError, match="is not a request of"):
            write_certificates(study.folder / "tls", [*NAMES, CURATOR], CURATOR, ["x"], requests={member: path})
    assert not (study.folder / "tls").exists()


def test_a_certificate_that_was_struck_off_is_not_accepted(study):
    authority = Authority.new()
    authority.save(study.folder / "authority")
    tls = study.folder / "tls"
    write_certificates(tls, [*NAMES, CURATOR], CURATOR, ["localhost"], authority=authority)
    for name in ("north", "south"):
        result = sfumato(
            "consortium", "strike", tls / name / "certificate.pem", "--authority", study.folder / "authority",
            "--out", tls / CURATOR / "revoked.pem",
        )  # fmt: skip
        assert result.exit_code == 0, result.output
    assert "2 certificates" in result.output
    with listening_curator(study, TlsFiles(tls / CURATOR)) as url:
        assert fetched(study, url, TlsFiles(tls / "west"), "west") == []
        for name in ("north", "south"):
            with pytest.raises(ProtocolError, match="does not accept the certificate"):
                fetched(study, url, TlsFiles(tls / name), name)


class Hospital:
    """Certificates as a hospital's authority makes them: other keys, other names, an authority in between."""

    def __init__(self, root_lacks=(), leaf_lacks=()):
        self.leaf_lacks = leaf_lacks
        self.root, self.middle = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
        self.root_pem = _signed("Hospital Root", self.root, "Hospital Root", self.root, True, lacks=root_lacks)
        self.middle_pem = _signed("Hospital Issuing", self.middle, "Hospital Root", self.root, True)

    def write(self, place, name, hosts=()):
        place.mkdir(parents=True)
        key = ec.generate_private_key(ec.SECP256R1())
        write_secret(place / "tls-key.pem", key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        own = _signed(name, key, "Hospital Issuing", self.middle, False, hosts, self.leaf_lacks)
        (place / "certificate.pem").write_bytes(own + self.middle_pem)
        (place / "authority.pem").write_bytes(self.root_pem)
        return TlsFiles(place)


def _signed(subject, key, issuer, issuer_key, authority, hosts=(), lacks=()):
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=30))
    )
    usage = dict.fromkeys(
        ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "encipher_only",
         "decipher_only"), False,
    )  # fmt: skip
    usage |= {"digital_signature": not authority, "key_cert_sign": authority, "crl_sign": authority}
    extensions = [
        (x509.BasicConstraints(ca=authority, path_length=None), "critical" not in lacks),
        (x509.KeyUsage(**usage), True),
        (x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False),
        (x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), False),
    ]
    if hosts:
        extensions.append((x509.SubjectAlternativeName([x509.DNSName(one) for one in hosts]), False))
    for extension, critical in extensions:
        if type(extension) not in lacks:
            builder = builder.add_extension(extension, critical)
    return builder.sign(issuer_key, hashes.SHA256()).public_bytes(Encoding.PEM)


def test_certificates_of_an_institutions_own_authority(study):
    hospital = Hospital()
    with listening_curator(study, hospital.write(study.folder / "own" / CURATOR, CURATOR, ["localhost"])) as url:
        assert fetched(study, url, hospital.write(study.folder / "own" / "north", "north")) == []


@pytest.mark.parametrize(
    ("root_lacks", "leaf_lacks", "words"),
    [
        ((), (x509.AuthorityKeyIdentifier,), "certificate.pem.* without an authority key identifier"),
        ((x509.SubjectKeyIdentifier,), (), "authority.pem.* without a subject key identifier"),
        ((x509.KeyUsage,), (), "authority.pem.* without the key usage of an authority"),
        (("critical",), (), "authority.pem.* without basic constraints that are critical"),
    ],
)
def test_what_strict_checks_refuse_is_named_where_it_lies(study, monkeypatch, root_lacks, leaf_lacks, words):
    hospital = Hospital(root_lacks, leaf_lacks)
    files = [hospital.write(study.folder / name, name, ["localhost"]) for name in ("north", CURATOR)]
    with pytest.raises(ProtocolError, match=words):
        files[0].context(server=False)
    monkeypatch.setattr(TlsFiles, "check", lambda self: None)
    with (
        listening_curator(study, files[1]) as url,
        pytest.raises(ProtocolError, match="has no certificate of this consortium"),
    ):
        fetched(study, url, files[0])  # so it would be refused, with every version of Python


def test_our_own_certificates_pass_strict_checks_with_a_list_of_what_was_struck_off(study):
    authority = Authority.new()
    write_certificates(study.folder / "tls", [*NAMES, CURATOR], CURATOR, ["localhost"], authority=authority)
    files = TlsFiles(study.folder / "tls" / CURATOR)
    for number, name in enumerate(("north", "south"), start=1):
        authority.revoke([study.folder / "tls" / name / "certificate.pem"], files.revoked)
        found = x509.load_pem_x509_crl(files.revoked.read_bytes()).extensions
        assert found.get_extension_for_class(x509.CRLNumber).value.crl_number == number
        assert found.get_extension_for_class(x509.AuthorityKeyIdentifier)
    assert files.context(server=True).verify_flags & ssl.VerifyFlags.VERIFY_X509_STRICT
    with listening_curator(study, files) as url:
        assert fetched(study, url, TlsFiles(study.folder / "tls" / "west"), "west") == []


def test_a_signature_that_was_taken_back_ends_the_study_for_all_who_know(study):
    place = study.folder / "consortium"
    forged = place / "signatures" / "south.revoked.json"
    forged.write_text('{"member": "south", "revoked": "00"}')
    signed_manifest(place)  # anybody can write a file; only its signature counts
    forged.unlink()
    taken = sfumato("consortium", "revoke", place, "--key", place / "north.key")
    assert taken.exit_code == 0, taken.output
    with pytest.raises(ProtocolError, match="north has taken its signature back"):
        signed_manifest(place)
    refused(sfumato("consortium", "check", place), "north has taken its signature back")
    with pytest.raises(ProtocolError, match="is not in the manifest"):
        revoke(place, Signer.new())


def test_a_party_signs_only_if_its_table_fits(study):
    place, key = study.folder / "consortium", study.folder / "consortium" / "north.key"
    assert sfumato("consortium", "sign", place, "--key", key, "--data", study.folder / "north.csv").exit_code == 0
    (place / "signatures" / "north.json").unlink()
    (study.folder / "north.csv").write_text("smoker,ill,ward\ntrue,false,z\n")
    refused(sfumato("consortium", "sign", place, "--key", key, "--data", study.folder / "north.csv"), "ward")
    assert not (place / "signatures" / "north.json").exists()
