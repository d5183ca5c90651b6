"""docs/getting-started.md, step by step, on other ports: its service, its local pool, its configurations and commands."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from harness import documentation, raw
from harness.gateway import REPOSITORY, binary, check
from harness.process import Process, accepts_connections, free_port

PAGE = "getting-started.md"


class Trial:
    """The directory that a reader works in, with the three processes of the page."""

    def __init__(self, directory: Path):
        self.directory = directory
        # As the page has them: gateway, service, pool.
        self.ports = {number: str(free_port()) for number in ("8080", "8000", "9229")}
        self.environment: dict[str, str] = {}
        self._processes: list[Process] = []
        (directory / "bin").mkdir(parents=True)
        (directory / "bin/gatehouse").symlink_to(binary())

    def block(self, name: str) -> str:
        text = documentation.block(PAGE, name)
        for number, port in self.ports.items():
            text = text.replace(f":{number}", f":{port}").replace(f"port: {number}", f"port: {port}")
        return text

    def save(self, file: str, name: str, more: str = "") -> None:
        (self.directory / file).write_text(self.block(name) + more)

    def start(self, number: str, *command: str) -> None:
        log = self.directory / f"{number}.log"
        process = Process([*command], log, self.environment, self.directory)
        self._processes.append(process)
        process.wait_ready(lambda: accepts_connections(int(self.ports[number])), command[1])

    def shell(self, *names: str) -> str:
        """The output of the page's commands."""
        path = f"{self.directory / 'bin'}{os.pathsep}{os.environ['PATH']}"
        script = "set -e\n" + "\n".join(map(self.block, names))
        result = subprocess.run(
            ["bash", "-c", script], cwd=self.directory, capture_output=True, text=True, timeout=60,
            env={**os.environ, "PATH": path, "no_proxy": "*", **self.environment}, stdin=subprocess.DEVNULL,
        )
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    def stop(self) -> None:
        for process in reversed(self._processes):
            process.stop()


@pytest.fixture
def trial(run_directory):
    trial = Trial(run_directory / "getting-started")
    yield trial
    trial.stop()


def printed(page: str, name: str) -> str:
    """The output that a page shows behind the commands of this name."""
    blocks = documentation.blocks(page)
    position = next(index for index, each in enumerate(blocks) if each.name == name)
    assert blocks[position + 1].language == "text"
    return blocks[position + 1].text


def test_the_reader_gets_to_a_verified_call(trial, ledger):
    trial.save("app.py", "app")
    trial.save("local-pool.yaml", "local-pool")
    trial.save("gatehouse.yaml", "local-gateway", f"\nadmin:\n  address: 127.0.0.1:{free_port()}\n")
    assert trial.shell("check") == printed(PAGE, "check").replace("8080", trial.ports["8080"])
    trial.environment["COGNITO_CLIENT_SECRET"] = re.search(r"secret: (\S+)", trial.block("local-pool"))[1]

    trial.start("9229", str(binary()), "local-pool", "--config", "local-pool.yaml")
    service = ["-m", "uvicorn", "app:app", "--host", "127.0.0.1", "--port", trial.ports["8000"]]
    trial.start("8000", sys.executable, *service)
    trial.start("8080", str(binary()), "serve", "--config", "gatehouse.yaml")

    told = json.loads(trial.shell("sign-in", "call"))
    signed_in = json.loads((trial.directory / "signed-in.json").read_text())
    assert told == {"orders_of": signed_in["user"]["id"]}
    assert told.keys() == json.loads(printed(PAGE, "call")).keys()
    shown, refused = json.loads(printed(PAGE, "refused")), json.loads(trial.shell("refused"))
    assert {**refused, "requestId": "…"} == shown
    gateway = int(trial.ports["8080"])
    assert raw.exchange(gateway, "GET", "/health").json() == {"status": "ok"}
    assert raw.exchange(gateway, "GET", "/docs").status == 404
    # The search of the logs looks for them.
    for secret in (signed_in["access_token"], signed_in["refresh_token"]):
        ledger.note(secret)


def test_the_configuration_for_a_real_pool_is_good(tmp_path):
    path = tmp_path / "gatehouse.yaml"
    path.write_text(documentation.block(PAGE, "real-gateway"))
    result = check(path, {"COGNITO_CLIENT_SECRET": "not-a-real-secret"})
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_output_shown_is_the_quickstarts():
    script = (REPOSITORY / "deploy/quickstart.sh").read_text()
    block = next(each.text for each in documentation.blocks(PAGE) if each.language == "text")
    for line in filter(None, block.splitlines()):
        words = re.sub(r"^ +(ok  )?|[:] .*| +\S*….*$", "", line) if line.startswith(" ") else line
        assert words in script, words
