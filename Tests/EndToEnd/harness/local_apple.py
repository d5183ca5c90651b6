"""The local Apple that LocalPool is with a section `apple`: a team, its key, and the phone's part."""

from pathlib import Path

import httpx
import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from .gateway import LocalPool, merged
from .local_pool_control import control
from .sanitizer import PATIENCE

APPLE_ISSUER = "https://appleid.apple.com"
TEAM_ID = "TEAM000001"
KEY_ID = "KEY0000001"
APP = "com.example.app"
SIBLING_APP = "com.example.pro"


def team_key() -> str:
    """A new key as Apple's developer site gives it out: PKCS#8 in PEM."""
    return (
        ec.generate_private_key(ec.SECP256R1())
        .private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        .decode()
    )


class LocalApple(LocalPool):
    """`gatehouse local-pool` with an Apple: `key_path` is the team's key, `jwks_url` and `url` Apple's."""

    def __init__(self, directory: Path, name: str = "local-apple", changes: dict | None = None, apple: dict | None = None):
        directory.mkdir(parents=True, exist_ok=True)
        self.key_path = directory / f"{name}.p8"
        if not self.key_path.exists():
            self.key_path.write_text(team_key())
        section = {
            "team_id": TEAM_ID,
            "client_ids": [APP, SIBLING_APP],
            "keys": [{"id": KEY_ID, "key": f"file:{self.key_path}"}],
        }
        super().__init__(directory, name, merged(changes or {}, {"apple": merged(section, apple or {})}))
        self.apple_keys_url = f"{self.url}/auth/keys"

    def control_apple(self, path: str, body: dict) -> dict:
        answer = control(self, "POST", f"apple/{path}", body)
        assert isinstance(answer, dict)
        return answer

    def apple_sign_in(self, user: str = "ada@icloud.example", app: str = APP, nonce: str | None = None, **more) -> dict:
        """The phone's result for the app: `identity_token`, `authorization_code`, `user`, … The nonce goes into the token
        as it is: apps give the SHA-256 of their own, in hex."""
        body = {"user": user, "client_id": app, **more}
        return self.control_apple("sign-in", body if nonce is None else {**body, "nonce": nonce})

    def event(self, kind: str, user: str, app: str = APP, **more) -> dict:
        """The user does something at Apple: `{"payload": …, "delivery": …}`."""
        return self.control_apple("events", {"type": kind, "user": user, "client_id": app, **more})

    def account(self, user: str) -> dict:
        """The user's apps, and how many refresh tokens each has."""
        answer = httpx.get(f"{self.url}/_local/apple/account", params={"user": user}, timeout=10 * PATIENCE)
        return answer.json()

    def client_secret(self, app: str = APP, life: int = 300) -> str:
        """As an app's server makes it, with PyJWT, by the local Apple's clock."""
        now = control(self, "GET", "clock")["now"]
        claims = {"iss": TEAM_ID, "iat": now, "exp": now + life, "aud": APPLE_ISSUER, "sub": app}
        return jwt.encode(claims, self.key_path.read_text(), "ES256", {"kid": KEY_ID})

    def post(self, path: str, app: str = APP, **fields: str) -> httpx.Response:
        """A form to one of Apple's endpoints, with the app's id and secret unless others are given."""
        form = {"client_id": app, "client_secret": self.client_secret(app), **fields}
        return httpx.post(f"{self.url}{path}", data=form, timeout=10 * PATIENCE)

    def exchange(self, code: str, app: str = APP, **fields: str) -> httpx.Response:
        return self.post("/auth/token", app, grant_type="authorization_code", code=code, **fields)
