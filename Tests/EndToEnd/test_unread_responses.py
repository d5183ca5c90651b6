"""A client that sends requests and reads no response: what waits for it is bounded, and it is made to wait itself."""

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable

import pytest
from harness import h2raw, raw, websocket
from harness.backend import Exchange, Script, answer
from harness.gateway import Gateway
from harness.h2raw import H2Connection, frame, request
from harness.pour import MEGABYTE, growth, private_bytes
from harness.process import wait_until
from harness.raw import From
from test_websocket_h2 import connect, until_head

SECONDS = 4
MOST_STORED = 8 << 20
TARGET = "/recorded/public/unread"
INITIAL_WINDOW_SIZE = 4
# Two seconds without a byte are too long, and so is anything slower than 100 bytes a second for two seconds.
STRICT = {
    "body_idle_timeout": "2s",
    "keep_alive_timeout": "60s",
    "minimum_rate": 100,
    "minimum_rate_grace": "2s",
}
# For what has to be seen before the client is given up.
LESS_STRICT = {"body_idle_timeout": "5s", "minimum_rate_grace": "5s"}


def connected(gateway: Gateway) -> socket.socket:
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect(("127.0.0.1", gateway.port))
    client.settimeout(10)
    return client


def flood(gateway: Gateway, request: bytes) -> tuple[socket.socket, int]:
    """Sends `request` again and again until nothing is taken any more, or for a while; the socket, and what was sent."""
    client = connected(gateway)
    client.settimeout(1)
    many, sent, began = request * 2000, 0, time.monotonic()
    try:
        while time.monotonic() - began < SECONDS:
            sent += client.send(many[sent % len(request) :])
    except TimeoutError:
        pass
    return client, sent


@pytest.mark.parametrize("path", ["/nothing", "/recorded/public/x", "/api/v1/auth/login"])
def test_responses_that_nobody_reads_are_not_stored_without_a_limit(start_gateway, path: str) -> None:
    gateway = start_gateway()
    request = f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode()
    # The first one has the gateway set up what it sets up once, such as the queues of its logs.
    flood(gateway, request)[0].close()
    before = gateway.process.resident_bytes()
    client, sent = flood(gateway, request)
    with client:
        assert gateway.process.resident_bytes() - before < MOST_STORED, f"{sent} bytes were sent"


def test_responses_without_a_body_that_nobody_reads_meet_the_limit_of_streams(start_gateway, own_recorder) -> None:
    """Each has 6 KB of fields, and is all of its stream: the client asks for more as if it had read them."""
    gateway = start_gateway({"limits": {"keep_alive_timeout": "1s"}})
    own_recorder.on(TARGET, answer(200, b"", {"X-Long": "x" * 6_000}))
    head = h2raw.block(request("HEAD", TARGET))
    requests, batch = 4_000, 50

    def answered() -> int:
        return gateway.metric("gatehouse_requests_total")

    assert raw.exchange(gateway.port, "HEAD", TARGET).status == 200
    before = answered()
    with connected(gateway) as client, growth(gateway.process, within=MOST_STORED):
        client.sendall(h2raw.PREFACE + frame(h2raw.SETTINGS, 0, 0) + frame(h2raw.SETTINGS, h2raw.ACK, 0))
        for sent in range(0, requests, batch):
            streams = [2 * (sent + number) + 1 for number in range(batch)]
            with contextlib.suppress(ConnectionError):
                client.sendall(b"".join(frame(h2raw.HEADERS, h2raw.END_STREAM | h2raw.END_HEADERS, stream, head) for stream in streams))
            wait_until(
                lambda sent=sent: answered() - before >= sent + batch
                or gateway.metric("gatehouse_client_connections_open") == 0,
                "the answers, or the end of the connection",
            )
            if gateway.metric("gatehouse_client_connections_open") == 0:
                break
        else:
            raise AssertionError(f"{requests} responses that nobody read were begun")
    assert raw.exchange(gateway.port, "HEAD", TARGET).status == 200


