"""The three logs: where their lines go, in which form, and what becomes of requests when they cannot be written."""

import contextlib
import json
import os
import pty
import re
import resource
import signal
import subprocess
from pathlib import Path

import pytest
from harness import raw
from harness.account import Account
from harness.gateway import ADA, binary
from harness.process import STARTUP_SECONDS, free_port, wait_until
from harness.sanitizer import PATIENCE


def get(gateway, path: str = "/recorded/public/x", **headers) -> str:
    """The id of a request that was answered."""
    response = raw.exchange(gateway.port, "GET", path, headers)
    return response.header("x-request-id")


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def ids(path: Path) -> set[str]:
    return {line.get("request_id") for line in lines(path)}


@pytest.fixture
def logged(start_gateway, tmp_path):
    """A gateway whose three logs are files in `tmp_path`."""
    return start_gateway(
        {
            "logging": {"file": str(tmp_path / "own.log"), "access_log_file": str(tmp_path / "access.log")},
            "audit": {"log": str(tmp_path / "audit.log")},
        }
    )


def test_its_own_lines_are_json(gateway):
    def own() -> list[dict]:
        return [json.loads(line) for line in gateway.process.errors().splitlines()]

    wait_until(lambda: {line["message"] for line in own()} >= {"listening", "admin listening"}, "its lines")
    for line in own():
        assert list(line)[:4] == ["time", "type", "level", "message"]


def test_debug_switched_on_at_run_time_tells_what_the_gateway_itself_asks(start_gateway, own_recorder, pool, ledger, tmp_path):
    own_recorder.on("/recorded/health", lambda exchange: exchange.respond(500, b""))
    health = {"path": "/recorded/health", "interval": "1s", "unhealthy_after": 2}
    token = "the-token-of-the-admin-listener"
    gateway = start_gateway(
        {
            "admin": {"token": token}, "logging": {"file": str(tmp_path / "own.log")},
            "upstreams": {"recorder": {"health": health}, "down": {"ejection": {"after": 1, "only_server": True}}},
        },
        pool=pool,
    )

    def told(message: str, **fields) -> list[dict]:
        found = [line for line in lines(tmp_path / "own.log") if line["message"] == message]
        return [line for line in found if all(line.get(name) == value for name, value in fields.items())]

    def admin(path: str, body: bytes = b"") -> int:
        headers = {"Host": "localhost", "Authorization": f"Bearer {token}"}
        return raw.exchange(gateway.admin_port, "POST", path, headers, body).status

    wait_until(lambda: told("server unhealthy"), "the health checks to fail")
    assert told("server unhealthy")[0]["answer"] == "status 500"
    assert not told("outgoing call") and not [line for line in lines(tmp_path / "own.log") if line["level"] == "debug"]

    assert admin("/log-level", b'{"level": "debug"}') == 200
    Account(gateway.port, ledger).login(ADA[0], "A-Wrong-Password-For-The-Log")
    wait_until(lambda: told("outgoing call"), "the call to Cognito")
    call = told("outgoing call")[-1]
    assert call["operation"] == "InitiateAuth" and call["status"] == 400 and call["milliseconds"] >= 0
    assert call["request_id"] and call["provider_request_id"] and call["level"] == "debug"
    wait_until(lambda: told("health check", answer="status 500"), "a failed health check")

    raw.exchange(gateway.port, "GET", "/down/x")
    wait_until(lambda: told("server ejected by an event loop", upstream="down"), "the ejection")
    assert told("server ejected by an event loop")[0]["reason"] == "upstream-unreachable"

    # A reload sets the level again; what it does until then is told.
    assert admin("/reload") == 200
    wait_until(lambda: told("configuration reloaded"), "the reload")
    assert told("reload: reading the configuration") and told("reload: addresses are bound", new=0)
    text = (tmp_path / "own.log").read_text()
    for secret in (token, ADA[0], "A-Wrong-Password-For-The-Log"):
        assert secret not in text


def test_each_fetch_of_a_key_set_is_told_at_debug(start_gateway, tmp_path, issuer):
    start_gateway({"logging": {"level": "debug", "file": str(tmp_path / "own.log")}})

    def fetched() -> list[dict]:
        return [line for line in lines(tmp_path / "own.log") if line["message"] == "key set fetched"]

    wait_until(fetched, "the fetch")
    (line,) = fetched()
    assert (line["issuer"], line["url"]) == ("own", issuer.server.url)
    assert int(line["keys"]) == len(json.loads(issuer.server.body())["keys"]) and int(line["fresh_for_seconds"]) > 0


