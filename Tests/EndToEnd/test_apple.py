"""Sign in with Apple against the local Apple: what a sign-in gives, what is refused, and what Apple is told and tells."""

import base64
import json
import re
import signal
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import jwt
import pytest
from harness import raw
from harness.account import Account, assert_refusal, bearer
from harness.apple_app import APP, CONFLICT, SIBLING_APP, AppleApp, apple_settings, kept_addresses, sha256hex, stored
from harness.gateway import ADA, gatehouse, merged
from harness.keys import SigningKey
from harness.local_apple import APPLE_ISSUER, LocalApple
from harness.local_pool_control import control
from harness.process import wait_until

UNPROVEN = "The sign-in with Apple could not be verified."


@pytest.fixture(scope="module")
def apple(run_directory):
    account = {"email": "ada@icloud.example", "given_name": "Ada", "family_name": "Lovelace"}
    apple = LocalApple(run_directory, "sign-in-apple", apple={"accounts": [account]})
    yield apple
    apple.stop()


@pytest.fixture
def start(start_gateway, apple):
    return lambda sign_in=None, **more: start_gateway({**apple_settings(apple, sign_in), **more})


@pytest.fixture
def gateway(start):
    return start()


@pytest.fixture
def app(gateway, apple, ledger):
    return AppleApp(gateway.port, apple, ledger)


@pytest.fixture
def user() -> str:
    return f"user-{time.time_ns()}@example.com"


def assert_unproven(answer: raw.Response, gateway=None, reason: str | None = None) -> None:
    """401, of which a client learns nothing, and the log why."""
    body = assert_refusal(answer, 401, "NotAuthorizedException")
    assert (body["message"], body["success"]) == (UNPROVEN, False)
    # `invalid_token` would be about a bearer token, of which there is none.
    assert answer.header("www-authenticate") == "Bearer"
    if reason:
        assert gateway.access_line(answer.header("x-request-id"))["denial_reason"] == reason


def database(gateway) -> sqlite3.Connection:
    path = Path(gateway.config["state_directory"]) / "gatehouse.sqlite"
    return sqlite3.connect(path, timeout=10, isolation_level=None)


# The result of a sign-in


def test_a_sign_in_makes_the_user_once_and_begins_a_session(gateway, app, apple, user):
    first = app.signed_in(user, name="Ada Lovelace", email="somebody@else.example")
    assert first["success"] is True
    assert first["user"] == {
        "id": first["user"]["id"], "name": "Ada Lovelace", "email": user, "phoneNumber": None, "role": "customer"
    }
    subject = apple.account(user)["user"]
    assert first["user"]["id"] != subject
    assert app.post("validate", token=first["token"]).json() == {"success": True, "user": first["user"]}
    again = app.signed_in(user, name="Mallory")
    assert again["user"] == first["user"] and again["token"] != first["token"]
    assert apple.account(user)["clients"] == [{"client_id": APP, "refresh_tokens": 2}]
    events = wait_until(lambda: len(gateway.audit_log("signed_in")) == 2 and gateway.audit_log("signed_in"), "audit")
    assert {event["real_user_status"] for event in events} == {"likely_real"}
    assert events[0]["operation"] == "apple-sign-in"


def test_only_an_address_that_apple_has_verified_is_kept(app, apple, user):
    body = app.body(user, claims={"email_verified": False})
    assert app.post("apple", {**body, "email": user}).json()["user"]["email"] is None
    relayed = app.post("apple", app.body(user, claims={"email_verified": "true", "is_private_email": "true"})).json()
    assert relayed["user"]["email"] == user
    export = app.send("GET", "me/export", token=relayed["token"]).json()
    assert export["user"]["is_private_email"] is True and export["user"]["email_verified"] is True
    assert [token["client_id"] for token in export["apple_tokens"]] == [APP]


def test_a_user_with_the_address_of_another_is_another_user(app, user):
    one = app.signed_in(user)["user"]
    other = app.post("apple", app.body(f"other-{user}", claims={"email": user})).json()["user"]
    assert other["email"] == one["email"] == user and other["id"] != one["id"]


