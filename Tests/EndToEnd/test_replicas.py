"""Three gateways with one state in PostgreSQL: whatever begins at one goes on at the others, and ends at all of them."""

import json
import time

import jwt
import pytest
from harness import raw
from harness.account import assert_refusal, bearer
from harness.assertions import TYPE
from harness.gateway import POOL_CLIENT_ID, gatehouse, merged
from harness.hosted import PREFIX, App, Browser
from harness.interposed import Clock, without_sanitizer
from harness.pooler import Pooler
from harness.process import free_port, wait_until
from harness.replicas import REQUIRED, Replica, Replicas
from harness.user import PASSWORD

LOCKOUT = {"after": 4, "first": "10m"}


@pytest.fixture
def user(replicas) -> tuple[str, str]:
    return replicas.user()


@pytest.fixture
def apple_user() -> str:
    return f"user-{time.time_ns()}@example.com"


def session_goes_everywhere(replicas: Replicas) -> None:
    """Sign-in at the first, refresh at the second, sign-out at the third."""
    first, second, third = replicas
    tokens = first.sign_in(replicas.user())
    assert replicas.everywhere(lambda gateway: gateway.proxied(tokens["access_token"])) == [200] * 3
    refreshed = second.account.refresh(tokens["refresh_token"])
    assert refreshed.status == 200, refreshed.body
    newer = refreshed.json()
    assert third.account.logout(newer["access_token"], refresh_token=newer["refresh_token"]).status == 204
    replicas.wait_everywhere(lambda gateway: gateway.proxied(newer["access_token"]), 401, "the token to be refused")
    for gateway in replicas:
        assert_refusal(gateway.account.refresh(newer["refresh_token"]), 401, "TokenRefreshException")


# Sessions


def test_a_session_begins_at_one_gateway_goes_on_at_another_and_ends_at_all(replicas):
    session_goes_everywhere(replicas)


def test_a_retry_at_another_gateway_gets_the_same_successor(replicas, user):
    tokens = replicas[0].sign_in(user)
    answers = [gateway.account.refresh(tokens["refresh_token"]) for gateway in [*replicas, *replicas]]
    assert {answer.status for answer in answers} == {200}
    assert len({answer.json()["refresh_token"] for answer in answers}) == 1


def test_a_session_with_apple_goes_on_at_every_gateway(replicas, apple_user):
    first, second, third = replicas
    given = first.apple_app.signed_in(apple_user)
    assert [gateway.apple_app.validates(given["token"]) for gateway in replicas] == [True] * 3
    refreshed = second.apple_app.post("refresh", token=given["token"])
    assert refreshed.status == 200, refreshed.body
    newer = refreshed.json()["token"]
    assert third.apple_app.post("refresh", token=given["token"]).json()["token"] == newer, "a retry, at another gateway"
    assert first.apple_app.post("logout", token=newer).status in (200, 204)
    replicas.wait_everywhere(lambda gateway: gateway.apple_app.validates(newer), False, "the session to have ended")
    replicas.wait_everywhere(lambda gateway: gateway.proxied(newer), 401, "the token to be refused")
    assert third.apple_app.post("refresh", token=newer).status == 401


def test_what_an_identity_token_proves_counts_once_at_whichever_gateway(replicas, apple_user):
    first, second, third = replicas
    body = first.apple_app.body(apple_user)
    assert first.apple_app.post("apple", body).status == 200
    assert [gateway.apple_app.post("apple", body).status for gateway in (second, third)] == [401, 401]
    nonce = first.apple_app.post("apple/nonce").json()["nonce"]
    assert second.apple_app.post("apple", second.apple_app.body(apple_user, nonce)).status == 200
    # A new token, made with the same nonce.
    assert third.apple_app.post("apple", third.apple_app.body(apple_user, nonce)).status == 401


