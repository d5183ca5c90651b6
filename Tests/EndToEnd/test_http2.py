"""Issue 3, item 2: HTTP/2 on the listener, seen frame by frame and with curl."""

import json
import socket
import struct
import subprocess
import threading
import time

import hpack
import pytest
from harness import h2raw, raw
from harness.backend import answer
from harness.certificates import Authority
from harness.h2raw import H2Connection, frame, request
from harness.process import free_port, wait_until

PATH = "/recorded/public/x"


@pytest.fixture
def connection(gateway, recorder):
    with H2Connection(gateway.port) as connection:
        yield connection


# Requests


def test_a_request_becomes_http_1_1(connection, recorder):
    stream = connection.open(request("GET", PATH + "?q=1", ("x-colour", "blue"), ("cookie", "a=1"), ("cookie", "b=2")))
    response = connection.response(stream)
    assert (response.status, response.ended, response.reset) == (200, True, None)
    got = recorder.last(PATH)
    assert got.raw_head.startswith(b"GET /recorded/public/x?q=1 HTTP/1.1\r\n")
    assert got.header("host") == "gateway.test"
    assert got.header("cookie") == "a=1; b=2"
    assert got.header("x-colour") == "blue"
    assert got.header("x-forwarded-proto") == "http"
    assert got.header("content-length") is None and got.header("transfer-encoding") is None


def test_long_values_in_huffmans_code_arrive_as_each_request_has_them(connection, recorder):
    encoder = hpack.Encoder()
    values = {name: "".join(f"{name}{number}." for number in range(400)) for name in "ab"}
    for turn, name in enumerate("aaabbabbb"):
        field = hpack.NeverIndexedHeaderTuple("x-long", values[name])
        stream = connection.open(request("GET", f"{PATH}?{turn}", ("x-turn", str(turn)), field), encode=encoder.encode)
        assert connection.response(stream).status == 200
        got = recorder.last(PATH)
        assert (got.header("x-long"), got.header("x-turn")) == (values[name], str(turn))


def test_a_body_with_a_length_keeps_it_and_another_is_chunked(connection, recorder):
    sized = connection.open(request("POST", PATH, ("content-length", "6")), end=False)
    connection.data(sized, b"abc")
    connection.data(sized, b"def", end=True)
    assert connection.response(sized).status == 200
    got = recorder.last(PATH)
    assert (got.header("content-length"), got.body) == ("6", b"abcdef")

    unsized = connection.open(request("POST", PATH + "2"), end=False)
    connection.data(unsized, b"abc")
    connection.data(unsized, b"", end=True)
    assert connection.response(unsized).status == 200
    got = recorder.last(PATH + "2")
    assert (got.header("transfer-encoding"), got.header("content-length"), got.body) == ("chunked", None, b"abc")


def test_trailers_end_a_body_and_are_not_forwarded(connection, recorder):
    stream = connection.open(request("POST", PATH), end=False)
    connection.data(stream, b"abc")
    trailers = h2raw.block([("x-auth-subject", "mallory"), ("x-sum", "1")])
    connection.send(frame(h2raw.HEADERS, h2raw.END_HEADERS | h2raw.END_STREAM, stream, trailers))
    assert connection.response(stream).status == 200
    got = recorder.last(PATH)
    assert got.body == b"abc"
    assert b"mallory" not in got.raw_head + got.raw_body


def test_a_length_of_zero_may_be_followed_by_an_empty_end(connection, recorder):
    stream = connection.open(request("POST", PATH, ("content-length", "0")), end=False)
    connection.data(stream, b"", end=True)
    assert connection.response(stream).status == 200
    assert recorder.last(PATH).header("content-length") == "0"


def test_100_continue_is_sent_when_the_request_is_accepted(connection, recorder):
    stream = connection.open(request("POST", PATH, ("expect", "100-continue"), ("content-length", "3")), end=False)
    assert connection.until(h2raw.HEADERS)
    assert connection.streams[stream].interim == [100]
    connection.data(stream, b"abc", end=True)
    assert connection.response(stream).status == 200

    refused = connection.open(request("POST", "/nowhere", ("expect", "100-continue"), ("content-length", "3")), end=False)
    assert connection.response(refused).status == 404
    assert connection.streams[refused].interim == []


# Responses