def test_the_app_of_another_role(gateway, app, apple, ledger, user):
    app.signed_in(user)
    driver = AppleApp(gateway.port, apple, ledger, SIBLING_APP)
    body = assert_refusal(driver.sign_in(user), 409, "RoleConflictException")
    assert (body["message"], body["success"]) == (CONFLICT, False)
    assert driver.signed_in(f"driver-{user}")["user"]["role"] == "driver"


# Refusals


def with_claims(**claims):
    return lambda app, user: app.body(user, claims=claims)


def changed(**fields):
    return lambda app, user: {**app.body(user), **fields}


def tampered(app, user):
    body = app.body(user)
    head, payload, signature = body["identity_token"].split(".")
    return {**body, "identity_token": f"{head}.{payload}.{signature[:-8]}AAAAAAAA"}


def by_another_key(app, user):
    body = app.body(user)
    claims = jwt.decode(body["identity_token"], options={"verify_signature": False})
    header = {"kid": jwt.get_unverified_header(body["identity_token"])["kid"]}
    return {**body, "identity_token": jwt.encode(claims, SigningKey("x").private, "RS256", header)}


def with_the_claim_as_nonce(app, user):
    body = app.body(user)
    return {**body, "nonce": sha256hex(body["nonce"])}


def with_another_code(app, user):
    return {**app.body(user), "authorization_code": app.body(user)["authorization_code"]}


NOW = int(time.time())
UNPROVEN_SIGN_INS = {
    "wrong nonce": (changed(nonce="another"), "nonce-mismatch"),
    "the claim as nonce": (with_the_claim_as_nonce, "nonce-mismatch"),
    "no nonce claim": (with_claims(nonce=None), "nonce-missing"),
    "raw nonce claim": (lambda app, user: app.body(user, "raw", claims={"nonce": "raw"}), "nonce-mismatch"),
    "unlisted sibling app": (with_claims(aud="com.example.sibling"), "audience-not-allowed"),
    "another issuer": (with_claims(iss="https://account.apple.com"), "unknown-issuer"),
    "issuer with a slash": (with_claims(iss=APPLE_ISSUER + "/"), "unknown-issuer"),
    "expired": (with_claims(exp=NOW - 120), "expired"),
    "issued long ago": (with_claims(iat=NOW - 700), "identity-token-too-old"),
    "issued in the future": (with_claims(iat=NOW + 86_400), "issued-in-future"),
    "tampered": (tampered, "bad-signature"),
    "another key": (by_another_key, "bad-signature"),
    "no token": (changed(identity_token="a.b.c"), "malformed-token"),
    "another user": (changed(userIdentifier="001999.someone.0001"), "user-identifier-mismatch"),
    "another code": (with_another_code, "authorization-code-mismatch"),
    "a notification": (with_claims(events='{"type":"x","sub":"y"}'), "type-not-allowed"),
}


@pytest.mark.parametrize("case", UNPROVEN_SIGN_INS)
def test_what_proves_nothing(gateway, app, apple, user, case):
    make, reason = UNPROVEN_SIGN_INS[case]
    app.signed_in(user)
    before = apple.account(user)["clients"]
    assert_unproven(app.post("apple", make(app, f"user-{case.replace(' ', '-')}@example.com")), gateway, reason)
    assert apple.account(user)["clients"] == before
    assert case.replace(" ", "-").encode() not in stored(gateway)


def test_sign_ins_with_apple_are_counted_apart(gateway, app, user):
    app.signed_in(user)
    assert_unproven(app.post("apple", {**app.body(user), "identity_token": "a.b.c"}))
    counts = {name: count for name, count in gateway.samples().items() if name.startswith("gatehouse_sign_ins_total")}
    assert {name: count for name, count in counts.items() if count} == {
        'gatehouse_sign_ins_total{method="apple",result="success"}': 1,
        'gatehouse_sign_ins_total{method="apple",result="refused"}': 1,
    }


