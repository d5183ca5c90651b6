"""`gatehouse health`: what container health checks run."""

import json

import pytest
from harness import raw
from harness.gateway import gatehouse
from harness.process import free_port


def test_a_ready_gateway_is_healthy(gateway):
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
    assert "no answer" in result.stdout


def test_what_is_no_gateway_cannot_drive_the_terminal(own_recorder):
    own_recorder.on("/readyz", lambda exchange: exchange.respond(503, b"\x1b[31mred\x07\r\nnext"))
    result = gatehouse("health", "--address", own_recorder.url.removeprefix("http://"))
    assert result.returncode == 1
    assert result.stdout == "[31mred\nnext\n"


@pytest.mark.parametrize("arguments", [("--address", "nowhere"), ("--timeout", "0"), ("--address", "a:1", "--config", "x")])
def test_a_wrong_command_line_is_told(arguments):
    assert gatehouse("health", *arguments).returncode == 64


def test_the_admin_pages_stay_where_they_are(gateway):
    assert raw.exchange(gateway.port, "GET", "/readyz").status == 404
