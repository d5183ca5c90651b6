"""The systemd unit: systemd's own judgement of it, and its command lines run as it says, with a service manager's socket
in systemd's place."""

import grp
import gzip
import json
import os
import pwd
import re
import shlex
import shutil
import signal
import socket
import subprocess
import threading

import pytest
from harness import raw
from harness.deployment import DEPLOY, checked, needs_root
from harness.gateway import REPOSITORY, binary
from harness.process import wait_until

UNIT = DEPLOY / "systemd" / "gatehouse.service"
ACCOUNT = (64999, 64999)


def directives() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    # Continued lines are one.
    for name, value in re.findall(r"(?m)^(\w+)=(.*)$", re.sub(r"\\\n *", "", UNIT.read_text())):
        found.setdefault(name, []).append(value)
    return found


def command(name: str) -> list[str]:
    (line,) = directives()[name]
    return shlex.split(line)


def settings() -> str:
    return (DEPLOY / "debian" / "gatehouse.yaml").read_text()


class ServiceManager:
    """The socket that `NOTIFY_SOCKET` names, and what has come there."""

    def __init__(self, path):
        self.messages: list[dict[str, str]] = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(path))
        os.chmod(path, 0o666)
        self._socket.setblocking(False)

    def heard(self, state: str) -> int:
        """How often it was told this so far."""
        while True:
            try:
                text = self._socket.recv(4096).decode()
            except BlockingIOError:
                return sum(state in message for message in self.messages)
            self.messages.append(dict(line.split("=", 1) for line in text.splitlines()))

    def close(self) -> None:
        self._socket.close()


def test_systemd_finds_no_fault_in_it(tmp_path):
    copy = tmp_path / "gatehouse.service"
    copy.write_text(UNIT.read_text().replace("/usr/bin/gatehouse ", f"{binary()} "))
    output = checked("systemd-analyze", "verify", "--man=no", copy)
    assert "gatehouse.service" not in output, output


def test_systemd_finds_it_hardened():
    """Exposure from 0 to 10; what ships with Debian is mostly above 9."""
    output = checked("systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager", UNIT)
    assert "OK" in output.splitlines()[-1] or "OK" in output


def test_a_stop_has_time_to_drain():
    found = directives()
    assert int(found["TimeoutStopSec"][0]) > 30
    assert found["RestartPreventExitStatus"] == ["64 78"]
    assert found["Type"] == ["notify"]


def test_a_start_has_time_to_copy_a_large_store():
    assert 3600 <= int(directives()["TimeoutStartSec"][0]) <= 4 * 3600


def test_a_hang_up_while_it_drains_is_no_reload(start_gateway, own_recorder):
    path = f"/tmp/gatehouse-notify-{os.getpid()}"
    manager = ServiceManager(path)
    release = threading.Event()
    own_recorder.on("/recorded/public/slow", lambda exchange: (release.wait(20), exchange.respond(200, b"")))
    try:
        gateway = start_gateway(
            {"upstreams": {"recorder": {"first_byte_timeout": "20s"}}}, environment={"NOTIFY_SOCKET": path})
        with raw.RawConnection(gateway.port) as connection:
            connection.send(raw.request_bytes("GET", "/recorded/public/slow"))
            own_recorder.last("/recorded/public/slow")
            gateway.process.signal(signal.SIGTERM)
            wait_until(lambda: manager.heard("STOPPING"), "STOPPING=1")
            gateway.process.signal(signal.SIGHUP)
            # A second end comes after it, and is told.
            gateway.process.signal(signal.SIGINT)
            wait_until(lambda: manager.heard("STOPPING") >= 2, "the second STOPPING=1")
            release.set()
            assert connection.response().status == 200
        assert gateway.process.wait(10) == 0
        assert manager.heard("RELOADING") == 0, manager.messages
    finally:
        release.set()
        manager.close()
        os.unlink(path)


