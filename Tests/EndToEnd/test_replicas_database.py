"""Three gateways whose database is away, hangs, is read-only, full or another one: nothing is lost, and nothing is guessed."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import jwt
import pytest
from harness import raw
from harness.account import assert_refusal, bearer
from harness.gateway import ADA
from harness.postgres import Cluster, PostgresServer
from harness.process import wait_until
from harness.replicas import ADMIN_TOKEN, Replica, Replicas
from harness.session_apps import SessionApps
from harness.tcp_proxy import TcpProxy
from test_replicas_chaos import answers

# From the promotion of the standby until a gateway writes again.
WRITABLE_SECONDS = 5


class Reach:
    """The proxies between the gateways and the servers of a cluster."""

    def __init__(self, cluster: Cluster):
        self.cluster = cluster
        self.proxies = [TcpProxy(port) for port in cluster.ports]

    @property
    def ports(self) -> list[int]:
        return [proxy.port for proxy in self.proxies]

    def all(self, call: Callable[[TcpProxy], object]) -> None:
        for proxy in self.proxies:
            call(proxy)

    def stop(self) -> None:
        self.all(TcpProxy.stop)


@pytest.fixture
def reach(own_cluster) -> Iterator[Reach]:
    reach = Reach(own_cluster)
    yield reach
    reach.stop()


AWAY = {
    "refused": (lambda reach: reach.all(TcpProxy.refuse), lambda reach: reach.all(TcpProxy.accept)),
    "black-holed": (lambda reach: reach.all(TcpProxy.hold), lambda reach: reach.all(TcpProxy.release)),
    "frozen": (lambda reach: reach.cluster.primary.freeze(), lambda reach: reach.cluster.primary.thaw()),
    "killed": (lambda reach: reach.cluster.primary.kill(), lambda reach: reach.cluster.primary.start()),
}


class Sessions:
    """A session of each kind that goes on, one of each that is to end, and one that has ended; with what must not be done
    without the database."""

    def __init__(self, replicas: Replicas):
        self.replicas = replicas
        self.user, self.leaving_user = replicas.user(), replicas.user()
        self.pool, self.leaving = replicas[0].sign_in(self.user), replicas[0].sign_in(self.leaving_user)
        self.apple_user = f"user-{time.time_ns()}@example.com"
        app = replicas[0].apple_app
        self.apple, self.leaving_apple = app.signed_in(self.apple_user), app.signed_in(f"leaving-{self.apple_user}")
        self.ended = replicas[0].sign_in(self.user)
        assert replicas[0].account.logout(refresh_token=self.ended["refresh_token"]).status == 204
        self.wait_ended()

    def wait_ended(self) -> None:
        self.replicas.wait_everywhere(lambda gateway: gateway.proxied(self.ended["access_token"]), 401, "the revocation")

    def assert_verified(self) -> None:
        """Proxied requests go on, and what was revoked stays revoked."""
        for gateway in self.replicas:
            assert gateway.proxied(self.pool["access_token"]) == 200
            assert gateway.proxied(self.apple["token"]) == 200
            assert gateway.apple_app.validates(self.apple["token"])
            assert gateway.proxied(self.ended["access_token"]) == 401
            assert gateway.key_set()
            assert gateway.admin("/readyz")[0] == 200

    def assert_closed(self, without: str = "") -> None:
        """All of it at once at all gateways: each may wait for the database's time limit."""
        body = self.replicas[0].apple_app.body(self.apple_user)
        calls = {
            "sign-in": lambda gateway: gateway.account.login(*self.user),
            "refresh": lambda gateway: gateway.account.refresh(self.pool["refresh_token"]),
            "sign-out": lambda gateway: gateway.account.logout(refresh_token=self.leaving["refresh_token"]),
            "refresh of an ended session": lambda gateway: gateway.account.refresh(self.ended["refresh_token"]),
            "sign-in with Apple": lambda gateway: gateway.apple_app.post("apple", body),
            "refresh with Apple": lambda gateway: gateway.apple_app.post("refresh", token=self.apple["token"]),
            "sign-out with Apple": lambda gateway: gateway.apple_app.post("logout", token=self.leaving_apple["token"]),
            "ending sessions": lambda gateway: gateway.admin_call("DELETE", f"/sessions?subject={subject(self.leaving)}"),
            "disabling": lambda gateway: gateway.admin_call("POST", f"/users/{self.leaving_apple['user']['id']}/disable"),
        }
        calls.pop(without, None)
        with ThreadPoolExecutor(len(calls)) as threads:
            for gateway in self.replicas:
                asked = {name: threads.submit(call, gateway) for name, call in calls.items()}
                answers = {name: answer.result() for name, answer in asked.items()}
                assert {name: answer.status for name, answer in answers.items()} == dict.fromkeys(calls, 503)
                for name, answer in answers.items():
                    assert int(answer.header("retry-after")) >= 1, name

    def assert_alive(self) -> None:
        """Both sessions go on, and the ended one does not."""
        for gateway in self.replicas:
            app, told = gateway.apple_app, self.apple
            self.pool = answered(lambda: gateway.account.refresh(self.pool["refresh_token"]))  # noqa: B023
            self.apple = answered(lambda: app.post("refresh", token=told["token"]))  # noqa: B023
            assert_refusal(gateway.account.refresh(self.ended["refresh_token"]), 401, "TokenRefreshException")
            assert gateway.proxied(self.ended["access_token"]) == 401