def test_a_nonce_is_counted_and_is_no_sign_in(gateway, app, user):
    def calls(operation: str) -> float:
        name = f'gatehouse_account_calls_total{{operation="{operation}",result="success",reason=""}}'
        return gateway.samples().get(name, 0)

    app.signed_in(user)
    assert (calls("login"), calls("apple-nonce")) == (1, 0)
    assert app.post("apple/nonce").status == 200
    assert (calls("login"), calls("apple-nonce")) == (1, 1)


def test_an_identity_token_is_good_for_one_sign_in(gateway, app, user):
    body = app.body(user)
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: app.post("apple", body), range(8)))
    assert sorted(answer.status for answer in answers) == [200] + [401] * 7
    for answer in answers:
        if answer.status == 401:
            assert_unproven(answer, gateway, "identity-token-replayed")
    gateway.stop()


FAULTY = {
    "identity_token": ["", None, 5, ["a"], {"a": 1}, "a" * 8193, "a b"],
    "nonce": ["", None, 5, "n" * 513],
    "name": ["<b>Ada</b>", "<script>alert(1)</script>", "Ada\u0000", "Ada\r\nX-Admin: 1", "Ada\u001b[31m", "A" * 10_000, 5,
             "Ada\u202eadA"],
    "email": [5, "e" * 400],
    "userIdentifier": [5, "u" * 256],
    "authorization_code": [5, "c" * 2049],
    "device_info": ["x"],
}


def test_a_body_that_no_app_sends(gateway, app, user):
    marker = "marker-of-a-refused-body"
    for field, values in FAULTY.items():
        for value in values:
            value = value.replace("Ada", marker) if isinstance(value, str) else value
            answer = app.post("apple", {**app.body(user), field: value})
            body = assert_refusal(answer, 422, "InvalidParameterException")
            assert list(body["fields"]) == [field] and body["success"] is False
            assert marker not in answer.body.decode()
    assert_refusal(app.post("apple", b"{"), 400, "BadRequestException")
    assert_refusal(app.post("apple", b"[]"), 422, "InvalidParameterException")
    assert_refusal(app.post("apple", b'{"identity_token": "' + b"a" * 70_000 + b'"}'), 413, "PayloadTooLargeException")
    assert_refusal(app.post("apple", {"userIdentifier": "001"}), 422, "InvalidParameterException")
    assert marker.encode() not in stored(gateway) and user.encode() not in stored(gateway)
    assert marker not in gateway.log() and marker not in gateway.process.output()


def test_nothing_of_a_sign_in_is_in_the_logs(gateway, app, user):
    body = app.body(user)
    token = app.post("apple", {**body, "name": "Quite Unmistakable"}).json()["token"]
    app.post("apple", body)
    text = gateway.log() + gateway.process.output()
    for secret in (body["identity_token"], body["authorization_code"], body["nonce"], token, user, "Quite Unmistakable"):
        assert secret not in text


def test_without_keys_nobody_is_blamed(start_gateway, apple, ledger, user):
    settings = apple_settings(apple)
    settings["issuers"]["apple"]["jwks_url"] = "http://127.0.0.1:9/keys"
    gateway = start_gateway(settings)
    app = AppleApp(gateway.port, apple, ledger)
    answer = app.sign_in(user)
    assert assert_refusal(answer, 503, "IdentityProviderUnavailableException")["success"] is False
    assert gateway.access_line(answer.header("x-request-id"))["denial_reason"] == "keys-unavailable"


# Nonces of the gateway's


def test_a_nonce_of_the_gateways_counts_once(gateway, app, user):
    given = app.post("apple/nonce")
    assert given.status == 200 and set(given.json()) == {"nonce", "expires_in"} and given.json()["expires_in"] == 300
    assert given.header("cache-control") == "no-store"
    nonce = given.json()["nonce"]
    assert app.post("apple", app.body(user, nonce)).status == 200
    # A new token, made with the same nonce.
    assert_unproven(app.post("apple", app.body(user, nonce)), gateway, "nonce-reused")


