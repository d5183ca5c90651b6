"""Tokens from a cookie or from a WebSocket's subprotocols."""

import pytest
import websockets.sync.client
from harness import h2raw, raw
from harness.account import assert_refusal, bearer
from harness.h2raw import H2Connection
from harness.websocket import Client, Held, switch
from test_websocket import EchoServer

APP = "https://app.example"
SUBJECT = "8c3b1c52-0000-4000-8000-1234567890ab"
ROUTES = [
    {"name": "cookie", "path": "/cookie", "upstream": "recorder", "token_cookie": "session", "websocket": True},
    {
        "name": "page",
        "path": "/page",
        "upstream": "recorder",
        "token_cookie": "session",
        "cors": {"origins": [APP], "credentials": True},
    },
    {"name": "plain", "path": "/plain", "upstream": "recorder"},
    {
        "name": "socket",
        "path": "/socket",
        "upstream": "recorder",
        "token_websocket_protocol": "bearer",
        "websocket": True,
    },
]


@pytest.fixture
def gateway(start_gateway):
    gateway = start_gateway({"routes": ROUTES})
    gateway.wait_until_ready()
    return gateway


def call(gateway, method: str, path: str, cookie: str | None, **fields: str) -> raw.Response:
    headers = {name.replace("_", "-"): value for name, value in fields.items()}
    return raw.exchange(gateway.port, method, path, {**({"Cookie": cookie} if cookie else {}), **headers})


def test_the_cookie_is_verified_and_taken_out(gateway, issuer, own_recorder):
    token = issuer.access()
    for _ in range(2):
        assert call(gateway, "GET", "/cookie", f"theme=dark; session={token}; lang=de").status == 200
    for request in own_recorder.requests:
        assert request.header("cookie") == "theme=dark; lang=de"
        assert request.header("x-auth-subject") == SUBJECT
        assert token.encode() not in request.raw_head
    assert_refusal(call(gateway, "GET", "/cookie", "theme=dark"), 401, "NotAuthorizedException")
    assert_refusal(call(gateway, "GET", "/cookie", f"session={token[:-8]}"), 401, "NotAuthorizedException")
    assert_refusal(call(gateway, "GET", "/plain", f"session={token}"), 401, "NotAuthorizedException")
    assert_refusal(call(gateway, "GET", f"/cookie?session={token}&access_token={token}", None), 401, "NotAuthorizedException")
    assert len(own_recorder.requests) == 2


def test_two_cookies_of_the_name_are_refused_in_one_field_in_two_and_in_crumbs(gateway, issuer, own_recorder):
    token = issuer.access()
    twice = call(gateway, "GET", "/cookie", f"session={token}; session={token}")
    body = assert_refusal(twice, 400, "BadRequestException")
    assert gateway.access_line(body["requestId"])["denial_reason"] == "repeated-token"
    head = f"GET /cookie HTTP/1.1\r\nHost: gateway.test\r\nCookie: session={token}\r\nCookie: session=x\r\n\r\n"
    with raw.RawConnection(gateway.port) as connection:
        connection.send(head.encode())
        assert connection.response().status == 400
    with H2Connection(gateway.port) as connection:
        crumbs = [("cookie", f"session={token}"), ("cookie", "a=1"), ("cookie", "session=x")]
        twice = connection.response(connection.open(h2raw.request("GET", "/cookie", *crumbs)))
        once = connection.response(connection.open(h2raw.request("GET", "/cookie", *crumbs[:2])))
    assert (twice.status, once.status) == (400, 200)
    assert [each.header("cookie") for each in own_recorder.requests] == ["a=1"]


def test_a_cookie_changes_nothing_for_another_site(gateway, issuer, own_recorder):
    cookie = f"session={issuer.access()}"
    own = "http://gateway.test"
    for fields in ({}, {"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec_Fetch_Site": "cross-site"}):
        body = assert_refusal(call(gateway, "POST", "/cookie", cookie, **fields), 403, "AccessDeniedException")
        assert gateway.access_line(body["requestId"])["denial_reason"] == "cross-site-request"
    assert own_recorder.requests == []
    for fields in ({"Origin": own}, {"Sec_Fetch_Site": "same-origin"}):
        assert call(gateway, "POST", "/cookie", cookie, **fields).status == 200
    assert call(gateway, "POST", "/page", cookie, Origin=APP).status == 200
    assert call(gateway, "POST", "/page", cookie, Origin=own + ".evil").status == 403
    assert call(gateway, "POST", "/cookie", None, **bearer(issuer.access())).status == 200
    assert len(own_recorder.requests) == 4
    assert gateway.samples()['gatehouse_denials_total{reason="cross-site-request"}'] == 5


BALANCED = {"Origin": "https://gateway.test", "X-Forwarded-For": "203.0.113.9"}


def test_a_page_behind_a_balancer_that_ends_tls_may_use_its_cookie(start_gateway, issuer, own_recorder):
    gateway = start_gateway({"routes": ROUTES, "trusted_proxies": ["127.0.0.1"]})
    cookie = f"session={issuer.access()}"
    assert call(gateway, "POST", "/cookie", cookie, **BALANCED, X_Forwarded_Proto="https").status == 200
    assert own_recorder.last("/cookie").header("x-forwarded-proto") == "https"
    # The page of the same host without TLS is another one, and so is one of another host.
    for fields in (
        {"X_Forwarded_Proto": "http"},
        {"X_Forwarded_Proto": "https, http"},
        {"X_Forwarded_Proto": "https", "Origin": "http://gateway.test"},
        {"X_Forwarded_Proto": "https", "Origin": "https://evil.example"},
        {},
    ):
        assert call(gateway, "POST", "/cookie", cookie, **{**BALANCED, **fields}).status == 403
    assert len(own_recorder.requests) == 1


