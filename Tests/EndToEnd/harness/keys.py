"""An issuer of our own: RSA keys, a JWKS server, and tokens minted with PyJWT, good and bad."""

import base64
import hashlib
import hmac
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from .sanitizer import PatientEvent

CLIENT_ID = "4example0client0id000000000"
ISSUER = "https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_EXAMPLE01"


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class SigningKey:
    def __init__(self, kid: str):
        self.kid = kid
        self.private = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    def public_pem(self) -> bytes:
        return self.private.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )

    def jwk(self) -> dict:
        numbers = self.private.public_key().public_numbers()
        return {
            "kty": "RSA",
            "kid": self.kid,
            "use": "sig",
            "alg": "RS256",
            "n": base64url(numbers.n.to_bytes((numbers.n.bit_length() + 7) // 8, "big")),
            "e": base64url(numbers.e.to_bytes(3, "big")),
        }


class KeySetServer:
    """Serves one document, which a test changes as it likes; counts the fetches, and waits while `open` is not set."""

    def __init__(self):
        self.document: dict | bytes = {"keys": []}
        self.status = 200
        self.headers: dict[str, str] = {}
        self.fetches = 0
        self.open = PatientEvent()
        self.open.set()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Head and body are two writes, and the second must not wait for an acknowledgement of the first.
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                outer.fetches += 1
                outer.open.wait(30)
                body = outer.body()
                self.send_response(outer.status)
                for name, value in outer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/.well-known/jwks.json"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def body(self) -> bytes:
        return self.document if isinstance(self.document, bytes) else json.dumps(self.document).encode()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class KeyServer(KeySetServer):
    """Serves the public halves of `keys`, which a test changes as it likes."""

    def __init__(self, *keys: SigningKey):
        self.keys = list(keys)
        super().__init__()
        self.headers["Content-Type"] = "application/json"

    def body(self) -> bytes:
        return json.dumps({"keys": [key.jwk() for key in self.keys]}).encode()


class Issuer:
    """Mints Cognito-shaped tokens: separate keys for access and ID tokens."""

    def __init__(self) -> None:
        self.access_key = SigningKey("access-key-1=")
        self.id_key = SigningKey("id-key-1")
        self.server = KeyServer(self.access_key, self.id_key)
        # Every token made, so that the logs can be searched for them.
        self.minted: list[str] = []

    def access_claims(self, **changes) -> dict:
        now = int(time.time())
        claims = {
            "sub": "8c3b1c52-0000-4000-8000-1234567890ab",
            "iss": ISSUER,
            "client_id": CLIENT_ID,
            "origin_jti": "11111111-0000-4000-8000-000000000000",
            "token_use": "access",
            "scope": "aws.cognito.signin.user.admin openid",
            "cognito:groups": ["beta", "drivers"],
            "auth_time": now - 10,
            "iat": now - 10,
            "exp": now + 3600,
            "jti": "22222222-0000-4000-8000-000000000000",
            "username": "8c3b1c52-0000-4000-8000-1234567890ab",
        }
        claims.update(changes)
        return {name: value for name, value in claims.items() if value is not ...}

    def id_claims(self, **changes) -> dict:
        now = int(time.time())
        claims = {
            "sub": "8c3b1c52-0000-4000-8000-1234567890ab",
            "iss": ISSUER,
            "aud": CLIENT_ID,
            "token_use": "id",
            "cognito:username": "8c3b1c52-0000-4000-8000-1234567890ab",
            "email": "ada@example.com",
            "email_verified": True,
            "auth_time": now - 10,
            "iat": now - 10,
            "exp": now + 3600,
        }
        claims.update(changes)
        return {name: value for name, value in claims.items() if value is not ...}

    def access(self, **changes) -> str:
        """An access token; a claim given as `...` is left out."""
        return self.sign(self.access_claims(**changes), self.access_key)

    def id(self, **changes) -> str:
        return self.sign(self.id_claims(**changes), self.id_key)

    def sign(self, claims: dict, key: SigningKey, kid: str | None = None, algorithm: str = "RS256") -> str:
        return self._note(
            jwt.encode(claims, key.private, algorithm=algorithm, headers={"kid": key.kid if kid is None else kid})
        )

    def raw(self, header: dict, claims: dict | bytes, signature: bytes = b"") -> str:
        """A token with exactly this header and signature, however wrong."""
        payload = claims if isinstance(claims, bytes) else json.dumps(claims).encode()
        return self._note(f"{base64url(json.dumps(header).encode())}.{base64url(payload)}.{base64url(signature)}")

    def hs256_with_public_key(self) -> str:
        """The classic confusion: HMAC keyed with the public key's PEM. PyJWT refuses to make one, so by hand."""
        header = base64url(json.dumps({"alg": "HS256", "kid": self.access_key.kid, "typ": "JWT"}).encode())
        payload = base64url(json.dumps(self.access_claims()).encode())
        mac = hmac.new(self.access_key.public_pem(), f"{header}.{payload}".encode(), hashlib.sha256).digest()
        return self._note(f"{header}.{payload}.{base64url(mac)}")

    def with_raw_claims(self, text: bytes) -> str:
        """Properly signed, whatever the payload is (duplicate names, numbers out of range)."""
        token = jwt.api_jws.encode(text, self.access_key.private, algorithm="RS256", headers={"kid": self.access_key.kid})
        return self._note(token)

    def _note(self, token: str) -> str:
        self.minted.append(token)
        return token


def flip_signature(token: str) -> str:
    """The token with one bit of its signature changed, still valid base64url."""
    head, payload, signature = token.split(".")
    decoded = bytearray(base64.urlsafe_b64decode(signature + "=" * (-len(signature) % 4)))
    decoded[len(decoded) // 2] ^= 1
    return f"{head}.{payload}.{base64url(bytes(decoded))}"