def test_a_nonce_can_be_required_and_ends(start, apple, ledger, user):
    gateway = start({"server_nonce": "required", "server_nonce_lifetime": "30s"})
    app = AppleApp(gateway.port, apple, ledger)
    assert_unproven(app.sign_in(user), gateway, "nonce-unknown")
    nonce = app.post("apple/nonce").json()["nonce"]
    turned = nonce[:-4] + ("AAAA" if not nonce.endswith("AAAA") else "BBBB")
    assert_unproven(app.post("apple", app.body(user, turned)), gateway, "nonce-unknown")
    assert app.post("apple", app.body(user, nonce)).status == 200
    off = start({"server_nonce": "off"})
    assert AppleApp(off.port, apple, ledger).post("apple/nonce").status == 404


# Calls to Apple


def test_a_code_that_cannot_be_exchanged_loses_no_sign_in(gateway, app, apple, user):
    body = app.body(user)
    apple.exchange(body["authorization_code"])
    before = apple.account(user)["clients"]
    assert app.post("apple", body).status == 200
    assert apple.account(user)["clients"] == before
    control(apple, "POST", "faults", [{"operation": "AppleToken", "times": 1, "error": "server_error", "status": 503}])
    assert app.sign_in(user).status == 200
    for reason in ("apple-invalid-grant", "apple-unavailable"):
        wait_until(lambda: reason in gateway.log(), f"the log to tell of {reason}")  # noqa: B023


def test_a_locked_database_is_503_and_the_same_sign_in_goes_on_afterwards(gateway, app, apple, user):
    body = app.body(user)
    with closing(database(gateway)) as lock:
        lock.execute("BEGIN EXCLUSIVE")
        refused = assert_refusal(app.post("apple", body), 503, "ServiceUnavailableException")
        assert refused["success"] is False
        lock.execute("ROLLBACK")
        for table in ("users", "user_sessions", "spent", "apple_tokens"):
            assert lock.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,), "nothing half-written"
    token = app.post("apple", body).json()["token"]
    # Apple's token of the first try was not lost: a code is exchanged only once.
    assert [kept["client_id"] for kept in app.send("GET", "me/export", token=token).json()["apple_tokens"]] == [APP]
    assert app.send("DELETE", "me", token=token).status == 204
    wait_until(lambda: apple.account(user)["clients"] == [], "the revocation at Apple", 15)


def test_what_apple_gave_for_a_sign_in_to_be_tried_again_outlasts_a_reload(gateway, app, apple, user):
    body = app.body(user)
    with closing(database(gateway)) as lock:
        lock.execute("BEGIN EXCLUSIVE")
        assert_refusal(app.post("apple", body), 503, "ServiceUnavailableException")
        lock.execute("ROLLBACK")
    gateway.reload({"sign_in": {"apple": {"role_conflict_message": "Please use another app."}}})
    token = app.post("apple", body).json()["token"]
    assert [kept["client_id"] for kept in app.send("GET", "me/export", token=token).json()["apple_tokens"]] == [APP]


def test_the_keys_that_apples_part_is_sealed_with_rotate_beside_configured_ones(start_gateway, apple, ledger, user):
    """`sealing_keys` are the user pool's; nonces, Apple's tokens and successors have those of the state directory."""
    configured = f"one:{base64.b64encode(bytes(range(32))).decode()}"
    ledger.note(configured)
    changes = merged(apple_settings(apple), {"sign_in": {"cognito": {"sealing_keys": [configured]}}})
    gateway = start_gateway(changes, pool=apple)
    app, account = AppleApp(gateway.port, apple, ledger), Account(gateway.port, ledger)
    key_id = lambda sealed: sealed.split(".")[1]

    def keys(*command: str) -> str:
        result = gatehouse("keys", *command, "--config", gateway.config_path, "--purpose", "sealing")
        assert result.returncode == 0, result.stderr
        return result.stdout

    token, nonce = app.signed_in(user)["token"], app.post("apple/nonce").json()["nonce"]
    assert "sealing_keys" in keys("rotate")
    listed = [line.split() for line in keys("list").splitlines()]
    assert [(each[1], each[2] == "configured") for each in listed] == [
        ("current", True), ("current", False), ("previous", False)
    ]
    assert listed[0][-1] == "one" and listed[2][-1] == key_id(nonce)
    gateway.reload()
    assert key_id(app.post("apple/nonce").json()["nonce"]) == listed[1][-1]
    assert key_id(account.login(*ADA).json()["refresh_token"]) == "one"
    # Nonces sealed before still open.
    assert app.post("apple", app.body(user, nonce)).status == 200
    assert app.send("DELETE", "me", token=token).status == 204
    wait_until(lambda: apple.account(user)["clients"] == [], "the revocation at Apple", 15)


