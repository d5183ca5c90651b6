"""Real servers before real frameworks, each with the resources of `backends/flask_app.py`, believing what proxies say."""

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from . import raw
from .gateway import REPOSITORY
from .process import Process, free_port

BACKENDS = Path(__file__).parent.parent / "backends"
TOOLS = REPOSITORY / ".build" / "tools"


@dataclass
class Server:
    """One server. `command` gets its port and a directory of its own."""

    name: str
    command: Callable[[int, Path], list[str]]
    environment: dict[str, str]

    def start(self, directory: Path) -> tuple[Process, int]:
        """The running process and its port; skips the test where the server is not on this machine."""
        directory.mkdir(parents=True, exist_ok=True)
        port = free_port()
        environment = {"PYTHONDONTWRITEBYTECODE": "1", **self.environment, "PORT": str(port)}
        process = Process(self.command(port, directory), directory / "server.log", environment, BACKENDS)

        def ready() -> bool:
            try:
                return raw.exchange(port, "GET", "/gu/ready").status == 200
            except (OSError, raw.ConnectionClosed):
                return False

        process.wait_ready(ready, self.name)
        return process, port


def python(module: str, *arguments: str) -> Callable[[int, Path], list[str]]:
    """A module of this environment; `{port}` in the arguments is the server's port."""
    return lambda port, _: [sys.executable, "-m", module, *(each.format(port=port) for each in arguments)]


def program(name: str, *packages: str) -> str:
    """The path of a program that is installed, or was unpacked from Debian's packages; skips where it is not."""
    found = shutil.which(name) or next((str(path) for path in TOOLS.glob(f"usr/*bin/{name}")), None)
    if not found:
        pytest.skip(f"{name} is not on this machine: deploy/test.sh gets it from Debian's {' '.join(packages)}")
    return found


def nginx(port: int, directory: Path) -> list[str]:
    location = (
        'location {path} {{ default_type application/json; return {status} \'{{"resource":"{resource}",'
        '"method":"$request_method","host":"$host","scheme":"$http_x_forwarded_proto","client":"$remote_addr",'
        '"user":"$remote_user"}}\'; }}'
    )
    resources = [
        ("/gu/", "gu", 200), ("/gu/staff/", "staff", 200), ("/admin/", "admin", 200), ("/", "none", 404),
        ("~ ^/users/([^/]+)/", "user $1", 200),
    ]
    locations = "\n".join(location.format(path=path, resource=resource, status=status) for path, resource, status in resources)
    temporary = "".join(f"{each}_temp_path {directory}/{each}; " for each in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (directory / "nginx.conf").write_text(
        f"""daemon off; master_process off; pid {directory}/pid; error_log {directory}/error.log;
events {{}}
http {{ access_log off; {temporary}
server {{ listen 127.0.0.1:{port}; underscores_in_headers on; ignore_invalid_headers off;
set_real_ip_from 127.0.0.1; real_ip_header X-Forwarded-For;
{locations} }} }}
"""
    )
    return [program("nginx", "nginx"), "-e", str(directory / "error.log"), "-p", str(directory), "-c", str(directory / "nginx.conf")]


GUNICORN = ("gunicorn", "--bind", "127.0.0.1:{port}", "--threads", "4", "--graceful-timeout", "0", "--forwarded-allow-ips", "*")
UVICORN = ("uvicorn", "--port", "{port}", "--proxy-headers", "--forwarded-allow-ips", "*", "--log-level", "warning")
SERVERS = [
    Server("gunicorn-flask", python(*GUNICORN, "flask_app:app"), {}),
    Server("gunicorn-proxyfix", python(*GUNICORN, "flask_app:app"), {"PROXY_FIX": "1"}),
    Server("gunicorn-django", python(*GUNICORN, "django_app:wsgi"), {}),
    Server("daphne-django", python("daphne", "-b", "127.0.0.1", "-p", "{port}", "--proxy-headers", "django_app:asgi"), {}),
    Server("daphne-starlette", python("daphne", "-b", "127.0.0.1", "-p", "{port}", "--proxy-headers", "starlette_app:app"), {}),
    Server("uvicorn-starlette", python(*UVICORN, "starlette_app:app"), {}),
    Server("hypercorn-starlette", python("hypercorn", "--bind", "127.0.0.1:{port}", "starlette_app:app"), {}),
    Server(
        "waitress-flask",
        python(
            "waitress", "--listen=127.0.0.1:{port}", "--trusted-proxy=*", "--trusted-proxy-count=1",
            "--trusted-proxy-headers=x-forwarded-for x-forwarded-proto x-forwarded-host x-forwarded-port", "flask_app:app",
        ),
        {},
    ),
    Server("werkzeug-flask", python("flask_app"), {"PROXY_FIX": "1"}),
    Server("tornado", python("tornado_app"), {}),
    Server("nginx", nginx, {}),
]
