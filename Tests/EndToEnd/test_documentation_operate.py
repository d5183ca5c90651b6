"""The operators' pages are true: figures are those measured, tests that they name are there, commands and calls work."""

import contextlib
import json
import os
import re
import shlex
import subprocess
import threading
import time
from collections.abc import Callable

import pytest
import websockets.exceptions
import websockets.sync.server
from harness import documentation, raw, sanitizer
from harness.certificates import Authority
from harness.deployment import DEPLOY, Root, needs_root
from harness.gateway import REPOSITORY, check, gatehouse
from harness.process import wait_until
from harness.sessions import State, session_settings

TESTS = REPOSITORY / "Tests" / "EndToEnd"
TOKEN = "an-admin-token-of-some-length"


def tables(text: str) -> list[list[list[str]]]:
    """The rows of each table, with the row of its heading first."""
    found: list[list[list[str]]] = []
    inside = False
    for line in text.splitlines():
        if not line.startswith("|"):
            inside = False
            continue
        if not inside:
            found.append([])
        inside = True
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if not set("".join(cells)) <= set("-|"):
            found[-1].append([cell.strip(" |") for cell in cells])
    return found


# ---- Performance

RESULTS = (DEPLOY / "loadtest" / "RESULTS.md").read_text()
PERFORMANCE = documentation.text("performance.md")
PROXIES = ["nginx", "HAProxy", "Envoy", "Gatehouse"]
# The column of RESULTS.md's table that follows case and proxy.
COLUMNS = {"CPU time for a request": 5, "Requests in a second": 2, "99th percentile of latency": 4}


def measured() -> dict[tuple[str, str], list[str]]:
    rows = next(table for table in tables(RESULTS) if table[0][:2] == ["case", "proxy"])
    return {(row[0], row[1]): row for row in rows[1:]}


@pytest.mark.parametrize("heading, column", COLUMNS.items())
def test_the_figures_of_proxies_are_those_of_the_results(heading, column):
    (table,) = tables(PERFORMANCE.partition(heading)[2].partition("\n\n")[2].partition("\n\n")[0])
    assert table[0] == ["Case", *PROXIES] and len(table) > 4
    for case, *figures in table[1:]:
        name = case.partition(":")[0]
        assert figures == [measured()[name, proxy.lower()][column] for proxy in PROXIES], name


def test_every_case_has_its_cpu_time():
    cpu = PERFORMANCE.partition("CPU time for a request")[2].partition("Requests in a second")[0]
    assert {row[0].partition(":")[0] for row in tables(cpu)[0][1:]} == {case for case, _ in measured()}


def test_the_figures_of_memory_are_those_of_the_results():
    ours, theirs = [
        {row[0]: row[1:] for row in next(table for table in tables(text) if table[0][1:] == PROXIES and "idle" in table[1][0])[1:]}
        for text in (PERFORMANCE.partition("\nMemory:")[2], RESULTS)
    ]
    assert ours == theirs


def test_the_ratios_are_those_of_the_results():
    aims = next(table for table in tables(PERFORMANCE) if table[0] == ["Figure", "Aim", "Measured", "Outcome"])
    results = next(table for table in tables(RESULTS) if table[0][:3] == ["figure", "wanted", "measured"])
    measured = [(row[1], row[2].split()[0], row[3]) for row in results[1:]]
    # Those that are missed are not left out.
    assert len(aims) > 5 and [(aim, figure.split()[0], outcome) for _, aim, figure, outcome in aims[1:]] == measured


def test_every_other_figure_is_in_the_results_or_in_the_test_that_is_named():
    """Figures with a fraction, and memory and times of large bodies."""
    limits = PERFORMANCE.partition("## Limits that tests enforce")[2].partition("\n## ")[0]
    text = documentation.prose("performance.md").replace(limits, "")
    for figure in re.findall(r"(?<![\w.])\d+(?:[.,]\d+)+|\d+(?= (?:MB|ms|uploads|downloads))", text):
        assert figure in RESULTS, figure
    # Every limit is a number in its test, as seconds, megabytes, or calls in a second.
    expected = {
        "300 ms": "< 0.3", "16 MB": "16 * MEGABYTE", "64 MB": "64 * MEGABYTE", "8 MB of memory": "stays within 8 MB of before",
        "no request and no connection lost": "five_reloads_under_a_thousand",
    }
    written = {("test_login_time.py", "2 ms"): "<= 2", ("test_refresh_rate.py", "2 ms"): "<= 1 / 500", ("test_session_rate.py", "1 ms"): "<= 2 / 2000"}
    rows = tables(limits)[0][1:]
    assert len(rows) == 8
    for _, limit, test in rows:
        name = test.strip("`").rpartition("/")[2]
        assert written.get((name, limit), expected.get(limit, "?")) in (TESTS / name).read_text(), (name, limit)


