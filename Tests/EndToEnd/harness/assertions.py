"""The documentation's backend that verifies assertions, in a real uvicorn, and assertions forged for it."""

import json
import sys
import time
from pathlib import Path

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from . import documentation, raw
from .process import Process, free_port

ISSUER = "https://api.example.com"
JWKS_PATH = "/.well-known/gatehouse/jwks.json"
JWKS_URL = ISSUER + JWKS_PATH
TYPE = "gatehouse-assertion+jwt"


class VerifyingBackend:
    """The FastAPI service of docs/assertion.md as it stands, but for the address of the key set."""

    def __init__(self, directory: Path, key_set_url: str):
        code = documentation.block("assertion.md", "fastapi")
        assert code.count(JWKS_URL) == 1
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "verifying.py").write_text(code.replace(JWKS_URL, key_set_url))
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._process = Process(
            [sys.executable, "-m", "uvicorn", "verifying:app", "--host", "127.0.0.1", "--port", str(self.port)],
            directory / "verifying.log",
            cwd=directory,
        )
        self._process.wait_ready(self._is_ready, "the verifying backend")

    def _is_ready(self) -> bool:
        try:
            return raw.exchange(self.port, "GET", "/none").status == 404
        except OSError:
            return False

    def ask(self, assertion: str | None) -> int:
        """Goes around the gateway with this assertion; the status."""
        headers = {} if assertion is None else {"X-Auth-Assertion": assertion}
        return raw.exchange(self.port, "GET", "/api/v1/orders", headers=headers).status

    def stop(self) -> None:
        self._process.stop()


class Forger:
    """Signs with a key of its own."""

    def __init__(self) -> None:
        self.private = ec.generate_private_key(ec.SECP256R1())

    def sign(self, claims: dict, kid: str, typ: str = TYPE) -> str:
        return jwt.encode(claims, self.private, algorithm="ES256", headers={"kid": kid, "typ": typ})


def claims_for(audience: str = "verifying", **changes) -> dict:
    now = int(time.time())
    claims = {"iss": ISSUER, "aud": audience, "sub": "mallory", "iat": now, "exp": now + 60, "groups": []}
    claims.update(changes)
    return claims


def private_key(gateway):
    """The id and the private key that the gateway signs assertions with."""
    text = Path(gateway.config["state_directory"], "assertion-keys.json").read_text()
    current = next(key for key in json.loads(text)["keys"] if key["state"] == "current")
    return current["id"], serialization.load_pem_private_key(current["key"].encode(), None)


def signed(gateway, claims: dict, **header) -> str:
    """An assertion with the gateway's own key, which it would never make."""
    kid, key = private_key(gateway)
    return jwt.encode(claims, key, algorithm="ES256", headers={"kid": kid, "typ": TYPE, **header})


def invalid(gateway, genuine: str, access_token: str) -> dict[str, str | None]:
    """Assertions that the backend `api` must refuse, by what is wrong with each."""
    good, now = claims_for("api"), int(time.time())
    kid, _ = private_key(gateway)
    head, payload, signature = genuine.split(".")
    other_payload = signed(gateway, {**good, "sub": "mallory"}).split(".")[1]
    return {
        "none at all": None,
        "empty": "",
        "no token": "hunter2",
        "another key, our kid": Forger().sign(good, kid),
        "an unknown kid": Forger().sign(good, "unknown"),
        "unsigned": jwt.encode(good, None, algorithm="none", headers={"kid": kid, "typ": TYPE}),
        "keyed with the public key": jwt.encode(good, "x" * 32, algorithm="HS256", headers={"kid": kid, "typ": TYPE}),
        "another payload": f"{head}.{other_payload}.{signature}",
        "no signature": f"{head}.{payload}.",
        "for another upstream": signed(gateway, {**good, "aud": "orders"}),
        "for no one": signed(gateway, {name: value for name, value in good.items() if name != "aud"}),
        "of another gateway": signed(gateway, {**good, "iss": "https://other.example.com"}),
        "expired": signed(gateway, {**good, "iat": now - 120, "exp": now - 60}),
        "without an end": signed(gateway, {name: value for name, value in good.items() if name != "exp"}),
        "of another type": signed(gateway, good, typ="JWT"),
        "a webhook event's": signed(gateway, good, typ="gatehouse-notice+jwt"),
        "the access token itself": access_token,
    }
