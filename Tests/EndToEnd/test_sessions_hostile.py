"""Attacks, late messages and careless clients against sign-in with Apple and the gateway's own sessions."""

import json
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import httpx
import jwt
import pytest
from harness import raw
from harness.account import assert_refusal
from harness.apple_app import AppleApp, apple_settings, stored
from harness.local_apple import LocalApple
from harness.process import wait_until
from harness.raw import RawConnection
from harness.sanitizer import PATIENCE


@pytest.fixture(scope="module")
def apple(run_directory):
    apple = LocalApple(run_directory, "hostile-apple")
    yield apple
    apple.stop()


@pytest.fixture
def start(start_gateway, apple):
    return lambda sign_in=None, **more: start_gateway({**apple_settings(apple, sign_in), **more})


@pytest.fixture
def user() -> str:
    return f"user-{time.time_ns()}@example.com"


def test_one_user_does_not_fill_the_revocation_list(start, apple, ledger, user):
    gateway = start(limits={"revocations": 80})
    app = AppleApp(gateway.port, apple, ledger)
    other = app.signed_in(f"other-{user}")["token"]
    for _ in range(90):
        token = app.signed_in(user, authorization_code=None)["token"]
        assert app.post("logout", token=token).status == 204
        assert not app.validates(token)
    ended = int(time.time())
    wait_until(lambda: time.time() >= ended + 1, "the next second", 5)
    assert app.validates(app.signed_in(user)["token"]), "who signs in again is signed in"
    assert app.post("logout", token=other).status == 204, "there is room for others"
    assert not app.validates(other)


def test_an_end_counts_on_connections_that_knew_the_session(start, apple, ledger, user):
    gateway = start(threads=2)
    app = AppleApp(gateway.port, apple, ledger)
    for end in (lambda token: app.post("logout", token=token), lambda token: app.send("DELETE", "me", token=token)):
        token = app.signed_in(user)["token"]
        known = {"Authorization": f"Bearer {token}"}
        with ExitStack() as stack:
            connections = [stack.enter_context(RawConnection(gateway.port)) for _ in range(8)]
            h2 = stack.enter_context(httpx.Client(http1=False, http2=True, base_url=gateway.url, headers=known))
            for connection in connections:
                assert connection.request("GET", "/recorded/required/a", known).status == 200
            assert h2.get("/recorded/required/a").status_code == 200
            assert end(token).status == 204
            assert [each.request("GET", "/recorded/required/a", known).status for each in connections] == [401] * 8
            assert [each.request("POST", "/api/auth/validate", known, b"").status for each in connections] == [401] * 8
            assert h2.get("/recorded/required/a").status_code == 401


def test_a_database_that_is_away_holds_no_other_request_up(start, apple, ledger, user):
    """One event loop: what waits for the store does not wait on it."""
    gateway = start(threads=1)
    app = AppleApp(gateway.port, apple, ledger)
    token = app.signed_in(user)["token"]
    bodies = [app.body(user) for _ in range(4)]
    known = {"Authorization": f"Bearer {token}"}
    with closing(database(gateway)) as lock, ThreadPoolExecutor(8) as threads:
        lock.execute("BEGIN EXCLUSIVE")
        waiting = [threads.submit(app.post, "apple", body) for body in bodies]
        waiting += [threads.submit(app.post, "refresh", token=token) for _ in range(4)]
        slowest = 0.0
        while not all(each.done() for each in waiting):
            begun = time.monotonic()
            assert raw.exchange(gateway.port, "GET", "/recorded/required/a", known).status == 200
            assert app.validates(token)
            slowest = max(slowest, time.monotonic() - begun)
        lock.execute("ROLLBACK")
    assert {each.result().status for each in waiting} == {503}
    # A write waits three seconds for the lock.
    assert slowest < 2.5 * PATIENCE
    assert app.post("refresh", token=token).status == 200


def test_the_export_has_everything_that_is_kept_of_the_user(start, apple, ledger, user):
    gateway = start()
    app = AppleApp(gateway.port, apple, ledger)
    device = {"device_id": "phone-of-the-export", "platform": "ios"}
    session = app.signed_in(user, name="Ada", device_info=device)
    app.signed_in(user)
    export = app.send("GET", "me/export", token=session["token"]).json()
    with closing(database(gateway)) as records:
        records.row_factory = sqlite3.Row
        subject = session["user"]["id"]
        kept = dict(records.execute("SELECT * FROM users WHERE id = ?", [subject]).fetchone())
        sessions = records.execute("SELECT * FROM user_sessions WHERE user_id = ?", [subject]).fetchall()
        tokens = records.execute("SELECT * FROM apple_tokens WHERE user_id = ?", [subject]).fetchall()
    told = export["user"]
    for column in ("id", "issuer", "subject", "name", "email", "role"):
        assert told[column] == kept[column], column
    assert told["phoneNumber"] == kept["phone_number"] and told["email_verified"] == bool(kept["email_verified"])
    assert told["created_at"] and told["email_as_of"] and told["disabled_at"] is None
    assert set(kept) == {*KEPT_OF_A_USER}, "a new column belongs into the export as well"
    assert {each["id"] for each in export["sessions"]} == {row["id"] for row in sessions} and len(sessions) == 2
    assert device["device_id"] in {each["device_id"] for each in export["sessions"]}
    assert [each["client_id"] for each in export["apple_tokens"]] == [row["client_id"] for row in tokens]
    assert session["token"] not in json.dumps(export)


