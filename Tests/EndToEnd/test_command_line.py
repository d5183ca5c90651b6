"""The command line's comfort: help with examples, exit statuses, JSON, colours on a terminal, completions."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios
import time
from pathlib import Path

import pytest
from harness.deployment import checked, tool
from harness.gateway import REPOSITORY, binary, gatehouse, gateway_config
from harness.keys import Issuer
from harness.process import free_port, wait_until
from harness.sanitizer import PATIENCE
from harness.sessions import State, session_settings


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
def test_every_help_has_an_example_that_can_be_copied(command):
    result = gatehouse(*command, "--help")
    assert result.returncode == 0
    paragraphs = result.stdout.partition("\nUSAGE: ")[0].split("\n\n")
    (examples,) = [each for each in paragraphs if each.startswith("Example")]
    heading, *lines = examples.splitlines()
    lines = lines if heading == "Examples:" else [f"  {heading.removeprefix('Example: ')}", *lines]
    assert any(" ".join(("gatehouse", *command)) in line for line in lines), examples
    for before, line in zip(["", *lines], lines):
        # An example broken at 80 columns by the parser would begin without a space.
        assert line.startswith("    " if before.endswith("\\") else "  "), examples


def paragraphs_of(help_text: str) -> list[list[str]]:
    """The lines of each, also of what stands to the right of an option."""
    found: list[list[str]] = [[]]
    for line in help_text.splitlines():
        if line.startswith(" " * 26):
            found[-1].append(line)
        elif line.startswith(" ") or not line or line.isupper():
            # An option whose name is too long for its text stands alone.
            found.append([line] if re.match(r"  -.*\S {2,}\S", line) else [])
        else:
            found[-1].append(line)
    return found


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_help_is_broken_at_80_columns_and_nowhere_else(command):
    text = gatehouse(*command, "--help").stdout
    assert all(len(line) <= 80 for line in text.splitlines()), text
    for paragraph in paragraphs_of(text.partition("\nUSAGE: ")[0]) + paragraphs_of(text.partition("\nOPTIONS:\n")[2]):
        for line, following in zip(paragraph, paragraph[1:]):
            assert len(f"{line} {following.split()[0]}") >= 80, f"{line!r} could go on with {following!r}"


def test_a_long_usage_is_broken_between_its_options():
    told = gatehouse("revoke")
    for text in (gatehouse("revoke", "--help").stdout, told.stdout + told.stderr):
        usage = re.search(r"(?mi)^usage: gatehouse revoke .*(?:\n {7}\S.*)+", text)[0]
        assert "[--config <file>]" in usage and "[--days <days>]" in usage
        assert all(line.count("[") == line.count("]") and len(line) < 80 for line in usage.splitlines())


@pytest.mark.parametrize(
    "arguments, words",
    [
        (("serv",), "Unexpected argument 'serv'. Did you mean 'serve'?"),
        (("token", "verfy", "--json"), "Unexpected argument 'verfy'. Did you mean 'verify'?"),
        (("hepl",), "Unexpected argument 'hepl'. Did you mean 'help'?"),
        (("check", "--onlin"), "Unknown option '--onlin'. Did you mean '--online'?"),
        (("help", "chek"), "Unexpected argument 'chek'. Did you mean 'check'?"),
        (("help", "token", "nope"), "Unexpected argument 'nope'"),
        (("no-such-command",), "Unexpected argument 'no-such-command'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_mistyped_command_is_told_with_the_one_that_was_meant(arguments, words):
    result = gatehouse(*arguments)
    text = json.loads(result.stdout)["text"] if "--json" in arguments else result.stderr.splitlines()[0].removeprefix("Error: ")
    assert (result.returncode, text) == (64, words)


def test_what_cannot_be_done_is_told_without_a_usage(config_path, tmp_path):
    """The command line is right; what it names is not there."""
    config = ("--config", config_path)
    damaged = tmp_path / "keys.json"
    damaged.write_text("{}")
    for arguments, words in [
        (("token", "verify", *config, "--route", "nope"), 'no route is called "nope"'),
        (("token", "verify", *config, "--path", "/nope"), "no route takes this path"),
        (("revoke", *config, "--issuer", "nope", "--jti", "some"), "no issuer has this name"),
        (("jws", "verify", "--jwks", tmp_path / "none.json"), f"{tmp_path}/none.json can't be read: there is no such file"),
        (("jws", "verify", "--jwks", damaged), f"{damaged} is not a JSON Web Key Set: "),
    ]:
        result = gatehouse(*arguments)
        assert (result.returncode, result.stdout) == (1, ""), arguments
        assert result.stderr.startswith(words) and len(result.stderr.splitlines()) == 1, result.stderr
        told = gatehouse(*arguments, "--json")
        assert told.returncode == 1 and json.loads(told.stdout)["text"] == result.stderr.strip()


def test_the_algorithms_are_listed_once():
    assert gatehouse("jws", "verify", "--help").stdout.count("ES384") == 1


def test_a_local_pools_file_that_cannot_be_read_is_told_with_the_reason(tmp_path):
    for path, reason in [(tmp_path / "none.yaml", "there is no such file"), (tmp_path, "it is a directory")]:
        result = gatehouse("local-pool", "--config", path)
        assert (result.returncode, result.stderr) == (78, f"{path}:1: the settings can't be read: {reason}\n")


def test_what_is_there_once_is_said_of_one(config_path, tmp_path):
    config = json.loads(config_path.read_text())
    path = tmp_path / "gatehouse.yaml"
    config["listeners"][0]["server_names"] = ["api.example.com"]
    path.write_text(json.dumps(public_only(config)))
    counts = gatehouse("check", "--config", path).stdout.strip().partition(": good: ")[2]
    assert counts == f"1 route, {len(config['upstreams'])} upstreams, 0 issuers"


def result_commands(config_path, tmp_path) -> dict[str, list]:
    """Commands that succeed and tell something, by what they are for."""
    return {
        "schema": ["schema"],
        "reference": ["reference"],
        "help": ["--help"],
        "version": ["--version"],
        "keys": ["keys", "list", "--config", config_path, "--json"],
        "check": ["check", "--config", config_path],
        "store": ["store", "check", "--config", config_path, "--json"],
        "completions": ["--generate-completion-script", "bash"],
    }


@pytest.mark.parametrize("name", ["schema", "reference", "help", "version", "keys", "check", "store", "completions"])
def test_a_result_that_cannot_be_written_is_a_failure(name, config_path, tmp_path):
    gatehouse("revoke", "--config", config_path, "--jti", "some-token")
    gatehouse("keys", "generate", "--config", config_path, "--purpose", "audit")
    command = [str(binary()), *map(str, result_commands(config_path, tmp_path)[name])]

    def run(output) -> tuple[int, str]:
        result = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, text=True, timeout=30 * PATIENCE)
        return result.returncode, result.stderr

    assert run(subprocess.DEVNULL) == (0, "")
    with open("/dev/full", "w") as full:
        assert run(full) == (1, "standard output cannot be written: No space left on device\n")
    # A reader that ends early is no error: head does that.
    reading, writing = os.pipe()
    os.close(reading)
    try:
        assert run(writing)[1] == ""
    finally:
        os.close(writing)


def test_another_status_goes_before_that_of_output_that_is_lost(config_path, tmp_path):
    path = tmp_path / "gatehouse.yaml"
    path.write_text("threads: many\n")
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [str(binary()), "check", "--config", path, "--json"], stdout=full, stderr=subprocess.PIPE, text=True,
            timeout=30 * PATIENCE,
        )
    assert (result.returncode, result.stderr) == (78, "standard output cannot be written: No space left on device\n")


@pytest.mark.parametrize("command", [("store", "check"), ("check",), ("keys", "list")], ids=" ".join)
def test_json_is_one_line(command, config_path):
    gatehouse("revoke", "--config", config_path, "--jti", "some-token")
    (line,) = gatehouse(*command, "--config", config_path, "--json").stdout.splitlines()
    json.loads(line)


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


@pytest.mark.parametrize(
    "arguments, words",
    [
        (("check", "--json", "--no-such-option"), "Unknown option '--no-such-option'"),
        (("revoke", "--json"), "Name the tokens by"),
        (("keys", "rotate", "--purpose", "none", "--json"), "The value 'none' is invalid"),
        (("keys", "rotate", "--purpose", "sealing", "--all", "--json"), "--all needs --compromised"),
    ],
)
def test_a_wrong_command_line_is_told_as_json_where_that_is_asked_for(arguments, words):
    result = gatehouse(*arguments)
    told = json.loads(result.stdout)
    assert (result.returncode, told["good"], result.stderr) == (64, False, "")
    assert words in told["text"]
    # Words behind "--" are no options.
    assert gatehouse("check", "--no-such-option", "--", "--json").stdout == ""


def test_a_gateway_that_cannot_start_ends_with_70(tmp_path, gateway, config_path):
    config = json.loads(config_path.read_text())
    config["listeners"] = [{"address": f"127.0.0.1:{gateway.port}"}]
    config["admin"] = {"address": f"127.0.0.1:{free_port()}"}
    path = tmp_path / "gatehouse.yaml"
    path.write_text(json.dumps(config))
    result = gatehouse("serve", "--config", path)
    assert result.returncode == 70
    assert str(gateway.port) in result.stderr


def test_a_local_pool_on_an_address_in_use_ends_with_70_and_names_it(tmp_path, pool):
    path = tmp_path / "local-pool.yaml"
    path.write_text(json.dumps({**pool.config, "database": str(tmp_path / "pool.sqlite")}))
    result = gatehouse("local-pool", "--config", path)
    assert result.returncode == 70
    assert result.stderr.splitlines()[-1] == f"cannot listen on 127.0.0.1:{pool.port}: Address already in use"


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"state_directory": "/proc/nowhere"}, "state_directory: /proc/nowhere: cannot be made: No such file or directory"),
        ({"state_directory": "/etc/passwd"}, "state_directory: /etc/passwd: is a file, not a directory"),
        ({"logging": {"file": "/nowhere/own.log"}}, "logging.file: /nowhere/own.log: cannot be opened: No such file"),
        (
            {"logging": {"access_log_file": "/nowhere/access.log"}},
            "logging.access_log_file: /nowhere/access.log: cannot be opened: No such file",
        ),
        ({"audit": {"log": "/nowhere/audit.log"}}, "audit.log: /nowhere/audit.log: cannot be opened: No such file"),
    ],
    ids=lambda value: value.partition(":")[0] if isinstance(value, str) else "",
)
def test_what_the_settings_name_and_nobody_can_use_ends_the_start_with_78(tmp_path, config_path, changes, words):
    config = {**json.loads(config_path.read_text()), "admin": {"address": f"127.0.0.1:{free_port()}"}, **changes}
    path = tmp_path / "gatehouse.yaml"
    path.write_text(json.dumps(config, indent=2))
    result = gatehouse("serve", "--config", path)
    assert result.returncode == 78 and words in result.stderr, result.stderr
    key = json.dumps(words.partition(":")[0].rpartition(".")[2]) + ":"
    (line,) = [number for number, text in enumerate(path.read_text().splitlines(), 1) if key in text]
    assert f"{path}:{line}: {words}" in result.stderr, result.stderr
    assert "Error Domain" not in result.stderr


def signing_only(config: dict, tmp_path) -> dict:
    """No tokens are taken; assertions are signed."""
    config = public_only(config)
    config["upstreams"] = {"recorder": config["upstreams"]["recorder"]}
    return {
        **config, "state_directory": str(tmp_path / "state"), "identity": {"assertion": {"issuer": "https://gateway.example"}},
        "admin": {"address": f"127.0.0.1:{free_port()}"},
    }


def damaged_ring(state, name):
    (state / name).write_text('{"purpose": "other"}')
    (state / name).chmod(0o600)
    return f"{state}/{name}: is not a file of "


def open_ring(state, name):
    (state / name).write_text("{}")
    (state / name).chmod(0o644)
    return f"{state}/{name}: others than its owner may read or change it (mode 644); if nobody has: chmod 600 "


def directory_for_ring(state, name):
    (state / name).mkdir()
    return f"{state}/{name}: is not a file of keys"


@pytest.mark.parametrize("spoil", [damaged_ring, open_ring, directory_for_ring])
@pytest.mark.parametrize("name", ["assertion-keys.json", "audit-keys.json"])
def test_a_file_with_keys_that_cannot_be_used_ends_the_start_with_78(tmp_path, config_path, spoil, name):
    config = signing_only(json.loads(config_path.read_text()), tmp_path)
    if name == "audit-keys.json":
        config = {**json.loads(config_path.read_text()), "state_directory": config["state_directory"], "admin": config["admin"]}
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    words = spoil(state, name)
    path = tmp_path / "gatehouse.yaml"
    path.write_text(json.dumps(config, indent=2))
    result = gatehouse("serve", "--config", path)
    assert result.returncode == 78, result.stderr
    (line,) = [number for number, text in enumerate(path.read_text().splitlines(), 1) if '"state_directory"' in text]
    assert f"{path}:{line}: state_directory: {words}" in result.stderr, result.stderr


def test_a_state_directory_that_only_assertions_need_and_cannot_be_made_ends_the_start_with_78(tmp_path, config_path):
    config = {**signing_only(json.loads(config_path.read_text()), tmp_path), "state_directory": "/proc/nowhere"}
    path = tmp_path / "gatehouse.yaml"
    path.write_text(json.dumps(config, indent=2))
    result = gatehouse("serve", "--config", path)
    place = re.escape(str(path)) + r":\d+: "
    words = place + "state_directory: /proc/nowhere: cannot be made: No such file or directory"
    assert result.returncode == 78 and re.search(words, result.stderr), result.stderr


def certain_faults(tmp_path) -> list[tuple[str, dict, str]]:
    """Of settings that are wrong on every machine: key path, settings and what is told."""
    folder, file = tmp_path / "folder", tmp_path / "file"
    folder.mkdir()
    file.write_text("")
    is_folder = f"{folder}: is a directory, not a file"
    return [
        ("state_directory", {"state_directory": str(file)}, f"{file}: is a file, not a directory"),
        ("state_directory", {"state_directory": f"{file}/state"}, f"{file}/state: a directory above it is a file"),
        ("logging.file", {"logging": {"file": str(folder)}}, is_folder),
        ("logging.access_log_file", {"logging": {"access_log_file": str(folder)}}, is_folder),
        ("audit.log", {"audit": {"log": str(folder)}}, is_folder),
        ("audit.log", {"audit": {"log": f"{file}/audit.log"}}, f"{file}/audit.log: a directory above it is a file"),
    ]


def public_only(config: dict) -> dict:
    """No tokens are taken, so that nothing is kept."""
    names = ("listeners", "upstreams", "state_directory")
    routes = [{"path": "/recorded/**", "access": "public", "upstream": "recorder"}]
    return {**{name: config[name] for name in names}, "routes": routes}


def test_what_cannot_be_written_to_anywhere_is_told_by_check_and_serve_alike(tmp_path, config_path):
    config = {**json.loads(config_path.read_text()), "admin": {"address": f"127.0.0.1:{free_port()}"}}
    path = tmp_path / "gatehouse.yaml"
    for key, changes, words in certain_faults(tmp_path):
        for base in (config, {**public_only(config), "admin": config["admin"]}):
            path.write_text(json.dumps({**base, **changes}, indent=2))
            for command in ("check", "serve"):
                result = gatehouse(command, "--config", path)
                assert result.returncode == 78, (command, changes, result.stderr)
                assert re.fullmatch(rf"{re.escape(str(path))}:\d+: {re.escape(key)}: {re.escape(words)}\n", result.stderr)


def test_what_may_be_there_where_it_runs_is_good_to_check(tmp_path, config_path):
    config = json.loads(config_path.read_text())
    path = tmp_path / "gatehouse.yaml"
    missing = {"file": "/nowhere/own.log", "access_log_file": "/dev/null"}
    path.write_text(json.dumps({**config, "state_directory": "/nowhere/state", "logging": missing}))
    result = gatehouse("check", "--config", path)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    "first, second", [("0.0.0.0", "127.0.0.1"), ("127.0.0.1", "[::]"), ("[::]", "0.0.0.0"), ("[::1]", "[::]")]
)
def test_addresses_that_take_each_others_port_are_refused(tmp_path, config_path, first, second):
    port = free_port()
    config = public_only(json.loads(config_path.read_text()))
    admin = {"address": f"127.0.0.1:{free_port()}"}
    listeners = [{"address": f"{host}:{port}"} for host in (first, second)]
    faulty = [
        ({"listeners": listeners, "admin": admin}, "listeners[1].address"),
        (
            {"listeners": listeners[:1], "admin": {**listeners[1], "allow_public_without_token": True}},
            "admin.address",
        ),
    ]
    path = tmp_path / "gatehouse.yaml"
    for changes, key in faulty:
        path.write_text(json.dumps({**config, **changes}, indent=2))
        for command in ("check", "serve"):
            result = gatehouse(command, "--config", path)
            assert result.returncode == 78, result.stderr
            assert re.search(rf":\d+: {re.escape(key)}: another listener has the port already, with ", result.stderr)


def test_why_it_cannot_start_is_on_standard_error_also_with_a_log_of_its_own(tmp_path, gateway, config_path):
    own = tmp_path / "own.log"
    config = {**json.loads(config_path.read_text()), "logging": {"file": str(own)}, "state_directory": str(tmp_path / "s")}
    config |= {"listeners": [{"address": f"127.0.0.1:{gateway.port}"}], "admin": {"address": f"127.0.0.1:{free_port()}"}}
    path = tmp_path / "gatehouse.yaml"
    path.write_text(json.dumps(config))
    result = gatehouse("serve", "--config", path)
    reason = f"{path}:1: listeners[0].address: cannot listen on 127.0.0.1:{gateway.port}: Address already in use"
    assert (result.returncode, result.stderr) == (70, f"cannot run: {reason}\n")
    assert reason in own.read_text()
    path.write_text(json.dumps({**config, "state_directory": "/proc/nowhere"}, indent=2))
    result = gatehouse("serve", "--config", path)
    assert result.returncode == 78 and "state_directory: /proc/nowhere: cannot be made" in result.stderr
    assert result.stderr.startswith(f"{path}:") and "state_directory" in own.read_text()


def test_every_address_that_cannot_be_bound_is_told_at_the_start(tmp_path, gateway, config_path):
    config = {**json.loads(config_path.read_text()), "state_directory": str(tmp_path / "s")}
    config["listeners"] = [{"address": "nosuchhost.invalid:8089"}, {"address": f"127.0.0.1:{gateway.port}"}]
    config["admin"] = {"address": f"127.0.0.1:{free_port()}"}
    path = tmp_path / "gatehouse.yaml"
    path.write_text(json.dumps(config))
    result = gatehouse("serve", "--config", path)
    assert result.returncode == 70
    assert f"{path}:1: listeners[0].address: cannot listen on nosuchhost.invalid:8089: the host name cannot be resolved" in result.stderr
    assert f"{path}:1: listeners[1].address: cannot listen on 127.0.0.1:{gateway.port}: Address already in use" in result.stderr


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


# Each fails for a reason of its own: nobody has that id, no file, no such key, nothing that answers.
FAILURES = [
    ("users", "show", "nobody"),
    ("users", "disable", "nobody"),
    ("revoke", "--issuer", "nowhere", "--jti", "some-token"),
    ("keys", "rotate", "--purpose", "sealing"),
    ("keys", "reseal"),
    ("store", "check", "/nowhere/backup.sqlite"),
    ("store", "backup", "/nowhere/backup.sqlite"),
    ("store", "restore", "/nowhere/backup.sqlite"),
]


def test_a_backup_does_not_make_the_directory_that_is_missing(store, tmp_path):
    gateway, _, _ = store
    copy = tmp_path / "mount" / "monday.sqlite"
    result = gatehouse("store", "backup", "--config", gateway.config_path, copy)
    assert result.returncode == 1 and f"there is no directory {tmp_path}/mount" in result.stderr
    assert not copy.parent.exists()


@pytest.mark.parametrize("command", FAILURES, ids=" ".join)
def test_why_a_command_failed_is_json_as_well(config_path, command):
    result = gatehouse(*command, "--config", config_path, "--json")
    told = json.loads(result.stdout)
    assert result.returncode == 1 and result.stderr == ""
    assert told["good"] is False and told["text"]
    in_words = gatehouse(*command, "--config", config_path)
    assert in_words.stdout == "" and in_words.stderr == told["text"] + "\n"


def test_a_configuration_through_a_pipe_that_does_not_wait_is_read_to_its_end(config_path):
    text = config_path.read_bytes()
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.write(writing, text[:200])
    process = subprocess.Popen([binary(), "check", "-"], stdin=reading, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    os.close(reading)
    with process, os.fdopen(writing, "wb", buffering=0) as pipe:

        def waits_or_has_ended() -> bool:
            (left,) = struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))
            state = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]
            return left == 0 and state in "SZ"

        wait_until(waits_or_has_ended, "the first part to be read", 30)
        pipe.write(text[200:])
        pipe.close()
        output, errors = process.communicate(timeout=30 * PATIENCE)
    assert process.returncode == 0, output + errors


def test_standard_input_that_cannot_be_read_is_an_error():
    directory = os.open("/", os.O_RDONLY)
    try:
        command = [binary(), "token", "inspect", "--json"]
        result = subprocess.run(command, stdin=directory, capture_output=True, text=True, timeout=30 * PATIENCE)
    finally:
        os.close(directory)
    assert result.returncode == 1 and result.stderr == ""
    assert json.loads(result.stdout) == {"good": False, "text": "standard input cannot be read: Is a directory"}


def test_what_is_no_token_is_told_as_json():
    result = gatehouse("token", "inspect", "--json")
    assert result.returncode == 1 and json.loads(result.stdout)["good"] is False and result.stderr == ""


def test_every_command_tells_faulty_settings_as_json(tmp_path):
    path = tmp_path / "gatehouse.yaml"
    path.write_text("threads: many\n")
    asked = 0
    # The health of a gateway can be asked for, and an app be audited, whatever else the settings say.
    for command in (each for each in LEAVES if each not in {*SILENT, ("health",), ("audit-app",)}):
        usage = " ".join(gatehouse(*command, "--help").stdout.partition("USAGE:")[2].partition("OPTIONS:")[0].split())
        if "--config" not in usage:
            continue
        # Words between brackets may be left out.
        needed = re.sub(r"\[[^]]*\]+", "", usage.partition("ARGUMENTS:")[0])
        given = ["some"] * len(re.findall(r" <", needed.replace("--purpose <purpose>", "")))
        given += ["--purpose", "sealing"] * ("--purpose" in needed) + ["--jti", "some-token"] * (command == ("revoke",))
        given += ["some.sqlite"] * (command == ("store", "restore"))
        given = ["--from", "directory", "--to", "postgres"] if command == ("store", "copy") else given
        result = gatehouse(*command, "--config", path, "--json", *given)
        assert result.returncode == 78 and result.stderr == "", (command, result.stderr)
        told = json.loads(result.stdout)
        assert told["good"] is False and "threads" in {fault["key"] for fault in told["faults"]}, command
        asked += 1
    assert asked >= 15


def test_an_environment_file_is_read_as_the_service_reads_it(tmp_path, config_path):
    config = {**json.loads(config_path.read_text()), "admin": {"token": "${OPERATORS_TOKEN}"}}
    path, variables = tmp_path / "gatehouse.yaml", tmp_path / "environment"
    path.write_text(json.dumps(config))
    variables.write_text('# of the operators\nOPERATORS_TOKEN="0123456789abcdef"\n')
    missing = gatehouse("check", "--config", path)
    assert missing.returncode == 78 and "OPERATORS_TOKEN is not set" in missing.stderr
    for command in (("check",), ("keys", "list"), ("revoke", "--jti", "some-token")):
        result = gatehouse(*command, "--config", path, "--environment-file", variables)
        assert result.returncode == 0, result.stderr
    asked = gatehouse("health", "--config", path, "--environment-file", variables)
    assert asked.returncode == 1 and "is not set" not in asked.stdout + asked.stderr
    variables.write_text("OPERATORS_TOKEN=short\n")
    assert gatehouse("check", "--config", path, "--environment-file", variables).returncode == 78
    variables.write_text('OPERATORS_TOKEN="0123456789abcdef"\nexport TOKEN=x\n')
    garbage = gatehouse("check", "--config", path, "--environment-file", variables)
    assert garbage.returncode == 78 and f"{variables}:2: what stands before the = is no variable's name" in garbage.stderr
    absent = gatehouse("check", "--config", path, "--environment-file", "/nowhere/environment")
    assert absent.returncode == 78 and "/nowhere/environment:1: there is no such file" in absent.stderr


def test_the_text_of_a_key_list_stays_in_columns(config_path):
    gatehouse("keys", "generate", "--purpose", "audit", "--config", config_path)
    (line,) = gatehouse("keys", "list", "--purpose", "audit", "--config", config_path).stdout.splitlines()
    assert re.fullmatch(r"audit +current +\S+ +\S+", line)


def on_a_terminal(arguments: list[str], environment: dict[str, str]) -> str:
    """A command's output on a terminal."""
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


