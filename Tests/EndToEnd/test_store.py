"""The database of a running gateway: backed up, checked, restored, refused."""

import json
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from harness.account import Account
from harness.gateway import ADA, Gateway, gatehouse
from harness.process import wait_until


def store(gateway: Gateway, command: str, *arguments: object) -> subprocess.CompletedProcess:
    return gatehouse("store", command, "--config", gateway.config_path, *arguments)


@pytest.fixture
def served(start_gateway, pool, ledger):
    gateway = start_gateway(pool=pool)
    return gateway, Account(gateway.port, ledger)


def test_a_backup_of_a_running_gateway_is_restored_and_its_sessions_go_on(served, start_gateway, pool, tmp_path, ledger):
    gateway, account = served
    tokens = account.login(*ADA).json()
    backup = tmp_path / "backup.sqlite"
    written = store(gateway, "backup", backup)
    assert written.returncode == 0 and "without keys" in written.stdout, written.stderr
    assert backup.stat().st_mode & 0o777 == 0o600
    assert store(gateway, "backup", backup).returncode == 1, "it does not write over one"
    report = json.loads(store(gateway, "check", backup, "--json").stdout)
    assert report["good"] and report["schema"] == "current" and report["rows"]["sessions"] == 1
    newer = account.refresh(tokens["refresh_token"]).json()
    running = store(gateway, "restore", backup)
    assert running.returncode == 1 and "stop the gateway first" in running.stderr
    assert account.refresh(newer["refresh_token"]).status == 200
    gateway.stop()
    restored = store(gateway, "restore", backup)
    assert restored.returncode == 0, restored.stderr
    state = Path(gateway.config["state_directory"])
    assert [path.name for path in state.glob("*.replaced-*")] != []
    again = start_gateway({"state_directory": str(state)}, pool=pool)
    assert Account(again.port, ledger).refresh(tokens["refresh_token"]).status == 200, "as if it were the first time"


def test_with_the_keys_a_backup_is_enough_on_another_machine(served, start_gateway, pool, tmp_path, ledger):
    gateway, account = served
    token = account.login(*ADA).json()["refresh_token"]
    backup = tmp_path / "backup.sqlite"
    assert "sealing-keys.json" in store(gateway, "backup", "--with-keys", backup).stdout
    gateway.stop()
    shutil.rmtree(gateway.config["state_directory"])
    assert store(gateway, "restore", "--with-keys", backup).returncode == 0
    again = start_gateway({"state_directory": gateway.config["state_directory"]}, pool=pool)
    assert Account(again.port, ledger).refresh(token).status == 200


def test_a_revocation_of_after_the_backup_is_in_the_file_that_was_replaced(served, tmp_path):
    gateway, _ = served
    backup = tmp_path / "backup.sqlite"
    assert store(gateway, "backup", backup).returncode == 0
    arguments = ("--config", gateway.config_path, "--issuer", "pool", "--jti", "j")
    assert gatehouse("revoke", *arguments).returncode == 0
    gateway.stop()
    assert store(gateway, "restore", backup).returncode == 0
    replaced = next(Path(gateway.config["state_directory"]).glob("gatehouse.sqlite.replaced-*[0-9]"))
    rows = {file: json.loads(store(gateway, "check", "--json", *file).stdout)["rows"] for file in ((), (replaced,))}
    assert [each["revocations"] for each in rows.values()] == [0, 1]


def test_a_newer_or_damaged_database_stops_the_start_and_is_told(served, start_gateway, pool):
    gateway, _ = served
    gateway.stop()
    assert store(gateway, "check").stdout.startswith("good\nschema: current\n")
    path = Path(gateway.config["state_directory"]) / "gatehouse.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    kept = path.read_bytes()
    with sqlite3.connect(path) as database:
        database.execute("INSERT INTO grdb_migrations VALUES ('sessions-9')")
    database.close()
    report = store(gateway, "check")
    assert report.returncode == 1 and "schema: newer (sessions-9)" in report.stdout
    with pytest.raises(AssertionError, match="written by a newer version of gatehouse"):
        start_gateway({"state_directory": str(path.parent)}, pool=pool)
    path.write_bytes(kept[:4096] + b"\0" * 4096 + kept[8192:])
    assert store(gateway, "check").returncode == 1
    path.write_bytes(kept)
    assert store(gateway, "check").returncode == 0


def stored(gateway: Gateway) -> dict:
    return json.loads(gateway.admin("/status")[1])["store"]


def locked(gateway: Gateway):
    """Somebody else's lock on the database, until it is closed."""
    lock = sqlite3.connect(Path(gateway.config["state_directory"]) / "gatehouse.sqlite", isolation_level=None)
    lock.execute("BEGIN EXCLUSIVE")
    return closing(lock)


def test_a_store_that_cannot_be_written_is_not_ready_until_it_can_be(served):
    gateway, _ = served
    good = stored(gateway)
    assert good.pop("schema_version") > 0
    assert good == {"writable": True, "error": None, "failing_since": None, "needed": True}
    with locked(gateway):
        reason = "database is locked (SQLite 5)"
        # Not for another reason, as it may be not ready just after its start.
        unready = (503, f"the store cannot be written\nstore: {reason}\n")
        wait_until(lambda: gateway.admin("/readyz") == unready, "the lock to be seen")
        assert gateway.metric("gatehouse_ready") == 0 and json.loads(gateway.admin("/status")[1])["ready"] is False
        assert stored(gateway)["writable"] is False and stored(gateway)["error"] == reason
        assert gateway.metric("gatehouse_store_writable") == 0
        wait_until(lambda: "store cannot be written" in gateway.log(), "the log to tell of it")
    wait_until(lambda: gateway.admin("/readyz") == (200, "ready\n"), "the lock's end to be seen")
    assert gateway.metric("gatehouse_ready") == 1 and stored(gateway)["error"] is None
    assert gateway.metric("gatehouse_store_writable") == 1
    wait_until(lambda: "store can be written again" in gateway.log(), "the log to tell of it")


def test_a_store_that_no_sign_in_needs_is_told_and_no_more(start_gateway):
    gateway = start_gateway()
    assert stored(gateway)["needed"] is False
    gateway.wait_until_ready()
    with locked(gateway):
        wait_until(lambda: not stored(gateway)["writable"], "the lock to be seen")
        assert gateway.admin("/readyz") == (200, "ready\nstore: database is locked (SQLite 5)\n")
        assert gateway.metric("gatehouse_ready") == 1
