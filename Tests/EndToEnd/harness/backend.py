"""A backend that records the exact bytes it gets and answers as a test scripts it."""

import json
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from .process import wait_until
from .received import Received
from .sanitizer import PatientEvent


@dataclass
class Request:
    """A request as it arrived. `raw_head` is everything through the empty line, byte for byte."""

    raw_head: bytes
    connection: int
    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes = b""
    raw_body: bytes = b""
    complete: bool = False

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key.lower() == name.lower()]

    def header(self, name: str) -> str | None:
        values = self.all(name)
        assert len(values) <= 1, f"the backend got {name} more than once: {values}"
        return values[0] if values else None

    @property
    def names(self) -> set[str]:
        return {name.lower() for name, _ in self.headers}


class Exchange:
    """One request on one connection, in the hands of a script."""

    def __init__(self, connection: "Connection", request: Request):
        self.connection = connection
        self.request = request

    def read_body(self) -> bytes:
        self.connection.read_body(self.request)
        return self.request.body

    def send(self, data: bytes) -> None:
        self.connection.socket.sendall(data)

    def respond(self, status: int = 200, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        """A sized response."""
        lines = [f"HTTP/1.1 {status} Scripted"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        lines.append(f"Content-Length: {len(body)}")
        head = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"
        self.send(head if self.request.method == "HEAD" else head + body)

    def close(self) -> None:
        self.connection.finish()

    def end_sending(self) -> None:
        """Half-closes: nothing more will come from the backend."""
        self.connection.socket.shutdown(socket.SHUT_WR)

    def take_next_and_close(self) -> None:
        """Takes the next request off this connection and closes it without having answered a byte."""
        request = self.connection.next_request()
        self.connection.backend.record(request)
        self.connection.read_body(request)
        self.close()

    def wait_for_close(self) -> None:
        """Keeps the connection open, silent, until the gateway closes it or the backend is stopped."""
        self.connection.wait_for_close()


Script = Callable[[Exchange], None]


def answer(status: int = 200, body: bytes = b'{"ok":true}', headers: dict[str, str] | None = None) -> Script:
    def script(exchange: Exchange) -> None:
        exchange.read_body()
        exchange.respond(status, body, headers if headers is not None else {"Content-Type": "application/json"})

    return script


def echo(exchange: Exchange) -> None:
    """Answers with what arrived: method, target and body length."""
    body = exchange.read_body()
    told = {"method": exchange.request.method, "target": exchange.request.target, "bytes": len(body)}
    exchange.respond(200, json.dumps(told).encode(), {"Content-Type": "application/json"})


def silence(exchange: Exchange) -> None:
    """Reads the request and never answers."""
    exchange.read_body()
    exchange.wait_for_close()


def close_without_answer(exchange: Exchange) -> None:
    exchange.read_body()
    exchange.close()


class Holding:
    """A script that answers requests when it is released, with `reads` after their bodies."""

    def __init__(self, reads: bool = True):
        self.released = PatientEvent()
        self._reads = reads

    def __call__(self, exchange: Exchange) -> None:
        if self._reads:
            exchange.read_body()
        assert self.released.wait(20)
        if not self._reads:
            exchange.read_body()
        exchange.respond(200, b"held")


class CutShort:
    """A script that sends a part of a response, and closes when it is released."""

    part = b"a part of it"

    def __init__(self):
        self.released = PatientEvent()

    def __call__(self, exchange: Exchange) -> None:
        exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(self.part), self.part))
        assert self.released.wait(20)
        exchange.close()


def sequence(*scripts: Script) -> Script:
    """A script for each request in turn; the last one goes on."""
    remaining, lock = list(scripts), threading.Lock()

    def script(exchange: Exchange) -> None:
        with lock:
            chosen = remaining.pop(0) if len(remaining) > 1 else remaining[0]
        chosen(exchange)

    return script


