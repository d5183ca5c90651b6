"""Issue item "Listener": HTTP/1.1 towards the client, seen on real sockets."""

import hashlib
import json
import os
import socket
import threading
import time

import pytest
from harness import raw
from harness.account import bearer
from harness.backend import CutShort, answer
from harness.process import wait_until
from harness.sockets import connected_to


def test_a_connection_is_kept_alive(gateway, recorder):
    with raw.RawConnection(gateway.port) as connection:
        for number in range(5):
            response = connection.request("GET", f"/recorded/public/{number}")
            assert response.status == 200
            assert response.json()["target"] == f"/recorded/public/{number}"


def test_connection_close_is_honoured(gateway, recorder):
    with raw.RawConnection(gateway.port) as connection:
        assert connection.request("GET", "/recorded/public/last", {"Connection": "close"}).status == 200
        assert connection.is_closed_by_peer()


def test_a_small_response_is_not_held_back_for_an_acknowledgement(gateway):
    """RFC 9293 §3.7.4: Nagle's algorithm would hold a second small segment back."""
    with raw.RawConnection(gateway.port) as connection:
        connection.request("GET", "/recorded/public/x")
        with connected_to(gateway.process, connection.socket) as accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_client_that_has_vanished_ends_when_it_acknowledges_nothing(gateway):
    """Within two minutes. The kernel's retransmissions alone would take a quarter of an hour (RFC 5482)."""
    with raw.RawConnection(gateway.port) as connection:
        connection.request("GET", "/recorded/public/x")
        with connected_to(gateway.process, connection.socket) as accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 120_000


def test_http_1_0_gets_its_answer_and_the_end_of_the_connection(gateway, recorder):
    with raw.RawConnection(gateway.port) as connection:
        connection.send(b"GET /recorded/public/old HTTP/1.0\r\nHost: gateway.test\r\n\r\n")
        assert connection.response().status == 200
        assert connection.is_closed_by_peer()


def test_pipelined_requests_are_answered_in_order(gateway, recorder):
    released = threading.Event()

    def slow_first(exchange):
        # The first request's answer comes only after the others have been sent; still it must be written first.
        assert released.wait(10)
        exchange.respond(200, json.dumps({"target": exchange.request.target}).encode())

    recorder.on("/recorded/public/0", slow_first)
    with raw.RawConnection(gateway.port) as connection:
        connection.send(b"".join(raw.request_bytes("GET", f"/recorded/public/{number}") for number in range(8)))
        recorder.last("/recorded/public/0")
        released.set()
        targets = [connection.response().json()["target"] for _ in range(8)]
    assert targets == [f"/recorded/public/{number}" for number in range(8)]


def test_a_pipelined_refusal_keeps_its_place(gateway, recorder):
    with raw.RawConnection(gateway.port) as connection:
        connection.send(
            raw.request_bytes("GET", "/recorded/public/first")
            + raw.request_bytes("GET", "/nowhere")
            + raw.request_bytes("GET", "/recorded/public/third")
        )
        assert [connection.response().status for _ in range(3)] == [200, 404, 200]


def test_head_has_the_headers_of_get_and_no_body(gateway, recorder):
    recorder.on("/recorded/public/head", answer(200, b"twelve bytes"))
    with raw.RawConnection(gateway.port) as connection:
        response = connection.request("HEAD", "/recorded/public/head")
        assert (response.status, response.header("content-length")) == (200, "12")
        # Had a body followed, this response could not be read.
        assert connection.request("GET", "/recorded/public/head").body == b"twelve bytes"


def test_a_refused_head_has_no_body(gateway):
    with raw.RawConnection(gateway.port) as connection:
        assert connection.request("HEAD", "/nowhere").status == 404
        assert connection.request("HEAD", "/recorded/required/x").status == 401


def test_100_continue_comes_before_the_body_is_sent(gateway, recorder):
    with raw.RawConnection(gateway.port) as connection:
        headers = {"Expect": "100-continue", "Content-Length": "5"}
        connection.send(raw.request_bytes("POST", "/recorded/public/upload", headers))
        assert connection.head().status == 100
        connection.send(b"hello")
        response = connection.response()
    assert response.status == 200
    assert recorder.last("/recorded/public/upload").body == b"hello"


