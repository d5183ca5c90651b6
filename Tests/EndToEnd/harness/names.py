"""A DNS server of a test's own, and a process that asks it: its own /etc/resolv.conf is mounted over the system's."""

import functools
import ipaddress
import shlex
import socket
import struct
import subprocess
import threading
from pathlib import Path

import pytest

TYPES = {1: "A", 28: "AAAA"}
SERVER_FAILURE, NO_SUCH_NAME = 2, 3


class NameServer:
    """Answers with `addresses`, after `delay` seconds. `mode` is "well", "failing" (SERVFAIL) or "silent".

    Names are in lower case without the root's dot. A name that is not there does not exist. No answer may be cached: the
    time to live is 0.
    """

    def __init__(self, addresses: dict[str, list[str]] | None = None):
        self.addresses = addresses or {}
        self.mode = "well"
        self.delay = 0.0
        # Name and type of each question.
        self.questions: list[tuple[str, str]] = []
        self._stopped = threading.Event()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.host = self._bind()
        threading.Thread(target=self._serve, daemon=True).start()

    def _bind(self) -> str:
        """resolv.conf(5) knows no ports, so that each server has an address of its own."""
        for number in range(80, 250):
            try:
                self._socket.bind((f"127.0.0.{number}", 53))
                return f"127.0.0.{number}"
            except PermissionError:
                pytest.skip("port 53 needs root")
            except OSError:
                continue
        raise AssertionError("no address is free")

    def asked(self, name: str, type: str = "A") -> int:
        return self.questions.count((name, type))

    def _serve(self) -> None:
        while not self._stopped.is_set():
            try:
                question, client = self._socket.recvfrom(4096)
            except OSError:
                return
            threading.Thread(target=self._answer, args=(question, client), daemon=True).start()

    def _answer(self, question: bytes, client) -> None:
        labels, place = [], 12
        while length := question[place]:
            labels.append(question[place + 1 : place + 1 + length].decode().lower())
            place += 1 + length
        kind = TYPES.get(struct.unpack("!H", question[place + 1 : place + 3])[0], "other")
        name = ".".join(labels)
        self.questions.append((name, kind))
        if self.mode == "silent" or self._stopped.wait(self.delay):
            return
        code, records = 0, []
        if self.mode == "failing":
            code = SERVER_FAILURE
        elif name not in self.addresses:
            code = NO_SUCH_NAME
        else:
            found = [ipaddress.ip_address(each) for each in self.addresses[name]]
            records = [each.packed for each in found if each.version == {"A": 4, "AAAA": 6}.get(kind)]
        head = question[:2] + struct.pack("!HHHHH", 0x8180 | code, 1, len(records), 0, 0)
        number = {"A": 1, "AAAA": 28}.get(kind, 0)
        answers = b"".join(struct.pack("!HHHIH", 0xC00C, number, 1, 0, len(each)) + each for each in records)
        try:
            self._socket.sendto(head + question[12 : place + 5] + answers, client)
        except OSError:
            """It has been stopped meanwhile."""

    def stop(self) -> None:
        self._stopped.set()
        # Closing alone would leave the thread in its call.
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
            last.sendto(b"\0" * 12 + b"\0\0\0", (self.host, 53))
        self._socket.close()

    def within(self, directory: Path) -> list[str]:
        """The prefix of a command that asks this server and no other; see `mounted`."""
        directory.mkdir(parents=True, exist_ok=True)
        resolver, services = directory / "resolv.conf", directory / "nsswitch.conf"
        resolver.write_text(f"nameserver {self.host}\n")
        services.write_text("hosts: files dns\n")
        return mounted({"/etc/resolv.conf": resolver, "/etc/nsswitch.conf": services})


def mounted(files: dict[str, Path]) -> list[str]:
    """The prefix of a command that finds these files at these places; skips where that is not allowed."""
    if not _may_mount():
        pytest.skip("mounting needs root and namespaces")
    script = "".join(f"mount --bind {shlex.quote(str(file))} {shlex.quote(place)} && " for place, file in files.items())
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", script + 'exec "$@"', "sh"]


@functools.cache
def _may_mount() -> bool:
    command = ["unshare", "--mount", "--propagation", "private", "mount", "--bind", "/etc/hosts", "/etc/hosts"]
    try:
        return subprocess.run(command, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False
