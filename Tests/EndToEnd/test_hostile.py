"""Clients and backends that are slow, split their bytes oddly or go away: nobody hangs, nothing is cut short."""

import contextlib
import json
import os
import resource
import select
import signal
import socket
import struct
import threading
import time
from pathlib import Path

import pytest

from harness.backend import Exchange, answer, silence
from harness.h2raw import H2Connection, request
from harness.process import wait_until
from harness.raw import ConnectionClosed, RawConnection, exchange, request_bytes

CHUNKED = b"POST /recorded/public/chunked HTTP/1.1\r\nHost: gateway.test\r\nTransfer-Encoding: chunked\r\n\r\n"


def answers(port: int) -> bool:
    """Whether there is a descriptor for a request: without one its connection is closed as soon as it is accepted."""
    with contextlib.suppress(ConnectionClosed, OSError):
        return exchange(port, "GET", "/recorded/public/x").status == 200
    return False


def test_a_chunked_body_may_arrive_byte_by_byte(gateway, recorder):
    with RawConnection(gateway.port, timeout=5) as client:
        client.send(CHUNKED)
        for byte in b"5\r\nhello\r\n3;a=b\r\nabc\r\n0\r\nX: y\r\n\r\n":
            client.send(bytes([byte]))
            time.sleep(0.003)
        assert client.response().status == 200
    assert recorder.last("/recorded/public/chunked").body == b"helloabc"


def test_what_was_used_of_a_body_is_not_kept(start_gateway, own_recorder):
    """Every packet ends between the CR and the LF behind a chunk, so that there is always something left over."""

    def swallow(backend: Exchange) -> None:
        tail = b""
        while not tail.endswith(b"0\r\n\r\n"):
            tail = (tail + backend.connection.socket.recv(1 << 20))[-8:]
        backend.request.complete = True
        backend.respond(200)

    own_recorder.on("/recorded/public/chunked", swallow)
    gateway = start_gateway({"threads": 1})
    before = gateway.process.resident_bytes()
    # The chunk is a little longer than what is copied, so that no part of it is kept elsewhere.
    packet = b"\n4000\r\n" + b"x" * 0x4000 + b"\r"
    with RawConnection(gateway.port, timeout=30) as client:
        client.send(CHUNKED + packet[1:])
        for _ in range(8_000):
            client.send(packet)
        during = gateway.process.resident_bytes()
        client.send(b"\n0\r\n\r\n")
        assert client.response().status == 200
    assert during - before < 32 << 20


def test_a_pipelined_request_that_waits_for_100_continue_gets_it(gateway, recorder):
    recorder.on("/recorded/public/slow", lambda backend: (time.sleep(0.2), backend.respond(200)))
    with RawConnection(gateway.port, timeout=5) as client:
        waiting = request_bytes("POST", "/recorded/public/waiting", {"Expect": "100-continue", "Content-Length": "3"})
        client.send(request_bytes("GET", "/recorded/public/slow") + waiting)
        assert client.response().status == 200
        assert client.head().status == 100
        client.send(b"abc")
        assert client.response().status == 200


def test_a_pipelined_request_is_refused_before_its_body_comes(gateway, recorder):
    recorder.on("/recorded/public/slow", lambda backend: (time.sleep(0.2), backend.respond(200)))
    with RawConnection(gateway.port, timeout=5) as client:
        refused = request_bytes("POST", "/recorded/required/x", {"Content-Length": "3"})
        client.send(request_bytes("GET", "/recorded/public/slow") + refused)
        assert client.response().status == 200
        assert client.response().status == 401


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_a_slow_client_that_asked_to_close_gets_its_response_whole(gateway, recorder, version):
    body = os.urandom(1 << 20) * 8
    recorder.on("/recorded/public/large", answer(200, body, {}))
    with RawConnection(gateway.port, timeout=10, receive_buffer=4096) as client:
        client.send(
            f"GET /recorded/public/large HTTP/{version}\r\nHost: gateway.test\r\nConnection: close\r\n\r\n".encode()
        )
        # By now the kernel's buffers are full and the gateway holds what comes behind.
        time.sleep(0.5)
        assert client.response().body == body


def test_the_first_byte_timeout_runs_from_the_end_of_a_body(start_gateway, own_recorder):
    timeouts = {"first_byte_timeout": "1s", "idle_timeout": "20s"}
    gateway = start_gateway({"threads": 1, "upstreams": {"recorder": timeouts}})
    own_recorder.on("/recorded/public/silent", silence)
    assert exchange(gateway.port, "GET", "/recorded/public/warm").status == 200
    started = time.monotonic()
    assert exchange(gateway.port, "POST", "/recorded/public/silent", body=b"abc").status == 504
    assert time.monotonic() - started < 5


