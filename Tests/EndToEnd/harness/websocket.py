"""WebSockets byte by byte (RFC 6455): handshakes and frames, a client on a bare socket, scripts for the backend."""

import base64
import hashlib
import os
import struct
from dataclasses import dataclass

from . import raw
from .backend import Exchange, Script
from .sanitizer import PatientEvent

KEY = "dGhlIHNhbXBsZSBub25jZQ=="
CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA

HANDSHAKE = {
    "Connection": "keep-alive, Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Key": KEY,
    "Sec-WebSocket-Version": "13",
}


def accept_for(key: str) -> str:
    digest = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
    return base64.b64encode(digest).decode()


def frame(opcode: int, payload: bytes = b"", masked: bool = False, final: bool = True) -> bytes:
    size = len(payload)
    length, extended = (size, b"") if size < 126 else (126, struct.pack("!H", size)) if size < 65536 else (127, struct.pack("!Q", size))
    head = bytes([0x80 * final | opcode, 0x80 * masked | length]) + extended
    if not masked:
        return head + payload
    mask = os.urandom(4)
    return head + mask + bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))


@dataclass
class Frame:
    opcode: int
    payload: bytes
    masked: bool

    @property
    def close_code(self) -> int:
        assert self.opcode == CLOSE, f"not a Close frame: {self.opcode}, {len(self.payload)} bytes"
        return struct.unpack("!H", self.payload[:2])[0]


def frames_of(stream: bytes) -> tuple[list[Frame], bytes]:
    """The whole frames at the front of `stream`, and what is left."""
    found = []
    while True:
        reader = _Reader(stream)
        parsed = read_frame(reader.exactly)
        if parsed is None:
            return found, stream
        found.append(parsed)
        stream = stream[reader.position :]


class _Reader:
    def __init__(self, data: bytes):
        self.data, self.position = data, 0

    def exactly(self, count: int) -> bytes | None:
        if self.position + count > len(self.data):
            return None
        self.position += count
        return self.data[self.position - count : self.position]


def read_frame(exactly) -> Frame | None:
    """One frame from what `exactly` gives; nothing where that gives nothing."""
    if (head := exactly(2)) is None:
        return None
    length = head[1] & 0x7F
    if length > 125:
        if (extended := exactly(2 if length == 126 else 8)) is None:
            return None
        length = int.from_bytes(extended, "big")
    masked = bool(head[1] & 0x80)
    mask = exactly(4) if masked else b"\0\0\0\0"
    payload = exactly(length) if mask is not None else None
    if payload is None:
        return None
    if masked:
        payload = bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))
    return Frame(head[0] & 0x0F, payload, masked)


class Client(raw.RawConnection):
    """A connection that is to become a WebSocket."""

    def ask(self, target: str, fields: dict[str, str] | None = None, behind: bytes = b"") -> None:
        """Sends the handshake, and `behind` in the same packet."""
        self.send(raw.request_bytes("GET", target, {**HANDSHAKE, **(fields or {})}) + behind)

    def open(self, target: str, fields: dict[str, str] | None = None) -> raw.Response:
        self.ask(target, fields)
        response = self.response()
        assert response.status == 101, response
        return response

    def frame(self) -> Frame:
        return read_frame(self.exactly)


def switch(exchange: Exchange, changes: dict[str, str | None] | None = None) -> None:
    """Answers 101, with fields changed or left out."""
    key = exchange.request.header("sec-websocket-key")
    fields = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Accept": accept_for(key), **(changes or {})}
    lines = ["HTTP/1.1 101 Switching Protocols", *(f"{name}: {value}" for name, value in fields.items() if value is not None)]
    exchange.send("\r\n".join(lines).encode() + b"\r\n\r\n")


def tunnelled(exchange: Exchange) -> bytes:
    """The bytes that the backend has received through the tunnel so far."""
    return bytes(exchange.connection.received.split(b"\r\n\r\n", 1)[1])


class Held:
    """A script that hands its exchange to the test, and keeps the connection open until either side closes it.

    With `switches` it answers 101 first. Nothing is read until `wait()` was called.
    """

    def __init__(self, switches: bool = True, reads: bool = True):
        self._arrived, self._reads = PatientEvent(), reads
        self._release = PatientEvent()
        self._switches = switches
        self.exchange: Exchange | None = None

    def __call__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        if self._switches:
            switch(exchange)
        self._arrived.set()
        if not self._reads:
            assert self._release.wait(30)
        exchange.wait_for_close()

    def wait(self) -> Exchange:
        assert self._arrived.wait(10), "nothing came to the backend"
        assert self.exchange
        return self.exchange

    def read_on(self) -> None:
        self._release.set()


def respond(status: int, body: bytes = b"") -> Script:
    def script(exchange: Exchange) -> None:
        exchange.respond(status, body)
        exchange.wait_for_close()

    return script
