"""Much input at once: sends it in writes that end anywhere, and watches what the process holds of it."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .process import Process
from .sanitizer import SANITIZER

MEGABYTE = 1 << 20


def private_bytes(process: Process) -> int:
    """Memory of the process's own that is resident, without mapped files; nothing under a sanitizer."""
    if SANITIZER:
        return 0
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"process {process.pid} has no RssAnon")


class Growth:
    """How much more than at the beginning a process has held, at most."""

    def __init__(self, process: Process):
        self._process = process
        self.before = private_bytes(process)
        self.most = self.before

    def look(self) -> None:
        self.most = max(self.most, private_bytes(self._process))

    @property
    def bytes(self) -> int:
        return self.most - self.before


@contextmanager
def growth(process: Process, within: int = 8 * MEGABYTE) -> Iterator[Growth]:
    """Fails when the process grows by more than `within` bytes meanwhile."""
    watched = Growth(process)
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.02):
            watched.look()

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield watched
    finally:
        ended.set()
        watching.join()
    watched.look()
    print(f"grew by {watched.bytes / MEGABYTE:.1f} MB")
    assert watched.bytes <= within, f"grew by {watched.bytes / MEGABYTE:.1f} MB"


def pour(connected: socket.socket, unit: bytes, size: int, step: int = 65_521) -> int:
    """Sends `unit` again and again, until it was `size` bytes or the peer wants no more. A write is `step` bytes long: with
    a step that is no multiple of the unit's length, nearly all end within one.

    Returns how many bytes were sent.
    """
    block = unit * max(1, MEGABYTE // len(unit))
    view = memoryview(block + block)
    position = sent = 0
    try:
        while sent < size:
            connected.sendall(view[position : position + step])
            position = (position + step) % len(block)
            sent += step
    except OSError:
        pass
    return sent


class Reader:
    """Reads what a peer sends in a thread of its own, so that neither waits for the other."""

    def __init__(self, connected: socket.socket):
        self._socket = connected
        self.received = 0
        self.last = b""
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            while data := self._socket.recv(65536):
                self.received += len(data)
                self.last = (self.last + data)[-65536:]
        except OSError:
            pass

    def wait(self, seconds: float = 10) -> None:
        self._thread.join(seconds)
        assert not self._thread.is_alive(), "the peer has not closed"


class Progress:
    """A count, and whether it stands still."""

    def __init__(self):
        self._lock = threading.Lock()
        self.count = 0
        self._seen = -1

    def add(self, count: int) -> None:
        with self._lock:
            self.count += count

    def stands_still(self) -> bool:
        """Whether nothing was added since the last look."""
        before, self._seen = self._seen, self.count
        return before == self._seen

    def counted(self, body: bytes, piece: int = 16_000) -> Iterator[bytes]:
        """A body in pieces, each of which is added when the next one is asked for."""
        for start in range(0, len(body), piece):
            part = body[start : start + piece]
            yield part
            self.add(len(part))
