"""Whom the gateway trusts when it connects: the certificates are read once, off the event loops, and each connection is
still verified against those it is meant to trust, and no others.
"""

import json
import ssl
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from harness import raw
from harness.authority import TLSServer
from harness.certificates import Authority
from harness.gateway import binary, gateway_config
from harness.names import NameServer, mounted
from harness.process import wait_until
from harness.sanitizer import PATIENCE, SANITIZER

# Where Debian's libcurl looks.
SYSTEM = Path("/etc/ssl/certs/ca-certificates.crt")
# The gateway's own response, which takes nobody else.
NOWHERE = "/nowhere"
ROUTES = [
    {"name": "tls", "path": "/tls/**", "access": "public", "upstream": "tls"},
    {"name": "other", "path": "/other/**", "access": "public", "upstream": "other"},
    {"name": "public", "path": "/recorded/public/**", "access": "public", "upstream": "recorder"},
]

pytestmark = pytest.mark.skipif(not SYSTEM.exists(), reason=f"no {SYSTEM}")


class Closing(TLSServer):
    """Ends each connection after its response, so that every request needs a new one, unless it `keeps` them."""

    request_queue_size = 256

    def __init__(self, issued, keeps: bool = False):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(issued.certificate, issued.key)
        super().__init__(context)
        self.keeps = keeps
        self.responses = 0

    def finish_request(self, request, client_address) -> None:
        connection = "keep-alive" if self.keeps else "close"
        response = f"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: {connection}\r\n\r\n".encode()
        try:
            reader = request.makefile("rb")
            while line := reader.readline():
                if line == b"\r\n":
                    request.sendall(response)
                    self.responses += 1
                    if not self.keeps:
                        return
        except OSError:
            """It was not trusted."""


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path / "own")


@pytest.fixture
def other(tmp_path):
    return Authority(tmp_path / "other", "other")


@pytest.fixture
def bundle(tmp_path):
    """The system's certificates, and those of more authorities, in a file of the test's own."""

    def make(*authorities: Authority, name: str = "bundle.pem") -> Path:
        path = tmp_path / name
        path.write_bytes(SYSTEM.read_bytes() + b"".join(each.pem.read_bytes() for each in authorities))
        return path

    return make


@pytest.fixture
def serve(start_gateway):
    """A gateway of one event loop with the upstreams `tls` and `other`, and one without TLS."""

    def start(tls: dict, other: dict | None = None, system: Path | None = None, **changes):
        upstreams = {"tls": tls, "other": other or tls}
        within = mounted({str(SYSTEM): system}) if system else None
        return start_gateway({"threads": 1, "routes": ROUTES, "upstreams": upstreams, **changes}, within=within)

    return start


def ask(gateway, path: str = "/tls/x") -> int:
    return raw.exchange(gateway.port, "GET", path).status


def of_bundle(url: str, path: Path | None, **tls) -> dict:
    """The settings of an upstream that trusts a bundle, or the system."""
    if path:
        tls["ca"] = str(path)
    return {"url": url, "connect_timeout": "10s", **({"tls": tls} if tls else {})}


def test_the_systems_certificates_are_trusted_and_read_once(serve, authority, bundle):
    with Closing(authority.issue("127.0.0.1")) as server:
        gateway = serve(of_bundle(server.url, None), system=bundle(authority))
        costs_little(gateway, server)


def test_a_bundle_of_the_settings_is_read_once(serve, authority, bundle):
    with Closing(authority.issue("127.0.0.1")) as server:
        gateway = serve(of_bundle(server.url, bundle(authority)))
        costs_little(gateway, server)


def costs_little(gateway, server) -> None:
    """A new connection takes a fraction of the 50 ms that reading a system's bundle takes."""
    assert ask(gateway) == 200
    before, count = gateway.process.cpu_seconds(), 40
    assert [ask(gateway) for _ in range(count)] == [200] * count
    assert server.responses == count + 1
    assert SANITIZER or (gateway.process.cpu_seconds() - before) / count < 0.012


@pytest.mark.parametrize("own", [True, False], ids=["tls.ca", "system"])
def test_many_cold_connections_hold_nobody_up(serve, authority, bundle, own):
    with Closing(authority.issue("127.0.0.1")) as server:
        trusted = bundle(authority)
        gateway = serve(of_bundle(server.url, trusted if own else None), system=None if own else trusted)
        assert ask(gateway, NOWHERE) == 404
        with ThreadPoolExecutor(150) as clients:
            statuses = [clients.submit(ask, gateway) for _ in range(150)]
            longest = 0.0
            while not all(each.done() for each in statuses):
                began = time.monotonic()
                assert ask(gateway, NOWHERE) == 404
                longest = max(longest, time.monotonic() - began)
        assert {each.result() for each in statuses} == {200}
        # The clients and the server take their time as well. The event loop's own share is checked by `no_stalls`.
        assert longest < 8 * PATIENCE


