"""Responses that come before their request's end, and streams both ways at once."""

import struct
import threading

import pytest
from harness import h2raw, raw
from harness.h2raw import H2Connection, frame, request
from harness.process import wait_until

TARGET = "/recorded/public/early"


def refuse(exchange) -> None:
    """A backend that judges by the head alone, and reads no more."""
    exchange.respond(413, b"too large for me")
    exchange.wait_for_close()


def refuse_and_close(exchange) -> None:
    exchange.respond(413, b"too large for me", {"Connection": "close"})
    exchange.close()


def client_that_never_stops(connection: raw.RawConnection, piece: bytes) -> threading.Thread:
    def send() -> None:
        try:
            while True:
                connection.socket.sendall(piece)
        except OSError:
            pass

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize("script", [refuse, refuse_and_close], ids=["reads no more", "closes"])
@pytest.mark.parametrize("framing", ["sized", "chunked"])
def test_an_http_1_1_client_that_still_sends_gets_the_whole_response(gateway, recorder, script, framing):
    recorder.on(TARGET, script)
    headers = {"Content-Length": str(1 << 40)} if framing == "sized" else {"Transfer-Encoding": "chunked"}
    piece = bytes(16384) if framing == "sized" else b"4000\r\n" + bytes(16384) + b"\r\n"
    with raw.RawConnection(gateway.port) as connection:
        connection.send(raw.request_bytes("POST", TARGET, headers))
        sender = client_that_never_stops(connection, piece)
        response = connection.response()
        assert (response.status, response.body) == (413, b"too large for me")
        # RFC 9112, section 9.3: what is left of the request would have to be read first.
        assert response.header("connection") == "close"
        # Section 9.6: half-closed at first, then closed for good.
        assert connection.is_closed_by_peer()
        sender.join(10)
        assert not sender.is_alive()
    request = recorder.last(TARGET)
    assert script is refuse_and_close or recorder.connection_of(request).closed_by_peer.wait(5)


def test_a_slow_upload_that_is_refused_at_its_head_gets_its_answer_when_it_looks(gateway):
    """A phone that sends on for eight seconds before it reads, which is no reset for it."""
    with raw.RawConnection(gateway.port) as connection:
        connection.send(raw.request_bytes("POST", "/recorded/required/x", {"Content-Length": "1000000"}))
        pieces = iter(range(16))

        def sends_on() -> bool:
            connection.send(bytes(1000))
            return next(pieces) == 15

        wait_until(sends_on, "the last of what it sends", seconds=25, interval=0.5)
        response = connection.response()
        assert (response.status, response.header("connection")) == (401, "close")
        # Silent at last, it is let go.
        assert connection.is_closed_by_peer()
    wait_until(lambda: gateway.metric("gatehouse_requests_in_flight") == 0, "nothing in flight")


def test_what_a_backend_said_before_it_closed_a_pooled_connection_is_passed_on(start_gateway, own_recorder):
    gateway = start_gateway({"threads": 1})
    own_recorder.on(TARGET, refuse_and_close)
    for _ in range(20):
        with raw.RawConnection(gateway.port) as connection:
            assert connection.request("GET", "/recorded/public/x").status == 200
            connection.send(raw.request_bytes("POST", TARGET, {"Content-Length": str(1 << 40)}))
            sender = client_that_never_stops(connection, bytes(65536))
            response = connection.response()
            assert (response.status, response.body) == (413, b"too large for me")
        sender.join(10)


def test_http_2_streams_that_are_answered_early_end_without_an_error(gateway, recorder):
    recorder.on(TARGET, refuse)
    with H2Connection(gateway.port) as connection:
        # More in all than the connection's window: what nobody reads any more must not use it up.
        for _ in range(30):
            stream = connection.open(request("POST", TARGET), end=False)
            connection.send(frame(h2raw.DATA, 0, stream, bytes(16384)) * 3)
            response = connection.response(stream)
            assert (response.status, response.body, response.ended) == (413, b"too large for me", True)
            # RFC 9113, section 8.1: the rest of the request need not be sent.
            while response.reset is None:
                assert connection.read()
            assert response.reset == h2raw.NO_ERROR
        stream = connection.open(request("POST", "/recorded/public/whole"), end=False)
        for _ in range(3):
            connection.data(stream, bytes(16384))
        connection.data(stream, b"", end=True)
        assert connection.response(stream).status == 200
        assert recorder.last("/recorded/public/whole").body == bytes(3 * 16384)
        assert connection.goaways == []