def test_what_was_used_once_is_used_after_a_kill_as_well(gateway, start, app, apple, ledger, user):
    token = app.signed_in(user)["token"]
    event = apple.event("account-delete", user, send=False)["payload"]
    nonce = app.post("apple/nonce").json()["nonce"]
    bodies = [app.body(user), app.body(user, nonce)]
    assert [app.post("apple", body).status for body in bodies] == [200, 200]
    assert notified(app, event).status == 200
    gateway.process.signal(signal.SIGKILL)
    gateway.process.wait(10)
    again = start(state_directory=gateway.config["state_directory"])
    app = AppleApp(again.port, apple, ledger)
    for body, reason in zip(bodies, ("identity-token-replayed", "identity-token-replayed")):
        assert_unproven(app.post("apple", body), again, reason)
    assert_unproven(app.post("apple", app.body(user, nonce)), again, "nonce-reused")
    assert not app.validates(token)
    new = app.signed_in(user)["token"]
    assert notified(app, event).status == 200
    assert app.validates(new), "it was about the user who is gone"


def test_how_old_an_identity_token_may_be_is_a_setting(start, apple, ledger, user):
    gateway = start({"maximum_token_age": "30m"})
    app = AppleApp(gateway.port, apple, ledger)
    assert app.post("apple", app.body(user, claims={"iat": int(time.time()) - 1700})).status == 200
    old = app.body(f"old-{user}", claims={"iat": int(time.time()) - 1900})
    assert_unproven(app.post("apple", old), gateway, "identity-token-too-old")


def test_who_is_locked_out_is_refused_everywhere_until_let_in_again(gateway, app, user):
    signed_in = app.signed_in(user)
    token, subject = signed_in["token"], signed_in["user"]["id"]
    assert gatehouse("users", "disable", "--config", gateway.config_path, subject).returncode == 0
    wait_until(lambda: not app.validates(token), "the end of the session")
    assert raw.exchange(gateway.port, "GET", "/recorded/required/a", bearer(token)).status == 401
    for method, call in (("POST", "refresh"), ("GET", "me/export"), ("DELETE", "me")):
        assert app.send(method, call, token=token).status == 401
    refused = assert_refusal(app.sign_in(user), 403, "UserDisabledException")
    assert refused["success"] is False
    assert gatehouse("users", "enable", "--config", gateway.config_path, subject).returncode == 0
    assert app.signed_in(user)["user"]["id"] == subject
    assert not app.validates(token), "what ended has ended"


@pytest.mark.long
@pytest.mark.timeout(150)
def test_a_consent_is_asked_after_once_a_day(gateway, app, apple, user):
    """In rounds of a minute."""
    ended, good = app.signed_in(user)["token"], app.signed_in(f"good-{user}")["token"]
    apple.event("consent-revoked", user, send=False)
    with closing(database(gateway)) as records:
        records.execute("UPDATE apple_tokens SET validated_at = validated_at - 86401")
    wait_until(lambda: not app.validates(ended), "the next round", 90)
    assert app.validates(good)


