"""The servers that tests of several gateways use do what those tests take for granted."""

import os
import subprocess
import threading

import pytest
from harness.pooler import Pooler
from harness.postgres import DATABASE, PASSWORD, USER, PostgresServer, binaries
from harness.process import wait_until
from harness.tcp_proxy import TcpProxy


def psql(port: int, statement: str, seconds: float = 30) -> subprocess.CompletedProcess:
    """A statement by the role of gateways; the test goes on without a result after `seconds`."""
    place = ["-h", "127.0.0.1", "-p", str(port), "-U", USER, "-d", DATABASE]
    # psql gives up by itself later than that.
    environment = {**os.environ, "PGPASSWORD": PASSWORD, "PGCONNECT_TIMEOUT": str(int(seconds) + 30)}
    command = [str(binaries() / "psql"), *place, "-XAtqc", statement]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=seconds)


def value(port: int, statement: str) -> str:
    result = psql(port, statement)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


@pytest.fixture
def proxy(cluster):
    proxy = TcpProxy(cluster.primary.port)
    yield proxy
    proxy.stop()


@pytest.mark.timeout(300)
def test_what_the_primary_confirms_is_on_the_standby_and_outlasts_it(own_cluster):
    old, new = own_cluster.primary, own_cluster.standby
    value(old.port, "CREATE TABLE told (number int)")
    own_cluster.standby.freeze()
    writer = threading.Thread(target=psql, args=(old.port, "INSERT INTO told VALUES (1)"), daemon=True)
    writer.start()
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    wait_until(lambda: old.value(waiting) == "1", "a write that waits for the standby")
    own_cluster.standby.thaw()
    writer.join(30)
    assert not writer.is_alive()
    for number in (2, 3):
        value(own_cluster.primary.port, f"INSERT INTO told VALUES ({number})")
        own_cluster.primary.kill()
        own_cluster.promote()
        own_cluster.return_read_only()
        refused = psql(own_cluster.standby.port, "INSERT INTO told VALUES (9)")
        assert "read-only transaction" in refused.stderr
        assert value(own_cluster.standby.port, "SELECT pg_is_in_recovery()") == "f"
        assert value(own_cluster.primary.port, "SELECT sum(number) FROM told") == str(sum(range(1, number + 1)))
        own_cluster.rejoin()
    assert own_cluster.primary is old and own_cluster.standby is new


def test_a_frozen_server_answers_when_it_goes_on(own_cluster):
    primary = own_cluster.primary
    primary.freeze()
    with pytest.raises(subprocess.TimeoutExpired):
        psql(primary.port, "SELECT 1", seconds=1)
    primary.thaw()
    assert value(primary.port, "SELECT 2") == "2"
    primary.kill()
    assert "Connection refused" in psql(primary.port, "SELECT 3").stderr
    primary.start()
    assert value(primary.port, "SELECT 4") == "4"


def test_the_role_of_gateways_has_no_rights_beyond_its_database(cluster):
    rights = "SELECT rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication FROM pg_roles WHERE rolname = current_user"
    assert value(cluster.primary.port, rights) == "f"


def test_a_proxy_passes_holds_cuts_and_refuses(proxy):
    assert value(proxy.port, "SELECT 1") == "1"
    proxy.hold()
    with pytest.raises(subprocess.TimeoutExpired):
        psql(proxy.port, "SELECT 2", seconds=1)
    late: list[str] = []
    waiting = threading.Thread(target=lambda: late.append(value(proxy.port, "SELECT 3")), daemon=True)
    before = proxy.accepted
    waiting.start()
    wait_until(lambda: proxy.accepted > before, "a connection that waits")
    proxy.release()
    waiting.join(30)
    assert late == ["3"], "what has waited passes"
    proxy.refuse()
    assert "Connection refused" in psql(proxy.port, "SELECT 4").stderr
    proxy.accept()
    results: list[subprocess.CompletedProcess] = []
    sleeping = threading.Thread(target=lambda: results.append(psql(proxy.port, "SELECT pg_sleep(60)")), daemon=True)
    sleeping.start()
    wait_until(lambda: proxy.connections == 1, "a connection")
    proxy.cut()
    sleeping.join(30)
    assert results[0].returncode != 0, "a reset"
    assert value(proxy.port, "SELECT 5") == "5"


def test_a_pooler_shares_few_connections_and_can_be_led_elsewhere(own_cluster, tmp_path):
    pooler = Pooler(tmp_path, own_cluster.primary, size=1)
    try:
        processes = {value(pooler.port, "SELECT pg_backend_pid()") for _ in range(5)}
        assert len(processes) == 1
        assert value(pooler.port, "SHOW statement_timeout") == "2s"
        assert "unsupported startup parameter" in subprocess.run(
            [str(binaries() / "psql"), f"host=127.0.0.1 port={pooler.port} user={USER} dbname={DATABASE} options='-c jit=off'"],
            capture_output=True, text=True, env={**os.environ, "PGPASSWORD": PASSWORD}, timeout=30, input="",
        ).stderr  # fmt: skip
        own_cluster.primary.kill()
        own_cluster.promote()
        pooler.lead_to(own_cluster.primary.port)
        wait_until(lambda: psql(pooler.port, "SELECT 1").stdout.strip() == "1", "the new primary", 15)
    finally:
        pooler.stop()


def test_a_full_disk_refuses_rows_until_there_is_room(tmp_path):
    server = PostgresServer(tmp_path, "full", size=150 << 20)
    try:
        server.start()
        value(server.port, "CREATE TABLE rows (number int)")
        server.fill_disk()
        assert "No space left on device" in psql(server.port, "INSERT INTO rows SELECT generate_series(1, 1000000)").stderr
        server.free_disk()
        assert value(server.port, "INSERT INTO rows SELECT generate_series(1, 10) RETURNING 1").split() == ["1"] * 10
    finally:
        server.remove()
