"""TLS of the admin listener: https alone, certificates that follow their files, and who asks for health."""

import json
import os
import socket
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from cryptography import x509
from harness import raw
from harness.account import bearer
from harness.certificates import Authority, Issued
from harness.gateway import check, gatehouse, gateway_config, merged
from harness.process import free_port, wait_until

TOKEN, METRICS_TOKEN = "an-admin-token-of-some-length", "a-token-of-prometheus"
# The time that a replaced file may take.
IN_TIME = 5.0
MONTHS = 24 * 90
LOGGED = "the admin listener is reached without TLS"


def serial(issued: Issued) -> int:
    return x509.load_pem_x509_certificate(issued.certificate.read_bytes()).serial_number


class Administered:
    """A gateway with TLS on the admin listener. Questions verify it, as an operator's programs do."""

    def __init__(self, start_gateway, directory: Path, **tls):
        self.authority = Authority(directory)
        self.issued = self.issue()
        self.tls = {"certificates": [self.issued.settings()], **tls}
        admin = {"token": TOKEN, "metrics_token": METRICS_TOKEN, "tls": self.tls}
        self.gateway = start_gateway({"admin": admin})
        self.address = f"127.0.0.1:{self.gateway.admin_port}"

    def issue(self) -> Issued:
        """A new certificate and key in the files of the one before."""
        return self.authority.issue("localhost", "127.0.0.1", file="admin", hours=MONTHS)

    def context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.authority.pem))

    def ask(self, path: str, token: str | None = TOKEN, method: str = "GET", context=None) -> tuple[int, str]:
        url = f"https://localhost:{self.gateway.admin_port}{path}"
        request = urllib.request.Request(url, method=method, headers=bearer(token) if token else {})
        try:
            with urllib.request.urlopen(request, timeout=10, context=context or self.context()) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    @contextmanager
    def connected(self, context: ssl.SSLContext) -> Iterator[ssl.SSLSocket]:
        with socket.create_connection(("127.0.0.1", self.gateway.admin_port), timeout=10) as plain:
            with context.wrap_socket(plain, server_hostname="localhost") as tls:
                yield tls

    def shown(self) -> int:
        """The serial number of the certificate on the port."""
        with self.connected(self.context()) as tls:
            return int(tls.getpeercert()["serialNumber"], 16)

    def metric(self, name: str) -> int:
        _, page = self.ask("/metrics", METRICS_TOKEN)
        return next(int(line.rpartition(" ")[2]) for line in page.splitlines() if line.startswith(name + " "))

    def health(self, *arguments: object):
        return gatehouse("health", "--config", self.gateway.config_path, *arguments)


@pytest.fixture
def administered(start_gateway, own_recorder, tmp_path):
    return Administered(start_gateway, tmp_path / "authority")


# MARK: https alone


def test_every_page_and_change_goes_over_https(administered):
    wait_until(lambda: administered.ask("/readyz", None)[0] == 200, "readiness")
    assert administered.ask("/healthz", None) == (200, "ok\n")
    assert administered.ask("/", None)[0] == 200
    for path in ("/status", "/metrics", "/history", "/sessions?subject=nobody"):
        assert administered.ask(path)[0] == 200, path
    for method in ("POST", "DELETE"):
        assert administered.ask("/drain", TOKEN, method)[0] == 200
    assert administered.ask("/status", None)[0] == 401


def test_status_tells_when_the_certificate_ends(administered):
    leaf = x509.load_pem_x509_certificate(administered.issued.certificate.read_bytes())
    end = int(leaf.not_valid_after_utc.timestamp())
    page = json.loads(administered.ask("/status")[1])
    assert page["admin_certificates"] == [{"names": ["localhost"], "expires_at": end}]


def test_the_metrics_token_opens_metrics_alone(administered):
    assert administered.ask("/metrics", METRICS_TOKEN)[0] == 200
    assert administered.ask("/status", METRICS_TOKEN)[0] == 403


def test_without_tls_nobody_gets_a_response(administered):
    with socket.create_connection(("127.0.0.1", administered.gateway.admin_port), timeout=10) as plain:
        plain.sendall(raw.request_bytes("GET", "/healthz", None))
        received = b""
        try:
            while part := plain.recv(4096):
                received += part
        except ConnectionResetError:
            pass
    assert b"HTTP" not in received and b"ok" not in received


