"""The local Apple speaks Apple's protocol: PyJWT and joserfc, which know nothing of it, take its tokens, and make the
client secrets that it takes."""

import hashlib
import json
import signal
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from harness.keys import base64url
from harness.local_apple import APP, APPLE_ISSUER, KEY_ID, SIBLING_APP, TEAM_ID, LocalApple
from harness.local_pool_control import advance_clock, control
from harness.process import wait_until
from joserfc import jwt as jose
from joserfc.jwk import KeySet


class Receiver:
    """An app's server that takes notifications."""

    def __init__(self):
        self.bodies: list[dict] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                assert self.headers["Content-Type"] == "application/json"
                outer.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(202)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/notifications?x=1"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture(scope="module")
def receiver():
    receiver = Receiver()
    yield receiver
    receiver.stop()


@pytest.fixture(scope="module")
def apple(run_directory, receiver):
    account = {"email": "ada@icloud.example", "given_name": "Ada", "family_name": "Lovelace"}
    apple = LocalApple(run_directory, apple={"notification_url": receiver.url, "accounts": [account]})
    yield apple
    apple.stop()


def verified(apple: LocalApple, token: str, app: str = APP) -> dict:
    """The claims, by PyJWT with the key that the token names."""
    key = jwt.PyJWKClient(apple.apple_keys_url, cache_keys=False).get_signing_key_from_jwt(token)
    required = ["iss", "aud", "exp", "iat", "sub"]
    return jwt.decode(token, key, ["RS256"], audience=app, issuer=APPLE_ISSUER, options={"require": required})


@pytest.mark.parametrize("malformed", ["%+A", "%-0", "%zz", "%4"])
def test_an_escape_that_is_none_spoils_a_form(apple, malformed):
    """Two digits make an escape, and a sign is none (RFC 3986, 2.1): `%+A` is no line feed."""
    fields = urllib.parse.urlencode({"client_id": APP, "client_secret": apple.client_secret(APP)})
    answer = httpx.post(
        f"{apple.url}/auth/token",
        content=f"{fields}&grant_type=refresh_token{malformed}",
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )
    assert (answer.status_code, answer.json()) == (400, {"error": "invalid_request"})


def test_an_identity_token_verifies_and_is_bound_to_nonce_and_code(apple):
    nonce = hashlib.sha256(b"the app's own").hexdigest()
    answer = apple.apple_sign_in(nonce=nonce)
    claims = verified(apple, answer["identity_token"])
    assert claims["nonce"] == nonce and claims["nonce_supported"] is True
    assert claims["c_hash"] == base64url(hashlib.sha256(answer["authorization_code"].encode()).digest()[:16])
    assert claims["sub"] == answer["user"] and claims["email"] == "ada@icloud.example"
    assert claims["auth_time"] == claims["iat"] and claims["real_user_status"] == 2
    keys = KeySet.import_key_set(httpx.get(apple.apple_keys_url).json())
    assert jose.decode(answer["identity_token"], keys, algorithms=["RS256"]).claims == claims
    with pytest.raises(jwt.InvalidAudienceError):
        verified(apple, answer["identity_token"], SIBLING_APP)


def test_a_code_is_exchanged_once_and_its_refresh_token_lasts_until_it_is_revoked(apple):
    answer = apple.apple_sign_in("grace@example.com")
    tokens = apple.exchange(answer["authorization_code"]).json()
    assert set(tokens) == {"access_token", "token_type", "expires_in", "refresh_token", "id_token"}
    claims = verified(apple, tokens["id_token"])
    assert claims["sub"] == answer["user"]
    assert claims["at_hash"] == base64url(hashlib.sha256(tokens["access_token"].encode()).digest()[:16])
    again = apple.exchange(answer["authorization_code"])
    assert again.status_code == 400 and again.json()["error"] == "invalid_grant"

    def refresh() -> httpx.Response:
        return apple.post("/auth/token", grant_type="refresh_token", refresh_token=tokens["refresh_token"])

    assert "refresh_token" not in refresh().json() and verified(apple, refresh().json()["id_token"])
    assert apple.account("grace@example.com")["clients"] == [{"client_id": APP, "refresh_tokens": 1}]
    revoked = apple.post("/auth/revoke", token=tokens["refresh_token"], token_type_hint="refresh_token")
    assert (revoked.status_code, revoked.content) == (200, b"")
    assert refresh().json()["error"] == "invalid_grant"
    assert apple.account("grace@example.com")["clients"] == []


def test_a_code_of_another_client(apple):
    code = apple.apple_sign_in()["authorization_code"]
    assert apple.exchange(code, SIBLING_APP).json()["error"] == "invalid_grant"


def secret(key, header: dict, changes: dict, algorithm: str = "ES256") -> str:
    now = int(time.time())
    claims = {"iss": TEAM_ID, "iat": now - 10, "exp": now + 300, "aud": APPLE_ISSUER, "sub": APP}
    return jwt.encode({**claims, **changes}, key, algorithm, {"kid": KEY_ID, **header})


