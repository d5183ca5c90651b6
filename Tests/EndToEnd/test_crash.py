"""A signal that ends the gateway leaves a line that says what was under way, and the next start copes with whatever waits."""

import contextlib
import json
import os
import signal
import socket
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from harness import raw
from harness.backend import RecordingBackend, answer, silence
from harness.gateway import ADA, POOL_CLIENT_ID, Gateway, binary
from harness.process import accepts_connections, wait_until

WRONG = "Wrong-Horse-1"
STARTS = 3
# Swift's own report of a crash takes seconds, and lets a process live whose signal came from outside.
NO_BACKTRACE = {"SWIFT_BACKTRACE": "enable=no"}


def webhook(receiver: RecordingBackend) -> dict:
    return {"audit": {"webhook": {"url": f"{receiver.url}/audit", "secret": "s" * 32, "allow_insecure_http": True}}}


def fail_to_sign_in(gateway: Gateway) -> raw.Response:
    body = json.dumps({"email": ADA[0], "password": WRONG}).encode()
    return raw.exchange(gateway.port, "POST", "/api/v1/auth/login", {"Content-Type": "application/json"}, body)


@pytest.mark.parametrize("number", [signal.SIGILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGTRAP])
def test_a_crash_says_what_was_under_way(start_gateway, pool, receiver, ledger, number):
    ledger.note(WRONG)
    receiver.on("/audit", silence)
    gateway = start_gateway(webhook(receiver), pool=pool, environment=NO_BACKTRACE)
    assert fail_to_sign_in(gateway).status == 401
    wait_until(lambda: receiver.requests_to("/audit"), "the delivery to be under way")
    gateway.process.signal(number)
    assert gateway.process.wait(10) == -number, "the signal still ends it"
    line = json.loads(gateway.process.errors().splitlines()[-1])
    assert (line["level"], line["message"], line["signal"]) == ("critical", "crashed", signal.Signals(number).name)
    assert any(each.startswith("outbox delivery audit_webhook ") for each in line["under_way"])
    assert f"request POST 127.0.0.1:{receiver.port}" in line["under_way"]
    assert ADA[0] not in json.dumps(line)


def test_a_crash_names_direct_calls_to_cognito(start_gateway, pool, receiver, ledger):
    ledger.note(WRONG)
    receiver.on("/", silence)
    cognito = pool.sign_in_settings("pool", endpoint=receiver.url)
    settings = {"sign_in": {"cognito": cognito}, "direct_cognito": {"mode": "translate"}}
    gateway = start_gateway(settings, pool=pool, environment=NO_BACKTRACE)
    parameters = {"USERNAME": ADA[0], "PASSWORD": WRONG}
    call = {"AuthFlow": "USER_PASSWORD_AUTH", "ClientId": POOL_CLIENT_ID, "AuthParameters": parameters}
    headers = {"Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": "AWSCognitoIdentityProviderService.InitiateAuth"}
    with raw.RawConnection(gateway.port) as app:
        app.send(raw.request_bytes("POST", "/", headers, json.dumps(call).encode()))
        wait_until(lambda: receiver.requests_to("/"), "the call to be under way")
        gateway.process.signal(signal.SIGSEGV)
        assert gateway.process.wait(10) == -signal.SIGSEGV
    line = json.loads(gateway.process.errors().splitlines()[-1])
    assert "direct call InitiateAuth" in line["under_way"]


@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_a_crash_ends_the_process_though_nobody_reads_its_standard_error(start_gateway, kind):
    gateway = start_gateway({"logging": {"file": "stdout"}}, environment=NO_BACKTRACE)
    gateway.stop()
    if kind == "pipe":
        reading, writing = os.pipe()
    else:
        reading, writing = (each.detach() for each in socket.socketpair())
    os.set_blocking(writing, False)
    with contextlib.suppress(BlockingIOError):
        while os.write(writing, bytes(4096)):
            pass
    os.set_blocking(writing, True)
    stuck = subprocess.Popen(
        [binary(), "serve", "--config", gateway.config_path],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=writing,
        env={**os.environ, **NO_BACKTRACE},
    )
    try:
        wait_until(lambda: accepts_connections(gateway.port), "the gateway")
        stuck.send_signal(signal.SIGSEGV)
        assert stuck.wait(10) == -signal.SIGSEGV
        # The descriptor is as it was.
        assert os.get_blocking(writing)
    finally:
        if stuck.poll() is None:
            stuck.kill()
            stuck.wait(10)
        os.close(reading)
        os.close(writing)


def test_a_crash_with_nothing_under_way(start_gateway):
    gateway = start_gateway({"logging": {"format": "text"}}, environment=NO_BACKTRACE)
    # Until then it fetches its key sets.
    gateway.wait_until_ready()
    gateway.process.signal(signal.SIGSEGV)
    assert gateway.process.wait(10) == -signal.SIGSEGV
    line = gateway.process.errors().splitlines()[-1]
    assert line.split(" ", 1)[1] == 'critical crashed signal=SIGSEGV under_way=""'


def test_a_start_after_crashes_whatever_the_outbox_holds(start_gateway, pool, receiver, ledger):
    ledger.note(WRONG)
    receiver.on("/audit", answer(503, b""))
    gateway = start_gateway(webhook(receiver), pool=pool, environment=NO_BACKTRACE)
    for _ in range(STARTS):
        assert fail_to_sign_in(gateway).status == 401
        gateway.process.signal(signal.SIGABRT)
        gateway.process.wait(10)
        fill(Path(gateway.config["state_directory"]) / "gatehouse.sqlite")
        gateway = Gateway(gateway.config_path.parent, "gateway", gateway.config, NO_BACKTRACE)
    try:
        receiver.on("/audit", answer(204, b""))
        assert fail_to_sign_in(gateway).status == 401
        wait_until(lambda: [r for r in receiver.requests_to("/audit") if r.body == b"good"], "a stored message", 40)
        assert gateway.process.exit_status is None
    finally:
        gateway.stop()


def fill(path: Path) -> None:
    """Puts in messages that no gateway would have put there, and one that is as it should be."""
    extremes = (-(2**63), -1, 0, 2**63 - 1)
    rows = [("audit_webhook", "signed_in", None, "good", 0, 0, 0)]
    rows += [(name, "x", None, "{}", 0, 0, 0) for name in ("", "apple", "user_sync", "nobody", "\0", "é" * 1000)]
    rows += [("audit_webhook", kind, "s\r\n", "x" * 100_000, 0, 0, 0) for kind in ("", "\0\r\n", "a" + "\u0345\u0334" * 5000)]
    rows += [("audit_webhook", "x", None, "{}", extreme, 0, 0) for extreme in extremes]
    rows += [("audit_webhook", "x", None, "{}", 0, extreme, 0) for extreme in extremes]
    rows += [("audit_webhook", "x", None, "{}", 0, 0, extreme) for extreme in extremes]
    with closing(sqlite3.connect(path, timeout=10)) as database, database:
        for destination, kind, subject, body, created, due, attempts in rows:
            # Messages that are too old are given up, so most are of now.
            database.execute(
                "INSERT INTO outbox VALUES (hex(randomblob(16)), ?, ?, ?, ?,"
                " CASE ? WHEN 0 THEN unixepoch() * 1000 ELSE ? END, ?, ?, random() % 3)",
                (destination, kind, subject, body, created, created, due, attempts),
            )
        database.execute("UPDATE outbox SET due_at = 0 WHERE body = 'good'")
