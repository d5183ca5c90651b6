"""WebSockets on HTTP/2 streams: extended CONNECT (RFC 8441), seen frame by frame."""

import signal
import struct
import time

import pytest
from harness import h2raw, raw, websocket
from harness.h2raw import H2Connection
from harness.process import wait_until
from harness.websocket import TEXT, Held, frame, frames_of, tunnelled
from test_websocket import LOCKED, MEGABYTE, OPEN, gateway, serve  # noqa: F401  (fixtures)

ENABLE_CONNECT_PROTOCOL = 8
END_STREAM = h2raw.END_STREAM


def connect(path: str = OPEN, *fields: tuple[str, str], protocol: str | None = "websocket") -> list[tuple[str, str]]:
    pseudo = [(":protocol", protocol)] if protocol else []
    return [
        (":method", "CONNECT"),
        *pseudo,
        (":scheme", "http"),
        (":authority", "gateway.test"),
        (":path", path),
        ("sec-websocket-version", "13"),
        *fields,
    ]


@pytest.fixture
def connection(gateway):  # noqa: F811
    with opened(gateway.port) as connection:
        yield connection


def opened(port: int, **options) -> H2Connection:
    """RFC 8441 §3: a client waits for the setting before it uses the method."""
    connection = H2Connection(port, **options)
    settings = connection.until(h2raw.SETTINGS)
    assert dict(struct.iter_unpack("!HI", settings.payload))[ENABLE_CONNECT_PROTOCOL] == 1
    return connection


def until_head(connection: H2Connection, stream: int) -> h2raw.Stream:
    while not (found := connection.streams.setdefault(stream, h2raw.Stream())).headers and found.reset is None:
        assert connection.read(), "the connection ended"
    return found


def until_body(connection: H2Connection, stream: int, count: int) -> bytes:
    found = connection.streams[stream]
    while len(found.body) < count and not found.ended and found.reset is None:
        assert connection.read(), "the connection ended"
    return found.body


def send_as_allowed(connection: H2Connection, stream: int, data: bytes) -> None:
    """Sends all of `data` as the stream's window opens (RFC 9113 §6.9); the connection's is larger."""
    sent = 0
    while sent < len(data):
        updates = [found for found in connection.frames if found.type == h2raw.WINDOW_UPDATE and found.stream == stream]
        window = 65_535 + sum(struct.unpack("!I", found.payload)[0] for found in updates)
        part = data[sent : min(window, sent + 16_000)]
        if not part:
            assert connection.read(), "the connection ended"
        else:
            connection.data(stream, part)
            sent += len(part)


def test_a_stream_becomes_a_tunnel(gateway, connection, own_recorder):  # noqa: F811
    held = Held()
    own_recorder.on(OPEN, held)
    stream = connection.open(connect(OPEN + "?q=1", ("sec-websocket-protocol", "chat"), ("x-auth-subject", "mallory")), end=False)
    head = until_head(connection, stream)
    assert head.status == 200
    assert not {"sec-websocket-accept", "upgrade", "connection", "content-length"} & {name for name, _ in head.headers}
    exchange = held.wait()
    request = exchange.request
    assert request.raw_head.startswith(f"GET {OPEN}?q=1 HTTP/1.1\r\n".encode())
    assert (request.all("connection"), request.all("upgrade")) == (["Upgrade"], ["websocket"])
    assert len(request.header("sec-websocket-key")) == 24
    assert request.header("sec-websocket-version") == "13"
    assert request.header("sec-websocket-protocol") == "chat"
    assert not {"x-auth-subject", "content-length", "transfer-encoding"} & request.names

    sent = frame(TEXT, b"x" * 200_000, masked=True)
    send_as_allowed(connection, stream, sent)
    wait_until(lambda: tunnelled(exchange) == sent, "the client's frame")
    exchange.send(frame(TEXT, b"y" * MEGABYTE))
    assert until_body(connection, stream, MEGABYTE + 10) == frame(TEXT, b"y" * MEGABYTE)
    # Other streams go on beside it.
    other = connection.open(h2raw.request("GET", "/recorded/plain/other"))
    assert connection.response(other).status == 200
    exchange.close()
    ended = connection.response(stream)
    assert ended.ended and len(ended.body) == MEGABYTE + 10
    line = gateway.access_line(dict(head.headers)["x-request-id"])
    assert (line["method"], line["status"], line["bytes_sent"]) == ("CONNECT", 101, MEGABYTE + 10)


