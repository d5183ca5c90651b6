"""The time of a login through the gateway besides Cognito's own: at most 2 ms at the median."""

import http.client
import json
import statistics
import time
import urllib.parse

import pytest
from harness.gateway import binary
from harness.instant_cognito import InstantCognito
from harness.sanitizer import SANITIZER

pytestmark = pytest.mark.alone

LOGINS = 400
BODY = json.dumps({"email": "ada@example.com", "password": "Correct-Horse-7"})


@pytest.fixture
def cognito(pool):
    cognito = InstantCognito(pool)
    yield cognito
    cognito.stop()


def seconds(connection: http.client.HTTPConnection, path: str) -> float:
    begin = time.perf_counter()
    connection.request("POST", path, BODY, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    answer.read()
    assert answer.status == 200
    return time.perf_counter() - begin


@pytest.mark.long
@pytest.mark.skipif(bool(SANITIZER) or "debug" in str(binary()), reason="says nothing of a build that is not optimised")
def test_a_login_takes_at_most_two_milliseconds_more_than_cognito(start_gateway, pool, cognito):
    gateway = start_gateway(cognito.gateway_settings(), pool=pool)
    through = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=30)
    direct = http.client.HTTPConnection("127.0.0.1", urllib.parse.urlparse(cognito.url).port, timeout=30)
    seconds(through, "/api/v1/auth/login")
    # In turn, so that what else the machine does hits both.
    pairs = [(seconds(direct, "/"), seconds(through, "/api/v1/auth/login")) for _ in range(LOGINS)]
    own, whole = (statistics.median(column) * 1000 for column in zip(*pairs))
    print(f"Cognito {own:.2f} ms, through the gateway {whole:.2f} ms")
    assert whole - own <= 2