def test_each_upstream_trusts_its_own_authorities_alone(serve, authority, other, bundle):
    """On one event loop, in turn: what one connection trusts says nothing for the next."""
    with Closing(authority.issue("127.0.0.1")) as first, Closing(other.issue("127.0.0.1")) as second:
        right, crossed = of_bundle(first.url, authority.pem), of_bundle(second.url, authority.pem)
        gateway = serve(right, crossed)
        assert [ask(gateway, path) for path in ("/tls/x", "/other/x") * 3] == [200, 502] * 3
        gateway = serve(right, of_bundle(second.url, other.pem))
        assert [ask(gateway, path) for path in ("/tls/x", "/other/x") * 3] == [200, 200] * 3
        # Neither is the system's, whatever was trusted before.
        gateway = serve(right, of_bundle(first.url, None))
        assert [ask(gateway, path) for path in ("/tls/x", "/other/x") * 3] == [200, 502] * 3
        gateway = serve(of_bundle(first.url, None), right, system=bundle(authority))
        assert [ask(gateway, path) for path in ("/tls/x", "/other/x") * 3] == [200, 200] * 3


def test_health_checks_trust_what_their_upstream_trusts(serve, authority, other):
    """Checks of the same server by two upstreams share no connection."""
    with Closing(authority.issue("127.0.0.1"), keeps=True) as server:
        health = {"path": "/", "interval": "100ms", "timeout": "5s", "healthy_after": 1, "unhealthy_after": 3}
        gateway = serve(
            {**of_bundle(server.url, authority.pem), "health": health},
            {**of_bundle(server.url, other.pem), "health": health},
        )

        def up(upstream: str) -> float:
            return gateway.samples()[f'gatehouse_upstream_server_up{{upstream="{upstream}",server="{server.url}"}}']

        wait_until(lambda: up("other") == 0, "the other upstream's server to be out")
        before = server.responses
        wait_until(lambda: server.responses > before + 5, "five more checks")
        assert (up("tls"), up("other")) == (1, 0)


@pytest.mark.parametrize("system", [True, False], ids=["system", "tls.ca"])
@pytest.mark.parametrize(
    ("name", "hours"), [("127.0.0.2", 48), ("127.0.0.1", -1)], ids=["for another name", "expired"]
)
def test_a_certificate_must_be_good(serve, authority, bundle, system, name, hours):
    with Closing(authority.issue(name, hours=hours)) as server:
        trusted = bundle(authority)
        gateway = serve(of_bundle(server.url, None if system else trusted), system=trusted if system else None)
        assert ask(gateway) == 502


def test_a_stranger_is_not_trusted(serve, authority, other, bundle):
    with Closing(other.issue("127.0.0.1")) as server:
        assert ask(serve(of_bundle(server.url, None), system=bundle(authority))) == 502
        assert ask(serve(of_bundle(server.url, bundle(authority)))) == 502


def test_a_reload_brings_new_authorities(serve, authority, other, tmp_path):
    with Closing(other.issue("127.0.0.1")) as server:
        path = tmp_path / "ca.pem"
        path.write_bytes(authority.pem.read_bytes())
        gateway = serve(of_bundle(server.url, path))
        assert ask(gateway) == 502
        path.write_bytes(other.pem.read_bytes())
        assert ask(gateway) == 502
        gateway.reload()
        assert ask(gateway) == 200
        path.write_bytes(authority.pem.read_bytes())
        gateway.reload()
        assert ask(gateway) == 502


def test_a_system_without_certificates_trusts_nobody(serve, authority, tmp_path):
    empty = tmp_path / "empty.pem"
    empty.write_bytes(b"")
    with Closing(authority.issue("127.0.0.1")) as server:
        gateway = serve(of_bundle(server.url, None), of_bundle(server.url, authority.pem), system=empty)
        assert ask(gateway) == 502
        assert ask(gateway, "/other/x") == 200


def test_a_command_may_end_while_certificates_are_read(run_directory, own_recorder, issuer, tmp_path):
    """OpenSSL frees its own when the process ends. A bundle of many times the usual size takes so long that it would be
    in use then."""
    names = NameServer()
    many = tmp_path / "many.pem"
    many.write_bytes(SYSTEM.read_bytes() * 20)
    directory = run_directory / "ends-while-reading"
    directory.mkdir()
    nowhere = {"upstreams": {"recorder": {"url": "https://nowhere.test"}}}
    path = directory / "gateway.yaml"
    path.write_text(json.dumps(gateway_config(directory, own_recorder.url, issuer.server.url, changes=nowhere)))
    within = [*names.within(directory), *mounted({str(SYSTEM): many})]
    try:
        command = [*within, str(binary()), "check", "--online", "--config", str(path)]
        checked = subprocess.run(command, capture_output=True, text=True, timeout=30 * PATIENCE)
    finally:
        names.stop()
    assert "https://nowhere.test: Couldn't resolve host name" in checked.stdout
    assert checked.returncode == 69


@pytest.mark.long
def test_a_change_of_the_systems_certificates_is_noticed(serve, authority, other, bundle):
    with Closing(other.issue("127.0.0.1")) as server:
        path = bundle(authority)
        gateway = serve(of_bundle(server.url, None), system=path)
        assert ask(gateway) == 502
        path.write_bytes(bundle(authority, other, name="new.pem").read_bytes())
        wait_until(lambda: ask(gateway) == 200, "the new authority to be trusted", 70, 1)