def answered(call: Callable[[], raw.Response]) -> dict:
    """The body of the 200. Until then the app is told to come again: the question of a gateway that waited in vain may
    reach the database later, and holds the token for at most ten seconds."""

    def body() -> dict | None:
        answer = call()
        assert answer.status in (200, 503), answer.body
        return answer.json() if answer.status == 200 else None

    return wait_until(body, "an answer", 20)


def subject(tokens: dict) -> str:
    return jwt.decode(tokens["access_token"], options={"verify_signature": False})["sub"]


def writes(gateway: Replica) -> bool:
    """Whether the gateway takes what has to be stored."""
    answer = gateway.account.login(*ADA)
    assert answer.status in (200, 503), answer.body
    return answer.status == 200


def wait_writable(replicas: Replicas, seconds: float = WRITABLE_SECONDS) -> None:
    """At all gateways at once: a call may take as long as the time limit of the database."""
    with ThreadPoolExecutor(len(replicas)) as threads:
        waits = [threads.submit(wait_until, partial(writes, gateway), "a write", seconds) for gateway in replicas]
    assert all(wait.result() for wait in waits)


@pytest.mark.parametrize("way", AWAY)
def test_without_the_database_verification_goes_on_and_the_rest_is_503(reach, start_replicas, way):
    replicas = start_replicas(reach.ports)
    sessions = Sessions(replicas)
    go, come_back = AWAY[way]
    go(reach)
    try:
        sessions.assert_verified()
        sessions.assert_closed()
        sessions.assert_verified()
    finally:
        come_back(reach)
    wait_writable(replicas, 10)
    sessions.assert_alive()
    # Whoever was told to come again does, and is done with then, whatever of it the database had got before.
    assert replicas[0].account.logout(refresh_token=sessions.leaving["refresh_token"]).status == 204
    assert replicas[1].apple_app.post("logout", token=sessions.leaving_apple["token"]).status in (204, 401)
    for token in (sessions.leaving["access_token"], sessions.leaving_apple["token"]):
        replicas.wait_everywhere(lambda gateway: gateway.proxied(token), 401, "the sign-outs")  # noqa: B023


@pytest.mark.parametrize("way", ["refused", "frozen"])
def test_without_the_database_a_reload_lets_an_old_list_of_revocations_count(reach, start_replicas, way):
    replicas = start_replicas(reach.ports, {"stale_revocations": {"after": "5s"}}, count=1)
    sessions, gateway = Sessions(replicas), replicas[0]
    go, come_back = AWAY[way]
    go(reach)
    try:
        wait_until(lambda: gateway.proxied(sessions.pool["access_token"]) == 503, "the list to be too old", 30)
        gateway.write_config({"state": {"postgres": {"stale_revocations": {"then": "open"}}}})
        with raw.RawConnection(gateway.admin_port, timeout=60) as admin:
            answer = admin.request("POST", "/reload", {"Host": "localhost", **bearer(ADMIN_TOKEN)}, b"")
        assert answer.status == 200, answer.body
        wait_until(lambda: gateway.proxied(sessions.pool["access_token"]) == 200, "the old list to count", 30)
        sessions.assert_verified()
    finally:
        come_back(reach)
    wait_writable(replicas, 10)
    sessions.assert_alive()


