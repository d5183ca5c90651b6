"""The example services of deploy/examples, each started as its first comment says, where its runtime is installed."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from . import raw
from .deployment import checked
from .gateway import REPOSITORY
from .process import Process, accepts_connections, free_port
from .servers import NODE_MODULES, TOOLS, program

EXAMPLES = REPOSITORY / "deploy" / "examples"


def gunicorn(sources: Path, directory: Path, port: int) -> list[str]:
    command = [sys.executable, "-m", "gunicorn", "--chdir", str(sources), "--bind", f"127.0.0.1:{port}"]
    return [*command, "--threads", "4", "--graceful-timeout", "0", "orders:application"]


def node(sources: Path, directory: Path, port: int) -> list[str]:
    """The server beside the modules that it imports, as `npm install` leaves it."""
    modules = directory / "node_modules"
    modules.mkdir(parents=True)
    for name in ("express", "jose"):
        (modules / name).symlink_to(node_module(name))
    shutil.copy(sources / "server.mjs", directory)
    return [program("node", "nodejs"), str(directory / "server.mjs")]


def node_module(name: str) -> Path:
    """Where Debian's package has the module; skips where it is not on this machine."""
    found = next((modules / name for modules in NODE_MODULES if (modules / name).exists()), None)
    if not found:
        pytest.skip(f"no module {name} on this machine: deploy/test.sh gets Debian's node-{name} where there is a node")
    return found


def go(sources: Path, directory: Path, port: int) -> list[str]:
    return [str(go_build(sources, directory / "orders"))]


def go_build(sources: Path, target: Path) -> Path:
    """The program made of a directory's Go files, with the standard library alone."""
    # The cache stays between runs, so that the standard library's packages are compiled once.
    environment = ["CGO_ENABLED=0", f"GOCACHE={TOOLS / 'go-cache'}", "GOPROXY=off"]
    checked("env", "-C", sources, *environment, program("go", "golang-go"), "build", "-o", target, ".")
    return target


@dataclass
class Example:
    """A service of deploy/examples; `command` gets its sources, a directory of its own, and its port."""

    name: str
    command: Callable[[Path, Path, int], list[str]]
    # Whether its routes ignore case.
    ignores_case: bool = False

    @contextmanager
    def running(self, directory: Path, gateway_url: str, port: int | None = None) -> Iterator[int]:
        """Its port; skips the test where the runtime is not on this machine."""
        directory.mkdir(parents=True, exist_ok=True)
        port = port or free_port()
        environment = {
            "PYTHONDONTWRITEBYTECODE": "1", "NODE_PATH": os.pathsep.join(map(str, NODE_MODULES)),
            "GATEHOUSE_URL": gateway_url, "PORT": str(port),
        }
        process = Process(self.command(EXAMPLES / self.name, directory, port), directory / "example.log", environment)
        try:
            process.wait_ready(lambda: accepts_connections(port), self.name)
            yield port
        finally:
            process.stop()


SERVICES = [
    Example("django", gunicorn),
    Example("express", node, ignores_case=True),
    Example("go", go),
]


def ask(port: int, path: str, headers: dict[str, str]) -> raw.Response:
    """A request past the gateway."""
    return raw.exchange(port, "GET", path, headers=headers)
