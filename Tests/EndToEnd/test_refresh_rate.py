"""How fast refreshes are: 500 a second on one core against a Cognito that answers at once."""

import http.client
import json
import threading
import time

import pytest
from harness.gateway import binary
from harness.instant_cognito import InstantCognito
from harness.sanitizer import PATIENCE, SANITIZER

pytestmark = pytest.mark.alone

APPS = 8
REFRESHES = 300
# Wide enough for all of them, and counted as any others: by address, by account and together.
LIMITS = {kind: dict.fromkeys(("address", "account", "global"), "100000/1m") for kind in ("sign_in", "refresh")}


@pytest.fixture
def cognito(pool):
    cognito = InstantCognito(pool)
    yield cognito
    cognito.stop()


def app(port: int, start: threading.Barrier, failed: list) -> None:
    """Signs in, then refreshes with each token it gets, on one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30 * PATIENCE)
    body: dict = {"email": "ada@example.com", "password": "Correct-Horse-7"}
    for number in range(REFRESHES + 1):
        call = "refresh" if number else "login"
        connection.request("POST", f"/api/v1/auth/{call}", json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            return failed.append(text)
        body = {"refresh_token": json.loads(text)["refresh_token"]}
        if not number:
            start.wait()


@pytest.mark.long
@pytest.mark.skipif(bool(SANITIZER) or "debug" in str(binary()), reason="says nothing of a build that is not optimised")
def test_five_hundred_refreshes_a_second_on_one_core(start_gateway, pool, cognito):
    """Counted in processor time, which other work on the machine does not change: at most 2 ms for each."""
    gateway = start_gateway({"threads": 1, "account_limits": LIMITS, **cognito.gateway_settings()}, pool=pool)
    start, failed = threading.Barrier(APPS + 1), []
    apps = [threading.Thread(target=app, args=(gateway.port, start, failed)) for _ in range(APPS)]
    for each in apps:
        each.start()
    start.wait()
    spent, begin = gateway.process.cpu_seconds(), time.perf_counter()
    for each in apps:
        each.join()
    spent, took = gateway.process.cpu_seconds() - spent, time.perf_counter() - begin
    assert not failed
    count = APPS * REFRESHES
    print(f"{count / took:.0f} refreshes/s, {spent / count * 1000:.2f} ms of processor time each")
    assert cognito.calls == count + APPS
    assert spent / count <= 1 / 500