def test_a_client_that_reads_nothing_does_not_keep_the_backend(start_gateway, own_recorder):
    gateway = start_gateway({"limits": {"body_idle_timeout": "1s"}})
    broken = threading.Event()

    def large(backend: Exchange) -> None:
        try:
            backend.respond(200, bytes(20 << 20))
        except OSError:
            broken.set()

    own_recorder.on("/recorded/public/large", large)
    with RawConnection(gateway.port, receive_buffer=4096) as client:
        client.send(request_bytes("GET", "/recorded/public/large"))
        assert broken.wait(10)
    wait_until(lambda: gateway.metric("gatehouse_requests_in_flight") == 0, "the request to end")


def test_a_backend_that_stops_reading_is_not_the_clients_fault(start_gateway, own_recorder):
    def pause(backend: Exchange) -> None:
        time.sleep(3)
        backend.read_body()
        backend.respond(200)

    # The kernels' buffers may take the whole body: then it is the first byte that is waited for.
    patient = {"recorder": {"first_byte_timeout": "20s"}}
    gateway = start_gateway({"limits": {"body_idle_timeout": "1s"}, "upstreams": patient})
    own_recorder.on("/recorded/public/upload", pause)
    body = bytes(24 << 20)
    assert exchange(gateway.port, "POST", "/recorded/public/upload", body=body).status == 200


def test_small_chunks_to_a_slow_backend_do_not_stall(start_gateway, own_recorder):
    def slow(backend: Exchange) -> None:
        tail, receives = b"", 0
        while not tail.endswith(b"0\r\n\r\n"):
            tail = (tail + backend.connection.socket.recv(1 << 16))[-8:]
            receives += 1
            if receives % 5 == 0:
                time.sleep(0.002)
        backend.respond(200, headers={"Connection": "close"})
        backend.close()

    gateway = start_gateway({"threads": 1, "limits": {"body_idle_timeout": "3s"}, "upstreams": {"recorder": {"first_byte_timeout": "8s"}}})
    own_recorder.on("/recorded/public/chunked", slow)
    for _ in range(4):
        with RawConnection(gateway.port) as client:
            client.send(CHUNKED)
            for _ in range(120):
                client.send((b"3a\r\n" + b"x" * 58 + b"\r\n") * 1024)
            client.send(b"0\r\n\r\n")
            assert client.response().status == 200


def test_an_empty_line_before_a_request_may_come_in_two_parts(gateway, recorder):
    with RawConnection(gateway.port) as client:
        client.send(b"\r")
        time.sleep(0.05)
        client.send(b"\n" + request_bytes("GET", "/recorded/public/x"))
        assert client.response().status == 200


def test_a_response_of_small_chunks_is_not_collected_for_a_client_that_reads_nothing(start_gateway, own_recorder):
    def large(backend: Exchange) -> None:
        blob = (b"1000\r\n" + b"x" * 0x1000 + b"\r\n") * 256
        backend.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(400):
            backend.send(blob)

    own_recorder.on("/recorded/public/large", large)
    gateway = start_gateway({"threads": 1})
    before = gateway.process.resident_bytes()
    with RawConnection(gateway.port, receive_buffer=4096) as client:
        client.send(request_bytes("GET", "/recorded/public/large"))
        client.head()
        time.sleep(1)
        assert gateway.process.resident_bytes() - before < 24 << 20


def test_clients_that_reset_a_running_download_do_not_end_the_gateway(start_gateway, own_recorder):
    def stream(backend: Exchange) -> None:
        backend.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        try:
            for _ in range(2_000):
                backend.send(b"400\r\n" + b"x" * 0x400 + b"\r\n")
        except OSError:
            backend.close()

    gateway = start_gateway({"threads": 1})
    own_recorder.on("/recorded/public/stream", stream)
    for _ in range(150):
        client = RawConnection(gateway.port, receive_buffer=4096)
        client.send(request_bytes("GET", "/recorded/public/stream"))
        client.head()
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
    assert exchange(gateway.port, "GET", "/recorded/public/fine").status == 200
    assert gateway.process.exit_status is None
    wait_until(lambda: gateway.metric("gatehouse_requests_in_flight") == 0, "all requests to end")


