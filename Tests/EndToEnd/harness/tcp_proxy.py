"""A TCP proxy between gateways and a server: it passes bytes on, late or not at all, and ends connections."""

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Callable

from .process import free_port


class TcpProxy:
    """Listens on `port` of loopback. Every call has taken effect when it returns.

    `target` is the port that new connections go to, and `delay` the seconds that every piece of data waits in the proxy.
    """

    def __init__(self, target: int):
        self.target = target
        self.delay = 0.0
        # How many connections were made to it.
        self.accepted = 0
        self.port = free_port()
        self._open: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._flowing = self._call(asyncio.Event)
        self.release()
        self._server: asyncio.Server | None = None
        self.accept()

    def hold(self) -> None:
        """From now on nothing passes, as through a cable that is pulled. Bytes wait, and so do ends of connections.
        New connections are taken, and nothing answers."""
        self._call(self._flowing.clear)

    def release(self) -> None:
        """Lets pass everything that has waited."""
        self._call(self._flowing.set)

    def cut(self) -> int:
        """Resets all connections, on both sides; how many that were. New ones are taken as before."""
        return self._call(self._cut)

    def refuse(self) -> None:
        """Resets all connections and refuses new ones, as a machine without the server."""
        if self._server:
            self._call(self._server.close)
            self._server = None
        self.cut()

    def accept(self) -> None:
        """Takes connections again."""
        if not self._server:
            self._server = asyncio.run_coroutine_threadsafe(
                asyncio.start_server(self._serve, "127.0.0.1", self.port), self._loop
            ).result(10)

    @property
    def connections(self) -> int:
        return len(self._open) // 2

    def stop(self) -> None:
        self.refuse()
        self.release()
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _call(self, function: Callable):
        async def call():
            return function()

        return asyncio.run_coroutine_threadsafe(call(), self._loop).result(10)

    def _cut(self) -> int:
        writers, self._open = self._open, set()
        for writer in writers:
            reset(writer)
        return len(writers) // 2

    async def _end(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        self._open.add(writer)
        other = None
        try:
            await self._flowing.wait()
            other_reader, other = await asyncio.open_connection("127.0.0.1", self.target)
            # It may have been cut meanwhile.
            if writer not in self._open:
                return
            self._open.add(other)
            await asyncio.gather(self._pump(reader, other), self._pump(other_reader, writer))
        except OSError:
            """One side has ended it, or nobody listens there: the other hears of it."""
        finally:
            for each in (writer, other):
                if each:
                    self._open.discard(each)
                    reset(each)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            data = await reader.read(65536)
            if self.delay:
                await asyncio.sleep(self.delay)
            await self._flowing.wait()
            if not data:
                if writer.can_write_eof():
                    writer.write_eof()
                return
            writer.write(data)
            await writer.drain()


def reset(writer: asyncio.StreamWriter) -> None:
    """Ends a connection so that the peer hears of it at once."""
    with contextlib.suppress(OSError):
        # Without lingering, the end of a socket is a reset (socket(7)).
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
