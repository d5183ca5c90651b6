"""Clients that vanish in the middle of a response do the gateway no harm."""

import socket
import struct
from concurrent.futures import ThreadPoolExecutor

from harness import raw
from harness.h2raw import END_HEADERS, END_STREAM, HEADERS, H2Connection, block, frame, request
from harness.process import wait_until


def vanish(port: int, target: str, after: int) -> None:
    connection = raw.RawConnection(port, receive_buffer=4096)
    connection.send(raw.request_bytes("GET", target))
    connection.exactly(after)
    # Closing with a reset: the gateway's next write fails while it writes.
    connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def test_resets_during_downloads_end_their_own_exchange_only(start_gateway, own_recorder):
    own_recorder.on("/recorded/public/large", lambda exchange: exchange.respond(200, bytes(3_000_000)))
    gateway = start_gateway()
    with ThreadPoolExecutor(16) as clients:
        for each in [clients.submit(vanish, gateway.port, "/recorded/public/large", 100 + 997 * n) for n in range(300)]:
            each.result()
    assert raw.exchange(gateway.port, "GET", "/recorded/public/after").status == 200
    wait_until(lambda: gateway.metric("gatehouse_requests_in_flight") == 0, "no request left over")
    wait_until(lambda: gateway.metric("gatehouse_client_connections_open") == 0, "no connection left over")

    # One line for each request, however it ended.
    def lines() -> int:
        return sum(line["path"] == "/recorded/public/large" for line in gateway.access_log())

    wait_until(lambda: lines() >= 300, "the log's lines")
    assert lines() == 300


def test_requests_whose_client_has_gone_as_they_begin_keep_nobody_from_the_backend(start_gateway):
    """A hundred new connections to the backend are begun and taken back before libcurl gets to any."""
    gateway = start_gateway({"threads": 1})
    head = block(request("GET", "/recorded/public/gone"))
    for _ in range(3):
        with H2Connection(gateway.port) as connection:
            while connection.read().flags == 0:
                pass
            # The end of the stream comes with the last segment of it.
            connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
            connection.send(
                b"".join(frame(HEADERS, END_HEADERS | END_STREAM, 2 * number + 1, head) for number in range(100))
            )
            connection.socket.shutdown(socket.SHUT_WR)
            while connection.read():
                pass
    # None of them is kept: it takes a new connection.
    assert raw.exchange(gateway.port, "GET", "/recorded/public/after").status == 200
    wait_until(lambda: gateway.metric("gatehouse_requests_in_flight") == 0, "no request left over")
