"""A certificate that has expired or is about to: what `check`, the log and the metrics say before clients do."""

import json

import pytest
from cryptography import x509
from harness.certificates import Authority, Issued
from harness.gateway import check, gatehouse
from harness.process import free_port, wait_until

METRIC = "gatehouse_certificate_expires_timestamp_seconds"
DAY = 24


@pytest.fixture
def authority(tmp_path) -> Authority:
    return Authority(tmp_path / "certificates")


def listener(*certificates: Issued) -> dict:
    section = {"certificates": [certificate.settings() for certificate in certificates]}
    return {"address": f"127.0.0.1:{free_port()}", "tls": section, "server_names": ["api.test"]}


def settings(tmp_path, *certificates: Issued):
    """A file with a listener that shows these, and the listener's address."""
    secure = listener(*certificates)
    config = {
        "listeners": [secure],
        "upstreams": {"api": {"url": "http://127.0.0.1:1"}},
        "routes": [{"path": "/**", "upstream": "api", "access": "public"}],
        "state_directory": str(tmp_path),
    }
    path = tmp_path / "gatehouse.json"
    path.write_text(json.dumps(config))
    return path, secure["address"]


def end(issued: Issued) -> int:
    return int(x509.load_pem_x509_certificate(issued.certificate.read_bytes()).not_valid_after_utc.timestamp())


@pytest.mark.parametrize(
    ("hours", "words", "kind"),
    [
        (-3 * DAY - 1, "expired 3 days ago: clients refuse it", "certificate-expired"),
        (-0.1, "expired less than an hour ago: clients refuse it", "certificate-expired"),
        (5.5, "expires in 5 hours", "certificate-expires"),
        (1 * DAY + 1, "expires in 1 day", "certificate-expires"),
        (14 * DAY - 1, "expires in 13 days", "certificate-expires"),
    ],
)
def test_check_warns_and_finds_no_fault(tmp_path, authority, hours, words, kind):
    other = authority.issue("far.test", hours=90 * DAY)
    issued = authority.issue("api.test", "www.api.test", hours=hours)
    path, address = settings(tmp_path, other, issued)
    result = check(path)
    assert result.returncode == 0, result.stderr
    text = f"the certificate of api.test on {address} {words}"
    assert result.stdout.splitlines()[1:] == [f"warning: {text}"]
    told = json.loads(gatehouse("check", "--json", "--config", path).stdout)
    assert told["good"] is True
    assert told["warnings"] == [
        {"kind": kind, "listener": address, "names": ["api.test", "www.api.test"], "expires_at": end(issued), "text": text}
    ]


def test_check_says_nothing_of_one_whose_end_is_far(tmp_path, authority):
    path, _ = settings(tmp_path, authority.issue("api.test", hours=14 * DAY + 1))
    assert len(check(path).stdout.splitlines()) == 1
    assert json.loads(gatehouse("check", "--json", "--config", path).stdout)["warnings"] == []


def test_start_and_reload_warn_and_metrics_tell_the_end(start_gateway, authority):
    plain = {"address": f"127.0.0.1:{free_port()}"}
    expired, far = authority.issue("api.test", hours=-2 * DAY - 1), authority.issue("far.test", hours=90 * DAY)
    secure = listener(expired, far)
    gateway = start_gateway({"listeners": [plain, secure]})

    def told() -> dict[str, int]:
        prefix = f'{METRIC}{{listener="{secure["address"]}",certificate='
        return {name.removeprefix(prefix): int(value) for name, value in gateway.samples().items() if METRIC in name}

    def warned() -> list[str]:
        return [line for line in gateway.log().splitlines() if "a certificate has expired or is about to" in line]

    wait_until(warned, "the warning at the start")
    assert len(warned()) == 1 and f"api.test on {secure['address']} expired 2 days ago" in warned()[0]
    assert told() == {'"api.test"}': end(expired), '"far.test"}': end(far)}
    # Renewed: the file is read when the gateway is told to, and there is no more to warn of.
    renewed = authority.issue("api.test", hours=90 * DAY)
    assert told()['"api.test"}'] < end(renewed)
    gateway.reload()
    assert told() == {'"api.test"}': end(renewed), '"far.test"}': end(far)}
    assert len(warned()) == 1
    authority.issue("api.test", hours=13 * DAY + 1)
    gateway.reload()
    wait_until(lambda: len(warned()) > 1, "the warning at the reload")
    assert len(warned()) == 2 and "expires in 13 days" in warned()[1]
