"""The README's backend that verifies assertions, in a real uvicorn, and assertions forged for it."""

import re
import sys
import time
from pathlib import Path

import jwt
from cryptography.hazmat.primitives.asymmetric import ec

from . import raw
from .process import Process, free_port

README = (Path(__file__).parents[3] / "README.md").read_text()
ISSUER = "https://api.example.com"
JWKS_PATH = "/.well-known/gatehouse/jwks.json"
JWKS_URL = ISSUER + JWKS_PATH
TYPE = "gatehouse-assertion+jwt"


def readme_blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


class VerifyingBackend:
    """The README's second Python block as it stands, but for the address of the key set."""

    def __init__(self, directory: Path, key_set_url: str):
        code = readme_blocks("python")[1]
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
