"""The contract tests of GatehouseClient, which its fake gateway passes in process, pass against a real gateway too."""

import json
import os
import shutil
import subprocess
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from harness.apple_app import apple_settings
from harness.authenticator import Passkey
from harness.gateway import REPOSITORY, merged
from harness.interposed import Clock, without_sanitizer
from harness.local_apple import LocalApple
from harness.local_pool_control import advance_clock, one_time_code
from harness.local_pool_control import control as pool_control
from harness.process import wait_until
from harness.sanitizer import PATIENCE

# The package whose tests are built: this one, unless another one has the same targets.
PACKAGE = Path(os.environ.get("GATEHOUSE_CLIENT_PACKAGE", REPOSITORY))
TOTP = {"mode": "optional", "methods": ["SOFTWARE_TOKEN_MFA"]}
RELYING_PARTY = "auth.example.com"
FACTORS = ["EMAIL_OTP", "WEB_AUTHN", "PASSWORD"]
PASSWORDLESS = {"passwordless": {"factors": FACTORS, "relying_party_id": RELYING_PARTY}}


def is_built() -> bool:
    return any((PACKAGE / ".build" / "debug").glob("*.xctest"))


@pytest.fixture
def apple(tmp_path):
    apple = LocalApple(
        tmp_path,
        changes={
            "mfa": TOTP,
            "first_factors": FACTORS,
            "web_authn": {"relying_party_id": RELYING_PARTY},
            "hourly_limits": False,
        },
    )
    yield apple
    apple.stop()


def newest_code(pool: LocalApple, address: str) -> str:
    name = "phone" if address.startswith("+") else "email"
    query = urllib.parse.urlencode({name: address})
    return wait_until(lambda: pool_control(pool, "GET", f"inbox?{query}"), f"a message to {address}")[-1]["code"]


@pytest.fixture
def clock(tmp_path) -> Clock:
    """The gateway's."""
    return Clock(tmp_path)


@pytest.fixture
def control(apple, clock):
    """The mailbox, the authenticator app and the phone of the tests' users, and the time; its URL."""
    turn = threading.Lock()
    passkeys: dict[str, Passkey] = {}

    def given(call: str, query: dict[str, str]) -> dict:
        if call == "code":
            return {"code": newest_code(apple, query["email"])}
        if call == "passkey":
            passkey = passkeys.setdefault(query["email"], Passkey(f"https://{RELYING_PARTY}"))
            options = json.loads(query["options"])
            return passkey.create(options) if "pubKeyCredParams" in options else passkey.get(options)
        if call == "apple":
            return apple.apple_sign_in(query["user"], nonce=query["nonce"])
        if call == "advance":
            with turn:
                clock.offset += int(query["seconds"])
                advance_clock(apple, int(query["seconds"]))
            return {}
        assert call == "authenticator", call
        with turn:
            # The pool takes each code once.
            advance_clock(apple, 30)
            return {"code": one_time_code(apple, query["secret"])}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            parts = urllib.parse.urlsplit(self.path)
            body = json.dumps(given(parts.path.strip("/"), dict(urllib.parse.parse_qsl(parts.query)))).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def settings(apple: LocalApple) -> dict:
    """With passkeys and codes beside passwords, and Sign in with Apple."""
    cognito = apple.sign_in_settings("pool", **PASSWORDLESS)
    return merged(apple_settings(apple), {"sign_in": {"cognito": cognito}})


def run_tests(gateway, control: str, name: str) -> None:
    """Those whose name begins like this, against the gateway."""
    result = subprocess.run(
        ["swift", "test", "--skip-build", "--package-path", str(PACKAGE), "--filter", f"GatehouseClientTests.{name}"],
        env={**os.environ, "GATEHOUSE_URL": gateway.url, "GATEHOUSE_CONTROL": control},
        capture_output=True,
        text=True,
        timeout=240 * PATIENCE,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    # They did run against it, and not only against the fake.
    assert "a real gateway" in result.stdout


def needs_swift(test):
    test = pytest.mark.skipif(not shutil.which("swift"), reason="no Swift compiler")(test)
    test = pytest.mark.skipif(not is_built(), reason="the Swift tests are not built: swift build --build-tests")(test)
    return pytest.mark.timeout(300)(test)


@needs_swift
def test_the_contract_tests_of_the_client_pass_against_a_real_gateway(start_gateway, apple, control):
    gateway = start_gateway(settings(apple), pool=apple)
    run_tests(gateway, control, "Contract")
    asked = {f"gatehouse:{call}" for call in ("login", "challenge", "refresh", "confirm", "session-refresh")}
    wait_until(lambda: asked <= {each["route"] for each in gateway.access_log()}, "all calls in the access log")


@needs_swift
@without_sanitizer
def test_a_real_gateway_gives_lost_responses_again_after_a_minute_and_after_a_day(start_gateway, apple, control, clock):
    gateway = start_gateway(apple_settings(apple), pool=apple, environment=clock.environment)
    run_tests(gateway, control, "LostResponse")
    assert clock.offset > 2 * 86_400
    told = lambda: {each["operation"] for each in gateway.audit_log("refresh_given_again")}
    wait_until(lambda: told() >= {"refresh", "session-refresh"}, "both in the audit log")