def test_a_client_that_reads_late_gets_every_response(start_gateway) -> None:
    """More of them than the kernel takes: the gateway stops in the middle, and goes on."""
    gateway = start_gateway()
    count, received, tail = 20_000, 0, b""
    client = connected(gateway)
    # It holds for all that the sender sends together.
    client.settimeout(60)
    sender = threading.Thread(target=client.sendall, args=[b"GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n" * count], daemon=True)
    with client:
        sender.start()
        answered = -1.0

        def stands_still() -> bool:
            nonlocal answered
            before, answered = answered, gateway.metric("gatehouse_requests_total")
            return answered == before

        wait_until(stands_still, "the gateway to begin no more requests", interval=0.5)
        assert answered < count
        while received < count:
            data = client.recv(1 << 20)
            assert data, f"{received} of {count} responses"
            received += (tail + data).count(b"HTTP/1.1 404 ")
            tail = data[-12:]
        assert received == count


# ---- Responses that are complete here, and that their client does not take


def closed_windows(gateway: Gateway, streams: int = 1, path: str = TARGET) -> tuple[H2Connection, list[int]]:
    """A client that asks and then takes no byte of any body; its streams."""
    connection = H2Connection(gateway.port, settings={INITIAL_WINDOW_SIZE: 0}, auto_window=False)
    return connection, [connection.open(request(path=path)) for _ in range(streams)]


def open_window(connection: H2Connection, stream: int, size: int) -> None:
    connection.send(frame(h2raw.WINDOW_UPDATE, 0, stream, struct.pack("!I", size)))


def until_heads(connection: H2Connection, streams: list[int]) -> None:
    while not all(connection.streams.get(stream, h2raw.Stream()).headers for stream in streams):
        assert connection.read(), "the connection ended"


def wait_for_the_backend(gateway: Gateway, backend, requests: int) -> None:
    """All have been answered by the backend, so that nothing but the client is waited for."""
    wait_until(lambda: len(backend.requests) == requests, "the requests at the backend")
    wait_until(lambda: gateway.metric("gatehouse_requests_in_flight") == 0, "their responses")


@pytest.mark.parametrize("size", [10, 60_000, 200_000])
def test_streams_whose_window_stays_closed_end(start_gateway, own_recorder, size):
    gateway = start_gateway({"limits": {**STRICT, "keep_alive_timeout": "1s"}})
    own_recorder.on(TARGET, answer(200, b"x" * size))
    connection, streams = closed_windows(gateway, 20)
    with connection:
        # With them the connection goes, which is idle then.
        connection.rest()
        assert {connection.streams[stream].status for stream in streams} == {200}
        resets = [connection.streams[stream].reset for stream in streams]
        # Nobody must take for whole what is not.
        assert h2raw.NO_ERROR not in resets and None not in resets
        assert not any(connection.streams[stream].ended for stream in streams)
    wait_until(lambda: gateway.metric("gatehouse_http2_streams_open") == 0, "no stream")


def test_refusals_that_nobody_takes_end_too(start_gateway):
    gateway = start_gateway({"limits": STRICT})
    connection, streams = closed_windows(gateway, 5, "/nowhere")
    with connection:
        while any(connection.streams.setdefault(stream, h2raw.Stream()).reset is None for stream in streams):
            assert connection.read()