def test_responses_without_a_body_end_with_their_head(connection, recorder):
    recorder.on(PATH, lambda exchange: exchange.send(b"HTTP/1.1 204 None\r\n\r\n"))
    assert connection.response(connection.open(request())).status == 204
    recorder.on(PATH, lambda exchange: exchange.send(b"HTTP/1.1 304 None\r\nETag: \"x\"\r\nContent-Length: 9\r\n\r\n"))
    assert connection.response(connection.open(request())).status == 304
    recorder.on(PATH, answer(200, b"twelve bytes"))
    head = connection.response(connection.open(request("HEAD")))
    assert (head.status, head.body, dict(head.headers)["content-length"]) == (200, b"", "12")


def test_fields_of_http_1_1_connections_stay_behind(connection, recorder):
    recorder.on(PATH, answer(200, b"x", {"Connection": "close, x-hop", "Keep-Alive": "timeout=5", "X-Hop": "1", "X-End": "2"}))
    response = connection.response(connection.open(request()))
    names = {name for name, _ in response.headers}
    assert "x-end" in names
    assert not names & {"connection", "keep-alive", "x-hop", "transfer-encoding"}


def test_a_refusal_ends_its_stream_only(connection):
    refused = connection.response(connection.open(request("GET", "/recorded/public/a%2fb")))
    assert refused.status == 400
    assert "connection" not in dict(refused.headers)
    assert json.loads(refused.body)["statusCode"] == 400
    assert connection.response(connection.open(request())).status == 200


def test_a_response_that_breaks_off_resets_its_stream_only(connection, recorder):
    def broken(exchange):
        exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")
        exchange.close()

    recorder.on(PATH, broken)
    response = connection.response(connection.open(request()))
    assert (response.status, response.ended) == (200, False)
    assert response.reset not in (None, h2raw.NO_ERROR)
    assert connection.response(connection.open(request("GET", PATH + "2"))).status == 200


def test_an_early_response_spares_the_rest_of_an_upload(connection, recorder):
    stream = connection.open(request("POST", "/nowhere", ("content-length", "1000000")), end=False)
    connection.data(stream, b"x" * 1000)
    response = connection.response(stream)
    assert (response.status, response.ended) == (404, True)
    connection.until(h2raw.RST_STREAM)
    assert response.reset == h2raw.NO_ERROR
    assert connection.response(connection.open(request())).status == 200


def test_a_client_that_resets_a_stream_ends_its_request_at_the_backend(connection, recorder):
    recorder.on(PATH, lambda exchange: exchange.wait_for_close())
    stream = connection.open(request())
    got = recorder.last(PATH)
    connection.send(frame(h2raw.RST_STREAM, 0, stream, struct.pack("!I", 8)))
    assert recorder.connection_of(got).closed_by_peer.wait(5)
    assert connection.response(connection.open(request("GET", PATH + "2"))).status == 200


# Streams side by side, and flow control


def test_a_slow_stream_holds_up_no_other(connection, recorder):
    released = threading.Event()

    def slow(exchange):
        assert released.wait(10)
        exchange.respond(200, b"slow")

    recorder.on(PATH, slow)
    late = connection.open(request())
    for number in range(20):
        assert connection.response(connection.open(request("GET", f"{PATH}/{number}"))).status == 200
    released.set()
    assert connection.response(late).body == b"slow"


def test_a_hundred_streams_are_open_at_once_and_no_more(connection, recorder):
    released = threading.Event()

    def slow(exchange):
        assert released.wait(20)
        exchange.respond(200, b"late")

    recorder.on(PATH, slow)
    streams = [connection.open(request()) for _ in range(100)]
    wait_until(lambda: len(recorder.requests_to(PATH)) == 100, "a hundred requests at the backend")
    connection.open(request())
    assert connection.until(h2raw.RST_STREAM) or connection.goaways[-1].code != h2raw.NO_ERROR
    released.set()
    if not connection.closed:
        assert all(connection.response(stream).status == 200 for stream in streams)
    assert len(recorder.requests_to(PATH)) == 100


