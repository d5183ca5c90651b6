"""No client keeps others out: connections and requests by address, the least rate, and idle connections that make room."""

import contextlib
import json
import socket
import threading
import time

import pytest
from harness import h2raw, raw
from harness.account import assert_refusal
from harness.backend import Holding
from harness.gateway import ADA
from harness.h2raw import H2Connection, frame, request
from harness.process import free_port, wait_until
from harness.raw import From

TARGET = "/recorded/public/fair"
LOGIN = "/api/v1/auth/login"
# Of the backend, which these tests have wait.
PATIENT = {"upstreams": {"recorder": {"first_byte_timeout": "60s", "idle_timeout": "60s"}}}


# ---- Connections of one address


def test_forty_trickling_logins_do_not_keep_another_address_out(start_gateway, pool):
    gateway = start_gateway({"limits": {"connections": 40}}, pool=pool)
    gateway.wait_for_nobody()
    body = json.dumps({"email": ADA[0], "password": ADA[1]}).encode()
    with contextlib.ExitStack() as stack:
        trickling = [stack.enter_context(From("127.0.0.1", gateway.port)) for _ in range(40)]
        for connection in trickling:
            with contextlib.suppress(OSError):
                connection.send(raw.request_bytes("POST", LOGIN, {"Content-Length": "1000"}) + b"{")
        wait_until(lambda: gateway.refused("address-limit") == 30, "a quarter of all to be let in")
        for address in ("127.0.0.2", "127.0.0.3"):
            with From(address, gateway.port) as other:
                assert other.request("POST", LOGIN, {"Content-Type": "application/json"}, body).status == 200
    # All places are free again.
    gateway.wait_for_nobody()
    with contextlib.ExitStack() as stack:
        for _ in range(10):
            assert stack.enter_context(From("127.0.0.1", gateway.port)).request("GET", TARGET).status == 200


def test_connections_of_one_address_are_told_503_beyond_their_share(start_gateway):
    gateway = start_gateway({"limits": {"connections": 100, "connections_per_address": 2}})

    def serves_two() -> bool:
        with From("127.0.0.1", gateway.port) as first, From("127.0.0.1", gateway.port) as second:
            with contextlib.suppress(raw.ConnectionClosed, OSError):
                return [each.request("GET", TARGET).status for each in (first, second)] == [200, 200]
            return False

    # Whoever looked whether the gateway is up has gone.
    wait_until(serves_two, "room for two")
    gateway.wait_for_nobody()
    before = gateway.refused("address-limit")
    with From("127.0.0.1", gateway.port) as first, From("127.0.0.1", gateway.port) as second:
        assert [each.request("GET", TARGET).status for each in (first, second)] == [200, 200]
        with From("127.0.0.1", gateway.port) as third:
            answer = third.response()
            assert (answer.status, answer.header("retry-after")) == (503, "5") and third.is_closed_by_peer()
        assert gateway.refused("address-limit") == before + 1
        with From("127.0.0.2", gateway.port) as other:
            assert other.request("GET", TARGET).status == 200
        # A reload changes it, for connections from then on.
        gateway.reload({"limits": {"connections_per_address": 3}})
        with From("127.0.0.1", gateway.port) as third:
            assert third.request("GET", TARGET).status == 200


def test_clients_behind_a_proxy_header_are_counted_by_their_own_address(start_gateway):
    section = {"proxy_protocol": {"trusted": ["127.0.0.1"]}}
    listeners = [{"address": f"127.0.0.1:{free_port()}", **section}]
    gateway = start_gateway({"listeners": listeners, "limits": {"connections_per_address": 2}})

    def status(stack, client: str | None) -> int | None:
        connection = stack.enter_context(raw.RawConnection(gateway.port))
        family = "TCP6" if client and ":" in client else "TCP4"
        own = "2001:db8::99" if family == "TCP6" else "192.0.2.99"
        head = f"PROXY {family} {client} {own} 50000 443\r\n" if client else "PROXY UNKNOWN\r\n"
        connection.send(head.encode() + raw.request_bytes("GET", TARGET))
        try:
            return connection.response().status
        except (raw.ConnectionClosed, OSError):
            return None

    with contextlib.ExitStack() as stack:
        clients = ["2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8:0:1::1", "192.0.2.1", "192.0.2.1", "192.0.2.1"]
        assert [status(stack, client) for client in clients] == [200, 200, None, 200, 200, 200, None]
        assert gateway.refused("address-limit") == 2


