"""Holds connections to a proxy and says what its process's memory does.

connections.py idle  PID PORT TOKEN COUNT [--tls | --http2]
                                                    each connection is used for one request, then left open; prints
                                                    KiB a connection of resident and of anonymous memory, when all
                                                    have been idle for 3 s. --http2 is over TLS too
connections.py burst PID PORT TOKEN COUNT SECONDS   as many connections at once, each used, then closed; prints
                                                    resident MB before, during, and the least within SECONDS after,
                                                    and the same of anonymous memory
connections.py vanish PORT TOKEN SECONDS            clients that go away: within a head, an upload, a download
"""

import contextlib
import pathlib
import re
import socket
import ssl
import struct
import sys
import time
from typing import NamedTuple

BATCH = 128  # requests in flight at once; the connections are what is measured, not the backend's queue

TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
TLS.check_hostname = False
TLS.verify_mode = ssl.CERT_NONE  # a certificate made for this run, on loopback
PROTOCOLS = {"tls": "http/1.1", "http2": "h2"}


class Memory(NamedTuple):
    """KiB (proc_pid_status(5)); anonymous is what is resident without the code and other pages of files."""

    resident: int
    anonymous: int

    @classmethod
    def of(cls, pid: int) -> "Memory":
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        sizes = dict(re.findall(r"^(VmRSS|RssAnon):\s+(\d+) kB$", status, re.M))
        return cls(int(sizes["VmRSS"]), int(sizes["RssAnon"]))


def connect(port: int, way: str) -> socket.socket:
    """`way` is "plain" or one of PROTOCOLS."""
    plain = socket.create_connection(("127.0.0.1", port), timeout=20)
    # A request does not wait for the acknowledgement of the handshake's last message.
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if way == "plain":
        return plain
    TLS.set_alpn_protocols([PROTOCOLS[way]])
    connection = TLS.wrap_socket(plain, server_hostname="localhost")
    if connection.selected_alpn_protocol() != PROTOCOLS[way]:
        raise SystemExit(f"the proxy does not speak {PROTOCOLS[way]}")
    return connection


def head(token: str, path: str = "/api/items", method: str = "GET", length: int | None = None) -> bytes:
    body = "" if length is None else f"Content-Length: {length}\r\n"
    return f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n{body}\r\n".encode()


def finish(connection: socket.socket) -> None:
    """Reads the answer to the one small request of this connection; anything but 200 ends the measurement."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(16384)
        if not more:
            raise SystemExit("a connection was closed before its answer")
        data += more
    top, _, body = data.partition(b"\r\n\r\n")
    if b" 200 " not in top.split(b"\r\n")[0]:
        raise SystemExit("the answer was " + top.split(b"\r\n")[0].decode())
    fields = dict(line.lower().split(b":", 1) for line in top.split(b"\r\n")[1:])
    if b"content-length" in fields:
        while len(body) < int(fields[b"content-length"]):
            body += connection.recv(16384)
    else:
        while not body.endswith(b"0\r\n\r\n"):
            body += connection.recv(16384)


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """RFC 9113, 4.1."""
    return struct.pack("!I", len(payload))[1:] + struct.pack("!BBI", kind, flags, stream) + payload


def http2_head(token: str) -> bytes:
    """A connection's preface, settings and first request, without a dynamic table (RFC 7541, 6)."""
    value = f"Bearer {token}".encode()
    length, octets = len(value) - 127, bytearray()
    while length >= 128:
        octets.append(length % 128 | 128)
        length //= 128
    octets.append(length)
    # :method GET and :scheme https are indexed; :path, :authority and authorization have their names in the table.
    fields = b"\x82\x87" + b"\x04\x0a/api/items" + b"\x01\x09localhost" + b"\x0f\x08\x7f" + bytes(octets) + value
    return b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0) + frame(1, 5, 1, fields)


def finish_http2(connection: socket.socket) -> None:
    """The same for the one stream."""
    data = b""
    while True:
        while len(data) < 9 or len(data) < 9 + int.from_bytes(data[:3]):
            more = connection.recv(16384)
            if not more:
                raise SystemExit("a connection was closed before its answer")
            data += more
        end = 9 + int.from_bytes(data[:3])
        kind, flags, payload, data = data[3], data[4], data[9:end], data[end:]
        if kind == 4 and not flags & 1:
            connection.sendall(frame(4, 1, 0))
        elif kind == 1 and b"\x88" not in payload[:4]:  # :status 200, behind a change of the table's size
            raise SystemExit("the answer was not 200")
        elif kind in (3, 7):
            raise SystemExit("the stream or the connection was refused")
        if kind in (0, 1) and flags & 1:
            return


def open_and_use(stack: contextlib.ExitStack, port: int, token: str, count: int, way: str, batch: int) -> None:
    request, wait = (http2_head(token), finish_http2) if way == "http2" else (head(token), finish)
    for begin in range(0, count, batch):
        group = [stack.enter_context(connect(port, way)) for _ in range(min(batch, count - begin))]
        for connection in group:
            connection.sendall(request)
        for connection in group:
            wait(connection)


def idle(pid: int, port: int, token: str, count: int, way: str) -> None:
    with contextlib.ExitStack() as first:
        open_and_use(first, port, token, 16, way, 1)  # what is made once is not a connection's
        with contextlib.ExitStack() as stack:
            before = Memory.of(pid)
            open_and_use(stack, port, token, count, way, 1)
            time.sleep(3)
            print(*(f"{(after - earlier) / count:.2f}" for after, earlier in zip(Memory.of(pid), before)))


def burst(pid: int, port: int, token: str, count: int, settling: float) -> None:
    before = Memory.of(pid)
    with contextlib.ExitStack() as stack:
        open_and_use(stack, port, token, count, "plain", BATCH)
        during = Memory.of(pid)
    deadline = time.monotonic() + settling
    after = Memory.of(pid)
    while time.monotonic() < deadline and after.resident > before.resident:
        time.sleep(0.25)
        after = Memory(*map(min, after, Memory.of(pid)))
    print(*(f"{size / 1024:.1f}" for sizes in zip(before, during, after) for size in sizes))


def vanish(port: int, token: str, seconds: float) -> None:
    whole, upload = head(token, "/api/1m"), head(token, "/api/upload", "POST", 65536)
    ways = [(whole[:-20], 0), (upload + b"x" * 10_000, 0), (whole, 4096), (head(token), 0), (b"", 0)]
    end = time.monotonic() + seconds
    count = 0
    while time.monotonic() < end:
        sent, wanted = ways[count % len(ways)]
        count += 1
        # A backend may be down just now, and the gateway may answer early: only that these clients go matters.
        with contextlib.suppress(OSError), connect(port, "plain") as connection:
            connection.sendall(sent)
            if wanted:
                connection.recv(wanted)
            if count % 2:  # a reset instead of an end
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        time.sleep(0.02)
    print(f"{count} clients went away")


def main() -> None:
    what, *rest = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    way = next((each for each in PROTOCOLS if f"--{each}" in sys.argv), "plain")
    if what == "vanish":
        vanish(int(rest[0]), rest[1], float(rest[2]))
    elif what == "burst":
        burst(int(rest[0]), int(rest[1]), rest[2], int(rest[3]), float(rest[4]))
    else:
        idle(int(rest[0]), int(rest[1]), rest[2], int(rest[3]), way)


if __name__ == "__main__":
    main()