@needs_root
def test_the_service_starts_reloads_and_stops_as_the_unit_says(deployed):
    user = ACCOUNT
    files = {"/etc/gatehouse/gatehouse.yaml": settings()}
    # A socket's path is 107 bytes at most: not every directory of a test's own is that near.
    path = f"/tmp/gatehouse-notify-{os.getpid()}"
    manager = ServiceManager(path)
    try:
        starts_reloads_and_stops(deployed, manager, path, files, user)
    finally:
        manager.close()
        os.unlink(path)


def starts_reloads_and_stops(deployed, manager, path, files, user):
    environment = {"NOTIFY_SOCKET": "/run/notify"}
    service = deployed("serve", command("ExecStart"), environment, files, user, shared={"/run/notify": path})
    wait_until(lambda: manager.heard("READY"), "READY=1")
    assert deployed.network.request("http://127.0.0.1:9901/readyz")[0] == 200

    # The check before it: systemd itself runs it in test_real_systemd.py.
    reload = shlex.split(directives()["ExecReload"][-1])
    assert reload[:2] == ["/bin/kill", "-HUP"]
    before = manager.heard("READY")
    subprocess.run([word.replace("$MAINPID", str(service.process.pid)) for word in reload], check=True)
    wait_until(lambda: manager.heard("READY") == before + 1, "READY=1 after the reload")
    reloading = next(message for message in manager.messages if "RELOADING" in message)
    assert int(reloading["MONOTONIC_USEC"]) > 0

    assert manager.messages[-1] == {"READY": "1", "STATUS": "serving"}

    # A reload that is refused has ended as well, and why is one line of no great length, whatever the file says.
    key = '"a\\u001B[2J\\nREADY=0\\n' + "x" * 900 + '"'
    (service.root.path / "etc/gatehouse/gatehouse.yaml").write_text(f"{key}: 1\nsecond: 2\n{settings()}")
    service.process.signal(signal.SIGHUP)
    wait_until(lambda: manager.heard("READY") == before + 2, "READY=1 after the refused reload")
    wait_until(lambda: "not reloaded" in service.process.log(), "the log to tell of it")
    refused = manager.messages[-1]
    assert set(refused) == {"READY", "STATUS"} and refused["READY"] == "1"
    assert refused["STATUS"].startswith("serving; the last reload failed: /etc/gatehouse/gatehouse.yaml:1"), refused
    assert refused["STATUS"].endswith("… (and 1 more)") and len(refused["STATUS"]) < 400
    assert "\x1b" not in refused["STATUS"]

    # A corrected error is forgotten.
    (service.root.path / "etc/gatehouse/gatehouse.yaml").write_text(settings())
    service.process.signal(signal.SIGHUP)
    wait_until(lambda: manager.heard("READY") == before + 3, "READY=1 after the reload")
    assert manager.messages[-1] == {"READY": "1", "STATUS": "serving"}

    service.process.signal(signal.SIGTERM)
    wait_until(lambda: manager.heard("STOPPING"), "STOPPING=1")
    assert service.process.wait(20) == 0


@needs_root
def test_a_faulty_configuration_is_not_started_again_and_again(deployed):
    """RestartPreventExitStatus= is about the main process only (systemd.service(5)): nothing may come before it that
    ends on its own."""
    assert not {"ExecStartPre", "ExecCondition"} & set(directives())
    files = {"/etc/gatehouse/gatehouse.yaml": settings() + "\nunknown_key: 1\nthreads: many\n"}
    started = deployed("serve", command("ExecStart"), {}, files, ACCOUNT)
    assert str(started.process.wait(20)) in directives()["RestartPreventExitStatus"][0].split()
    # All that a check says, it says too.
    assert "unknown_key" in started.process.log() and "threads" in started.process.log()


