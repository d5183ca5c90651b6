"""Real servers before real frameworks, each with the resources of `backends/flask_app.py`, believing what proxies say."""

import os
import platform
import pwd
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from . import raw
from .gateway import REPOSITORY
from .process import Process, free_port

BACKENDS = Path(__file__).parent.parent / "backends"
TOOLS = REPOSITORY / ".build" / "tools"
# Where Debian's packages have modules, installed and unpacked.
NODE_MODULES = [Path("/usr/share/nodejs"), TOOLS / "usr/share/nodejs"]
JARS = [Path("/usr/share/java"), TOOLS / "usr/share/java"]


@dataclass
class Server:
    """One server. `command` gets its port and a directory of its own."""

    name: str
    command: Callable[[int, Path], list[str]]
    environment: dict[str, str] = field(default_factory=dict)
    # A process that it needs beside it; its command gets the directory.
    beside: Callable[[Path], list[str]] | None = None
    # Whether its routes ignore case.
    ignores_case: bool = False
    # Whether its start takes seconds, so that its tests run with --long only.
    long: bool = False

    @contextmanager
    def running(self, directory: Path) -> Iterator[int]:
        """Its port; skips the test where the server is not on this machine."""
        directory.mkdir(parents=True, exist_ok=True)
        port = free_port()
        environment = {"PYTHONDONTWRITEBYTECODE": "1", **self.environment, "PORT": str(port)}
        commands = [self.beside(directory)] if self.beside else []
        commands.append(self.command(port, directory))
        processes: list[Process] = []

        def ready() -> bool:
            try:
                return raw.exchange(port, "GET", "/gu/ready").status == 200
            except (OSError, raw.ConnectionClosed):
                return False

        try:
            for number, command in enumerate(commands):
                processes.append(Process(command, directory / f"server-{number}.log", environment, BACKENDS))
            processes[-1].wait_ready(ready, self.name)
            yield port
        finally:
            for process in processes:
                process.stop()


def python(module: str, *arguments: str) -> Callable[[int, Path], list[str]]:
    """A module of this environment; `{port}` in the arguments is the server's port."""
    return lambda port, _: [sys.executable, "-m", module, *(each.format(port=port) for each in arguments)]


def program(name: str, *packages: str) -> str:
    """The path of a program that is installed, or was unpacked from Debian's packages; skips where it is not."""
    found = shutil.which(name) or next((str(path) for path in TOOLS.glob(f"usr/*bin/{name}")), None)
    if not found:
        pytest.skip(f"{name} is not on this machine: deploy/test.sh gets it from Debian's {' '.join(packages)}")
    return found


def node(port: int, directory: Path) -> list[str]:
    if not any((modules / "express").exists() for modules in NODE_MODULES):
        pytest.skip("Express is not on this machine: deploy/test.sh gets it from Debian's node-express where there is a node")
    return [program("node", "nodejs"), str(BACKENDS / "express_app.js")]


def php_fpm(directory: Path) -> list[str]:
    (directory / "fpm.conf").write_text(
        f"""[global]
error_log = {directory}/fpm-error.log
[www]
user = {pwd.getpwuid(os.getuid()).pw_name}
listen = {socket_of(directory)}
pm = static
pm.max_children = 2
"""
    )
    return [program("php-fpm8.2", "php8.2-fpm"), "-n", "-R", "-F", "-y", str(directory / "fpm.conf")]


def socket_of(directory: Path) -> str:
    """The path of php-fpm's socket, which must be short."""
    return f"/tmp/gatehouse-fpm-{os.getpid()}-{directory.name}.sock"


def nginx_php(port: int, directory: Path) -> list[str]:
    parameters = {
        "SCRIPT_FILENAME": f"{BACKENDS}/php_app.php", "SCRIPT_NAME": "/index.php", "REQUEST_URI": "$request_uri",
        "DOCUMENT_URI": "$document_uri", "QUERY_STRING": "$query_string", "REQUEST_METHOD": "$request_method",
        "CONTENT_TYPE": "$content_type", "CONTENT_LENGTH": "$content_length", "REMOTE_ADDR": "$remote_addr",
        "SERVER_NAME": "$server_name", "SERVER_PROTOCOL": "$server_protocol",
    }
    lines = "".join(f"fastcgi_param {name} {value}; " for name, value in parameters.items())
    return nginx_with(port, directory, f"location / {{ {lines} fastcgi_pass unix:{socket_of(directory)}; }}")


def apache_php(port: int, directory: Path) -> list[str]:
    apache = program("apache2", "apache2-bin")
    modules = Path(apache).parent.parent / "lib/apache2/modules"
    names = "mpm_event authz_core alias dir rewrite headers remoteip proxy proxy_fcgi".split()
    loads = "\n".join(f"LoadModule {name}_module {modules}/mod_{name}.so" for name in names)
    (directory / "apache.conf").write_text(
        f"""{loads}
ServerRoot {directory}
PidFile {directory}/apache.pid
DefaultRuntimeDir {directory}
ErrorLog {directory}/apache-error.log
Listen 127.0.0.1:{port}
ServerName gateway.test
DocumentRoot {BACKENDS}
RemoteIPHeader X-Forwarded-For
RemoteIPInternalProxy 127.0.0.1
<Directory {BACKENDS}>
Require all granted
</Directory>
<LocationMatch "^/">
SetHandler "proxy:unix:{socket_of(directory)}|fcgi://localhost"
</LocationMatch>
RewriteEngine On
RewriteRule ^ {BACKENDS}/php_app.php [L]
"""
    )
    return [apache, "-D", "FOREGROUND", "-f", str(directory / "apache.conf")]