def test_an_operator_ends_sessions_at_one_gateway_and_they_end_at_all(replicas, user, apple_user):
    tokens = replicas[0].sign_in(user)
    subject = jwt.decode(tokens["access_token"], options={"verify_signature": False})["sub"]
    assert replicas[1].admin_call("DELETE", f"/sessions?subject={subject}").status == 200
    replicas.wait_everywhere(lambda gateway: gateway.proxied(tokens["access_token"]), 401, "the token to be refused")
    assert replicas[2].account.refresh(tokens["refresh_token"]).status == 401
    given = replicas[0].apple_app.signed_in(apple_user)
    assert replicas[1].admin_call("POST", f"/users/{given['user']['id']}/disable").status == 200
    replicas.wait_everywhere(lambda gateway: gateway.proxied(given["token"]), 401, "the user to be locked out")
    again = replicas[2].apple_app.sign_in(apple_user)
    assert_refusal(again, 403, "UserDisabledException")
    assert replicas[2].admin_call("DELETE", f"/users/{given['user']['id']}/disable").status == 200
    assert replicas[0].apple_app.sign_in(apple_user).status == 200


def test_a_command_revokes_at_all_gateways(replicas, issuer):
    token, other = issuer.access(jti="by-command"), issuer.access(jti="another")
    assert replicas.everywhere(lambda gateway: gateway.proxied(token)) == [200] * 3
    command = ("revoke", "--config", replicas[0].config_path, "--issuer", "own", "--jti", "by-command")
    result = gatehouse(*command)
    assert result.returncode == 0, result.stderr
    replicas.wait_everywhere(lambda gateway: gateway.proxied(token), 401, "the token to be refused")
    assert replicas.everywhere(lambda gateway: gateway.proxied(other)) == [200] * 3


# Steps of a sign-in


def test_a_challenge_begun_at_one_gateway_is_answered_at_another(replicas):
    first, second, third = replicas
    email, password = replicas.user(status="FORCE_CHANGE_PASSWORD")
    asked = first.account.login(email, password)
    assert asked.status == 202 and asked.json()["challenge"] == "NEW_PASSWORD_REQUIRED"
    answer = second.account.answer_challenge(asked.json(), new_password=PASSWORD)
    assert answer.status == 200, answer.body
    assert third.account.refresh(answer.json()["refresh_token"]).status == 200
    assert first.account.login(email, PASSWORD).status == 200


def test_a_sign_in_on_hosted_pages_goes_through_all_gateways_and_its_code_counts_once(replicas, user, ledger):
    first, second, third = replicas
    front = replicas.surroundings.front
    app, browser = App(f"http://127.0.0.1:{front.port}{PREFIX}"), Browser()
    front.target = first.port
    page = browser.go(app.authorize_url())
    front.cut()
    front.target = second.port
    code = app.code(browser.fill_in(page, username=user[0], password=user[1]))
    browser.close()
    front.target = third.port
    form = app.token_form(code)
    answer = third.account.post("oauth/token", form)
    assert answer.status == 200, answer.body
    assert first.account.refresh(answer.json()["refresh_token"]).status == 200
    assert [gateway.account.post("oauth/token", form).status for gateway in replicas] == [400] * 3
    assert form["client_id"] == POOL_CLIENT_ID


# Keys


def test_all_gateways_publish_one_key_set_that_verifies_each_ones_assertions(replicas, issuer, recorder):
    sets = replicas.everywhere(lambda gateway: gateway.key_set())
    assert sets[0] and sets == [sets[0]] * 3
    for gateway in replicas:
        assert raw.exchange(gateway.port, "GET", REQUIRED, bearer(issuer.access())).status == 200
        assertion = recorder.last(REQUIRED).header("x-auth-assertion")
        header = jwt.get_unverified_header(assertion)
        assert header["typ"] == TYPE
        key = jwt.PyJWK(sets[0][header["kid"]])
        assert jwt.decode(assertion, key, ["ES256"], options={"verify_aud": False})["sub"]


# Limits


def test_failures_at_all_gateways_lock_the_account_at_all(cluster, start_replicas):
    replicas = start_replicas(cluster.ports, changes={"account_limits": {"lockout": LOCKOUT}})
    email, password = replicas.user()
    failures = 0
    for number in range(50):
        answer = replicas[number % 3].account.login(email, "Wrong-Horse-1")
        failures += answer.status == 401
        if answer.status == 429:
            break
    # Each gateway may let one attempt more through than configured.
    assert LOCKOUT["after"] <= failures <= LOCKOUT["after"] + 3
    answers = [gateway.account.login(email, password) for gateway in [*replicas, *replicas]]
    assert [answer.status for answer in answers[3:]] == [429] * 3
    assert all(0 < int(answer.header("retry-after")) <= 600 for answer in answers[3:])


# Knowledge of each other