KEPT_OF_A_USER = (
    "id issuer subject name email email_verified is_private_email email_as_of phone_number role created_at disabled_at"
).split()


def database(gateway) -> sqlite3.Connection:
    path = Path(gateway.config["state_directory"]) / "gatehouse.sqlite"
    return sqlite3.connect(path, timeout=10, isolation_level=None)


def test_a_full_revocation_list_keeps_nobody_here_and_no_thief_in(start, apple, ledger, user):
    gateway = start(limits={"revocations": 2})
    app = AppleApp(gateway.port, apple, ledger)
    for number in range(2):
        assert app.post("logout", token=app.signed_in(f"{number}-{user}")["token"]).status == 204
    token, other = app.signed_in(user)["token"], app.signed_in(f"other-{user}")["token"]
    full = app.post("logout", token=token)
    assert full.status == 503 and full.header("retry-after")
    assert gateway.access_line(full.header("x-request-id"))["denial_reason"] == "not-revoked"
    assert app.validates(token), "not half signed out"
    assert app.send("DELETE", "me", token=token).status == 204
    assert not app.validates(token)
    # Not even room for whole users any more: a token that is used twice brings no other one, and nobody else's does.
    used = app.post("refresh", token=other).json()["token"]
    newest = app.post("refresh", token=used).json()["token"]
    with closing(database(gateway)) as records:
        records.execute("UPDATE user_sessions SET refreshed_at = refreshed_at - 62")
    for each in (other, newest, newest):
        assert_refusal(app.post("refresh", token=each), 401, "TokenRefreshException")
    _, metrics = gateway.admin("/metrics")
    assert "gatehouse_revocations_limit 2\n" in metrics


def test_tokens_that_are_none_count_towards_the_limits_of_an_address(start, apple, ledger, user):
    gateway = start(account_limits={"refresh": {"address": "3/1m"}, "account": {"address": "3/1m"}})
    app = AppleApp(gateway.port, apple, ledger)
    token = app.signed_in(user)["token"]
    for call in ("refresh", "logout"):
        assert [app.post(call, token=f"garbage-{number}").status for number in range(5)] == [401] * 3 + [429] * 2
        limited = assert_refusal(app.post(call, token=token), 429, "TooManyRequestsException")
        assert limited["success"] is False
    assert app.validates(token), "that asks nobody, and counts nowhere"


def test_a_late_word_of_withdrawn_consent_does_not_end_what_began_after_it(start, apple, ledger, user):
    gateway = start()
    app = AppleApp(gateway.port, apple, ledger)
    before = app.signed_in(user)["token"]
    payload = apple.event("consent-revoked", user, send=False)["payload"]
    wait_until(lambda: time.time() > 1 + payload_time(payload), "the next second", 5)
    after = app.signed_in(user)["token"]
    assert app.post("apple/notifications", {"payload": payload}).status == 200
    assert not app.validates(before)
    assert app.validates(after), "the user has consented again"
    held = app.send("GET", "me/export", token=after).json()["apple_tokens"]
    assert len(held) == 1, "so that this consent can be taken back"


def payload_time(payload: str) -> int:
    return jwt.decode(payload, options={"verify_signature": False})["iat"]


def test_a_forwarded_sign_in_is_in_the_audit_log(start, apple, ledger, user):
    settings = {"mode": "forward", "upstream": "recorder", "session": ..., "server": ..., "legacy_user_identifier": "forward"}
    gateway = start(settings)
    app = AppleApp(gateway.port, apple, ledger)
    assert app.post("apple", {"userIdentifier": "001"}).status == 200
    assert app.sign_in(user).status == 200
    (event,) = wait_until(lambda: gateway.audit_log(), "the audit log")
    assert (event["event"], event["operation"]) == ("signed_in", "apple-sign-in")
    assert event["real_user_status"] == "likely_real" and "subject_hash" in event


def test_validate_leaves_the_connection_open_whatever_body_comes(start, apple, ledger, user):
    gateway = start()
    app = AppleApp(gateway.port, apple, ledger)
    token = app.signed_in(user)["token"]
    head = f"POST /api/auth/validate HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\nContent-Length: 2\r\n\r\n"
    with RawConnection(gateway.port) as connection:
        for _ in range(3):
            connection.send(head.encode() + b"{}")
            answer = connection.response()
            assert (answer.status, answer.header("connection")) == (200, None)
        connection.send(head.encode())
        connection.send(b"{}")
        assert connection.response().status == 200
        assert connection.request("GET", "/recorded/public/a").status == 200
    large = raw.exchange(gateway.port, "POST", "/api/auth/validate", {"Authorization": f"Bearer {token}"}, b"x" * 70_000)
    assert large.status == 413


def test_nothing_that_names_a_deleted_user_is_left_in_the_files(start, apple, ledger, user):
    gateway = start()
    app = AppleApp(gateway.port, apple, ledger)
    device = {"device_id": "device-of-the-forgotten", "platform": "ios"}
    token = app.signed_in(user, name="Quite Forgotten", device_info=device)["token"]
    subject = apple.account(user)["user"]
    assert app.send("DELETE", "me", token=token).status == 204
    files = stored(gateway)
    for trace in (user, "Quite Forgotten", "device-of-the-forgotten", subject):
        assert trace.encode() not in files, trace