def test_each_handshake_with_the_backend_has_a_key_of_its_own(connection, own_recorder):
    keys = set()
    for _ in range(3):
        held = Held()
        own_recorder.on(OPEN, held)
        # The client's key means nothing here (RFC 8441 §5).
        stream = connection.open(connect(OPEN, ("sec-websocket-key", websocket.KEY)), end=False)
        assert until_head(connection, stream).status == 200
        keys |= set(held.wait().request.all("sec-websocket-key"))
    assert len(keys) == 3 and websocket.KEY not in keys


def test_data_before_the_answer_waits(gateway, connection, own_recorder):  # noqa: F811
    held = Held(switches=False)
    own_recorder.on(OPEN, held)
    stream = connection.open(connect(), end=False)
    early = frame(TEXT, b"early", masked=True)
    connection.data(stream, early)
    exchange = held.wait()
    assert raw.exchange(gateway.port, "GET", "/recorded/plain/other").status == 200
    assert tunnelled(exchange) == b""
    websocket.switch(exchange)
    assert until_head(connection, stream).status == 200
    wait_until(lambda: tunnelled(exchange) == early, "the early bytes")


def test_the_clients_end_of_stream_reaches_the_backend(connection, own_recorder):
    heard = []

    def hear_and_speak(exchange):
        websocket.switch(exchange)
        exchange.wait_for_close()
        heard.append(tunnelled(exchange))
        exchange.send(b"bye")

    own_recorder.on(OPEN, hear_and_speak)
    stream = connection.open(connect(), end=False)
    until_head(connection, stream)
    connection.data(stream, b"last", end=True)
    response = connection.response(stream)
    assert (response.body, response.ended, heard) == (b"bye", True, [b"last"])


def test_a_reset_ends_the_backends_connection(connection, own_recorder):
    held = Held()
    own_recorder.on(OPEN, held)
    stream = connection.open(connect(), end=False)
    until_head(connection, stream)
    connection.send(h2raw.frame(h2raw.RST_STREAM, 0, stream, struct.pack("!I", 8)))
    assert held.wait().connection.closed_by_peer.wait(10)
    assert connection.response(connection.open(h2raw.request("GET", "/recorded/plain/other"))).status == 200


def test_what_the_backend_declines_the_client_hears(connection, own_recorder):
    own_recorder.on(OPEN, websocket.respond(403, b"no"))
    stream = connection.open(connect(), end=False)
    response = connection.response(stream)
    assert (response.status, response.body) == (403, b"no")


def test_a_plain_200_is_not_taken_for_an_open_tunnel(connection, own_recorder):
    own_recorder.on(OPEN, websocket.respond(200, b"a page"))
    response = connection.response(connection.open(connect(), end=False))
    assert response.status == 502


def test_a_wrong_accept_is_502(connection, own_recorder):
    def wrong(exchange):
        websocket.switch(exchange, {"Sec-WebSocket-Accept": websocket.accept_for(websocket.KEY)})
        exchange.wait_for_close()

    own_recorder.on(OPEN, wrong)
    assert connection.response(connection.open(connect(), end=False)).status == 502


@pytest.mark.parametrize(
    "headers, end, status",
    [
        (connect(LOCKED), False, 401),
        (connect("/nowhere"), False, 404),
        (connect("/recorded/plain/socket"), False, 501),
        (connect(protocol="connect-udp"), False, 501),
        (connect(), True, 400),
        ([(name, value) for name, value in connect() if name != "sec-websocket-version"], False, 400),
        (connect(OPEN, ("content-length", "3")), False, 400),
    ],
    ids=["no token", "no route", "another route", "another protocol", "ended", "no version", "a length"],
)
def test_refusals_come_before_the_backend(connection, own_recorder, headers, end, status):
    assert connection.response(connection.open(headers, end=end)).status == status
    assert own_recorder.bytes_received() == 0