@pytest.mark.parametrize(
    "changes, header",
    [
        ({"iss": "TEAM000002"}, {}),
        ({"sub": SIBLING_APP}, {}),
        ({"aud": "https://account.apple.com"}, {}),
        ({"exp": 1}, {}),
        ({"exp": int(time.time()) + 16_000_000}, {}),
        ({}, {"kid": "KEY0000002"}),
    ],
)
def test_a_wrong_client_secret(apple, changes, header):
    code = apple.apple_sign_in()["authorization_code"]
    wrong = secret(apple.key_path.read_text(), header, changes)
    answer = apple.exchange(code, client_secret=wrong)
    assert (answer.status_code, answer.json()) == (400, {"error": "invalid_client"})
    assert apple.exchange(code, client_secret=secret(apple.key_path.read_text(), {}, {})).status_code == 200


def test_a_client_secret_by_another_key_or_algorithm(apple):
    stranger = ec.generate_private_key(ec.SECP256R1())
    assert apple.exchange("c", client_secret=secret(stranger, {}, {})).json() == {"error": "invalid_client"}
    shared = secret("x" * 32, {}, {}, "HS256")
    assert apple.exchange("c", client_secret=shared).json() == {"error": "invalid_client"}


def test_a_notification_is_signed_and_posted(apple, receiver):
    user = apple.apple_sign_in("linus@example.com", hide_email=True)["user"]
    answer = apple.event("consent-revoked", "linus@example.com")
    assert answer["delivery"] == {"status": 202}
    assert receiver.bodies[-1] == {"payload": answer["payload"]}
    claims = verified_notification(apple, answer["payload"])
    event = json.loads(claims["events"])
    assert (event["type"], event["sub"]) == ("consent-revoked", user)
    assert event["event_time"] == claims["iat"] * 1000
    kept = len(receiver.bodies)
    disabled = apple.event("email-disabled", user, send=False)
    assert "delivery" not in disabled and len(receiver.bodies) == kept
    told = json.loads(verified_notification(apple, disabled["payload"])["events"])
    assert told["type"] == "email-disabled" and "is_private_email" in told


def verified_notification(apple: LocalApple, payload: str) -> dict:
    key = jwt.PyJWKClient(apple.apple_keys_url, cache_keys=False).get_signing_key_from_jwt(payload)
    return jwt.decode(payload, key, ["RS256"], audience=APP, issuer=APPLE_ISSUER, options={"require": ["jti"]})


def test_keys_rotate_and_old_tokens_verify_while_their_key_is_published(apple):
    token = apple.apple_sign_in()["identity_token"]
    apple.control_apple("keys/rotate", {"keep_old": True})
    assert verified(apple, token) and verified(apple, apple.apple_sign_in()["identity_token"])
    apple.control_apple("keys/rotate", {"keep_old": False})
    with pytest.raises(jwt.PyJWKClientError):
        verified(apple, token)


def test_accounts_keys_and_tokens_outlast_a_restart(run_directory):
    first = LocalApple(run_directory, "lasting-apple")
    answer = first.apple_sign_in("ida@example.com")
    refresh_token = first.exchange(answer["authorization_code"]).json()["refresh_token"]
    first.process.signal(signal.SIGKILL)
    first.stop()
    second = LocalApple(run_directory, "lasting-apple")
    assert verified(second, answer["identity_token"])["sub"] == second.apple_sign_in("ida@example.com")["user"]
    refreshed = second.post("/auth/token", grant_type="refresh_token", refresh_token=refresh_token)
    assert refreshed.status_code == 200
    code = second.apple_sign_in()["authorization_code"]
    advance_clock(second, 301)
    assert second.exchange(code).json()["error"] == "invalid_grant", "a code is good for five minutes"
    second.stop()


def test_trouble_on_order(apple):
    control(apple, "POST", "faults", [{"operation": "AppleToken", "times": 1, "error": "server_error", "status": 503}])
    code = apple.apple_sign_in()["authorization_code"]
    failed = apple.exchange(code)
    assert (failed.status_code, failed.json()["error"]) == (503, "server_error")
    control(apple, "POST", "faults", [{"operation": "AppleKeys", "times": 1, "drop": "before"}])
    with pytest.raises(httpx.RemoteProtocolError):
        httpx.get(apple.apple_keys_url)
    assert apple.exchange(code).status_code == 200


def test_no_code_and_no_token_is_in_the_log(apple):
    answer = apple.apple_sign_in()
    tokens = apple.exchange(answer["authorization_code"]).json()
    apple.exchange(answer["authorization_code"])
    secrets = [answer["identity_token"], answer["authorization_code"], *(tokens[f"{k}_token"] for k in ("access", "id", "refresh"))]
    assert wait_until(apple.log, "a log") and not [text for text in secrets if text in apple.log()]