def test_a_refusal_comes_instead_of_100_continue(gateway, recorder):
    with raw.RawConnection(gateway.port) as connection:
        headers = {"Expect": "100-continue", "Content-Length": "5"}
        connection.send(raw.request_bytes("POST", "/recorded/required/upload", headers))
        response = connection.response()
    assert (response.status, response.interim) == (401, [])
    assert recorder.requests_to("/recorded/required/upload") == []


def test_an_unknown_expectation_is_not_promised(gateway, recorder):
    with raw.RawConnection(gateway.port) as connection:
        connection.send(raw.request_bytes("POST", "/recorded/public/x", {"Expect": "wonders", "Content-Length": "0"}))
        assert connection.response().status == 417
    assert recorder.requests_to("/recorded/public/x") == []


@pytest.mark.parametrize("size", [0, 1, 65_536, 3_000_001])
@pytest.mark.parametrize("framing", ["sized", "chunked"])
def test_an_upload_arrives_whole(gateway, recorder, framing, size):
    data = os.urandom(size)
    with raw.RawConnection(gateway.port) as connection:
        if framing == "sized":
            response = connection.request("POST", "/recorded/public/upload", body=data)
        else:
            connection.send(raw.request_bytes("POST", "/recorded/public/upload", {"Transfer-Encoding": "chunked"}))
            pieces = [data[start : start + 10_007] for start in range(0, size, 10_007)]
            connection.send(raw.chunked(*pieces))
            response = connection.response()
    assert response.json()["bytes"] == size
    assert recorder.last("/recorded/public/upload").body == data


def test_a_body_reaches_the_backend_before_it_is_complete(gateway, recorder):
    """Streaming, not storing: the backend has the first part while the client still holds the rest back."""
    with raw.RawConnection(gateway.port) as connection:
        connection.send(raw.request_bytes("POST", "/recorded/public/stream", {"Content-Length": "10"}) + b"first")
        request = recorder.last("/recorded/public/stream")
        wait_until(lambda: recorder.connection_of(request).received.endswith(b"first"), "the first half of the body")
        connection.send(b"later")
        assert connection.response().json()["bytes"] == 10


