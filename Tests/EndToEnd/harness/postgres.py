"""PostgreSQL servers of the tests' own, and a primary with a synchronous standby. They end with the process of the tests."""

import functools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

from . import lifeline
from .process import Process, free_port, wait_until
from .sanitizer import PATIENCE
from .servers import TOOLS

# The role and the database of gateways.
USER = DATABASE = "gatehouse"
PASSWORD = "correct-horse-of-postgres-7"
SUPERUSER = "postgres"


@functools.cache
def binaries() -> Path:
    """The directory of the newest version's programs; skips where there is none."""
    found = [each for root in (TOOLS, Path("/")) for each in (root / "usr/lib/postgresql").glob("*/bin/initdb")]
    if not found:
        pytest.skip("PostgreSQL is not on this machine: deploy/test.sh gets it from Debian's postgresql-15")
    return max(found, key=lambda path: int(path.parts[-3])).parent


def unprivileged() -> list[str]:
    """The prefix of a command that refuses to run as root."""
    if os.getuid() != 0:
        return []
    return ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "--"]


def own_directory() -> Path:
    """A directory of the unprivileged user, with a short name: the path of a socket has 107 bytes at most."""
    directory = Path(tempfile.mkdtemp(prefix="gatehouse-", dir="/tmp"))
    lifeline.tie_directory(directory)
    if os.getuid() == 0:
        shutil.chown(directory, "nobody", "nogroup")
    return directory


def run(command: list[str], directory: Path, text: str | None = None, within: list[str] | None = None) -> str:
    """The output of a command of the unprivileged user. `within` is a command that enters a namespace."""
    result = subprocess.run(
        [*(within or []), *unprivileged(), *command], input=text, capture_output=True, text=True, cwd=directory, timeout=120 * PATIENCE
    )
    assert result.returncode == 0, f"{command}: {result.stdout}{result.stderr}"
    return result.stdout


@functools.cache
def template() -> Path:
    """The files of a server with the role and the database of gateways, which every server begins with a copy of."""
    directory = own_directory()
    data, initdb = directory / "data", binaries() / "initdb"
    options = ["--encoding=UTF8", "--locale=C.UTF-8", "--auth-host=scram-sha-256", "--auth-local=trust", "--no-sync"]
    run([str(initdb), f"--pgdata={data}", f"--username={SUPERUSER}", *options], directory)
    # A role without rights beyond its database, as an operator makes it.
    statements = [f"CREATE ROLE {USER} LOGIN PASSWORD '{PASSWORD}'", f"CREATE DATABASE {DATABASE} OWNER {USER}"]
    single = [str(binaries() / "postgres"), "--single", "-F", "-D", str(data), "postgres"]
    run(single, directory, "".join(f"{statement};\n" for statement in statements))
    return data