@pytest.mark.parametrize(
    "environment, line", [({"NO_COLOR": ""}, r" \x1b\[1;31mcritical\x1b\[0m "), ({"NO_COLOR": "1"}, " critical ")]
)
def test_levels_stand_out_in_the_log_on_a_terminal(tmp_path, gateway, config_path, environment, line):
    config = {**json.loads(config_path.read_text()), "state_directory": str(tmp_path / "state")}
    config |= {"listeners": [{"address": f"127.0.0.1:{gateway.port}"}], "admin": {"address": f"127.0.0.1:{free_port()}"}}
    path = tmp_path / "gatehouse.yaml"
    path.write_text(json.dumps(config))
    shown = on_a_terminal(["serve", "--config", str(path)], environment)
    assert re.search(line + "cannot run error=", shown), shown
    assert ("\x1b" in shown) is (environment["NO_COLOR"] == "")


def test_no_colours_in_a_pipe_nor_in_json(config_path):
    assert "\x1b" not in gatehouse("check", "--config", config_path).stdout
    assert "\x1b" not in on_a_terminal(["check", "--config", str(config_path), "--json"], {"NO_COLOR": ""})


# Those that run something for people and not to report.
SILENT = {("serve",), ("local-pool",), ("schema",), ("reference",)}
LEAVES = [each for each in COMMANDS if each and not any(other[:-1] == each for other in COMMANDS)]