def test_http_1_1_is_spoken(administered):
    context = administered.context()
    context.set_alpn_protocols(["h2", "http/1.1"])
    with administered.connected(context) as tls:
        assert tls.selected_alpn_protocol() == "http/1.1"


def test_the_oldest_version_is_the_one_of_the_settings(start_gateway, own_recorder, tmp_path):
    administered = Administered(start_gateway, tmp_path / "authority", minimum_version="1.3")
    old = administered.context()
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises(urllib.error.URLError, match="PROTOCOL_VERSION"):
        administered.ask("/healthz", context=old)
    assert administered.ask("/healthz")[0] == 200


def test_clients_must_show_a_certificate_where_the_settings_say_so(administered, tmp_path):
    clients = Authority(tmp_path / "clients", "clients")
    administered.gateway.write_config({"admin": {"tls": {**administered.tls, "client_ca": str(clients.pem)}}})
    assert administered.ask("/reload", TOKEN, "POST")[0] == 200
    with pytest.raises(OSError):
        administered.ask("/healthz")
    assert administered.health("--alive").returncode == 1
    prober, stranger = clients.issue("prober"), administered.authority.issue("stranger")
    context = administered.context()
    context.load_cert_chain(prober.certificate, prober.key)
    assert administered.ask("/healthz", context=context)[0] == 200

    def health(issued: Issued):
        return administered.health("--alive", "--certificate", issued.certificate, "--key", issued.key)

    assert (health(prober).returncode, health(prober).stdout) == (0, "ok\n")
    assert health(stranger).returncode == 1
    mixed = administered.health("--certificate", prober.certificate, "--key", stranger.key)
    assert mixed.returncode == 1 and "is not the key of" in mixed.stderr


# MARK: Files and reloads


def test_a_replaced_certificate_is_served_in_time_and_health_follows(administered):
    before = administered.shown()
    assert before == serial(administered.issued)
    after = serial(administered.issue())
    wait_until(lambda: administered.shown() == after, "the new certificate", seconds=IN_TIME)
    wait_until(lambda: "changed files are in use" in administered.gateway.log(), "the log to say so")
    assert "configuration reloaded" not in administered.gateway.log()
    assert administered.health("--alive").returncode == 0


def test_a_faulty_pair_is_kept_out_and_reported(administered):
    before, key = administered.shown(), administered.issued.key.read_bytes()
    new = administered.issue()
    new_key = new.key.read_bytes()
    new.key.write_bytes(key)
    wait_until(lambda: administered.metric("gatehouse_files_refused") == 1, "the pair to be kept out")
    wait_until(lambda: "changed files not used" in administered.gateway.log(), "the log to say so")
    assert "admin.tls.certificates[0].key: the key is not the certificate's" in administered.gateway.log()
    assert administered.shown() == before
    # The other form of the health check holds out.
    result = gatehouse("health", "--alive", "--address", administered.address, "--ca", administered.authority.pem)
    assert result.returncode == 0, result.stdout
    new.key.write_bytes(new_key)
    wait_until(lambda: administered.shown() == serial(new), "the new certificate", seconds=IN_TIME)


def test_a_reload_ends_and_begins_tls(administered):
    gateway = administered.gateway
    gateway.write_config({"admin": {"tls": ...}})
    assert administered.ask("/reload", TOKEN, "POST")[0] == 200
    wait_until(lambda: gateway.admin("/healthz")[0] == 200, "plain text")
    gateway.write_config({"admin": {"tls": administered.tls}})
    response = raw.exchange(gateway.admin_port, "POST", "/reload", bearer(TOKEN))
    assert response.status == 200, response.body
    wait_until(lambda: administered.shown() == serial(administered.issued), "TLS")


def test_its_certificate_counts_among_those_that_end(administered, tmp_path):
    issued = administered.issued
    end = int(x509.load_pem_x509_certificate(issued.certificate.read_bytes()).not_valid_after_utc.timestamp())
    _, page = administered.ask("/metrics")
    (line,) = [
        line
        for line in page.splitlines()
        if line.startswith("gatehouse_certificate_expires_timestamp_seconds{") and administered.address in line
    ]
    assert int(float(line.rpartition(" ")[2])) == end
    administered.authority.issue("localhost", "127.0.0.1", file="admin", hours=5.5)
    told = f"warning: the certificate of localhost on {administered.address} expires in 5 hours"
    assert told in check(administered.gateway.config_path).stdout.splitlines()