class PostgresServer:
    """One server on a free port of loopback, with its log in the directory of the test run.

    `data` is copied from the template unless it is there. A server whose disk has `size` bytes has a file system of its
    own for them, which needs root and namespaces. `within` is a command that enters a namespace, where it has `port`.
    """

    def __init__(
        self,
        logs: Path,
        name: str,
        settings: dict[str, str] | None = None,
        size: int | None = None,
        port: int | None = None,
        within: list[str] | None = None,
    ):
        logs.mkdir(parents=True, exist_ok=True)
        self.name = name
        self.log_path = logs / f"{name}.log"
        self.port = port or free_port()
        self._namespace = within or []
        self.directory = own_directory()
        self.data = self.directory / "data"
        self.settings = {
            "listen_addresses": "127.0.0.1", "unix_socket_directories": str(self.directory), "logging_collector": "off",
            "jit": "off", "max_connections": "100", "wal_keep_size": "256MB", "wal_retrieve_retry_interval": "100ms",
            "cluster_name": name, "log_line_prefix": "%m [%p] ", **(settings or {}),
        }  # fmt: skip
        self._holder = self._disk(size) if size else None
        self.process: Process | None = None
        self.copy_of(template())

    # Starts and ends

    def copy_of(self, data: Path) -> None:
        """Begins with the files of a server that does not run."""
        self.run(["mkdir", "-p", "-m", "700", str(self.data)])
        self.run(["cp", "-a", f"{data}/.", str(self.data)])

    def clear(self) -> None:
        """Removes the files of the server, which must not run."""
        self.run(["find", str(self.data), "-mindepth", "1", "-delete"])

    def run(self, command: list[str]) -> str:
        """The output of a command that sees the server's files."""
        return run(command, self.directory, within=self._within())

    def start(self, settings: dict[str, str] | None = None) -> None:
        """Returns when it takes connections. `settings` are for this start and later ones."""
        self.settings.update(settings or {})
        options = [part for name, value in self.settings.items() for part in ("-c", f"{name}={value}")]
        command = [str(binaries() / "postgres"), "-D", str(self.data), "-p", str(self.port), *options]
        told = len(self.log())
        self.process = Process([*self._namespace, *self._within(), *unprivileged(), *command], self.log_path, cwd=self.directory)
        self.process.wait_ready(lambda: "ready to accept" in self.log()[told:], f"PostgreSQL ({self.name})", 60)

    def stop(self, number: int = signal.SIGINT) -> None:
        """Ends the server in order, with its clients' connections."""
        if self.process and self.process.exit_status is None:
            self.thaw()
            self.process.signal(number)
            self.process.wait(30)
        if self.process:
            self.process.stop()

    def kill(self) -> None:
        """As the end of a machine: all its processes are killed. Its files stay."""
        assert self.process
        lifeline.kill_family(self.process.pid)
        self.process.stop()

    def freeze(self) -> None:
        """Stops all its processes, as a machine that hangs. Bytes that are sent to it wait."""
        assert self.process
        assert lifeline.stopped_family(self.process.pid)

    def thaw(self) -> None:
        assert self.process
        for pid in [*lifeline.children(self.process.pid), self.process.pid]:
            lifeline.send(pid, signal.SIGCONT)

    def remove(self) -> None:
        self.stop(signal.SIGQUIT)
        if self._holder:
            self._holder.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    def log(self) -> str:
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def cpu_seconds(self) -> float:
        """The processor time of all its processes, also of those that have ended."""
        assert self.process
        while True:
            pids = [self.process.pid, *lifeline.children(self.process.pid)]
            try:
                fields = [Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split() for pid in pids]
                break
            except FileNotFoundError:
                # One has ended in between: its time is the first one's from now on, which was read before.
                assert self.process.exit_status is None
        own = sum(int(each[11]) + int(each[12]) for each in fields)
        return (own + int(fields[0][13]) + int(fields[0][14])) / os.sysconf("SC_CLK_TCK")

    # Statements

    def sql(self, statement: str, database: str = DATABASE, seconds: float = 30) -> list[list[str]]:
        """The rows of a statement by the superuser, each as its values."""
        place = ["-h", str(self.directory), "-p", str(self.port), "-U", SUPERUSER, "-d", database]
        command = [str(binaries() / "psql"), *place, "-XAtq", "-F", "\x1f", "-v", "ON_ERROR_STOP=1", "-c", statement]
        result = subprocess.run(command, capture_output=True, text=True, timeout=seconds * PATIENCE)
        assert result.returncode == 0, f"{statement}: {result.stderr}"
        return [line.split("\x1f") for line in result.stdout.splitlines()]

    def value(self, statement: str, **more) -> str:
        ((value,),) = self.sql(statement, **more)
        return value

    def set(self, **settings: str) -> None:
        """Changes settings of the running server, for later starts as well."""
        for name, value in settings.items():
            self.sql(f"ALTER SYSTEM SET {name} = '{value}'")
            # An option of the command line would win.
            assert name not in self.settings
        self.sql("SELECT pg_reload_conf()")
        for name, value in settings.items():
            wait_until(lambda: self.value(f"SHOW {name}") == value, f"{self.name}: {name} = {value}")  # noqa: B023

    # A disk of its own

    def _within(self) -> list[str]:
        return ["nsenter", f"--mount=/proc/{self._holder.pid}/ns/mnt", "--"] if self._holder else []

    def _disk(self, size: int) -> Process:
        """The process that keeps the file system for the data: it is there for those in its namespace alone."""
        self.data.mkdir()
        user = pwd.getpwnam("nobody")
        options = f"size={size},mode=0700,uid={user.pw_uid},gid={user.pw_gid}"
        script = f'mount -t tmpfs -o {options} tmpfs "{self.data}" && echo mounted && exec sleep infinity'
        holder = Process(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c", script], self.log_path.with_suffix(".disk.log")
        )
        wait_until(lambda: holder.exit_status is not None or "mounted" in holder.output(), "a file system")
        if holder.exit_status is not None:
            pytest.skip("mounting needs root and namespaces")
        return holder

    @property
    def _ballast(self) -> Path:
        assert self._holder
        return Path(f"/proc/{self._holder.pid}/root{self.data}/ballast")

    def fill_disk(self) -> None:
        """Leaves no byte free."""
        with self._ballast.open("ab", buffering=0) as file:
            for size in (1 << 20, 4096, 1):
                try:
                    while file.write(bytes(size)) == size:
                        pass
                except OSError:
                    continue

    def free_disk(self) -> None:
        self._ballast.unlink()