@pytest.mark.parametrize(
    "headers",
    [
        connect(protocol=None),
        [(name, "GET" if name == ":method" else value) for name, value in connect()],
        connect()[:2] + connect()[1:],
    ],
    ids=["CONNECT without a protocol", "a protocol without CONNECT", "two protocols"],
)
def test_malformed_ones_are_reset(connection, own_recorder, headers):
    response = connection.response(connection.open(headers, end=False))
    assert response.reset is not None or response.status == 400
    assert own_recorder.bytes_received() == 0


def test_silence_is_no_fault(connection, own_recorder):
    held = Held()
    own_recorder.on(OPEN, held)
    stream = connection.open(connect(), end=False)
    until_head(connection, stream)
    connection.socket.settimeout(2.5)
    with pytest.raises(TimeoutError):
        while True:
            connection.read()
    held.wait().send(b"still here")
    connection.socket.settimeout(10)
    assert until_body(connection, stream, 10) == b"still here"


def test_the_tokens_expiry_closes_the_stream_only(connection, own_recorder, issuer):
    held = Held()
    own_recorder.on(LOCKED, held)
    token = issuer.access(exp=int(time.time()) + 3)
    stream = connection.open(connect(LOCKED, ("authorization", f"Bearer {token}")), end=False)
    until_head(connection, stream)
    held.wait().send(frame(TEXT, b"hello"))
    response = connection.response(stream)
    assert response.ended and response.reset is None
    (hello, close), rest = frames_of(response.body)
    assert (hello.payload, close.close_code, rest) == (b"hello", 4401, b"")
    assert connection.response(connection.open(h2raw.request("GET", "/recorded/plain/other"))).status == 200


def test_the_stop_closes_the_stream_with_1001(serve, own_recorder):  # noqa: F811
    gateway = serve(drain_timeout="2s")  # noqa: F811
    held = Held()
    own_recorder.on(OPEN, held)
    with opened(gateway.port) as connection:
        stream = connection.open(connect(), end=False)
        until_head(connection, stream)
        gateway.process.signal(signal.SIGTERM)
        wait_until(lambda: "draining" in gateway.log(), "the stop to begin")
        held.wait().send(frame(TEXT, b"go on"))
        response = connection.response(stream)
        assert response.ended
        (message, close), _ = frames_of(response.body)
        assert (message.payload, close.close_code) == (b"go on", 1001)
        connection.rest()
    assert gateway.process.wait(10) == 0


def test_a_client_that_does_not_read_is_not_read_for(gateway, own_recorder):  # noqa: F811
    held = Held()
    own_recorder.on(OPEN, held)
    with opened(gateway.port, auto_window=False) as connection:
        stream = connection.open(connect(), end=False)
        until_head(connection, stream)
        exchange = held.wait()
        before = gateway.process.resident_bytes()
        exchange.connection.socket.settimeout(1)
        sent = 0
        with pytest.raises(TimeoutError):
            while sent < 64 * MEGABYTE:
                sent += exchange.connection.socket.send(bytes(64 << 10))
        assert gateway.process.resident_bytes() < before + 8 * MEGABYTE


def test_a_head_on_a_tunnel_ends_it(gateway, connection, own_recorder):  # noqa: F811
    """RFC 9113 §8.5: a stream that is a connection holds nothing but DATA."""
    held = Held()
    own_recorder.on(OPEN, held)
    stream = connection.open(connect(), end=False)
    assert until_head(connection, stream).status == 200
    exchange = held.wait()
    trailers = h2raw.block([("x-a", "1")])
    connection.send(h2raw.frame(h2raw.HEADERS, h2raw.END_HEADERS | END_STREAM, stream, trailers))
    assert connection.response(stream).reset == h2raw.PROTOCOL_ERROR
    assert b"x-a" not in tunnelled(exchange)