def test_each_log_has_its_file(logged, own_recorder, tmp_path):
    request = get(logged)
    wait_until(lambda: request in ids(tmp_path / "access.log"), "the access line")
    wait_until(lambda: "listening" in {line["message"] for line in lines(tmp_path / "own.log")}, "lines of its own")
    direct = raw.exchange(
        logged.port, "POST", "/", {"X-Amz-Target": "AWSCognitoIdentityProviderService.SignUp"}, b"{}"
    ).header("x-request-id")
    wait_until(lambda: direct in ids(tmp_path / "audit.log"), "the audit line")
    assert logged.process.output() == "" and logged.process.errors() == ""


@pytest.mark.parametrize("configuration", ["good", "faulty"])
def test_files_are_opened_anew_at_sighup(logged, own_recorder, tmp_path, configuration):
    before = get(logged)
    wait_until(lambda: before in ids(tmp_path / "access.log"), "the access line")
    for name in ("own", "access", "audit"):
        (tmp_path / f"{name}.log").rename(tmp_path / f"{name}.log.1")
    if configuration == "good":
        logged.reload()
    else:
        logged.reload({"threads": -1}, result="failure")
    after = get(logged)
    wait_until(lambda: after in ids(tmp_path / "access.log"), "the access line in the new file")
    wait_until(lambda: lines(tmp_path / "own.log"), "a line of its own in the new file")
    assert (tmp_path / "audit.log").exists()
    assert ids(tmp_path / "access.log.1") == {before} and before not in ids(tmp_path / "access.log")


def test_a_file_that_is_rotated_without_a_word_is_opened_anew(logged, own_recorder, tmp_path):
    before = get(logged)
    wait_until(lambda: before in ids(tmp_path / "access.log"), "the access line")
    (tmp_path / "access.log").rename(tmp_path / "access.log.1")
    # Requests until one lands in the new file: it is looked for once a second.
    wait_until(lambda: get(logged) and ids(tmp_path / "access.log"), "lines in the new file")
    assert before in ids(tmp_path / "access.log.1")


def test_a_log_moves_with_the_configuration(logged, own_recorder, tmp_path):
    before = get(logged)
    logged.reload({"logging": {"access_log_file": str(tmp_path / "elsewhere.log")}})
    after = get(logged)
    wait_until(lambda: after in ids(tmp_path / "elsewhere.log"), "the access line")
    assert before in ids(tmp_path / "access.log") and after not in ids(tmp_path / "access.log")


def test_a_file_that_cannot_be_opened_is_a_fault_of_the_start(start_gateway, tmp_path):
    gateway = start_gateway()
    gateway.write_config({"logging": {"file": str(tmp_path / "none" / "own.log")}})
    result = subprocess.run(
        [str(binary()), "serve", "--config", str(gateway.config_path)], capture_output=True, text=True, timeout=30
    )
    assert result.returncode == 78
    assert "logging.file: " in result.stderr and "No such file or directory" in result.stderr
    # At a reload it is one as well, and the log stays where it is.
    gateway.reload(result="failure")
    wait_until(lambda: "logging.file: " in gateway.log(), "the fault in the log")


def lost(gateway, log: str) -> float:
    return gateway.samples()[f'gatehouse_log_lines_lost_total{{log="{log}"}}']


def test_a_log_that_cannot_be_written_is_told_of_in_the_others(start_gateway, own_recorder, tmp_path):
    own, access = tmp_path / "own.log", tmp_path / "access.log"
    access.symlink_to("/dev/full")
    gateway = start_gateway({"logging": {"file": str(own), "access_log_file": str(access)}})

    def told(message: str) -> list[dict]:
        return [line for line in lines(own) if line["message"] == message]

    for _ in range(3):
        get(gateway, "/recorded/exact")
    wait_until(lambda: told("lines of a log cannot be written, or not in time"), "the loss to be told")
    (line,) = told("lines of a log cannot be written, or not in time")
    assert line["log"] == "access" and 1 <= int(line["lost"]) <= 3 and line["level"] == "error"
    # It is told as soon as one is lost; another one that still waited would go to the new file.
    wait_until(lambda: lost(gateway, "access") == 3, "all three to be lost")
    access.unlink()
    gateway.reload()
    get(gateway, "/recorded/exact")
    # After three looks, two seconds apart, at which none was lost.
    wait_until(lambda: told("lines of a log are written again"), "its end to be told", 30)
    (line,) = told("lines of a log are written again")
    assert line["log"] == "access" and int(line["lost"]) == 3