class Cluster:
    """A primary with a synchronous standby: what it has confirmed is on both."""

    def __init__(self, logs: Path, settings: dict[str, str] | None = None, size: int | None = None):
        # A killed process loses nothing that it has written: only the end of the machine would.
        settings = {"fsync": "off", **(settings or {})}
        self.servers = [PostgresServer(logs, name, settings, size) for name in ("alpha", "beta")]
        self.primary, self.standby = self.servers
        try:
            self.primary.start()
            self._follow()
        except BaseException:
            self.stop()
            raise

    @property
    def ports(self) -> list[int]:
        """Those of both servers, whichever of them is the primary."""
        return [server.port for server in self.servers]

    def _follow(self) -> None:
        """Starts the standby, and returns when the primary confirms nothing without it."""
        host = f"host={self.primary.directory} port={self.primary.port}"
        conninfo = f"{host} user={SUPERUSER} application_name={self.standby.name}"
        self.standby.run(["touch", str(self.standby.data / "standby.signal")])
        self.standby.start({"primary_conninfo": conninfo})
        # As a primary it waits for no standby, until one follows it.
        self.standby.set(synchronous_standby_names="")
        self.primary.set(synchronous_standby_names=self.standby.name)
        self.wait_synchronous()

    def wait_synchronous(self) -> None:
        wait_until(
            lambda: self.primary.sql("SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming'") == [["sync"]],
            "a synchronous standby", 60,
        )  # fmt: skip

    def promote(self) -> None:
        """The standby becomes the primary. Returns when it takes writes; the old one must be away."""
        self.primary, self.standby = self.standby, self.primary
        self.primary.sql("SELECT pg_promote(true, 60)", seconds=90)
        assert self.primary.value("SELECT pg_is_in_recovery()") == "f"

    def return_read_only(self) -> None:
        """The old primary comes back with its old data. It says that it is a primary, and takes no writes."""
        self.standby.start({"default_transaction_read_only": "on"})

    def rejoin(self) -> None:
        """The old primary becomes the standby of the new one, with a copy of its data."""
        old = self.standby
        old.stop(signal.SIGQUIT)
        old.settings.pop("default_transaction_read_only", None)
        old.clear()
        place = ["-h", str(self.primary.directory), "-p", str(self.primary.port), "-U", SUPERUSER]
        command = [str(binaries() / "pg_basebackup"), *place, "-D", str(old.data), "--checkpoint=fast", "--no-sync"]
        old.run(command)
        self._follow()

    def stop(self) -> None:
        for server in self.servers:
            server.remove()
