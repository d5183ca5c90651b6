"""Pebble, an ACME server of Let's Encrypt's own for tests, with a DNS that has all names on this machine; and a directory
that answers as a test wants it."""

import contextlib
import json
import ssl
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from .certificates import Authority
from .process import Process, accepts_connections, free_port
from .sanitizer import PATIENCE
from .servers import program


class Pebble:
    """`lifetime` is that of certificates in seconds, `refused` the share of nonces that it refuses for no reason, in percent.
    The names of `elsewhere` lead to an address where nobody answers. It asks about a challenge after a random number of
    seconds below `longest_sleep`."""

    def __init__(
        self, directory: Path, http_port: int, tls_port: int, lifetime: int = 3600, refused: int = 5, elsewhere: list[str] | None = None,
        longest_sleep: int = 0,
    ):
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = self._directory = directory
        self.http_port, self.tls_port = http_port, tls_port
        self._command, self._names = program("pebble", "pebble"), program("pebble-challtestsrv", "pebble")
        self._dns = free_port()
        self.port, self._management = free_port(), free_port()
        self._authority = Authority(directory, "directory")
        issued = self._authority.issue("localhost")
        self.ca = self._authority.pem
        self.url = f"https://localhost:{self.port}/dir"
        sleep = {"PEBBLE_VA_SLEEPTIME": str(longest_sleep)} if longest_sleep else {"PEBBLE_VA_NOSLEEP": "1"}
        self._environment = {**sleep, "PEBBLE_WFE_NONCEREJECT": str(refused), "PEBBLE_AUTHZREUSE": "0"}
        config = {
            "listenAddress": f"127.0.0.1:{self.port}", "managementListenAddress": f"127.0.0.1:{self._management}",
            "certificate": str(issued.certificate), "privateKey": str(issued.key),
            "httpPort": http_port, "tlsPort": tls_port, "ocspResponderURL": "",
            "externalAccountBindingRequired": False, "certificateValidityPeriod": lifetime,
        }  # fmt: skip
        self._config = directory / "pebble.json"
        self._config.write_text(json.dumps({"pebble": config}))
        management = free_port()
        flags = ["-defaultIPv4", "127.0.0.1", "-defaultIPv6", "", "-http01", "", "-https01", "", "-tlsalpn01", ""]
        self._dns_process = Process(
            [self._names, *flags, "-dns01", f"127.0.0.1:{self._dns}", "-management", f"127.0.0.1:{management}"],
            directory / "names.log",
        )
        self._dns_process.wait_ready(lambda: accepts_connections(management), "pebble-challtestsrv")
        for name in elsewhere or []:
            data = json.dumps({"host": f"{name}.", "addresses": ["127.0.0.2"]}).encode()
            urllib.request.urlopen(f"http://127.0.0.1:{management}/add-a", data, timeout=10 * PATIENCE).close()
        self._process: Process | None = None
        self._root = ""
        self.start()

    def start(self) -> None:
        """A Pebble that knows of nothing before."""
        self._process = Process(
            [self._command, "-config", str(self._config), "-dnsserver", f"127.0.0.1:{self._dns}"],
            self._directory / "pebble.log", self._environment,
        )  # fmt: skip
        self._process.wait_ready(lambda: accepts_connections(self.port), "pebble")

    def stop(self) -> None:
        if self._process:
            self._process.stop()
            self._process = None

    def close(self) -> None:
        self.stop()
        self._dns_process.stop()

    def log(self) -> str:
        return (self._directory / "pebble.log").read_text() + (self._directory / "pebble.log.out").read_text()

    def root(self) -> str:
        """The certificate of the authority that signs, in PEM, also after its process has ended."""
        if self._process:
            context = ssl.create_default_context(cafile=str(self.ca))
            url = f"https://localhost:{self._management}/roots/0"
            with urllib.request.urlopen(url, timeout=10 * PATIENCE, context=context) as answer:
                self._root = answer.read().decode()
        return self._root

    def settings(self, **more) -> dict:
        """The section `acme` of a gateway."""
        return {"directory": self.url, "accept_terms": True, "contact": ["ops@example.com"], "ca": str(self.ca), **more}


class Directory:
    """A directory that answers each request with a status, a text, or the usual URLs with `answer` laid over them. One that
    `drips` sends its answer a byte each quarter of a second."""

    def __init__(self, directory: Path, answer: dict | str | int, drips: bool = False):
        authority = Authority(directory / "directory", "directory")
        issued = authority.issue("localhost")
        self._ca = authority.pem
        self.requests = 0
        self._is_over = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.requests += 1
                status, body = outer._response(answer)
                self.send_response(status)
                self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                for piece in [bytes([byte]) for byte in body] if drips else [body]:
                    # The client may have had enough of it.
                    with contextlib.suppress(OSError):
                        self.wfile.write(piece)
                    if drips and outer._is_over.wait(0.25):
                        return

            do_POST = do_GET

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(issued.certificate, issued.key)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._origin = f"https://localhost:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def _response(self, answer: dict | str | int) -> tuple[int, bytes]:
        if isinstance(answer, int):
            return answer, b""
        if isinstance(answer, str):
            return 200, answer.encode()
        usual = {name: f"{self._origin}/{name}" for name in ("newNonce", "newAccount", "newOrder")}
        return 200, json.dumps({**usual, **answer}).encode()

    def __enter__(self) -> "Directory":
        return self

    def __exit__(self, *_):
        self._is_over.set()
        self._server.shutdown()
        self._server.server_close()

    def settings(self) -> dict:
        return {"directory": f"{self._origin}/dir", "accept_terms": True, "ca": str(self._ca)}