def test_a_download_waits_for_the_clients_window(gateway, recorder):
    sent = []

    def endless(exchange):
        exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 67108864\r\n\r\n")
        for _ in range(1024):
            exchange.send(b"x" * 65536)
            sent.append(65536)

    recorder.on(PATH, endless)
    with H2Connection(gateway.port, auto_window=False) as connection:
        stream = connection.open(request())
        while len(connection.streams.get(stream, h2raw.Stream()).body) < 65535:
            assert connection.read()
        before = -1
        while sum(sent) != before:
            before = sum(sent)
            time.sleep(0.3)
        assert before < 24 << 20, "a client that takes nothing makes the backend stop"
        # Another stream has no room either, but lives when the connection's window opens.
        connection.send(frame(h2raw.WINDOW_UPDATE, 0, 0, struct.pack("!I", 1 << 20)))
        assert connection.response(connection.open(request("GET", PATH + "2"))).status == 200


def test_an_upload_waits_for_the_backend(gateway, recorder):
    released = threading.Event()

    def stalled(exchange):
        # The body is not read.
        assert released.wait(20)
        exchange.close()

    recorder.on(PATH, stalled)
    with H2Connection(gateway.port) as connection:
        stream = connection.open(request("POST", PATH), end=False)
        window, sent = 65535, 0
        connection.socket.settimeout(0.5)
        try:
            while sent < 64 << 20:
                while window >= 16384:
                    connection.data(stream, b"x" * 16384)
                    window, sent = window - 16384, sent + 16384
                found = connection.read()
                assert found, "the connection stays"
                if found.type == h2raw.WINDOW_UPDATE and found.stream == stream:
                    window += struct.unpack("!I", found.payload)[0]
        except TimeoutError:
            pass
        assert sent < 24 << 20, "the gateway stops opening the window"
        # The connection's own window is open all the same.
        connection.socket.settimeout(10)
        assert connection.response(connection.open(request("GET", PATH + "2"))).status == 200
        released.set()


def test_large_bodies_pass_whole(connection, recorder):
    def mirror(exchange):
        exchange.respond(200, exchange.read_body())

    recorder.on(PATH, mirror)
    body = bytes(range(256)) * 2048
    stream = connection.open(request("POST", PATH, ("content-length", str(len(body)))), end=False)
    window, sent = 65535, 0
    while sent < len(body):
        while window >= 16384 and sent < len(body):
            piece = body[sent : sent + 16384]
            sent += len(piece)
            window -= len(piece)
            connection.data(stream, piece, end=sent == len(body))
        if sent < len(body):
            found = connection.read()
            if found.type == h2raw.WINDOW_UPDATE and found.stream == stream:
                window += struct.unpack("!I", found.payload)[0]
    assert connection.response(stream).body == body


# Malformed input


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        (request("GET", PATH, ("proxy-connection", "close")), None),
        (request("GET", PATH, ("keep-alive", "5")), None),
        (request("GET", PATH, ("te", "gzip")), None),
        (request("GET", PATH, ("x-a", " b")), None),
        (request("GET", PATH, ("x-a", "b\t")), None),
        (request("GET", PATH, ("x-a", "b\x01c")), None),
        (request("GET", PATH, ("x-a", "b\x7fc")), None),
        (request("GET", PATH, ("x a", "b")), None),
        (request("GET", PATH, ("host", "other.test")), None),
        (request("GET", PATH, ("host", "gateway.test"), ("host", "gateway.test")), None),
        (request("GET", PATH, ("content-length", "+1")), None),
        (request("POST", PATH, ("content-length", "3"), ("content-length", "3")), b"abc"),
        (request("GET", PATH, (":path", "/other")), None),
        (request("GET", "recorded/public/x"), None),
        (request("GET", "http://gateway.test" + PATH), None),
        (request("GET", "*"), None),
        (request("GET", ""), None),
        (request("GET", PATH + " HTTP/1.1\r\nX: y"), None),
        (request("GET", PATH + "\x80"), None),
        (request("G ET", PATH), None),
        (request("CONNECT", PATH), None),
        ([(":method", "CONNECT"), (":authority", "backend.test:80")], None),
        ([(":method", "GET"), (":scheme", "http"), (":authority", "user@gateway.test"), (":path", PATH)], None),
        ([(":method", "GET"), (":scheme", "http"), (":authority", ""), (":path", PATH)], None),
        ([(":method", "GET"), (":scheme", "http"), (":path", PATH)], None),
        ([(":method", "GET"), (":scheme", "ftp"), (":authority", "gateway.test"), (":path", PATH)], None),
        ([(":method", "GET"), (":scheme", "http"), ("x-a", "b"), (":authority", "gateway.test"), (":path", PATH)], None),
        (request("GET", PATH, *[(f"x-{number}", "1") for number in range(101)]), None),
    ],
    ids=lambda value: None if value is None or isinstance(value, bytes) else str(value[-1])[:40],
)
def test_a_malformed_request_is_refused_and_never_forwarded(connection, recorder, headers, body):
    stream = connection.open(headers, end=body is None)
    if body is not None:
        connection.data(stream, body, end=True)
    response = connection.response(stream)
    assert response.reset == h2raw.PROTOCOL_ERROR or 400 <= response.status < 500
    assert connection.response(connection.open(request("GET", PATH + "/after"))).status == 200, "the connection lives on"
    assert [got.target for got in recorder.requests] == [PATH + "/after"]


