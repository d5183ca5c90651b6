"""A hundred bodies of 1 MB at once on one HTTP/2 connection: the gateway stores little of them, and all arrive whole."""

import struct
import threading

import pytest
from harness import h2raw
from harness.backend import RecordingBackend
from harness.h2raw import H2Connection, Windows, frame, request
from harness.pour import MEGABYTE, Progress, growth
from harness.process import wait_until

pytestmark = pytest.mark.alone

PATH = "/recorded/public/megabyte"
STREAMS = 100
PIECE = 16_000
BODY = bytes(range(256)) * 4096
# Of 100 MB; what a stream's turn receives from its backend, 64 KB, waits where the client reads nothing.
STORED = 24 * MEGABYTE
INITIAL_WINDOW_SIZE = 4


@pytest.fixture
def own_recorder():
    """A backend whose kernel holds little, so that what is on its way is the gateway's."""
    backend = RecordingBackend(kernel_bytes=16_384)
    yield backend
    backend.stop()


@pytest.fixture
def gateway(start_gateway, own_recorder):
    """One with a single event loop, that has had as many connections to its backend as will be needed."""
    gateway = start_gateway({"threads": 1, "upstreams": {"recorder": {"first_byte_timeout": "60s", "idle_timeout": "60s"}}})
    together = threading.Barrier(STREAMS)

    def respond(backend) -> None:
        together.wait(30)
        backend.respond(200, b"x")

    own_recorder.on(PATH, respond)
    with H2Connection(gateway.port) as connection:
        for stream in [connection.open(request("GET", PATH)) for _ in range(STREAMS)]:
            assert connection.response(stream).status == 200
    return gateway


def test_downloads_that_nobody_reads_yet_are_not_stored(gateway, own_recorder):
    sent = Progress()

    def respond(backend) -> None:
        backend.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(BODY))
        for piece in sent.counted(BODY):
            backend.send(piece)

    own_recorder.on(PATH, respond)
    # The windows take everything: nothing but the socket holds the gateway back.
    settings = {INITIAL_WINDOW_SIZE: MEGABYTE}
    with growth(gateway.process, within=STORED), H2Connection(gateway.port, timeout=30, settings=settings, auto_window=False) as connection:
        connection.send(frame(h2raw.WINDOW_UPDATE, 0, 0, struct.pack("!I", STREAMS * MEGABYTE)))
        streams = [connection.open(request("GET", PATH)) for _ in range(STREAMS)]
        wait_until(lambda: sent.count and sent.stands_still(), "the backend to be held back", seconds=30, interval=0.5)
        print(f"{sent.count / MEGABYTE:.1f} MB of {STREAMS} were sent before the client read")
        assert sent.count < STREAMS * MEGABYTE
        assert all(connection.response(stream).body == BODY for stream in streams)


def test_uploads_that_the_backend_reads_late_are_not_stored(gateway, own_recorder):
    released, whole = threading.Event(), Progress()

    def take(backend) -> None:
        assert released.wait(60)
        whole.add(backend.read_body() == BODY)
        backend.respond(200)

    own_recorder.on(PATH, take)
    with growth(gateway.process, within=STORED), Windows(gateway.port, timeout=30) as connection:
        fields = ("content-length", str(len(BODY)))
        streams = [connection.open(request("POST", PATH, fields), end=False) for _ in range(STREAMS)]
        connection.begin()
        sent = dict.fromkeys(streams, 0)

        def send(stream: int, seconds: float) -> bool:
            piece = BODY[sent[stream] : sent[stream] + PIECE]
            if not piece or not connection.take(stream, len(piece), seconds=seconds):
                return False
            sent[stream] += len(piece)
            connection.data(stream, piece, end=sent[stream] == len(BODY))
            return True

        # Until no more fits between gateway and backend, most of it in the kernel's buffer of the gateway's sockets.
        for stream in streams:
            while send(stream, seconds=0.05):
                pass
        print(f"{sum(sent.values()) / MEGABYTE:.1f} MB of {STREAMS} were sent before the backend read")
        released.set()
        while any([send(stream, seconds=10) for stream in streams]):
            pass
        assert sum(sent.values()) == STREAMS * MEGABYTE, connection.why()
        wait_until(lambda: whole.count == STREAMS, "all bodies to have arrived", seconds=30)
