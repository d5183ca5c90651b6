"""Backends that are down, silent or gone, and the responses of the gateway for them."""

import threading
import time

import pytest
from harness import raw
from harness.account import assert_refusal
from harness.backend import RecordingBackend, answer, close_without_answer, echo, sequence, silence
from harness.process import free_port
from harness.sanitizer import PATIENCE

IMPATIENT = {"upstreams": {"recorder": {"first_byte_timeout": f"{PATIENCE}s"}}}


def test_a_backend_that_is_down_is_502_at_once(gateway):
    start = time.monotonic()
    assert_refusal(raw.exchange(gateway.port, "GET", "/down/x"), 502, "UpstreamException")
    assert time.monotonic() - start < 4, "connect_timeout is 5s"


def test_a_backend_that_is_down_is_502_for_a_body_in_flight(gateway):
    with raw.RawConnection(gateway.port) as connection:
        connection.send(raw.request_bytes("POST", "/down/x", {"Transfer-Encoding": "chunked"}) + b"5\r\nhello\r\n")
        assert connection.response().status == 502


def test_a_silent_backend_is_504(start_gateway, own_recorder):
    gateway, recorder = start_gateway(IMPATIENT), own_recorder
    recorder.on("/recorded/public/silent", silence)
    start = time.monotonic()
    response = raw.exchange(gateway.port, "GET", "/recorded/public/silent")
    assert_refusal(response, 504, "UpstreamTimeoutException")
    assert 0.8 < (time.monotonic() - start) / PATIENCE < 8, "first_byte_timeout is 1s here"
    # The connection whose answer may still come is not used again.
    request = recorder.last("/recorded/public/silent")
    assert recorder.connection_of(request).closed_by_peer.wait(5)


def test_the_first_byte_timeout_does_not_run_while_the_client_still_sends(start_gateway):
    gateway = start_gateway(IMPATIENT)
    with raw.RawConnection(gateway.port) as connection:
        connection.send(raw.request_bytes("POST", "/recorded/public/slow-upload", {"Content-Length": "4"}))
        for piece in (b"a", b"b", b"c", b"d"):
            # Longer in all than the timeout of 1 s.
            threading.Event().wait(0.4)
            connection.send(piece)
        assert connection.response().json()["bytes"] == 4


def test_a_backend_that_closes_without_an_answer_is_502(gateway, recorder):
    recorder.on("/recorded/public/closes", close_without_answer)
    with raw.RawConnection(gateway.port) as connection:
        assert connection.request("POST", "/recorded/public/closes", body=b"x").status == 502
        # The client's own connection survives it.
        assert connection.request("GET", "/recorded/public/fine").status == 200


@pytest.mark.long
@pytest.mark.timeout(300)
def test_a_stream_of_more_than_two_minutes_stays_whole_while_others_connect(gateway, recorder):
    """libcurl closes a connection that is idle in its eyes for 118 seconds when it makes another."""
    seconds = 125

    def stream(exchange):
        exchange.read_body()
        exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        began = time.monotonic()
        # The event is never set: it paces the stream.
        while time.monotonic() - began < seconds and not threading.Event().wait(0.5):
            exchange.send(b"4\r\n:hi\n\r\n")
        exchange.send(b"0\r\n\r\n")

    recorder.on("/recorded/public/stream", stream)
    recorder.on("/recorded/public/short", answer(headers={"Connection": "close"}))
    with raw.RawConnection(gateway.port) as connection:
        connection.send(raw.request_bytes("GET", "/recorded/public/stream"))
        assert connection.head().status == 200
        chunks = 0
        for chunk in connection.chunks():
            assert chunk == b":hi\n"
            chunks += 1
            assert raw.exchange(gateway.port, "GET", "/recorded/public/short").status == 200
    assert chunks > seconds
    assert len({r.connection for r in recorder.requests_to("/recorded/public/short")}) == chunks


@pytest.mark.parametrize(
    "bytes_",
    [
        b"this is not HTTP\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nBad Name: x\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 abc OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: a\r\n folded\r\nContent-Length: 0\r\n\r\n",
    ],
    ids=["no-http", "two-lengths", "length-and-chunked", "bad-name", "bad-status", "folded"],
)
def test_a_malformed_answer_is_502_and_its_connection_is_not_reused(gateway, recorder, bytes_):
    def malformed(exchange):
        exchange.read_body()
        exchange.send(bytes_)
        exchange.wait_for_close()

    recorder.on("/recorded/public/malformed", malformed)
    assert_refusal(raw.exchange(gateway.port, "GET", "/recorded/public/malformed"), 502, "UpstreamException")
    request = recorder.last("/recorded/public/malformed")
    assert recorder.connection_of(request).closed_by_peer.wait(5)


def test_bytes_beyond_the_answer_never_reach_the_next_client(gateway, recorder):
    """Response splitting: a second response behind the first must not answer somebody else's request."""

    def surplus(exchange):
        exchange.read_body()
        exchange.send(
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison"
        )

    recorder.on("/recorded/public/surplus", surplus)
    for number in range(5):
        assert raw.exchange(gateway.port, "GET", "/recorded/public/surplus").body == b"ok"
        assert b"poison" not in raw.exchange(gateway.port, "GET", f"/recorded/public/after-{number}").body