def test_a_finished_response_counts_as_a_request_until_its_client_has_it(start_gateway, own_recorder):
    gateway = start_gateway({"limits": {"requests": 8, "requests_per_address": 8}})
    own_recorder.on(TARGET, answer(200, b"x" * 60_000))
    connection, streams = closed_windows(gateway, 8)
    with connection:
        until_heads(connection, streams)
        wait_for_the_backend(gateway, own_recorder, 8)
        wait_until(lambda: gateway.metric("gatehouse_responses_unsent") == 8, "eight that wait for their client")
        with From("127.0.0.2", gateway.port) as other:
            assert other.request("GET", TARGET).status == 503
        for stream in streams:
            open_window(connection, stream, 60_000)
        open_window(connection, 0, 8 * 60_000)
        assert {len(connection.response(stream).body) for stream in streams} == {60_000}
        wait_until(lambda: gateway.metric("gatehouse_responses_unsent") == 0, "none")
        with From("127.0.0.2", gateway.port) as other:
            assert other.request("GET", TARGET).status == 200
        # Their places are free once, and not twice.
        connection, streams = closed_windows(gateway, 8)
        with connection:
            until_heads(connection, streams)
            wait_until(lambda: gateway.metric("gatehouse_responses_unsent") == 8, "eight again")
            assert raw.exchange(gateway.port, "GET", TARGET).status == 503
    wait_until(lambda: gateway.metric("gatehouse_responses_unsent") == 0, "none")
    assert raw.exchange(gateway.port, "GET", TARGET).status == 200


def test_such_a_response_counts_for_its_clients_address(start_gateway, own_recorder):
    gateway = start_gateway({"trusted_proxies": ["127.0.0.1"], "limits": {"requests": 100, "requests_per_address": 3}})
    own_recorder.on(TARGET, answer(200, b"x" * 60_000))
    connection = H2Connection(gateway.port, settings={INITIAL_WINDOW_SIZE: 0}, auto_window=False)
    with connection:
        for _ in range(3):
            connection.open(request("GET", TARGET, ("x-forwarded-for", "192.0.2.1")))
        wait_until(lambda: gateway.metric("gatehouse_responses_unsent") == 3, "three that wait for their client")
        statuses = [raw.exchange(gateway.port, "GET", TARGET, {"X-Forwarded-For": f"192.0.2.{last}"}).status for last in (1, 2)]
        assert statuses == [429, 200]
        # Refused requests take no place of their own, however little their client reads.
        refused = [connection.open(request("GET", TARGET, ("x-forwarded-for", "192.0.2.1"))) for _ in range(5)]
        until_heads(connection, refused)
        assert {connection.streams[stream].status for stream in refused} == {429}
        assert gateway.metric("gatehouse_responses_unsent") == 3


@pytest.mark.alone
def test_four_thousand_closed_windows_take_no_more_memory_than_their_requests_may(start_gateway, own_recorder):
    """40 connections with 100 streams each, and 60 KB for each stream: 240 MB."""
    # The first streams are still there when there are more than one address may have, and all get the backend's response.
    limits = {**STRICT, **LESS_STRICT, "requests": 1000}
    gateway = start_gateway({"limits": limits, "upstreams": {"recorder": {"first_byte_timeout": "30s"}}})
    own_recorder.on(TARGET, answer(200, b"x" * 60_000))
    assert raw.exchange(gateway.port, "GET", TARGET).status == 200
    before = private_bytes(gateway.process)
    with contextlib.ExitStack() as stack, growth(gateway.process, within=64 * MEGABYTE):
        connections = []
        for _ in range(40):
            connection, streams = closed_windows(gateway, 100)
            stack.enter_context(connection)
            connections.append((connection, streams))
            until_heads(connection, streams)
        statuses = [connection.streams[stream].status for connection, streams in connections for stream in streams]
        assert set(statuses) == {200, 429}
        wait_until(lambda: gateway.metric("gatehouse_http2_streams_open") == 0, "the end of all streams", 30)
        wait_until(lambda: gateway.metric("gatehouse_responses_unsent") == 0, "none")
    assert raw.exchange(gateway.port, "GET", TARGET).status == 200
    left = (private_bytes(gateway.process) - before) / MEGABYTE
    print(f"{statuses.count(200)} were answered; {left:.1f} MB more than before are left")


def take_slowly(connection: H2Connection, streams: list[int], step: int, seconds: float) -> None:
    """Opens the windows of all streams a little now and then, for so long or until all have ended."""
    open_window(connection, 0, 1 << 20)
    connection.socket.settimeout(0.2)
    end = time.monotonic() + seconds

    def have_ended() -> bool:
        found = [connection.streams.setdefault(stream, h2raw.Stream()) for stream in streams]
        return all(each.ended or each.reset is not None for each in found)

    while time.monotonic() < end and not have_ended():
        for stream in streams:
            if not connection.streams[stream].ended:
                open_window(connection, stream, step)
        with contextlib.suppress(TimeoutError):
            while connection.read() and not have_ended():
                pass