def test_a_websocket_of_such_a_page_opens(start_gateway, issuer, own_recorder):
    own_recorder.on("/cookie", Held())
    gateway = start_gateway({"routes": ROUTES, "trusted_proxies": ["127.0.0.1"]})
    cookie = f"session={issuer.access()}"
    with Client(gateway.port) as client:
        client.open("/cookie", {"Cookie": cookie, **BALANCED, "X-Forwarded-Proto": "https"})
    with Client(gateway.port) as client:
        client.ask("/cookie", {"Cookie": cookie, **BALANCED, "X-Forwarded-Proto": "wss"})
        assert_refusal(client.response(), 403, "AccessDeniedException")


def test_nobody_but_a_trusted_proxy_says_how_a_page_came(gateway, issuer, own_recorder):
    cookie = f"session={issuer.access()}"
    assert call(gateway, "POST", "/cookie", cookie, **BALANCED, X_Forwarded_Proto="https").status == 403
    assert own_recorder.requests == []


def test_another_site_opens_no_websocket_with_the_cookie(gateway, issuer, own_recorder):
    own_recorder.on("/cookie", Held())
    cookie = f"session={issuer.access()}"
    with Client(gateway.port) as client:
        client.ask("/cookie", {"Cookie": cookie, "Origin": "https://evil.example"})
        assert_refusal(client.response(), 403, "AccessDeniedException")
    assert own_recorder.requests == []
    with Client(gateway.port) as client:
        client.open("/cookie", {"Cookie": cookie, "Origin": "http://gateway.test"})
    assert "cookie" not in own_recorder.requests[0].names


def test_a_token_among_the_subprotocols_opens_a_websocket(gateway, issuer, own_recorder):
    held = Held()
    own_recorder.on("/socket", held)
    token = issuer.access()
    with Client(gateway.port) as client:
        response = client.open("/socket", {"Sec-WebSocket-Protocol": f"bearer, {token}"})
        # Browsers give up where they named protocols and none is chosen.
        assert response.header("sec-websocket-protocol") == "bearer"
        request = held.wait().request
    assert "sec-websocket-protocol" not in request.names
    assert request.header("x-auth-subject") == SUBJECT
    assert token.encode() not in request.raw_head
    with Client(gateway.port) as client:
        client.ask("/socket", {"Sec-WebSocket-Protocol": "bearer, x.y.z"})
        assert_refusal(client.response(), 401, "NotAuthorizedException")
    with Client(gateway.port) as client:
        client.ask("/socket", {"Sec-WebSocket-Protocol": f"bearer, {token}", **bearer(token)})
        assert_refusal(client.response(), 400, "BadRequestException")


def test_what_the_backend_chooses_among_the_others_is_the_answer(gateway, issuer, own_recorder):
    def choose(exchange) -> None:
        switch(exchange, {"Sec-WebSocket-Protocol": "chat"})
        exchange.wait_for_close()

    own_recorder.on("/socket", choose)
    with Client(gateway.port) as client:
        fields = {"Sec-WebSocket-Protocol": f"chat, bearer, {issuer.access()}, superchat"}
        response = client.open("/socket", fields)
    assert response.header("sec-websocket-protocol") == "chat"
    assert own_recorder.requests[0].header("sec-websocket-protocol") == "chat, superchat"


def test_http2_takes_a_token_among_the_subprotocols(gateway, issuer, own_recorder):
    own_recorder.on("/socket", Held())
    fields = [
        (":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "http"), (":authority", "gateway.test"),
        (":path", "/socket"), ("sec-websocket-version", "13"), ("sec-websocket-protocol", f"bearer, {issuer.access()}"),
    ]  # fmt: skip
    with H2Connection(gateway.port) as connection:
        connection.until(h2raw.SETTINGS)
        stream = connection.open(fields, end=False)
        while not connection.streams.setdefault(stream, h2raw.Stream()).headers:
            assert connection.read(), "the connection ended"
        answer = dict(connection.streams[stream].headers)
    assert (answer[":status"], answer["sec-websocket-protocol"]) == ("200", "bearer")
    assert "sec-websocket-protocol" not in own_recorder.requests[0].names


def test_a_library_client_is_content_with_the_gateways_answer(gateway, issuer, own_recorder):
    own_recorder.on("/socket", lambda exchange: switch(exchange))
    with websockets.sync.client.connect(
        f"ws://127.0.0.1:{gateway.port}/socket", subprotocols=["bearer", issuer.access()], close_timeout=0
    ) as client:
        assert client.subprotocol == "bearer"


def test_a_library_client_and_a_library_server_agree_on_another_protocol(start_gateway, issuer):
    echo = EchoServer()
    gateway = start_gateway({"routes": ROUTES, "upstreams": {"recorder": {"url": f"http://127.0.0.1:{echo.port}"}}})
    gateway.wait_until_ready()
    with websockets.sync.client.connect(
        f"ws://127.0.0.1:{gateway.port}/socket", subprotocols=["bearer", issuer.access(), "chat"]
    ) as client:
        assert client.subprotocol == "chat"
        client.send("hello")
        assert client.recv() == "hello"
    assert echo.headers["Sec-WebSocket-Protocol"] == "chat"
    echo.stop()
