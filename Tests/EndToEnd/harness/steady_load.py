"""Requests at a steady rate, by a process of their own, so that what the test itself does cannot hold them up."""

import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path


class SteadyLoad:
    """`rate` requests a second until `stop()`, over connections that live for some requests and are then made anew."""

    def __init__(self, port: int, path: str, token: str, rate: int):
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__)), str(port), path, token, str(rate)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def stop(self) -> dict:
        """The results: `seconds`, `answers` by status, `connections`, `faults`."""
        output, _ = self._process.communicate("stop\n", timeout=60)
        return json.loads(output)


class Backend:
    """Answers every GET at once, in a process of its own."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__)), "backend"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.url = f"http://127.0.0.1:{int(self._process.stdout.readline())}"

    def stop(self) -> None:
        self._process.communicate("stop\n", timeout=60)


CONNECTIONS = 20
# Of one connection, before another one is made.
REQUESTS = 25


async def client(port: int, request: bytes, turns: asyncio.Queue, told: dict) -> None:
    reader = writer = None
    left = 0
    while await turns.get():
        try:
            if not left:
                if writer:
                    writer.close()
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                told["connections"] += 1
                left = REQUESTS
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            status = head.split(b" ", 2)[1].decode()
            length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            await reader.readexactly(length)
            told["answers"][status] = told["answers"].get(status, 0) + 1
            left -= 1
        except (OSError, asyncio.IncompleteReadError) as error:
            told["faults"].append(repr(error))
            left = 0
    if writer:
        writer.close()


async def load(port: int, path: str, token: str, rate: int) -> None:
    told: dict = {"answers": {}, "connections": 0, "faults": []}
    request = f"GET {path} HTTP/1.1\r\nHost: gateway.test\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
    turns: asyncio.Queue = asyncio.Queue()
    clients = [asyncio.create_task(client(port, request, turns, told)) for _ in range(CONNECTIONS)]
    stopping = asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    began, given = time.perf_counter(), 0
    while not stopping.done():
        due = int((time.perf_counter() - began) * rate)
        for _ in range(due - given):
            turns.put_nowait(True)
        given = max(given, due)
        await asyncio.sleep(0.005)
    for _ in clients:
        turns.put_nowait(False)
    await asyncio.gather(*clients)
    told["seconds"] = time.perf_counter() - began
    print(json.dumps(told))


class Answers(asyncio.Protocol):
    def connection_made(self, transport) -> None:
        self.transport, self.received = transport, b""

    def data_received(self, data: bytes) -> None:
        self.received += data
        count = self.received.count(b"\r\n\r\n")
        if count:
            self.received = self.received[self.received.rindex(b"\r\n\r\n") + 4 :]
            self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" * count)


async def backend() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Answers, "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.readline)


if __name__ == "__main__":
    if sys.argv[1] == "backend":
        asyncio.run(backend())
    else:
        asyncio.run(load(int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])))
