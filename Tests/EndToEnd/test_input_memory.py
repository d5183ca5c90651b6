"""Whatever a connection brings, and however its bytes are cut: the gateway's memory stays within 8 MB of before, and what is
useless is counted and ended."""

import socket
import ssl
import struct
import threading

import pytest
from harness import h2raw, raw, websocket
from harness.certificates import Authority
from harness.h2raw import H2Connection, Windows, frame, request
from harness.pour import MEGABYTE, Reader, growth, pour
from harness.process import free_port, wait_until

pytestmark = pytest.mark.alone

INITIAL_WINDOW_SIZE = 4
PATH = "/recorded/public/poured"
# The bytes sent of each kind of input. The smaller amount is three times what the gateway may grow by.
AMOUNTS = [24 * MEGABYTE, pytest.param(200 * MEGABYTE, marks=pytest.mark.long)]
amounts = pytest.mark.parametrize("size", AMOUNTS, ids=lambda size: f"{size // MEGABYTE}MB")


OPEN = raw.request_bytes("POST", PATH + "/open", {"Transfer-Encoding": "chunked"})


def read_away(backend) -> None:
    """A backend that takes a whole body and keeps none of it."""
    while backend.connection.socket.recv(1 << 18):
        pass


def read_nothing(backend) -> None:
    """A backend that never takes a body."""
    backend.connection.closed_by_peer.wait(100)


@pytest.fixture
def gateway(start_gateway, own_recorder, pool):
    """One with a single event loop, that has served a request of each protocol."""
    own_recorder.on(PATH + "/open", read_away)
    own_recorder.on(PATH + "/stuck", read_nothing)
    routes = [{"name": "poured", "path": PATH + "/**", "access": "public", "upstream": "recorder", "websocket": True}]
    gateway = start_gateway({"threads": 1, "routes": routes}, pool=pool)
    for _ in range(3):
        with H2Connection(gateway.port) as connection:
            assert connection.response(connection.open(request("GET", PATH))).status == 200
    return gateway


def failures(gateway) -> float:
    """How many HTTP/2 connections were ended for an error."""
    return sum(value for name, value in gateway.samples().items() if name.startswith("gatehouse_http2_connections_failed_total"))


# HTTP/2 frames


USELESS = {
    "unknown": frame(0x4F, 0, 0, b"u" * 9_000),
    "unknown-with-flags": frame(0xFE, 0xFF, 1, b"u" * 9_000),
    "unknown-empty": frame(0x4F, 0, 0),
    "GOAWAY": frame(h2raw.GOAWAY, 0, 0, struct.pack("!II", 0, 0) + b"g" * 9_000),
    "ALTSVC": frame(0x0A, 0, 0, b"\0\0" + b"a" * 9_000),
    "ALTSVC-of-a-stream": frame(0x0A, 0, 1, b"\0\0" + b"a" * 9_000),
    "ORIGIN": frame(0x0C, 0, 0, struct.pack("!H", 9_000) + b"o" * 9_000),
    "ORIGIN-of-a-stream": frame(0x0C, 0, 1, struct.pack("!H", 9_000) + b"o" * 9_000),
    "PRIORITY": frame(h2raw.PRIORITY, 0, 3, struct.pack("!IB", 0, 1)),
    "PRIORITY_UPDATE": frame(0x10, 0, 0, struct.pack("!I", 1) + b"p" * 9_000),
    "PING": frame(h2raw.PING, 0, 0, bytes(8)),
    "PING-ACK": frame(h2raw.PING, h2raw.ACK, 0, bytes(8)),
    "SETTINGS": frame(h2raw.SETTINGS, 0, 0, struct.pack("!HI", 0xF0F0, 7) * 1_500),
    "SETTINGS-ACK": frame(h2raw.SETTINGS, h2raw.ACK, 0),
    "WINDOW_UPDATE": frame(h2raw.WINDOW_UPDATE, 0, 0, struct.pack("!I", 1)),
    "WINDOW_UPDATE-of-a-stream": frame(h2raw.WINDOW_UPDATE, 0, 1, struct.pack("!I", 1)),
    "DATA-empty": frame(h2raw.DATA, 0, 1),
    "DATA-of-padding": frame(h2raw.DATA, 0x8, 1, b"\xff" + bytes(255)),
    "RST_STREAM-idle": frame(h2raw.RST_STREAM, 0, 99, struct.pack("!I", 8)),
    "PUSH_PROMISE": frame(h2raw.PUSH_PROMISE, h2raw.END_HEADERS, 1, struct.pack("!I", 2) + h2raw.block(request())),
    "HEADERS-again": frame(h2raw.HEADERS, h2raw.END_HEADERS, 1, h2raw.block(request())),
    "CONTINUATION-alone": frame(h2raw.CONTINUATION, 0, 1, b"c" * 9_000),
    "too-large": frame(0x4F, 0, 0, b"u" * 16_385),
    "DATA-too-large": frame(h2raw.DATA, 0, 1, b"u" * 16_385),
    "DATA-of-no-stream": frame(h2raw.DATA, 0, 0, b"d" * 9_000),
    "DATA-idle": frame(h2raw.DATA, 0, 99, b"d" * 9_000),
    "zeros": bytes(9),
    "noise": bytes(range(256)) * 37,
}


