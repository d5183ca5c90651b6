"""Where settings come from: a file, standard input, or the environment alone."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from harness import raw
from harness.gateway import binary, gateway_config
from harness.process import Process, accepts_connections, free_port
from harness.sanitizer import PATIENCE

SECRET = "backend-key-that-nobody-may-see"


@pytest.fixture
def config(run_directory, tmp_path, own_recorder, issuer):
    return gateway_config(tmp_path, own_recorder.url, issuer.server.url)


def run(arguments, standard_input="", environment=None):
    return subprocess.run(
        [str(binary()), *arguments], input=standard_input, capture_output=True, text=True, timeout=30 * PATIENCE,
        env={**os.environ, **(environment or {})},
    )


def test_standard_input(config):
    result = run(["check", "--config", "-"], json.dumps(config))
    assert result.returncode == 0
    assert result.stdout.startswith("standard-input: good")
    result = run(["check", "--config", "-"], json.dumps(config)[:-1])
    assert result.returncode == 78 and result.stderr.startswith("standard-input:")


def test_the_environment_alone(tmp_path, config, own_recorder):
    """A container without a file: the settings, and in them another variable."""
    port = int(config["listeners"][0]["address"].rsplit(":", 1)[1])
    config["routes"][0]["request_headers"] = {"add": {"X-Api-Key": "${BACKEND_KEY}"}}
    environment = {"GATEHOUSE_CONFIG_YAML": json.dumps(config), "BACKEND_KEY": SECRET}
    gateway = Process([str(binary()), "serve"], tmp_path / "gateway.log", environment)
    try:
        gateway.wait_ready(lambda: accepts_connections(port), "the gateway")
        assert raw.exchange(port, "GET", "/recorded/public/x").status == 200
        assert own_recorder.last("/recorded/public/x").header("x-api-key") == SECRET
        # There is nothing new to be read, and that is no fault.
        gateway.signal(signal.SIGHUP)
        gateway_log = lambda: "configuration reloaded" in gateway.log()  # noqa: E731
        gateway.wait_ready(gateway_log, "the reload")
        assert raw.exchange(port, "GET", "/recorded/public/x").status == 200
    finally:
        assert gateway.stop() == 0
    assert SECRET not in gateway.log()


def test_faults_of_the_environment_have_its_name_and_line(config):
    text = "threads: 2\nunknown: 1\n"
    result = run(["check"], environment={"GATEHOUSE_CONFIG_YAML": text})
    assert result.returncode == 78
    assert "GATEHOUSE_CONFIG_YAML:2: unknown: unknown key" in result.stderr


def test_the_command_line_goes_before_the_environment(config):
    environment = {"GATEHOUSE_CONFIG_YAML": "faulty: true\n"}
    assert run(["check", "--config", "-"], json.dumps(config), environment).returncode == 0


def test_without_anything_it_is_the_packages_file():
    result = run(["check"])
    assert result.returncode in (0, 78)
    assert "/etc/gatehouse/gatehouse.yaml" in result.stdout + result.stderr
    if not Path("/etc/gatehouse/gatehouse.yaml").exists():
        assert "there is no such file: name another with --config, or give the text in GATEHOUSE_CONFIG_YAML" in result.stderr


def test_an_empty_variable_is_a_fault_and_not_another_file():
    result = run(["check"], environment={"GATEHOUSE_CONFIG_YAML": ""})
    assert result.returncode == 78
    assert result.stderr.startswith("GATEHOUSE_CONFIG_YAML:1: it is set and empty"), result.stderr


def test_a_directory_is_told_to_be_one_and_a_byte_order_mark_is_no_text(tmp_path, config):
    result = run(["check", "--config", str(tmp_path)])
    assert result.returncode == 78 and "the settings can't be read: it is a directory" in result.stderr, result.stderr
    marked = tmp_path / "marked.yaml"
    marked.write_bytes(b"\xef\xbb\xbf" + json.dumps(config).encode())
    result = run(["check", "--config", str(marked)])
    assert result.returncode == 0, result.stderr


def test_a_token_and_the_settings_cannot_both_be_standard_input():
    assert run(["token", "verify", "--config", "-"], "x").returncode == 64


def test_files_that_the_text_names_are_found_from_where_it_runs(tmp_path, config):
    (tmp_path / "key").write_text(SECRET)
    config["routes"][0]["request_headers"] = {"add": {"X-Api-Key": "file:key"}}
    result = subprocess.run(
        [str(binary()), "check", "--config", "-"], input=json.dumps(config), capture_output=True, text=True, cwd=tmp_path,
        timeout=30 * PATIENCE,
    )
    assert result.returncode == 0, result.stderr
    assert free_port() and SECRET not in result.stdout
