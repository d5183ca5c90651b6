"""Files that are broken when a reload reads them: the old ones keep serving, and log and `/status` say why."""

import shutil
import signal
import socket
import ssl
from pathlib import Path

import httpx
import pytest
from harness import raw
from harness.account import bearer
from harness.certificates import Authority
from harness.gateway import Gateway
from harness.process import free_port, wait_until

TOKEN = "an-admin-token-of-some-length"


def vanish(path: Path) -> None:
    path.unlink()


def halve(path: Path) -> None:
    """As a copy that is under way leaves it."""
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def fill_with_rubbish(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 8)


def become_a_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGE = [vanish, halve, empty, fill_with_rubbish, become_a_directory]


class Served:
    """A gateway with TLS, client certificates and a file of everything that a reload reads."""

    def __init__(self, start_gateway, issuer, directory: Path):
        self.authority = Authority(directory)
        self.issued, self.clients = self.authority.issue("api.test"), Authority(directory, "clients")
        # The server's own, then its chain.
        with self.issued.certificate.open("ab") as chain:
            chain.write(self.authority.pem.read_bytes())
        self.client, self.own = self.clients.issue("phone"), self.clients.issue("gateway")
        self.backends = Authority(directory, "backends").pem
        self.secret, self.keys = directory / "admin.token", directory / "keys.json"
        self.secret.write_text(TOKEN)
        self.keys.write_bytes(httpx.get(issuer.server.url).content)
        tls = {"certificates": [self.issued.settings()], "client_ca": str(self.clients.pem)}
        own = {"jwks_url": ..., "allow_insecure_http": ..., "jwks_file": str(self.keys)}
        self.gateway: Gateway = start_gateway(
            {
                "admin": {"token": f"file:{self.secret}"},
                "listeners": [{"address": f"127.0.0.1:{free_port()}", "tls": tls}],
                "upstreams": {"spare": {"url": "https://127.0.0.1:9", "tls": {"ca": str(self.backends), **self.own.settings()}}},
                "issuers": {"own": own},
            }
        )
        self.token = bearer(issuer.access())
        self.serial = self.shown()

    def shown(self) -> str:
        """The serial number of the certificate that a client is shown, once a request was served."""
        context = ssl.create_default_context(cafile=str(self.authority.pem))
        context.load_cert_chain(self.client.certificate, self.client.key)
        with socket.create_connection(("127.0.0.1", self.gateway.port), timeout=10) as plain:
            with context.wrap_socket(plain, server_hostname="api.test") as tls:
                tls.sendall(raw.request_bytes("GET", "/recorded/required/x", self.token))
                assert tls.recv(65536).startswith(b"HTTP/1.1 200 ")
                return tls.getpeercert()["serialNumber"]

    def ask(self, method: str, path: str) -> tuple[int, dict]:
        answer = raw.exchange(self.gateway.admin_port, method, path, bearer(TOKEN))
        return answer.status, answer.json()


@pytest.fixture
def served(start_gateway, issuer, own_recorder, tmp_path):
    return Served(start_gateway, issuer, tmp_path)


def assert_refused(served: Served, told: str) -> None:
    """A reload changes nothing, and everywhere one looks it is said why."""
    code, answer = served.ask("POST", "/reload")
    assert code == 422, answer
    assert any(told in fault for fault in answer["faults"]), answer
    page = served.ask("GET", "/status")[1]["configuration"]
    assert page["faults"] == answer["faults"]
    for fault in answer["faults"]:
        wait_until(lambda fault=fault: fault in served.gateway.log(), f"the log to say: {fault}")
    assert served.shown() == served.serial


def assert_mended(served: Served) -> None:
    assert served.ask("POST", "/reload")[0] == 200
    assert served.ask("GET", "/status")[1]["configuration"]["faults"] == []
    served.shown()


FILES = {
    "configuration": (lambda served: served.gateway.config_path, lambda path: path.name),
    "certificate": (lambda served: served.issued.certificate, lambda path: "tls.certificates[0]."),
    "key": (lambda served: served.issued.key, lambda path: "tls.certificates[0].key"),
    "client authority": (lambda served: served.clients.pem, lambda path: "tls.client_ca"),
    "upstream's authority": (lambda served: served.backends, lambda path: "upstreams.spare.tls.ca"),
    "upstream's certificate": (lambda served: served.own.certificate, lambda path: "upstreams.spare.tls.certificate"),
    "upstream's key": (lambda served: served.own.key, lambda path: "upstreams.spare.tls.key"),
    "key set": (lambda served: served.keys, lambda path: "issuers.own.jwks_file"),
    "secret": (lambda served: served.secret, lambda path: "admin.token"),
}


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("name", FILES)
def test_a_broken_file_leaves_the_old_ones_serving(served, tmp_path, name, damage):
    file, told = FILES[name]
    path = file(served)
    keep = tmp_path / "kept"
    shutil.copy(path, keep)
    damage(path)
    assert_refused(served, told(path))
    if path.is_dir():
        path.rmdir()
    shutil.copy(keep, path)
    assert_mended(served)


def test_half_a_chain_is_no_certificate(served):
    """The first certificate is whole, and clients without the second one would trust nobody."""
    whole = served.issued.certificate.read_bytes()
    served.issued.certificate.write_bytes(whole[:-200])
    assert_refused(served, "tls.certificates[0].certificate")
    served.issued.certificate.write_bytes(whole)
    assert_mended(served)


def test_a_new_certificate_before_its_key_waits_for_it(served):
    """As whoever renews writes them, one after the other."""
    key = served.issued.key.read_bytes()
    served.authority.issue("api.test")
    new_key = served.issued.key.read_bytes()
    served.issued.key.write_bytes(key)
    assert_refused(served, "tls.certificates[0].key: the key is not the certificate's")
    served.issued.key.write_bytes(new_key)
    assert_mended(served)
    assert served.shown() != served.serial


def test_a_hang_up_is_told_the_same_way(served):
    halve(served.gateway.config_path)
    served.gateway.process.signal(signal.SIGHUP)
    wait_until(lambda: served.ask("GET", "/status")[1]["configuration"]["failed_reloads"] == 1, "the reload to fail")
    assert served.ask("GET", "/status")[1]["configuration"]["faults"]
    assert served.shown() == served.serial