# MARK: Health


def health_of(text: str | None, *arguments: object) -> int:
    before = os.environ.pop("GATEHOUSE_CONFIG_YAML", None)
    try:
        if text is not None:
            os.environ["GATEHOUSE_CONFIG_YAML"] = text
        return gatehouse("health", *arguments).returncode
    finally:
        os.environ.pop("GATEHOUSE_CONFIG_YAML", None)
        if before is not None:
            os.environ["GATEHOUSE_CONFIG_YAML"] = before


def test_health_needs_the_certificates_of_the_settings_and_no_secret(administered):
    wait_until(lambda: administered.ask("/readyz", None)[0] == 200, "readiness")
    for alive, text in (((), "ready\n"), (("--alive",), "ok\n")):
        result = administered.health(*alive)
        assert (result.returncode, result.stdout) == (0, text), result.stderr
    # As in a container, whose health check may not know the secrets.
    certificates = [{"certificate": str(administered.issued.certificate), "key": "/nowhere/admin.key"}]
    admin = {"address": administered.address, "token": "file:/nowhere/token", "tls": {"certificates": certificates}}
    assert health_of(json.dumps({"admin": admin, "threads": "many"})) == 0
    admin["address"] = f"0.0.0.0:{administered.gateway.admin_port}"
    assert health_of(json.dumps({"admin": admin})) == 0
    # Settings with TLS whose certificate cannot be had are told of, and no other address is asked in plain text.
    certificates[0]["certificate"] = "/nowhere/admin.pem"
    assert health_of(json.dumps({"admin": admin})) == 78


def test_health_by_an_address_verifies_the_name_and_the_authority(administered, tmp_path):
    def health(*arguments: object):
        return gatehouse("health", "--alive", *arguments)

    trusted = ("--ca", administered.authority.pem)
    assert health("--address", administered.address, *trusted).stdout == "ok\n"
    assert health("--address", administered.address, "--tls", *trusted).returncode == 0
    # No authority of the system has signed it, and the certificate has no such address.
    for arguments in (("--address", administered.address, "--tls"), ("--address", f"127.0.0.2:{free_port()}", *trusted)):
        assert health(*arguments).returncode == 1, arguments
    stranger = Authority(tmp_path / "stranger", "stranger")
    result = health("--address", administered.address, "--ca", stranger.pem)
    assert result.returncode == 1 and "not trusted" in result.stdout
    assert health("--address", administered.address).returncode == 1


class Impostor(BaseHTTPRequestHandler):
    """It says that it is well, whatever it is asked."""

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        self.send_response(200)
        self.send_header("Content-Length", "3")
        self.end_headers()
        self.wfile.write(b"ok\n")

    def log_message(self, *_) -> None:
        pass


@contextmanager
def impostor(issued: Issued | None) -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Impostor)
    server.asked, server.handle_error = [], lambda *_: None
    if issued:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(issued.certificate, issued.key)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_another_certificate_on_the_port_is_not_healthy(tmp_path):
    authority = Authority(tmp_path / "authority")
    own = authority.issue("localhost", "127.0.0.1", file="own")
    # Of the same authority, for the same names.
    other = authority.issue("localhost", "127.0.0.1", file="other")
    path = tmp_path / "gatehouse.yaml"

    def health(server: ThreadingHTTPServer):
        tls = {"certificates": [own.settings()]}
        path.write_text(json.dumps({"admin": {"address": f"127.0.0.1:{server.server_port}", "tls": tls}}))
        return gatehouse("health", "--alive", "--config", path)

    # The right key is enough, as the gateway's would be.
    with impostor(own) as server:
        assert health(server).returncode == 0 and server.asked == ["/healthz"]
    with impostor(other) as server:
        result = health(server)
        assert result.returncode == 1 and "(expected: a certificate of admin.tls)" in result.stdout
        assert server.asked == []
    # Nor is one without TLS.
    with impostor(None) as server:
        assert health(server).returncode == 1 and server.asked == []


@pytest.mark.parametrize(
    "arguments",
    [("--tls",), ("--ca", "ca.pem"), ("--certificate", "probe.pem"), ("--key", "probe.key"), ("--tls", "--config", "x")],
)
def test_options_that_belong_together_are_given_together(arguments):
    assert gatehouse("health", *arguments).returncode == 64


