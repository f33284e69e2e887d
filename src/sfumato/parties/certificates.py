"""TLS certificates of a consortium: a small authority of its own, and one certificate for each member.

TLS keeps strangers and listeners out, and its names open inboxes. Who sent a message is not taken from it:
every message carries its own signature.
"""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from sfumato.errors import ProtocolError
from sfumato.files import write_new
from sfumato.parties.identity import read_secret, write_secret
from sfumato.privacy.entropy import SystemEntropy

AUTHORITY = "sfumato consortium"
"""The name of a consortium's own authority."""

DAYS = 365
"""How long certificates are valid."""


@dataclass(frozen=True)
class TlsFiles:
    """Where a member has the authority's certificate, its own certificate and its own key."""

    folder: Path

    @property
    def authority(self) -> Path:
        """The certificate of the consortium's authority."""
        return self.folder / "authority.pem"

    @property
    def certificate(self) -> Path:
        """The member's own certificate."""
        return self.folder / "certificate.pem"

    @property
    def key(self) -> Path:
        """The member's own key."""
        return self.folder / "tls-key.pem"

    def context(self, *, server: bool) -> ssl.SSLContext:
        """TLS 1.3 in which both sides show a certificate of the consortium's authority."""
        purpose = ssl.Purpose.CLIENT_AUTH if server else ssl.Purpose.SERVER_AUTH
        read_secret(self.key)  # refuses a key that others may read
        try:
            context = ssl.create_default_context(purpose, cafile=str(self.authority))
            context.load_cert_chain(self.certificate, self.key)
        except (OSError, ssl.SSLError):
            raise ProtocolError(
                f"{str(self.folder)!r} does not have a certificate, its key and the authority's certificate; make them "
                "with: sfumato consortium certificates"
            ) from None
        self.check()
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.verify_mode = ssl.CERT_REQUIRED
        return context

    def check(self) -> None:
        """Refuse a certificate that is not valid now, or is not the authority's though it has its name."""
        own, authority = (
            x509.load_pem_x509_certificate(path.read_bytes()) for path in (self.certificate, self.authority)
        )
        now, begin, end = datetime.now(UTC), own.not_valid_before_utc, own.not_valid_after_utc
        if not begin <= now <= end:
            late = "certificate has expired" if now > end else "certificate is not yet valid"
            raise ProtocolError(
                f"{str(self.certificate)!r}: the {late}: it holds from {begin:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} "
                f"UTC, and the clock of this machine says {now:%Y-%m-%d %H:%M}; set the clock, or get a new certificate"
            )
        if own.issuer == authority.subject:
            try:
                own.verify_directly_issued_by(authority)
            except (InvalidSignature, ValueError, TypeError):
                raise ProtocolError(
                    f"{str(self.certificate)!r} was made by another authority than {str(self.authority)!r}; give the "
                    "two that were made together"
                ) from None


def write_certificates(
    folder: Path, members: Sequence[str], server: str, hosts: Sequence[str], begin_in_days: int = 0
) -> None:
    """Make an authority and, in a folder for each member, what it needs for TLS; the authority's key is thrown away.

    Args:
        folder: a folder that gets one folder for each member.
        members: their names; `server` is one of them.
        server: the member that listens, the curator.
        hosts: the names or addresses under which it is reached.
        begin_in_days: when they begin to be valid, for a change of certificates that is prepared.
    """
    begin = datetime.now(UTC) + timedelta(days=begin_in_days)
    authority_key = _new_key()
    authority = _certificate(AUTHORITY, authority_key, AUTHORITY, authority_key, begin, authority=True)
    for member in members:
        files = TlsFiles(folder / member)
        try:
            files.folder.mkdir(parents=True)
        except FileExistsError:
            raise ProtocolError(
                f"{str(files.folder)!r} exists already; certificates are never overwritten: give another folder"
            ) from None
        key = _new_key()
        names = hosts if member == server else ()
        certificate = _certificate(member, key, AUTHORITY, authority_key, begin, hosts=names)
        write_secret(files.key, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        public = {files.certificate: certificate, files.authority: authority}
        write_new({path: one.public_bytes(Encoding.PEM) for path, one in public.items()})


def _new_key() -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(SystemEntropy().words(4).tobytes())


def _certificate(
    subject: str,
    key: Ed25519PrivateKey,
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
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin - timedelta(hours=1))  # clocks differ
        .not_valid_after(begin + timedelta(days=DAYS))
        .add_extension(x509.BasicConstraints(ca=authority, path_length=0 if authority else None), critical=True)
        .add_extension(_key_usage(authority), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
    )
    if not authority:
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
    if hosts:
        builder = builder.add_extension(x509.SubjectAlternativeName([_host(host) for host in hosts]), critical=False)
    return builder.sign(issuer_key, None)


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