def test_sessions_go_on_after_the_database_was_away(reach, start_replicas):
    replicas = start_replicas(reach.ports)
    sessions = Sessions(replicas)
    for go, come_back in AWAY.values():
        go(reach)
        try:
            with ThreadPoolExecutor(3) as threads:
                refreshes = threads.map(lambda gateway: gateway.account.refresh(sessions.pool["refresh_token"]), replicas)
                assert [answer.status for answer in refreshes] == [503] * 3
        finally:
            come_back(reach)
        wait_writable(replicas, 10)
        sessions.assert_alive()


def test_a_gateway_starts_beside_others_whose_connections_are_cut(reach, start_replicas):
    replicas = start_replicas(reach.ports)
    sessions = Sessions(replicas)
    for number in range(3):
        reach.all(TcpProxy.cut)
        replicas.restart(number)
        wait_writable(replicas)
        sessions.assert_alive()


def test_a_slow_database_slows_down_and_nothing_else(reach, start_replicas):
    replicas = start_replicas(reach.ports)
    sessions = Sessions(replicas)
    for proxy in reach.proxies:
        proxy.delay = 0.1
    sessions.assert_verified()
    sessions.assert_alive()


def test_after_a_failover_everything_told_is_still_true(reach, start_replicas):
    replicas = start_replicas(reach.ports)
    sessions = Sessions(replicas)
    apps = SessionApps(replicas)
    apps.wait_progress("before the fail-over")
    cluster = reach.cluster
    cluster.primary.kill()
    wait_until(lambda: apps.refusals > 0 or apps.problems, "a refusal")
    cluster.promote()
    wait_writable(replicas)
    apps.wait_progress("after the fail-over")
    # The old primary is the first in the URL of the gateways. It says that it is a primary, and its data are old.
    cluster.return_read_only()
    reach.all(TcpProxy.cut)
    wait_writable(replicas)
    for number in range(3):
        replicas.restart(number)
    apps.wait_progress("beside the old primary")
    assert cluster.standby.value("SELECT pg_is_in_recovery()") == "f"
    assert cluster.standby.value(STATEMENTS) == "0", "the old primary is asked for nothing"
    sessions.assert_alive()
    apps.judge()


# Of gateways at a server: a connection that only asks whether the server takes writes has sent none.
STATEMENTS = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'gatehouse' AND query ~* 'sessions|revocations|users'"


def test_a_server_that_turns_read_only_is_left(reach, start_replicas):
    """Its connections stay open, and take no writes any more."""
    replicas = start_replicas(reach.ports)
    sessions = Sessions(replicas)
    cluster = reach.cluster
    cluster.primary.set(default_transaction_read_only="on")
    sessions.assert_verified()
    # Which may still be read there.
    sessions.assert_closed(without="refresh of an ended session")
    cluster.primary.kill()
    cluster.promote()
    wait_writable(replicas)
    tokens = replicas[0].sign_in(sessions.user)
    assert replicas[1].account.refresh(tokens["refresh_token"]).status == 200


def test_a_full_disk_is_503_and_it_recovers_by_itself(run_directory, start_replicas):
    settings = {"max_wal_size": "64MB", "min_wal_size": "32MB", "wal_keep_size": "0"}
    server = PostgresServer(run_directory / "full-disk-servers", "full", settings, size=200 << 20)
    try:
        server.start()
        replicas = start_replicas([server.port])
        sessions = Sessions(replicas)
        server.fill_disk()

        def refused() -> bool:
            """Until pages and the log that are there already are full, writes are still taken."""
            answer = replicas[0].account.login(*sessions.user)
            if answer.status == 200:
                return False
            assert_refusal(answer, 503, "ServiceUnavailableException")
            return True

        wait_until(refused, "the disk to be full", 60, interval=0)
        sessions.assert_verified()
        server.free_disk()
        # PostgreSQL ends itself where its log has no room, and not at once.
        wait_until(lambda: server.process.exit_status is not None or answers(server), "the server to go on or end", 30)
        if server.process.exit_status is not None:
            server.start()
        wait_writable(replicas, 15)
        sessions.assert_alive()
    finally:
        server.remove()
