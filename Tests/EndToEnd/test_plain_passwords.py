"""A listener of the network that takes passwords without TLS, and without a known proxy before it: `check` and the log warn."""

import json

import pytest
import yaml
from harness import documentation, written_configuration
from harness.certificates import Authority
from harness.gateway import check, gatehouse, gateway_config, merged
from harness.process import free_port, wait_until

LOGGED = "passwords are accepted without TLS"


def advice(address: str) -> str:
    return (
        f"passwords come to {address} without TLS: add tls, or name the proxy that speaks TLS in trusted_proxies or "
        "proxy_protocol, or listen on 127.0.0.1"
    )


@pytest.fixture
def warned(tmp_path, pool):
    """Checks the tests' settings with a first listener and other changes: the warnings about passwords, as JSON has them."""

    def run(listener: dict, **changes) -> list[dict]:
        config = gateway_config(tmp_path, "http://127.0.0.1:1", "http://127.0.0.1:1/jwks.json", pool=pool)
        config = merged(config, {"listeners": [{**listener, "server_names": ["api.test"]}], **changes})
        path = tmp_path / "gatehouse.yaml"
        path.write_text(json.dumps(config, indent=2))
        told = json.loads(gatehouse("check", "--json", "--config", path).stdout)
        assert told["good"] is True, told
        found = [each for each in told["warnings"] if each["kind"] == "plain-passwords"]
        # People read the same.
        lines = [f"warning: line {each['line']}: {each['key']}: {each['text']}" for each in found]
        assert [line for line in check(path).stdout.splitlines() if "passwords" in line] == lines
        assert all(json.dumps(listener["address"]) in path.read_text().splitlines()[each["line"] - 1] for each in found)
        return [{name: each[name] for name in ("key", "text")} for each in found]

    return run


@pytest.mark.parametrize("address", ["0.0.0.0:8080", "[::]:8080", "192.0.2.7:8080", "[2001:db8::7]:80", "api.test:80"])
def test_check_warns_of_a_listener_of_the_network(warned, address):
    assert warned({"address": address}) == [{"key": "listeners[0].address", "text": advice(address)}]


@pytest.mark.parametrize(
    "listener, changes",
    [
        ({"address": "127.0.0.1:8080"}, {}),
        ({"address": "127.8.0.1:8080"}, {}),
        ({"address": "[::1]:8080"}, {}),
        ({"address": "localhost:8080"}, {}),
        ({"address": "0.0.0.0:8080", "proxy_protocol": {"trusted": ["192.0.2.1"]}}, {}),
        ({"address": "0.0.0.0:8080"}, {"trusted_proxies": ["192.0.2.1"]}),
        # It takes no password: it redirects.
        ({"address": "0.0.0.0:80", "redirect_to_https": 443}, {}),
        # Nobody signs in here.
        ({"address": "0.0.0.0:8080"}, {"sign_in": ...}),
    ],
    ids=["loopback", "another loopback", "IPv6 loopback", "localhost", "PROXY", "a trusted proxy", "redirect", "no passwords"],
)
def test_check_says_nothing_of_others(warned, listener, changes):
    assert warned(listener, **changes) == []


def test_check_says_nothing_of_tls(warned, tmp_path):
    issued = Authority(tmp_path / "certificates").issue("api.test", hours=24 * 90)
    assert warned({"address": "0.0.0.0:8443", "tls": {"certificates": [issued.settings()]}}) == []


def test_start_and_reload_warn(start_gateway, pool):
    address = f"0.0.0.0:{free_port()}"
    listeners = [{"address": address}, {"address": f"127.0.0.1:{free_port()}"}]
    gateway = start_gateway({"listeners": listeners}, pool=pool)

    def told() -> list[dict]:
        return [json.loads(line) for line in gateway.process.errors().splitlines() if f'"{LOGGED}"' in line]

    wait_until(told, "the warning at the start")
    (line,) = told()
    assert (line["level"], line["setting"], line["reason"]) == ("warning", "listeners[0].address", advice(address))
    gateway.reload({"limits": {"connections": 500}})
    wait_until(lambda: len(told()) == 2, "the warning at the reload")
    gateway.reload({"trusted_proxies": ["192.0.2.1"]})
    gateway.reload({"limits": {"connections": 501}})
    assert len(told()) == 2


def test_a_gateway_on_loopback_starts_without_a_warning(start_gateway, pool):
    gateway = start_gateway(pool=pool)
    gateway.reload({"limits": {"connections": 500}})
    assert LOGGED not in gateway.log()


@pytest.mark.parametrize(
    "page, name",
    [("README.md", "configuration"), ("getting-started.md", "local-gateway")],
)
def test_the_first_examples_give_no_reason_for_it(tmp_path, page, name):
    config = written_configuration.whole(yaml.safe_load(documentation.block(page, name)), tmp_path)
    path = tmp_path / "gatehouse.yaml"

    def warnings(**changes) -> list[str]:
        path.write_text(json.dumps(merged(config, changes)))
        result = check(path, written_configuration.environment(config))
        assert result.returncode == 0, result.stderr
        return [line for line in result.stdout.splitlines() if "passwords" in line]

    assert warnings() == []
    # It would be told: the example has what it is about.
    assert len(warnings(listeners=[{"address": "0.0.0.0:8080"}], trusted_proxies=...)) == 1