@pytest.mark.parametrize("command", LEAVES, ids=" ".join)
def test_whatever_reports_can_tell_it_as_json(command):
    assert ("--json" in gatehouse(*command, "--help").stdout) is (command not in SILENT)


@pytest.fixture
def store(start_gateway, issuer):
    """A gateway with two users, one of whom has chosen a name that would write over the terminal."""
    gateway = start_gateway(session_settings(issuer.server.url))
    state = State(gateway)
    sessions = state.begin("apple-ada"), state.begin("apple-ben")
    with state.database() as database:
        database.execute("UPDATE users SET name = ? WHERE id = ?", ["Ben\x1b[2J\u202e", sessions[1].user])
    return gateway, *sessions


def test_people_get_users_in_columns_and_programs_as_json(store):
    gateway, ada, ben = store
    arguments = ["users", "list", "--config", str(gateway.config_path)]
    shown = on_a_terminal(arguments, {"NO_COLOR": ""})
    heading, *rows = [line.strip() for line in shown.splitlines()]
    assert heading.startswith("\x1b[1mid") and heading.split()[1:3] == ["role", "email"]
    assert len(rows) == 2 and any(ada.user in row and "apple-ada@example.com" in row for row in rows)
    assert "\x1b[2J" not in shown and "\u202e" not in shown
    for machine in (gatehouse(*arguments).stdout, on_a_terminal([*arguments, "--json"], {"NO_COLOR": ""})):
        assert {json.loads(line)["id"] for line in machine.splitlines()} == {ada.user, ben.user}
    shown = on_a_terminal(["users", "show", "--config", str(gateway.config_path), ada.user], {"NO_COLOR": "1"})
    assert "email: apple-ada@example.com" in shown and "sessions: 1" in shown and "\x1b" not in shown
    shown = on_a_terminal(["users", "sessions", "--config", str(gateway.config_path), ada.user], {"NO_COLOR": "1"})
    assert ada.id in shown and "phone-7" in shown


