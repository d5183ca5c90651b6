"""docs/fastapi.md from its first command on, in an empty directory and on other ports: with nothing but what it says."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from harness import documentation
from harness.gateway import binary
from harness.process import Process, accepts_connections, free_port
from harness.sanitizer import PATIENCE

PAGE = "fastapi.md"


class Reader:
    """A directory, the page's ports as they are here, and the processes that were started."""

    def __init__(self, directory: Path):
        self.directory = directory
        self.ports = {number: str(free_port()) for number in ("8080", "8000", "9229")}
        self._processes: list[Process] = []
        (directory / "bin").mkdir(parents=True)
        (directory / "bin/gatehouse").symlink_to(binary())
        path = f"{directory / 'bin'}{os.pathsep}{os.environ['PATH']}"
        # The packages of the tests' own environment do not count.
        hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
        self.environment = {name: value for name, value in os.environ.items() if name not in hidden}
        self.environment |= {"PATH": path, "no_proxy": "127.0.0.1"}

    def block(self, name: str) -> str:
        text = documentation.block(PAGE, name)
        for number, port in self.ports.items():
            text = re.sub(rf"(:|port |port: ){number}\b", rf"\g<1>{port}", text)
        return text

    def save(self, file: str, name: str, more: str = "") -> None:
        (self.directory / file).write_text(self.block(name) + more)

    def shell(self, *names: str) -> str:
        script = "set -e\n" + "\n".join(map(self.block, names))
        result = subprocess.run(
            ["bash", "-c", script], cwd=self.directory, capture_output=True, text=True, timeout=500 * PATIENCE,
            env=self.environment, stdin=subprocess.DEVNULL,
        )
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    def start(self, command: str, number: str) -> None:
        log = self.directory / f"{number}.log"
        process = Process(["bash", "-c", f"exec {command}"], log, self.environment, self.directory)
        self._processes.append(process)
        process.wait_ready(lambda: accepts_connections(int(self.ports[number])), command)

    def stop(self) -> None:
        for process in reversed(self._processes):
            process.stop()


@pytest.fixture
def reader(run_directory):
    reader = Reader(run_directory / "fastapi")
    yield reader
    reader.stop()


@pytest.mark.timeout(600)
def test_the_page_goes_from_installing_fastapi_to_a_verified_call(reader, ledger):
    reader.shell("install")
    reader.save("app.py", "app")
    reader.save("local-pool.yaml", "local-pool")
    # Only so that the tests' gateways do not meet.
    reader.save("gatehouse.yaml", "gateway", f"\nadmin: {{address: '127.0.0.1:{free_port()}'}}\n")
    assert "good: 2 routes" in reader.shell("check")
    commands = reader.block("start").splitlines()
    for command, number in zip(commands, ("9229", "8000", "8080"), strict=True):
        reader.start(command, number)

    told = json.loads(reader.shell("sign-in", "call"))
    signed_in = json.loads((reader.directory / "signed-in.json").read_text())
    assert told == {"orders_of": signed_in["user"]["id"], "groups": ["staff"]}
    printed = [each.text for each in documentation.blocks(PAGE) if each.language == "text"]
    assert json.loads(printed[0]) | {"orders_of": told["orders_of"]} == told
    refused = json.loads(reader.shell("refused"))
    assert json.loads(printed[1]) == refused | {"requestId": "…"}
    assert f"X-Auth-Subject: {told['orders_of']}" in reader.shell("sign-in", "verify")
    for secret in (signed_in["access_token"], signed_in["refresh_token"]):
        ledger.note(secret)
