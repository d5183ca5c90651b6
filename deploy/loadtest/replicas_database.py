#!/usr/bin/env python3
"""The database's share of sign-ins and refreshes: rows, bytes, log, commits, waits for the disk, vacuum.

    .venv/bin/python deploy/loadtest/replicas_database.py BINARY [--sessions N] [--refreshes N] [--gateways N]

The servers are those of `replicas_cost.py`. `replicas.sh --database` gets what this needs. Autovacuum is off, so that the
dead rows of all calls are there for one VACUUM. Each refresh is of another session, and the first after a
checkpoint: with many users every page is logged whole, as it is here.
"""

import argparse
import os
import random
import tempfile
import time
from pathlib import Path

from replicas_cost import KINDS, Client, Setup

from harness.instant_cognito import InstantCognito
from harness.local_apple import LocalApple
from harness.postgres import PostgresServer

# A connection that is idle for 10 s has told its counts: PGSTAT_IDLE_INTERVAL of PostgreSQL.
IDLE = 11
COUNTS = {
    "log bytes": "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')",
    "of them whole pages": "SELECT wal_fpi * 8192 FROM pg_stat_wal",
    "commits": "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()",
    "disk waits": "SELECT wal_sync FROM pg_stat_wal",
    "rows inserted": "SELECT sum(n_tup_ins) FROM pg_stat_user_tables",
    "rows updated": "SELECT sum(n_tup_upd) FROM pg_stat_user_tables",
    "of them in the page": "SELECT sum(n_tup_hot_upd) FROM pg_stat_user_tables",
    "rows deleted": "SELECT sum(n_tup_del) FROM pg_stat_user_tables",
}
SIZES = """
    SELECT relname, n_live_tup, n_dead_tup, pg_total_relation_size(relid) FROM pg_stat_user_tables
    WHERE n_live_tup + n_dead_tup >= 100 ORDER BY relname
    """


class ManySessions(Client):
    """An app that keeps all its sessions, and refreshes each once, in any order."""

    def __init__(self, *arguments: object):
        super().__init__(*arguments)
        self._stored: dict[str, list[str]] = {kind: [] for kind in KINDS}

    def prepare(self, kind: str, calls: int) -> None:
        if "refresh" not in kind:
            super().prepare(kind, calls)
        for tokens in self._stored.values():
            random.shuffle(tokens)

    async def connect(self, kind: str) -> None:
        await super().connect("")

    async def login(self) -> None:
        await super().login()
        self._stored["refresh"].append(self._refresh_token)

    async def refresh(self) -> None:
        self._refresh_token = self._stored["refresh"].pop()
        await super().refresh()

    async def apple(self) -> None:
        await super().apple()
        self._stored["refresh with Apple"].append(self._session)

    async def apple_refresh(self) -> None:
        self._session = self._stored["refresh with Apple"].pop()
        await super().apple_refresh()


def counts(server: PostgresServer) -> dict[str, float]:
    return {name: float(server.value(statement)) for name, statement in COUNTS.items()}


def show_sizes(server: PostgresServer, when: str) -> None:
    print(f"\n{when}\n{'table':22}{'rows':>10}{'dead':>10}{'bytes':>12}{'bytes a row':>13}")
    for name, live, dead, size in server.sql(SIZES):
        print(f"{name:22}{live:>10}{dead:>10}{size:>12}{int(size) / max(int(live), 1):13.0f}")


def vacuum(server: PostgresServer) -> None:
    cpu, began = server.cpu_seconds(), time.monotonic()
    server.sql("VACUUM", seconds=600)
    print(f"VACUUM: {time.monotonic() - began:.2f} s, {server.cpu_seconds() - cpu:.2f} s of processor time", flush=True)


def own_work(server: PostgresServer) -> dict[str, float]:
    """The counts of a second in which nobody calls the gateways."""
    before, began = counts(server), time.monotonic()
    time.sleep(IDLE)
    after, ended = counts(server), time.monotonic()
    return {name: (after[name] - before[name]) / (ended - began) for name in COUNTS}


def measure(setup: Setup, apps: list[Client], kind: str, calls: int, own: dict[str, float]) -> None:
    """Prints what each call costs, without the gateways' own work in the meantime."""
    server = setup.server
    assert server
    server.sql("CHECKPOINT", seconds=300)
    before, began = counts(server), time.monotonic()
    cost = setup.cost_of(apps, kind, calls // len(apps))
    time.sleep(IDLE)
    after, ended = counts(server), time.monotonic()
    done = calls // len(apps) * len(apps)
    print(f"\n{kind}: {done} calls, PostgreSQL {cost.postgres:.3f} ms, gateways {cost.gateways:.3f} ms")
    for name in COUNTS:
        print(f"{name:22}{(after[name] - before[name] - own[name] * (ended - began)) / done:12.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--sessions", type=int, default=20_000)
    parser.add_argument("--refreshes", type=int, default=5_000)
    parser.add_argument("--gateways", type=int, default=2)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--clients", type=int, default=12)
    options = parser.parse_args()
    os.environ["GATEHOUSE_BINARY"] = options.binary
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        apple = LocalApple(directory)
        cognito = InstantCognito(apple)
        setup = None
        try:
            setup = Setup(directory, options.gateways, cognito, apple, {"autovacuum": "off"})
            assert setup.server
            apps = setup.apps(options.clients, ManySessions)
            time.sleep(IDLE)
            own = own_work(setup.server)
            for kind in options.kinds:
                measure(setup, apps, kind, options.refreshes if "refresh" in kind else options.sessions, own)
                show_sizes(setup.server, f"after {kind}")
                vacuum(setup.server)
        finally:
            if setup:
                setup.stop()
            apple.stop()
            cognito.stop()


if __name__ == "__main__":
    main()
