"""A request that ends before it is complete never looks complete to the backend: its connection is reset."""

import socket
import ssl
import struct
import threading
from pathlib import Path

import pytest
from harness import h2raw, raw
from harness.certificates import Authority
from harness.h2raw import H2Connection, frame, request
from harness.process import wait_until
from harness.sanitizer import PatientEvent

PATH = "/recorded/public/incomplete"
LENGTH = {"Content-Length": "1000"}
CHUNKED = {"Transfer-Encoding": "chunked"}
PART = b"0123456789"


class LaxBackend:
    """Takes whatever comes until the connection ends, as a backend that does not look at framing, and notes how it ended."""

    def __init__(self, context: ssl.SSLContext | None = None, answers: bytes = b"", path: Path | None = None):
        self._context, self._answers = context, answers
        if path:
            self._listener = socket.socket(socket.AF_UNIX)
            self._listener.bind(str(path))
            self._listener.listen()
        else:
            self._listener = socket.create_server(("127.0.0.1", 0))
            self.port = self._listener.getsockname()[1]
        self.received = b""
        self.end: str | None = None
        self.ended = PatientEvent()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        connection, _ = self._listener.accept()
        try:
            if self._context:
                self._take_tls(connection)
            else:
                while data := connection.recv(65536):
                    self._take(data, connection)
            self.end = "orderly"
        except ConnectionResetError:
            self.end = "reset"
        except OSError as error:
            self.end = str(error)
        finally:
            self.ended.set()
            connection.close()

    def _take(self, data: bytes, connection: socket.socket) -> None:
        self.received += data
        if self._answers and PART in self.received:
            connection.sendall(self._answers)
            self._answers = b""

    def _take_tls(self, connection: socket.socket) -> None:
        """TLS beside the socket: Python's own says of a reset and of a missing end alike that it is an end."""
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        session = self._context.wrap_bio(incoming, outgoing, server_side=True)
        is_ready = False
        while data := connection.recv(65536):
            incoming.write(data)
            try:
                if not is_ready:
                    session.do_handshake()
                    is_ready = True
                while plain := session.read(65536):
                    self._take(plain, connection)
            except ssl.SSLWantReadError:
                pass
            if outgoing.pending:
                connection.sendall(outgoing.read())

    def has(self, data: bytes) -> None:
        wait_until(lambda: data in self.received, f"{data!r} at the backend")

    def stop(self) -> None:
        self._listener.close()


@pytest.fixture
def behind(start_gateway, run_directory):
    """Starts a gateway with a lax backend behind it: `behind(changes, tls=…, answers=…)`."""
    backends = []

    def start(changes: dict | None = None, tls: bool = False, answers: bytes = b""):
        upstream: dict = {}
        context = None
        if tls:
            authority = Authority(run_directory / "incomplete-certificates")
            issued = authority.issue("127.0.0.1")
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(issued.certificate, issued.key)
            upstream["tls"] = {"ca": str(authority.pem)}
        backend = LaxBackend(context, answers)
        backends.append(backend)
        upstream["url"] = f"http{'s' if tls else ''}://127.0.0.1:{backend.port}"
        changes = changes or {}
        upstream.update(changes.pop("upstream", {}))
        return start_gateway({"upstreams": {"recorder": upstream}, **changes}), backend

    yield start
    for backend in backends:
        backend.stop()


@pytest.fixture
def behind_unix_socket(start_gateway, tmp_path):
    backend = LaxBackend(path=tmp_path / "lax.sock")
    yield start_gateway({"upstreams": {"recorder": {"url": f"unix:{tmp_path / 'lax.sock'}"}}}), backend
    backend.stop()


def begin(gateway, backend, framing: dict[str, str]) -> raw.RawConnection:
    """A request whose first ten bytes of body have reached the backend."""
    client = raw.RawConnection(gateway.port)
    client.send(raw.request_bytes("POST", PATH, framing))
    client.send(b"a\r\n" + PART + b"\r\n" if framing == CHUNKED else PART)
    backend.has(PART)
    return client


