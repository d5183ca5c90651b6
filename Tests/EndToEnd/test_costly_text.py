"""Text that takes long to compare as characters, wherever a client can put it, costs no more than other text.

A letter with thousands of combining marks is one character. Comparing it with another one sorts the marks first, in time
that grows with the square of their number: a tenth of a second for a field's worth. Here whatever is told apart must be
told apart by its bytes.
"""

import json

import pytest
from harness import h2raw, raw
from harness.h2raw import H2Connection
from harness.sanitizer import PATIENCE
from harness.websocket import KEY

MARKS = ("a" + "\u0345" * 3_900 + "\u0334" * 3_900).encode().decode("latin-1")
REQUESTS = 12
# A twelfth of this for each, where a debug build takes about a millisecond, and one comparison a hundred.
LIMIT_SECONDS = 0.6 * PATIENCE

ROUTES = [
    {"name": "open", "path": "/open", "access": "public", "upstream": "recorder", "websocket": True},
    {"name": "page", "path": "/page", "access": "public", "upstream": "recorder", "cors": {"origins": ["https://app.example"]}},
    {"name": "cookie", "path": "/cookie", "upstream": "recorder", "token_cookie": "session"},
    {
        "name": "socket",
        "path": "/socket",
        "access": "optional",
        "upstream": "recorder",
        "websocket": True,
        "token_websocket_protocol": "bearer",
    },
]
UPGRADE = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Key": KEY}
PREFLIGHT = {"Origin": "https://app.example", "Access-Control-Request-Method": "GET"}

HTTP_1 = {
    "connection": ("GET", "/open", {"Connection": MARKS}),
    "connection-lists": ("GET", "/open", {"Connection": "close, X-Hop, " + MARKS, "X-Hop": "1"}),
    "upgrade": ("GET", "/nowhere", {"Connection": "Upgrade", "Upgrade": MARKS}),
    "te": ("GET", "/open", {"TE": MARKS}),
    "expect": ("POST", "/open", {"Expect": MARKS, "Content-Length": "0"}),
    "host": ("GET", "/open", {"Host": MARKS}),
    "websocket-version": ("GET", "/open", {**UPGRADE, "Sec-WebSocket-Version": MARKS}),
    "websocket-key": ("GET", "/open", {**UPGRADE, "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": MARKS}),
    "websocket-protocol": ("GET", "/socket", {"Sec-WebSocket-Protocol": MARKS}),
    "many-websocket-protocols": ("GET", "/socket", {"Sec-WebSocket-Protocol": "bearer,x," * 1_800}),
    "cookie": ("GET", "/cookie", {"Cookie": MARKS}),
    "cookie-value": ("GET", "/cookie", {"Cookie": f"session={MARKS}"}),
    "cookie-of-a-page": ("POST", "/cookie", {"Cookie": "session=x", "Sec-Fetch-Site": MARKS}),
    "origin": ("POST", "/cookie", {"Cookie": "session=x", "Origin": MARKS}),
    "preflight-origin": ("OPTIONS", "/page", {**PREFLIGHT, "Origin": MARKS}),
    "preflight-method": ("OPTIONS", "/page", {**PREFLIGHT, "Access-Control-Request-Method": MARKS}),
    "preflight-headers": ("OPTIONS", "/page", {**PREFLIGHT, "Access-Control-Request-Headers": MARKS}),
    "authorization": ("GET", "/cookie", {"Authorization": MARKS}),
    "bearer": ("GET", "/cookie", {"Authorization": f"Bearer {MARKS}"}),
    "request-id": ("GET", "/open", {"X-Request-Id": MARKS, "traceparent": MARKS}),
    "user-agent": ("GET", "/open", {"User-Agent": MARKS}),
    "amazon-target": ("POST", "/open", {"X-Amz-Target": "AWSCognitoIdentityProviderService." + MARKS}),
}

HTTP_2 = {
    "pseudo-field": [(":" + MARKS, "x")],
    "scheme": [(":method", "GET"), (":scheme", MARKS), (":authority", "gateway.test"), (":path", "/open")],
    "method": [(":method", MARKS), (":scheme", "http"), (":authority", "gateway.test"), (":path", "/open")],
    "path": [(":method", "GET"), (":scheme", "http"), (":authority", "gateway.test"), (":path", MARKS)],
    "authority": [(":method", "GET"), (":scheme", "http"), (":authority", MARKS), (":path", "/open")],
    "host": h2raw.request("GET", "/open", ("host", MARKS)),
    "te": h2raw.request("GET", "/open", ("te", MARKS)),
    "expect": h2raw.request("GET", "/open", ("expect", MARKS)),
    "protocol": [*h2raw.request("CONNECT", "/open"), (":protocol", MARKS)],
    "name": h2raw.request("GET", "/open", (MARKS, "x")),
    "cookie": h2raw.request("GET", "/cookie", ("cookie", MARKS), ("cookie", MARKS)),
}


@pytest.fixture
def gateway(start_gateway):
    return start_gateway({"routes": ROUTES, "threads": 1, "limits": {"header_bytes": "64KiB"}})


@pytest.fixture
def costs(gateway):
    """Whatever is done within it takes no more of the processor than it should."""

    def costs(do) -> None:
        before = gateway.process.cpu_seconds()
        for _ in range(REQUESTS):
            do()
        assert gateway.process.cpu_seconds() - before < LIMIT_SECONDS
        assert gateway.process.exit_status is None

    return costs


@pytest.mark.parametrize("case", HTTP_1)
def test_fields_of_http_1(gateway, costs, case):
    costs(lambda: raw.exchange(gateway.port, *HTTP_1[case]))


@pytest.mark.parametrize("case", HTTP_2)
def test_fields_of_http_2(gateway, costs, case):
    def send() -> None:
        with H2Connection(gateway.port) as connection:
            connection.response(connection.open(HTTP_2[case]))

    costs(send)


def test_the_type_of_a_sign_in_request(start_gateway, pool):
    gateway = start_gateway(pool=pool)
    before = gateway.process.cpu_seconds()
    for _ in range(REQUESTS):
        answer = raw.exchange(gateway.port, "POST", "/api/v1/auth/login", {"Content-Type": MARKS}, json.dumps({}).encode())
        assert answer.status == 400
    assert gateway.process.cpu_seconds() - before < LIMIT_SECONDS


def marked(number: int, length: int) -> str:
    """Another text for each number, of about as many bytes, all of it one character."""
    marks = "\u0345\u0334" if number % 2 else "\u0334\u0345"
    return "a" + marks * (length // 4) + str(number)


def of_names(count: int, size: int) -> bytes:
    return json.dumps({marked(each, size // count): 0 for each in range(count)}, ensure_ascii=False).encode()


@pytest.mark.parametrize("count", [2, 20])
def test_the_names_of_a_sign_in_request(start_gateway, pool, count):
    gateway = start_gateway(pool=pool)
    body = of_names(count, 60_000)
    before = gateway.process.cpu_seconds()
    # A tenth of a second each, and more, where names are compared as characters.
    for _ in range(REQUESTS):
        answer = raw.exchange(gateway.port, "POST", "/api/v1/auth/login", {"Content-Type": "application/json"}, body)
        assert answer.status == 422
    assert gateway.process.cpu_seconds() - before < LIMIT_SECONDS
