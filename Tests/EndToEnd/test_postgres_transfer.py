"""Commands with the database that several gateways share, and `gatehouse store` between it and files."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from harness.gateway import gatehouse, gateway_config
from harness.replicas import postgres_state


class Place:
    """The configuration of a gateway that does not run, and the commands with it."""

    def __init__(self, directory: Path, name: str, changes: dict):
        self.config = gateway_config(directory, "http://127.0.0.1:1", "http://127.0.0.1:1/keys", changes=changes)
        self.state = Path(self.config["state_directory"])
        self.path = directory / f"{name}.yaml"
        self.path.write_text(json.dumps(self.config))

    def run(self, *command: object):
        return gatehouse(*command, "--config", self.path)

    def checked(self, *command: object) -> None:
        result = self.run(*command)
        assert result.returncode == 0, (command, result.stderr)


@pytest.fixture
def directory(tmp_path):
    return Place(tmp_path, "directory", {})


@pytest.fixture
def shared(tmp_path, cluster, postgres_password):
    """With the state directory of `directory`."""
    return Place(tmp_path, "shared", {"state": postgres_state(cluster.ports, postgres_password)})


def execute(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        for statement in statements:
            database.execute(statement)


def backup(directory: Place, path: Path, *options: str) -> Path:
    """One with a revocation."""
    directory.checked("revoke", "--issuer", "own", "--jti", path.stem)
    directory.checked("store", "backup", *options, path)
    return path


def test_a_backup_of_an_earlier_version_is_restored_and_stays_as_it_is(directory, shared, cluster, tmp_path):
    directory.checked("keys", "generate", "--purpose", "audit")
    older = backup(directory, tmp_path / "older.sqlite", "--with-keys")
    # The last step of the schema, and what it made.
    execute(older, "DROP TABLE password_changes", "DELETE FROM grdb_migrations WHERE identifier = 'password-changes-1'")
    before, files = older.read_bytes(), set(shared.state.iterdir())
    shared.checked("store", "restore", "--with-keys", "--replace", older)
    assert cluster.primary.sql("SELECT value FROM revocations") == [["older"]]
    assert cluster.primary.value("SELECT count(*) FROM key_rings WHERE purpose = 'audit'") == "1"
    assert older.read_bytes() == before and set(shared.state.iterdir()) == files


def test_a_backup_that_cannot_be_used_is_refused_with_the_reason(directory, shared, tmp_path):
    path = backup(directory, tmp_path / "refused.sqlite")
    good = path.read_bytes()

    def refusal() -> str:
        result = shared.run("store", "restore", "--replace", path)
        assert result.returncode == 1
        return result.stderr

    execute(path, "INSERT INTO grdb_migrations VALUES ('newer-1')")
    assert "written by a newer version of gatehouse, which knows newer-1" in refusal()
    path.write_bytes(good[:4096] + b"\0" * 4096 + good[8192:])
    assert "is damaged" in refusal()


def test_only_files_are_checked_and_the_database_is_reported(directory, shared, tmp_path):
    refused = shared.run("store", "check")
    assert refused.returncode == 64
    assert "use gatehouse store report" in refused.stderr
    shared.checked("store", "report")
    shared.checked("store", "check", backup(directory, tmp_path / "good.sqlite"))


def test_a_backup_does_not_make_the_directory_that_is_missing(shared, tmp_path):
    copy = tmp_path / "mount" / "monday.sqlite"
    result = shared.run("store", "backup", copy)
    assert result.returncode == 1 and f"{copy}: there is no directory {copy.parent}" in result.stderr
    assert not copy.parent.exists()
    copy.parent.mkdir()
    shared.checked("store", "backup", copy)
    assert [path.name for path in copy.parent.iterdir()] == [copy.name], "nothing else is left there"
    again = shared.run("store", "backup", copy)
    assert again.returncode == 1 and "is there already" in again.stderr


@pytest.mark.parametrize("command", [("token", "verify"), ("users", "list"), ("store", "report")], ids=" ".join)
def test_a_password_that_the_database_refuses_is_an_error_of_the_configuration(cluster, tmp_path, command):
    password = tmp_path / "password"
    password.write_text("of-another-database\n")
    refused = Place(tmp_path, "refused", {"state": postgres_state([cluster.primary.port], password)})
    result = refused.run(*command, "--json")
    assert result.returncode == 78 and result.stderr == "", result.stderr
    told = json.loads(result.stdout)
    (fault,) = told["faults"]
    assert told["good"] is False and told["config"] == fault["file"] == str(refused.path)
    assert fault["key"] == "state.postgres.password" and "ALTER ROLE gatehouse PASSWORD" in fault["message"]
    in_words = refused.run(*command)
    assert in_words.returncode == 78 and in_words.stdout == ""
    assert f"state.postgres.password: {fault['message']}" in in_words.stderr
