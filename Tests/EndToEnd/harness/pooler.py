"""pgbouncer in transaction mode before a server: a few connections to it for all clients."""

import shutil
import signal
from pathlib import Path

from .postgres import PASSWORD, USER, PostgresServer, own_directory, unprivileged
from .process import Process, accepts_connections, free_port, wait_until
from .servers import program


class Pooler:
    """Listens on `port` of loopback, and passes on to the server's port, or to another one that leads there.

    It takes no settings when a connection is made. Time limits are the role's then, as an operator sets them.
    """

    def __init__(self, logs: Path, server: PostgresServer, port: int | None = None, size: int = 4):
        logs.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self.directory = own_directory()
        self._size = size
        self._settings = self.directory / "pgbouncer.ini"
        self._write(port or server.port)
        (self.directory / "users").write_text(f'"{USER}" "{PASSWORD}"\n')
        for name, value in {"statement_timeout": "2s", "lock_timeout": "1s"}.items():
            server.sql(f"ALTER ROLE {USER} SET {name} = '{value}'")
        command = [*unprivileged(), program("pgbouncer", "pgbouncer"), str(self._settings)]
        self.process = Process(command, logs / "pgbouncer.log", cwd=self.directory)
        self.process.wait_ready(lambda: accepts_connections(self.port), "pgbouncer")

    def _write(self, port: int) -> None:
        self._settings.write_text(
            f"""[databases]
* = host=127.0.0.1 port={port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {self.port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {self.directory}/users
pool_mode = transaction
default_pool_size = {self._size}
server_login_retry = 1
"""
        )

    def lead_to(self, port: int) -> None:
        """Uses another server from now on, as an operator makes it do after a fail-over."""
        self._write(port)
        told = len(self.process.log())
        self.process.signal(signal.SIGHUP)
        wait_until(lambda: "got SIGHUP" in self.process.log()[told:], "pgbouncer to read its settings")

    def stop(self) -> None:
        self.process.signal(signal.SIGCONT)
        self.process.stop()
        shutil.rmtree(self.directory, ignore_errors=True)