def test_options_files_must_be_good(administered, tmp_path):
    empty = tmp_path / "empty.pem"
    empty.write_text("")
    for path, words in ((empty, "holds no certificate in PEM"), (tmp_path / "none", "can't be read")):
        result = gatehouse("health", "--address", administered.address, "--ca", path)
        assert result.returncode == 1 and words in result.stderr, result


# MARK: Warnings and errors


@pytest.fixture
def checked(tmp_path):
    """The warnings of `check` about the admin listener, and its errors, with other settings of it."""

    def run(admin: dict) -> tuple[list[dict], list[str]]:
        config = gateway_config(tmp_path, "http://127.0.0.1:1", "http://127.0.0.1:1/jwks.json")
        path = tmp_path / "checked.yaml"
        path.write_text(json.dumps(merged(config, {"admin": admin}), indent=2))
        told = json.loads(gatehouse("check", "--json", "--config", path).stdout)
        warnings = [each for each in told.get("warnings", []) if each["kind"] == "plain-admin"]
        lines = [f"warning: line {each['line']}: {each['key']}: {each['text']}" for each in warnings]
        assert [line for line in check(path).stdout.splitlines() if "admin.tls" in line] == lines
        found = [{name: each[name] for name in ("key", "text")} for each in warnings]
        return found, [f"{each['key']}: {each['message']}" for each in told.get("faults", [])]

    return run


def advice(address: str, what: str = "tokens come") -> str:
    return f"{what} to {address} without TLS: add admin.tls, or listen on 127.0.0.1"


@pytest.mark.parametrize("address", ["0.0.0.0:9901", "[::]:9901", "192.0.2.7:9901", "[2001:db8::7]:9901"])
def test_check_warns_of_a_listener_of_the_network_without_tls(checked, address):
    told = {"key": "admin.address", "text": advice(address)}
    assert checked({"address": address, "token": TOKEN}) == ([told], [])
    assert checked({"address": address, "metrics_token": METRICS_TOKEN}) == ([told], [])
    told["text"] = advice(address, "metrics and status go")
    assert checked({"address": address, "allow_public_without_token": True}) == ([told], [])


def test_check_says_nothing_of_loopback_and_of_tls(checked, tmp_path):
    for address in ("127.0.0.1:9901", "127.8.0.1:9901", "[::1]:9901", "localhost:9901"):
        assert checked({"address": address, "token": TOKEN}) == ([], [])
    issued = Authority(tmp_path / "authority").issue("localhost", hours=MONTHS)
    tls = {"certificates": [issued.settings()]}
    assert checked({"address": "0.0.0.0:9901", "token": TOKEN, "tls": tls}) == ([], [])


def test_start_and_reload_warn(start_gateway, own_recorder):
    port = free_port()
    gateway = start_gateway({"admin": {"address": f"0.0.0.0:{port}", "allow_public_without_token": True}})

    def told() -> list[dict]:
        return [json.loads(line) for line in gateway.process.errors().splitlines() if f'"{LOGGED}"' in line]

    wait_until(told, "the warning at the start")
    (line,) = told()
    reason = advice(f"0.0.0.0:{port}", "metrics and status go")
    assert (line["level"], line["setting"], line["reason"]) == ("warning", "admin.address", reason)
    gateway.reload({"limits": {"connections": 500}})
    wait_until(lambda: len(told()) == 2, "the warning at the reload")


def test_a_start_with_tls_gives_no_warning(administered):
    assert LOGGED not in administered.gateway.log()


def test_check_reports_faulty_files_and_keys(checked, tmp_path):
    authority = Authority(tmp_path / "authority")
    one, two = authority.issue("one.test"), authority.issue("two.test")
    good = {"certificates": [one.settings()]}
    place = "admin.tls.certificates[0]"
    for tls, error in [
        ({"certificates": [{**one.settings(), "key": str(two.key)}]}, f"{place}.key: the key is not the certificate's"),
        ({"certificates": [{**one.settings(), "key": "/nowhere"}]}, f"{place}.key: the file can't be read"),
        ({"certificates": []}, "admin.tls.certificates: must hold at least one certificate"),
        ({}, "admin.tls.certificates: is missing"),
        # Nobody asks the directory for its name.
        ({**good, "acme": {"names": ["one.test"]}}, "admin.tls.acme: unknown key"),
    ]:
        _, faults = checked({"tls": tls})
        assert len(faults) == 1 and faults[0].startswith(error), (tls, faults)
