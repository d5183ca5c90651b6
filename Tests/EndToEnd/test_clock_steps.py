"""As test_clock.py, in a gateway that goes on: signing out, retries, limits, keys and logs while the time of day is set."""

import contextlib
import json
import time

import pytest
from harness import raw
from harness.account import Account, bearer
from harness.gateway import ADA, run
from harness.interposed import without_sanitizer
from harness.keys import KeyServer
from harness.process import wait_until
from harness.sessions import App, State, session_settings
from test_admin_users import TOKEN, Admin
from test_clock import DAY, HOUR, LOCKOUT, REQUIRED, WRONG, clock, login, own_pool, start  # noqa: F401
from test_translate import target

pytestmark = without_sanitizer

# The clock stays right, goes wrong and is right again, or goes wrong one way and then the other.
ALL = pytest.mark.parametrize(
    "offsets",
    [[0], [-2 * HOUR, 0], [40 * DAY, 0], [-2 * HOUR, 40 * DAY, 0]],
    ids=["right", "behind", "ahead", "behind-and-ahead"],
)
SUBJECT = "8c3b1c52-0000-4000-8000-1234567890ab"


def proxied(gateway, token: str) -> int:
    return raw.exchange(gateway.port, "GET", REQUIRED, bearer(token)).status


def lasting(issuer, **claims) -> str:
    """A token that is good at every time that a clock here shows."""
    return issuer.access(**{"iat": ..., "exp": int(time.time()) + 90 * DAY, **claims})


# Signing out


@ALL
def test_what_was_ended_counts_at_no_time(start, clock, ledger, issuer, offsets):
    gateway = start()
    account = Account(gateway.port, ledger)
    session = account.login(*ADA).json()
    assert account.logout(session["access_token"], refresh_token=session["refresh_token"]).status == 204
    token, other = lasting(issuer, jti="ended"), lasting(issuer, jti="goes on")
    command = ("--issuer", "own", "--jti", "ended", "--days", "365")
    assert run("revoke", gateway.config_path, clock.environment, *command).returncode == 0
    wait_until(lambda: proxied(gateway, token) == 401, "the revocation to be followed")
    for offset in offsets:
        clock.offset = offset
        assert proxied(gateway, token) == 401, offset
        assert proxied(gateway, other) == 200, offset
        # Calls of others meanwhile tidy up.
        assert account.login(*ADA).status == 200
        assert account.refresh(session["refresh_token"]).status == 401, offset
    refused = account.refresh(session["refresh_token"])
    assert gateway.access_line(refused.header("x-request-id"))["denial_reason"] == "session-ended"
    assert proxied(gateway, session["access_token"]) == 401


@pytest.mark.parametrize("offset", [0, -2 * HOUR], ids=["right", "behind"])
@pytest.mark.parametrize("way", ["account call", "direct call"])
def test_signing_out_everywhere_ends_tokens_that_are_known_only_to_cognito(start, clock, ledger, way, offset):
    gateway = start({"direct_cognito": {"mode": "translate"}})
    account = Account(gateway.port, ledger)
    other = account.login(*ADA).json()["access_token"]
    # As if it had begun at another place.
    with contextlib.closing(State(gateway).database()) as database:
        database.execute("DELETE FROM sessions")
    mine = account.login(*ADA).json()
    assert proxied(gateway, other) == 200
    issued = int(time.time())
    wait_until(lambda: time.time() > issued + 2, "a later second")
    clock.offset = offset
    if way == "account call":
        answer = account.logout(refresh_token=mine["refresh_token"], all_devices=True)
        assert answer.status == 204, answer.body
    else:
        body = json.dumps({"AccessToken": mine["access_token"]}).encode()
        answer = raw.exchange(gateway.port, "POST", "/", target("GlobalSignOut"), body)
        assert answer.status == 200, answer.body
    clock.offset = 0
    assert proxied(gateway, other) == 401
    assert proxied(gateway, mine["access_token"]) == 401
    wait_until(lambda: proxied(gateway, account.login(*ADA).json()["access_token"]) == 200, "a new sign-in", 10)


@pytest.mark.parametrize("offset", [0, -2 * HOUR, 40 * DAY], ids=["right", "behind", "ahead"])
@pytest.mark.parametrize("way", ["command", "administrator"])
def test_an_operator_ends_what_there_is_and_nothing_later(start_gateway, clock, issuer, own_recorder, way, offset):
    gateway = start_gateway({"admin": {"token": TOKEN}}, environment=clock.environment)
    token = lasting(issuer, auth_time=int(time.time()) - 60)
    assert proxied(gateway, token) == 200
    clock.offset = offset
    if way == "command":
        command = ("--issuer", "own", "--subject", SUBJECT, "--days", "30")
        assert run("revoke", gateway.config_path, clock.environment, *command).returncode == 0
    else:
        Admin(gateway).done("DELETE", f"/sessions?subject={SUBJECT}")
    clock.offset = 0
    wait_until(lambda: proxied(gateway, token) == 401, "the end of what there was")

    # The command knows only to the minute how far the gateway's clock was.
    later = 61 if way == "command" and offset < 0 else 0

    def new() -> bool:
        return proxied(gateway, lasting(issuer, auth_time=int(time.time()) + later)) == 200

    if offset <= 0:
        wait_until(new, "who signs in again to be let in", 10)
    # By a clock that was ahead, whoever signs in before that time was meant as well: nobody can tell.
    assert proxied(gateway, token) == 401