def test_a_wrong_key_of_the_gateways_is_not_the_users_fault(start, apple, ledger, user):
    gateway = start({"server": {"key_id": "WRONGKEY00"}})
    app = AppleApp(gateway.port, apple, ledger)
    body = app.body(user)
    answer = app.post("apple", body)
    assert_refusal(answer, 503, "IdentityProviderUnavailableException")
    assert gateway.access_line(answer.header("x-request-id"))["denial_reason"] == "apple-client-refused"
    wait_until(lambda: "sign_in.apple.server" in gateway.log(), "the log to name the setting")
    gateway.reload({"sign_in": {"apple": {"server": {"key_id": apple.config["apple"]["keys"][0]["id"]}}}})
    assert app.post("apple", body).status == 200, "nothing was used up"


def test_who_is_deleted_has_the_consent_taken_back(gateway, app, apple, user):
    token = app.signed_in(user)["token"]
    assert [client["refresh_tokens"] for client in apple.account(user)["clients"]] == [1]
    # Apple is away at first.
    control(apple, "POST", "faults", [{"operation": "AppleRevoke", "times": 2, "error": "server_error", "status": 503}])
    assert app.send("DELETE", "me", token=token).status == 204
    assert not app.validates(token)
    wait_until(lambda: apple.account(user)["clients"] == [], "the revocation at Apple", 15)
    assert user not in kept_addresses(gateway)


# Notifications from Apple


def notified(app, payload: str) -> raw.Response:
    return app.post("apple/notifications", {"payload": payload})


def test_a_consent_that_is_withdrawn_ends_the_sessions(gateway, app, apple, user):
    first, second = app.signed_in(user), app.signed_in(user)
    payload = apple.event("consent-revoked", user, send=False)["payload"]
    answer = notified(app, payload)
    assert (answer.status, answer.json()) == (200, {"success": True})
    assert not app.validates(first["token"]) and not app.validates(second["token"])
    (event,) = wait_until(lambda: gateway.audit_log("signed_out"), "the audit log")
    assert event["operation"] == "apple-notifications"
    again = app.signed_in(user)
    assert again["user"]["id"] == first["user"]["id"]
    assert notified(app, payload).status == 200
    assert app.validates(again["token"]), "one that comes again does nothing"


def test_a_consent_that_is_withdrawn_from_one_app_stays_with_the_other(gateway, app, apple, ledger, user):
    """Else nobody would take it back when the user is deleted."""
    app.signed_in(user)
    assert_refusal(AppleApp(gateway.port, apple, ledger, SIBLING_APP).sign_in(user), 409, "RoleConflictException")
    assert len(apple.account(user)["clients"]) == 2, "the consent is Apple's, whatever the gateway says"
    assert notified(app, apple.event("consent-revoked", user, SIBLING_APP, send=False)["payload"]).status == 200
    assert [client["client_id"] for client in apple.account(user)["clients"]] == [APP]
    # Without a code: the consent is the one from before.
    body = {key: value for key, value in app.body(user).items() if key not in ("authorization_code", "authorizationCode")}
    again = app.post("apple", body)
    assert again.status == 200
    assert app.send("DELETE", "me", token=again.json()["token"]).status == 204
    wait_until(lambda: apple.account(user)["clients"] == [], "the revocation at Apple", 15)


@pytest.mark.parametrize("unit", [1000, 1], ids=["milliseconds", "seconds"])
def test_a_withdrawal_that_is_told_late_ends_what_began_before_it_only(gateway, app, apple, user, unit):
    """Apple tries for days, each time with a new message about the same event."""
    token = app.signed_in(user)["token"]
    now = int(time.time())

    def withdrawn(days: int) -> None:
        at = now - days * 86_400
        what = {"type": "consent-revoked", "sub": apple.account(user)["user"], "event_time": at * unit}
        claims = {"iat": now, "events": json.dumps(what)}
        assert notified(app, apple.event("consent-revoked", user, send=False, claims=claims)["payload"]).status == 200

    withdrawn(days=3)
    assert app.validates(token), "the user has signed in since"
    with closing(database(gateway)) as records:
        assert records.execute("SELECT count(*) FROM apple_tokens").fetchone() == (1,)
        # As if this sign-in had been before it.
        records.execute("UPDATE user_sessions SET auth_time = auth_time - 5 * 86400")
    withdrawn(days=3)
    assert not app.validates(token)