def test_the_store_tells_people_how_far_it_is_and_programs_what_it_did(store, tmp_path):
    gateway, _, _ = store

    def run(command: str, *rest: str) -> list[str]:
        return ["store", command, "--config", str(gateway.config_path), *rest]

    shown = on_a_terminal(run("backup", str(tmp_path / "one")), {"NO_COLOR": ""})
    assert re.search(r"copying \S+gatehouse.sqlite: \d+ kB of \d+ kB", shown)
    # The line goes, and what was done stays.
    assert re.search(rf"\x1b\[K{re.escape(GREEN)}\S+/one: written", shown)
    checked_one = on_a_terminal(run("check", str(tmp_path / "one")), {"NO_COLOR": ""})
    assert re.search(r"reading \S+/one: \d+ kB", checked_one) and f"{GREEN}good" in checked_one
    backed_up = gatehouse(*run("backup", str(tmp_path / "two")), "--json")
    assert json.loads(backed_up.stdout)["done"] is True and backed_up.stderr == ""
    gateway.stop()
    restored = on_a_terminal(run("restore", str(tmp_path / "one")), {"NO_COLOR": ""})
    assert re.search(r"restoring \S+/one: \d+ kB of \d+ kB", restored) and f"{GREEN}" in restored
    # Two of one second would be kept under one name.
    for replaced in Path(gateway.config["state_directory"]).glob("*.replaced-*"):
        replaced.unlink()
    assert json.loads(gatehouse(*run("restore", str(tmp_path / "two")), "--json").stdout)["done"] is True