# Retries


@ALL
def test_a_lost_answer_is_there_when_the_clock_is_right_again(start, clock, ledger, offsets):
    gateway = start()
    account = Account(gateway.port, ledger)
    token = account.login(*ADA).json()["refresh_token"]
    newer = account.refresh(token).json()["refresh_token"]
    for offset in offsets:
        clock.offset = offset
        # Every write tidies up a little.
        assert account.login(*ADA).status == 200
    again = account.refresh(token)
    assert again.status == 200 and again.json()["refresh_token"] == newer
    assert account.refresh(newer).status == 200


@ALL
def test_sessions_of_the_gateways_own_go_on_and_end_as_ever(start_gateway, clock, issuer, ledger, own_recorder, offsets):
    gateway = start_gateway(session_settings(issuer.server.url), environment=clock.environment)
    state, app = State(gateway), App(gateway.port, ledger)
    ended, going = state.begin(), state.begin("apple-ben")
    assert app.logout(ended.token).status == 204
    newer = app.refresh(going.token).json()["token"]
    for offset in offsets:
        clock.offset = offset
        # By a clock that is behind they are of the future, by one that is ahead they have ended.
        assert (app.validate(newer).status == 200) == (offset == 0)
        assert app.validate(ended.token).status == 401
        assert (app.refresh(ended.token).status, proxied(gateway, ended.token)) == (401, 401)
    assert app.refresh(going.token).json()["token"] == newer, "within the minute it is a retry"
    state.let_the_window_pass()
    assert app.refresh(going.token).status == 401
    wait_until(lambda: proxied(gateway, newer) == 401, "the session to have ended for both")


# Limits


@ALL
def test_a_lock_and_a_limit_hold_for_their_time(start, clock, ledger, offsets):
    limits = {"lockout": {**LOCKOUT, "first": "10m", "longest": "10m"}, "refresh": {"address": "2/10m"}}
    gateway = start({"account_limits": limits})
    for _ in range(5):
        assert login(gateway, ledger, WRONG).status == 401
    account = Account(gateway.port, ledger)

    def limited() -> bool:
        # It counts as any other, and nothing is looked up for it.
        return account.post("refresh", b"{").status == 429

    wait_until(limited, "the limit to be reached", interval=0)
    left = 600
    for offset in [*offsets, 0]:
        clock.offset = offset
        answer = login(gateway, ledger)
        assert answer.status == 429, offset
        assert left - 60 < int(answer.header("retry-after")) <= left
        left = int(answer.header("retry-after"))
        assert limited(), offset


# Keys


def test_a_clock_that_is_set_back_ends_no_keys_whose_server_is_away(start_gateway, clock, issuer):
    server = KeyServer(issuer.access_key)
    policy = {"minimum_lifetime": "2s", "maximum_lifetime": "2s", "unknown_key_interval": "1h", "stale_limit": "1h"}
    gateway = start_gateway({"key_sets": policy}, jwks_url=server.url, environment=clock.environment)
    wait_until(lambda: server.fetches > 0, "the first fetch")
    token = lasting(issuer, auth_time=...)
    assert proxied(gateway, token) == 200
    server.status = 503
    try:
        for offset in (-2 * HOUR, 0):
            clock.offset = offset
            failures = gateway.metric("gatehouse_key_set_failures_total")
            wait_until(lambda: gateway.metric("gatehouse_key_set_failures_total") > failures, "a failure", 20)  # noqa: B023
            assert proxied(gateway, token) == 200, offset
    finally:
        server.stop()


@ALL
def test_no_age_is_negative_and_the_gateway_knows_how_long_it_has_run(start_gateway, clock, issuer, offsets):
    gateway = start_gateway(
        {"identity": {"assertion": {"issuer": "https://api.example.com"}}}, environment=clock.environment
    )
    wait_until(lambda: proxied(gateway, lasting(issuer)) == 200, "the first keys")
    for offset in offsets:
        clock.offset = offset
        samples = gateway.samples()
        ages = {name: value for name, value in samples.items() if "_age_seconds" in name}
        # A set that may be as old as the clock says counts as so old.
        most = 600 + max(0, offset)
        assert ages and all(0 <= value < most for value in ages.values()), (offset, ages)
        status = Admin(gateway, None).done("GET", "/status")
        assert 0 <= status["uptime_seconds"] < 600, offset


# Logs


@ALL
def test_lines_are_written_at_once_whatever_the_clock(start, clock, ledger, offsets):
    gateway = start({"audit": {"log": "stdout"}})
    for offset in [*offsets, 0]:
        clock.offset = offset
        began = time.monotonic()
        answer = login(gateway, ledger, WRONG)
        assert gateway.access_line(answer.header("x-request-id"))["status"] == 401
        wait_until(
            lambda: any(line.get("request_id") == answer.header("x-request-id") for line in gateway.audit_log()),  # noqa: B023
            f"the audit event at {offset}",
        )
        assert time.monotonic() - began < 5
    assert gateway.metric("gatehouse_log_lines_lost_total") == 0
