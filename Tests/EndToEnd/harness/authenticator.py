"""A software authenticator (WebAuthn Level 3), whose messages the library of Yubico writes."""

import base64
import hashlib
import os

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from fido2.cose import ES256, RS256, EdDSA
from fido2.webauthn import (
    AttestationObject,
    AttestedCredentialData,
    AuthenticatorData,
    CollectedClientData,
    PublicKeyCredentialCreationOptions,
    PublicKeyCredentialRequestOptions,
)

FLAG = AuthenticatorData.FLAG
PRESENT_AND_VERIFIED = FLAG.UP | FLAG.UV


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class Passkey:
    """One credential, as a platform authenticator keeps it. `changes` make single values wrong."""

    def __init__(self, origin: str, algorithm: str = "ES256"):
        self.origin = origin
        self.algorithm = algorithm
        self.id = os.urandom(32)
        self.count = 0
        self.user_handle = b""
        if algorithm == "ES256":
            self.key = ec.generate_private_key(ec.SECP256R1())
            self.public_key = ES256.from_cryptography_key(self.key.public_key())
        elif algorithm == "EdDSA":
            self.key = ed25519.Ed25519PrivateKey.generate()
            self.public_key = EdDSA.from_cryptography_key(self.key.public_key())
        else:
            self.key = rsa.generate_private_key(65537, 2048)
            self.public_key = RS256.from_cryptography_key(self.key.public_key())

    def sign(self, message: bytes) -> bytes:
        if self.algorithm == "ES256":
            return self.key.sign(message, ec.ECDSA(hashes.SHA256()))
        if self.algorithm == "EdDSA":
            return self.key.sign(message)
        return self.key.sign(message, padding.PKCS1v15(), hashes.SHA256())

    def create(self, options: dict, attestation: str = "none", **changes) -> dict:
        """RegistrationResponseJSON to the options of a relying party."""
        asked = PublicKeyCredentialCreationOptions.from_dict(options)
        assert any(parameter.alg == self.public_key.ALGORITHM for parameter in asked.pub_key_cred_params)
        self.user_handle = asked.user.id
        data = AuthenticatorData.create(
            hashlib.sha256(changes.get("relying_party", asked.rp.id).encode()).digest(),
            changes.get("flags", PRESENT_AND_VERIFIED) | FLAG.AT,
            self.count,
            AttestedCredentialData.create(b"\0" * 16, self.id, self.public_key),
        )
        client = self.client_data("webauthn.create", asked.challenge, changes)
        statement = {}
        if attestation == "packed":
            statement = {"alg": self.public_key.ALGORITHM, "sig": self.sign(bytes(data) + client.hash)}
        return {
            "id": encoded(self.id),
            "rawId": encoded(self.id),
            "type": "public-key",
            "authenticatorAttachment": "platform",
            "clientExtensionResults": {},
            "response": {
                "clientDataJSON": encoded(bytes(client)),
                "attestationObject": encoded(bytes(AttestationObject.create(attestation, data, statement))),
                "transports": ["internal"],
            },
        }

    def get(self, options: dict, **changes) -> dict:
        """AuthenticationResponseJSON to the options of a relying party."""
        asked = PublicKeyCredentialRequestOptions.from_dict(options)
        self.count = changes.get("count", self.count + 1)
        data = AuthenticatorData.create(
            hashlib.sha256(changes.get("relying_party", asked.rp_id).encode()).digest(),
            changes.get("flags", PRESENT_AND_VERIFIED),
            self.count,
        )
        client = self.client_data("webauthn.get", asked.challenge, changes)
        signature = self.sign(bytes(data) + client.hash)
        if changes.get("signature"):
            signature = changes["signature"](signature)
        return {
            "id": encoded(self.id),
            "rawId": encoded(self.id),
            "type": "public-key",
            "clientExtensionResults": {},
            "response": {
                "clientDataJSON": encoded(bytes(client)),
                "authenticatorData": encoded(bytes(data)),
                "signature": encoded(signature),
                "userHandle": encoded(changes.get("user_handle", self.user_handle)),
            },
        }

    def client_data(self, kind: str, challenge: bytes, changes: dict) -> CollectedClientData:
        return CollectedClientData.create(
            changes.get("kind", kind), changes.get("challenge", challenge), changes.get("origin", self.origin)
        )
