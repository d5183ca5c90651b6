"""WebSockets through the gateway (RFC 6455): the handshake, the tunnel, and how it ends."""

import signal
import socket
import ssl
import threading
import time

import pytest
import websockets.exceptions
import websockets.sync.client
import websockets.sync.server
from harness import raw, websocket
from harness.account import bearer
from harness.certificates import Authority
from harness.gateway import Gateway
from harness.process import free_port, wait_until
from harness.websocket import BINARY, CLOSE, HANDSHAKE, PING, TEXT, Client, Held, frame, frames_of, tunnelled

MEGABYTE = 1 << 20
OPEN, LOCKED = "/recorded/public/socket", "/recorded/required/socket"
ROUTES = [
    {"name": "open", "path": "/recorded/public/**", "access": "public", "upstream": "recorder", "websocket": True},
    {"name": "locked", "path": "/recorded/required/**", "access": "required", "upstream": "recorder", "websocket": {}},
    {
        "name": "lasting",
        "path": "/recorded/lasting/**",
        "access": "required",
        "upstream": "recorder",
        "websocket": {"close_on_expiry": False},
    },
    {
        "name": "brief",
        "path": "/recorded/brief/**",
        "access": "public",
        "upstream": "recorder",
        "websocket": {"idle_timeout": "2s"},
    },
    {"name": "plain", "path": "/recorded/plain/**", "access": "public", "upstream": "recorder"},
]


@pytest.fixture
def serve(start_gateway):
    """A gateway whose routes have WebSockets, with short time-outs for everything that is none."""

    def start(**changes) -> Gateway:
        short = {"first_byte_timeout": "2s", "idle_timeout": "1s", "whole_timeout": "3s"}
        settings = {
            "routes": ROUTES,
            "upstreams": {"recorder": short},
            "issuers": {"own": {"clock_skew": "0s"}},
            "limits": {"body_idle_timeout": "1s", "keep_alive_timeout": "1s"},
            **changes,
        }
        gateway = start_gateway(settings)
        gateway.wait_until_ready()
        return gateway

    return start


@pytest.fixture
def gateway(serve) -> Gateway:
    return serve()


def silent_for(connection: raw.RawConnection, seconds: float) -> bool:
    """Whether nothing comes for so long, and the connection stays open."""
    before = connection.socket.gettimeout()
    connection.socket.settimeout(seconds)
    try:
        return connection.socket.recv(1) is None
    except TimeoutError:
        return True
    finally:
        connection.socket.settimeout(before)


# Independent implementations on both sides