def test_uploads_and_downloads_through_fastapi(gateway, example, issuer):
    data = os.urandom(2_000_003)
    with raw.RawConnection(gateway.port) as connection:
        headers = bearer(issuer.access())
        told = connection.request("POST", "/api/v1/upload", headers, data).json()
        assert told == {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        for chunked in ("false", "true"):
            target = f"/api/v1/download?bytes=1000001&chunked={chunked}"
            response = connection.request("GET", target, headers)
            assert response.body == bytes(1_000_001)


def test_server_sent_events_arrive_one_by_one(gateway, recorder):
    go_on = [threading.Event() for _ in range(3)]

    def events(exchange):
        exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for number, event in enumerate(go_on):
            data = b"data: %d\n\n" % number
            exchange.send(b"%x\r\n%s\r\n" % (len(data), data))
            assert event.wait(10)
        exchange.send(b"0\r\n\r\n")

    recorder.on("/recorded/public/events", events)
    with raw.RawConnection(gateway.port) as connection:
        connection.send(raw.request_bytes("GET", "/recorded/public/events"))
        assert connection.head().header("content-type") == "text/event-stream"
        # Event n + 1 is only sent once event n has come through: buffering would stop here.
        for number, (chunk, event) in enumerate(zip(connection.chunks(), go_on)):
            assert chunk == b"data: %d\n\n" % number
            event.set()


def test_server_sent_events_from_fastapi_keep_their_pace(gateway, issuer):
    with raw.RawConnection(gateway.port) as connection:
        # They take so long that it does not matter if the first is seen late on a busy machine.
        connection.send(raw.request_bytes("GET", "/api/v1/events?n=3&interval=1", bearer(issuer.access())))
        connection.head()
        arrivals = [time.monotonic() for _ in connection.chunks()]
    assert len(arrivals) == 3
    assert arrivals[-1] - arrivals[0] > 0.4


def test_a_response_that_ends_with_its_connection_is_passed_on_whole(gateway, recorder):
    def until_close(exchange):
        exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n" + b"x" * 100_000)
        exchange.close()

    recorder.on("/recorded/public/until-close", until_close)
    assert raw.exchange(gateway.port, "GET", "/recorded/public/until-close").body == b"x" * 100_000


def test_a_response_cut_short_is_not_passed_off_as_complete(gateway, issuer):
    with raw.RawConnection(gateway.port) as connection:
        with pytest.raises(raw.ConnectionClosed):
            connection.request("GET", "/api/v1/abort", bearer(issuer.access()))


def test_an_http_1_0_response_cut_short_ends_with_a_reset(gateway, recorder):
    """The client would take an orderly end of the connection for the end of the body."""
    cut = CutShort()
    recorder.on("/recorded/public/cut-short", cut)
    with raw.RawConnection(gateway.port) as connection:
        connection.send(b"GET /recorded/public/cut-short HTTP/1.0\r\nHost: gateway.test\r\n\r\n")
        connection.until(CutShort.part)
        cut.released.set()
        with pytest.raises(ConnectionResetError):
            connection.socket.recv(1)


def test_a_clients_disconnect_cancels_the_request_at_the_backend(start_gateway, own_recorder):
    gateway = start_gateway({"upstreams": {"recorder": {"first_byte_timeout": "60s"}}})
    noticed = threading.Event()

    def wait_for_the_end(exchange):
        exchange.wait_for_close()
        noticed.set()

    own_recorder.on("/recorded/public/waiting", wait_for_the_end)
    connection = raw.RawConnection(gateway.port)
    connection.send(raw.request_bytes("GET", "/recorded/public/waiting"))
    own_recorder.last("/recorded/public/waiting")
    connection.close()
    # Well within the minute after which the gateway would give up by itself.
    assert noticed.wait(10), "the backend's connection stayed open after the client had gone"


def test_a_disconnect_in_the_middle_of_a_download_reaches_the_backend(gateway, recorder):
    noticed = threading.Event()

    def endless(exchange):
        exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        try:
            while True:
                exchange.send(b"400\r\n" + bytes(1024) + b"\r\n")
        except OSError:
            noticed.set()
            raise

    recorder.on("/recorded/public/endless", endless)
    connection = raw.RawConnection(gateway.port)
    connection.send(raw.request_bytes("GET", "/recorded/public/endless"))
    connection.exactly(100_000)
    connection.close()
    assert noticed.wait(5), "the backend could go on sending"


def test_a_disconnect_in_the_middle_of_an_upload_reaches_the_backend(gateway, recorder):
    connection = raw.RawConnection(gateway.port)
    connection.send(raw.request_bytes("POST", "/recorded/public/half", {"Content-Length": "1000"}) + b"half")
    request = recorder.last("/recorded/public/half")
    connection.close()
    assert recorder.connection_of(request).closed_by_peer.wait(5)
    assert not request.complete, "the cut-off body was made to look complete"


def test_a_slow_reader_holds_the_backend_back(gateway, recorder):
    """Backpressure: what the gateway takes from the backend for a client that does not read is bounded."""
    sent = [0]

    def large(exchange):
        exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n")
        piece = bytes(65_536)
        while sent[0] < 104_857_600:
            exchange.send(piece)
            sent[0] += len(piece)

    recorder.on("/recorded/public/large", large)
    with raw.RawConnection(gateway.port, receive_buffer=65_536) as connection:
        connection.send(raw.request_bytes("GET", "/recorded/public/large"))
        connection.head()
        before = -1
        # Wait until the sender stands still: two looks half a second apart see the same count.
        while sent[0] != before:
            before = sent[0]
            threading.Event().wait(0.5)
        assert sent[0] < 40_000_000, f"{sent[0]} bytes were taken from the backend for a client that reads nothing"


def test_a_slow_backend_holds_the_client_back(gateway, recorder):
    """Backpressure: what the gateway takes from a client for a backend that does not read is bounded."""
    finished = threading.Event()

    def reads_nothing(exchange):
        finished.wait(20)
        exchange.close()

    recorder.on("/recorded/public/unread", reads_nothing)
    with raw.RawConnection(gateway.port, timeout=0.7) as connection:
        connection.send(raw.request_bytes("POST", "/recorded/public/unread", {"Content-Length": "104857600"}))
        sent, piece = 0, bytes(65_536)
        try:
            while sent < 104_857_600:
                sent += connection.socket.send(piece)
        except (TimeoutError, ConnectionError):
            pass
        finally:
            finished.set()
    assert sent < 40_000_000, f"the gateway took {sent} bytes for a backend that reads nothing"
