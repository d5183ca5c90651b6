"""HTTP/1.1 over a bare socket: exact bytes out, a strict and independent reading of what comes back."""

import json
import socket
from dataclasses import dataclass, field

from .received import Received
from .sanitizer import PATIENCE


class ConnectionClosed(Exception):
    """The peer ended the connection before a response was complete. `received` is what had arrived."""

    def __init__(self, received: bytes):
        super().__init__(f"connection closed after {received!r}")
        self.received = received


@dataclass
class Response:
    status: int
    reason: str
    headers: list[tuple[str, str]]
    body: bytes = b""
    interim: list[int] = field(default_factory=list)

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key.lower() == name.lower()]

    def header(self, name: str) -> str | None:
        """The header's one value, or nothing; fails when it is there twice."""
        values = self.all(name)
        assert len(values) <= 1, f"{name} is repeated: {values}"
        return values[0] if values else None

    def json(self):
        return json.loads(self.body)


class RawConnection:
    """One TCP connection. Reads responses one after the other; can tell whether the peer has closed."""

    def __init__(self, port: int, timeout: float = 10.0, receive_buffer: int | None = None):
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(timeout * PATIENCE)
        self.socket.connect(("127.0.0.1", port))
        self._buffer = Received()

    def __enter__(self) -> "RawConnection":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def request(self, method: str, target: str, headers: dict[str, str] | None = None, body: bytes | None = None) -> Response:
        """Sends a plain sized request and reads its response."""
        self.send(request_bytes(method, target, headers, body))
        return self.response(to=method)

    def _receive(self) -> None:
        try:
            data = self.socket.recv(65536)
        except ConnectionResetError:
            data = b""
        if not data:
            raise ConnectionClosed(bytes(self._buffer))
        self._buffer.add(data)

    def until(self, marker: bytes) -> bytes:
        """Everything up to and including `marker`."""
        return self._buffer.until(marker, self._receive)

    def exactly(self, count: int) -> bytes:
        return self._buffer.exactly(count, self._receive)

    def head(self) -> Response:
        lines = self.until(b"\r\n\r\n").decode("latin-1").split("\r\n")[:-2]
        version, status, *reason = lines[0].split(" ", 2)
        assert version == "HTTP/1.1", f"not an HTTP/1.1 status line: {lines[0]!r}"
        headers = [(name, value.strip()) for name, value in (line.split(":", 1) for line in lines[1:])]
        return Response(int(status), reason[0] if reason else "", headers)

    def response(self, to: str = "GET") -> Response:
        """The next final response; interim ones are noted in it."""
        interim = []
        while (response := self.head()).status < 200:
            interim.append(response.status)
            if response.status == 101:
                break
        response.interim = interim
        if to == "HEAD" or response.status in (101, 204, 304):
            return response
        if response.header("transfer-encoding"):
            assert response.header("content-length") is None, "a response with both framings"
            response.body = b"".join(self.chunks())
        elif (length := response.header("content-length")) is not None:
            response.body = self.exactly(int(length))
        else:
            response.body = self.rest()
        return response

    def chunks(self):
        """The chunks of a chunked body, as they arrive."""
        while True:
            size = int(self.until(b"\r\n").split(b";")[0].strip(), 16)
            if size == 0:
                while self.until(b"\r\n") != b"\r\n":
                    pass
                return
            yield self.exactly(size)
            assert self.exactly(2) == b"\r\n", "a chunk that does not end where it says"

    def rest(self) -> bytes:
        """Everything until the peer closes."""
        try:
            while True:
                self._receive()
        except ConnectionClosed:
            return self._buffer.take(len(self._buffer))

    def is_closed_by_peer(self) -> bool:
        """Waits for the end of the connection; false when bytes come instead, or nothing within the timeout."""
        if self._buffer:
            return False
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True
        except TimeoutError:
            return False


class From(RawConnection):
    """A connection from an address of this machine's."""

    def __init__(self, address: str, port: int, timeout: float = 10.0):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout * PATIENCE, source_address=(address, 0))
        self._buffer = Received()


def request_bytes(method: str, target: str, headers: dict[str, str] | None = None, body: bytes | None = None) -> bytes:
    lines = [f"{method} {target} HTTP/1.1"]
    given = {name.lower() for name in headers or {}}
    if "host" not in given:
        lines.append("Host: gateway.test")
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    if body is not None and not given & {"content-length", "transfer-encoding"}:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + (body or b"")


def chunked(*pieces: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def exchange(port: int, method: str, target: str, headers: dict[str, str] | None = None, body: bytes | None = None) -> Response:
    """One request on its own connection."""
    with RawConnection(port) as connection:
        return connection.request(method, target, headers, body)
