"""What a member needs for TLS: its certificate, its key, whom it trusts, and who was struck off.

TLS keeps strangers and listeners out, and its names open inboxes. Who sent a message is not taken from it:
every message carries its own signature. Certificates come from `parties.authority`, or from an institution's own
authority: the common name must be the member's name, and the curator's must be for the hosts where it is reached.
They must have the extensions that RFC 5280 asks for, which Python looks for by default from 3.13 on.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature

from sfumato.errors import ProtocolError
from sfumato.identity import read_secret


def hosts_of(certificate: Path) -> tuple[str, ...]:
    """The hosts that a certificate is for, by name or address."""
    try:
        own = x509.load_pem_x509_certificate(certificate.read_bytes())
        names = own.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (OSError, ValueError, x509.ExtensionNotFound):
        raise ProtocolError(f"{str(certificate)!r} is not a certificate in PEM that names its hosts") from None
    addresses = [str(one) for one in names.get_values_for_type(x509.IPAddress)]
    return (*names.get_values_for_type(x509.DNSName), *addresses)


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

    @property
    def revoked(self) -> Path:
        """A list of certificates that are no longer accepted, if there is one."""
        return self.folder / "revoked.pem"

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
        if self.revoked.exists():
            context.load_verify_locations(self.revoked)
            context.verify_flags |= ssl.VerifyFlags.VERIFY_CRL_CHECK_LEAF
        context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_STRICT  # members have several versions of Python
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.verify_mode = ssl.CERT_REQUIRED
        return context

    def check(self) -> None:
        """Refuse a certificate that is not valid now, that strict checks refuse, or that another authority made."""
        chain, trusted = (
            x509.load_pem_x509_certificates(path.read_bytes()) for path in (self.certificate, self.authority)
        )
        own, authority = chain[0], trusted[0]
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
        for path, certificates in ((self.certificate, chain), (self.authority, trusted)):
            if lacks := next(filter(None, map(_lacks, certificates)), ""):
                raise ProtocolError(
                    f"{str(path)!r} has a certificate without {lacks}, which RFC 5280 asks for and the other side will "
                    "not accept; ask who made it for one that has it, or make all with: sfumato consortium certificates"
                )


def _lacks(certificate: x509.Certificate) -> str:
    """The first extension that strict checks look for and do not find; the other side would close without a word."""
    found = {type(one.value): one.critical for one in certificate.extensions}
    constraints, usage = x509.BasicConstraints, x509.KeyUsage
    issues = constraints in found and certificate.extensions.get_extension_for_class(constraints).value.ca
    if issues and not found[constraints]:
        return "basic constraints that are critical"
    if issues and usage not in found:
        return "the key usage of an authority"
    if issues and x509.SubjectKeyIdentifier not in found:
        return "a subject key identifier"
    if certificate.issuer != certificate.subject and x509.AuthorityKeyIdentifier not in found:
        return "an authority key identifier"
    return ""
