"""The gateway's own sessions: validated, refreshed, ended, and what the proxy makes of them."""

import asyncio
import json
import shutil
import signal
import subprocess
import time

import jwt
import pytest
from harness import raw
from harness.account import Account, assert_refusal, bearer
from harness.gateway import ADA, Gateway, gatehouse
from harness.process import wait_until
from harness.sessions import DAY, ISSUER, PREFIX, App, State, session_settings

REQUIRED = "/recorded/required/a"


@pytest.fixture
def start_sessions(start_gateway, issuer, ledger):
    """Starts a gateway that keeps sessions: the gateway, its state and an app."""

    def start(changes: dict | None = None, pool=None, apple: dict | None = None, **session):
        settings = session_settings(issuer.server.url, apple, **session)
        for name, value in (changes or {}).items():
            settings[name] = {**settings.get(name, {}), **value} if isinstance(value, dict) else value
        gateway = start_gateway(settings, pool=pool)
        return gateway, State(gateway), App(gateway.port, ledger)

    return start


@pytest.fixture
def served(start_sessions) -> tuple[Gateway, State, App]:
    return start_sessions()


def again(start_sessions, gateway: Gateway):
    """Another process on the same state directory."""
    return start_sessions({"state_directory": gateway.config["state_directory"]})


def proxied(gateway: Gateway, token: str) -> int:
    return raw.exchange(gateway.port, "GET", REQUIRED, bearer(token)).status


def assert_denied(answer: raw.Response, status: int, error: str) -> None:
    assert assert_refusal(answer, status, error)["success"] is False


# MARK: Where a session is good


def test_a_session_is_validated_and_proxied_with_the_identity_that_it_says(served, own_recorder):
    gateway, state, app = served
    session = state.begin()
    answer = app.validate(session.token)
    assert answer.status == 200 and answer.header("cache-control") == "no-store"
    assert answer.json() == {
        "success": True,
        "user": {
            **{"id": session.user, "name": "Ada", "email": "apple-ada@example.com", "phoneNumber": None},
            "role": "customer",
        },
    }
    assert proxied(gateway, session.token) == 200
    seen = own_recorder.last(REQUIRED)
    assert seen.header("x-auth-subject") == session.user
    assert seen.header("x-auth-groups") == "customer"
    assert seen.header("x-auth-issuer") == ISSUER
    assert seen.header("x-auth-token-use") == "session"


def test_its_key_is_published_and_others_can_verify_it_with_that(served):
    gateway, state, app = served
    successor = app.refresh(state.begin().token).json()["token"]
    keys = raw.exchange(gateway.port, "GET", "/.well-known/gatehouse/jwks.json").json()["keys"]
    assert len(keys) == 2, "the one that signs, and the next"
    header = jwt.get_unverified_header(successor)
    assert header["typ"] == "session+jwt"
    key = jwt.PyJWK(next(key for key in keys if key["kid"] == header["kid"]))
    claims = jwt.decode(successor, key, ["ES256"], audience="api", issuer=ISSUER)
    assert claims["exp"] == claims["iat"] + 30 * DAY
    assert claims["rotation"] == 1 and claims["role"] == "customer"


def test_a_session_is_nobody_elses_token_and_nobody_elses_token_is_a_session(start_sessions, pool, ledger, issuer):
    routes = [{"name": "users", "path": "/users-only/**", "upstream": "recorder", "issuers": ["own"]}]
    gateway, state, app = start_sessions({"routes": routes}, pool=pool)
    session = state.begin()
    account = Account(gateway.port, ledger)
    tokens = account.login(*ADA).json()
    for answer in (account.me(session.token), account.post("change-password", {}, session.token)):
        assert_refusal(answer, 401, "NotAuthorizedException")
    assert raw.exchange(gateway.port, "GET", "/users-only/a", bearer(session.token)).status == 401
    for token in (tokens["access_token"], issuer.access(), issuer.access(iss=ISSUER), "garbage"):
        for answer in (app.validate(token), app.refresh(token), app.export(token), app.delete(token)):
            assert_denied(answer, 401, "NotAuthorizedException")


