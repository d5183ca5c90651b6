"""A client that sends requests and reads no response: what waits for it is bounded, and it is made to wait itself."""

import socket
import threading
import time

import pytest
from harness.gateway import Gateway
from harness.process import wait_until

SECONDS = 4
MOST_STORED = 8 << 20


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


def test_a_client_that_reads_late_gets_every_response(start_gateway) -> None:
    """More of them than the kernel takes: the gateway stops in the middle, and goes on."""
    gateway = start_gateway()
    count, received, tail = 20_000, 0, b""
    client = connected(gateway)
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