@pytest.mark.parametrize("fetched_at", ["-9223372036854775808", "99999999999"])
def test_a_kept_key_set_with_an_impossible_time_is_not_used(start_gateway, issuer, run_directory, fetched_at):
    state = run_directory / f"state-{fetched_at}"
    state.mkdir(mode=0o700)
    (state / "key-set-own.json").write_text(fetched_at + "\n" + json.dumps({"keys": [issuer.access_key.jwk()]}))
    gateway = start_gateway({"state_directory": str(state)})
    wait_until(lambda: gateway.metric("gatehouse_key_set_refreshes_total") == 1, "the key set to be fetched")


def test_without_descriptors_accepting_pauses_and_recovers(start_gateway, own_recorder):
    gateway = start_gateway()
    # The connection to the issuer's key server is another descriptor.
    gateway.wait_until_ready()
    resource.prlimit(gateway.process.pid, resource.RLIMIT_NOFILE, (96, 96))

    def ticks() -> int:
        fields = Path(f"/proc/{gateway.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])

    clients = [RawConnection(gateway.port) for _ in range(100)]

    def rests() -> bool:
        before = ticks()
        time.sleep(1)
        # A hundred ticks are a second of one core; a loop that spins never has a second like this.
        return ticks() - before < 30

    wait_until(rests, "a second in which little is done")
    # The last quarter is for backends, files and the runtime, which ends the process where it gets no descriptor.
    # Connections that are accepted together are counted one by one, and closed by an event loop that may be busy.
    wait_until(lambda: len(os.listdir(f"/proc/{gateway.process.pid}/fd")) <= 72, "the reserve to be free")
    # It stays so when accepting is tried again and again.
    assert [rests() for _ in range(3)] == [True] * 3
    # Those who watch the gateway get their answers.
    assert gateway.admin("/healthz")[0] == 200
    for client in clients:
        client.close()
    wait_until(lambda: answers(gateway.port), "an answer again")


def test_idle_connections_make_room_where_descriptors_are_short(start_gateway):
    gateway = start_gateway()
    resource.prlimit(gateway.process.pid, resource.RLIMIT_NOFILE, (96, 96))
    with contextlib.ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(RawConnection(gateway.port))
        wait_until(lambda: answers(gateway.port), "an answer beside them")
        assert gateway.metric("gatehouse_client_connections_evicted_total") > 0


def test_the_soft_limit_of_descriptors_is_raised_to_the_hard_one(start_gateway):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
    try:
        gateway = start_gateway()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert hard > 1024
    assert resource.prlimit(gateway.process.pid, resource.RLIMIT_NOFILE) == (hard, hard)


def test_streams_that_take_a_descriptor_each_leave_the_reserve(start_gateway, own_recorder):
    gateway = start_gateway({"threads": 1, "upstreams": {"recorder": {"first_byte_timeout": "300s"}}})
    path, released = "/recorded/public/held", threading.Event()

    def hold(backend: Exchange) -> None:
        assert released.wait(300)
        backend.respond(200)

    own_recorder.on(path, hold)
    resource.prlimit(gateway.process.pid, resource.RLIMIT_NOFILE, (1024, 1024))

    def in_use() -> int:
        return len(os.listdir(f"/proc/{gateway.process.pid}/fd"))

    with contextlib.ExitStack() as stack:
        held = []
        while in_use() <= 768:
            connection = stack.enter_context(H2Connection(gateway.port, timeout=20))
            held += [(connection, connection.open(request("GET", path))) for _ in range(100)]
            wait_until(lambda: len(own_recorder.requests_to(path)) == len(held), "all requests at the backend")
        # One more may come before descriptors are counted. From then on they are closed as soon as they are accepted.
        # The first attempt accepts 64, a quarter of the reserve, and each one after it a single connection. One that
        # was before the first makes all of them single ones, two in a second.
        ended = select.poll()
        gateway.process.signal(signal.SIGSTOP)
        for _ in range(150):
            ended.register(stack.enter_context(RawConnection(gateway.port)).socket, select.POLLIN)
        gateway.process.signal(signal.SIGCONT)
        wait_until(lambda: len(ended.poll(0)) > 65, "the attempts after the first", seconds=60)
        assert len(ended.poll(0)) < 100
        released.set()
        assert {connection.response(stream).status for connection, stream in held} == {200}
    assert gateway.process.exit_status is None
    wait_until(lambda: answers(gateway.port), "an answer again", seconds=30)