def test_logs_in_files_have_a_directory_that_can_be_written_and_is_rotated():
    assert directives()["ProtectSystem"] == ["strict"]
    (name,) = directives()["LogsDirectory"]
    rotation = (DEPLOY / "debian" / "gatehouse.logrotate").read_text()
    assert re.search(rf"(?m)^/var/log/{name}/\*\.log {{$", rotation)
    # A reload is refused while the configuration is faulty; files are opened anew nevertheless.
    assert "systemctl kill" in rotation and "reload" not in re.sub(r"#.*", "", rotation)
    assert f"su {directives()['User'][0]} {directives()['Group'][0]}" in rotation


def test_logrotate_takes_its_file_and_no_line_is_lost(start_gateway, own_recorder, tmp_path):
    tools = REPOSITORY / ".build" / "tools"
    program = tools / "usr" / "sbin" / "logrotate"
    assert program.exists() or shutil.which("logrotate"), "no logrotate: run deploy/test.sh"
    logs = tmp_path / "logs"
    logs.mkdir(mode=0o700)
    gateway = start_gateway({"logging": {"access_log_file": str(logs / "access.log")}})
    # In the place of systemd's.
    (tmp_path / "systemctl").write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/asked\n[ "$1" != kill ] || kill -HUP {gateway.process.pid}\n')
    (tmp_path / "systemctl").chmod(0o755)
    rotation = (DEPLOY / "debian" / "gatehouse.logrotate").read_text().replace("/var/log/gatehouse", str(logs))
    (tmp_path / "rotation").write_text(rotation.replace("su gatehouse gatehouse", f"su {account_name()}"))
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    if program.exists():
        (libraries,) = (tools / "usr" / "lib").glob("*-linux-gnu")
        environment["LD_LIBRARY_PATH"] = str(libraries)

    def lines(name: str) -> list[str]:
        return [json.loads(line)["path"] for line in (logs / name).read_text().splitlines()]

    def rotate() -> None:
        line = [program if program.exists() else "logrotate", "--force", "--state", tmp_path / "state", tmp_path / "rotation"]
        done = subprocess.run(line, env=environment, capture_output=True, text=True)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

    def ask(name: str) -> None:
        assert raw.exchange(gateway.port, "GET", f"/recorded/public/{name}").status == 200
        wait_until(lambda: f"/recorded/public/{name}" in lines("access.log"), f"{name} in the new file")

    ask("first")
    rotate()
    # Until it has heard of it, it writes to the file that was moved away.
    wait_until((logs / "access.log").exists, "the file to be opened anew")
    ask("second")
    rotate()
    wait_until((logs / "access.log").exists, "the file to be opened anew")
    ask("third")
    with gzip.open(logs / "access.log.2.gz", "rt") as oldest:
        assert [json.loads(line)["path"] for line in oldest] == ["/recorded/public/first"]
    assert lines("access.log.1") == ["/recorded/public/second"] and lines("access.log") == ["/recorded/public/third"]
    asked = (tmp_path / "asked").read_text().splitlines()
    hang_up = "kill --kill-who=main --signal=HUP gatehouse.service"
    assert asked == ["--quiet is-active gatehouse.service", hang_up] * 2


def account_name() -> str:
    """User and group of this process."""
    return f"{pwd.getpwuid(os.geteuid()).pw_name} {grp.getgrgid(os.getegid()).gr_name}"


@pytest.mark.parametrize("name", ["", "relative", "@" + "x" * 200])
def test_a_socket_that_is_none_is_left_alone(tmp_path, start_gateway, own_recorder, name):
    gateway = start_gateway(environment={"NOTIFY_SOCKET": name})
    assert gateway.admin("/healthz")[0] == 200


def test_an_abstract_socket_is_told_as_well(start_gateway, own_recorder):
    name = f"gatehouse-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind("\0" + name)
        manager.settimeout(10)
        start_gateway(environment={"NOTIFY_SOCKET": "@" + name})
        assert b"READY=1" in manager.recv(4096)
