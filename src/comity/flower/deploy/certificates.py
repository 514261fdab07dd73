"""Certificates and keys for a deployment: an authority, a server's certificate, and a key for each client.

Flower's SuperLink presents the server's certificate, and clients verify it with the authority's. A SuperNode
authenticates with a registered elliptic curve key, which Flower reads in OpenSSH's format.
"""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass, field

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ec import SECP384R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_YEARS_VALID = 5
_DAY = datetime.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Signed:
    """A certificate and its private key, both as PEM text."""

    certificate: bytes
    key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class NodeKey:
    """A SuperNode's keys in OpenSSH's format: the public key is registered, the private one stays at the site."""

    public: bytes
    private: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Authority:
    """The certificate authority that signs the server's certificate; its key should be kept offline."""

    certificate: x509.Certificate
    key: EllipticCurvePrivateKey = field(repr=False)

    @property
    def signed(self) -> Signed:
        """Its certificate and key as PEM text."""
        return _pem(self.certificate, self.key)

    def sign_server(self, hosts: Iterable[str]) -> Signed:
        """Return a certificate for a server with these host names and IP addresses."""
        names = tuple(map(_subject_alternative, hosts))
        key = generate_private_key(SECP384R1())
        certificate = (
            _builder("comity SuperLink", self.certificate.subject, key)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(sign_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()),
                critical=False,
            )
            .sign(self.key, hashes.SHA384())
        )
        return _pem(certificate, key)


def make_authority() -> Authority:
    """Make an authority that may sign servers' certificates, but no other authority's."""
    key = generate_private_key(SECP384R1())
    name = _name("comity federation authority")
    certificate = (
        _builder("comity federation authority", name, key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(sign_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA384())
    )
    return Authority(certificate, key)


def make_node_key() -> NodeKey:
    """Make the pair of keys with which a SuperNode authenticates."""
    key = generate_private_key(SECP384R1())
    return NodeKey(
        public=key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH) + b"\n",
        private=key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()),
    )


def _builder(common_name: str, issuer: x509.Name, key: EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    """Return a builder with what all certificates share. They are valid from a day ago, since clocks differ."""
    now = datetime.datetime.now(datetime.UTC)
    return x509.CertificateBuilder(
        issuer_name=issuer,
        subject_name=_name(common_name),
        public_key=key.public_key(),
        serial_number=x509.random_serial_number(),
        not_valid_before=now - _DAY,
        not_valid_after=now + _YEARS_VALID * 365 * _DAY,
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _subject_alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _usage(*, sign_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=sign_certificates,
        crl_sign=sign_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate, key: EllipticCurvePrivateKey) -> Signed:
    return Signed(
        certificate.public_bytes(Encoding.PEM),
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
    )