@amounts
@pytest.mark.parametrize("unit", USELESS.values(), ids=USELESS.keys())
def test_useless_frames_are_counted_and_end_their_connection(gateway, size, unit):
    with H2Connection(gateway.port) as connection:
        # A body that goes on keeps the connection open for as long as the client likes.
        stream = connection.open(request("POST", PATH + "/open"), end=False)
        connection.data(stream, b"x")
        before = failures(gateway)
        with growth(gateway.process):
            sent = pour(connection.socket, unit, size)
        connection.rest()
        print(f"{sent} bytes sent, ended with {[found.code for found in connection.goaways]}")
        assert connection.goaways and connection.goaways[-1].code != h2raw.NO_ERROR
        wait_until(lambda: failures(gateway) == before + 1, "the failure to be counted")


@amounts
@pytest.mark.parametrize("length", [16_384, 1_000, 97])
def test_bodies_on_streams_pass_without_being_stored(gateway, size, length):
    with Windows(gateway.port) as connection:
        stream = connection.open(request("POST", PATH + "/open"), end=False)
        connection.begin()
        # Small frames cost much for each byte: fewer bytes do, as long as they are more than what may be stored.
        count = min(size, size * length // 1_000) // length
        piece, rest = frame(h2raw.DATA, 0, stream, b"d" * length), b""
        together = max(1, 16_384 // length)
        with growth(gateway.process):
            for _ in range(count // together):
                assert connection.take(stream, together * length), connection.why()
                data = rest + piece * together
                # Every write ends within a frame's header.
                rest = data[-length - 5 :]
                connection.send(data[: -length - 5])
        assert gateway.process.exit_status is None


def test_small_frames_that_come_together_leave_nothing_with_their_streams(gateway):
    """Each of 100 streams that stay open gets frames of a byte, as many as fit a read."""
    with Windows(gateway.port, timeout=30) as connection:
        streams = [connection.open(request("POST", PATH + "/open"), end=False) for _ in range(100)]
        connection.begin()
        with growth(gateway.process):
            for _ in range(3):
                for stream in streams:
                    assert connection.take(stream, 6_500), connection.why()
                    connection.send(frame(h2raw.DATA, 0, stream, b"d") * 6_500)
        assert gateway.process.exit_status is None


@pytest.mark.parametrize("length", [0, 1, 5])
def test_small_frames_for_a_backend_that_takes_none_are_not_collected(gateway, length):
    """Windows count bytes of bodies, and not what each frame takes to be remembered. Empty frames have no use."""
    with Windows(gateway.port, timeout=30) as connection, growth(gateway.process):
        streams = [connection.open(request("POST", PATH + "/stuck"), end=False) for _ in range(10)]
        connection.begin()
        for stream in streams:
            # Until no more fits between gateway and backend. A part of the window stays.
            while connection.take(stream, 16_000, leaving=16_000, seconds=0.5):
                connection.send(frame(h2raw.DATA, 0, stream, b"d" * 16_000))
        sent = 0
        try:
            for _ in range(16_000 // max(1, length)):
                for stream in streams:
                    connection.send(frame(h2raw.DATA, 0, stream, b"d" * length))
                    sent += 1
        except OSError:
            pass
        print(f"{sent} frames sent")
        if length:
            # They wait in one buffer, which the windows bound: phones may send all their pictures to a backend that rests.
            assert sent == 16_000 // length * len(streams) and not connection.goaways, connection.why()
    if length:
        assert failures(gateway) == 0
    else:
        wait_until(lambda: failures(gateway) == 1, "the failure to be counted")


def test_a_part_that_waits_keeps_nothing_of_what_came_with_it(gateway):
    """A byte for a backend that takes none, and much for one that takes all, again and again."""
    with Windows(gateway.port, timeout=30) as connection:
        stuck, taken = (connection.open(request("POST", PATH + path), end=False) for path in ("/stuck", "/open"))
        connection.begin()
        # Until no more fits between gateway and backend. A part of the window stays.
        while connection.take(stuck, 16_000, leaving=16_000, seconds=0.5):
            connection.send(frame(h2raw.DATA, 0, stuck, b"d" * 16_000))
        with growth(gateway.process):
            for _ in range(1_500):
                assert connection.take(taken, 16_000), connection.why()
                connection.send(frame(h2raw.DATA, 0, stuck, b"d") + frame(h2raw.DATA, 0, taken, b"d" * 16_000))


@amounts
@pytest.mark.parametrize("parts", [1, 3])
def test_requests_on_streams_are_not_stored(gateway, size, parts):
    """Heads of 9 KB, in one frame or with CONTINUATION; each gets its response."""
    block = h2raw.block(request("GET", "/nowhere", *((f"x-{number}", "h" * 900) for number in range(10))))
    third = len(block) // 3
    pieces = [block] if parts == 1 else [block[:third], block[third : 2 * third], block[2 * third :]]
    with H2Connection(gateway.port) as connection:
        Reader(connection.socket)
        sent, rest, stream = 0, b"", 1
        with growth(gateway.process):
            try:
                while sent < size:
                    # No more streams at once than there may be.
                    data = rest
                    for _ in range(20):
                        for number, piece in enumerate(pieces):
                            type, flags = (h2raw.CONTINUATION, 0) if number else (h2raw.HEADERS, h2raw.END_STREAM)
                            data += frame(type, flags | (h2raw.END_HEADERS if number == len(pieces) - 1 else 0), stream, piece)
                        stream += 2
                    connection.send(data[:-1_001])
                    sent, rest = sent + len(data), data[-1_001:]
            except OSError:
                pass
    print(f"{stream // 2} requests")
    assert stream // 2 > 500


# HTTP/1


ENDLESS = {
    "empty-lines": (b"", b"\r\n"),
    "line": (b"GET /", b"a" * 1_000),
    "field": (b"GET / HTTP/1.1\r\nHost: a\r\nX: ", b"a" * 1_000),
    "fields": (b"GET / HTTP/1.1\r\nHost: a\r\n", b"X-A: b\r\n"),
    "chunk-size": (OPEN, b"0" * 1_000),
    "chunk-extension": (OPEN + b"1;", b"a=b;" * 100),
    "trailers": (OPEN + b"0\r\n", b"X-A: b\r\n"),
    "account-body": (
        b"POST /api/v1/auth/login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"1f40\r\n" + b'{"' + b"a" * 0x1F3E + b"\r\n",
    ),
    "NUL": (b"", bytes(1_000)),
    "preface-again": (h2raw.PREFACE[:-2], b"SM\r\n\r\n" * 100),
}


@amounts
@pytest.mark.parametrize("begin, unit", ENDLESS.values(), ids=ENDLESS.keys())
def test_a_part_of_a_message_that_does_not_end_is_refused_and_not_stored(gateway, size, begin, unit):
    before = gateway.metric("gatehouse_denials_total")
    with raw.RawConnection(gateway.port) as connection, growth(gateway.process):
        connection.send(begin)
        reader = Reader(connection.socket)
        pour(connection.socket, unit, size)
        reader.wait()
    wait_until(lambda: gateway.metric("gatehouse_denials_total") > before, "the refusal to be counted")


PASSING = {
    "sized": (b"x" * 1_000, {"Content-Length": "1000000000"}),
    "chunks": (b"3e8\r\n" + b"x" * 1_000 + b"\r\n", {"Transfer-Encoding": "chunked"}),
    "small-chunks": (b"61\r\n" + b"x" * 97 + b"\r\n", {"Transfer-Encoding": "chunked"}),
    "extended-chunks": (b"9;" + b"a=b;" * 50 + b"c=d\r\n" + b"x" * 9 + b"\r\n", {"Transfer-Encoding": "chunked"}),
}


@amounts
@pytest.mark.parametrize("unit, framing", PASSING.values(), ids=PASSING.keys())
def test_bodies_pass_without_being_stored(gateway, size, unit, framing):
    with raw.RawConnection(gateway.port, timeout=60) as connection, growth(gateway.process):
        connection.send(raw.request_bytes("POST", PATH + "/open", framing))
        assert pour(connection.socket, unit, size) >= size


@amounts
def test_requests_one_behind_the_other_are_not_stored(gateway, size):
    unit = raw.request_bytes("GET", "/nowhere", {f"X-{number}": "h" * 900 for number in range(9)})
    with raw.RawConnection(gateway.port, timeout=60) as connection, growth(gateway.process):
        Reader(connection.socket)
        assert pour(connection.socket, unit, size) >= size


# TLS and PROXY headers


@pytest.fixture
def tls_gateway(start_gateway, run_directory, own_recorder):
    own_recorder.on(PATH + "/open", read_away)
    authority = Authority(run_directory / "poured-certificates")
    tls = {"certificates": [authority.issue("127.0.0.1").settings()]}
    gateway = start_gateway({"threads": 1, "listeners": [{"address": f"127.0.0.1:{free_port()}", "tls": tls}]})
    context = ssl.create_default_context(cafile=str(authority.pem))
    context.set_alpn_protocols(["h2", "http/1.1"])
    gateway.connect = lambda protocol: _connect(gateway.port, context, protocol)
    gateway.connect("http/1.1").close()
    return gateway


def _connect(port: int, context: ssl.SSLContext, protocol: str) -> ssl.SSLSocket:
    context.set_alpn_protocols([protocol])
    return context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=60), server_hostname="127.0.0.1")


def record(type: int, payload: bytes, version: bytes = b"\x03\x03") -> bytes:
    return bytes([type]) + version + struct.pack("!H", len(payload)) + payload


CLIENT_HELLO = b"\x01" + struct.pack("!I", 0xFFFFF0)[1:] + b"\x03\x03"
RECORDS = {
    "handshake-without-end": (record(22, CLIENT_HELLO + bytes(8_000)), record(22, bytes(8_000))),
    "handshake-in-small-records": (record(22, CLIENT_HELLO), record(22, b"\0")),
    "empty-handshake": (b"", record(22, b"")),
    "warnings": (b"", record(21, b"\x01\x5a")),
    "change-cipher-spec": (b"", record(20, b"\x01")),
    "application-data": (b"", record(23, bytes(8_000))),
    "unknown": (b"", record(99, bytes(8_000))),
    "too-large": (b"", record(22, bytes(65_535))),
}


@amounts
@pytest.mark.parametrize("begin, unit", RECORDS.values(), ids=RECORDS.keys())
def test_records_that_come_to_no_handshake_are_not_stored(tls_gateway, size, begin, unit):
    counter = 'gatehouse_client_connections_refused_total{reason="handshake-failed"}'
    before = tls_gateway.samples()[counter]
    with socket.create_connection(("127.0.0.1", tls_gateway.port), timeout=30) as connection, growth(tls_gateway.process):
        reader = Reader(connection)
        connection.sendall(begin)
        pour(connection, unit, size)
        reader.wait(30)
    wait_until(lambda: tls_gateway.samples()[counter] > before, "the refusal to be counted")


@amounts
@pytest.mark.parametrize("step", [16_381, 701])
def test_bodies_in_records_pass_without_being_stored(tls_gateway, size, step):
    with tls_gateway.connect("http/1.1") as connection, growth(tls_gateway.process):
        connection.sendall(raw.request_bytes("POST", PATH + "/open", {"Transfer-Encoding": "chunked"}))
        assert pour(connection, b"3e8\r\n" + b"x" * 1_000 + b"\r\n", size, step) >= size


@amounts
@pytest.mark.parametrize("kind", ["unknown", "GOAWAY", "ALTSVC"])
def test_useless_frames_in_records_are_counted_too(tls_gateway, size, kind):
    with tls_gateway.connect("h2") as connected, H2Connection.on(connected) as connection:
        connection.send(h2raw.PREFACE + frame(h2raw.SETTINGS, 0, 0))
        connection.open(request("POST", PATH + "/open"), end=False)
        with growth(tls_gateway.process):
            reader = Reader(connected)
            pour(connected, USELESS[kind], size)
        reader.wait(30)
    wait_until(lambda: failures(tls_gateway) == 1, "the failure to be counted")


SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"
PROXY = {
    "line-without-end": (b"PROXY TCP4 ", b"1" * 1_000),
    "unknown-without-end": (b"PROXY UNKNOWN ", b"1" * 1_000),
    "longest": (b"", SIGNATURE + struct.pack("!BBH", 0x21, 0x11, 65_535) + bytes(65_535)),
    "one-behind-the-other": (b"", b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n"),
    "zeros": (b"", bytes(1_000)),
}


@amounts
@pytest.mark.parametrize("begin, unit", PROXY.values(), ids=PROXY.keys())
def test_proxy_headers_are_not_stored(start_gateway, size, begin, unit):
    address = {"address": f"127.0.0.1:{free_port()}", "proxy_protocol": {"trusted": ["127.0.0.1"]}}
    gateway = start_gateway({"threads": 1, "listeners": [address]})

    def refused() -> float:
        return gateway.metric("gatehouse_client_connections_refused_total") + gateway.metric("gatehouse_denials_total")

    before = refused()
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=30) as connection, growth(gateway.process):
        reader = Reader(connection)
        connection.sendall(begin)
        pour(connection, unit, size)
        reader.wait(30)
    wait_until(lambda: refused() > before, "the refusal to be counted")


# WebSockets


def switch_and_read_away(backend) -> None:
    websocket.switch(backend)
    read_away(backend)


FRAMES = {
    "messages": websocket.frame(websocket.BINARY, b"m" * 5_000, masked=True),
    "small": websocket.frame(websocket.BINARY, b"m" * 10, masked=True),
    "pings": websocket.frame(websocket.PING, b"p" * 125, masked=True),
    "fragments": websocket.frame(websocket.CONTINUATION, b"f" * 500, masked=True, final=False),
    "no-frames": b"\xff" * 999,
}


@amounts
@pytest.mark.parametrize("unit", FRAMES.values(), ids=FRAMES.keys())
def test_websocket_frames_pass_without_being_stored(gateway, own_recorder, size, unit):
    own_recorder.on(PATH + "/open", switch_and_read_away)
    with websocket.Client(gateway.port, timeout=60) as client:
        client.open(PATH + "/open")
        with growth(gateway.process):
            Reader(client.socket)
            pour(client.socket, unit, size)
        # While its reader waits, a socket that is closed stays open for the peer.
        client.socket.shutdown(socket.SHUT_RDWR)
    assert gateway.process.exit_status is None


@amounts
def test_websocket_frames_on_a_stream_pass_without_being_stored(gateway, own_recorder, size):
    own_recorder.on(PATH + "/open", switch_and_read_away)
    head = [(":method", "CONNECT"), (":protocol", "websocket"), *request("GET", PATH + "/open")[1:]]
    with Windows(gateway.port) as connection:
        stream = connection.open([*head, ("sec-websocket-version", "13")], end=False)
        connection.begin()
        unit = websocket.frame(websocket.BINARY, b"m" * 997, masked=True)
        with growth(gateway.process):
            for _ in range(size // 16_000):
                assert connection.take(stream, 16_000), connection.why()
                connection.data(stream, (unit * 17)[:16_000])


def test_small_parts_of_a_response_that_wait_keep_nothing_of_their_buffers(gateway, own_recorder):
    """Two bytes at a time for a client whose window is closed, each received by itself."""
    held = websocket.Held()
    own_recorder.on(PATH + "/open", held)
    head = [(":method", "CONNECT"), (":protocol", "websocket"), *request("GET", PATH + "/open")[1:]]
    with (
        H2Connection(gateway.port, settings={INITIAL_WINDOW_SIZE: 0}, auto_window=False) as connection,
        raw.RawConnection(gateway.port) as other,
    ):
        stream = connection.open([*head, ("sec-websocket-version", "13")], end=False)
        exchange = held.wait()
        connection.until(h2raw.HEADERS)
        assert connection.streams[stream].status == 200
        with growth(gateway.process):
            for _ in range(4_000):
                exchange.send(websocket.frame(websocket.PONG))
                # The one event loop has received the part before it serves this.
                assert other.request("GET", PATH).status == 200
        assert connection.streams[stream].body == b""


# Servers' responses


class Pourer:
    """A server that answers whatever comes with `begin`, and then with `unit` until it was `size` bytes."""

    def __init__(self, begin: bytes, unit: bytes, size: int):
        # Cleared: answers wait.
        self.may_answer = threading.Event()
        self.may_answer.set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._begin, self._unit, self._size = begin, unit, size
        self.answered = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        try:
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()
        except OSError:
            pass

    def _answer(self, connection: socket.socket) -> None:
        with connection:
            try:
                connection.settimeout(60)
                connection.recv(65536)
                self.may_answer.wait(30)
                connection.sendall(self._begin)
                pour(connection, self._unit, self._size)
            except OSError:
                pass
            self.answered += 1

    def stop(self) -> None:
        self._listener.close()


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
ANSWERS = {
    "sized": (HEAD + b"Content-Length: 1000000000\r\n\r\n", b"x" * 1_000),
    "until-close": (HEAD + b"Connection: close\r\n\r\n", b"x" * 1_000),
    "chunks": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"3e8\r\n" + b"x" * 1_000 + b"\r\n"),
    "small-chunks": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"61\r\n" + b"x" * 97 + b"\r\n"),
    "chunk-extension": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;", b"a=b;" * 100),
    "chunk-size": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"0" * 1_000),
    "trailers": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X-A: b\r\n"),
    "fields": (HEAD, b"X-A: b\r\n"),
    "field": (HEAD + b"X: ", b"x" * 1_000),
    "line": (b"HTTP/1.1 200 ", b"x" * 1_000),
    "interim": (b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"),
    "zeros": (b"", bytes(1_000)),
}


@amounts
@pytest.mark.parametrize("begin, unit", ANSWERS.values(), ids=ANSWERS.keys())
def test_a_backends_response_is_not_stored(start_gateway, size, begin, unit):
    backend = Pourer(begin, unit, size)
    upstream = {"url": backend.url, "whole_timeout": "60s"}
    gateway = start_gateway({"threads": 1, "upstreams": {"recorder": upstream}})
    with raw.RawConnection(gateway.port, timeout=60) as connection, growth(gateway.process):
        reader = Reader(connection.socket)
        connection.send(raw.request_bytes("GET", PATH))
        wait_until(lambda: backend.answered, "the backend to have sent all it may", 60)
        wait_until(lambda: gateway.metric("gatehouse_requests_in_flight") == 0 or reader.received > 0, "an end", 60)
    backend.stop()


@amounts
@pytest.mark.parametrize("begin, unit", ANSWERS.values(), ids=ANSWERS.keys())
def test_a_key_servers_response_is_not_stored(start_gateway, issuer, size, begin, unit):
    server = Pourer(begin, unit, size)
    server.may_answer.clear()
    gateway = start_gateway({"threads": 1}, jwks_url=server.url)
    with growth(gateway.process):
        server.may_answer.set()
        token = issuer.access()
        raw.exchange(gateway.port, "GET", "/recorded/required/x", {"Authorization": f"Bearer {token}"})
        wait_until(lambda: server.answered, "the server to have sent all it may", 60)
    server.stop()


@amounts
@pytest.mark.parametrize("begin, unit", ANSWERS.values(), ids=ANSWERS.keys())
def test_cognitos_response_is_not_stored(start_gateway, pool, size, begin, unit):
    server = Pourer(begin, unit, size)
    changes = {"threads": 1, "sign_in": {"cognito": {"endpoint": server.url}}}
    gateway = start_gateway(changes, pool=pool)
    body = b'{"email": "ada@example.com", "password": "Correct-Horse-7-Battery"}'
    with growth(gateway.process):
        response = raw.exchange(gateway.port, "POST", "/api/v1/auth/login", {"Content-Type": "application/json"}, body)
        assert response.status >= 500
        wait_until(lambda: server.answered, "the server to have sent all it may", 60)
    server.stop()
