"""HTTP/2 over a bare socket: exact frames out, frames in. Written from RFC 9113, apart from the HPACK decoder."""

import socket
import struct
import threading
from dataclasses import dataclass, field

import hpack

from .sanitizer import PATIENCE

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, END_HEADERS, ACK = 0x1, 0x4, 0x1
NO_ERROR, PROTOCOL_ERROR, ENHANCE_YOUR_CALM = 0, 1, 11


@dataclass
class Frame:
    type: int
    flags: int
    stream: int
    payload: bytes

    @property
    def code(self) -> int:
        """The error code of RST_STREAM or GOAWAY."""
        return struct.unpack("!I", self.payload[4:8] if self.type == GOAWAY else self.payload[:4])[0]


@dataclass
class Stream:
    """The parts received for one stream."""

    headers: list[tuple[str, str]] = field(default_factory=list)
    interim: list[int] = field(default_factory=list)
    body: bytes = b""
    trailers: list[tuple[str, str]] = field(default_factory=list)
    ended: bool = False
    reset: int | None = None

    @property
    def status(self) -> int | None:
        return int(dict(self.headers)[":status"]) if self.headers else None


def frame(type: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack("!I", len(payload))[1:] + struct.pack("!BBI", type, flags, stream) + payload


def block(headers: list[tuple[str, str]]) -> bytes:
    """A header block of literals without indexing and without Huffman coding."""
    encoded = b""
    for name, value in headers:
        encoded += b"\x00"
        for text in (name.encode("latin-1"), value.encode("latin-1")):
            encoded += _integer(len(text)) + text
    return encoded


def _integer(value: int) -> bytes:
    if value < 127:
        return bytes([value])
    encoded, value = b"\x7f", value - 127
    while value >= 128:
        encoded, value = encoded + bytes([value % 128 + 128]), value // 128
    return encoded + bytes([value])


def request(method: str = "GET", path: str = "/recorded/public/x", *fields: tuple[str, str]) -> list[tuple[str, str]]:
    return [(":method", method), (":scheme", "http"), (":authority", "gateway.test"), (":path", path), *fields]


class H2Connection:
    """A client's connection with prior knowledge. `streams` fills as frames are read."""

    def __init__(self, port: int, timeout: float = 10.0, settings: dict[int, int] | None = None, auto_window: bool = True):
        self._adopt(socket.create_connection(("127.0.0.1", port), timeout=timeout * PATIENCE), auto_window)
        payload = b"".join(struct.pack("!HI", *item) for item in (settings or {}).items())
        self.send(PREFACE + frame(SETTINGS, 0, 0, payload))

    @classmethod
    def on(cls, connected: socket.socket, acknowledges: bool = True) -> "H2Connection":
        """A connection on which nothing has been sent yet, not even the preface.

        Without `acknowledges` SETTINGS, PING and DATA are left without their answers.
        """
        connection = cls.__new__(cls)
        connection._adopt(connected, acknowledges, acknowledges)
        return connection

    def _adopt(self, connected: socket.socket, auto_window: bool, acknowledges: bool = True) -> None:
        self.socket = connected
        self.streams: dict[int, Stream] = {}
        self.frames: list[Frame] = []
        self.goaways: list[Frame] = []
        self.closed = False
        self._auto_window = auto_window
        self._acknowledges = acknowledges
        self._buffer = b""
        self._decoder = hpack.Decoder()
        self._next = 1

    def __enter__(self) -> "H2Connection":
        return self

    def __exit__(self, *_) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def open(self, headers: list[tuple[str, str]], end: bool = True, encode=block) -> int:
        """Sends a request's head; the stream's number."""
        stream, self._next = self._next, self._next + 2
        self.send(frame(HEADERS, END_HEADERS | (END_STREAM if end else 0), stream, encode(headers)))
        return stream

    def data(self, stream: int, body: bytes, end: bool = False) -> None:
        self.send(frame(DATA, END_STREAM if end else 0, stream, body))

    def read(self) -> Frame | None:
        """The next frame, taken in; nothing at the connection's end."""
        while len(self._buffer) < 9 or len(self._buffer) < 9 + self._length():
            try:
                data = self.socket.recv(65536)
            except ConnectionError:
                data = b""
            if not data:
                self.closed = True
                return None
            self._buffer += data
        length = self._length()
        type, flags, stream = struct.unpack("!BBI", self._buffer[3:9])
        found = Frame(type, flags, stream & 0x7FFFFFFF, self._buffer[9 : 9 + length])
        self._buffer = self._buffer[9 + length :]
        self._take(found)
        return found

    def _length(self) -> int:
        return int.from_bytes(self._buffer[:3], "big")

    def _take(self, found: Frame) -> None:
        self.frames.append(found)
        try:
            self._look_at(found)
        except ConnectionError:
            # An answer that nobody takes any more.
            pass

    def _look_at(self, found: Frame) -> None:
        stream = self.streams.setdefault(found.stream, Stream()) if found.stream else None
        if found.type in (SETTINGS, PING):
            if self._acknowledges and not found.flags & ACK:
                self.send(frame(found.type, ACK, 0, found.payload if found.type == PING else b""))
        elif found.type == GOAWAY:
            self.goaways.append(found)
        elif found.type == RST_STREAM:
            stream.reset = found.code
        elif found.type == HEADERS:
            assert found.flags & END_HEADERS
            headers = [(name, value) for name, value in self._decoder.decode(found.payload)]
            if stream.headers:
                stream.trailers = headers
            elif int(dict(headers)[":status"]) < 200:
                stream.interim.append(int(dict(headers)[":status"]))
            else:
                stream.headers = headers
            stream.ended = bool(found.flags & END_STREAM)
        elif found.type == DATA:
            stream.body += found.payload
            stream.ended = bool(found.flags & END_STREAM)
            if self._auto_window and found.payload:
                increment = struct.pack("!I", len(found.payload))
                self.send(frame(WINDOW_UPDATE, 0, 0, increment))
                if not stream.ended:
                    self.send(frame(WINDOW_UPDATE, 0, found.stream, increment))

    def response(self, stream: int) -> Stream:
        """Reads until the stream has ended or was reset."""
        while not self.streams.setdefault(stream, Stream()).ended and self.streams[stream].reset is None:
            if self.read() is None:
                break
        return self.streams[stream]

    def until(self, type: int) -> Frame | None:
        """Reads until a frame of this type; nothing at the connection's end."""
        while (found := self.read()) and found.type != type:
            pass
        return found

    def rest(self) -> None:
        """Reads until the peer closes."""
        while self.read():
            pass


class Windows(H2Connection):
    """A connection whose sender waits for its windows (RFC 9113 §6.9), while another thread reads."""

    def begin(self) -> None:
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # Acknowledged here: from another thread it could come within a frame.
        assert self.until(SETTINGS)
        self._changed = threading.Condition()
        self._left = {0: 65_535, 1: 65_535}
        threading.Thread(target=self._read_on, daemon=True).start()

    def _read_on(self) -> None:
        try:
            while (found := self.read()) and found.type != GOAWAY:
                if found.type == WINDOW_UPDATE:
                    with self._changed:
                        self._left[found.stream] = self._left.get(found.stream, 65_535) + struct.unpack("!I", found.payload)[0]
                        self._changed.notify()
        except OSError:
            pass
        with self._changed:
            self._left = None
            self._changed.notify()

    def why(self) -> str:
        return f"windows {self._left}, GOAWAY {[found.code for found in self.goaways]}, {len(self.frames)} frames read"

    def take(self, stream: int, count: int, leaving: int = 0, seconds: float = 10) -> bool:
        """Waits for room; whether it came."""

        def has_room() -> bool:
            return self._left is None or min(self._left[0], self._left.setdefault(stream, 65_535)) >= count + leaving

        with self._changed:
            ready = self._changed.wait_for(has_room, seconds)
            if not ready or self._left is None:
                return False
            self._left[0] -= count
            self._left[stream] -= count
            return True