class Connection:
    def __init__(self, backend: "RecordingBackend", number: int, accepted: socket.socket):
        self.backend = backend
        self.number = number
        self.socket = accepted
        self.received = bytearray()  # bytes would be copied whole at every addition
        self.closed_by_peer = PatientEvent()
        self.finished = False
        self._buffer = Received()

    def run(self) -> None:
        try:
            while not self.finished and (request := self.next_request()):
                self.backend.record(request)
                exchange = Exchange(self, request)
                self.backend.script_for(request)(exchange)
                if not self.finished and not request.complete:
                    exchange.read_body()
        except (OSError, EOFError, ValueError):
            # The gateway broke the connection (several tests want that), or sent what is no HTTP: the raw bytes tell.
            pass
        finally:
            self.finish()

    def finish(self) -> None:
        self.finished = True
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()

    def _receive(self) -> None:
        try:
            data = self.socket.recv(65536)
        except OSError:
            self.closed_by_peer.set()
            raise
        if not data:
            self.closed_by_peer.set()
            raise EOFError
        self.received += data
        self._buffer.add(data)

    def _until(self, marker: bytes) -> bytes:
        return self._buffer.until(marker, self._receive)

    def _exactly(self, count: int) -> bytes:
        return self._buffer.exactly(count, self._receive)

    def next_request(self) -> Request | None:
        head = self._until(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")[:-2]
        method, target, _ = lines[0].split(" ")
        headers = [(name, value.strip(" \t")) for name, value in (line.split(":", 1) for line in lines[1:])]
        return Request(head, self.number, method, target, headers)

    def read_body(self, request: Request) -> None:
        if request.complete:
            return
        if (request.header("transfer-encoding") or "").lower() == "chunked":
            while True:
                line = self._until(b"\r\n")
                request.raw_body += line
                size = int(line.split(b";")[0].strip(), 16)
                if size == 0:
                    while (trailer := self._until(b"\r\n")) != b"\r\n":
                        request.raw_body += trailer
                    request.raw_body += b"\r\n"
                    break
                piece = self._exactly(size + 2)
                request.raw_body += piece
                request.body += piece[:-2]
        else:
            request.raw_body = request.body = self._exactly(int(request.header("content-length") or 0))
        request.complete = True

    def wait_for_close(self) -> None:
        try:
            while True:
                self._receive()
        except (OSError, EOFError):
            self.closed_by_peer.set()


@dataclass
class RecordingBackend:
    """Listens on a free loopback port, one thread a connection. `requests` and `connections` are in order of arrival.

    `kernel_bytes` is about how much the kernel holds of each direction of a connection; 0: as it likes.
    """

    port: int = 0
    kernel_bytes: int = 0
    requests: list[Request] = field(default_factory=list)
    connections: list[Connection] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._scripts: dict[str, Script] = {}
        self._listening = socket.create_server(("127.0.0.1", self.port), backlog=512)
        if self.kernel_bytes:
            # Accepted sockets have what the listening one has (socket(7)).
            self._listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self.kernel_bytes)
            self._listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self.kernel_bytes)
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def on(self, path: str, script: Script) -> None:
        """`script` answers requests for `path` (compared without the query)."""
        self._scripts[path] = script

    def script_for(self, request: Request) -> Script:
        return self._scripts.get(request.target.split("?")[0], echo)

    def record(self, request: Request) -> None:
        with self._lock:
            self.requests.append(request)

    def requests_to(self, path: str) -> list[Request]:
        with self._lock:
            return [request for request in self.requests if request.target.split("?")[0] == path]

    def last(self, path: str) -> Request:
        return wait_until(lambda: self.requests_to(path), f"a request to {path}")[-1]

    def bytes_received(self) -> int:
        with self._lock:
            return sum(len(connection.received) for connection in self.connections)

    def forget(self) -> None:
        """Drops what was recorded and scripted; open connections stay open."""
        with self._lock:
            self.requests.clear()
            self._scripts.clear()

    def connection_of(self, request: Request) -> Connection:
        with self._lock:
            return self.connections[request.connection]

    def stop_listening(self) -> None:
        """Takes no more connections; those that are open go on."""
        # The thread that accepts would keep the port.
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def stop(self) -> None:
        self._listening.close()
        with self._lock:
            connections = list(self.connections)
        for connection in connections:
            connection.finish()

    def _accept(self) -> None:
        while True:
            try:
                accepted, _ = self._listening.accept()
            except OSError:
                return
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                connection = Connection(self, len(self.connections), accepted)
                self.connections.append(connection)
            threading.Thread(target=connection.run, daemon=True).start()