def test_trusted_proxies_have_no_share_and_their_clients_have(start_gateway, own_recorder):
    held_back = Holding()
    own_recorder.on(TARGET + "/held", held_back)
    gateway = start_gateway(
        {"trusted_proxies": ["127.0.0.1"], "limits": {"connections_per_address": 1, "requests_per_address": 2}, **PATIENT}
    )
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(raw.RawConnection(gateway.port)) for _ in range(4)]
        for connection, client in zip(held, ["192.0.2.1", "192.0.2.1", "2001:db8::1", "2001:db8::2"]):
            connection.send(raw.request_bytes("GET", TARGET + "/held", {"X-Forwarded-For": client}))
        wait_until(lambda: len(own_recorder.requests) == 4, "four requests at the backend")
        for client in ("192.0.2.1", "::ffff:192.0.2.1", "2001:db8::3", "6.6.6.6, 192.0.2.1"):
            answer = raw.exchange(gateway.port, "GET", TARGET, {"X-Forwarded-For": client})
            assert_refusal(answer, 429, "TooManyRequestsException")
            assert answer.header("retry-after") == "1"
            assert gateway.access_line(answer.header("x-request-id"))["denial_reason"] == "overloaded-address"
        for client in ("192.0.2.2", "2001:db8:0:1::1"):
            assert raw.exchange(gateway.port, "GET", TARGET, {"X-Forwarded-For": client}).status == 200
        # The proxy's own requests count for no client.
        assert raw.exchange(gateway.port, "GET", TARGET).status == 200
        held_back.released.set()
        assert [connection.response().status for connection in held] == [200] * 4
    for _ in range(3):
        assert raw.exchange(gateway.port, "GET", TARGET, {"X-Forwarded-For": "192.0.2.1"}).status == 200
    assert 'gatehouse_denials_total{reason="overloaded-address"} 4\n' in gateway.admin("/metrics")[1]


def test_a_trusted_proxy_behind_the_trusted_one_is_many_clients_as_well(start_gateway, own_recorder):
    held_back = Holding()
    own_recorder.on(TARGET + "/held", held_back)
    networks = ["127.0.0.1", "10.0.0.0/8"]
    gateway = start_gateway({"trusted_proxies": networks, "limits": {"requests_per_address": 1}, **PATIENT})
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(raw.RawConnection(gateway.port)) for _ in range(3)]
        for connection in held:
            connection.send(raw.request_bytes("GET", TARGET + "/held", {"X-Forwarded-For": "10.0.0.7"}))
        wait_until(lambda: len(own_recorder.requests) == 3, "three requests at the backend")
        held_back.released.set()
        assert [connection.response().status for connection in held] == [200] * 3


def test_streams_of_one_connection_count_for_its_address(start_gateway, own_recorder):
    held_back = Holding()
    own_recorder.on(TARGET + "/held", held_back)
    gateway = start_gateway({"limits": {"requests": 8}, **PATIENT})
    with H2Connection(gateway.port) as busy, From("127.0.0.2", gateway.port) as other:
        streams = [busy.open(request(path=TARGET + "/held")) for _ in range(2)]
        wait_until(lambda: len(own_recorder.requests) == 2, "two requests at the backend")
        assert busy.response(busy.open(request(path=TARGET))).status == 429
        assert other.request("GET", TARGET).status == 200
        held_back.released.set()
        assert [busy.response(stream).status for stream in streams] == [200, 200]


# ---- The least rate


@pytest.fixture
def strict(start_gateway):
    """Two seconds at less than 100 bytes a second are too long."""
    times = {"header_timeout": "60s", "body_idle_timeout": "60s"}
    limits = {**times, "minimum_rate": 100, "minimum_rate_grace": "2s"}
    return start_gateway({"limits": limits, **PATIENT})


