#!/usr/bin/env python3
"""Processor time for each sign-in and refresh with several gateways on one PostgreSQL, beside as many with SQLite.

    .venv/bin/python deploy/loadtest/replicas_cost.py BINARY [--rounds N] [--calls N] [--gateways N] [--clients N] [--each]

`replicas.sh` says what is measured, and gets what this needs. With `--each`, `--calls` and `--clients` are those of one
gateway: more gateways have more apps.
"""

import argparse
import asyncio
import itertools
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "Tests" / "EndToEnd"))

from harness.account import Ledger  # noqa: E402
from harness.apple_app import AppleApp, apple_settings  # noqa: E402
from harness.gateway import ADA, Gateway, gateway_config, merged  # noqa: E402
from harness.instant_cognito import InstantCognito, user_name  # noqa: E402
from harness.local_apple import LocalApple  # noqa: E402
from harness.postgres import PASSWORD, PostgresServer  # noqa: E402
from harness.raw import request_bytes  # noqa: E402
from harness.replicas import postgres_state  # noqa: E402

KINDS = ("sign-in", "refresh", "sign-in with Apple", "refresh with Apple")
LOGIN, REFRESH = "/api/v1/auth/login", "/api/v1/auth/refresh"
# Each sign-in is the next user's, over all apps.
NAMES = itertools.count()
APPLE, APPLE_REFRESH = "/api/auth/apple", "/api/auth/refresh"
_users = itertools.count(1)


class Client:
    """An app on one connection that stays open, with a session of each kind."""

    def __init__(self, port: int, apple: LocalApple):
        self._port = port
        self._apple = AppleApp(port, apple, Ledger())
        self._bodies: list[dict] = []
        self._refresh_token = self._session = ""

    def prepare(self, kind: str, calls: int) -> None:
        if kind == "sign-in with Apple":
            self._bodies = [self._apple.body(f"user-{next(_users)}@example.com") for _ in range(calls)]
        if kind == "refresh with Apple":
            self._session = self._apple.signed_in(f"user-{next(_users)}@example.com")["token"]

    async def connect(self, kind: str) -> None:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        if kind == "refresh":
            await self.login()

    def close(self) -> None:
        self._writer.close()

    async def _post(self, path: str, body: dict, token: str = "") -> dict:
        headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
        self._writer.write(request_bytes("POST", path, headers, json.dumps(body).encode()))
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        answer = await self._reader.readexactly(int(head.split(b"content-length:")[1].split(b"\r\n")[0]))
        assert head.startswith(b"http/1.1 200"), f"{path}: {head!r} {answer!r}"
        return json.loads(answer)

    async def login(self) -> None:
        self._refresh_token = (await self._post(LOGIN, {"email": user_name(next(NAMES)), "password": ADA[1]}))["refresh_token"]

    async def refresh(self) -> None:
        self._refresh_token = (await self._post(REFRESH, {"refresh_token": self._refresh_token}))["refresh_token"]

    async def apple(self) -> None:
        self._session = (await self._post(APPLE, self._bodies.pop()))["token"]

    async def apple_refresh(self) -> None:
        self._session = (await self._post(APPLE_REFRESH, {}, self._session))["token"]

    def call(self, kind: str) -> Callable[[], Awaitable[None]]:
        return dict(zip(KINDS, (self.login, self.refresh, self.apple, self.apple_refresh)))[kind]


@dataclass
class Cost:
    """Milliseconds of processor time for a call."""

    gateways: float
    postgres: float

    @property
    def total(self) -> float:
        return self.gateways + self.postgres