def test_a_response_that_its_client_takes_byte_by_byte_ends(start_gateway, own_recorder):
    gateway = start_gateway({"limits": STRICT})
    own_recorder.on(TARGET, answer(200, b"x" * 10_000))
    connection, [stream] = closed_windows(gateway)
    with connection:
        take_slowly(connection, [stream], 1, 15)
        assert connection.streams[stream].reset not in (None, h2raw.NO_ERROR)


def test_responses_that_a_slow_client_takes_at_the_rate_go_through(start_gateway, own_recorder):
    """Twelve at once: each is slower than the rate, and the connection is not."""
    gateway = start_gateway({"limits": STRICT})
    own_recorder.on(TARGET, answer(200, b"x" * 400))
    connection, streams = closed_windows(gateway, 12)
    with connection:
        began = time.monotonic()
        take_slowly(connection, streams, 10, 60)
        assert time.monotonic() - began > 4
        assert [len(connection.streams[stream].body) for stream in streams] == [400] * 12


def test_a_websocket_on_a_stream_whose_window_is_closed_ends_with_its_backend(start_gateway, own_recorder):
    route = {"name": "socket", "path": "/socket", "access": "public", "upstream": "recorder", "websocket": True}
    gateway = start_gateway({"routes": [route], "limits": {**STRICT, **LESS_STRICT, "requests": 1, "requests_per_address": 1}})
    held = websocket.Held()
    own_recorder.on("/socket", held)
    with H2Connection(gateway.port, settings={INITIAL_WINDOW_SIZE: 0}, auto_window=False) as connection:
        stream = connection.open(connect("/socket"), end=False)
        assert until_head(connection, stream).status == 200
        exchange = held.wait()
        exchange.send(websocket.frame(websocket.TEXT, b"y" * 10_000))
        exchange.close()
        wait_until(lambda: gateway.metric("gatehouse_responses_unsent") == 1, "what is left to wait")
        assert raw.exchange(gateway.port, "GET", TARGET).status in (429, 503)
        while connection.streams[stream].reset is None:
            assert connection.read()
        assert connection.streams[stream].reset != h2raw.NO_ERROR
    wait_until(lambda: gateway.metric("gatehouse_responses_unsent") == 0, "none")


def test_the_place_of_a_response_is_free_when_a_websocket_has_begun_behind_it(start_gateway, own_recorder):
    socket_route = {"name": "socket", "path": "/socket", "access": "public", "upstream": "recorder", "websocket": True}
    target_route = {"name": "target", "path": TARGET, "access": "public", "upstream": "recorder"}
    gateway = start_gateway({"routes": [socket_route, target_route]})
    held = websocket.Held()
    client = leave_unsent(gateway, own_recorder)
    own_recorder.on("/socket", held)
    with client:
        client.sendall(raw.request_bytes("GET", "/socket", websocket.HANDSHAKE))
        held.wait()
        received = b""
        while b"HTTP/1.1 101 " not in received[-1000:]:
            received += client.recv(1 << 20)
        wait_until(lambda: gateway.metric("gatehouse_responses_unsent") == 0, "none that waits for its client")
        assert gateway.metric("gatehouse_requests_in_flight") == 1


