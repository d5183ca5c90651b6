"""A restore that fails changes nothing. After one that was interrupted the gateway serves what was there or what was
backed up, or does not start and says what to do: it never begins with an empty database."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from harness import raw
from harness.account import Account
from harness.gateway import ADA, Gateway, binary, gatehouse
from harness.interposed import Gate, watching, without_sanitizer
from harness.process import wait_until
from harness.sanitizer import PATIENCE

REQUIRED = "/recorded/required/a"
KEYS = ("assertion-keys.json", "audit-keys.json", "sealing-keys.json")


class Saved:
    """A gateway that has stopped; one token was revoked before a backup with the keys, another one and new keys came after."""

    def __init__(self, gateway: Gateway, issuer, backup: Path):
        self.gateway, self.backup = gateway, backup
        self.state = Path(gateway.config["state_directory"])
        self.tokens = {jti: issuer.access(jti=jti) for jti in ("before", "after")}
        self.run("keys", "generate", "--purpose", "sealing")
        self.revoke("before")
        self.run("store", "backup", "--with-keys", backup)
        for purpose in ("assertion", "sealing"):
            self.run("keys", "rotate", "--purpose", purpose, "--now")
        self.run("keys", "rotate", "--purpose", "audit")
        self.revoke("after")
        assert gateway.stop() == 0
        self.template = backup.with_name("template")
        shutil.copytree(self.state, self.template)
        self.before = self.seen()

    def run(self, *arguments: object, status: int | None = 0) -> subprocess.CompletedProcess:
        result = gatehouse(*arguments[:2], "--config", self.gateway.config_path, *arguments[2:])
        assert status in (None, result.returncode), (arguments, result.returncode, result.stderr)
        return result

    def revoke(self, jti: str) -> None:
        result = gatehouse("revoke", "--config", self.gateway.config_path, "--issuer", "own", "--jti", jti)
        assert result.returncode == 0, result.stderr

    def reset(self) -> None:
        shutil.rmtree(self.state)
        shutil.copytree(self.template, self.state)

    def seen(self) -> tuple:
        """The revocations and the key files; empty where there are none."""
        revoked: tuple = ()
        path = self.state / "gatehouse.sqlite"
        if path.exists():
            with closing(sqlite3.connect(path)) as database:
                revoked = tuple(value for (value,) in database.execute("SELECT value FROM revocations ORDER BY value"))
        return revoked, *((self.state / name).read_bytes() for name in KEYS if (self.state / name).exists())

    def restore(self, environment: dict[str, str]) -> subprocess.CompletedProcess:
        command = [binary(), "store", "restore", "--config", self.gateway.config_path, "--with-keys", self.backup]
        return subprocess.run(
            command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=30 * PATIENCE
        )

    def steps(self, journal: Path) -> list[str]:
        """The steps that a restore takes on files of the state directory: what is done, and the path."""
        self.reset()
        assert self.restore(watching(self.state, journal)).returncode == 0
        steps = [line.split(" ", 1)[1] for line in journal.read_text().splitlines()]
        assert len(steps) > 20, steps
        return steps

    def starts(self) -> set[str] | None:
        """Which tokens are revoked for a gateway that starts now; nothing where it refuses to start, and says why."""
        try:
            gateway = Gateway(self.gateway.config_path.parent, "gateway", self.gateway.config)
        except AssertionError as error:
            assert "ended with 78 while starting" in str(error), error
            assert re.search(r"state_directory: .*gatehouse store restore", str(error)), error
            return None
        try:
            headers = {name: {"Authorization": f"Bearer {token}"} for name, token in self.tokens.items()}
            statuses = {name: raw.exchange(gateway.port, "GET", REQUIRED, headers[name]).status for name in headers}
            assert set(statuses.values()) <= {200, 401}, statuses
            return {name for name, status in statuses.items() if status == 401}
        finally:
            gateway.stop()

    def left(self) -> list[str]:
        return sorted(path.name for path in self.state.iterdir() if re.search(r"restor|\.new$", path.name))


def timeless(seen: tuple) -> tuple:
    """Without the times since when keys are in their states: a start rewrites those that lie ahead of its clock."""
    revoked, *files = seen
    return revoked, *([{**key, "since": None} for key in json.loads(file)["keys"]] for file in files)


@pytest.fixture
def saved(start_gateway, issuer, tmp_path):
    gateway = start_gateway({"identity": {"assertion": {"issuer": "https://gateway.example"}}})
    gateway.wait_until_ready()
    return Saved(gateway, issuer, tmp_path / "backup.sqlite")


def test_a_restore_that_cannot_replace_a_key_changes_nothing(saved):
    (saved.state / KEYS[-1]).chmod(0o644)
    failed = saved.run("store", "restore", "--with-keys", saved.backup, status=1)
    assert "others than its owner may read or change it" in failed.stderr
    (saved.state / KEYS[-1]).chmod(0o600)
    assert saved.seen() == saved.before and saved.left() == []
    assert saved.starts() == {"before", "after"}


@without_sanitizer
@pytest.mark.timeout(300)
def test_a_restore_that_fails_at_any_step_changes_nothing(saved, tmp_path):
    outcomes = []
    for step in range(1, len(saved.steps(tmp_path / "steps")) + 1):
        saved.reset()
        result = saved.restore(watching(saved.state, step=step, action="fail"))
        seen = saved.seen()
        restored = seen[0] == ("before",)
        # A step that fails and is of no consequence fails nothing.
        assert result.returncode == (0 if restored else 1), (step, result.stderr)
        assert restored or seen == saved.before, (step, result.stderr)
        assert saved.left() == [], (step, saved.left(), result.stderr)
        outcomes.append(restored)
    assert outcomes.count(False) > len(outcomes) / 2, outcomes
    assert saved.starts() is not None


@without_sanitizer
@pytest.mark.timeout(400)
def test_a_restore_that_is_killed_at_any_step_can_be_undone_and_repeated(saved, tmp_path):
    steps = saved.steps(tmp_path / "steps")
    record = steps.index(f"rename {saved.state}/gatehouse.sqlite.restore-unfinished") + 1
    after = saved.seen()
    assert after[0] == ("before",) and all(one != other for one, other in zip(after, saved.before)), "all are replaced"
    refused = 0
    for step in range(1, len(steps) + 1):
        saved.reset()
        assert saved.restore(watching(saved.state, step=step, action="kill")).returncode == -9, step
        # Up to the record of what is to come only new files have been made.
        revoked = saved.starts() if step >= record else {"before", "after"}
        if revoked is None:
            refused += 1
            if step % 2:
                saved.run("store", "restore", "--undo")
                assert (saved.seen(), saved.left()) == (saved.before, []), step
                continue
        else:
            assert timeless(saved.seen()) == timeless(after if revoked == {"before"} else saved.before), step
            assert revoked in ({"before"}, {"before", "after"}), (step, revoked)
        saved.run("store", "restore", "--with-keys", saved.backup)
        assert (saved.seen(), saved.left()) == (after, []), step
    assert refused > 5, refused


def test_what_is_left_of_a_restore_without_a_database_stops_the_start(saved):
    """As a restore of an earlier version left it."""
    database = saved.state / "gatehouse.sqlite"
    for left in ("gatehouse.sqlite.replaced-7", "gatehouse.sqlite.restoring", "gatehouse.sqlite-wal"):
        saved.reset()
        for end in ("-wal", "-shm"):
            database.with_name(database.name + end).unlink(missing_ok=True)
        database.rename(database.with_name(left))
        assert saved.starts() is None, left
        refusal = gatehouse("revoke", "--config", saved.gateway.config_path, "--issuer", "own", "--jti", "x")
        assert refusal.returncode == 1 and f"is missing, but {left} is there" in refusal.stderr
    saved.run("store", "restore", saved.backup)
    assert saved.starts() == {"before"}


def test_an_undo_without_an_interrupted_restore_changes_nothing(saved):
    assert "no restore was interrupted" in saved.run("store", "restore", "--undo").stdout
    assert saved.seen() == saved.before
    for arguments in (["--undo", saved.backup], ["--undo", "--with-keys"], []):
        saved.run("store", "restore", *arguments, status=64)


# Backups


@without_sanitizer
def test_a_rotation_during_a_backup_leaves_no_row_that_its_keys_cannot_open(start_gateway, pool, ledger, tmp_path):
    gateway = start_gateway(pool=pool)
    account = Account(gateway.port, ledger)
    account.login(*ADA)
    backup, gate = tmp_path / "backup.sqlite", Gate(tmp_path, "backup.sqlite.partial")
    command = [binary(), "store", "backup", "--config", gateway.config_path, "--with-keys", backup]
    before = os.umask(0)
    try:
        process = subprocess.Popen(command, env={**os.environ, **gate.environment})
    finally:
        os.umask(before)
    partial = tmp_path / "backup.sqlite.partial"
    wait_until(partial.exists, "the backup to begin")
    assert partial.stat().st_mode & 0o777 == 0o600
    # The keys are another one's now, and so is what is sealed.
    assert gatehouse("keys", "rotate", "--config", gateway.config_path, "--purpose", "sealing").returncode == 0
    gateway.reload()
    token = account.login(*ADA).json()["refresh_token"]
    gate.open()
    assert process.wait(30 * PATIENCE) == 0
    gateway.stop()
    shutil.rmtree(gateway.config["state_directory"])
    restore = gatehouse("store", "restore", "--config", gateway.config_path, "--with-keys", backup)
    assert restore.returncode == 0, restore.stderr
    again = start_gateway({"state_directory": gateway.config["state_directory"]}, pool=pool)
    assert Account(again.port, ledger).refresh(token).status == 200


@without_sanitizer
def test_a_backup_and_a_restore_outlast_a_loss_of_power(saved, tmp_path):
    """Each file's contents reach the disk before its name does, and the directory after the last name has changed."""
    directory = tmp_path / "backups"
    directory.mkdir()
    command = [binary(), "store", "backup", "--config", saved.gateway.config_path, "--with-keys", directory / "b"]
    environment = {**os.environ, **watching(directory, tmp_path / "backup-steps")}
    subprocess.run(command, env=environment, check=True, capture_output=True, timeout=30 * PATIENCE)
    steps = [line.split(" ", 1)[1] for line in (tmp_path / "backup-steps").read_text().splitlines()]
    renamed = steps.index(f"rename {directory}/b")
    assert f"fsync {directory}/b.partial" in steps[:renamed], steps
    assert steps[-1] == f"fsync {directory}" and steps.count(f"rename {directory}/b") == 1, steps

    steps = saved.steps(tmp_path / "steps")
    record = f"{saved.state}/gatehouse.sqlite.restore-unfinished"
    first, last = steps.index(f"rename {record}"), steps.index(f"unlink {record}")
    for name in ("gatehouse.sqlite", *KEYS):
        assert any(each.startswith(f"fsync {saved.state}/{name}.restoring") for each in steps[:first]), name
        assert first < steps.index(f"rename {saved.state}/{name}") < last, name
    assert steps[first + 1] == f"fsync {saved.state}", "the record before anything it tells of"
    assert steps[last - 1] == f"fsync {saved.state}", "everything in place before the record goes"
    assert steps[last + 1] == f"fsync {saved.state}", steps[last:]