def test_what_is_wrong_with_a_session(served):
    gateway, state, app = served
    session = state.begin()
    claims = jwt.decode(session.token, options={"verify_signature": False})
    head, payload, signature = session.token.split(".")
    now = int(time.time())
    wrong = {
        "tampered": f"{head}.{payload[:-2]}AA.{signature}",
        "unsigned": f"{head}.{payload}.",
        "another type": state.token(claims, typ="JWT"),
        "another audience": state.token({**claims, "aud": "web"}),
        "another issuer": state.token({**claims, "iss": f"{ISSUER}/"}),
        "no session": state.token({name: value for name, value in claims.items() if name != "sid"}),
        "from the future": state.token({**claims, "iat": now + 3600}),
        "too large": session.token + "A" * 10_000,
    }
    for name, token in wrong.items():
        for answer in (app.validate(token), app.refresh(token)):
            assert_denied(answer, 401, "NotAuthorizedException")
        assert proxied(gateway, token) == 401, name
    assert_denied(app.validate(None), 401, "NotAuthorizedException")
    assert_denied(app.refresh(None), 401, "NotAuthorizedException")
    expired = state.begin(age=30 * DAY + 120)
    assert_denied(app.validate(expired.token), 401, "TokenExpiredException")
    assert proxied(gateway, expired.token) == 401
    twice = raw.RawConnection(gateway.port)
    twice.send(
        f"POST {PREFIX}/refresh HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {session.token}\r\n"
        f"Authorization: Bearer {session.token}\r\nContent-Length: 0\r\n\r\n".encode()
    )
    assert twice.response().status == 400
    assert app.validate(session.token).status == 200, "none of it was its end"


# MARK: Refresh


def test_a_refresh_within_the_week_after_its_end_and_not_later(served):
    gateway, state, app = served
    late, too_late = state.begin(age=37 * DAY - 60), state.begin(age=37 * DAY + 120)
    answer = app.refresh(late.token)
    assert answer.status == 200 and answer.json()["success"] is True
    assert app.validate(answer.json()["token"]).status == 200
    refused = app.refresh(too_late.token)
    assert_denied(refused, 401, "TokenRefreshException")
    assert gateway.access_line(refused.header("x-request-id"))["denial_reason"] == "expired-refresh-token"


def test_a_retry_brings_the_same_successor_and_later_reuse_ends_the_session(served):
    gateway, state, app = served
    session, other = state.begin(), state.begin()
    successor = app.refresh(session.token).json()["token"]
    assert app.refresh(session.token).json()["token"] == successor
    assert proxied(gateway, session.token) == 200, "within the window"
    state.let_the_window_pass()
    reuse = app.refresh(session.token)
    assert_denied(reuse, 401, "TokenRefreshException")
    assert gateway.access_line(reuse.header("x-request-id"))["denial_reason"] == "refresh-token-reused"
    assert proxied(gateway, successor) == 401
    assert_denied(app.validate(successor), 401, "NotAuthorizedException")
    assert_denied(app.refresh(successor), 401, "TokenRefreshException")
    assert app.refresh(other.token).status == 200, "another session of the user's"
    events = wait_until(lambda: gateway.audit_log("refresh_reused"), "the audit event")
    assert events[0]["operation"] == "session-refresh" and events[0]["reason"] == "refresh-token-reused"
    assert {"refreshed"} <= {event["event"] for event in gateway.audit_log()}


def test_a_token_whose_successor_was_never_used_brings_it_again_to_the_sessions_device(served):
    """However late: the app was killed before it stored the response."""
    gateway, state, app = served
    session, stolen = state.begin(), state.begin()
    successor, other = (app.refresh(token).json()["token"] for token in (session.token, stolen.token))
    state.let_the_window_pass()
    phone, thief = ({"device_info": {"device_id": device}} for device in ("phone-7", "phone-8"))
    again = app.refresh(session.token, **phone)
    assert again.status == 200 and again.json()["token"] == successor
    events = wait_until(lambda: gateway.audit_log("refresh_given_again"), "the audit event")
    assert events[0]["operation"] == "session-refresh"
    assert_denied(app.refresh(stolen.token, **thief), 401, "TokenRefreshException")
    assert proxied(gateway, other) == 401
    newest = app.refresh(successor, **phone).json()["token"]
    assert proxied(gateway, newest) == 200
    assert_denied(app.refresh(session.token, **phone), 401, "TokenRefreshException")
    assert proxied(gateway, newest) == 401


async def at_once(ports: list[int], token: str) -> list[tuple[int, dict]]:
    """One refresh of the same token on each of these ports, all connected before any is sent."""
    ready = asyncio.Event()

    async def one(port: int) -> tuple[int, dict]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        await ready.wait()
        writer.write(
            f"POST {PREFIX}/refresh HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
            "Content-Length: 0\r\nConnection: close\r\n\r\n".encode()
        )
        head, _, rest = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
        return int(head.split()[1]), json.loads(rest)

    tasks = [asyncio.create_task(one(port)) for port in ports]
    await asyncio.sleep(0)
    ready.set()
    return await asyncio.gather(*tasks)