def leave_unsent(
    gateway: Gateway, backend, version: str = "1.1", respond: Callable[[int, bytes], Script] = answer
) -> socket.socket:
    """A client of HTTP/1 that reads nothing, and of whose response the gateway has all, and the kernel not all.

    How much the kernel takes is looked for: the largest response that the gateway can end leaves some with it.
    """
    least, most = 0, 16 * MEGABYTE
    while most - least > 16_384:
        size = (least + most) // 2
        backend.forget()
        backend.on(TARGET, respond(200, b"x" * size))
        client = connected(gateway)
        client.sendall(f"GET {TARGET} HTTP/{version}\r\nHost: gateway.test\r\n\r\n".encode())
        wait_until(lambda: backend.requests, "the request at the backend")
        if has_ended(gateway):
            if gateway.metric("gatehouse_responses_unsent") == 1:
                return client
            least = size
        else:
            most = size
        client.close()
        wait_until(lambda: gateway.metric("gatehouse_requests_in_flight") == 0, "its end")
    raise AssertionError(f"no response between {least} and {most} bytes was left with the gateway")


def has_ended(gateway: Gateway) -> bool:
    """Whether the gateway soon has all of the response."""
    with contextlib.suppress(AssertionError):
        wait_until(lambda: gateway.metric("gatehouse_requests_in_flight") == 0, "the end of the response", seconds=1)
        return True
    return False


def test_an_http_1_1_client_that_stops_reading_counts_and_is_given_up(start_gateway, own_recorder):
    gateway = start_gateway({"limits": {**STRICT, **LESS_STRICT, "requests": 1, "requests_per_address": 1}})
    with leave_unsent(gateway, own_recorder):
        with From("127.0.0.2", gateway.port) as other:
            assert other.request("GET", TARGET).status == 503
        wait_until(lambda: gateway.metric("gatehouse_client_connections_open") == 0, "the end of its connection", 30)
        wait_until(lambda: gateway.metric("gatehouse_responses_unsent") == 0, "none")
        assert raw.exchange(gateway.port, "GET", "/recorded/public/x").status == 200


def without_length(status: int, body: bytes) -> Script:
    def script(exchange: Exchange) -> None:
        exchange.send(b"HTTP/1.1 %d OK\r\nTransfer-Encoding: chunked\r\n\r\n" % status + raw.chunked(body))

    return script


def test_an_http_1_0_client_that_stops_reading_is_given_up_with_a_reset(start_gateway, own_recorder):
    """The backend has ended its response, and the client would take an orderly end for the end of the body."""
    gateway = start_gateway({"limits": {**STRICT, **LESS_STRICT}})
    with leave_unsent(gateway, own_recorder, "1.0", without_length) as client:
        wait_until(lambda: gateway.metric("gatehouse_client_connections_open") == 0, "the end of its connection", 30)
        with pytest.raises(ConnectionResetError):
            while client.recv(1 << 16):
                pass


@pytest.mark.parametrize("protocol", ["http1", "http2"])
def test_a_client_that_reads_slowly_and_all_the_time_gets_the_whole_response(start_gateway, own_recorder, protocol):
    """The kernel takes megabytes ahead, and lets the gateway see nothing of its client's reading for a long time."""
    size = 8 * MEGABYTE
    gateway = start_gateway({"limits": {**STRICT, "keep_alive_timeout": "1s"}})
    own_recorder.on(TARGET, answer(200, b"x" * size))
    with connected(gateway) as client:
        if protocol == "http1":
            client.sendall(raw.request_bytes("GET", TARGET))
        else:
            window = struct.pack("!HI", INITIAL_WINDOW_SIZE, 2 * size)
            client.sendall(h2raw.PREFACE + frame(h2raw.SETTINGS, 0, 0, window))
            client.sendall(frame(h2raw.WINDOW_UPDATE, 0, 0, struct.pack("!I", 2 * size)))
            client.sendall(frame(h2raw.HEADERS, h2raw.END_STREAM | h2raw.END_HEADERS, 1, h2raw.block(request(path=TARGET))))
        end, received = time.monotonic() + 7, b""

        def reads_a_little() -> bool:
            nonlocal received
            received += client.recv(2_048)
            return time.monotonic() > end

        wait_until(reads_a_little, "seven seconds of reading", seconds=15, interval=0.05)
        count = received.count(b"x")
        while count < size:
            data = client.recv(1 << 16)
            assert data, f"the end after {count} of {size} bytes"
            count += data.count(b"x")
