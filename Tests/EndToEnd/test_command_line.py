"""The command line's comfort: help with examples, exit statuses, JSON, colours on a terminal, completions."""

import json
import os
import pty
import re
import subprocess
import time

import pytest
from harness.deployment import checked, tool
from harness.gateway import binary, gatehouse, gateway_config
from harness.keys import Issuer
from harness.process import free_port
from harness.sanitizer import PATIENCE


def subcommands(*path: str) -> list[tuple[str, ...]]:
    """Every command below this one, found by its own help."""
    text = gatehouse(*path, "--help").stdout
    _, _, listed = text.partition("SUBCOMMANDS:")
    found = [(*path, name) for name in re.findall(r"(?m)^  ([a-z][a-z-]*)(?:\s{2,}|$)", listed)]
    return [command for each in found for command in (each, *subcommands(*each))]


COMMANDS = [(), *subcommands()]


@pytest.fixture(scope="module")
def config_path(tmp_path_factory, run_directory):
    directory = tmp_path_factory.mktemp("commands")
    issuer = Issuer()
    path = directory / "gatehouse.yaml"
    path.write_text(json.dumps(gateway_config(directory, "http://127.0.0.1:1", issuer.server.url)))
    yield path
    issuer.server.stop()


def test_all_commands_are_found():
    assert {("serve",), ("check",), ("health",), ("schema",), ("token", "verify"), ("keys", "rotate")} <= set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_help_has_an_example(command):
    result = gatehouse(*command, "--help")
    assert result.returncode == 0
    # Help is broken at 80 columns.
    text = " ".join(result.stdout.split())
    examples = text[text.index("Example") :].partition(" USAGE:")[0]
    assert " ".join(("gatehouse", *command)) in examples, result.stdout


@pytest.mark.parametrize(
    "status, arguments",
    [
        (0, ("--version",)),
        (0, ("help", "serve")),
        (64, ("no-such-command",)),
        (64, ("check", "--no-such-option")),
        (64, ("token", "verify", "--config", "-")),
        (78, ("check", "--config", "/nowhere/gatehouse.yaml")),
        (78, ("serve", "--config", "/nowhere/gatehouse.yaml")),
        (78, ("local-pool", "--config", "/nowhere/local-pool.yaml")),
        (1, ("token", "inspect")),
        (1, ("health", "--address", "127.0.0.1:1")),
    ],
)
def test_exit_statuses_are_as_documented(status, arguments):
    assert gatehouse(*arguments).returncode == status


def test_a_gateway_that_cannot_start_ends_with_70(tmp_path, gateway, config_path):
    config = json.loads(config_path.read_text())
    config["listeners"] = [{"address": f"127.0.0.1:{gateway.port}"}]
    config["admin"] = {"address": f"127.0.0.1:{free_port()}"}
    path = tmp_path / "gatehouse.yaml"
    path.write_text(json.dumps(config))
    result = gatehouse("serve", "--config", path)
    assert result.returncode == 70
    assert str(gateway.port) in result.stderr


def test_the_help_has_every_exit_status():
    text = gatehouse("--help").stdout
    for status in (0, 1, 64, 69, 70, 78):
        assert re.search(rf"(?m)^  {status}\s", text), text


def test_results_as_json(config_path):
    def told(*arguments) -> dict:
        result = gatehouse(*arguments, "--config", config_path, "--json")
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)

    assert told("check")["good"] is True
    made = told("keys", "generate", "--purpose", "session")
    assert made["done"] and made["keys"][0]["purpose"] == "session"
    listed = told("keys", "list", "--purpose", "session")["keys"]
    assert listed == made["keys"] and set(listed[0]) == {"purpose", "state", "since", "id"}
    assert told("keys", "rotate", "--purpose", "session", "--now")["keys"] != listed
    assert told("revoke", "--jti", "some-token")["done"]


def test_the_text_of_a_key_list_stays_in_columns(config_path):
    gatehouse("keys", "generate", "--purpose", "audit", "--config", config_path)
    (line,) = gatehouse("keys", "list", "--purpose", "audit", "--config", config_path).stdout.splitlines()
    assert re.fullmatch(r"audit +current +\S+ +\S+", line)


def on_a_terminal(arguments: list[str], environment: dict[str, str]) -> str:
    """What a command shows to somebody who sits at a terminal."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [str(binary()), *arguments], stdin=subprocess.DEVNULL, stdout=slave, stderr=slave,
        env={**os.environ, "TERM": "xterm", **environment},
    )
    os.close(slave)
    shown = b""
    end = time.monotonic() + 30 * PATIENCE
    while time.monotonic() < end:
        try:
            part = os.read(master, 4096)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(master)
    process.wait(10)
    return shown.decode()


GREEN, RED = "\x1b[32m", "\x1b[31m"


def test_colours_on_a_terminal(tmp_path, config_path):
    assert f"{GREEN}good" in on_a_terminal(["check", "--config", str(config_path)], {"NO_COLOR": ""})
    faulty = tmp_path / "gatehouse.yaml"
    faulty.write_text("threads: many\n")
    assert f"{RED}threads" in on_a_terminal(["check", "--config", str(faulty)], {"NO_COLOR": ""})
    assert RED in on_a_terminal(["health", "--address", "127.0.0.1:1"], {"NO_COLOR": ""})


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb", "NO_COLOR": ""}])
def test_no_colours_for_who_wants_none(config_path, environment):
    shown = on_a_terminal(["check", "--config", str(config_path)], environment)
    assert "good" in shown and "\x1b" not in shown


def test_no_colours_in_a_pipe_nor_in_json(config_path):
    assert "\x1b" not in gatehouse("check", "--config", config_path).stdout
    assert "\x1b" not in on_a_terminal(["check", "--config", str(config_path), "--json"], {"NO_COLOR": ""})


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions(tmp_path, shell):
    script = gatehouse("--generate-completion-script", shell).stdout
    assert "health" in script and "local-pool" in script
    if shell != "bash":
        return
    path = tmp_path / "gatehouse"
    path.write_text(script)
    # What bash offers behind "gatehouse che".
    complete = (
        f'source {path}; COMP_WORDS=(gatehouse che); COMP_CWORD=1; COMP_LINE="gatehouse che"; COMP_POINT=${{#COMP_LINE}}; '
        'f=$(complete -p gatehouse | sed -E "s/.*-F ([^ ]+).*/\\1/"); $f gatehouse che gatehouse; echo "${COMPREPLY[@]}"'
    )
    assert "check" in checked("bash", "-c", complete)


def test_the_shell_scripts_pass_shellcheck():
    from harness.deployment import DEPLOY

    scripts = sorted(DEPLOY.glob("*.sh"))
    assert scripts
    checked(tool("shellcheck"), "--external-sources", "--source-path", DEPLOY.parent, *scripts)
