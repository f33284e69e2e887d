"""The small authority of a consortium: it certifies members, from requests where a member keeps its own key.

Its key is thrown away unless it is kept on purpose: for renewal, for further members, and to strike off certificates.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from sfumato import files
from sfumato.errors import ProtocolError
from sfumato.identity import read_secret, write_secret
from sfumato.parties.certificates import TlsFiles
from sfumato.privacy.entropy import SystemEntropy

AUTHORITY = "sfumato consortium"
"""The name of a consortium's own authority."""

DAYS = 365
"""How long certificates are valid."""


@dataclass(frozen=True, eq=False)
class Authority:
    """The key and the certificate of an authority."""

    key: Ed25519PrivateKey
    certificate: x509.Certificate

    @classmethod
    def new(cls, begin: datetime | None = None) -> Self:
        """An authority that nobody else has."""
        key = _new_key()
        start = begin or datetime.now(UTC)
        return cls(key, _certificate(AUTHORITY, key.public_key(), AUTHORITY, key, start, authority=True))

    @classmethod
    def load(cls, folder: Path) -> Self:
        """The authority that `save` wrote."""
        try:
            key = load_pem_private_key(read_secret(folder / "authority-key.pem"), None)
            certificate = x509.load_pem_x509_certificate((folder / "authority.pem").read_bytes())
        except (OSError, ValueError, TypeError):
            key = None
        if not isinstance(key, Ed25519PrivateKey):
            raise ProtocolError(f"{str(folder)!r} does not have an authority; give the folder of --authority")
        return cls(key, certificate)

    def save(self, folder: Path) -> None:
        """Keep the authority in a folder that only its owner may look into."""
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_secret(folder / "authority-key.pem", _secret(self.key))
        files.write(folder / "authority.pem", self.certificate.public_bytes(Encoding.PEM))

    def certify(
        self, member: str, key: CertificatePublicKeyTypes, hosts: Sequence[str], begin: datetime
    ) -> x509.Certificate:
        """A certificate of a member; one with hosts is for the member that listens."""
        return _certificate(member, key, AUTHORITY, self.key, begin, hosts=hosts)

    def revoke(self, certificates: Sequence[Path], to: Path) -> int:
        """Write the list of certificates that are no longer accepted, added to an earlier one; how many it has."""
        builder = x509.CertificateRevocationListBuilder().issuer_name(self.certificate.subject)
        now, serials, number = datetime.now(UTC), set(), 1
        try:
            if to.exists():
                earlier = x509.load_pem_x509_crl(to.read_bytes())
                serials |= {one.serial_number for one in earlier}
                number += _number(earlier)
            serials |= {x509.load_pem_x509_certificate(path.read_bytes()).serial_number for path in certificates}
        except (OSError, ValueError):
            raise ProtocolError("a certificate or the earlier list cannot be read; give PEM files") from None
        for serial in sorted(serials):
            one = x509.RevokedCertificateBuilder().serial_number(serial).revocation_date(now).build()
            builder = builder.add_revoked_certificate(one)
        builder = builder.last_update(now - timedelta(hours=1)).next_update(now + timedelta(days=DAYS))
        builder = builder.add_extension(x509.CRLNumber(number), critical=False)
        builder = builder.add_extension(_issued_by(self.key), critical=False)
        files.write(to, builder.sign(self.key, None).public_bytes(Encoding.PEM))
        return len(serials)


def write_request(folder: Path, member: str) -> Path:
    """Make a TLS key that never leaves, and a request to certify it, in a new folder; gives the request."""
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise ProtocolError(
            f"{str(folder)!r} exists already; keys are never overwritten: give another folder"
        ) from None
    key = _new_key()
    write_secret(TlsFiles(folder).key, _secret(key))
    request = x509.CertificateSigningRequestBuilder().subject_name(_name(member)).sign(key, None)
    files.write(folder / "request.pem", request.public_bytes(Encoding.PEM))
    return folder / "request.pem"


def write_certificates(
    folder: Path,
    members: Sequence[str],
    server: str,
    hosts: Sequence[str],
    *,
    requests: Mapping[str, Path] | None = None,
    authority: Authority | None = None,
    begin_in_days: int = 0,
) -> None:
    """Make, in a folder for each member, what it needs for TLS.

    Args:
        folder: a folder that gets one folder for each member.
        members: their names; `server` is one of them.
        server: the member that listens, the curator.
        hosts: the names or addresses under which it is reached.
        requests: of members that have made their own key; their folders get no key.
        authority: who certifies; by default a new one, whose key is thrown away.
        begin_in_days: when they begin to be valid, for a change of certificates that is prepared.
    """
    begin = datetime.now(UTC) + timedelta(days=begin_in_days)
    authority = authority or Authority.new(begin)
    asked = {member: _requested(path, member, members) for member, path in (requests or {}).items()}
    for member in members:
        place = TlsFiles(folder / member)
        try:
            place.folder.mkdir(parents=True)
        except FileExistsError:
            raise ProtocolError(
                f"{str(place.folder)!r} exists already; certificates are never overwritten: give another folder"
            ) from None
        key = asked.get(member)
        if key is None:
            private = _new_key()
            write_secret(place.key, _secret(private))
            key = private.public_key()
        certificate = authority.certify(member, key, hosts if member == server else (), begin)
        files.write(place.certificate, certificate.public_bytes(Encoding.PEM))
        files.write(place.authority, authority.certificate.public_bytes(Encoding.PEM))


def _requested(path: Path, member: str, members: Sequence[str]) -> CertificatePublicKeyTypes:
    """The key of a request; refuses one that is damaged, or in another name."""
    try:
        request = x509.load_pem_x509_csr(path.read_bytes())
        names = [one.value for one in request.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
        sound = request.is_signature_valid and names == [member] and member in members
    except (OSError, ValueError):
        sound = False
    if not sound:
        raise ProtocolError(
            f"{str(path)!r} is not a request of {member!r}; make it with: sfumato consortium request {member}"
        )
    return request.public_key()


def _secret(key: Ed25519PrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _new_key() -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(SystemEntropy().words(4).tobytes())


def _certificate(
    subject: str,
    key: CertificatePublicKeyTypes,
    issuer: str,
    issuer_key: Ed25519PrivateKey,
    begin: datetime,
    *,
    authority: bool = False,
    hosts: Sequence[str] = (),
) -> x509.Certificate:
    usage = ExtendedKeyUsageOID.SERVER_AUTH if hosts else ExtendedKeyUsageOID.CLIENT_AUTH
    builder = (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .issuer_name(_name(issuer))
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin - timedelta(hours=1))  # clocks differ
        .not_valid_after(begin + timedelta(days=DAYS))
        .add_extension(x509.BasicConstraints(ca=authority, path_length=0 if authority else None), critical=True)
        .add_extension(_key_usage(authority), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(_issued_by(issuer_key), critical=False)
    )
    if not authority:
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
    if hosts:
        builder = builder.add_extension(x509.SubjectAlternativeName([_host(host) for host in hosts]), critical=False)
    return builder.sign(issuer_key, None)


def _issued_by(key: Ed25519PrivateKey) -> x509.AuthorityKeyIdentifier:
    return x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key())


def _number(earlier: x509.CertificateRevocationList) -> int:
    """The number of a list of struck certificates; lists of Sfumato 0.2 have none."""
    try:
        return earlier.extensions.get_extension_for_class(x509.CRLNumber).value.crl_number
    except x509.ExtensionNotFound:
        return 0


def _key_usage(authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not authority,
        key_cert_sign=authority,
        crl_sign=authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
