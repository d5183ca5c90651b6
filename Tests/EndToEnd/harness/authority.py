"""A certificate authority of a test's own, made with the openssl program, and a TLS server that it vouches for."""

import http.server
import ssl
import subprocess
import threading
from pathlib import Path


class Authority:
    """Files `ca`, `server` (for `api.internal`), `client` and `api.internal`, each `.pem` and `.key`. The last is for
    nothing: it has that common name, and no alternative name."""

    def __init__(self, directory: Path):
        self.directory = directory
        self._run("req", "-x509", *self._new("ca"), "-days", "2", "-subj", "/CN=Test CA", "-out", self.path("ca.pem"))
        nameless = "basicConstraints=CA:FALSE"
        certificates = {"server": "subjectAltName=DNS:api.internal", "client": nameless, "api.internal": nameless}
        for name, extension in certificates.items():
            self._run("req", *self._new(name), "-subj", f"/CN={name}", "-out", self.path(f"{name}.csr"))
            (directory / "extensions").write_text(extension + "\n")
            self._run(
                *("x509", "-req", "-in", self.path(f"{name}.csr"), "-CA", self.path("ca.pem")),
                *("-CAkey", self.path("ca.key"), "-CAcreateserial", "-days", "2"),
                *("-extfile", self.path("extensions"), "-out", self.path(f"{name}.pem")),
            )

    def path(self, name: str) -> str:
        return str(self.directory / name)

    def _new(self, name: str) -> list[str]:
        return [
            *("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", self.path(f"{name}.key"))
        ]

    @staticmethod
    def _run(*arguments: str) -> bytes:
        return subprocess.run(["openssl", *arguments], check=True, capture_output=True).stdout

    def pin(self, name: str) -> str:
        """The public key's hash as libcurl writes it."""
        public = subprocess.run(
            ["openssl", "x509", "-in", self.path(f"{name}.pem"), "-noout", "-pubkey"], check=True, capture_output=True
        ).stdout
        der = subprocess.run(
            ["openssl", "pkey", "-pubin", "-outform", "der"], input=public, check=True, capture_output=True
        ).stdout
        digest = subprocess.run(
            ["openssl", "dgst", "-sha256", "-binary"], input=der, check=True, capture_output=True
        ).stdout
        text = subprocess.run(["openssl", "base64", "-A"], input=digest, check=True, capture_output=True).stdout
        return "sha256//" + text.decode()

    def settings(self, **changes) -> dict:
        """A gateway's `tls` section; a value of `...` leaves a key out."""
        settings = {
            "ca": self.path("ca.pem"),
            "certificate": self.path("client.pem"),
            "key": self.path("client.key"),
            "server_name": "api.internal",
            **changes,
        }
        return {key: value for key, value in settings.items() if value is not ...}

    def server(self, name: str = "server") -> "TLSServer":
        return TLSServer(self.context(name))

    def context(self, name: str = "server") -> ssl.SSLContext:
        """The server's, which wants the client's certificate too."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.path(f"{name}.pem"), self.path(f"{name}.key"))
        context.load_verify_locations(self.path("ca.pem"))
        context.verify_mode = ssl.CERT_REQUIRED
        return context


class TLSServer(http.server.ThreadingHTTPServer):
    """Answers with the name it was asked for and the common name of the client's certificate."""

    daemon_threads = True

    def __init__(self, context: ssl.SSLContext):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked_for = ""
        self.use(context)

    def use(self, context: ssl.SSLContext) -> None:
        """Takes new connections with these certificates."""
        context.sni_callback = self._remember
        self.context = context

    def get_request(self):
        connected, address = super().get_request()
        return self.context.wrap_socket(connected, server_side=True, do_handshake_on_connect=False), address

    def _remember(self, _socket, name: str | None, _context) -> None:
        self.asked_for = name or ""

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, *_) -> None:
        """Handshakes fail on purpose here."""

    def __enter__(self) -> "TLSServer":
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_) -> None:
        self.shutdown()
        self.server_close()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body are two writes, and the second must not wait for an acknowledgement of the first.
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        subject = dict(pair for part in self.connection.getpeercert()["subject"] for pair in part)
        body = f"{self.server.asked_for} {subject['commonName']}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_) -> None:
        pass