@pytest.mark.parametrize("kind", ["account-delete", "account-deleted"])
def test_an_account_that_is_gone_is_gone_here(gateway, app, apple, user, kind):
    token = app.signed_in(user)["token"]
    assert notified(app, apple.event(kind, user, send=False, as_object=True)["payload"]).status == 200
    assert not app.validates(token)
    assert user not in kept_addresses(gateway)
    assert len(wait_until(lambda: gateway.audit_log("user_deleted"), "the audit log")) == 1


@pytest.mark.parametrize("kind", ["consent-revoked", "account-delete"])
def test_an_identity_token_from_before_a_notification_begins_no_session(gateway, app, apple, user, kind):
    app.signed_in(user)
    older = app.body(user)
    second = int(time.time())
    wait_until(lambda: int(time.time()) > second, "the next second")
    assert notified(app, apple.event(kind, user, send=False)["payload"]).status == 200
    refused = app.post("apple", older)
    assert_refusal(refused, 401, "NotAuthorizedException")
    assert gateway.access_line(refused.header("x-request-id"))["denial_reason"] == "token-revoked"
    if kind == "consent-revoked":
        app.signed_in(user)


def test_an_address_that_mail_does_not_reach(app, apple, user):
    token = app.signed_in(user)["token"]

    def email() -> tuple:
        kept = app.send("GET", "me/export", token=token).json()["user"]
        return kept["email"], kept["email_verified"]

    assert email() == (user, True)
    assert notified(app, apple.event("email-disabled", user, send=False)["payload"]).status == 200
    assert email()[1] is False
    assert notified(app, apple.event("email-enabled", user, send=False)["payload"]).status == 200
    assert email()[1] is True


@pytest.mark.parametrize(
    ("stored", "kind", "expected"),
    [
        (True, "email-disabled", ("user", True)),
        (True, "email-enabled", ("user", True)),
        (False, "email-disabled", (None, False)),
        (False, "email-enabled", ("other", True)),
    ],
)
def test_an_event_about_another_address(app, apple, user, stored, kind, expected):
    """An address from before replaces none, and one that mail does not reach is not stored."""
    signed_in = app.post("apple", app.body(user, claims={} if stored else {"email_verified": False})).json()
    other = f"other-{user}"
    now = int(time.time())
    what = {"type": kind, "sub": apple.account(user)["user"], "event_time": (now + 30) * 1000, "email": other}
    claims = {"iat": now + 50, "events": json.dumps(what)}
    assert notified(app, apple.event(kind, user, send=False, claims=claims)["payload"]).status == 200
    found = app.send("GET", "me/export", token=signed_in["token"]).json()["user"]
    assert (found["email"], found["email_verified"]) == ({"user": user, "other": other}.get(expected[0]), expected[1])


def test_of_two_words_about_an_address_the_later_one_counts(app, apple, user):
    """Whichever comes first: events are sent again for days, and a sign-in has its token for minutes."""
    token = app.signed_in(user)["token"]
    now = int(time.time())

    def verified() -> bool:
        return app.send("GET", "me/export", token=token).json()["user"]["email_verified"]

    def happened(kind: str, after: int) -> None:
        what = {"type": kind, "sub": apple.account(user)["user"], "event_time": (now + after) * 1000, "email": user}
        claims = {"iat": now + 50, "events": json.dumps(what)}
        assert notified(app, apple.event(kind, user, send=False, claims=claims)["payload"]).status == 200

    happened("email-enabled", after=30)
    happened("email-disabled", after=20)
    assert verified()
    happened("email-disabled", after=40)
    happened("email-enabled", after=35)
    assert not verified()
    app.signed_in(user)
    assert not verified(), "the identity token is older"