@pytest.mark.parametrize(
    "trailers",
    [
        [(":path", "/other")],
        [(":method", "GET"), ("x-sum", "1")],
        [("X-Sum", "1")],
        [("x-sum", "1\r\nx-auth-subject: mallory")],
        [("x-sum", " 1")],
        [("transfer-encoding", "chunked")],
        [("connection", "x-sum")],
        [("te", "gzip")],
    ],
    ids=str,
)
def test_malformed_trailers_spoil_the_request(connection, recorder, trailers):
    stream = connection.open(request("POST", PATH, ("content-length", "3")), end=False)
    connection.data(stream, b"abc")
    connection.send(frame(h2raw.HEADERS, h2raw.END_HEADERS | h2raw.END_STREAM, stream, h2raw.block(trailers)))
    response = connection.response(stream)
    assert response.reset == h2raw.PROTOCOL_ERROR or 400 <= response.status < 500
    assert connection.response(connection.open(request("GET", PATH + "/after"))).status == 200, "the connection lives on"
    assert not any(got.complete for got in recorder.requests_to(PATH))


def test_trailers_that_end_no_stream_are_refused(connection, recorder):
    """RFC 9113 §8.1: a second head that is not the last frame is none of a request."""
    stream = connection.open(request("POST", PATH, ("content-length", "3")), end=False)
    connection.data(stream, b"abc")
    connection.send(frame(h2raw.HEADERS, h2raw.END_HEADERS, stream, h2raw.block([("x-sum", "1")])))
    response = connection.response(stream)
    assert response.reset == h2raw.PROTOCOL_ERROR or 400 <= response.status < 500 or connection.goaways
    assert not any(got.complete for got in recorder.requests_to(PATH))


@pytest.mark.parametrize("pieces", [[b"abcd"], [b"ab", b"cd"], [b"abc", b"d"], [b"ab"], [b""]], ids=str)
def test_a_body_that_is_not_as_long_as_announced_never_arrives_whole(connection, recorder, pieces):
    stream = connection.open(request("POST", PATH, ("content-length", "3")), end=False)
    for number, piece in enumerate(pieces):
        # Each in a read of its own.
        time.sleep(0.05)
        connection.data(stream, piece, end=number == len(pieces) - 1)
    response = connection.response(stream)
    assert response.reset == h2raw.PROTOCOL_ERROR or 400 <= response.status < 500
    assert connection.response(connection.open(request("GET", PATH + "/after"))).status == 200
    assert not any(got.complete for got in recorder.requests_to(PATH))


# Hostile input


def flood(connection: H2Connection, data: bytes, count: int) -> int:
    """Sends `data` until the peer has had enough; the error code it gave."""
    def send():
        try:
            for _ in range(count):
                connection.send(data)
        except OSError:
            pass

    sender = threading.Thread(target=send)
    sender.start()
    connection.rest()
    sender.join(10)
    assert connection.closed
    assert connection.goaways, "closed without GOAWAY"
    return connection.goaways[-1].code


def rapid_reset(stream: int) -> bytes:
    head = frame(h2raw.HEADERS, h2raw.END_HEADERS | h2raw.END_STREAM, stream, h2raw.block(request()))
    return head + frame(h2raw.RST_STREAM, 0, stream, struct.pack("!I", 8))