def test_many_refreshes_of_one_token_are_one_also_by_two_gateways(start_sessions):
    gateway, state, _ = start_sessions()
    other, _, app = again(start_sessions, gateway)
    session = state.begin()
    answers = asyncio.run(at_once([gateway.port, other.port] * 150, session.token))
    assert {status for status, _ in answers} == {200}
    assert len({body["token"] for _, body in answers}) == 1
    assert app.refresh(answers[0][1]["token"]).status == 200


def test_a_token_that_was_replaced_ends_at_the_proxy_as_well(start_sessions):
    """After a restart the records say so; a gateway that goes on does the same by its clock."""
    gateway, state, app = start_sessions()
    session = state.begin()
    successor = app.refresh(session.token).json()["token"]
    assert proxied(gateway, session.token) == 200 and app.validate(session.token).status == 200
    state.let_the_window_pass()
    gateway.stop()
    gateway, _, app = again(start_sessions, gateway)
    assert proxied(gateway, session.token) == 401
    assert_denied(app.validate(session.token), 401, "NotAuthorizedException")
    assert proxied(gateway, successor) == 200


@pytest.mark.long
@pytest.mark.timeout(120)
def test_a_token_that_was_replaced_ends_a_minute_later(served):
    gateway, state, app = served
    session = state.begin()
    begin = time.monotonic()
    successor = app.refresh(session.token).json()["token"]
    wait_until(lambda: proxied(gateway, session.token) == 401, "the end of the old token", seconds=75)
    assert time.monotonic() - begin >= 60
    assert proxied(gateway, successor) == 200


def test_lifetimes_are_the_settings(start_sessions):
    gateway, state, app = start_sessions(lifetime="10m", refresh_within="5m", absolute_lifetime="30m", idle_lifetime="12m")
    claims = jwt.decode(app.refresh(state.begin(age=60).token).json()["token"], options={"verify_signature": False})
    assert claims["exp"] - claims["iat"] == 600
    reasons = []
    for age, lifetime in ((13 * 60, 3600), (31 * 60, 3600), (16 * 60, 600)):
        answer = app.refresh(state.begin(age=age, lifetime=lifetime).token)
        assert_denied(answer, 401, "TokenRefreshException")
        reasons.append(gateway.access_line(answer.header("x-request-id"))["denial_reason"])
    assert reasons == ["session-idle", "session-too-old", "expired-refresh-token"]


def test_refreshes_have_the_limits_of_refreshes_and_validating_has_none(start_sessions):
    gateway, state, app = start_sessions({"account_limits": {"refresh": {"account": "3/1m"}}})
    session, other = state.begin(), state.begin("apple-ben")
    token = session.token
    for _ in range(3):
        token = app.refresh(token).json()["token"]
    refused = app.refresh(token)
    assert_denied(refused, 429, "TooManyRequestsException")
    assert gateway.access_line(refused.header("x-request-id"))["denial_reason"] == "rate-limited-account"
    assert all(app.validate(token).status == 200 for _ in range(20))
    assert app.refresh(other.token).status == 200, "another user's"


# MARK: Ends


def test_signing_out_ends_one_session_or_all(served):
    gateway, state, app = served
    one, two, three = (state.begin() for _ in range(3))
    other = state.begin("apple-ben")
    assert proxied(gateway, one.token) == 200
    answer = app.logout(one.token)
    assert answer.status == 204 and answer.body == b""
    assert proxied(gateway, one.token) == 401, "from the next request on"
    assert app.logout(one.token).status == 204
    assert_denied(app.refresh(one.token), 401, "TokenRefreshException")
    assert app.validate(two.token).status == 200
    assert app.logout(two.token, all_devices=True).status == 204
    assert [proxied(gateway, each.token) for each in (two, three, other)] == [401, 401, 200]
    assert_denied(app.logout(), 401, "NotAuthorizedException")
    assert_denied(app.logout(other.token, all_devices="x"), 422, "InvalidParameterException")
    assert len(wait_until(lambda: gateway.audit_log("signed_out")[1:], "the audit events")) >= 1