# ---- Threats


def threats() -> list[list[str]]:
    chapter = documentation.text("security.md").partition("\n## Threats")[2].partition("\n## ")[0]
    return [row for table in tables(chapter) for row in table[1:]]


def test_there_are_threats():
    assert len(threats()) >= 40


@pytest.mark.parametrize("threat", threats(), ids=lambda row: row[0][:50])
def test_each_threat_has_a_defence_and_tests_that_are_there(threat):
    name, defence, shown = threat
    assert name and defence
    files = re.findall(r"`(test_\w+\.py)`", shown)
    assert files, "no test"
    for file in files:
        assert "\ndef test_" in (TESTS / file).read_text(), file


def test_every_test_of_attacks_stands_in_the_table():
    named = {file for *_, shown in threats() for file in re.findall(r"test_\w+\.py", shown)}
    attacks = {path.name for path in TESTS.glob("test_*.py") if re.match(r"test_(threats|hostile|costly)", path.name)}
    assert attacks <= named


# ---- Watching

WATCHING = documentation.text("watching.md")


def test_the_table_of_alerts_is_the_rules():
    rules = (DEPLOY / "prometheus" / "gatehouse.rules.yaml").read_text()
    chapters = dict(re.findall(r"alert: (\w+)[\s\S]*?runbook_url: file:///usr/share/doc/gatehouse/docs/(\S+)", rules))
    rows = next(table for table in tables(WATCHING) if table[0] == ["Alerts", "Chapter"])[1:]
    written = {alert: re.findall(r"\]\((.*?)\)", link)[0] for alerts, link in rows for alert in re.findall(r"\w+", alerts)}
    assert written == chapters


def test_the_texts_of_readiness_are_the_programs():
    source = (REPOSITORY / "Sources/Admin/Readiness.swift").read_text()
    rows = next(table for table in tables(WATCHING) if table[0] == ["Text", "Meaning"])[1:]
    assert {row[0].strip("`") for row in rows} == set(re.findall(r'^ +"([a-z ]+)"$', source, re.M))


def test_the_events_are_the_programs():
    source = (REPOSITORY / "Sources/Pipeline/Respond/AuditEventKind.swift").read_text()
    kinds = {value or name for name, value in re.findall(r'case (\w+)(?: = "(\w+)")?', source)}
    rows = next(table for table in tables(WATCHING) if table[0] == ["Event", "When"])[1:]
    assert {event for row in rows for event in re.findall(r"`(\w+)`", row[0])} == kinds


def test_lines_of_logs_have_the_fields_that_the_page_shows(gateway, account):
    access, audit = (json.loads(block.text) for block in documentation.blocks("watching.md") if block.language == "json")
    headers = {"User-Agent": access["user_agent"]}
    request_id = raw.exchange(gateway.port, "GET", "/recorded/required/x?page=1", headers).header("x-request-id")
    line = gateway.access_line(request_id)
    # The listener speaks no TLS, and the request has no token.
    assert set(access) - {"route", "tls_version", "subject_hash"} <= set(line) and line["path"].endswith("?page=")
    device = {"device_id": "d", "platform": "ios"}
    refused = account.login("nobody@example.com", "Some-Wrong-Horse-4", device_info=device).header("x-request-id")
    event = wait_until(
        lambda: [each for each in gateway.audit_log(audit["event"]) if each["request_id"] == refused], "the event"
    )[-1]
    assert set(audit) == set(event) | {"application"}


# ---- The admin listener's calls


@pytest.fixture
def administered(start_gateway, issuer):
    return start_gateway({**session_settings(issuer.server.url), "admin": {"token": TOKEN}})


def calls(page: str) -> list[str]:
    """The commands with curl of a page, each on one line."""
    text = "".join(block.text for block in documentation.blocks(page) if block.language == "sh")
    joined = text.replace("\\\n", " ")
    found = re.findall(r"(?m)^ *(?:sudo )?(curl .*127\.0\.0\.1:9901\S*.*?)(?:  #.*)?$", joined)
    return [call for call in found if "admin-header" not in call]