def trickle(send, has_ended, seconds: float = 15.0) -> float:
    """Sends a byte now and then until it is over; how long that took."""
    began = time.monotonic()

    def step() -> bool:
        with contextlib.suppress(OSError):
            send()
        return has_ended()

    wait_until(step, "the end of it", seconds=seconds, interval=0.1)
    return time.monotonic() - began


def readable(connection: raw.RawConnection) -> bool:
    connection.socket.setblocking(False)
    try:
        return bool(connection.socket.recv(1, socket.MSG_PEEK)) or True
    except BlockingIOError:
        return False
    finally:
        connection.socket.settimeout(10)


@pytest.mark.parametrize(
    ("start", "step"),
    [
        (b"GET " + TARGET.encode() + b" HTTP/1.1\r\nHost: a\r\nX-Slow: ", b"a"),
        (raw.request_bytes("POST", TARGET, {"Content-Length": "100000"}), b"a"),
        (raw.request_bytes("POST", TARGET, {"Transfer-Encoding": "chunked"}), b"1\r\na\r\n"),
        (raw.request_bytes("POST", "/nowhere/else", {"Content-Length": "100000"})[:20], b""),
    ],
    ids=["head", "body", "chunks", "silent-head"],
)
def test_what_trickles_over_http1_is_408_and_the_end(strict, start, step):
    with raw.RawConnection(strict.port) as connection:
        connection.send(start)
        took = trickle(lambda: connection.send(step), lambda: readable(connection))
        answer = connection.response()
        assert_refusal(answer, 408, "RequestTimeoutException")
        assert 1.5 < took < 10
        assert strict.access_line(answer.header("x-request-id"))["denial_reason"] == "request-too-slow"
        assert answer.header("connection") == "close"


def test_what_trickles_over_http2_is_408_and_other_streams_go_on(strict):
    with H2Connection(strict.port) as connection:
        slow = connection.open(request("POST", TARGET), end=False)
        statuses = []

        def step():
            connection.data(slow, b"a")
            statuses.append(connection.response(connection.open(request(path=TARGET))).status)

        trickle(step, lambda: slow in connection.streams and connection.streams[slow].status is not None)
        assert connection.streams[slow].status == 408 and set(statuses) == {200}
    assert strict.samples()['gatehouse_denials_total{reason="request-too-slow"}'] == 1


def upload_side_by_side(connection: H2Connection, count: int, size: int, step: int, seconds: float) -> set[int | None]:
    """Sends each of `count` bodies in steps of so many bytes, a step of each every 0.1 s; the statuses."""
    connection.socket.settimeout(0.05)
    streams = [connection.open(request("POST", TARGET), end=False) for _ in range(count)]
    left = dict.fromkeys(streams, size)

    def takes_a_step() -> bool:
        for stream, rest in left.items():
            if rest > 0 and not connection.streams.setdefault(stream, h2raw.Stream()).status:
                left[stream] = rest - step
                with contextlib.suppress(OSError):
                    connection.data(stream, bytes(min(step, rest)), end=rest <= step)
        with contextlib.suppress(TimeoutError):
            while not connection.closed:
                connection.read()
        return connection.closed or all(connection.streams.setdefault(stream, h2raw.Stream()).ended for stream in streams)

    wait_until(takes_a_step, "all responses", seconds=seconds, interval=0.05)
    return {connection.streams[stream].status for stream in streams}


def test_six_uploads_of_a_slow_phone_share_its_line(strict):
    """Each at about 40 bytes a second, which is too slow for one alone, for longer than the grace."""
    with H2Connection(strict.port) as connection:
        assert upload_side_by_side(connection, 6, 250, 4, 30) == {200}
    with H2Connection(strict.port) as connection:
        assert upload_side_by_side(connection, 1, 250, 4, 30) == {408}


def test_many_slow_streams_of_one_connection_are_not_one_slow_phone(strict):
    """Fifty with ten bytes a second each: five times the rate of one, where seven times is asked for of so many."""
    with H2Connection(strict.port) as connection:
        assert upload_side_by_side(connection, 50, 250, 1, 30) == {408}


