"""Certificates, client authorities, key sets and secrets follow their files, without a reload."""

import json
import os
import socket
import ssl
from pathlib import Path

import httpx
import pytest
from harness import raw
from harness.account import bearer
from harness.certificates import Authority, Issued
from harness.gateway import Gateway
from harness.keys import SigningKey
from harness.process import accepts_connections, free_port, wait_until

TOKEN = "an-admin-token-of-some-length"
IN_TIME = 5.0
REFUSED = 'gatehouse_file_changes_total{result="failure"}'
USED = 'gatehouse_file_changes_total{result="success"}'


def replace(path: Path, contents: bytes) -> None:
    """As careful software does: the file is the old one or the new one at any time."""
    new = path.with_suffix(".new")
    new.write_bytes(contents)
    new.rename(path)


class Served:
    """A gateway with two TLS listeners, client certificates at the first, a key set and secrets in files."""

    def __init__(self, start_gateway, issuer, directory: Path):
        self.authority = Authority(directory)
        self.clients = Authority(directory, "clients")
        self.phone = self.clients.issue("phone")
        self.issued, self.other = self.authority.issue("api.test"), self.authority.issue("other.test")
        self.secret, self.keys = directory / "admin.token", directory / "keys.json"
        self.header = directory / "header"
        self.secret.write_text(TOKEN + "\n")
        self.header.write_text("one")
        self.keys.write_bytes(httpx.get(issuer.server.url).content)
        tls = {"certificates": [self.issued.settings()], "client_ca": str(self.clients.pem)}
        route = {"path": "/recorded/secret", "access": "public", "upstream": "recorder"}
        self.gateway: Gateway = start_gateway(
            {
                "admin": {"token": f"file:{self.secret}"},
                "listeners": [
                    {"address": f"127.0.0.1:{free_port()}", "tls": tls},
                    {"address": f"127.0.0.1:{free_port()}", "tls": {"certificates": [self.other.settings()]}},
                ],
                "issuers": {"own": {"jwks_url": ..., "allow_insecure_http": ..., "jwks_file": str(self.keys)}},
                "routes": [
                    {**route, "request_headers": {"add": {"X-Api-Key": f"file:{self.header}"}}},
                    {"path": "/recorded/**", "access": "required", "upstream": "recorder"},
                ],
            }
        )
        wait_until(lambda: accepts_connections(self.port(1)), "the second listener")

    def port(self, number: int) -> int:
        return int(self.gateway.config["listeners"][number]["address"].rpartition(":")[2])

    def ask(self, client: Issued | None = None, number: int = 0, path: str = "/recorded/x", token: str = "") -> tuple:
        """The serial number of the certificate shown, and the status of the response."""
        context = ssl.create_default_context(cafile=str(self.authority.pem))
        if client := client or (self.phone if number == 0 else None):
            context.load_cert_chain(client.certificate, client.key)
        name = ["api.test", "other.test"][number]
        with socket.create_connection(("127.0.0.1", self.port(number)), timeout=10) as plain:
            with context.wrap_socket(plain, server_hostname=name) as tls:
                tls.sendall(raw.request_bytes("GET", path, bearer(token) if token else None))
                return tls.getpeercert()["serialNumber"], int(tls.recv(65536).split()[1])

    def serial(self, number: int = 0) -> str:
        return self.ask(number=number)[0]

    def admin(self, token: str) -> int:
        return raw.exchange(self.gateway.admin_port, "GET", "/status", bearer(token)).status


@pytest.fixture
def served(start_gateway, issuer, own_recorder, tmp_path):
    return Served(start_gateway, issuer, tmp_path)


def metric(served: Served, name: str) -> int:
    page = raw.exchange(served.gateway.admin_port, "GET", "/metrics", bearer(TOKEN)).body.decode()
    return next(int(line.rpartition(" ")[2]) for line in page.splitlines() if line.startswith(name + " "))


def used_in_time(condition, what: str) -> None:
    wait_until(condition, what, seconds=IN_TIME)


def test_a_replaced_certificate_and_key_are_served_within_five_seconds(served):
    before, other = served.serial(), served.serial(1)
    served.authority.issue("api.test")
    used_in_time(lambda: served.serial() != before, "the new certificate")
    assert served.serial(1) == other
    # That it is in use is counted and logged a moment later.
    wait_until(lambda: metric(served, USED) == 1, "the change to be counted")
    assert metric(served, REFUSED) == 0
    wait_until(lambda: "changed files are in use" in served.gateway.log(), "the log to say so")
    assert "configuration reloaded" not in served.gateway.log()


def test_an_operators_log_level_outlasts_a_changed_file_and_ends_with_a_reload(served):
    def ask(path: str, body: bytes = b"") -> dict:
        answer = raw.exchange(served.gateway.admin_port, "POST", path, {"Host": "localhost", **bearer(TOKEN)}, body)
        assert answer.status == 200, answer.body
        return answer.json()

    debug = b'{"level": "debug"}'
    assert ask("/log-level", debug)["was"] == "info"
    served.authority.issue("api.test")
    wait_until(lambda: metric(served, USED) == 1, "the new certificate to be in use")
    assert ask("/log-level", debug)["was"] == "debug"
    ask("/reload")
    assert ask("/log-level", debug)["was"] == "info"


