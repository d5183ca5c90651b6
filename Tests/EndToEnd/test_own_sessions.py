"""The sessions that a user sees and ends: where, since when, and what becomes of their tokens."""

import time

import pytest
from harness import raw
from harness.account import Account, assert_refusal, bearer
from harness.local_pool_control import control
from harness.process import wait_until
from harness.sessions import App, State, session_settings
from harness.user import PASSWORD, signed_in_user

PHONE = {"device_id": "phone-1", "platform": "ios", "os_version": 17.2, "app_version": "3.1", "model": "iPhone15,2"}
TABLET = {"uniqueId": "tablet-1", "deviceId": "iPad13,1", "systemName": "iPadOS", "deviceName": "Ada's tablet"}


def listed(account: Account, token: str) -> list[dict]:
    answer = account.send("GET", "me/sessions", token=token)
    assert answer.status == 200, answer.body
    assert answer.header("cache-control") == "no-store"
    return answer.json()["sessions"]


def proxied(account: Account, token: str) -> int:
    return raw.exchange(account.port, "GET", "/recorded/required/a", bearer(token)).status


@pytest.fixture
def two(account, pool) -> tuple[dict, dict]:
    """A user signed in twice: the tokens of a phone and of a tablet."""
    email, phone = signed_in_user(account, pool, device_info=PHONE)
    tablet = account.login(email, PASSWORD, device_info=TABLET)
    assert tablet.status == 200, tablet.body
    return phone, tablet.json()


def test_a_user_sees_the_own_sessions_and_no_tokens(account, pool, two):
    phone, tablet = two
    sessions = listed(account, phone["access_token"])
    assert [session["current"] for session in sessions] == [True, False]
    first, second = sessions
    assert set(first) == {
        *("id", "current", "device_name", "model", "platform", "os_version", "app_version"),
        *("signed_in_at", "last_used_at", "ends_at"),
    }
    assert (first["platform"], first["os_version"], first["app_version"]) == ("ios", "17.2", "3.1")
    assert (first["model"], first["device_name"]) == ("iPhone15,2", None)
    assert (second["device_name"], second["platform"], second["app_version"]) == ("Ada's tablet", "iPadOS", None)
    assert listed(account, tablet["access_token"])[0]["id"] == second["id"], "the one that asks comes first"
    text = account.send("GET", "me/sessions", token=phone["access_token"]).body.decode()
    for secret in (*phone.values(), *tablet.values()):
        assert not isinstance(secret, str) or len(secret) < 40 or secret not in text
    other, theirs = signed_in_user(account, pool)
    assert len(listed(account, theirs["access_token"])) == 1, f"{other} sees none of them"


def test_a_refresh_is_a_use(account, pool):
    _, tokens = signed_in_user(account, pool, device_info=PHONE)
    before = listed(account, tokens["access_token"])[0]
    newer = account.refresh(tokens["refresh_token"]).json()
    after = listed(account, newer["access_token"])[0]
    assert after["last_used_at"] >= before["last_used_at"] and after["id"] == before["id"]
    assert after["signed_in_at"] == before["signed_in_at"] and after["current"] is True


def test_one_session_is_ended_with_all_its_tokens(gateway, account, pool, two):
    phone, tablet = two
    _, victim = listed(account, phone["access_token"])
    revoked = control(pool, "GET", "calls")["counts"].get("RevokeToken", 0)
    ended = account.send("DELETE", f"me/sessions/{victim['id']}", token=phone["access_token"])
    assert ended.status == 204 and ended.body == b""
    assert proxied(account, tablet["access_token"]) == 401, "at once"
    assert_refusal(account.refresh(tablet["refresh_token"]), 401, "TokenRefreshException")
    assert control(pool, "GET", "calls")["counts"]["RevokeToken"] == revoked + 1, "at Cognito too"
    assert proxied(account, phone["access_token"]) == 200
    assert [session["current"] for session in listed(account, phone["access_token"])] == [True]
    again = account.send("DELETE", f"me/sessions/{victim['id']}", token=phone["access_token"])
    assert again.status == 204, "an ended one is what was asked for"
    events = wait_until(
        lambda: [event for event in gateway.audit_log("sessions_ended") if event["request_id"] == ended.header("x-request-id")],
        "the audit event",
    )
    assert events[0]["operation"] == "end-session"


def test_the_session_that_asks_can_be_ended_as_well(account, two):
    phone, tablet = two
    own = listed(account, phone["access_token"])[0]
    assert account.send("DELETE", f"me/sessions/{own['id']}", token=phone["access_token"]).status == 204
    assert_refusal(account.me(phone["access_token"]), 401, "NotAuthorizedException")
    assert account.me(tablet["access_token"]).status == 200