def test_a_user_who_is_deleted_is_gone(served):
    gateway, state, app = served
    session, other = state.begin(), state.begin()
    held = app.export(session.token).json()
    assert held["user"]["subject"] == "apple-ada" and len(held["sessions"]) == 2
    assert app.delete(session.token).status == 204
    for token in (session.token, other.token):
        assert proxied(gateway, token) == 401
        assert_denied(app.validate(token), 401, "NotAuthorizedException")
        assert_denied(app.refresh(token), 401, "TokenRefreshException")
        assert_denied(app.export(token), 401, "NotAuthorizedException")
    with state.database() as database:
        for table in ("users", "user_sessions", "apple_tokens"):
            assert database.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
    assert len(wait_until(lambda: gateway.audit_log("user_deleted"), "the audit event")) == 1
    assert len(gateway.audit_log("user_exported")) == 1


def test_ends_outlast_a_kill(start_sessions):
    gateway, state, app = start_sessions()
    ended, deleted, good = state.begin(), state.begin("apple-ben"), state.begin("apple-eve")
    successor = app.refresh(good.token).json()["token"]
    assert app.logout(ended.token).status == 204 and app.delete(deleted.token).status == 204
    gateway.process.signal(signal.SIGKILL)
    gateway.process.wait(10)
    gateway, _, app = again(start_sessions, gateway)
    assert [proxied(gateway, token) for token in (ended.token, deleted.token, successor)] == [401, 401, 200]
    assert app.refresh(successor).status == 200


def test_an_answer_that_a_kill_has_lost_waits_a_minute_for_its_client(start_sessions):
    """The gateway was away for longer than the window, and not the client."""
    gateway, state, app = start_sessions()
    session = state.begin()
    successor = app.refresh(session.token).json()["token"]
    gateway.process.signal(signal.SIGKILL)
    gateway.process.wait(10)
    state.let_the_window_pass()
    gateway, _, app = again(start_sessions, gateway)
    assert app.refresh(session.token).json()["token"] == successor
    state.let_the_window_pass()
    assert_denied(app.refresh(session.token), 401, "TokenRefreshException")


def test_a_stop_opens_no_window_again(start_sessions):
    gateway, state, app = start_sessions()
    session = state.begin()
    assert app.refresh(session.token).status == 200
    gateway.process.stop()
    state.let_the_window_pass()
    gateway, _, app = again(start_sessions, gateway)
    assert_denied(app.refresh(session.token), 401, "TokenRefreshException")


def test_what_has_ended_is_removed_also_where_nothing_is_written(start_sessions):
    gateway, state, _ = start_sessions()
    lasting = state.begin()
    state.begin(age=38 * DAY)
    gateway.stop()
    again(start_sessions, gateway)
    with state.database() as database:
        left = "SELECT id FROM user_sessions"
        wait_until(lambda: database.execute(left).fetchall() == [(lasting.id,)], "the removal")


def test_a_reload_switches_sessions_on_and_off_and_they_are_still_there(start_gateway, issuer, ledger):
    gateway = start_gateway()
    app = App(gateway.port, ledger)
    assert app.validate(None).status == 404
    settings = session_settings(issuer.server.url)
    gateway.reload(settings)
    state = State(gateway)
    session = state.begin()
    token = app.refresh(session.token).json()["token"]
    assert proxied(gateway, token) == 200
    gateway.reload({"sign_in": ..., "issuers": {"sessions": ..., "apple": ...}})
    assert app.validate(token).status == 404 and proxied(gateway, token) == 401
    gateway.reload(settings)
    assert app.validate(token).status == 200 and proxied(gateway, token) == 200
    assert app.logout(token).status == 204 and proxied(gateway, token) == 401
    # The new settings apply to tokens from now on.
    shorter = {**settings["sign_in"]["apple"]["session"], "lifetime": "1h"}
    gateway.reload({"sign_in": {"apple": {"session": shorter}}})
    claims = jwt.decode(app.refresh(state.begin().token).json()["token"], options={"verify_signature": False})
    assert claims["exp"] - claims["iat"] == 3600


def test_also_what_is_no_call_below_the_prefix_is_refused_with_success_false(served):
    gateway, _, app = served
    assert_denied(app.send("GET", "validate"), 405, "MethodNotAllowedException")
    assert_denied(app.send("POST", "nothing-here", {}), 404, "NotFoundException")
    for path in ("validate/%2e%2e/refresh", "/validate", "%zz"):
        assert_denied(app.send("POST", path, {}), 400, "BadRequestException")
    # Only these clients look for it.
    for path in ("/api/authority", "/api/auth", "/nowhere", "/recorded/required/%2e%2e/a"):
        assert "success" not in raw.exchange(gateway.port, "GET", path).json(), path


# MARK: The operator