@pytest.mark.parametrize(
    ("prelude", "data"),
    [
        (b"", frame(h2raw.PING, 0, 0, bytes(8))),
        (b"", frame(h2raw.SETTINGS, 0, 0, struct.pack("!HI", 4, 65535))),
        (b"", frame(h2raw.PRIORITY, 0, 3, struct.pack("!IB", 0, 1))),
        (frame(h2raw.HEADERS, h2raw.END_HEADERS, 1, h2raw.block(request("POST", PATH))), frame(h2raw.DATA, 0, 1)),
        (frame(h2raw.HEADERS, 0, 1, h2raw.block(request())), frame(h2raw.CONTINUATION, 0, 1, h2raw.block([("x-a", "b")]))),
        (frame(h2raw.HEADERS, 0, 1, h2raw.block(request())), frame(h2raw.CONTINUATION, 0, 1)),
        (b"", frame(h2raw.WINDOW_UPDATE, 0, 0, struct.pack("!I", 1))),
        (
            frame(h2raw.HEADERS, h2raw.END_HEADERS, 1, h2raw.block(request("POST", PATH))),
            frame(h2raw.WINDOW_UPDATE, 0, 1, struct.pack("!I", 1)),
        ),
    ],
    ids=[
        "PING", "SETTINGS", "PRIORITY", "empty DATA", "CONTINUATION", "empty CONTINUATION", "WINDOW_UPDATE",
        "a stream's WINDOW_UPDATE",
    ],
)
def test_a_flood_ends_its_connection_and_nothing_else(gateway, recorder, prelude, data):
    with H2Connection(gateway.port) as other, H2Connection(gateway.port) as connection:
        connection.send(prelude)
        assert flood(connection, data, 100_000) != h2raw.NO_ERROR
        assert other.response(other.open(request("GET", PATH + "/other"))).status == 200
    assert gateway.process.exit_status is None


def test_a_client_that_opens_its_window_in_small_steps_is_served(gateway, recorder):
    recorder.on(PATH, answer(200, bytes(4_000_000)))
    with H2Connection(gateway.port, auto_window=False) as connection:
        for _ in range(3):
            stream = connection.open(request())
            taken = 0
            while not connection.streams.setdefault(stream, h2raw.Stream()).ended:
                assert connection.read(), f"closed with {[found.code for found in connection.goaways]}"
                # As many steps as there may be: five for the stream and five for the connection, for each DATA frame.
                for left in range(5, 0, -1):
                    step = (len(connection.streams[stream].body) - taken) // left
                    taken += step
                    if step:
                        for number in (0, stream):
                            connection.send(frame(h2raw.WINDOW_UPDATE, 0, number, struct.pack("!I", step)))
            assert connection.streams[stream].body == bytes(4_000_000)
        assert connection.goaways == []


def test_rapid_reset_ends_its_connection(gateway, recorder):
    with H2Connection(gateway.port) as other, H2Connection(gateway.port) as connection:
        connection.send(b"".join(rapid_reset(1 + 2 * number) for number in range(3000)))
        connection.rest()
        assert [found.code for found in connection.goaways] == [h2raw.ENHANCE_YOUR_CALM]
        assert other.response(other.open(request("GET", PATH + "/other"))).status == 200
    assert len(recorder.requests_to(PATH)) <= 200


def test_resets_that_a_client_provokes_are_counted_too(gateway, recorder):
    # CVE-2025-8671: it is the server that resets, at a client's wrong frame.
    with H2Connection(gateway.port) as connection:
        attempts = b""
        for number in range(3000):
            stream = 1 + 2 * number
            attempts += frame(h2raw.HEADERS, h2raw.END_HEADERS, stream, h2raw.block(request("POST", PATH)))
            attempts += frame(h2raw.WINDOW_UPDATE, 0, stream, struct.pack("!I", 0x7FFFFFFF))
        code = flood(connection, attempts, 1)
        assert code != h2raw.NO_ERROR


def test_a_header_list_that_unpacks_to_too_much_ends_the_connection(gateway, recorder):
    before = gateway.process.resident_bytes()
    with H2Connection(gateway.port) as connection:
        # One field of 3 KB put into the table, then named again and again with one byte each.
        head = h2raw.block(request()) + b"\x40" + h2raw.block([("x-bomb", "b" * 3000)])[1:] + b"\xbe" * 12000
        connection.send(frame(h2raw.HEADERS, h2raw.END_HEADERS | h2raw.END_STREAM, 1, head))
        connection.rest()
        assert connection.goaways and connection.goaways[-1].code != h2raw.NO_ERROR
    assert recorder.requests == []
    assert gateway.process.resident_bytes() - before < 16 << 20


# Ends and deadlines