def states(gateway: Replica) -> list[str]:
    """Of the gateways that it knows of."""
    return sorted(each["state"] for each in gateway.status()["replicas"])


def test_every_gateway_knows_of_the_others_and_an_operator_hears_that_a_change_counts_at_all(own_cluster, start_replicas):
    replicas = start_replicas(own_cluster.ports)
    replicas.wait_everywhere(states, ["alive"] * 3, "all to know of all")
    for gateway in replicas:
        assert [each["this"] for each in gateway.status()["replicas"]].count(True) == 1
    # A gateway serves before its message to itself has come.
    replicas.wait_everywhere(lambda gateway: gateway.status()["revocation_list"]["notified"], True, "all to be notified")
    tokens = replicas[0].sign_in(replicas.user())
    assert replicas.everywhere(lambda gateway: gateway.proxied(tokens["access_token"])) == [200] * 3
    subject = jwt.decode(tokens["access_token"], options={"verify_signature": False})["sub"]
    answer = replicas[1].admin_call("DELETE", f"/sessions?subject={subject}&wait=10")
    assert answer.status == 200 and answer.json()["confirmed"] == "3/3", answer.body
    assert replicas.everywhere(lambda gateway: gateway.proxied(tokens["access_token"])) == [401] * 3
    replicas[0].kill()
    replicas[1].stop()
    wait_until(lambda: states(replicas[2]) == ["alive", "ended", "lost"], "the others to be known as gone", 30)


@pytest.mark.parametrize("occupied", ["listeners", "admin"])
def test_a_gateway_that_cannot_start_is_neither_waited_for_nor_reported_lost(
    own_cluster, start_replicas, tmp_path, occupied
):
    (gateway,) = start_replicas(own_cluster.ports, count=1)
    other, own = f"127.0.0.1:{gateway.port}", f"127.0.0.1:{free_port()}"
    changes = {
        "listeners": [{"address": other if occupied == "listeners" else own}],
        "admin": {"address": other if occupied == "admin" else own},
        "state_directory": str(tmp_path / "state"),
    }
    path = tmp_path / "gatehouse.yaml"
    path.write_text(json.dumps(merged(gateway.config, changes)))
    result = gatehouse("serve", "--config", path)
    assert result.returncode == 70 and f"cannot listen on {other}: Address already in use" in result.stderr, result.stderr
    going_on = "SELECT id FROM replicas WHERE ended_at IS NULL"
    this = [each["id"] for each in gateway.status()["replicas"] if each["this"]]
    assert own_cluster.primary.sql(going_on) == [this]


# Surroundings


@without_sanitizer
@pytest.mark.parametrize("offset", [-600, 600], ids=["behind", "ahead"])
def test_a_gateway_whose_clock_is_ten_minutes_off_ends_nothing_and_lets_nothing_back_in(
    cluster, start_replicas, tmp_path, offset
):
    clock = Clock(tmp_path)
    replicas = start_replicas(cluster.ports, environments=[clock.environment])
    clock.offset = offset
    wrong, right, other = replicas
    # Tokens of Cognito's and Apple's are judged by the gateway's own clock; what is stored goes by the database's.
    tokens = right.sign_in(replicas.user())
    for gateway in (wrong, other, wrong, right):
        answer = gateway.account.refresh(tokens["refresh_token"])
        assert answer.status == 200, answer.body
        again = right.account.refresh(tokens["refresh_token"])
        assert again.json()["refresh_token"] == answer.json()["refresh_token"], "a retry within the minute"
        tokens = answer.json()
    ended = right.sign_in(replicas.user())
    assert wrong.account.logout(refresh_token=ended["refresh_token"]).status == 204
    replicas.wait_everywhere(lambda gateway: gateway.proxied(ended["access_token"]), 401, "the token to be refused")
    assert replicas.everywhere(lambda gateway: gateway.account.refresh(ended["refresh_token"]).status) == [401] * 3
    clock.offset = 0
    assert replicas.everywhere(lambda gateway: gateway.account.refresh(ended["refresh_token"]).status) == [401] * 3
    assert wrong.account.refresh(tokens["refresh_token"]).status == 200


