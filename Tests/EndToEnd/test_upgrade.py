"""An upgrade and the way back, as docs/upgrade.md says.

The two versions are this one: with a database that lacks its last step of the schema it is the newer one, with a
database that has a step which it does not know it is the one before.
"""

import json
import re
import shlex
import shutil
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest
from harness import documentation
from harness.account import Account
from harness.gateway import ADA, Gateway, binary, gatehouse
from harness.process import wait_until
from harness.sanitizer import PATIENCE

# The last step, and what it made.
STEP, TABLE = "password-changes-1", "password_changes"


@pytest.fixture
def served(start_gateway, pool, ledger):
    gateway = start_gateway(pool=pool)
    return gateway, Account(gateway.port, ledger)


def database(gateway: Gateway) -> Path:
    return Path(gateway.config["state_directory"]) / "gatehouse.sqlite"


def changed(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def steps(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as connection:
        return {name for (name,) in connection.execute("SELECT identifier FROM grdb_migrations")}


def revoke(gateway: Gateway, jti: str) -> None:
    result = gatehouse("revoke", "--config", gateway.config_path, "--issuer", "own", "--jti", jti)
    assert result.returncode == 0, result.stderr


def revoked(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as connection:
        return {value for (value,) in connection.execute("SELECT value FROM revocations")}


def make_older(path: Path) -> None:
    """As the version before the last step left it."""
    changed(path, f"DROP TABLE {TABLE}", f"DELETE FROM grdb_migrations WHERE identifier = '{STEP}'")


def make_newer(path: Path) -> None:
    """As the version after this one leaves it."""
    changed(path, "CREATE TABLE of_a_newer_version (x)", "INSERT INTO grdb_migrations VALUES ('newer-1')")


def refused_start(gateway: Gateway) -> subprocess.CompletedProcess:
    """A start that is expected to fail."""
    command = [binary(), "serve", "--config", gateway.config_path]
    return subprocess.run(command, capture_output=True, text=True, timeout=30 * PATIENCE)


def restore_command() -> list[str]:
    """The one of the page."""
    chapter = documentation.text("upgrade.md").partition("\n## Go back")[2]
    (line,) = re.findall(r"(?m)^sudo (gatehouse store restore .*)$", chapter)
    return shlex.split(line)


def restored(gateway: Gateway, copy: str) -> None:
    words = restore_command()
    # Of the page the names of a machine are others here.
    at = words.index("--environment-file")
    words[at : at + 2] = ["--config", str(gateway.config_path)]
    assert re.fullmatch(r"/var/lib/gatehouse/gatehouse\.sqlite\.schema-\d+", words[-1])
    result = gatehouse(*words[1:-1], copy)
    assert result.returncode == 0, result.stderr


def test_an_upgrade_copies_the_store_and_the_version_before_goes_on_with_the_copy(served, start_gateway, pool, ledger):
    gateway, account = served
    before = account.login(*ADA).json()["refresh_token"]
    revoke(gateway, "before")
    assert gateway.stop() == 0
    path = database(gateway)
    make_older(path)
    old = steps(path)

    # The upgrade.
    upgraded = start_gateway({"state_directory": str(path.parent)}, pool=pool)
    copy = path.with_name(f"{path.name}.schema-{len(old)}")
    assert steps(path) == old | {STEP} and steps(copy) == old
    assert (copy.stat().st_mode & 0o777, copy.stat().st_uid) == (0o600, path.stat().st_uid)
    line = f"the store's schema was changed, after a copy of it copy={copy}"
    wait_until(lambda: line in upgraded.log(), "the log to name the copy")
    refreshed = Account(upgraded.port, ledger).refresh(before)
    assert refreshed.status == 200
    newer = refreshed.json()["refresh_token"]
    since = Account(upgraded.port, ledger).login(*ADA).json()["refresh_token"]
    revoke(upgraded, "after")
    assert revoked(path) == {"before", "after"}
    assert upgraded.stop() == 0

    # The version before, which does not know what the database has now.
    make_newer(path)
    result = refused_start(upgraded)
    assert result.returncode == 70
    named = re.search(r"written by a newer version of gatehouse, which knows newer-1; .* gatehouse store restore ([^\s\"]+)", result.stderr)
    assert named and named[1] == str(copy), result.stderr
    assert "newer-1" in steps(path), "it is as it was"
    restored(upgraded, named[1])
    again = start_gateway({"state_directory": str(path.parent)}, pool=pool)
    account = Account(again.port, ledger)
    # Sealed tokens of Cognito's sessions are good with any database that knows nothing against them.
    assert [account.refresh(token).status for token in (before, since, newer)] == [200] * 3
    assert revoked(path) == {"before"}, "the state of the upgrade's moment"
    # The newer version's database is there to look at.
    assert ["newer-1" in steps(kept) for kept in path.parent.glob("gatehouse.sqlite.replaced-*[0-9]")] == [True]


def test_a_start_without_a_change_of_the_schema_copies_nothing(served, start_gateway, pool):
    gateway, _ = served
    assert gateway.stop() == 0
    again = start_gateway({"state_directory": gateway.config["state_directory"]}, pool=pool)
    assert list(database(gateway).parent.glob("*.schema-*")) == []
    assert "a copy of it" not in again.log()


def test_a_database_that_is_missing_beside_a_copy_is_not_begun_anew(served):
    gateway, _ = served
    assert gateway.stop() == 0
    path = database(gateway)
    for file in path.parent.glob("gatehouse.sqlite*"):
        if file == path:
            file.rename(path.with_name(f"{path.name}.schema-3"))
        elif not file.name.endswith(".lock"):
            file.unlink()
    result = refused_start(gateway)
    assert result.returncode == 78 and "gatehouse.sqlite.schema-3 is there: restore a backup" in result.stderr, result.stderr


def mounted(directory: Path, size: str) -> bool:
    directory.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", str(directory)]
    return subprocess.run(command, capture_output=True).returncode == 0


def test_on_a_full_disk_the_new_version_does_not_start_and_changes_nothing(served, start_gateway, pool, run_directory, ledger):
    gateway, account = served
    token = account.login(*ADA).json()["refresh_token"]
    assert gateway.stop() == 0
    make_older(database(gateway))
    state = run_directory / f"full-upgrade-{time.monotonic_ns()}"
    if not mounted(state, "4m"):
        shutil.rmtree(state)
        pytest.skip("needs the right to mount a small disk")
    try:
        shutil.copytree(gateway.config["state_directory"], state, dirs_exist_ok=True)
        path, filler = state / "gatehouse.sqlite", state / "filler"
        old = steps(path)
        with filler.open("wb", buffering=0) as file, pytest.raises(OSError):
            while True:
                file.write(b"\0" * 4096)
        # Enough for what SQLite has beside a database that is open, and for no copy.
        with filler.open("r+b") as file:
            file.truncate(filler.stat().st_size - min(path.stat().st_size - 16_384, 96 * 1024))
        gateway.write_config({"state_directory": str(state)})
        result = refused_start(gateway)
        assert result.returncode == 70, result.stderr
        copy = f"{path}.schema-{len(old)}"
        assert f"this version changes its schema, and copies it to {copy} before" in result.stderr, result.stderr
        assert "full" in result.stderr and "Nothing has changed" in result.stderr, result.stderr
        assert steps(path) == old and list(state.glob("*.schema-*")) == []
        # As the page says: make room, and start it.
        filler.unlink()
        again = start_gateway({"state_directory": str(state)}, pool=pool)
        assert steps(path) == old | {STEP} and steps(Path(copy)) == old
        assert Account(again.port, ledger).refresh(token).status == 200
        assert json.loads(again.admin("/status")[1])["store"]["schema_version"] == len(old) + 1
        again.stop()
    finally:
        subprocess.run(["umount", "-l", str(state)], check=True)
        shutil.rmtree(state)
