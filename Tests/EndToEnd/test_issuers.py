"""Issuers of every profile beside each other, with real keys and a provider that is asked for them."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from harness import raw
from harness.keys import SigningKey, base64url
from harness.process import wait_until

SECRET = "0123456789abcdef0123456789abcdef"


class Provider:
    """An OpenID Connect provider's metadata and keys."""

    def __init__(self, key: SigningKey):
        provider = self
        self.fetched: list[str] = []
        self.metadata: dict = {}
        self.keys = {"keys": [key.jwk()]}

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                provider.fetched.append(self.path)
                body = json.dumps(provider.metadata if self.path.startswith("/.well-known/") else provider.keys).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self.metadata = {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def signer():
    return SigningKey("k1")


@pytest.fixture
def provider(signer):
    provider = Provider(signer)
    yield provider
    provider.stop()


@pytest.fixture
def session_key():
    return ec.generate_private_key(ec.SECP256R1())


@pytest.fixture
def gateway(start_gateway, provider, session_key, tmp_path):
    numbers = session_key.public_key().public_numbers()
    x, y = (base64url(number.to_bytes(32, "big")) for number in (numbers.x, numbers.y))
    keys = tmp_path / "session-keys.json"
    keys.write_text(json.dumps({"keys": [{"kty": "EC", "crv": "P-256", "kid": "s1", "x": x, "y": y}]}))
    local = {"jwks_url": f"{provider.url}/keys", "allow_insecure_http": True}
    issuers = {
        "apple": {"profile": "apple", "audiences": ["com.example.app"], **local},
        "provider": {
            "profile": "oidc",
            "issuer": provider.url,
            "discovery": True,
            "audiences": ["api"],
            "allow_insecure_http": True,
        },
        "shared": {"profile": "oidc", "issuer": "shared", "secret": SECRET, "audiences": ["api"]},
        "sessions": {"profile": "gatehouse", "issuer": "https://gw", "audiences": ["api"], "jwks_file": str(keys)},
    }
    routes = [
        {"name": name, "path": f"/recorded/{name}", "upstream": "recorder", **more}
        for name, more in {
            "any": {},
            **{name: {"issuers": [name]} for name in ("own", *issuers)},
        }.items()
    ]
    return start_gateway({"issuers": issuers, "routes": routes})


def claims(issuer: str, audience: str, **more) -> dict:
    now = int(time.time())
    return {"iss": issuer, "aud": audience, "sub": "user-1", "iat": now, "exp": now + 600, **more}


def test_each_route_takes_the_tokens_of_its_issuers_and_no_others(gateway, provider, signer, session_key, issuer):
    def rs256(claims: dict, **header) -> str:
        return jwt.encode(claims, signer.private, algorithm="RS256", headers={"kid": "k1", **header})

    session = claims("https://gw", "api", sid="s", jti="j", auth_time=int(time.time()))
    tokens = {
        "own": issuer.access(),
        "apple": rs256(claims("https://appleid.apple.com", "com.example.app", email_verified="true")),
        "provider": rs256(claims(provider.url, "api", scope="a b")),
        "shared": jwt.encode(claims("shared", "api"), SECRET, algorithm="HS256"),
        "sessions": jwt.encode(
            session, session_key, algorithm="ES256", headers={"kid": "s1", "typ": "session+jwt"}
        ),
    }

    def status(route: str, token: str) -> int:
        headers = {"Authorization": f"Bearer {token}"}
        return raw.exchange(gateway.port, "GET", f"/recorded/{route}", headers).status

    for name, token in tokens.items():
        for route in tokens:
            assert status(route, token) == (200 if route == name else 401), (name, route)
        # Apple's are ID tokens, which a route must ask for.
        assert status("any", token) == (401 if name == "apple" else 200), name
    assert provider.fetched.count("/.well-known/openid-configuration") == 1
    # A token signed by one issuer's key is not another's, nor is one that claims to be of another kind.
    for wrong in (
        rs256(session, typ="session+jwt"),
        jwt.encode(session, session_key, algorithm="ES256", headers={"kid": "s1"}),
        rs256(claims(provider.url, "api"), typ="session+jwt"),
        rs256(claims(provider.url, "api"), typ="dpop+jwt"),
        rs256(claims(provider.url, "another")),
        rs256(claims(provider.url + "/", "api")),
        jwt.encode(claims("shared", "api"), SECRET, algorithm="HS256", headers={"kid": "k1"}),
        jwt.encode(claims("shared", "api"), SECRET[::-1], algorithm="HS256"),
        jwt.encode(claims(provider.url, "api"), SECRET, algorithm="HS256", headers={"kid": "k1"}),
    ):
        assert status("any", wrong) == 401, jwt.get_unverified_header(wrong)


def test_metadata_of_another_issuer_give_no_keys(start_gateway, provider, signer):
    provider.metadata["issuer"] = provider.url + "/"
    configured = {"profile": "oidc", "issuer": provider.url, "discovery": True, "audiences": ["api"]}
    gateway = start_gateway({"issuers": {"provider": {**configured, "allow_insecure_http": True}}})
    token = jwt.encode(claims(provider.url, "api"), signer.private, algorithm="RS256", headers={"kid": "k1"})
    headers = {"Authorization": f"Bearer {token}"}
    assert raw.exchange(gateway.port, "GET", "/recorded/required/x", headers).status == 503
    assert "/keys" not in provider.fetched
    wait_until(lambda: "the provider's metadata name another issuer" in gateway.log(), "the log to say why")
