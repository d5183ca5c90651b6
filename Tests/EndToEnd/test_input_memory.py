"""Whatever a connection brings, and however its bytes are cut: the gateway's memory stays within 8 MB of before, and what is
useless is counted and ended."""

import struct

import pytest
from harness import h2raw
from harness.h2raw import H2Connection, frame, request
from harness.pour import MEGABYTE, growth, pour
from harness.process import wait_until

pytestmark = pytest.mark.alone

PATH = "/recorded/public/poured"
# What is sent of each kind of input. The smaller amount is three times what the gateway may grow by.
AMOUNTS = [24 * MEGABYTE, pytest.param(200 * MEGABYTE, marks=pytest.mark.long)]
amounts = pytest.mark.parametrize("size", AMOUNTS, ids=lambda size: f"{size // MEGABYTE}MB")


def read_away(backend) -> None:
    """A backend that takes a whole body and keeps none of it."""
    while backend.connection.socket.recv(1 << 18):
        pass


@pytest.fixture
def gateway(start_gateway, own_recorder):
    """One with a single event loop, that has served a request of each protocol."""
    own_recorder.on(PATH + "/open", read_away)
    gateway = start_gateway({"threads": 1})
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
