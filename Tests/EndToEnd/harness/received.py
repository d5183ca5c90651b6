"""Bytes that a socket has received, until somebody takes them."""

from collections.abc import Callable


class Received:
    """Bytes in a buffer that grows in place: `bytes` would be copied whole at every addition, which for a large body takes
    seconds on a busy machine."""

    def __init__(self):
        self._bytes = bytearray()

    def __len__(self) -> int:
        return len(self._bytes)

    def __bytes__(self) -> bytes:
        return bytes(self._bytes)

    def add(self, data: bytes) -> None:
        self._bytes += data

    def take(self, count: int) -> bytes:
        found = bytes(self._bytes[:count])
        del self._bytes[:count]
        return found

    def until(self, marker: bytes, receive: Callable[[], None]) -> bytes:
        """Everything up to and including `marker`. `receive` adds more, or raises."""
        while (start := self._bytes.find(marker)) < 0:
            receive()
        return self.take(start + len(marker))

    def exactly(self, count: int, receive: Callable[[], None]) -> bytes:
        """So many bytes. `receive` adds more, or raises."""
        while len(self) < count:
            receive()
        return self.take(count)