def test_a_certificate_alone_waits_for_its_key(served):
    before, new = served.serial(), served.authority.issue("api.test", file="new")
    replace(served.issued.certificate, new.certificate.read_bytes())
    wait_until(lambda: metric(served, "gatehouse_files_refused") == 1, "the pair to be kept out")
    assert metric(served, REFUSED) == 1 and metric(served, USED) == 0
    wait_until(lambda: "changed files not used" in served.gateway.log(), "the log to say so")
    assert "tls.certificates[0].key: the key is not the certificate's" in served.gateway.log()
    assert served.serial() == before
    replace(served.issued.key, new.key.read_bytes())
    used_in_time(lambda: served.serial() != before, "the new certificate")
    wait_until(lambda: metric(served, "gatehouse_files_refused") == 0, "nothing to be kept out")
    assert metric(served, USED) == 1


@pytest.mark.parametrize("contents", [b"", b"-----BEGIN CERTIFICATE-----\nAAAA\n", None], ids=["empty", "cut", "gone"])
def test_a_faulty_file_keeps_nothing_else_out(served, contents):
    before, other = served.serial(), served.serial(1)
    if contents is None:
        served.issued.certificate.unlink()
    else:
        replace(served.issued.certificate, contents)
    served.authority.issue("other.test")
    used_in_time(lambda: served.serial(1) != other, "the other listener's certificate")
    wait_until(lambda: metric(served, "gatehouse_files_refused") == 1, "the faulty one to be kept out")
    assert served.serial() == before
    served.authority.issue("api.test")
    used_in_time(lambda: served.serial() != before, "the mended certificate")


def test_client_authorities_follow_their_file(served, tmp_path):
    others = Authority(tmp_path / "others", "clients")
    stranger = others.issue("tablet")

    def admitted(client: Issued) -> bool:
        try:
            return served.ask(client)[1] == 401
        except (ssl.SSLError, ConnectionError, IndexError):
            return False

    assert admitted(served.phone) and not admitted(stranger)
    replace(served.clients.pem, others.pem.read_bytes())
    used_in_time(lambda: admitted(stranger), "the new authority")
    assert not admitted(served.phone)


def test_key_sets_follow_their_file(served, issuer):
    new = SigningKey("new")
    token = issuer.sign(issuer.access_claims(), new)
    assert served.ask(token=token)[1] == 401
    replace(served.keys, b'{"keys": [{"kty": "RSA"')
    wait_until(lambda: metric(served, "gatehouse_files_refused") == 1, "half a key set to be kept out")
    assert served.ask(token=issuer.access())[1] == 200
    served.keys.write_text('{"keys": [%s]}' % json.dumps(new.jwk()))
    used_in_time(lambda: served.ask(token=token)[1] == 200, "the new key")
    assert served.ask(token=issuer.access())[1] == 401


def test_secrets_follow_their_files(served, own_recorder):
    def key() -> str:
        assert served.ask(path="/recorded/secret")[1] == 200
        return own_recorder.last("/recorded/secret").header("X-Api-Key")

    assert key() == "one"
    served.header.write_text("two\n")
    used_in_time(lambda: key() == "two", "the new header")
    replace(served.secret, b"another-token-of-some-length")
    used_in_time(lambda: served.admin("another-token-of-some-length") == 200, "the new token")
    assert served.admin(TOKEN) == 401
    assert "another-token" not in served.gateway.log() and "two" not in served.gateway.log()


def test_a_mounted_secret_is_replaced_by_a_link(start_gateway, own_recorder, tmp_path):
    """As the kubelet does it: all files at once, by a link to another directory."""
    authority = Authority(tmp_path)

    def directory(name: str) -> Path:
        issued = authority.issue("api.test", file=name)
        made = tmp_path / f"..{name}"
        made.mkdir()
        issued.certificate.rename(made / "tls.crt")
        issued.key.rename(made / "tls.key")
        return made

    link = tmp_path / "..data"
    link.symlink_to(directory("first"))
    for name in ["tls.crt", "tls.key"]:
        (tmp_path / name).symlink_to(f"..data/{name}")
    pair = Issued(tmp_path / "tls.crt", tmp_path / "tls.key")
    port = free_port()
    gateway = start_gateway({"listeners": [{"address": f"127.0.0.1:{port}", "tls": {"certificates": [pair.settings()]}}]})

    def serial() -> str:
        context = ssl.create_default_context(cafile=str(authority.pem))
        with socket.create_connection(("127.0.0.1", port), timeout=10) as plain:
            with context.wrap_socket(plain, server_hostname="api.test") as tls:
                return tls.getpeercert()["serialNumber"]

    before = serial()
    new = tmp_path / "..data_tmp"
    new.symlink_to(directory("second"))
    os.replace(new, link)
    used_in_time(lambda: serial() != before, "the new certificate")
    assert "not used" not in gateway.log()


def test_the_settings_file_is_not_read_with_them(served):
    """A changed file takes over what it names, and no half-edited settings with it."""
    before = served.serial()
    served.gateway.config_path.write_text("listeners: [")
    served.authority.issue("api.test")
    used_in_time(lambda: served.serial() != before, "the new certificate")


def test_a_file_that_is_the_same_again_is_not_kept_out(served):
    replace(served.secret, b"short")
    wait_until(lambda: metric(served, "gatehouse_files_refused") == 1, "the token to be kept out")
    replace(served.secret, TOKEN.encode() + b"\n")
    wait_until(lambda: metric(served, "gatehouse_files_refused") == 0, "the old token to be taken")
    assert metric(served, USED) == 0
