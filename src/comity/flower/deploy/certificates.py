"""Certificates and keys for a deployment: an authority, a server's certificate, and a key for each client.

Flower's SuperLink presents the server's certificate, and clients verify it with the authority's. A SuperNode
authenticates with a registered elliptic curve key, which Flower reads in OpenSSH's format.
"""

import datetime
from collections.abc import Iterable
from dataclasses import dataclass, field

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ec import SECP384R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from comity.flower.deploy.addresses import ip_address

_AUTHORITY_NAME = "comity federation authority"
_YEARS_VALID = 5
_DAY = datetime.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A private key and what others may see, both as text: a server's certificate, or a SuperNode's public key."""

    public: bytes
    private: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Authority:
    """The authority that signs the server's certificate, but no other authority's; its key should be kept offline."""

    key: EllipticCurvePrivateKey = field(repr=False, default_factory=lambda: generate_private_key(SECP384R1()))

    def sign_itself(self) -> KeyPair:
        """Return a new certificate of the authority, and its key."""
        return self._sign(_AUTHORITY_NAME, self.key, x509.BasicConstraints(ca=True, path_length=0))

    def sign_server(self, hosts: Iterable[str]) -> KeyPair:
        """Return a certificate for a server with these host names and IP addresses, and its new key."""
        return self._sign(
            "comity SuperLink",
            generate_private_key(SECP384R1()),
            x509.BasicConstraints(ca=False, path_length=None),
            x509.SubjectAlternativeName([*map(_subject_alternative, hosts)]),
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]),
            x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()),
        )

    def _sign(
        self,
        name: str,
        key: EllipticCurvePrivateKey,
        constraints: x509.BasicConstraints,
        *extensions: x509.ExtensionType,
    ) -> KeyPair:
        """Return a certificate of a key, and the key; it is valid from a day ago, since clocks differ."""
        now = datetime.datetime.now(datetime.UTC)
        usage = x509.KeyUsage(
            digital_signature=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            key_cert_sign=constraints.ca,
            crl_sign=constraints.ca,
            encipher_only=False,
            decipher_only=False,
        )
        builder = x509.CertificateBuilder(
            issuer_name=_x509_name(_AUTHORITY_NAME),
            subject_name=_x509_name(name),
            public_key=key.public_key(),
            serial_number=x509.random_serial_number(),
            not_valid_before=now - _DAY,
            not_valid_after=now + _YEARS_VALID * 365 * _DAY,
        )
        for critical in (constraints, usage):
            builder = builder.add_extension(critical, critical=True)
        for extension in (x509.SubjectKeyIdentifier.from_public_key(key.public_key()), *extensions):
            builder = builder.add_extension(extension, critical=False)
        return KeyPair(
            builder.sign(self.key, hashes.SHA384()).public_bytes(Encoding.PEM),
            key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
        )


def make_node_key() -> KeyPair:
    """Make the keys of a SuperNode in OpenSSH's format: the public one is registered, the private one stays there."""
    key = generate_private_key(SECP384R1())
    return KeyPair(
        key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH) + b"\n",
        key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()),
    )


def _x509_name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _subject_alternative(host: str) -> x509.GeneralName:
    ip = ip_address(host)
    return x509.DNSName(host) if ip is None else x509.IPAddress(ip)