def vanish(connection: socket.socket) -> None:
    """Closes with a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


BAD_ENDINGS = {"no size": b"\r\n\r\n", "bare LF": b"0\n\n", "letters": b"zz\r\n", "bad trailer": b"0\r\nbad trailer\r\n\r\n"}
FRAMINGS = pytest.mark.parametrize("framing", [LENGTH, CHUNKED], ids=["length", "chunked"])


@pytest.mark.parametrize("ending", BAD_ENDINGS.values(), ids=BAD_ENDINGS.keys())
@pytest.mark.parametrize("tls", [False, True], ids=["plain", "TLS"])
def test_a_bad_chunk_resets_the_backends_connection(behind, ending, tls):
    gateway, backend = behind(tls=tls)
    with begin(gateway, backend, CHUNKED) as client:
        client.send(ending)
        assert client.response().status == 400
    assert backend.ended.wait(5)
    assert backend.end == "reset"
    assert not backend.received.endswith(b"\r\n0\r\n\r\n")


@FRAMINGS
def test_a_backend_at_a_unix_socket_sees_an_end_within_the_body(behind_unix_socket, framing):
    """These sockets know no reset: framing must tell it that the request is not whole."""
    gateway, backend = behind_unix_socket
    begin(gateway, backend, framing).close()
    assert backend.ended.wait(5)
    assert backend.end == "orderly"
    assert not backend.received.endswith(b"0\r\n\r\n") and backend.received.count(PART) == 1


@FRAMINGS
@pytest.mark.parametrize("how", ["close", "reset", "half-close"])
def test_a_client_that_goes_resets_the_backends_connection(behind, framing, how):
    gateway, backend = behind()
    client = begin(gateway, backend, framing)
    if how == "half-close":
        client.socket.shutdown(socket.SHUT_WR)
    elif how == "reset":
        vanish(client.socket)
    else:
        client.close()
    assert backend.ended.wait(5)
    client.close()
    assert backend.end == "reset"


@FRAMINGS
def test_a_body_that_stops_resets_the_backends_connection(behind, framing):
    gateway, backend = behind({"limits": {"body_idle_timeout": "1s"}})
    with begin(gateway, backend, framing) as client:
        assert client.response().status == 408
    assert backend.ended.wait(5)
    assert backend.end == "reset"


def test_a_body_that_is_too_large_resets_the_backends_connection(behind):
    route = {"name": "public", "path": "/recorded/public/**", "access": "public", "upstream": "recorder", "body_limit": "20B"}
    gateway, backend = behind({"routes": [route]})
    with begin(gateway, backend, CHUNKED) as client:
        client.send(b"b\r\n01234567890\r\n0\r\n\r\n")
        assert client.response().status == 413
    assert backend.ended.wait(5)
    assert backend.end == "reset"


@FRAMINGS
def test_a_response_before_the_end_of_the_request_resets_the_backends_connection(behind, framing):
    gateway, backend = behind(answers=b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
    with begin(gateway, backend, framing) as client:
        assert client.response().status == 403
    assert backend.ended.wait(5)
    assert backend.end == "reset"


EARLY_ENDS = ["RST_STREAM", "connection", "GOAWAY", "malformed trailers"]


@pytest.mark.parametrize(
    ("how", "length"), [(how, length) for how in EARLY_ENDS for length in (None, "1000")] + [("too short", "1000")]
)
def test_a_stream_that_ends_early_resets_the_backends_connection(behind, how, length):
    gateway, backend = behind()
    with H2Connection(gateway.port) as connection:
        fields = [("content-length", length)] if length else []
        stream = connection.open(request("POST", PATH, *fields), end=False)
        connection.data(stream, PART)
        backend.has(PART)
        if how == "RST_STREAM":
            connection.send(frame(h2raw.RST_STREAM, 0, stream, struct.pack("!I", 8)))
        elif how == "connection":
            vanish(connection.socket)
        elif how == "GOAWAY":
            connection.send(frame(h2raw.CONTINUATION, 0, stream))
        elif how == "too short":
            connection.data(stream, b"", end=True)
        else:
            block = h2raw.block([(":path", "/x")])
            connection.send(frame(h2raw.HEADERS, h2raw.END_HEADERS | h2raw.END_STREAM, stream, block))
        assert backend.ended.wait(5)
    assert backend.end == "reset"
    assert not backend.received.endswith(b"\r\n0\r\n\r\n")


def test_a_client_that_goes_after_its_request_ends_the_connection_in_order(behind):
    gateway, backend = behind()
    with raw.RawConnection(gateway.port) as client:
        client.send(raw.request_bytes("POST", PATH, {"Content-Length": "10"}, PART))
        backend.has(PART)
    assert backend.ended.wait(5)
    assert backend.end == "orderly"