def test_all_of_it_goes_through_pgbouncer_in_transaction_mode(own_cluster, start_replicas, run_directory):
    pooler = Pooler(run_directory / "replicas-pooler", own_cluster.primary)
    try:
        replicas = start_replicas([pooler.port], state={"pooler": True})
        session_goes_everywhere(replicas)
        # After a fail-over the operator leads it to the new primary.
        own_cluster.primary.kill()
        own_cluster.promote()
        pooler.lead_to(own_cluster.primary.port)
        user = replicas.user()
        for gateway in replicas:
            wait_until(lambda: gateway.account.login(*user).status == 200, "sign-ins at the new primary", 30)  # noqa: B023
        session_goes_everywhere(replicas)
    finally:
        pooler.stop()


def test_a_frozen_gateway_holds_up_no_other_and_catches_up(cluster, start_replicas):
    replicas = start_replicas(cluster.ports)
    frozen, second, third = replicas
    tokens = frozen.sign_in(replicas.user())
    frozen.freeze()
    try:
        newer = second.account.refresh(tokens["refresh_token"]).json()
        assert third.account.logout(refresh_token=newer["refresh_token"]).status == 204
        wait_until(lambda: second.proxied(newer["access_token"]) == 401, "the token to be refused")
    finally:
        frozen.thaw()
    replicas.wait_everywhere(lambda gateway: gateway.proxied(newer["access_token"]), 401, "the token to be refused")
    assert frozen.account.refresh(newer["refresh_token"]).status == 401


PASSED_OVER = "a token or code that was used before is not judged: its client has gone"


def left_waiting(gateway: Replica, path: str, headers: dict[str, str], body: dict) -> None:
    """An app that gives up before a frozen gateway has read its request."""
    with raw.RawConnection(gateway.port) as connection:
        data = json.dumps(body).encode()
        connection.send(raw.request_bytes("POST", path, {**headers, "Content-Type": "application/json"}, data))


def test_a_refresh_that_comes_late_when_its_app_has_gone_on_elsewhere_ends_no_session(cluster, start_replicas):
    """The gateway was frozen. It reads an old token then, whose app has two newer ones."""
    replicas = start_replicas(cluster.ports)
    frozen, other, _ = replicas
    token = frozen.sign_in(replicas.user())["refresh_token"]
    session = frozen.apple_app.signed_in(f"late-{time.time_ns()}@example.com")["token"]
    frozen.freeze()
    try:
        left_waiting(frozen, "/api/v1/auth/refresh", {}, {"refresh_token": token})
        left_waiting(frozen, "/api/auth/refresh", bearer(session), {})
        for _ in range(2):
            answer = other.account.refresh(token)
            assert answer.status == 200, answer.body
            token = answer.json()["refresh_token"]
            answer = other.apple_app.post("refresh", token=session)
            assert answer.status == 200, answer.body
            session = answer.json()["token"]
    finally:
        frozen.thaw()
    wait_until(
        lambda: frozen.log().count(PASSED_OVER) + len(frozen.audit_log("refresh_reused")) == 2, "both to be looked at"
    )
    for gateway in replicas:
        answer = gateway.account.refresh(token)
        assert answer.status == 200, answer.body
        token = answer.json()["refresh_token"]
        answer = gateway.apple_app.post("refresh", token=session)
        assert answer.status == 200, answer.body
        session = answer.json()["token"]


def test_a_code_that_comes_late_when_its_app_has_redeemed_it_elsewhere_ends_no_session(cluster, start_replicas):
    replicas = start_replicas(cluster.ports)
    frozen, other, _ = replicas
    front = replicas.surroundings.front
    app, browser = App(f"http://127.0.0.1:{front.port}{PREFIX}"), Browser()
    front.target = other.port
    email, password = replicas.user()
    code = app.code(browser.fill_in(browser.go(app.authorize_url()), username=email, password=password))
    browser.close()
    form = app.token_form(code)
    frozen.freeze()
    try:
        left_waiting(frozen, f"{PREFIX}/token", {}, form)
        answer = other.account.post("oauth/token", form)
        assert answer.status == 200, answer.body
        token = answer.json()["refresh_token"]
    finally:
        frozen.thaw()
    ended = "an authorization code was used again: its session has been ended"
    wait_until(lambda: PASSED_OVER in frozen.log() or ended in frozen.log(), "the code to be looked at")
    for gateway in replicas:
        answer = gateway.account.refresh(token)
        assert answer.status == 200, answer.body
        token = answer.json()["refresh_token"]