@pytest.mark.parametrize("kind", ["block", "frame"])
def test_a_head_of_http2_that_does_not_end_ends_the_connection(strict, kind):
    with H2Connection(strict.port) as connection:
        assert connection.response(connection.open(request(path=TARGET))).status == 200
        # A stream that is open keeps the connection's own time from running.
        connection.open(request("POST", TARGET), end=False)
        whole = frame(h2raw.HEADERS, h2raw.END_STREAM, 5, h2raw.block(request(path=TARGET)))
        connection.send(whole if kind == "block" else whole[:-1])
        connection.rest()
        assert [found.code for found in connection.goaways] == [h2raw.ENHANCE_YOUR_CALM]
    assert strict.samples()['gatehouse_denials_total{reason="request-too-slow"}'] >= 1


def test_an_upload_at_the_rate_and_one_that_the_backend_holds_back_go_through(strict, own_recorder):
    held_back = Holding(reads=False)
    own_recorder.on(TARGET + "/held", held_back)
    size = 32 << 20
    with raw.RawConnection(strict.port, timeout=30) as large, raw.RawConnection(strict.port) as steady:
        large.send(raw.request_bytes("POST", TARGET + "/held", {"Content-Length": str(size)}))
        sender = threading.Thread(target=lambda: large.send(b"x" * size))
        sender.start()
        # Longer than the grace, at a bit more than the rate.
        steady.send(raw.request_bytes("POST", TARGET, {"Content-Length": "800"}))
        sent = iter(range(40))
        took = trickle(lambda: steady.send(b"x" * 20), lambda: next(sent) == 39)
        assert steady.response().status == 200 and took > 3
        assert sender.is_alive(), "the backend takes nothing, so the client waits"
        held_back.released.set()
        sender.join()
        assert large.response().status == 200


# ---- Idle connections make room


@pytest.mark.parametrize("protocol", ["http1", "http2"])
def test_the_connection_that_is_idle_the_longest_makes_room(start_gateway, protocol):
    gateway = start_gateway({"limits": {"connections": 3, "connections_per_address": 3}})
    gateway.wait_for_nobody()

    def opened():
        if protocol == "http1":
            connection = raw.RawConnection(gateway.port)
            assert connection.request("GET", TARGET).status == 200
        else:
            connection = H2Connection(gateway.port)
            assert connection.response(connection.open(request(path=TARGET))).status == 200
        return connection

    with contextlib.ExitStack() as stack:
        idle = [stack.enter_context(opened()) for _ in range(3)]

        def served() -> bool:
            with From("127.0.0.2", gateway.port) as other:
                other.send(raw.request_bytes("GET", TARGET))
                with contextlib.suppress(raw.ConnectionClosed, OSError):
                    return other.response().status == 200
                return False

        # A connection just used may have its next request on the way: at first there is no room.
        wait_until(served, "a connection to make room")
        assert gateway.metric("gatehouse_client_connections_evicted_total") == 1
        open_ones = gateway.metric("gatehouse_client_connections_open")
        assert open_ones <= 3
        if protocol == "http1":
            alive = [not readable(connection) for connection in idle]
            assert alive.count(False) == 1


def test_connections_at_work_never_make_room(start_gateway, own_recorder):
    held_back = Holding()
    own_recorder.on(TARGET + "/held", held_back)
    gateway = start_gateway({"limits": {"connections": 2, "connections_per_address": 2}, **PATIENT})
    gateway.wait_for_nobody()
    with raw.RawConnection(gateway.port) as waiting, raw.RawConnection(gateway.port) as sending:
        waiting.send(raw.request_bytes("GET", TARGET + "/held"))
        sending.send(raw.request_bytes("POST", TARGET, {"Content-Length": "200"}))
        wait_until(lambda: gateway.metric("gatehouse_client_connections_open") == 2, "both")
        attempts = iter(range(20))

        def turned_away() -> bool:
            with From("127.0.0.2", gateway.port) as other:
                assert other.response().status == 503
            return next(attempts) == 19

        # Well beyond the second after which an idle one would have gone.
        wait_until(turned_away, "twenty attempts", interval=0.1)
        assert gateway.metric("gatehouse_client_connections_evicted_total") == 0
        sending.send(b"x" * 200)
        held_back.released.set()
        assert [each.response().status for each in (waiting, sending)] == [200, 200]
