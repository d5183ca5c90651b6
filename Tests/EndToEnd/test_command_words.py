"""Words that one would try because other programs have them: a file without --config, `version`, `validate`, `reload`."""

import json
import subprocess

import pytest
from harness.gateway import binary, gatehouse
from harness.process import Process, accepts_connections, free_port
from harness.sanitizer import PATIENCE


@pytest.fixture
def config_path(tmp_path):
    config = {
        "listeners": [{"address": f"127.0.0.1:{free_port()}", "server_names": ["api.test"]}],
        "admin": {"address": f"127.0.0.1:{free_port()}"},
        "upstreams": {"api": {"url": "http://127.0.0.1:1"}},
        "routes": [{"path": "/**", "upstream": "api", "access": "public"}],
        "state_directory": str(tmp_path / "state"),
    }
    path = tmp_path / "gatehouse.yaml"
    path.write_text(json.dumps(config, indent=2))
    return path


@pytest.fixture
def faulty(tmp_path):
    path = tmp_path / "faulty.yaml"
    path.write_text("threads: many\n")
    return path


def outcome(*arguments) -> tuple[int, str, str]:
    result = gatehouse(*arguments)
    return result.returncode, result.stdout, result.stderr


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
@pytest.mark.parametrize("word", ["check", "validate"])
def test_a_file_is_checked_as_with_its_option(word, options, config_path, faulty):
    good = outcome("check", "--config", config_path, *options)
    assert good[0] == 0 and str(config_path) in good[1]
    assert outcome(word, config_path, *options) == outcome(word, *options, config_path) == good
    bad = outcome("check", "--config", faulty, *options)
    assert bad[0] == 78 and "must be a whole number" in bad[1] + bad[2]
    assert outcome(word, faulty, *options) == outcome(word, "--config", faulty, *options) == bad


def test_a_dash_is_standard_input(config_path):
    with config_path.open() as file:
        result = subprocess.run(
            [binary(), "check", "-"], stdin=file, capture_output=True, text=True, timeout=30 * PATIENCE
        )
    assert (result.returncode, result.stderr) == (0, "") and ": good: 1 route" in result.stdout


def test_a_file_is_served_as_with_its_option(config_path, tmp_path, faulty):
    port = int(json.loads(config_path.read_text())["listeners"][0]["address"].rpartition(":")[2])
    serving = Process([str(binary()), "serve", str(config_path)], tmp_path / "serve.log")
    serving.wait_ready(lambda: accepts_connections(port), "gatehouse serve FILE")
    assert serving.stop() == 0, serving.log()
    assert outcome("serve", faulty) == outcome("serve", "--config", faulty)


@pytest.mark.parametrize("command", ["check", "serve"])
def test_a_file_that_is_given_twice_is_refused(command, config_path, faulty):
    status, _, told = outcome(command, faulty, "--config", config_path)
    assert status == 64 and told.startswith(f"Error: The file is given twice: '{faulty}' and --config."), told
    if command == "check":
        status, told, _ = outcome(command, faulty, "--config", config_path, "--json")
        assert (status, json.loads(told)["good"]) == (64, False)


def test_a_second_file_is_one_too_many(config_path, faulty):
    status, _, told = outcome("check", config_path, faulty)
    assert status == 64 and told.startswith(f"Error: Unexpected argument '{faulty}'"), told


def test_the_version_is_a_word_too():
    status, text, _ = outcome("version")
    assert (status, text.strip() != "") == (0, True)
    assert outcome("--version") == (status, text, "")


def test_validate_has_the_help_of_check():
    assert outcome("validate", "--help") == outcome("check", "--help")
    assert gatehouse("validate", "--onlin").stderr.startswith("Error: Unknown option '--onlin'. Did you mean '--online'?")


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
def test_reload_says_how_a_gateway_is_reloaded(options):
    status, output, errors = outcome("reload", *options)
    text = json.loads(output)["text"] if options else errors.splitlines()[0].removeprefix("Error: ")
    assert (status, text) == (
        64,
        "Unexpected argument 'reload'. A running gateway reloads at SIGHUP (systemctl reload gatehouse), "
        "or by POST /reload at its admin listener.",
    )
