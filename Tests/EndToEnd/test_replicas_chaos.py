"""Apps refresh, sign in and out at three gateways without pause, while gateways, database and network fail in turn.
Afterwards every session that an app was told of goes on, and none that it was told is ended."""

import random
import time
from collections.abc import Callable

import pytest
from harness.interposed import Clock, without_sanitizer
from harness.postgres import Cluster
from harness.process import wait_until
from harness.replicas import Replicas
from harness.session_apps import SessionApps
from harness.tcp_proxy import TcpProxy

pytestmark = without_sanitizer

# Seconds until every app has refreshed again once a failure is over.
RECOVERY = 30


class Trouble:
    """Each kind of failure, from its begin until it is over. How long the longer ones last is a part of them."""

    def __init__(self, replicas: Replicas, cluster: Cluster, proxies: list[TcpProxy], clock: Clock, seed: int, longest: float):
        self.replicas, self.cluster, self.proxies, self.clock = replicas, cluster, proxies, clock
        self.choice = random.Random(seed)
        self.longest = longest
        self.kinds: list[Callable[[], None]] = [
            self.killed_gateway, self.killed_primary, self.failover, self.frozen_gateway, self.frozen_primary,
            self.frozen_standby, self.cut, self.black_hole, self.slow, self.full_disk, self.wrong_clock,
        ]  # fmt: skip

    def rounds(self, count: int) -> list[Callable[[], None]]:
        """Each kind before any comes again."""
        order: list[Callable[[], None]] = []
        while len(order) < count:
            order += self.choice.sample(self.kinds, len(self.kinds))
        return order[:count]

    def last(self) -> None:
        time.sleep(self.choice.uniform(min(1, self.longest), self.longest))

    def killed_gateway(self) -> None:
        number = self.choice.randrange(len(self.replicas))
        self.replicas[number].kill()
        self.replicas.start(number)

    def killed_primary(self) -> None:
        self.cluster.primary.kill()
        self.last()
        self.cluster.primary.start()
        self.cluster.wait_synchronous()

    def failover(self) -> None:
        self.cluster.primary.kill()
        self.cluster.promote()
        self.cluster.return_read_only()
        for proxy in self.proxies:
            proxy.cut()
        self.last()
        self.cluster.rejoin()

    def frozen_gateway(self) -> None:
        gateway = self.choice.choice(self.replicas.gateways)
        gateway.freeze()
        self.last()
        gateway.thaw()

    def frozen_primary(self) -> None:
        self.cluster.primary.freeze()
        self.last()
        self.cluster.primary.thaw()
        self.cluster.wait_synchronous()

    def frozen_standby(self) -> None:
        """The primary confirms nothing in the meantime."""
        self.cluster.standby.freeze()
        self.last()
        self.cluster.standby.thaw()
        self.cluster.wait_synchronous()

    def cut(self) -> None:
        for proxy in self.proxies:
            proxy.cut()

    def black_hole(self) -> None:
        for proxy in self.proxies:
            proxy.hold()
        self.last()
        for proxy in self.proxies:
            proxy.release()

    def slow(self) -> None:
        for proxy in self.proxies:
            proxy.delay = 0.05
        self.last()
        for proxy in self.proxies:
            proxy.delay = 0

    def full_disk(self) -> None:
        primary = self.cluster.primary
        primary.fill_disk()
        self.last()
        primary.free_disk()
        wait_until(lambda: primary.process.exit_status is not None or answers(primary), "the primary to go on or end", 30)
        if primary.process.exit_status is not None:
            primary.start()
        self.cluster.wait_synchronous()

    def wrong_clock(self) -> None:
        """Of the first gateway, for a while."""
        self.clock.offset = self.choice.choice([-600, 600])
        self.last()
        self.clock.offset = 0


def answers(server) -> bool:
    try:
        return server.value("SELECT 1", seconds=5) == "1"
    except Exception:  # noqa: BLE001 (psql tells nothing that could be looked at)
        return False


@pytest.mark.parametrize(
    "rounds, longest",
    [
        pytest.param(11, 0.5, marks=pytest.mark.timeout(900)),
        pytest.param(200, 30, marks=[pytest.mark.long, pytest.mark.timeout(4 * 3600)]),
    ],
)
def test_whatever_fails_no_session_is_lost_and_none_comes_back(run_directory, start_replicas, tmp_path, rounds, longest):
    clock = Clock(tmp_path)
    settings = {"max_wal_size": "128MB", "min_wal_size": "32MB", "wal_keep_size": "64MB"}
    cluster = Cluster(run_directory / f"chaos-{rounds}-servers", settings, size=600 << 20)
    proxies = [TcpProxy(port) for port in cluster.ports]
    apps = None
    try:
        replicas = start_replicas([proxy.port for proxy in proxies], environments=[clock.environment])
        apps = SessionApps(replicas, seed=rounds)
        apps.wait_progress("before anything fails")
        trouble = Trouble(replicas, cluster, proxies, clock, rounds, longest)
        for number, fail in enumerate(trouble.rounds(rounds)):
            began = time.monotonic()
            fail()
            apps.wait_progress(f"round {number}, {fail.__name__}", RECOVERY)
            print(f"round {number}: {fail.__name__}, {time.monotonic() - began:.1f} s, {apps.refreshes} refreshes", flush=True)
        apps.judge()
    finally:
        if apps:
            for app in apps.apps:
                app.stopping.set()
        cluster.stop()
        for proxy in proxies:
            proxy.stop()


def test_a_session_that_is_lost_and_one_that_comes_back_are_noticed(own_cluster, start_replicas):
    """Without this, the test above would not fail when it should."""
    replicas = start_replicas(own_cluster.ports)
    apps = SessionApps(replicas, count=1)
    apps.wait_progress("at the begin")

    def is_noticed() -> bool:
        """A refresh that is under way stores the session anew, so that one deletion may not be enough."""
        own_cluster.primary.sql("DELETE FROM user_sessions")
        return bool(apps.problems)

    wait_until(is_noticed, "a lost session to be noticed", 30)
    apps.stop()
    assert "lost" in apps.problems[0]
    pool_app = apps.apps[0]
    pool_app.told.problems.clear()
    token = replicas[0].sign_in(pool_app.user)
    assert not pool_app.refused_everywhere(token["refresh_token"], token["access_token"])