def test_draining_says_goaway_twice_and_finishes_what_was_begun(start_gateway, own_recorder):
    released = threading.Event()

    def slow(exchange):
        assert released.wait(10)
        exchange.respond(200, b"finished")

    own_recorder.on(PATH, slow)
    gateway = start_gateway()
    with H2Connection(gateway.port) as connection:
        stream = connection.open(request())
        own_recorder.last(PATH)
        gateway.process.signal(15)
        connection.until(h2raw.GOAWAY)
        assert connection.goaways[0].payload[:4] == b"\x7f\xff\xff\xff"
        connection.until(h2raw.GOAWAY)
        assert struct.unpack("!I", connection.goaways[1].payload[:4])[0] == stream
        released.set()
        assert connection.response(stream).body == b"finished"
        connection.rest()
    assert [found.code for found in connection.goaways] == [0, 0]
    assert gateway.process.wait(10) == 0


def test_an_idle_connection_is_told_to_go(start_gateway):
    gateway = start_gateway({"limits": {"keep_alive_timeout": "1s"}})
    with H2Connection(gateway.port) as connection:
        assert connection.response(connection.open(request())).status == 200
        connection.rest()
        assert [found.code for found in connection.goaways] == [0]


def test_a_body_that_stops_is_refused(start_gateway):
    gateway = start_gateway({"limits": {"body_idle_timeout": "1s"}})
    with H2Connection(gateway.port) as connection:
        stream = connection.open(request("POST", PATH), end=False)
        connection.data(stream, b"abc")
        response = connection.response(stream)
        assert response.status == 408
        assert connection.response(connection.open(request("GET", PATH + "2"))).status == 200


def test_a_client_that_takes_nothing_is_given_up(start_gateway, own_recorder):
    own_recorder.on(PATH, answer(200, b"x" * (1 << 20)))
    gateway = start_gateway({"limits": {"body_idle_timeout": "1s"}})
    with H2Connection(gateway.port, auto_window=False) as connection:
        response = connection.response(connection.open(request()))
        assert not response.ended
        assert response.reset not in (None, h2raw.NO_ERROR)


# Which protocol is spoken


def test_the_preface_may_come_byte_by_byte(gateway, recorder):
    with H2Connection.on(socket.create_connection(("127.0.0.1", gateway.port), timeout=10)) as connection:
        connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in h2raw.PREFACE + frame(h2raw.SETTINGS, 0, 0):
            connection.send(bytes([byte]))
            time.sleep(0.002)
        assert connection.response(connection.open(request())).status == 200


@pytest.mark.parametrize("sent", [b"PRI * HTTP/1.1\r\nHost: a\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n", b"PRI"], ids=str)
def test_what_only_begins_like_the_preface_is_http_1_1(start_gateway, own_recorder, sent):
    gateway = start_gateway({"limits": {"header_timeout": "1s"}})
    with raw.RawConnection(gateway.port) as connection:
        connection.send(sent)
        assert 400 <= connection.response().status <= 505
    assert own_recorder.requests == [] or sent.startswith(b"PRI * HTTP/1.1")


def test_http_2_can_be_turned_off(start_gateway, own_recorder):
    gateway = start_gateway({"listeners": [{"address": f"127.0.0.1:{free_port()}", "http2": False}]})
    with raw.RawConnection(gateway.port) as connection:
        connection.send(h2raw.PREFACE + frame(h2raw.SETTINGS, 0, 0))
        assert connection.response().status == 505
        assert connection.is_closed_by_peer()
    assert own_recorder.requests == []


def test_curl_speaks_http_2_over_tls(start_gateway, run_directory, own_recorder):
    authority = Authority(run_directory / "certificates", "curl")
    certificate = authority.issue("api.test", file="curl-api")
    listener = {"address": f"127.0.0.1:{free_port()}", "tls": {"certificates": [certificate.settings()]}}
    gateway = start_gateway({"listeners": [listener]})
    result = subprocess.run(
        ["curl", "--silent", "--show-error", "--http2", "--cacert", str(authority.pem)]
        + ["--resolve", f"api.test:{gateway.port}:127.0.0.1", "--data-binary", "x" * 100_000]
        + ["--write-out", " %{http_version} %{response_code}", f"https://api.test:{gateway.port}{PATH}"],
        capture_output=True, text=True, timeout=30, check=True,
    )
    body, version, status = result.stdout.rsplit(" ", 2)
    assert (json.loads(body)["bytes"], version, status) == (100_000, "2", "200")
    assert own_recorder.last(PATH).header("x-forwarded-proto") == "https"