def users(gateway: Gateway, *arguments: str) -> subprocess.CompletedProcess:
    command, *rest = arguments
    return gatehouse("users", command, "--config", gateway.config_path, *rest)


def test_an_operator_sees_users_sets_roles_and_ends_sessions(served):
    gateway, state, app = served
    session = state.begin()
    state.begin("apple-ben")
    listed = [json.loads(line) for line in users(gateway, "list").stdout.splitlines()]
    assert {user["subject"] for user in listed} == {"apple-ada", "apple-ben"}
    found = users(gateway, "list", "--matching", "apple-ada@").stdout.splitlines()
    assert [json.loads(line)["id"] for line in found] == [session.user]
    shown = users(gateway, "show", session.user).stdout
    assert json.loads(shown)["sessions"] == 1 and session.token not in shown
    assert json.loads(users(gateway, "sessions", session.user).stdout)["device_id"] == "phone-7"

    assert proxied(gateway, session.token) == 200
    assert users(gateway, "set-role", session.user, "driver").returncode == 0
    wait_until(lambda: proxied(gateway, session.token) == 401, "the end of the session")
    assert_denied(app.refresh(session.token), 401, "TokenRefreshException")
    assert json.loads(users(gateway, "show", session.user).stdout)["role"] == "driver"

    new = state.begin()
    assert "1 sessions ended" in users(gateway, "end-sessions", new.user).stdout
    assert_denied(app.refresh(new.token), 401, "TokenRefreshException")
    for arguments in (("set-role", session.user, "root"), ("show", "nobody"), ("end-sessions", "nobody")):
        refused = users(gateway, *arguments)
        assert refused.returncode == 1 and "there is no" in refused.stderr and refused.stdout == ""


def test_keys_rotate_and_sessions_go_on_unless_a_key_is_compromised(served):
    gateway, state, app = served
    old = state.begin()
    arguments = ("keys", "rotate", "--config", gateway.config_path, "--purpose", "session")
    assert gatehouse(*arguments, "--now").returncode == 0
    gateway.reload()
    new = app.refresh(old.token).json()["token"]
    assert jwt.get_unverified_header(new)["kid"] != jwt.get_unverified_header(old.token)["kid"]
    assert [proxied(gateway, token) for token in (old.token, new)] == [200, 200]
    assert gatehouse(*arguments, "--compromised").returncode == 0
    gateway.reload()
    assert [proxied(gateway, token) for token in (old.token, new)] == [200, 401]
    assert_denied(app.refresh(new), 401, "NotAuthorizedException")


# MARK: When the records can't be used


def test_a_locked_database_is_503_and_nothing_is_lost(served):
    gateway, state, app = served
    session, other = state.begin(), state.begin()
    lock = state.database()
    lock.execute("BEGIN EXCLUSIVE")
    started = time.monotonic()
    for answer in (app.refresh(session.token), app.logout(other.token)):
        assert_denied(answer, 503, "ServiceUnavailableException")
    assert time.monotonic() - started >= 5
    assert app.validate(session.token).status == 200, "which asks nobody"
    lock.execute("ROLLBACK")
    successor = app.refresh(session.token)
    assert successor.status == 200
    assert app.refresh(successor.json()["token"]).status == 200


def mounted(directory, size: str) -> bool:
    directory.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", str(directory)]
    return subprocess.run(command, capture_output=True).returncode == 0


def test_a_full_disk_is_503_and_it_recovers_by_itself(start_sessions, run_directory):
    state_directory = run_directory / f"full-{time.monotonic_ns()}"
    if not mounted(state_directory, "8m"):
        shutil.rmtree(state_directory)
        pytest.skip("needs the right to mount a small disk")
    try:
        gateway, state, app = start_sessions({"state_directory": str(state_directory)})
        session = state.begin()
        filler = state_directory / "filler"
        with filler.open("wb", buffering=0) as file, pytest.raises(OSError):
            while True:
                file.write(b"\0" * 4096)
        token, refused = session.token, None
        # Changes that fit into the log are still accepted.
        for _ in range(2000):
            answer = app.refresh(token)
            if answer.status != 200:
                refused = answer
                break
            token = answer.json()["token"]
        assert refused is not None
        assert_denied(refused, 503, "ServiceUnavailableException")
        filler.unlink()
        recovered = app.refresh(token)
        assert recovered.status == 200
        assert app.refresh(recovered.json()["token"]).status == 200
        with state.database() as database:
            assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        gateway.stop()
    finally:
        subprocess.run(["umount", "-l", str(state_directory)], check=True)
        shutil.rmtree(state_directory)