def test_check_online_tells_people_that_it_waits(tmp_path, issuer, own_recorder):
    own_recorder.on("/recorded/health", lambda exchange: exchange.wait_for_close())
    health = {"path": "/recorded/health", "timeout": "1s"}
    hanging = {f"hanging-{number}-with-a-name-of-some-length": {"url": own_recorder.url, "health": health} for number in range(3)}
    changes = {"upstreams": {"recorder": {"health": health}, **hanging}}
    config = gateway_config(tmp_path, own_recorder.url, issuer.server.url, changes=changes)
    path = tmp_path / "gatehouse.yaml"
    path.write_text(json.dumps(config))
    shown = on_a_terminal(["check", "--config", str(path), "--online"], {"NO_COLOR": ""})
    # As many names as there is room for on a line, which is not to be broken.
    assert "2 of 6 have responded; waiting for upstreams.recorder, …" in shown
    assert all(len(line) < 80 for line in re.findall(r"\x1b\[K(\d+ of [^\x1b\r]*)", shown))
    # Each finding has a line of its own all the same.
    assert re.search(rf"\x1b\[K{re.escape(GREEN)}ok .*issuers.own", shown) and re.search(rf"{re.escape(RED)}FAIL.*recorder", shown)
    assert gatehouse("check", "--config", path, "--online").stderr == ""