@pytest.mark.parametrize("page", ["admin.md", "revocation.md"])
def test_the_calls_work_as_written(page, administered, own_recorder):
    assert len(calls(page)) >= 2
    state = State(administered)
    for call in calls(page):
        session = state.begin()
        user = "/users/" in call
        environment = {
            **os.environ, "ADMIN_TOKEN": TOKEN, "SUB": session.user, "ID": session.user if user else session.id,
            "server": own_recorder.url.replace(":", "%3A").replace("/", "%2F"), "no_proxy": "*",
        }
        command = call.replace("127.0.0.1:9901", f"127.0.0.1:{administered.admin_port}").replace("/api/$server", "/recorder/$server")
        result = subprocess.run(
            ["bash", "-c", f"{command} -w '\\n%{{http_code}}'"], env=environment, capture_output=True, text=True, timeout=30
        )
        assert result.stdout.endswith("\n200"), (call, result.stdout, result.stderr)


# ---- Commands in the state directory

ACCOUNT = (64999, 64999)
SETTINGS = """
listeners: [{address: "127.0.0.1:8080"}]
state_directory: /var/lib/gatehouse
upstreams: {api: {url: "http://127.0.0.1:8000"}}
issuers:
  pool: {profile: cognito, user_pool_id: eu-central-1_AbCdEfGhI, client_ids: [1example23456789abcdefghij]}
identity: {assertion: {issuer: "https://api.example.com"}}
routes: [{name: api, path: /api/**, access: required, upstream: api}]
"""


def state_commands(page: str) -> list[str]:
    text = "".join(block.text for block in documentation.blocks(page) if block.language == "sh")
    return re.findall(r"(?m)^sudo (gatehouse (?:store|keys|revoke)\b[^<\n]*)$", text)


@needs_root
@pytest.mark.parametrize("page", ["state.md", "revocation.md"])
def test_the_commands_work_as_written_and_leave_the_state_to_the_service(page, tmp_path):
    """`/backups` is in the state directory here: nothing else can be written to."""
    files = {"/etc/gatehouse/gatehouse.yaml": SETTINGS, "/etc/gatehouse/environment": "# The operator's.\n"}
    root = Root(tmp_path, files, (0, 0))
    os.chown(root.state, *ACCOUNT)

    def run(*words: str) -> None:
        clean = {"PATH": os.environ["PATH"], **sanitizer.options()}
        result = subprocess.run(root.inside(list(words)), env=clean, capture_output=True, text=True, timeout=60)
        assert result.returncode == 0, (words, result.stderr)

    # A gateway has made keys and database at its start.
    run("gatehouse", "keys", "generate", "--environment-file", "/etc/gatehouse/environment", "--purpose", "assertion")
    run("gatehouse", "revoke", "--environment-file", "/etc/gatehouse/environment", "--jti", "j")
    assert len(state_commands(page)) >= 2
    for command in state_commands(page):
        words = shlex.split(command.replace("/backups/", "/var/lib/gatehouse/"))
        # The next key was published a moment ago.
        run(*words, *(["--now"] if "rotate" in words else []))
    made = list(root.state.iterdir())
    assert made and all((path.stat().st_uid, path.stat().st_gid) == ACCOUNT for path in made)


def test_after_a_leak_no_key_of_before_is_in_use(tmp_path):
    state, leaked = tmp_path / "state", tmp_path / "leaked-keys"
    state.mkdir(mode=0o700)
    config = tmp_path / "gatehouse.yaml"
    config.write_text(SETTINGS.replace("/var/lib/gatehouse", str(state)))

    def sealing_keys() -> list[str]:
        result = gatehouse("keys", "list", "--config", config, "--purpose", "sealing", "--json")
        assert result.returncode == 0, result.stderr
        return [key["id"] for key in json.loads(result.stdout)["keys"]]

    for purpose in ("assertion", "session", "audit", "limits"):
        assert gatehouse("keys", "generate", "--config", config, "--purpose", purpose).returncode == 0
    # An early version's, and those of certificates.
    secrets = {"sealing.key": bytes(range(32)), "acme.json": b'{"acme": 1, "certificates": [], "failures": [], "pending": []}'}
    for name, contents in secrets.items():
        (state / name).touch(mode=0o600)
        (state / name).write_bytes(contents)
    before = sealing_keys()
    assert len(before) == 1
    keys = {path.name for path in state.iterdir() if path.name in secrets or path.name.endswith("-keys.json")}
    assert len(keys) == 6

    programs = tmp_path / "bin"
    programs.mkdir()
    for name, script in {"sudo": 'exec "$@"', "systemctl": ":"}.items():
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    block = documentation.block("state.md", "replace-all-keys")
    block = block.replace("/var/lib/gatehouse", str(state)).replace("/root/", f"{tmp_path}/")
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-ec", block], env=environment, capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stderr) == (0, "")

    assert keys <= {path.name for path in leaked.iterdir()} and leaked.stat().st_mode & 0o777 == 0o700
    assert not keys & {path.name for path in state.iterdir()}
    assert sealing_keys() == []
    assert gatehouse("keys", "generate", "--config", config, "--purpose", "sealing").returncode == 0
    assert not set(before) & set(sealing_keys())