class Setup:
    """`count` gateways on a PostgreSQL of their own, or as many with SQLite that share nothing."""

    def __init__(
        self,
        directory: Path,
        count: int,
        cognito: InstantCognito,
        apple: LocalApple,
        settings: dict[str, str] | None = None,
        shared: bool = True,
    ):
        self.name = f"PostgreSQL, {count}" if shared else f"SQLite, {count}"
        self._apple = apple
        self.server: PostgresServer | None = None
        self.gateways: list[Gateway] = []
        changes: dict = merged(
            {**cognito.gateway_settings(), "threads": 1, "logging": {"access_log": False}},
            apple_settings(apple),
        )  # fmt: skip
        try:
            if shared:
                self.server = PostgresServer(directory, f"postgres-{count}", settings)
                self.server.start()
                password = directory / "password"
                password.write_text(PASSWORD + "\n")
                changes["state"] = postgres_state([self.server.port], password)
            for number in range(count):
                name = f"{self.name}-{number}".replace(", ", "-")
                config = gateway_config(directory / name, apple.url, apple.jwks_url, pool=apple, changes=changes)
                self.gateways.append(Gateway(directory, name, config))
        except BaseException:
            self.stop()
            raise

    def _seconds(self) -> tuple[float, float]:
        gateways = sum(gateway.process.cpu_seconds() for gateway in self.gateways)
        return gateways, self.server.cpu_seconds() if self.server else 0

    def cost(self, kind: str, calls: int, clients: int) -> Cost:
        return self.cost_of(self.apps(clients), kind, calls // clients)

    def apps(self, clients: int, form: type[Client] = Client) -> list[Client]:
        return [form(self.gateways[number % len(self.gateways)].port, self._apple) for number in range(clients)]

    def cost_of(self, apps: list[Client], kind: str, each: int) -> Cost:
        for app in apps:
            app.prepare(kind, each)
        gateways, postgres = asyncio.run(self._measure(kind, each, apps))
        return Cost(gateways / (each * len(apps)) * 1000, postgres / (each * len(apps)) * 1000)

    async def _measure(self, kind: str, calls: int, apps: list[Client]) -> tuple[float, float]:
        for app in apps:
            await app.connect(kind)

        async def work(app: Client) -> None:
            for _ in range(calls):
                await app.call(kind)()

        before = self._seconds()
        await asyncio.gather(*(work(app) for app in apps))
        after = self._seconds()
        for app in apps:
            app.close()
        return after[0] - before[0], after[1] - before[1]

    def stop(self) -> None:
        for gateway in self.gateways:
            gateway.stop()
        if self.server:
            self.server.remove()


def table(kind: str, setups: list[Setup], rounds: list[list[Cost]]) -> None:
    """The last column compares the gateways' time with that of as many which share nothing, within a round."""
    print(f"{kind}\n{'':16}{'gateways':>12}{'PostgreSQL':>12}{'both':>12}{'× SQLite':>12}", flush=True)
    alone = len(setups) // 2
    for place, setup in enumerate(setups):
        costs = [round[place] for round in rounds]
        medians = [statistics.median(getattr(cost, part) for cost in costs) for part in ("gateways", "postgres", "total")]
        ratio = statistics.median(round[place].gateways / round[place % alone].gateways for round in rounds)
        print(f"{setup.name:16}" + "".join(f"{value:9.3f} ms" for value in medians) + f"{ratio:12.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=400)
    parser.add_argument("--gateways", type=int, default=4)
    parser.add_argument("--clients", type=int, default=12)
    parser.add_argument("--each", action="store_true")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    options = parser.parse_args()
    os.environ["GATEHOUSE_BINARY"] = options.binary
    setups: list[Setup] = []
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        apple = LocalApple(directory)
        cognito = InstantCognito(apple)
        try:
            for shared in (False, True):
                for count in range(1, options.gateways + 1):
                    setups.append(Setup(directory, count, cognito, apple, shared=shared))
            for kind in options.kinds:
                rounds = []
                for _ in range(options.rounds):
                    rounds.append([])
                    for setup in setups:
                        times = len(setup.gateways) if options.each else 1
                        rounds[-1].append(setup.cost(kind, options.calls * times, options.clients * times))
                table(kind, setups, rounds)
        finally:
            for setup in setups:
                setup.stop()
            apple.stop()
            cognito.stop()


if __name__ == "__main__":
    main()
