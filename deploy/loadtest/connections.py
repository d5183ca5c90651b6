"""Holds connections to a proxy and says what its process's memory does.

connections.py idle  PID PORT TOKEN COUNT [--tls]   each connection is used for one request, then left open; prints
                                                    KiB a connection of resident and of anonymous memory
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
TLS.set_alpn_protocols(["http/1.1"])


class Memory(NamedTuple):
    """KiB (proc_pid_status(5)); anonymous is what is resident without the code and other pages of files."""

    resident: int
    anonymous: int

    @classmethod
    def of(cls, pid: int) -> "Memory":
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        sizes = dict(re.findall(r"^(VmRSS|RssAnon):\s+(\d+) kB$", status, re.M))
        return cls(int(sizes["VmRSS"]), int(sizes["RssAnon"]))


def connect(port: int, tls: bool) -> socket.socket:
    plain = socket.create_connection(("127.0.0.1", port), timeout=20)
    if not tls:
        return plain
    return TLS.wrap_socket(plain, server_hostname="localhost")


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


def open_and_use(stack: contextlib.ExitStack, port: int, token: str, count: int, tls: bool, batch: int) -> None:
    request = head(token)
    for begin in range(0, count, batch):
        group = [stack.enter_context(connect(port, tls)) for _ in range(min(batch, count - begin))]
        for connection in group:
            connection.sendall(request)
        for connection in group:
            finish(connection)


def idle(pid: int, port: int, token: str, count: int, tls: bool) -> None:
    with contextlib.ExitStack() as first:
        open_and_use(first, port, token, 16, tls, 1)  # what is made once is not a connection's
        with contextlib.ExitStack() as stack:
            before = Memory.of(pid)
            open_and_use(stack, port, token, count, tls, 1)
            time.sleep(1)
            print(*(f"{(after - earlier) / count:.2f}" for after, earlier in zip(Memory.of(pid), before)))


def burst(pid: int, port: int, token: str, count: int, settling: float) -> None:
    before = Memory.of(pid)
    with contextlib.ExitStack() as stack:
        open_and_use(stack, port, token, count, False, BATCH)
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
        with contextlib.suppress(OSError), connect(port, False) as connection:
            connection.sendall(sent)
            if wanted:
                connection.recv(wanted)
            if count % 2:  # a reset instead of an end
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        time.sleep(0.02)
    print(f"{count} clients went away")


def main() -> None:
    what, *rest = [argument for argument in sys.argv[1:] if argument != "--tls"]
    if what == "vanish":
        vanish(int(rest[0]), rest[1], float(rest[2]))
    elif what == "burst":
        burst(int(rest[0]), int(rest[1]), rest[2], int(rest[3]), float(rest[4]))
    else:
        idle(int(rest[0]), int(rest[1]), rest[2], int(rest[3]), "--tls" in sys.argv)


if __name__ == "__main__":
    main()
