"""An app that signs in with Apple at a gateway: a fresh nonce and identity token for each time, every secret noted."""

import hashlib
import json
import secrets
import sqlite3
from pathlib import Path

from . import raw
from .account import Ledger
from .gateway import merged
from .local_apple import APP, KEY_ID, SIBLING_APP, TEAM_ID, LocalApple

SESSION_ISSUER = "https://gateway.example"
PREFIX = "/api/auth"
CONFLICT = "Please use the other app."


def apple_settings(apple: LocalApple, sign_in: dict | None = None) -> dict:
    """Issuers, and `sign_in.apple` with everything switched on; `sign_in` is laid over that."""
    whole = {
        "issuer": "apple",
        "roles": {APP: "customer", SIBLING_APP: "driver"},
        "role_conflict_message": CONFLICT,
        "session": {"issuer": "sessions"},
        "server": {
            "team_id": TEAM_ID,
            "key_id": KEY_ID,
            "private_key": f"file:{apple.key_path}",
            "endpoint": apple.url,
            "allow_insecure_http": True,
        },
    }
    return {
        "issuers": {
            "apple": {
                "profile": "apple",
                "audiences": [APP, SIBLING_APP],
                "jwks_url": apple.apple_keys_url,
                "allow_insecure_http": True,
            },
            "sessions": {
                "profile": "gatehouse",
                "issuer": SESSION_ISSUER,
                "audiences": ["api"],
                "own_keys": True,
            },
        },
        "sign_in": {"apple": merged(whole, sign_in or {})},
    }


def sha256hex(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class AppleApp:
    """One app talking to one gateway and one Apple."""

    def __init__(self, port: int, apple: LocalApple, ledger: Ledger, app: str = APP):
        self.port = port
        self.apple = apple
        self.ledger = ledger
        self.app = app

    def body(self, user: str, nonce: str | None = None, **phone) -> dict:
        """The body of a sign-in, for the test to change. `phone` goes to ``LocalApple.apple_sign_in``."""
        nonce = nonce or secrets.token_urlsafe(24)
        answer = self.apple.apple_sign_in(user, self.app, sha256hex(nonce), **phone)
        self.ledger.note(answer["identity_token"], answer["authorization_code"], nonce)
        return {
            "identity_token": answer["identity_token"],
            "authorization_code": answer["authorization_code"],
            "nonce": nonce,
            "userIdentifier": answer["user"],
        }

    def post(self, call: str, body: object = None, token: str | None = None) -> raw.Response:
        return self.send("POST", call, body, token)

    def send(self, method: str, call: str, body: object = None, token: str | None = None) -> raw.Response:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        data = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
        answer = raw.exchange(self.port, method, f"{PREFIX}/{call}", headers, data)
        if answer.body:
            try:
                given = answer.json()
            except ValueError:
                return answer
            self.ledger.note(*(given[name] for name in ("token", "nonce") if isinstance(given.get(name), str)))
        return answer

    def sign_in(self, user: str, **more) -> raw.Response:
        return self.post("apple", {**self.body(user), **more})

    def signed_in(self, user: str, **more) -> dict:
        answer = self.sign_in(user, **more)
        assert answer.status == 200, answer.body
        return answer.json()

    def validates(self, token: str) -> bool:
        status = self.post("validate", token=token).status
        assert status in (200, 401)
        return status == 200


def stored(gateway) -> bytes:
    """Everything that is in the state directory."""
    return b"".join(path.read_bytes() for path in Path(gateway.config["state_directory"]).rglob("*") if path.is_file())


def kept_addresses(gateway) -> list[str]:
    """The e-mail addresses of all users."""
    path = Path(gateway.config["state_directory"]) / "gatehouse.sqlite"
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        return [row[0] for row in database.execute("SELECT email FROM users")]