# ---- Examples


def test_the_listener_on_port_443_is_good(tmp_path):
    issued = Authority(tmp_path).issue("api.example.com")
    text = documentation.block("running.md", "port-443")
    for path in re.findall(r"/etc/\S+", text):
        text = text.replace(path, str(issued.key if path.endswith(".key") else issued.certificate))
    config = tmp_path / "gatehouse.yaml"
    config.write_text(
        text + "state_directory: /var/lib/gatehouse\nupstreams: {api: {url: 'http://127.0.0.1:8000'}}\n"
        "routes: [{name: api, path: /api/**, access: public, upstream: api}]\n"
    )
    result = check(config)
    assert result.returncode == 0, result.stdout + result.stderr


def listening() -> Callable:
    """The client of websockets.md."""
    names: dict = {}
    exec(compile(documentation.block("websockets.md", "websocket-client"), "websockets.md", "exec"), names)
    return names["listen"]


@pytest.mark.parametrize("code", [1000, 1001, 1011])
def test_the_websocket_client_comes_again_after_a_restart_only(code):
    """1001 is the gateway's code for its stop; websockets ends its loop as for 1000."""
    connections: list[int] = []

    def greet(connection) -> None:
        connections.append(len(connections))
        connection.send("hello")
        connection.close(code if len(connections) == 1 else 1000)

    server = websockets.sync.server.serve(greet, "127.0.0.1", 0)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    seen: list[str] = []
    url = f"ws://127.0.0.1:{server.socket.getsockname()[1]}/chat/room"
    try:
        with pytest.raises(websockets.exceptions.ConnectionClosedError) if code == 1011 else contextlib.nullcontext():
            listening()(url, lambda: "token", seen.append)
    finally:
        server.shutdown()
    assert seen == ["hello"] * (2 if code == 1001 else 1)


def test_the_websocket_client_comes_again_with_another_token(start_gateway, issuer):
    """Its first token expires while it listens."""

    def greet(connection) -> None:
        connection.send("hello")
        with contextlib.suppress(websockets.exceptions.ConnectionClosed):
            connection.recv()

    server = websockets.sync.server.serve(greet, "127.0.0.1", 0)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    route = {"name": "chat", "path": "/chat/**", "access": "required", "upstream": "recorder", "websocket": True}
    url = f"http://127.0.0.1:{server.socket.getsockname()[1]}"
    settings = {"routes": [route], "upstreams": {"recorder": {"url": url}}, "issuers": {"own": {"clock_skew": "0s"}}}
    gateway = start_gateway(settings)
    gateway.wait_until_ready()
    tokens: list[str] = []
    seen: list[str] = []

    class Enough(Exception):
        pass

    def fresh_token() -> str:
        tokens.append(issuer.access(exp=int(time.time()) + (600 if tokens else 3)))
        return tokens[-1]

    def handle(message: str) -> None:
        seen.append(message)
        if len(seen) == 2:
            raise Enough

    try:
        with pytest.raises(Enough):
            listening()(f"ws://127.0.0.1:{gateway.port}/chat/room", fresh_token, handle)
    finally:
        server.shutdown()
    assert (len(tokens), seen) == (2, ["hello", "hello"])
    ended = wait_until(lambda: [line for line in gateway.access_log() if "denial_reason" in line], "the line of the first")
    assert [line["denial_reason"] for line in ended] == ["websocket-token-expired"]
