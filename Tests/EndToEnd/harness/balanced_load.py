"""Apps behind a balancer, at a steady rate, in a process of their own: requests to the backend, validations, refreshes and
sign-ins. The balancer uses the gateways that the test names, and repeats nothing."""

import asyncio
import json
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

# The weights of what is asked for.
MIX = {"proxied": 74, "validate": 10, "refresh": 7, "session refresh": 8, "sign-in": 1}


class BalancedLoad:
    """`rate` requests a second until `stop()`. `users` are addresses with passwords, and `tokens` sessions with Apple.

    `mix` has the weight of each kind of request.
    """

    def __init__(
        self,
        ports: list[int],
        path: str,
        users: list[tuple[str, str]],
        tokens: list[str],
        rate: int,
        mix: dict[str, int] | None = None,
    ):
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__))], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._tell({"path": path, "users": users, "tokens": tokens, "rate": rate, "ports": ports, "mix": mix or MIX})

    def _tell(self, command: dict) -> None:
        print(json.dumps(command), file=self._process.stdin, flush=True)

    def use(self, ports: list[int]) -> dict:
        """Returns the results so far when no request is under way at another gateway, nor a connection open to one."""
        self._tell({"ports": ports})
        return json.loads(self._process.stdout.readline())

    def stop(self) -> dict:
        """The results: `answers` by kind and status, `faults`, `seconds`."""
        output, _ = self._process.communicate("stop\n", timeout=60)
        return json.loads(output)


class Client:
    """One app with a session of the pool's, and one with Apple's."""

    def __init__(self, load: "Load", user: list[str], token: str):
        self.load, self.user, self.apple = load, user, token
        self.pool: dict = {}
        self.port = 0
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    def leave(self) -> None:
        if self._streams:
            self._streams[1].close()
        self._streams, self.port = None, 0

    async def ask(self, method: str, path: str, token: str = "", body: dict | None = None) -> tuple[int, bytes]:
        if self.port not in self.load.ports:
            self.leave()
            self.port = random.choice(self.load.ports)
            self._streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self._streams
        data = json.dumps(body).encode() if body is not None else b""
        bearer = f"Authorization: Bearer {token}\r\n" if token else ""
        framing = "" if method == "GET" else f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n"
        writer.write(f"{method} {path} HTTP/1.1\r\nHost: gateway.test\r\n{bearer}{framing}\r\n".encode() + data)
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if line)
        answer = await reader.readexactly(int(fields.get("content-length", 0)))
        if fields.get("connection") == "close":
            self.leave()
        return int(head.split(" ", 2)[1]), answer

    async def act(self, kind: str) -> int:
        if kind == "sign-in" or not self.pool:
            body = dict(zip(("email", "password"), self.user))
            status, answer = await self.ask("POST", "/api/v1/auth/login", body=body)
            self.pool = json.loads(answer) if status == 200 else {}
        elif kind == "proxied":
            token = random.choice([self.pool["access_token"], self.apple])
            status, _ = await self.ask("GET", self.load.path, token)
        elif kind == "validate":
            status, _ = await self.ask("POST", "/api/auth/validate", self.apple)
        elif kind == "refresh":
            body = {"refresh_token": self.pool["refresh_token"]}
            status, answer = await self.ask("POST", "/api/v1/auth/refresh", body=body)
            self.pool = json.loads(answer) if status == 200 else {}
        else:
            status, answer = await self.ask("POST", "/api/auth/refresh", self.apple)
            if status == 200:
                self.apple = json.loads(answer)["token"]
        return status


class Load:
    def __init__(self, settings: dict):
        self.ports, self.path, self.rate = settings["ports"], settings["path"], settings["rate"]
        self.mix: dict[str, int] = settings["mix"]
        self.clients = [
            Client(self, settings["users"][number % len(settings["users"])], settings["tokens"][number])
            for number in range(len(settings["tokens"]))
        ]
        self.answers: Counter[str] = Counter()
        self.faults: list[str] = []
        self.turns: asyncio.Queue = asyncio.Queue()
        self.began = time.perf_counter()

    def results(self) -> dict:
        return {"answers": self.answers, "faults": self.faults, "seconds": time.perf_counter() - self.began}

    async def run(self, client: Client) -> None:
        kinds, weights = list(self.mix), list(self.mix.values())
        while await self.turns.get():
            kind = random.choices(kinds, weights)[0]
            try:
                self.answers[f"{kind} {await client.act(kind)}"] += 1
            except (OSError, asyncio.IncompleteReadError) as error:
                self.faults.append(f"{kind} at {client.port}: {error!r}")
                client.leave()
            if client.port not in self.ports:
                client.leave()

    async def give_turns(self) -> None:
        given = 0
        while True:
            due = int((time.perf_counter() - self.began) * self.rate)
            for _ in range(due - given):
                self.turns.put_nowait(True)
            given = max(given, due)
            await asyncio.sleep(0.005)

    async def use(self, ports: list[int]) -> None:
        self.ports = ports
        while any(client.port and client.port not in ports for client in self.clients):
            await asyncio.sleep(0.005)


async def main() -> None:
    loop = asyncio.get_running_loop()

    async def line() -> str:
        return (await loop.run_in_executor(None, sys.stdin.readline)).strip()

    load = Load(json.loads(await line()))
    clients = [asyncio.create_task(load.run(client)) for client in load.clients]
    giving = asyncio.create_task(load.give_turns())
    while (command := await line()) not in ("stop", ""):
        await load.use(json.loads(command)["ports"])
        print(json.dumps(load.results()), flush=True)
    giving.cancel()
    for _ in clients:
        load.turns.put_nowait(False)
    await asyncio.gather(*clients)
    print(json.dumps(load.results()), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
