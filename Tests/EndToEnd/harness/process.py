"""Starting, watching and ending one process; waiting for a condition with a deadline."""

import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from . import lifeline
from .sanitizer import PATIENCE, SANITIZER

STARTUP_SECONDS = 20.0


_given: set[int] = set()
_share = (0, 1)
# Of these the kernel gives none by itself, to a connection or to whoever binds port 0: a port that was found free stays so
# until it is listened on (ip(7), ip_local_port_range).
_PORTS = range(10_000, max(20_000, int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])))


def share_ports(share: int, of: int) -> None:
    """From now on takes only every `of`th port, so that processes that test side by side never take the same."""
    global _share
    _share = (share, of)


def free_port() -> int:
    """A port that nobody listens on, another one each time."""
    share, of = _share
    mine = [port for port in _PORTS if port % of == share and port not in _given]
    while True:
        # At random: the ports of the run before may wait for the end of their connections.
        port = mine.pop(random.randrange(len(mine)))
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        _given.add(port)
        return port


# Bound, and never listened on: nobody else gets the port, and who connects is refused.
_silent = socket.socket()
_silent.bind(("127.0.0.1", 0))
SILENT_PORT: int = _silent.getsockname()[1]


def wait_until(condition: Callable[[], object], what: str, seconds: float = 10.0, interval: float = 0.02):
    """Polls until `condition` returns something true, and returns it; fails naming `what` after `seconds`."""
    seconds *= PATIENCE
    end = time.monotonic() + seconds
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > end:
            raise AssertionError(f"waited {seconds} s in vain for: {what}")
        time.sleep(interval)


def accepts_connections(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE).close()
        return True
    except OSError:
        return False


class Process:
    """A child with its standard output in `<log>.out` and its standard error in `log`.

    It is only ever signalled through its own process id. It ends with the process of the tests, however that ends.
    """

    def __init__(self, arguments: list[str], log: Path, environment: dict[str, str] | None = None, cwd: Path | None = None):
        self.log_path = log
        self.output_path = log.with_name(log.name + ".out")
        self._output = self.output_path.open("ab")
        self._errors = log.open("ab")
        self._popen = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=self._errors,
            env={**os.environ, **(environment or {})},
            cwd=cwd,
        )
        lifeline.tie(self._popen.pid)

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def exit_status(self) -> int | None:
        return self._popen.poll()

    def log(self) -> str:
        """Everything written so far, standard output first."""
        return self.output() + self.errors()

    def errors(self) -> str:
        return self.log_path.read_text(errors="replace")

    def output(self) -> str:
        return self.output_path.read_text(errors="replace")

    def wait_ready(self, ready: Callable[[], object], what: str, seconds: float = STARTUP_SECONDS) -> None:
        def check():
            if self.exit_status is not None:
                raise AssertionError(f"{what} ended with {self.exit_status} while starting:\n{self.log()[-4000:]}")
            return ready()

        try:
            wait_until(check, f"{what} to be ready", seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.log()[-4000:]}") from None

    def signal(self, number: int) -> None:
        self._popen.send_signal(number)

    def wait(self, seconds: float) -> int:
        """The exit status; fails when the process has not ended after `seconds`."""
        try:
            return self._popen.wait(seconds * PATIENCE)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"process {self.pid} did not end within {seconds * PATIENCE} s:\n{self.log()[-4000:]}") from None

    def stop(self, seconds: float = 20) -> int:
        """SIGTERM, and SIGKILL for what does not go in time."""
        if self._popen.poll() is None:
            self._popen.send_signal(signal.SIGTERM)
            try:
                self._popen.wait(seconds * PATIENCE)
            except subprocess.TimeoutExpired:
                self._popen.kill()
                self._popen.wait(10)
        self._output.close()
        self._errors.close()
        return self._popen.returncode

    def cpu_seconds(self) -> float:
        """The process's processor time so far in seconds, in steps of the kernel's clock (a hundredth of a second)."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def cpu_nanoseconds(self) -> int:
        """The process's processor time so far, with all its threads, by the kernel's clock for it (`clock_getcpuclockid`)."""
        return time.clock_gettime_ns(~self.pid << 3 | 2)

    def resident_bytes(self) -> int:
        """Nothing under a sanitizer, whose shadows and freed memory would be counted: what a test claims about memory
        is then not looked at, and the rest of it is."""
        if SANITIZER:
            return 0
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise AssertionError(f"process {self.pid} has no VmRSS")
