"""Text that takes long to compare as characters, wherever a client can put it in a head, costs no more than other text.

Whatever is told apart must be told apart by its bytes. What bodies, tokens and Cognito's answers hold is in
test_costly_bodies.py and test_costly_tokens.py.
"""

import pytest
from harness import h2raw, raw
from harness.account import bearer
from harness.costly import Meter
from harness.gateway import Gateway, gateway_config
from harness.h2raw import H2Connection
from harness.websocket import KEY

ADMIN_TOKEN = "an-admin-token-of-some-length"
# A header line has 16 KiB at most, a request line 8 KiB, of which percent-encoding takes three for each byte.
HEADER = 15_600
PATH = 2_400

ROUTES = [
    {"name": "open", "path": "/open/**", "access": "public", "upstream": "recorder", "websocket": True},
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
TARGET = "AWSCognitoIdentityProviderService."

# In each the text stands for `@`.
HTTP_1 = {
    "connection": ("GET", "/open", {"Connection": "@"}),
    "connection-lists": ("GET", "/open", {"Connection": "close, X-Hop, @", "X-Hop": "1"}),
    "upgrade": ("GET", "/nowhere", {"Connection": "Upgrade", "Upgrade": "@"}),
    "te": ("GET", "/open", {"TE": "@"}),
    "expect": ("POST", "/open", {"Expect": "@", "Content-Length": "0"}),
    "transfer-encoding": ("POST", "/open", {"Transfer-Encoding": "@"}),
    "content-length": ("POST", "/open", {"Content-Length": "@"}),
    "host": ("GET", "/open", {"Host": "@"}),
    "websocket-version": ("GET", "/open", {**UPGRADE, "Sec-WebSocket-Version": "@"}),
    "websocket-key": ("GET", "/open", {**UPGRADE, "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "@"}),
    "websocket-extensions": ("GET", "/open", {**UPGRADE, "Sec-WebSocket-Version": "13", "Sec-WebSocket-Extensions": "@"}),
    "websocket-protocol": ("GET", "/socket", {"Sec-WebSocket-Protocol": "@"}),
    "websocket-protocol-behind-bearer": ("GET", "/socket", {"Sec-WebSocket-Protocol": "bearer, @"}),
    "cookie": ("GET", "/cookie", {"Cookie": "@"}),
    "cookie-name": ("GET", "/cookie", {"Cookie": "session@=x"}),
    "cookie-value": ("GET", "/cookie", {"Cookie": "session=@"}),
    "cookie-of-a-page": ("POST", "/cookie", {"Cookie": "session=x", "Sec-Fetch-Site": "same-origin@"}),
    "origin": ("POST", "/cookie", {"Cookie": "session=x", "Origin": "http://gateway.test@"}),
    "preflight-origin": ("OPTIONS", "/page", {**PREFLIGHT, "Origin": "https://app.example@"}),
    "preflight-method": ("OPTIONS", "/page", {**PREFLIGHT, "Access-Control-Request-Method": "GET@"}),
    "preflight-headers": ("OPTIONS", "/page", {**PREFLIGHT, "Access-Control-Request-Headers": "@"}),
    "authorization": ("GET", "/cookie", {"Authorization": "Bearer@"}),
    "bearer": ("GET", "/cookie", {"Authorization": "Bearer @"}),
    "signature": ("GET", "/open", {"Authorization": "AWS4-HMAC-SHA256 @"}),
    "request-id": ("GET", "/open", {"X-Request-Id": "@"}),
    "traceparent": ("GET", "/open", {"traceparent": "00-@"}),
    "tracestate": ("GET", "/open", {"traceparent": "00-" + "1" * 32 + "-" + "2" * 16 + "-01", "tracestate": "k=@"}),
    "user-agent": ("GET", "/open", {"User-Agent": "@"}),
    "referer": ("GET", "/open", {"Referer": "@"}),
    "content-type": ("POST", "/open", {"Content-Type": "@"}),
    "content-type-of-a-sign-in": ("POST", "/api/v1/auth/login", {"Content-Type": "application/@"}),
    "forwarded-for": ("GET", "/open", {"X-Forwarded-For": "@"}),
    "forwarded-for-in-brackets": ("GET", "/open", {"X-Forwarded-For": "[@]"}),
    "any": ("GET", "/open", {"X-Any": "@"}),
    "amazon-target": ("POST", "/open", {"X-Amz-Target": TARGET + "@"}),
    "amazon-target-that-is-known": ("POST", "/open", {"X-Amz-Target": TARGET + "SignUp@"}),
}
PATHS = ["/open/@", "/open?@", "/open?q=@", "/nowhere/@", "/page/@", "/api/v1/auth/@"]

HTTP_2 = {
    "pseudo-field": [(":a@", "x")],
    "scheme": [(":method", "GET"), (":scheme", "http@"), (":authority", "gateway.test"), (":path", "/open")],
    "method": [(":method", "GET@"), (":scheme", "http"), (":authority", "gateway.test"), (":path", "/open")],
    "path": [(":method", "GET"), (":scheme", "http"), (":authority", "gateway.test"), (":path", "/@")],
    "authority": [(":method", "GET"), (":scheme", "http"), (":authority", "gateway.test@"), (":path", "/open")],
    "host": h2raw.request("GET", "/open", ("host", "gateway.test@")),
    "te": h2raw.request("GET", "/open", ("te", "trailers@")),
    "expect": h2raw.request("GET", "/open", ("expect", "100-continue@")),
    "content-length": h2raw.request("POST", "/open", ("content-length", "1@")),
    "protocol": [*h2raw.request("CONNECT", "/open"), (":protocol", "websocket@")],
    "name": h2raw.request("GET", "/open", ("te@", "x")),
    "cookie": h2raw.request("GET", "/cookie", ("cookie", "@"), ("cookie", "@")),
    "user-agent": h2raw.request("GET", "/open", ("user-agent", "@")),
}

ADMIN = [
    ("GET", "/@", None), ("GET", "/users?matching=@", None), ("GET", "/users?after=@", None), ("GET", "/users?limit=@", None),
    ("GET", "/users?limit@=1", None), ("GET", "/users/@", None), ("PUT", "/users/x@/role", {"role": "x"}),
    ("PUT", "/users/x/role@", {}), ("POST", "/users/@/disable", None), ("GET", "/sessions?subject=@", None),
    ("DELETE", "/sessions?subject=x&issuer=@", None), ("DELETE", "/sessions/@", None),
    ("POST", "/upstreams/recorder@/@/drain", None), ("POST", "/upstreams/@/drain", None), ("GET", "/healthz@", None),
]  # fmt: skip


@pytest.fixture(scope="module")
def gateway(run_directory, shared_recorder, issuer):
    directory = run_directory / "costly-heads"
    directory.mkdir()
    changes = {
        "routes": ROUTES, "limits": {"header_bytes": "64KiB"}, "trusted_proxies": ["127.0.0.1"],
        "admin": {"token": ADMIN_TOKEN}, "direct_cognito": {"mode": "block"},
    }  # fmt: skip
    gateway = Gateway(directory, "gateway", gateway_config(directory, shared_recorder.url, issuer.server.url, changes=changes))
    yield gateway
    gateway.stop()


@pytest.fixture(scope="module")
def meter(gateway):
    meter = Meter(gateway.process)
    meter.calibrate(lambda: raw.exchange(gateway.port, "POST", "/open", {}, b"x" * (64 << 10)))
    return meter


def as_field(value: str, text: str) -> str:
    return value.replace("@", text).encode().decode("latin-1")


def encoded(path: str, text: str) -> str:
    return path.replace("@", "".join(f"%{byte:02X}" for byte in text.encode()))


@pytest.mark.parametrize("case", HTTP_1)
def test_fields_of_http_1(gateway, meter, case):
    method, path, fields = HTTP_1[case]

    def send(text: str) -> None:
        raw.exchange(gateway.port, method, path, {name: as_field(value, text) for name, value in fields.items()})

    meter.assert_cheap(send, HEADER)
    assert gateway.process.exit_status is None


@pytest.mark.parametrize("path", PATHS)
def test_paths_and_queries(gateway, meter, path):
    meter.assert_cheap(lambda text: raw.exchange(gateway.port, "GET", encoded(path, text)), PATH)


@pytest.mark.parametrize("case", HTTP_2)
def test_fields_of_http_2(gateway, meter, case):
    def send(text: str) -> None:
        with H2Connection(gateway.port) as connection:
            connection.response(connection.open([(as_field(name, text), as_field(value, text)) for name, value in HTTP_2[case]]))

    meter.assert_cheap(send, HEADER)
    assert gateway.process.exit_status is None


@pytest.mark.parametrize("method, path, body", ADMIN)
def test_what_an_operator_asks_for(gateway, meter, method, path, body):
    fields = {"Host": "localhost", **bearer(ADMIN_TOKEN)}

    def send(text: str) -> None:
        data = None if body is None else str(body).replace("'", '"').encode()
        assert raw.exchange(gateway.admin_port, method, encoded(path, text), fields, data).status >= 200

    meter.assert_cheap(send, PATH)


@pytest.mark.parametrize("path, body", [("/log-level", '{"level":"info@"}'), ("/log-level", '{"@":1}')])
def test_what_an_operator_sends(gateway, meter, path, body):
    fields = {"Host": "localhost", **bearer(ADMIN_TOKEN)}
    meter.assert_cheap(
        lambda text: raw.exchange(gateway.admin_port, "POST", path, fields, body.replace("@", text).encode()), 4_000
    )


@pytest.mark.parametrize("name", ["Host", "Authorization", "Origin", "Cookie"])
def test_fields_for_the_admin_listener(gateway, meter, name):
    fields = {"Host": "localhost", **bearer(ADMIN_TOKEN)}
    meter.assert_cheap(
        lambda text: raw.exchange(gateway.admin_port, "GET", "/status", {**fields, name: as_field("@", text)}), HEADER // 2
    )