def test_the_help_has_the_statuses_of_the_reference():
    helped = re.findall(r"(?m)^  (\d+) +(.*)$", gatehouse("--help").stdout.partition("Exit status:")[2].partition("USAGE:")[0])
    statuses = json.loads(gatehouse("reference").stdout)["exit_statuses"]
    assert [(str(each["status"]), each["meaning"]) for each in statuses] == helped
    assert [status for status, _ in helped] == ["0", "1", "64", "69", "70", "78"]


def completed(script, *words: str) -> list[str]:
    """Bash's completions of the last word."""
    line, quoted = " ".join(words), " ".join(f"'{word}'" for word in words)
    command = (
        f"source {script}; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; COMP_LINE='{line}'; "
        "COMP_POINT=${#COMP_LINE}; COMP_TYPE=9; f=$(complete -p gatehouse | sed -E 's/.*-F ([^ ]+).*/\\1/'); "
        f"$f gatehouse '{words[-1]}' '{words[-2]}'; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    return checked("bash", "-c", command).split()


def test_bash_completes_commands_options_values_and_files(tmp_path):
    script = tmp_path / "gatehouse"
    script.write_text(gatehouse("--generate-completion-script", "bash").stdout)
    (tmp_path / "settings.yaml").touch()
    (tmp_path / "settings.txt").touch()
    assert completed(script, "gatehouse", "che") == ["check"]
    assert {"list", "set-role", "end-sessions"} <= set(completed(script, "gatehouse", "users", ""))
    assert "--online" in completed(script, "gatehouse", "check", "--o")
    assert completed(script, "gatehouse", "keys", "rotate", "--purpose", "se") == ["session", "sealing"]
    assert completed(script, "gatehouse", "check", "--config", f"{tmp_path}/sett") == [f"{tmp_path}/settings.yaml"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shells_completions_have_every_command(shell):
    script = gatehouse("--generate-completion-script", shell).stdout
    for command in COMMANDS:
        for word in command:
            assert word in script, f"{shell}: {' '.join(command)}"
    assert f"--generate-completion-script {shell}" in (REPOSITORY / "docs/reference/commands.md").read_text()


def test_the_shell_scripts_pass_shellcheck():
    from harness.deployment import DEPLOY

    scripts = sorted(DEPLOY.rglob("*.sh"))
    assert scripts
    checked(tool("shellcheck"), "--external-sources", "--source-path", DEPLOY.parent, *scripts)
