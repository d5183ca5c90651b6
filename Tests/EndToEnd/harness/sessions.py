"""The gateway's own sessions: settings for them, and sessions made in a state directory as the gateway makes them.

A test that is about sessions and not about signing in begins its sessions here: rows in the gateway's database, and a
token that PyJWT signs with the gateway's key.
"""

import json
import secrets
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path

import jwt

from .account import Account, Ledger
from .gateway import Gateway

ISSUER = "https://api.example.com"
PREFIX = "/api/auth"
DAY = 86_400
WINDOW = 60


def session_settings(jwks_url: str, apple: dict | None = None, **session) -> dict:
    """The settings of a gateway that keeps sessions. The keys served at `jwks_url` count as Apple's."""
    return {
        "issuers": {
            "apple": {
                "profile": "apple",
                "audiences": ["com.example.app", "com.example.pro"],
                "jwks_url": jwks_url,
                "allow_insecure_http": True,
            },
            "sessions": {"profile": "gatehouse", "issuer": ISSUER, "audiences": ["api"], "own_keys": True},
        },
        "sign_in": {
            "apple": {
                "issuer": "apple",
                "roles": {"com.example.app": "customer", "com.example.pro": "driver"},
                "session": {"issuer": "sessions", **session},
                **(apple or {}),
            }
        },
    }


@dataclass
class Session:
    token: str
    id: str
    user: str


class State:
    """A gateway's state directory, seen from outside."""

    def __init__(self, gateway: Gateway):
        self.directory = Path(gateway.config["state_directory"])

    def database(self) -> sqlite3.Connection:
        return sqlite3.connect(self.directory / "gatehouse.sqlite", timeout=10, isolation_level=None)

    def signing_key(self) -> tuple[str, str]:
        """Its id and its PEM."""
        keys = json.loads((self.directory / "session-keys.json").read_text())["keys"]
        return next((key["id"], key["key"]) for key in keys if key["state"] == "current")

    def token(self, claims: dict, **header) -> str:
        kid, pem = self.signing_key()
        return jwt.encode(claims, pem, "ES256", {"kid": kid, "typ": "session+jwt", **header})

    def user(self, subject: str = "apple-ada", role: str = "customer") -> str:
        """The user's id, made if they are not there."""
        with self.database() as database:
            known = database.execute("SELECT id FROM users WHERE subject = ?", [subject]).fetchone()
            if known:
                return known[0]
            user = secrets.token_hex(16)
            database.execute(
                "INSERT INTO users (id, issuer, subject, name, email, email_verified, is_private_email, role, created_at)"
                " VALUES (?, 'https://appleid.apple.com', ?, 'Ada', ?, 1, 0, ?, ?)",
                [user, subject, f"{subject}@example.com", role, int(time.time())],
            )
        return user

    def begin(
        self, subject: str = "apple-ada", role: str = "customer", age: int = 0, lifetime: int = 30 * DAY,
        device_id: str = "phone-7",
    ) -> Session:
        """A session whose first token was made `age` seconds ago."""
        user, session, now = self.user(subject, role), secrets.token_hex(16), int(time.time()) - age
        with self.database() as database:
            database.execute(
                "INSERT INTO user_sessions (id, user_id, rotation, retry_until, auth_time, device_id, platform, created_at,"
                " refreshed_at, expires_at, previous_expires_at, ends_at)"
                " VALUES (?, ?, 0, 0, ?, ?, 'ios', ?, ?, ?, 0, ?)",
                [session, user, now, device_id, now, now, now + lifetime, now + lifetime + 7 * DAY],
            )
        claims = {
            **{"iss": ISSUER, "aud": "api", "sub": user, "sid": session, "jti": f"{session}.0", "rotation": 0},
            **{"iat": now, "exp": now + lifetime, "auth_time": now, "email": f"{subject}@example.com"},
            **{"email_verified": True, "name": "Ada", "role": role, "groups": [role]},
        }
        return Session(self.token(claims), session, user)

    def let_the_window_pass(self) -> None:
        """As if the last refresh of every session had been a minute ago."""
        with self.database() as database:
            database.execute(
                "UPDATE user_sessions SET refreshed_at = refreshed_at - ?1, retry_until = max(0, retry_until - ?1)",
                [WINDOW + 2],
            )


class App(Account):
    """One app with a session, talking to one gateway."""

    def __init__(self, port: int, ledger: Ledger):
        super().__init__(port, ledger, PREFIX)

    def _call(self, method: str, call: str, token: str | None, body=None):
        if token:
            self.ledger.note(token)
        answer = self.send(method, call, body, token)
        if answer.body and answer.status == 200 and "token" in answer.json():
            self.ledger.note(answer.json()["token"])
        return answer

    def validate(self, token: str | None):
        return self._call("POST", "validate", token)

    def refresh(self, token: str | None, **body):
        return self._call("POST", "refresh", token, body or None)

    def logout(self, token: str | None = None, **body):
        return self._call("POST", "logout", token, body or None)

    def delete(self, token: str | None):
        return self._call("DELETE", "me", token)

    def export(self, token: str | None):
        return self._call("GET", "me/export", token)
