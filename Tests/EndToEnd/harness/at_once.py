"""Requests that several gateways get at the same moment, over connections that stay open."""

import asyncio
import json
from dataclasses import dataclass

from .raw import request_bytes
from .sanitizer import PATIENCE


@dataclass
class Answer:
    status: int
    body: dict


class Connections:
    """One connection to each port. To be used in one event loop."""

    def __init__(self, ports: list[int]):
        self._ports = ports
        self._streams: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def __aenter__(self) -> "Connections":
        self._streams = [await asyncio.open_connection("127.0.0.1", port) for port in self._ports]
        return self

    async def __aexit__(self, *_) -> None:
        for _, writer in self._streams:
            writer.close()

    async def post(self, path: str, bodies: list[dict], token: str | None = None) -> list[Answer]:
        """The answers to one request on each connection. All are written before any answer is read."""
        headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
        for (_, writer), body in zip(self._streams, bodies, strict=True):
            writer.write(request_bytes("POST", path, headers, json.dumps(body).encode()))
        return await asyncio.wait_for(asyncio.gather(*(self._answer(reader) for reader, _ in self._streams)), 30 * PATIENCE)

    @staticmethod
    async def _answer(reader: asyncio.StreamReader) -> Answer:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        fields = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if line)
        body = await reader.readexactly(int(fields["content-length"]))
        return Answer(int(head.split(" ", 2)[1]), json.loads(body))
