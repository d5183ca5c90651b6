"""`gatehouse health`: what container health checks run."""

import json
import os
import pwd
import subprocess

import pytest
from harness import raw
from harness.deployment import Root, needs_root
from harness.gateway import binary, gatehouse
from harness.process import free_port
from harness.sanitizer import PATIENCE


def test_a_ready_gateway_is_healthy(gateway):
    gateway.wait_until_ready()
    address = f"127.0.0.1:{gateway.admin_port}"
    result = gatehouse("health", "--address", address)
    assert (result.returncode, result.stdout) == (0, "ready\n")
    result = gatehouse("health", "--config", gateway.config_path, "--json")
    assert result.returncode == 0
    assert json.loads(result.stdout) == {"good": True, "text": "ready"}


def test_a_gateway_without_keys_is_alive_and_not_ready(start_gateway, own_recorder):
    gateway = start_gateway(jwks_url=f"http://127.0.0.1:{free_port()}/jwks.json")
    address = f"127.0.0.1:{gateway.admin_port}"
    result = gatehouse("health", "--address", address)
    assert result.returncode == 1 and "key sets" in result.stdout
    assert gatehouse("health", "--address", address, "--alive").returncode == 0


def test_no_gateway_is_not_healthy():
    result = gatehouse("health", "--address", f"127.0.0.1:{free_port()}", "--alive")
    assert result.returncode == 1
    assert "no response" in result.stdout


def test_what_is_no_gateway_cannot_drive_the_terminal(own_recorder):
    own_recorder.on("/readyz", lambda exchange: exchange.respond(503, b"\x1b[31mred\x07\r\nnext"))
    result = gatehouse("health", "--address", own_recorder.url.removeprefix("http://"))
    assert result.returncode == 1
    assert result.stdout == "[31mred\nnext\n"


def health(text: str | None = None, *arguments: str) -> subprocess.CompletedProcess:
    environment = {name: value for name, value in os.environ.items() if name != "GATEHOUSE_CONFIG_YAML"}
    if text is not None:
        environment["GATEHOUSE_CONFIG_YAML"] = text
    return subprocess.run(
        [str(binary()), "health", *arguments], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=30 * PATIENCE,
    )


def test_without_an_address_the_settings_say_which(gateway, tmp_path):
    """As in a container with an admin listener of its own, whose health check knows none of its secrets."""
    gateway.wait_until_ready()
    for host in ("127.0.0.1", "0.0.0.0", "localhost", "${HOST}"):
        admin = {"address": f"{host}:{gateway.admin_port}", "token": "file:/nowhere/token"}
        text = json.dumps({**gateway.config, "admin": admin, "threads": "many"})
        os.environ["HOST"] = "127.0.0.1"
        try:
            assert (health(text).returncode, health(text).stdout) == (0, "ready\n"), host
            path = tmp_path / "gatehouse.yaml"
            path.write_text(text)
            assert health(None, "--config", str(path)).returncode == 0
            assert health("", "--config", str(path)).returncode == 0
        finally:
            del os.environ["HOST"]


FAULTY_SETTINGS = ["", "admin: [", "admin: {address: nowhere}", "admin: {address: '${NOT_SET}'}", "threads: 2"]


@pytest.mark.parametrize("text", FAULTY_SETTINGS)
def test_settings_that_say_no_address_are_no_fault(text):
    result = health(text)
    assert result.returncode == 1 and "no response from http://127.0.0.1:9901/readyz: " in result.stdout, result
    assert result.stdout.endswith("; asked the default address)\n") == (text != "threads: 2")


@needs_root
def test_settings_that_cannot_be_read_are_named(tmp_path):
    """As the package's for anybody but root, whose gateway has another address."""
    nobody = pwd.getpwnam("nobody")
    root = Root(tmp_path, {"/etc/gatehouse/gatehouse.yaml": "admin: {address: '127.0.0.1:1'}\n"}, (nobody.pw_uid, nobody.pw_gid))
    (root.path / "etc/gatehouse/gatehouse.yaml").chmod(0o600)
    result = subprocess.run(root.inside(["/usr/bin/gatehouse", "health"]), capture_output=True, text=True, timeout=30 * PATIENCE)
    assert result.returncode == 1 and result.stdout.startswith("no response from http://127.0.0.1:9901/readyz: "), result
    assert "(/etc/gatehouse/gatehouse.yaml:1: the settings can't be read: permission denied; asked" in result.stdout


@pytest.mark.parametrize("text", ["admin: [", "admin: {address: nowhere}", "- a list", None])
def test_settings_that_are_named_must_say_it(text, tmp_path):
    path = tmp_path / "gatehouse.yaml"
    if text is not None:
        path.write_text(text)
    result = health(None, "--config", str(path))
    assert result.returncode == 78 and result.stderr.startswith(f"{path}:"), result
    told = health(None, "--config", str(path), "--json")
    assert told.returncode == 78 and len(json.loads(told.stdout)["faults"]) == 1


@pytest.mark.parametrize("arguments", [("--address", "nowhere"), ("--timeout", "0"), ("--address", "a:1", "--config", "x")])
def test_a_wrong_command_line_is_told(arguments):
    assert gatehouse("health", *arguments).returncode == 64


def test_the_admin_pages_stay_where_they_are(gateway):
    assert raw.exchange(gateway.port, "GET", "/readyz").status == 404