TOMCAT_JARS = [
    *(f"tomcat10-{each}.jar" for each in "catalina coyote juli util util-scan jasper jasper-el jni api".split()),
    *(f"tomcat10-{each}-api.jar" for each in "servlet jsp el annotations jaspic".split()),
    "eclipse-jdt-core.jar",
]


def tomcat(connector: str = "", valves: str = "") -> Callable[[int, Path], list[str]]:
    """A Tomcat; gets the connector's further attributes and the engine's valves."""

    def command(port: int, directory: Path) -> list[str]:
        java = shutil.which("java")
        jars = next((each for each in JARS if all((each / name).exists() for name in TOMCAT_JARS)), None)
        if not java or not jars:
            pytest.skip(
                f"{'Tomcat' if java else 'Java'} is not on this machine: deploy/test.sh --long gets it from Debian's "
                + ("libtomcat10-java libeclipse-jdt-core-java" if java else "default-jre-headless")
            )
        (directory / "conf").mkdir(exist_ok=True)
        # All classes are on the class path, and none has tag libraries.
        (directory / "conf/catalina.properties").write_text("common.loader=\n")
        (directory / "conf/server.xml").write_text(
            f"""<Server port="-1">
<Service name="Catalina">
<Connector address="127.0.0.1" port="{port}" maxKeepAliveRequests="-1" {connector}/>
<Engine name="Catalina" defaultHost="gateway.test">
{valves}
<Host name="gateway.test" appBase="none" deployOnStartup="false" autoDeploy="false">
<Context path="" docBase="{BACKENDS}/tomcat">
<JarScanner scanClassPath="false"/>
</Context>
</Host>
</Engine>
</Service>
</Server>
"""
        )
        quick = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        places = [f"-Dcatalina.{each}={directory}" for each in ("home", "base")]
        classes = os.pathsep.join(str(jars / name) for name in TOMCAT_JARS)
        return [java, *quick, *places, "-cp", classes, "org.apache.catalina.startup.Bootstrap", "start"]

    return command


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
    return nginx_with(port, directory, locations)


def nginx_with(port: int, directory: Path, locations: str) -> list[str]:
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
# Where the libraries are of what was unpacked.
unpacked = {"LD_LIBRARY_PATH": str(TOOLS / f"usr/lib/{platform.machine()}-linux-gnu")}
SERVERS = [
    Server("gunicorn-flask", python(*GUNICORN, "flask_app:app")),
    Server("gunicorn-proxyfix", python(*GUNICORN, "flask_app:app"), {"PROXY_FIX": "1"}),
    Server("gunicorn-django", python(*GUNICORN, "django_app:wsgi")),
    Server("daphne-django", python("daphne", "-b", "127.0.0.1", "-p", "{port}", "--proxy-headers", "django_app:asgi")),
    Server("daphne-starlette", python("daphne", "-b", "127.0.0.1", "-p", "{port}", "--proxy-headers", "starlette_app:app")),
    Server("uvicorn-starlette", python(*UVICORN, "starlette_app:app")),
    Server("hypercorn-starlette", python("hypercorn", "--bind", "127.0.0.1:{port}", "starlette_app:app")),
    Server(
        "waitress-flask",
        python(
            "waitress", "--listen=127.0.0.1:{port}", "--trusted-proxy=*", "--trusted-proxy-count=1",
            "--trusted-proxy-headers=x-forwarded-for x-forwarded-proto x-forwarded-host x-forwarded-port", "flask_app:app",
        ),
    ),
    Server("werkzeug-flask", python("flask_app"), {"PROXY_FIX": "1"}),
    Server("tornado", python("tornado_app")),
    Server("express", node, {"NODE_PATH": os.pathsep.join(map(str, NODE_MODULES))}, ignores_case=True),
    Server("nginx", nginx),
    Server("nginx-php", nginx_php, unpacked, beside=php_fpm),
    Server("apache-php", apache_php, unpacked, beside=php_fpm),
    Server("tomcat", tomcat(), long=True),
    # It believes its proxy and SSLValve's headers, and decodes what Tomcat refuses unless it is told to take it.
    Server(
        "tomcat-remote-ip",
        tomcat(
            'encodedSolidusHandling="decode" allowBackslash="true" relaxedPathChars="&quot;&lt;&gt;[\\]^`{|}" '
            'rejectIllegalHeader="false"',
            '<Valve className="org.apache.catalina.valves.RemoteIpValve" internalProxies="127\\.0\\.0\\.1" '
            'protocolHeader="X-Forwarded-Proto" hostHeader="X-Forwarded-Host" portHeader="X-Forwarded-Port"/>'
            '<Valve className="org.apache.catalina.valves.SSLValve"/>',
        ),
        long=True,
    ),
]
