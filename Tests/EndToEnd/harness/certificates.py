"""Certificates made for a test: an authority and what it signs."""

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID


@dataclass
class Issued:
    """The PEM files of a certificate and its key."""

    certificate: Path
    key: Path

    def settings(self) -> dict:
        return {"certificate": str(self.certificate), "key": str(self.key)}


class Authority:
    """A certificate authority of the test's own; `pem` is the file a client trusts."""

    def __init__(self, directory: Path, name: str = "authority"):
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"Gatehouse tests {name}")])
        builder = _builder(self._name, self._name, self._key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        self._certificate = builder.sign(self._key, hashes.SHA256())
        self.pem = directory / f"{name}.pem"
        self.pem.write_bytes(self._certificate.public_bytes(serialization.Encoding.PEM))

    def issue(self, *names: str, kind: str = "ec", file: str | None = None, hours: float = 48) -> Issued:
        """A certificate for these DNS names and addresses that ends in `hours`; `kind` is the key's: `ec` or `rsa`."""
        key = ec.generate_private_key(ec.SECP256R1()) if kind == "ec" else rsa.generate_private_key(65537, 2048)
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
        usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        certificate = (
            _builder(subject, self._name, key.public_key(), hours)
            .add_extension(x509.SubjectAlternativeName([_general_name(name) for name in names]), critical=False)
            .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        stem = file or names[0].replace("*", "any")
        issued = Issued(self._directory / f"{stem}.pem", self._directory / f"{stem}.key")
        issued.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        issued.key.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return issued


def _builder(subject, issuer, public_key, hours: float = 48) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + datetime.timedelta(hours=min(hours, 0) - 1))
        .not_valid_after(now + datetime.timedelta(hours=hours))
    )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