def test_all_others_are_ended_at_once(account, pool, two):
    phone, tablet = two
    assert account.send("DELETE", "me/sessions", token=phone["access_token"]).status == 204
    assert proxied(account, tablet["access_token"]) == 401
    assert_refusal(account.refresh(tablet["refresh_token"]), 401, "TokenRefreshException")
    assert account.refresh(phone["refresh_token"]).status == 200


def test_nobody_ends_anybody_elses_session(gateway, account, pool, two):
    phone, tablet = two
    theirs = listed(account, phone["access_token"])[1]["id"]
    _, stranger = signed_in_user(account, pool)
    unknown = ("0" * 32, "x", "..%2fx", theirs.upper() + "0", theirs)
    for identifier in unknown[:2] + unknown[3:]:
        refused = account.send("DELETE", f"me/sessions/{identifier}", token=stranger["access_token"])
        assert_refusal(refused, 404, "NotFoundException")
        assert gateway.access_line(refused.header("x-request-id"))["denial_reason"] == "unknown-session"
    assert proxied(account, tablet["access_token"]) == 200
    assert_refusal(account.send("GET", "me/sessions"), 401, "NotAuthorizedException")
    assert_refusal(account.send("DELETE", f"me/sessions/{theirs}"), 401, "NotAuthorizedException")


def test_an_end_that_cognito_did_not_hear_of_can_be_repeated(account, pool, two):
    phone, tablet = two
    victim = listed(account, phone["access_token"])[1]["id"]
    control(pool, "POST", "faults", [{"operation": "RevokeToken", "error": "InternalErrorException", "status": 500}])
    try:
        first = account.send("DELETE", f"me/sessions/{victim}", token=phone["access_token"])
        assert_refusal(first, 503, "IdentityProviderUnavailableException")
        assert proxied(account, tablet["access_token"]) == 401, "here it has ended already"
    finally:
        control(pool, "DELETE", "faults")
    assert account.send("DELETE", f"me/sessions/{victim}", token=phone["access_token"]).status == 204
    assert_refusal(account.refresh(tablet["refresh_token"]), 401, "TokenRefreshException")


def test_one_user_does_not_fill_the_revocation_list(start_gateway, pool, ledger):
    gateway = start_gateway({"limits": {"revocations": 80}}, pool=pool)
    account = Account(gateway.port, ledger)
    email, _ = signed_in_user(account, pool)
    _, other = signed_in_user(account, pool)
    for _ in range(90):
        tokens = account.login(email, PASSWORD).json()
        out = account.logout(tokens["access_token"], refresh_token=tokens["refresh_token"])
        assert out.status == 204, out.body
        assert proxied(account, tokens["access_token"]) == 401
    ended = int(time.time())
    wait_until(lambda: time.time() >= ended + 1, "the next second", 5)
    again = account.login(email, PASSWORD).json()
    assert proxied(account, again["access_token"]) == 200, "who signs in again is signed in"
    assert account.logout(other["access_token"]).status == 204, "there is room for others"
    assert proxied(account, other["access_token"]) == 401


# MARK: Sessions of the gateway's own


@pytest.fixture
def served(start_gateway, issuer, ledger) -> tuple[State, App]:
    gateway = start_gateway(session_settings(issuer.server.url))
    return State(gateway), App(gateway.port, ledger)


def own_sessions(app: App, token: str) -> list[dict]:
    answer = app.send("GET", "me/sessions", token=token)
    assert answer.status == 200 and answer.json()["success"] is True
    return answer.json()["sessions"]


def test_a_user_of_apples_sees_and_ends_the_own_sessions(served):
    state, app = served
    first, second, third, stranger = (state.begin(), state.begin(), state.begin(), state.begin("apple-ben"))
    sessions = own_sessions(app, first.token)
    assert len(sessions) == 3 and [session["current"] for session in sessions] == [True, False, False]
    assert all(session["platform"] is None or isinstance(session["platform"], str) for session in sessions)
    victim = own_sessions(app, second.token)[0]["id"]
    refused = app.send("DELETE", f"me/sessions/{victim}", token=stranger.token)
    assert refused.status == 404 and refused.json()["success"] is False
    assert app.validate(second.token).status == 200
    assert app.send("DELETE", f"me/sessions/{victim}", token=first.token).status == 204
    assert app.validate(second.token).status == 401 and app.refresh(second.token).status == 401
    assert app.send("DELETE", "me/sessions", token=first.token).status == 204
    assert app.validate(third.token).status == 401
    assert app.validate(first.token).status == 200 and app.validate(stranger.token).status == 200
    assert [session["current"] for session in own_sessions(app, first.token)] == [True]