def test_upstream_connections_are_reused(start_gateway, own_recorder):
    gateway = start_gateway({"threads": 1})
    with raw.RawConnection(gateway.port) as connection:
        for number in range(20):
            assert connection.request("GET", f"/recorded/public/{number}").status == 200
    for number in range(20):
        assert raw.exchange(gateway.port, "GET", f"/recorded/public/{number}").status == 200
    assert len(own_recorder.requests) == 40
    assert len(own_recorder.connections) == 1


def dies_under_the_next(exchange):
    """Answers properly, keeps the connection, and closes it once the next request has come in on it."""
    exchange.read_body()
    exchange.respond(200, b"first")
    exchange.take_next_and_close()


def test_a_get_on_a_pooled_connection_that_died_is_retried_once(start_gateway, own_recorder):
    gateway = start_gateway({"threads": 1})
    own_recorder.on("/recorded/public/pooled", sequence(dies_under_the_next, answer(200, b"second")))
    assert raw.exchange(gateway.port, "GET", "/recorded/public/pooled").body == b"first"
    assert raw.exchange(gateway.port, "GET", "/recorded/public/pooled").body == b"second"
    requests = own_recorder.requests_to("/recorded/public/pooled")
    assert [request.connection for request in requests] == [0, 0, 1], "first, died, retried on a fresh connection"


def test_a_post_on_a_pooled_connection_that_died_is_not_repeated(start_gateway, own_recorder):
    gateway = start_gateway({"threads": 1})
    own_recorder.on("/recorded/public/pooled", sequence(dies_under_the_next, answer(200, b"second")))
    assert raw.exchange(gateway.port, "GET", "/recorded/public/pooled").body == b"first"
    response = raw.exchange(gateway.port, "POST", "/recorded/public/pooled", body=b"once only")
    assert_refusal(response, 502, "UpstreamException")
    posts = [request for request in own_recorder.requests if request.method == "POST"]
    assert len(posts) == 1


def test_a_get_is_retried_only_once(start_gateway, own_recorder):
    gateway = start_gateway({"threads": 1})
    own_recorder.on(
        "/recorded/public/pooled", sequence(dies_under_the_next, close_without_answer)
    )
    assert raw.exchange(gateway.port, "GET", "/recorded/public/pooled").body == b"first"
    assert raw.exchange(gateway.port, "GET", "/recorded/public/pooled").status == 502
    assert len(own_recorder.requests) == 3


def test_a_pooled_connection_closed_while_idle_costs_nothing(start_gateway, own_recorder):
    """The usual case: the backend's keep-alive ran out. Even a POST then goes through, on a fresh connection."""
    gateway = start_gateway({"threads": 1})
    ended = threading.Event()

    def answer_and_end(exchange):
        exchange.read_body()
        exchange.respond(200, b"first")
        exchange.end_sending()
        # On loopback the end has reached the gateway's socket by now.
        ended.set()
        exchange.wait_for_close()

    own_recorder.on("/recorded/public/pooled", sequence(answer_and_end, echo))
    assert raw.exchange(gateway.port, "GET", "/recorded/public/pooled").body == b"first"
    assert ended.wait(5)
    response = raw.exchange(gateway.port, "POST", "/recorded/public/pooled", body=b"hello")
    assert response.json()["bytes"] == 5
    assert [request.connection for request in own_recorder.requests] == [0, 1]


def test_connection_close_from_the_backend_is_honoured(start_gateway, own_recorder):
    gateway = start_gateway({"threads": 1})
    own_recorder.on("/recorded/public/close", answer(200, b"ok", {"Connection": "close"}))
    for _ in range(3):
        assert raw.exchange(gateway.port, "GET", "/recorded/public/close").body == b"ok"
    assert [request.connection for request in own_recorder.requests] == [0, 1, 2]


def test_an_idle_pooled_connection_is_closed_after_its_timeout(start_gateway, own_recorder):
    gateway = start_gateway({"upstreams": {"recorder": {"keep_alive": "1s"}}})
    assert raw.exchange(gateway.port, "GET", "/recorded/public/x").status == 200
    assert own_recorder.connections[0].closed_by_peer.wait(10)


def test_a_backend_that_comes_back_is_used_again(start_gateway):
    port = free_port()
    gateway = start_gateway({"upstreams": {"down": {"url": f"http://127.0.0.1:{port}"}}})
    assert raw.exchange(gateway.port, "GET", "/down/x").status == 502
    backend = RecordingBackend(port=port)
    try:
        assert raw.exchange(gateway.port, "GET", "/down/x").status == 200
    finally:
        backend.stop()


def test_an_early_answer_reaches_the_client_while_it_still_sends(gateway, recorder):
    """The backend refuses by the head alone; the client must hear of it, and the connection must not be pooled."""

    def early(exchange):
        exchange.respond(413, b"too large for me")
        exchange.wait_for_close()

    recorder.on("/recorded/public/early", early)
    with raw.RawConnection(gateway.port) as connection:
        connection.send(raw.request_bytes("POST", "/recorded/public/early", {"Content-Length": "1000000"}) + b"begin")
        response = connection.response()
        assert (response.status, response.body) == (413, b"too large for me")
    request = recorder.last("/recorded/public/early")
    assert recorder.connection_of(request).closed_by_peer.wait(5)


def test_interim_answers_are_not_mistaken_for_the_answer(gateway, recorder):
    def hints(exchange):
        exchange.read_body()
        exchange.send(b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n")
        exchange.respond(200, b"the answer")

    recorder.on("/recorded/public/hints", hints)
    response = raw.exchange(gateway.port, "GET", "/recorded/public/hints")
    assert (response.status, response.body) == (200, b"the answer")