def test_on_a_full_disk_requests_are_served_and_lost_lines_counted(start_gateway, own_recorder):
    gateway = start_gateway(
        {"logging": {"file": "/dev/full", "access_log_file": "/dev/full"}, "audit": {"log": "/dev/full"}}
    )
    for _ in range(20):
        assert raw.exchange(gateway.port, "GET", "/recorded/public/x").status == 200
    wait_until(lambda: lost(gateway, "access") == 20, "twenty lost lines")
    direct = {"X-Amz-Target": "AWSCognitoIdentityProviderService.SignUp"}
    assert raw.exchange(gateway.port, "POST", "/", direct, b"{}").status == 403
    wait_until(lambda: lost(gateway, "audit") == 1, "a lost audit line")
    # The lines of its start.
    wait_until(lambda: lost(gateway, "application") >= 2, "lost lines of its own")
    gateway.process.signal(signal.SIGTERM)
    assert gateway.process.wait(10) == 0


def test_when_there_is_room_again_the_log_goes_on_with_whole_lines(logged, own_recorder, tmp_path):
    """The limit of a file's size cuts a line in two, as a full disk does."""
    get(logged)
    wait_until(lambda: lines(tmp_path / "access.log"), "a line")
    size = (tmp_path / "access.log").stat().st_size
    resource.prlimit(logged.process.pid, resource.RLIMIT_FSIZE, (size + 100, resource.RLIM_INFINITY))
    for number in range(3):
        assert raw.exchange(logged.port, "GET", f"/recorded/public/{number}").status == 200
    wait_until(lambda: lost(logged, "access") == 3, "three lost lines")
    resource.prlimit(logged.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    after = get(logged)
    wait_until(lambda: after in (tmp_path / "access.log").read_text(), "a line again")
    written = (tmp_path / "access.log").read_text().splitlines()
    assert len(written) == 3, written
    assert json.loads(written[2])["request_id"] == after


def test_successes_of_health_checks_are_sampled_and_failures_are_not(start_gateway, own_recorder):
    gateway = start_gateway(
        {
            "logging": {
                "access_log_sampling": [
                    {"route": "exact", "every": 10},
                    {"path": "/recorded/public/live", "every": 5},
                ]
            },
            # Which loop takes a connection is not told, and each counts for itself.
            "threads": 1,
        }
    )
    own_recorder.on("/recorded/public/live", lambda exchange: exchange.respond(200, b""))
    for _ in range(20):
        get(gateway, "/recorded/exact")
        get(gateway, "/recorded/public/live?probe=1")
    own_recorder.on("/recorded/exact", lambda exchange: exchange.respond(503, b""))
    for _ in range(3):
        get(gateway, "/recorded/exact")
    gateway.access_line(get(gateway, "/recorded/public/last"))
    found = [(line["path"].split("?")[0], line["status"]) for line in gateway.access_log()]
    assert found.count(("/recorded/exact", 200)) == 2
    assert found.count(("/recorded/public/live", 200)) == 4
    assert found.count(("/recorded/exact", 503)) == 3
    # Requests that are not logged are counted all the same.
    assert gateway.samples()['gatehouse_requests_total{route="exact",method="safe",status="2xx"}'] == 20


def test_at_a_terminal_it_is_text(start_gateway, tmp_path, own_recorder):
    gateway = start_gateway()
    gateway.stop()
    gateway.config["listeners"] = [{"address": f"127.0.0.1:{free_port()}"}]
    gateway.write_config()
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [str(binary()), "serve", "--config", str(gateway.config_path)], stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    try:
        text = b""
        while b"admin listening" not in text:
            text += os.read(ours, 4096)
        port = gateway.config["listeners"][0]["address"].rsplit(":", 1)[1]
        raw.exchange(int(port), "GET", "/recorded/public/seen?q=hidden-value")
        while b"request_id=" not in text:
            text += os.read(ours, 4096)
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
        os.close(ours)
    found = text.decode().splitlines()
    assert any(re.search(r" info listening address=127\.0\.0\.1:\d+$", line) for line in found), found
    assert any(" GET /recorded/public/seen?q= 200 " in line for line in found), found


@contextlib.contextmanager
def unread(gateway, directory: Path):
    """Runs the gateway again with a standard output that is a full pipe: the process, and the end to read from."""
    gateway.stop()
    gateway.port = free_port()
    gateway.config["listeners"] = [{"address": f"127.0.0.1:{gateway.port}"}]
    gateway.write_config()
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(theirs, b"\n" * 4096)
    os.set_blocking(theirs, True)
    with (directory / "own.log").open("wb") as errors:
        process = subprocess.Popen(
            [str(binary()), "serve", "--config", str(gateway.config_path)],
            stdin=subprocess.DEVNULL, stdout=theirs, stderr=errors,
        )
    os.close(theirs)
    try:
        wait_until(lambda: gateway.admin("/healthz")[0] == 200, "the gateway to serve", STARTUP_SECONDS)
        yield process, ours
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def test_a_reload_does_not_wait_for_whoever_reads_the_logs(start_gateway, own_recorder, tmp_path):
    token = "the-token-of-the-admin-listener"
    gateway = start_gateway({"admin": {"token": token}})
    with unread(gateway, tmp_path) as (process, ours):
        headers = {"Host": "localhost", "Authorization": f"Bearer {token}"}
        asked = []
        for _ in range(3):
            asked.append(get(gateway))
            assert raw.exchange(gateway.admin_port, "POST", "/reload", headers, b"").status == 200
        # Its reader goes on: nothing is missing.
        text = b""
        while not all(request.encode() in text for request in asked):
            piece = os.read(ours, 65536)
            assert piece, "the output has ended"
            text += piece
        process.send_signal(signal.SIGTERM)
        assert process.wait(10 * PATIENCE) == 0


def test_the_end_does_not_wait_for_whoever_reads_the_logs(start_gateway, own_recorder, tmp_path):
    gateway = start_gateway()
    with unread(gateway, tmp_path) as (process, _):
        assert get(gateway)
        process.send_signal(signal.SIGTERM)
        assert process.wait(10 * PATIENCE) == 0


@pytest.mark.parametrize("form", ["json", "text"])
def test_no_secret_is_in_any_log_at_any_level(start_gateway, pool, ledger, tmp_path, form):
    gateway = start_gateway(
        {
            "logging": {
                "level": "trace",
                "format": form,
                "file": str(tmp_path / "own.log"),
                "access_log_file": str(tmp_path / "access.log"),
            },
            "audit": {"log": str(tmp_path / "audit.log")},
        },
        pool=pool,
    )
    account = Account(gateway.port, ledger)
    tokens = account.login(*ADA).json()
    account.login(ADA[0], "A-Wrong-But-Secret-Password-7")
    refreshed = account.refresh(tokens["refresh_token"]).json()
    account.refresh("a-made-up-but-secret-refresh-token-7")
    account.post("reset-password", {"email": ADA[0], "code": "975318642", "new_password": "Reset-Horse-Secret-7"})
    get(gateway, "/recorded/public/x?code=Secret-Query-Code-7", Authorization="Bearer secret-made-up-bearer-7")
    last = get(gateway, "/recorded/public/last")
    wait_until(lambda: last in (tmp_path / "access.log").read_text(), "the last line")
    gateway.stop()
    secrets = [
        *(tokens[name] for name in ("access_token", "refresh_token")),
        refreshed["access_token"],
        ADA[1],
        "A-Wrong-But-Secret-Password-7",
        "a-made-up-but-secret-refresh-token-7",
        "975318642",
        "Reset-Horse-Secret-7",
        "Secret-Query-Code-7",
        "secret-made-up-bearer-7",
    ]
    for name in ("own", "access", "audit"):
        text = (tmp_path / f"{name}.log").read_text()
        assert text, f"{name}.log is empty"
        for secret in secrets:
            assert secret not in text and secret[-40:] not in text, f"{name}.log holds {secret[:6]}…"