def test_what_is_on_its_way_of_many_refused_uploads_does_not_end_their_connection(gateway):
    with H2Connection(gateway.port) as connection:
        streams = [connection.open(request("POST", "/recorded/required/x"), end=False) for _ in range(80)]
        for stream in streams:
            assert connection.response(stream).status == 401
            while connection.streams[stream].reset is None:
                assert connection.read()
        for stream in streams:
            connection.data(stream, bytes(100))
        assert connection.response(connection.open(request("GET", "/recorded/public/x"))).status == 200
        assert connection.goaways == []


@pytest.fixture
def conversation(recorder):
    """A backend that answers each piece of a chunked upload as it comes."""

    def converse(exchange) -> None:
        exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
        while size := int(exchange.connection._until(b"\r\n"), 16):
            piece = exchange.connection._exactly(size + 2)[:-2]
            exchange.send(b"%x\r\n%s\r\n" % (size, piece.upper()))
        exchange.connection._until(b"\r\n")
        exchange.request.complete = True
        exchange.send(b"0\r\n\r\n")

    recorder.on(TARGET, converse)


def test_both_directions_stream_at_once_with_http_1_1(gateway, conversation):
    with raw.RawConnection(gateway.port) as connection:
        connection.send(raw.request_bytes("POST", TARGET, {"Transfer-Encoding": "chunked"}))
        assert connection.head().status == 200
        chunks = connection.chunks()
        assert next(chunks) == b"hello"
        for word in (b"one", b"two", b"three"):
            connection.send(b"%x\r\n%s\r\n" % (len(word), word))
            assert next(chunks) == word.upper()
        connection.send(b"0\r\n\r\n")
        assert list(chunks) == []


def test_both_directions_stream_at_once_with_http_2(gateway, conversation):
    with H2Connection(gateway.port) as connection:
        stream = connection.open(request("POST", TARGET), end=False)
        expected = b"hello"
        for word in (b"", b"one", b"two", b"three"):
            if word:
                connection.data(stream, word)
            expected += word.upper()
            while connection.streams.setdefault(stream, h2raw.Stream()).body != expected:
                assert connection.read()
        connection.data(stream, b"", end=True)
        response = connection.response(stream)
        assert (response.body, response.ended, response.reset) == (expected, True, None)


def test_server_sent_events_arrive_one_by_one_with_http_2(gateway, recorder):
    go_on = [threading.Event() for _ in range(5)]
    sent = [b": a comment\n\n", b"data: 1\n\n", b"\n", b"id: 7\ndata: caf\xc3\xa9\r\n\r\n", bytes(range(256))]

    def events(exchange):
        exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for event, data in zip(go_on, sent):
            exchange.send(b"%x\r\n%s\r\n" % (len(data), data))
            assert event.wait(10)
        exchange.send(b"0\r\n\r\n")

    recorder.on(TARGET, events)
    with H2Connection(gateway.port) as connection:
        stream = connection.open(request("GET", TARGET, ("accept", "text/event-stream")))
        # An event is only sent once the one before has come through, byte for byte: buffering would stop here.
        for number, event in enumerate(go_on, 1):
            while connection.streams.setdefault(stream, h2raw.Stream()).body != b"".join(sent[:number]):
                assert connection.read()
            event.set()
        assert connection.response(stream).ended
        assert dict(connection.streams[stream].headers)["content-type"] == "text/event-stream"


def test_a_stream_that_is_reset_by_its_client_during_an_early_response_ends_at_the_backend(gateway, recorder):
    def endless(exchange):
        exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
        exchange.wait_for_close()

    recorder.on(TARGET, endless)
    with H2Connection(gateway.port) as connection:
        stream = connection.open(request("POST", TARGET), end=False)
        while not connection.streams.setdefault(stream, h2raw.Stream()).body:
            assert connection.read()
        connection.send(frame(h2raw.RST_STREAM, 0, stream, struct.pack("!I", 8)))
        got = recorder.last(TARGET)
        assert recorder.connection_of(got).closed_by_peer.wait(5)
        wait_until(lambda: gateway.metric("gatehouse_requests_in_flight") == 0, "nothing in flight")
