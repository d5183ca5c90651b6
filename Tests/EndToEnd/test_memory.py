"""Issue section "How good": many large bodies at once pass through without being stored."""

import asyncio
import threading

import pytest
from harness import raw

pytestmark = pytest.mark.alone

MEGABYTE = 1 << 20
PIECE = bytes(256 * 1024)


class BulkBackend:
    """Swallows uploads and pours downloads without keeping a byte, on a thread with an event loop of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._ready.wait(10)

    def _run(self) -> None:
        self._server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=512))
        self.port = self._server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
                if head.startswith("get"):
                    size = int(head.split()[1].rsplit("=", 1)[1])
                    writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n".encode())
                    for _ in range(size // len(PIECE)):
                        writer.write(PIECE)
                        await writer.drain()
                else:
                    left = size = int(head.split("content-length:")[1].split("\r\n")[0])
                    while left:
                        left -= len(await reader.read(min(left, len(PIECE))))
                    told = str(size).encode()
                    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(told), told))
                    await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def stop(self) -> None:
        async def end_connections() -> None:
            mine = asyncio.current_task()
            tasks = [task for task in asyncio.all_tasks() if task is not mine]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(end_connections(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)


async def upload(port: int, size: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(raw.request_bytes("POST", "/recorded/public/bulk", {"Content-Length": str(size)}))
    for _ in range(size // len(PIECE)):
        writer.write(PIECE)
        await writer.drain()
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200"), head
    told = str(size).encode()
    assert await reader.readexactly(len(told)) == told
    writer.close()


async def download(port: int, size: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(raw.request_bytes("GET", f"/recorded/public/bulk?bytes={size}"))
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200"), head
    left = size
    while left:
        data = await reader.read(min(left, len(PIECE)))
        assert data, f"the download broke off {left} bytes before its end"
        left -= len(data)
    writer.close()


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "count, megabytes", [(20, 20), pytest.param(200, 50, marks=pytest.mark.long)], ids=["20x20MB", "200x50MB"]
)
def test_uploads_and_downloads_at_once_stay_under_200_mb(start_gateway, count, megabytes):
    backend = BulkBackend()
    slow = {"url": f"http://127.0.0.1:{backend.port}", "first_byte_timeout": "600s", "idle_timeout": "600s"}
    gateway = start_gateway({"upstreams": {"recorder": slow}, "limits": {"body_idle_timeout": "600s"}})
    highest = 0

    async def watch() -> None:
        nonlocal highest
        while True:
            highest = max(highest, gateway.process.resident_bytes())
            await asyncio.sleep(0.05)

    async def all_at_once() -> None:
        watching = asyncio.create_task(watch())
        size = megabytes * MEGABYTE
        async with asyncio.timeout(60 + count * megabytes / 20), asyncio.TaskGroup() as group:
            for _ in range(count):
                group.create_task(upload(gateway.port, size))
                group.create_task(download(gateway.port, size))
        watching.cancel()

    try:
        asyncio.run(all_at_once())
    finally:
        backend.stop()
    print(f"{count} uploads and {count} downloads of {megabytes} MB: at most {highest / MEGABYTE:.0f} MB resident")
    assert highest < 200 * MEGABYTE