def test_notifications_that_are_none_do_nothing(gateway, app, apple, user):
    token = app.signed_in(user)["token"]

    def event(**more) -> str:
        return apple.event("email-disabled", user, send=False, **more)["payload"]

    good = event()
    head, payload, signature = good.split(".")
    claims = {
        **jwt.decode(good, options={"verify_signature": False}),
        "events": json.dumps({"type": "account-delete", "sub": apple.account(user)["user"], "event_time": 0}),
    }
    kid = {"kid": jwt.get_unverified_header(good)["kid"]}
    forged = {
        "bad-signature": jwt.encode(claims, SigningKey("x").private, "RS256", kid),
        "algorithm-not-allowed": jwt.encode(claims, "s" * 32, "HS256", kid),
        "malformed-token": "not.a.jws",
        "notification-invalid": app.body(user)["identity_token"],
    }
    for reason, text in forged.items():
        assert_unproven(notified(app, text), gateway, reason)
    for changes in ({"aud": "com.example.other"}, {"iss": "https://evil.example"}, {"iat": NOW - 90_000}, {"jti": None}):
        assert_unproven(notified(app, event(claims=changes)), gateway, "notification-invalid")
    for body in ({}, {"payload": 5}, {"payload": ""}, {"payload": "a" * 20_000}):
        assert_refusal(app.post("apple/notifications", body), 422, "InvalidParameterException")
    # Of a kind that there was not yet, or about nobody here.
    assert notified(app, apple.event("something-new", user, send=False)["payload"]).status == 200
    nobody = f"nobody-{user}"
    apple.apple_sign_in(nobody)
    assert notified(app, apple.event("account-delete", nobody, send=False)["payload"]).status == 200
    assert app.validates(token)


# Backends that keep their own users


def forwarding(**sign_in) -> dict:
    return {"mode": "forward", "upstream": "recorder", "session": ..., "server": ..., **sign_in}


def test_a_verified_sign_in_goes_on_to_the_backend(start, own_recorder, apple, ledger, user):
    gateway = start(forwarding())
    app = AppleApp(gateway.port, apple, ledger)
    body = {**app.body(user), "extra": "kept as it is"}
    data = json.dumps(body).encode()
    headers = {"Content-Type": "application/json", "X-Auth-Subject": "forged", "X_Auth_Groups": "admin"}
    answer = raw.exchange(gateway.port, "POST", "/api/auth/apple?x=1", headers, data)
    assert answer.status == 200
    (request,) = own_recorder.requests
    assert (request.method, request.target, request.body) == ("POST", "/api/auth/apple?x=1", data)
    assert request.header("x-auth-subject") == apple.account(user)["user"]
    assert request.header("x-auth-issuer") == APPLE_ISSUER and request.header("x-auth-client") == APP
    assert request.header("x-auth-groups") == "customer" and request.header("x-auth-email") == user
    assert "x_auth_groups" not in request.names
    assert_unproven(app.post("apple", body), gateway, "identity-token-replayed")
    assert_unproven(app.post("apple", {**app.body(user), "nonce": "another"}), gateway, "nonce-mismatch")
    assert_refusal(app.post("apple", {"userIdentifier": "001"}), 422, "InvalidParameterException")
    assert len(own_recorder.requests) == 1
    assert app.post("validate", token="x").status == 404


def test_a_sign_in_of_old_goes_on_as_nobodys(start, own_recorder, apple, ledger, user):
    gateway = start({"legacy_user_identifier": "forward", "upstream": "recorder"})
    wait_until(lambda: re.search("unverified.*legacy_user_identifier|legacy_user_identifier.*unverified", gateway.log()), "a warning")
    data = b'{"userIdentifier": "001999.someone.0001", "email": "a@b.c"}'
    headers = {"Content-Type": "application/json", "X-Auth-Subject": "forged"}
    assert raw.exchange(gateway.port, "POST", "/api/auth/apple", headers, data).status == 200
    (request,) = own_recorder.requests
    assert request.body == data
    assert not [name for name in request.names if name.startswith("x-auth")]
    app = AppleApp(gateway.port, apple, ledger)
    assert app.sign_in(user).status == 200
    assert_unproven(app.post("apple", {**app.body(user), "nonce": "another"}))
    assert len(own_recorder.requests) == 1