class EchoServer:
    """The `websockets` library's server: sends back what it gets."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.closed_with: list[tuple[int | None, str | None]] = []
        self._server = websockets.sync.server.serve(
            self._echo, "127.0.0.1", 0, ssl=tls, subprotocols=["chat"], max_size=None
        )
        self.port = self._server.socket.getsockname()[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def _echo(self, connection) -> None:
        self.headers = connection.request.headers
        try:
            while True:
                connection.send(connection.recv())
        except websockets.exceptions.ConnectionClosed:
            self.closed_with.append((connection.close_code, connection.close_reason))

    def stop(self) -> None:
        self._server.shutdown()


@pytest.fixture
def echo():
    server = EchoServer()
    yield server
    server.stop()


def test_a_library_client_talks_to_a_library_server(serve, echo, issuer):
    gateway = serve(upstreams={"recorder": {"url": f"http://127.0.0.1:{echo.port}"}})
    token = issuer.access()
    with websockets.sync.client.connect(
        f"ws://127.0.0.1:{gateway.port}{LOCKED}?room=1",
        subprotocols=["chat"],
        additional_headers={**bearer(token), "X-Auth-Subject": "mallory"},
        max_size=None,
    ) as client:
        assert client.subprotocol == "chat"
        assert "permessage-deflate" in client.response.headers["Sec-WebSocket-Extensions"]
        for message in ["hello", "", "ä" * 70_000, b"\0" * (2 * MEGABYTE)]:
            client.send(message)
            assert client.recv(timeout=10) == message
        assert client.ping().wait(10)
    assert echo.headers["X-Auth-Subject"] == "8c3b1c52-0000-4000-8000-1234567890ab"
    assert "Authorization" not in echo.headers
    wait_until(lambda: echo.closed_with == [(1000, "")], "the server to see the client's Close")


def test_over_tls_on_both_sides(serve, run_directory):
    authority = Authority(run_directory / "websocket-certificates")
    issued = authority.issue("127.0.0.1")
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(issued.certificate, issued.key)
    echo = EchoServer(tls)
    listener = {"address": f"127.0.0.1:{free_port()}", "tls": {"certificates": [issued.settings()]}}
    upstream = {"url": f"https://127.0.0.1:{echo.port}", "tls": {"ca": str(authority.pem)}}
    gateway = serve(listeners=[listener], upstreams={"recorder": upstream})
    context = ssl.create_default_context(cafile=str(authority.pem))
    try:
        with websockets.sync.client.connect(
            f"wss://127.0.0.1:{gateway.port}{OPEN}", subprotocols=["chat"], ssl=context, compression=None, max_size=None
        ) as client:
            for size in [1, 5 * MEGABYTE, 0]:
                client.send(b"x" * size)
                assert client.recv(timeout=20) == b"x" * size
        wait_until(lambda: echo.closed_with == [(1000, "")], "the server to see the client's Close")
    finally:
        echo.stop()


# The handshake


def test_what_backend_and_client_get_of_the_handshake(gateway, own_recorder):
    def accept(exchange):
        websocket.switch(exchange, {"Sec-WebSocket-Protocol": "chat", "X-Own": "1", "Connection": "upgrade, x-hop", "X-Hop": "1"})
        exchange.wait_for_close()

    own_recorder.on(OPEN, accept)
    with Client(gateway.port) as client:
        response = client.open(OPEN, {"Sec-WebSocket-Protocol": "chat, other", "Connection": "Upgrade, X-Secret", "X-Secret": "1"})
    request = own_recorder.last(OPEN)
    assert request.all("connection") == ["Upgrade"]
    assert request.all("upgrade") == ["websocket"]
    assert request.all("sec-websocket-key") == [websocket.KEY]
    assert request.header("sec-websocket-version") == "13"
    assert request.header("sec-websocket-protocol") == "chat, other"
    assert request.header("x-secret") is None
    assert response.all("connection") == ["Upgrade"]
    assert response.all("upgrade") == ["websocket"]
    assert response.header("sec-websocket-accept") == websocket.accept_for(websocket.KEY)
    assert response.header("sec-websocket-protocol") == "chat"
    assert response.header("x-own") == "1"
    assert response.header("x-hop") is None
    assert response.header("content-length") is None and response.header("transfer-encoding") is None


def test_policy_comes_before_the_upgrade(gateway, own_recorder, issuer):
    for fields, status in [({}, 401), (bearer(issuer.access(exp=1)), 401), (bearer("what"), 401)]:
        with Client(gateway.port) as client:
            client.ask(LOCKED, fields)
            assert client.response().status == status
    with Client(gateway.port) as client:
        client.ask("/nowhere")
        assert client.response().status == 404
    assert own_recorder.bytes_received() == 0


@pytest.mark.parametrize(
    "target, fields",
    [
        ("/recorded/plain/socket", {}),
        (OPEN, {"Upgrade": "h2c", "Connection": "Upgrade, HTTP2-Settings", "HTTP2-Settings": "AAMAAABkAAQAAP__"}),
        (OPEN, {"Connection": "keep-alive"}),
        (OPEN, {"Upgrade": "websocket2"}),
    ],
    ids=["another route", "h2c", "no connection option", "another protocol"],
)
def test_elsewhere_it_is_an_ordinary_request(gateway, own_recorder, target, fields):
    with Client(gateway.port) as client:
        client.ask(target, fields)
        assert client.response().status == 200
        assert client.request("GET", "/recorded/plain/next").status == 200
    request = own_recorder.last(target)
    assert "upgrade" not in request.names and "http2-settings" not in request.names
    assert request.all("connection") == []


@pytest.mark.parametrize(
    "sent",
    [
        raw.request_bytes("GET", OPEN, HANDSHAKE, b"body"),
        raw.request_bytes("GET", OPEN, {**HANDSHAKE, "Transfer-Encoding": "chunked"}, raw.chunked(b"body")),
        raw.request_bytes("POST", OPEN, HANDSHAKE, b""),
        raw.request_bytes("GET", OPEN, {**HANDSHAKE, "Sec-WebSocket-Key": "short"}),
        raw.request_bytes("GET", OPEN, {**HANDSHAKE, "Sec-WebSocket-Version": "8"}),
    ],
    ids=["length", "chunked", "POST", "key", "version"],
)
def test_a_malformed_handshake_is_400_and_goes_nowhere(gateway, own_recorder, sent):
    with Client(gateway.port) as client:
        client.send(sent)
        response = client.response()
        assert response.status == 400
        assert client.is_closed_by_peer()
    assert own_recorder.bytes_received() == 0
    if b"Version: 8" in sent:
        assert response.header("sec-websocket-version") == "13"


def test_nothing_behind_the_handshake_reaches_the_backend_before_its_101(gateway, own_recorder):
    held = Held(switches=False)
    own_recorder.on(OPEN, held)
    early = frame(TEXT, b"early", masked=True)
    with Client(gateway.port) as client:
        client.ask(OPEN, behind=early[:3])
        exchange = held.wait()
        client.send(early[3:])
        # The gateway answers others meanwhile, and so has had its time with the bytes.
        assert raw.exchange(gateway.port, "GET", "/recorded/plain/other").status == 200
        assert tunnelled(exchange) == b""
        websocket.switch(exchange)
        assert client.response().status == 101
        wait_until(lambda: tunnelled(exchange) == early, "the early bytes")
        exchange.send(frame(TEXT, b"answer"))
        assert client.frame().payload == b"answer"


def test_what_comes_before_the_101_is_bounded(serve, own_recorder):
    # That the client has gone comes behind what the gateway does not read.
    gateway = serve(upstreams={"recorder": {"first_byte_timeout": "20s"}}, drain_timeout="1s")
    held = Held(switches=False)
    own_recorder.on(OPEN, held)
    with Client(gateway.port) as client:
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 << 10)
        client.ask(OPEN)
        held.wait()
        before = gateway.process.resident_bytes()
        client.socket.settimeout(0.5)
        sent = 0
        with pytest.raises(TimeoutError):
            while sent < 64 * MEGABYTE:
                sent += client.socket.send(bytes(64 << 10))
        assert sent < 16 * MEGABYTE
        assert gateway.process.resident_bytes() < before + 4 * MEGABYTE
        assert tunnelled(held.wait()) == b""


@pytest.mark.parametrize("status", [200, 403, 503])
def test_another_answer_is_passed_on_and_ends_the_connection(gateway, own_recorder, status):
    own_recorder.on(OPEN, websocket.respond(status, b"no"))
    smuggled = raw.request_bytes("GET", "/recorded/plain/smuggled")
    with Client(gateway.port) as client:
        client.ask(OPEN, behind=smuggled)
        response = client.response()
        assert (response.status, response.body, response.header("connection")) == (status, b"no", "close")
        assert client.is_closed_by_peer()
    assert own_recorder.requests_to("/recorded/plain/smuggled") == []
    assert b"smuggled" not in b"".join(connection.received for connection in own_recorder.connections)


@pytest.mark.parametrize(
    "changes",
    [
        {"Sec-WebSocket-Accept": websocket.accept_for("x3JJHMbDL1EzLkh9GBhXDw==")},
        {"Sec-WebSocket-Accept": None},
        {"Upgrade": "h2c"},
        {"Upgrade": None},
        {"Connection": "keep-alive"},
        {"Connection": None},
    ],
    ids=str,
)
def test_a_wrong_101_is_502(gateway, own_recorder, changes):
    def wrong(exchange):
        websocket.switch(exchange, changes)
        exchange.wait_for_close()

    own_recorder.on(OPEN, wrong)
    with Client(gateway.port) as client:
        client.ask(OPEN, behind=frame(TEXT, b"early", masked=True))
        assert client.response().status == 502
        assert client.is_closed_by_peer()
    connection = own_recorder.connection_of(own_recorder.last(OPEN))
    assert connection.closed_by_peer.wait(10)
    assert connection.received.endswith(b"\r\n\r\n")


def test_a_101_that_nobody_asked_for_is_502(gateway, own_recorder):
    own_recorder.on("/recorded/plain/x", lambda exchange: exchange.send(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
    ))
    assert raw.exchange(gateway.port, "GET", "/recorded/plain/x").status == 502


def test_a_backend_that_cannot_be_reached_is_502(serve):
    gateway = serve(upstreams={"recorder": {"url": f"http://127.0.0.1:{free_port()}"}})
    with Client(gateway.port) as client:
        client.ask(OPEN)
        assert client.response().status == 502
        assert client.is_closed_by_peer()


# The tunnel


def test_no_time_out_applies_but_the_tunnels_own(gateway, own_recorder):
    """Silence for longer than every other limit of the gateway here, and bytes still go both ways."""
    held = Held()
    own_recorder.on(OPEN, held)
    with Client(gateway.port) as client:
        client.open(OPEN)
        exchange = held.wait()
        assert silent_for(client, 3.5)
        client.send(b"ping")
        wait_until(lambda: tunnelled(exchange) == b"ping", "the client's bytes")
        exchange.send(b"pong")
        assert client.exactly(4) == b"pong"


def test_a_tunnel_outlives_reloads_that_take_its_route_and_upstream_out(gateway, own_recorder):
    held = Held()
    own_recorder.on(OPEN, held)
    with Client(gateway.port) as client:
        client.open(OPEN)
        exchange = held.wait()
        other = {"name": "other", "path": "/other", "access": "public", "upstream": "other"}
        gateway.reload({"routes": [other], "upstreams": {"recorder": ..., "down": ..., "other": {"url": own_recorder.url}}})
        gateway.reload({"limits": {"header_count": 90}})
        client.send(b"ping")
        wait_until(lambda: tunnelled(exchange) == b"ping", "the client's bytes")
        exchange.send(b"pong")
        assert client.exactly(4) == b"pong"


def test_an_idle_tunnel_is_closed_with_4408(gateway, own_recorder):
    held = Held()
    target = "/recorded/brief/socket"
    own_recorder.on(target, held)
    with Client(gateway.port) as client:
        response = client.open(target)
        exchange = held.wait()
        for _ in range(4):
            # Bytes either way put it off.
            assert silent_for(client, 0.6)
            exchange.send(frame(PING))
            assert client.frame().opcode == PING
        started = time.monotonic()
        assert client.frame().close_code == 4408
        assert 1 < time.monotonic() - started < 8
        assert client.is_closed_by_peer()
    assert exchange.connection.closed_by_peer.wait(10)
    (told,), _ = frames_of(tunnelled(exchange))
    assert told.masked and told.close_code == 4408
    assert gateway.access_line(response.header("x-request-id"))["denial_reason"] == "websocket-idle"


def test_the_clients_end_reaches_the_backend_and_its_last_words_the_client(gateway, own_recorder):
    heard = []

    def hear_and_speak(exchange):
        websocket.switch(exchange)
        exchange.wait_for_close()
        heard.append(tunnelled(exchange))
        exchange.send(b"b" * MEGABYTE)

    own_recorder.on(OPEN, hear_and_speak)
    with Client(gateway.port, receive_buffer=64 << 10) as client:
        client.open(OPEN)
        client.send(b"last")
        client.socket.shutdown(socket.SHUT_WR)
        assert client.rest() == b"b" * MEGABYTE
    assert heard == [b"last"]


def test_the_backends_end_reaches_the_client_behind_its_last_words(gateway, own_recorder):
    def speak_and_end(exchange):
        websocket.switch(exchange)
        exchange.send(b"b" * MEGABYTE)
        exchange.close()

    own_recorder.on(OPEN, speak_and_end)
    with Client(gateway.port) as client:
        response = client.open(OPEN)
        assert client.rest() == b"b" * MEGABYTE
    line = gateway.access_line(response.header("x-request-id"))
    assert (line["status"], line["bytes_sent"], line["route"], line["method"]) == (101, MEGABYTE, "open", "GET")
    assert not line.get("denial_reason")


def test_a_client_that_vanishes_ends_the_backends_connection(gateway, own_recorder):
    held = Held()
    own_recorder.on(OPEN, held)
    with Client(gateway.port) as client:
        response = client.open(OPEN)
        exchange = held.wait()
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    assert exchange.connection.closed_by_peer.wait(10)
    assert gateway.access_line(response.header("x-request-id"))["denial_reason"] == "client-disconnected"


def test_a_tunnel_is_counted_and_logged_once(gateway, own_recorder):
    held = Held()
    own_recorder.on(OPEN, held)
    opened = gateway.metric("gatehouse_websockets_total")
    with Client(gateway.port) as client:
        response = client.open(OPEN)
        exchange = held.wait()
        exchange.send(b"12345")
        assert client.exactly(5) == b"12345"
        assert gateway.metric("gatehouse_websockets_total") == opened + 1
        assert gateway.metric("gatehouse_websockets_open") == 1
        assert response.header("x-request-id") not in gateway.log()
    wait_until(lambda: gateway.metric("gatehouse_websockets_open") == 0, "the tunnel to be counted off")
    line = gateway.access_line(response.header("x-request-id"))
    assert (line["status"], line["bytes_sent"]) == (101, 5)


@pytest.mark.parametrize("end", ["client", "backend", "gateway"])
def test_its_line_says_where_it_was_and_for_how_long_whoever_ends_it(gateway, own_recorder, end):
    held = Held()
    # The gateway ends it when it is idle.
    target = "/recorded/brief/socket"
    own_recorder.on(target, held)
    with Client(gateway.port) as client:
        response = client.open(target)
        exchange = held.wait()
        if end == "client":
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        else:
            if end == "backend":
                exchange.close()
            client.rest()
    line = gateway.access_line(response.header("x-request-id"))
    assert line["server"] == own_recorder.url
    assert 0 < line["upstream_duration_us"] <= line["duration_us"]


def test_the_backends_connection_is_not_used_again(gateway, own_recorder):
    own_recorder.on(OPEN, lambda exchange: (websocket.switch(exchange), exchange.close()))
    with Client(gateway.port) as client:
        client.open(OPEN)
        assert client.rest() == b""
    assert raw.exchange(gateway.port, "GET", "/recorded/plain/after").status == 200
    assert own_recorder.last("/recorded/plain/after").connection != own_recorder.last(OPEN).connection


def test_a_client_that_does_not_read_is_not_read_for(gateway, own_recorder):
    """Neither side's slowness is stored, and what was held back arrives whole."""
    piece = bytes(range(256)) * 256
    sent, held_back = 0, threading.Event()

    def pour(exchange):
        nonlocal sent
        websocket.switch(exchange)
        exchange.connection.socket.settimeout(1)
        try:
            while sent < 64 * MEGABYTE:
                sent += exchange.connection.socket.send(piece[sent % len(piece) :])
        except TimeoutError:
            held_back.set()
        exchange.close()

    own_recorder.on(OPEN, pour)
    before = gateway.process.resident_bytes()
    with Client(gateway.port, receive_buffer=64 << 10) as client:
        client.open(OPEN)
        assert held_back.wait(20)
        assert gateway.process.resident_bytes() < before + 8 * MEGABYTE
        received = client.rest()
    assert len(received) == sent
    assert received == (piece * (sent // len(piece) + 1))[:sent]


def test_a_backend_that_does_not_read_is_not_read_for(gateway, own_recorder):
    held = Held(reads=False)
    own_recorder.on(OPEN, held)
    with Client(gateway.port) as client:
        client.open(OPEN)
        exchange = held.wait()
        before = gateway.process.resident_bytes()
        client.socket.settimeout(1)
        sent = 0
        with pytest.raises(TimeoutError):
            while sent < 64 * MEGABYTE:
                sent += client.socket.send(bytes(64 << 10))
        assert gateway.process.resident_bytes() < before + 8 * MEGABYTE
        held.read_on()
        wait_until(lambda: len(tunnelled(exchange)) == sent, "all that was sent", seconds=20)


# How the gateway ends it


def test_the_tokens_expiry_closes_it_between_two_frames(gateway, own_recorder, issuer):
    """Close 4401 comes behind the frame that was on its way, and nothing behind the Close frame."""
    held = Held()
    own_recorder.on(LOCKED, held)
    big, next_one = frame(BINARY, b"\x88" * (2 * MEGABYTE)), frame(TEXT, b"too late")
    with Client(gateway.port) as client:
        response = client.open(LOCKED, bearer(issuer.access(exp=int(time.time()) + 3)))
        exchange = held.wait()
        exchange.send(big[: MEGABYTE + 3])
        assert client.exactly(MEGABYTE + 3) == big[: MEGABYTE + 3]
        # The backend is told at once, and answers as a backend does: it goes on with its frame.
        wait_until(lambda: tunnelled(exchange), "the backend to be told", seconds=10)
        exchange.send(big[MEGABYTE + 3 :] + next_one)
        assert client.exactly(MEGABYTE + 7) == big[MEGABYTE + 3 :]
        found = client.frame()
        assert (found.close_code, found.payload[2:]) == (4401, b"token expired")
        assert client.is_closed_by_peer()
    (told,), rest = frames_of(tunnelled(exchange))
    assert told.masked and told.close_code == 4401 and rest == b""
    assert exchange.connection.closed_by_peer.wait(10)
    line = gateway.access_line(response.header("x-request-id"))
    assert (line["status"], line["denial_reason"]) == (101, "websocket-token-expired")


def test_a_library_client_hears_why(serve, echo, issuer):
    gateway = serve(upstreams={"recorder": {"url": f"http://127.0.0.1:{echo.port}"}})
    token = issuer.access(exp=int(time.time()) + 3)
    with websockets.sync.client.connect(
        f"ws://127.0.0.1:{gateway.port}{LOCKED}", subprotocols=["chat"], additional_headers=bearer(token)
    ) as client:
        client.send("hello")
        assert client.recv(timeout=10) == "hello"
        with pytest.raises(websockets.exceptions.ConnectionClosedError) as raised:
            client.recv(timeout=10)
        assert (raised.value.rcvd.code, raised.value.rcvd.reason) == (4401, "token expired")
    wait_until(lambda: echo.closed_with == [(4401, "token expired")], "the server to hear it as well")


def test_a_frame_that_does_not_end_is_not_waited_for_long(gateway, own_recorder, issuer):
    held = Held()
    own_recorder.on(LOCKED, held)
    with Client(gateway.port, timeout=15) as client:
        end = int(time.time()) + 3
        client.open(LOCKED, bearer(issuer.access(exp=end)))
        exchange = held.wait()
        # The client has not ended its frame either, so that the backend cannot be told by one.
        client.send(frame(TEXT, b"half", masked=True)[:-2])
        exchange.send(frame(BINARY, bytes(1000))[:500])
        assert len(client.rest()) == 500
        assert 4 < time.time() - end < 12, "five seconds after the token's end"
    assert exchange.connection.closed_by_peer.wait(10)
    assert len(tunnelled(exchange)) == len(frame(TEXT, b"half", masked=True)) - 2


def test_what_is_no_frame_is_just_closed(gateway, own_recorder, issuer):
    held = Held()
    own_recorder.on(LOCKED, held)
    with Client(gateway.port) as client:
        client.open(LOCKED, bearer(issuer.access(exp=int(time.time()) + 3)))
        held.wait().send(b"\xff\xff no frame")
        assert client.rest() == b"\xff\xff no frame"


def test_nothing_follows_the_backends_own_close(gateway, own_recorder, issuer):
    held = Held()
    own_recorder.on(LOCKED, held)
    with Client(gateway.port) as client:
        client.open(LOCKED, bearer(issuer.access(exp=int(time.time()) + 3)))
        close = frame(CLOSE, b"\x03\xe8")
        held.wait().send(close)
        assert client.rest() == close


def test_a_route_may_let_it_stay_beyond_the_token(gateway, own_recorder, issuer):
    held = Held()
    target = "/recorded/lasting/socket"
    own_recorder.on(target, held)
    with Client(gateway.port) as client:
        end = int(time.time()) + 3
        client.open(target, bearer(issuer.access(exp=end)))
        assert silent_for(client, end + 1.5 - time.time())
        held.wait().send(frame(TEXT, b"still here"))
        assert client.frame().payload == b"still here"


def test_a_tunnel_outlives_the_stop_until_the_grace_ends(serve, own_recorder):
    gateway = serve(drain_timeout="2s")
    held = Held()
    own_recorder.on(OPEN, held)
    with Client(gateway.port) as client:
        response = client.open(OPEN)
        exchange = held.wait()
        gateway.process.signal(signal.SIGTERM)
        started = time.monotonic()
        wait_until(lambda: "draining" in gateway.log(), "the stop to begin")
        exchange.send(frame(TEXT, b"go on"))
        assert client.frame().payload == b"go on"
        assert client.frame().close_code == 1001
        assert 1.5 < time.monotonic() - started < 9
        assert client.is_closed_by_peer()
    assert exchange.connection.closed_by_peer.wait(10)
    (told,), _ = frames_of(tunnelled(exchange))
    assert told.masked and told.close_code == 1001
    assert gateway.process.wait(10) == 0
    assert gateway.access_line(response.header("x-request-id"))["denial_reason"] == "websocket-going-away"


def test_a_tunnel_outlives_its_listener_until_the_grace_ends(serve, own_recorder):
    gateway = serve(drain_timeout="2s")
    own, other = {"address": f"127.0.0.1:{gateway.port}"}, free_port()
    gateway.reload({"listeners": [own, {"address": f"127.0.0.1:{other}"}]})
    held = Held()
    own_recorder.on(OPEN, held)
    with Client(other) as client:
        response = client.open(OPEN)
        exchange = held.wait()
        gateway.reload({"listeners": [own]})
        exchange.send(frame(TEXT, b"go on"))
        assert client.frame().payload == b"go on"
        assert client.frame().close_code == 1001
        assert client.is_closed_by_peer()
    assert gateway.access_line(response.header("x-request-id"))["denial_reason"] == "websocket-going-away"


def test_a_client_that_does_not_close_does_not_hold_up_the_stop(serve, own_recorder):
    gateway = serve(drain_timeout="1s")
    held = Held()
    own_recorder.on(OPEN, held)
    with Client(gateway.port) as client:
        client.open(OPEN)
        held.wait().send(frame(BINARY, bytes(1000))[:500])
        gateway.process.signal(signal.SIGTERM)
        assert gateway.process.wait(15) == 0
        assert len(client.rest()) == 500
