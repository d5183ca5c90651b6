"""Limits, lockout, audit lines, and messages to backends, on a gateway of each test's own."""

import base64
import hashlib
import hmac
import json
import signal
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import jwt
import pytest
from botocore.exceptions import ClientError
from harness import raw
from harness.account import Account, assert_refusal, bearer
from harness.assertions import ISSUER, JWKS_PATH
from harness.backend import RecordingBackend, answer, sequence
from harness.cognito_client import cognito_client
from harness.cognito_front import CognitoFront
from harness.gateway import ADA, POOL_CLIENT_ID, POOL_ID, Gateway, LocalPool, gatehouse
from harness.local_pool_control import control, one_time_code
from harness.process import wait_until
from harness.user import PASSWORD as USER_PASSWORD
from harness.user import signed_in_user

WRONG = "Wrong-Horse-1"
PASSWORD = "Brand-New-Horse-9"
CHANGED = "Changed-Horse-10"
LOCKOUT = {"after": 5, "first": "1h", "longest": "1h"}
# Every request of these tests comes from one address; behind this proxy they speak for many.
PROXY = {"trusted_proxies": ["127.0.0.1"]}
NOBODY = "nobody@example.com"


def device(identifier: str) -> dict:
    return {"device_id": identifier, "platform": "ios", "app_version": "4.2"}


@pytest.fixture(scope="module")
def conduct_pool(run_directory):
    """Users of this module's own, so that deleting one is nobody else's trouble."""
    pool = LocalPool(run_directory, "conduct-pool")
    yield pool
    pool.stop()


@pytest.fixture
def start(start_gateway, conduct_pool, ledger):
    ledger.note(ADA[1], WRONG, PASSWORD, CHANGED)
    return lambda changes: start_gateway(changes, pool=conduct_pool)


@pytest.fixture
def email() -> str:
    return f"conduct-{time.time_ns()}@example.com"


def restarted(gateway: Gateway, stop=signal.SIGKILL) -> Gateway:
    """The same gateway again, with its state."""
    gateway.process.signal(stop)
    gateway.process.wait(10)
    return Gateway(gateway.config_path.parent, "gateway", gateway.config)


def call(gateway: Gateway, name: str, body: dict, address: str = "192.0.2.1", **headers) -> raw.Response:
    """An account call of an app at this address, behind the proxy."""
    fields = {"Content-Type": "application/json", "X-Forwarded-For": address, **headers}
    return raw.exchange(gateway.port, "POST", f"/api/v1/auth/{name}", fields, json.dumps(body).encode())


def login(gateway, password: str, address: str = "192.0.2.1", email: str = ADA[0], **more) -> raw.Response:
    return call(gateway, "login", {"email": email, "password": password, **more}, address)


def assert_limited(response: raw.Response) -> None:
    body = assert_refusal(response, 429, "TooManyRequestsException")
    assert body["message"] == "Too many requests. Try again later."
    assert int(response.header("retry-after")) >= 1


# Limits


def limits(kind: str, **rates: str) -> dict:
    return {"account_limits": {kind: rates}, **PROXY}


def test_an_address_is_limited_and_of_ipv6_its_64(start):
    gateway = start(limits("sign_in", address="3/1h"))
    for number in range(3):
        assert login(gateway, WRONG, f"2001:db8:1:2::{number + 1}", f"u{number}@example.com").status == 401
    assert_limited(login(gateway, ADA[1], "2001:db8:1:2:ffff::1"))
    assert login(gateway, ADA[1], "2001:db8:1:3::1").status == 200
    assert gateway.samples()['gatehouse_account_limits_total{cause="rate-limited-address"}'] == 1


def test_an_address_cannot_be_made_up_without_a_trusted_proxy(start):
    gateway = start({"account_limits": {"sign_in": {"address": "2/1h"}}})
    answers = [login(gateway, WRONG, f"192.0.2.{number}").status for number in range(3)]
    assert answers == [401, 401, 429]


def test_the_rightmost_hop_that_is_no_proxys_is_the_client(start):
    gateway = start(limits("sign_in", address="2/1h"))
    answers = [login(gateway, WRONG, f"192.0.2.{number}, 203.0.113.9, 127.0.0.1").status for number in range(3)]
    assert answers == [401, 401, 429]
    assert {line["client_address"] for line in audited(gateway, "sign_in_failed", 3)} == {"203.0.113.9"}


@pytest.mark.parametrize(
    "kind, name, body, status",
    [
        ("sign_in", "login", b"{", 400), ("sign_in", "login", b'["a list"]', 422), ("sign_in", "login", b'{"nothing":1}', 422),
        ("sign_in", "challenge", b'{"challenge":"none"}', 422), ("codes", "confirm", b"{}", 422),
        ("codes", "reset-password", b'"x"', 422), ("messages", "register", b'{"attributes":{"x":1}}', 422),
        ("messages", "resend-code", b"{}", 422), ("messages", "forgot-password", b"\xff", 400),
        ("refresh", "refresh", b'{"refresh_token":1}', 422),
    ],
)  # fmt: skip
def test_malformed_calls_count_as_others_do(start, kind, name, body, status):
    gateway = start(limits(kind, address="3/1h"))
    fields = {"Content-Type": "application/json", "X-Forwarded-For": "192.0.2.1"}
    answers = [raw.exchange(gateway.port, "POST", f"/api/v1/auth/{name}", fields, body).status for _ in range(5)]
    assert answers == [status] * 3 + [429, 429]
    fields["X-Forwarded-For"] = "192.0.2.2"
    assert raw.exchange(gateway.port, "POST", f"/api/v1/auth/{name}", fields, body).status == status


def test_a_body_that_is_announced_as_something_else_counts_as_well(start):
    gateway = start(limits("messages", address="2/1h"))
    fields = {"Content-Type": "text/plain", "X-Forwarded-For": "192.0.2.1"}
    body = json.dumps({"email": NOBODY}).encode()
    answers = [raw.exchange(gateway.port, "POST", "/api/v1/auth/resend-code", fields, body).status for _ in range(3)]
    assert answers == [400, 400, 429]


@pytest.mark.parametrize(
    "operation, body",
    [("SignUp", b"{"), ("SignUp", b'{"nothing":1}'), ("InitiateAuth", b'{"AuthFlow":"x"}'), ("SignUp", b'{"Username":"u","ClientId":"other"}')],
)
def test_malformed_direct_calls_count_as_others_do(start, operation, body):
    kind = "sign_in" if operation == "InitiateAuth" else "messages"
    gateway = start({**limits(kind, address="3/1h"), "direct_cognito": {"mode": "translate"}})
    fields = {"X-Amz-Target": f"AWSCognitoIdentityProviderService.{operation}", "X-Forwarded-For": "192.0.2.1"}
    types = [raw.exchange(gateway.port, "POST", "/", fields, body).json()["__type"] for _ in range(5)]
    assert "TooManyRequestsException" not in types[:3] and set(types[3:]) == {"TooManyRequestsException"}


@pytest.mark.parametrize("email", [ADA[0], NOBODY])
def test_an_account_is_limited_wherever_it_is_tried_from_and_whether_there_is_one(start, email):
    gateway = start(limits("sign_in", account="3/1h"))
    answers = [login(gateway, WRONG, f"192.0.2.{number}", email) for number in range(5)]
    assert [answer.status for answer in answers] == [401, 401, 401, 429, 429]
    assert_limited(answers[-1])


def test_all_together_are_limited(start):
    """A password tried on thousands of accounts, each from another address."""
    gateway = start(limits("sign_in", **{"global": "20/1h"}))
    with ThreadPoolExecutor(16) as pool:
        attempt = lambda number: login(gateway, WRONG, f"10.1.{number}.1", f"u{number}@example.com").status
        answers = list(pool.map(attempt, range(60)))
    # The pool may be too slow for so many at once, which the twenty that get there are told.
    assert answers.count(429) == 40, answers


@pytest.mark.parametrize(
    ("kind", "name", "body"),
    [
        ("codes", "confirm", {"email": NOBODY, "code": "123456"}),
        ("codes", "reset-password", {"email": NOBODY, "code": "123456", "new_password": PASSWORD}),
        ("messages", "resend-code", {"email": NOBODY}),
        ("messages", "forgot-password", {"email": NOBODY}),
        ("refresh", "refresh", {"refresh_token": "v1.x.y"}),
    ],
)
def test_each_kind_of_call_is_limited_by_address(start, kind, name, body):
    gateway = start(limits(kind, address="2/1h"))
    answers = [call(gateway, name, body).status for _ in range(3)]
    # Malformed tokens count as well: their sender may be trying some out.
    assert 429 not in answers[:2] and answers[2] == 429


def test_a_signed_in_user_is_limited_by_account(start):
    gateway = start(limits("account", account="3/1h"))
    token = login(gateway, ADA[1]).json()["access_token"]
    me = lambda: raw.exchange(gateway.port, "GET", "/api/v1/auth/me", bearer(token)).status
    assert [me() for _ in range(4)] == [200, 200, 200, 429]


# Lockout


def locked_out(start, **changes) -> Gateway:
    """A gateway whose first user is locked out, by failures from as many addresses."""
    gateway = start({"account_limits": {"lockout": LOCKOUT}, **PROXY, **changes})
    assert login(gateway, ADA[1], device_info=device("phone-1")).status == 200
    for number in range(5):
        assert login(gateway, WRONG, f"203.0.113.{number}").status == 401
    return gateway


def test_changing_the_address_does_not_end_a_lockout(start):
    gateway = locked_out(start)
    for number in range(10):
        assert_limited(login(gateway, ADA[1], f"198.51.100.{number}"))
    retry_after = int(login(gateway, ADA[1], "2001:db8::1").header("retry-after"))
    assert 3500 < retry_after <= 3600


def test_an_account_that_is_not_there_is_locked_out_alike(start):
    gateway = start({"account_limits": {"lockout": LOCKOUT}, **PROXY})
    for email in (ADA[0], NOBODY):
        answers = [login(gateway, WRONG, f"203.0.113.{number}", email) for number in range(7)]
        assert [answer.status for answer in answers] == [401] * 5 + [429] * 2
        assert_limited(answers[-1])


def test_guesses_at_the_same_time_do_not_slip_through(start):
    gateway = start({"account_limits": {"lockout": LOCKOUT}, **PROXY})
    with ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(lambda number: login(gateway, WRONG, f"10.2.{number}.1").status, range(100)))
    assert answers.count(401) <= 5
    assert answers.count(429) == 100 - answers.count(401)


def test_a_known_device_is_not_locked_out_by_others(start):
    gateway = locked_out(start)
    assert login(gateway, ADA[1], "192.0.2.77", device_info=device("phone-1")).status == 200
    assert_limited(login(gateway, ADA[1], "192.0.2.77", device_info=device("phone-2")))
    # Its user's sign-in does not let the others in again.
    assert_limited(login(gateway, ADA[1], "203.0.113.1"))


def test_a_known_device_has_a_lock_of_its_own(start):
    gateway = start({"account_limits": {"lockout": LOCKOUT}, **PROXY})
    assert login(gateway, ADA[1], device_info=device("phone-1")).status == 200
    answers = [login(gateway, WRONG, device_info=device("phone-1")).status for _ in range(6)]
    assert answers == [401] * 5 + [429]
    assert login(gateway, ADA[1]).status == 200


@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGTERM])
def test_a_restart_ends_no_lockout_and_forgets_no_device(start, stop):
    gateway = restarted(locked_out(start), stop)
    try:
        assert_limited(login(gateway, ADA[1], "198.51.100.1"))
        assert login(gateway, ADA[1], "192.0.2.77", device_info=device("phone-1")).status == 200
    finally:
        gateway.stop()


def test_a_restart_gives_nobody_more_calls(start, email):
    gateway = start(limits("messages", address="3/1h"))
    for number in range(3):
        assert call(gateway, "forgot-password", {"email": f"{number}{email}"}).status == 202
    gateway = restarted(gateway, signal.SIGTERM)
    try:
        assert_limited(call(gateway, "forgot-password", {"email": email}))
    finally:
        gateway.stop()


def test_a_password_that_was_reset_ends_the_lockout(start, conduct_pool, email):
    gateway = start({"account_limits": {"lockout": LOCKOUT}, **PROXY})
    register(gateway, conduct_pool, email)
    for number in range(5):
        assert login(gateway, WRONG, f"203.0.113.{number}", email).status == 401
    assert_limited(login(gateway, PASSWORD, email=email))
    assert call(gateway, "forgot-password", {"email": email}).status == 202
    reset = {"email": email, "code": conduct_pool.confirmation_code(email), "new_password": CHANGED}
    assert call(gateway, "reset-password", reset).status == 204
    assert login(gateway, CHANGED, email=email).status == 200


def register(gateway, pool: LocalPool, email: str) -> None:
    assert call(gateway, "register", {"email": email, "password": PASSWORD}).status == 201
    assert call(gateway, "confirm", {"email": email, "code": pool.confirmation_code(email)}).status == 204


def test_the_right_password_gives_no_more_guesses_of_the_second_factor(start, conduct_pool, ledger):
    gateway = start({"account_limits": {"lockout": LOCKOUT}})
    account = Account(gateway.port, ledger)
    email, tokens = signed_in_user(account, conduct_pool)
    headers = bearer(tokens["access_token"])
    secret = call(gateway, "mfa/totp", {}, **headers).json()["secret"]
    ledger.note(secret)
    code = one_time_code(conduct_pool, secret)
    assert call(gateway, "mfa/totp/verify", {"code": code}, **headers).status == 204
    for _ in range(5):
        asked = account.login(email, USER_PASSWORD)
        assert asked.status == 202
        guess = {"challenge": "SOFTWARE_TOKEN_MFA", "session": asked.json()["session"], "code": "000000"}
        assert account.post("challenge", guess).json()["error"] == "CodeMismatchException"
    assert_limited(account.login(email, USER_PASSWORD))
    assert [line["operation"] for line in audited(gateway, "sign_in_failed", 5)] == ["challenge"] * 5


def test_backend_and_access_log_know_the_client_behind_a_trusted_proxy(start, own_recorder):
    gateway = start(PROXY)
    headers = {"X-Forwarded-For": "6.6.6.6, 203.0.113.9"}
    answer = raw.exchange(gateway.port, "GET", "/recorded/public/x", headers)
    assert own_recorder.last("/recorded/public/x").header("x-forwarded-for") == "203.0.113.9"
    assert gateway.access_line(answer.header("x-request-id"))["client_address"] == "203.0.113.9"


# Direct calls


@pytest.mark.parametrize("sends", [True, False])
def test_cognito_is_told_the_clients_address_where_the_pool_allows_it(start, conduct_pool, sends):
    front = CognitoFront(conduct_pool.url)
    pool = {"endpoint": front.url, "send_client_address": sends}
    gateway = start({"direct_cognito": {"mode": "translate"}, "sign_in": {"cognito": pool}, **PROXY})
    body = {
        "AuthFlow": "USER_PASSWORD_AUTH",
        "ClientId": POOL_CLIENT_ID,
        "AuthParameters": {"USERNAME": ADA[0], "PASSWORD": WRONG},
        "UserContextData": {"IpAddress": "6.6.6.6"},
    }
    headers = {
        "X-Amz-Target": "AWSCognitoIdentityProviderService.InitiateAuth",
        "X-Forwarded-For": "203.0.113.9",
    }
    assert raw.exchange(gateway.port, "POST", "/", headers, json.dumps(body).encode()).status == 400
    assert login(gateway, WRONG, "203.0.113.9").status == 401
    told = [body.get("UserContextData", {}).get("IpAddress") for _, body in front.calls]
    assert told == ["203.0.113.9" if sends else None] * 2
    front.stop()


def test_direct_calls_come_under_the_same_limits(start):
    gateway = start({"account_limits": {"lockout": LOCKOUT}, "direct_cognito": {"mode": "translate"}, **PROXY})
    client = cognito_client(gateway.url)

    def sign_in(password: str) -> str:
        parameters = {"USERNAME": ADA[0], "PASSWORD": password}
        with pytest.raises(ClientError) as refused:
            client.initiate_auth(ClientId=POOL_CLIENT_ID, AuthFlow="USER_PASSWORD_AUTH", AuthParameters=parameters)
        return refused.value.response["Error"]["Code"]

    for number in range(3):
        assert login(gateway, WRONG, f"203.0.113.{number}").status == 401
    assert [sign_in(WRONG), sign_in(WRONG)] == ["NotAuthorizedException"] * 2
    assert sign_in(ADA[1]) == "TooManyRequestsException"
    assert_limited(login(gateway, ADA[1]))
    failed = audited(gateway, "sign_in_failed", 5)
    assert [line["operation"] for line in failed] == ["login"] * 3 + ["InitiateAuth"] * 2
    assert len({line["account_hash"] for line in failed}) == 1


def test_nobody_uses_up_anothers_calls_with_a_forged_token(start):
    gateway = start(
        {"account_limits": {"account": {"account": "5/1h"}}, "direct_cognito": {"mode": "translate"}}
    )
    token = login(gateway, ADA[1]).json()["access_token"]
    head, payload, _ = token.split(".")

    def get_user(token: str) -> raw.Response:
        headers = {"X-Amz-Target": "AWSCognitoIdentityProviderService.GetUser"}
        return raw.exchange(gateway.port, "POST", "/", headers, json.dumps({"AccessToken": token}).encode())

    forged = [get_user(f"{head}.{payload}.{'AAAA' * (number + 1)}") for number in range(20)]
    assert {answer.status for answer in forged} == {400}
    assert {answer.json()["__type"] for answer in forged} == {"NotAuthorizedException"}
    assert get_user(token).status == 200
    assert raw.exchange(gateway.port, "GET", "/api/v1/auth/me", bearer(token)).status == 200
    told = audited(gateway, "direct_cognito", 21)
    assert ["subject_hash" in line for line in told] == [False] * 20 + [True]


def test_a_tracked_device_is_known_to_direct_calls(start_gateway, run_directory, ledger):
    """Apps with device tracking name their device: its user is not locked out by others."""
    ledger.note(ADA[1], WRONG)
    pool = LocalPool(run_directory, f"tracking-{time.time_ns()}", {"devices": "always"})
    gateway = start_gateway(
        {"account_limits": {"lockout": LOCKOUT}, "direct_cognito": {"mode": "translate"}}, pool=pool
    )
    client = cognito_client(gateway.url)

    def sign_in(password: str, **device: str) -> dict:
        parameters = {"USERNAME": ADA[0], "PASSWORD": password, **device}
        return client.initiate_auth(
            ClientId=POOL_CLIENT_ID, AuthFlow="USER_PASSWORD_AUTH", AuthParameters=parameters
        )

    key = sign_in(ADA[1])["AuthenticationResult"]["NewDeviceMetadata"]["DeviceKey"]
    for _ in range(5):
        assert login(gateway, WRONG).status == 401
    with pytest.raises(ClientError) as refused:
        sign_in(ADA[1])
    assert refused.value.response["Error"]["Code"] == "TooManyRequestsException"
    assert sign_in(ADA[1], DEVICE_KEY=key)
    pool.stop()


# Audit


def audited(gateway, event: str, count: int = 1) -> list[dict]:
    found = wait_until(
        lambda: len(lines := gateway.audit_log(event)) >= count and lines, f"{count} audit lines {event}"
    )
    assert len(found) == count, found
    return found


def test_the_life_of_an_account_is_told_by_events(start, conduct_pool, email, ledger):
    gateway = start(PROXY)
    account = Account(gateway.port, ledger)
    register(gateway, conduct_pool, email)
    agent = {"User-Agent": "MyApp/4.2 CFNetwork/1"}
    body = {"email": email, "password": PASSWORD, "device_info": device("phone-1")}
    first = call(gateway, "login", body, "203.0.113.9", **agent).json()
    refreshed = account.refresh(first["refresh_token"]).json()
    token = bearer(refreshed["access_token"])
    change = {"current_password": PASSWORD, "new_password": CHANGED}
    assert call(gateway, "change-password", change, **token).status == 204
    assert raw.exchange(gateway.port, "GET", "/api/v1/auth/me/export", token).status == 200
    assert call(gateway, "forgot-password", {"email": email}).status == 202
    reset = {"email": email, "code": conduct_pool.confirmation_code(email), "new_password": PASSWORD}
    assert call(gateway, "reset-password", reset).status == 204
    assert login(gateway, WRONG, email=email).status == 401
    second = login(gateway, PASSWORD, email=email).json()
    assert call(gateway, "logout", {"refresh_token": second["refresh_token"]}).status == 204
    assert account.refresh(second["refresh_token"]).status == 401
    third = login(gateway, PASSWORD, email=email).json()
    headers = bearer(third["access_token"])
    assert raw.exchange(gateway.port, "DELETE", "/api/v1/auth/me", headers).status == 204

    signed_in = audited(gateway, "signed_in", 3)
    subject = signed_in[0]["subject_hash"]
    assert signed_in[0]["device_id"] == "phone-1"
    assert signed_in[0]["device_platform"] == "ios"
    assert signed_in[0]["app_version"] == "4.2"
    assert signed_in[0]["application"] == "MyApp/4.2"
    assert signed_in[0]["client_address"] == "203.0.113.9"
    assert signed_in[0]["operation"] == "login"
    for event in ("refreshed", "password_changed", "user_exported", "user_deleted"):
        assert audited(gateway, event)[0]["subject_hash"] == subject, event
    export_line = gateway.access_line(audited(gateway, "user_exported")[0]["request_id"])
    assert export_line["subject_hash"] == subject, "the same user, the same hash in every log"
    named = signed_in[0]["account_hash"]
    for event in ("registered", "confirmed", "password_reset"):
        assert audited(gateway, event)[0]["account_hash"] == named, event
    failed = audited(gateway, "sign_in_failed")[0]
    assert (failed["account_hash"], failed["reason"]) == (named, "bad-credentials")
    assert "subject_hash" not in failed
    audited(gateway, "signed_out")
    audited(gateway, "session_expired")
    for line in gateway.audit_log():
        assert line["request_id"] and line["time"].endswith("Z")
    text = gateway.process.output()
    assert email not in text and first["user"]["id"] not in text


def test_a_refresh_token_that_was_used_is_told(start, ledger):
    gateway = start({})
    account = Account(gateway.port, ledger)
    first = account.login(*ADA).json()["refresh_token"]
    second = account.refresh(first).json()["refresh_token"]
    assert account.refresh(second).status == 200
    assert account.refresh(first).status == 401
    assert audited(gateway, "refresh_reused")[0]["subject_hash"]


def test_a_lockout_is_told(start):
    gateway = locked_out(start)
    assert audited(gateway, "locked_out")[0]["reason"] == "too-many-failures"
    assert_limited(login(gateway, ADA[1]))
    assert audited(gateway, "locked_out", 2)[1]["reason"] == "account-locked"


def test_a_lockout_is_counted_and_attempts_while_it_lasts_beside_it(start):
    gateway = start({"account_limits": {"lockout": LOCKOUT}, **PROXY})
    attempts = 'gatehouse_account_limits_total{cause="account-locked"}'

    def counted() -> tuple[float, float]:
        samples = gateway.samples()
        return samples["gatehouse_account_lockouts_total"], samples[attempts]

    for number in range(5):
        assert counted() == (0, 0)
        assert login(gateway, WRONG, f"203.0.113.{number}").status == 401
    assert counted() == (1, 0)
    assert_limited(login(gateway, ADA[1]))
    assert counted() == (1, 1)
    for number in range(5):
        assert login(gateway, WRONG, f"198.51.100.{number}", NOBODY).status == 401
    assert counted() == (2, 1)


@pytest.mark.parametrize("mode", ["block", "translate"])
def test_direct_calls_are_told(start, mode):
    gateway = start({"direct_cognito": {"mode": mode}, **PROXY})
    headers = {
        "X-Amz-Target": "AWSCognitoIdentityProviderService.AdminGetUser",
        "User-Agent": "Old\"App/1.0 aws",
        "X-Forwarded-For": "203.0.113.9",
    }
    assert raw.exchange(gateway.port, "POST", "/", headers, b"{}").status == 403
    line = audited(gateway, "direct_cognito")[0]
    assert line["operation"] == "AdminGetUser"
    assert line["application"] == "Old_App/1.0"
    assert line["client_address"] == "203.0.113.9"
    assert line["reason"] == "direct-cognito"


def test_what_a_client_says_of_its_device_stays_on_its_line(start):
    gateway = start({})
    evil = 'x","event":"signed_out","a":"\\'
    login(gateway, WRONG, device_info={"device_id": evil, "platform": evil})
    assert audited(gateway, "sign_in_failed")[0]["device_id"] == evil
    assert not gateway.audit_log("signed_out")


def test_the_audit_log_can_be_a_file_that_is_moved_away(start, run_directory):
    path = run_directory / f"audit-{time.time_ns()}.log"
    gateway = start({"audit": {"log": str(path)}})
    login(gateway, WRONG)
    wait_until(lambda: path.read_text().count("sign_in_failed") == 1, "a line in the file")
    assert path.stat().st_mode & 0o777 == 0o600
    path.rename(moved := path.with_suffix(".1"))
    gateway.reload({"drain_timeout": "29s"})
    login(gateway, WRONG)
    wait_until(lambda: path.exists() and path.read_text().count("sign_in_failed") == 1, "a line in the new file")
    assert moved.read_text().count("sign_in_failed") == 1
    assert not gateway.audit_log()
    gateway.reload({"audit": {"log": "off"}})
    login(gateway, WRONG)
    gateway.reload({"audit": {"log": "stdout"}})
    login(gateway, WRONG)
    audited(gateway, "sign_in_failed")


def test_the_hashes_stay_the_same_after_a_restart(start):
    gateway = start({})
    login(gateway, WRONG)
    before = audited(gateway, "sign_in_failed")[0]["account_hash"]
    gateway = restarted(gateway, signal.SIGTERM)
    try:
        login(gateway, WRONG)
        # One log file for both processes.
        assert audited(gateway, "sign_in_failed", 2)[1]["account_hash"] == before
    finally:
        gateway.stop()


def test_rotating_the_key_of_hashes_ends_no_lockout_and_forgets_no_device(start):
    gateway = locked_out(start)
    before = audited(gateway, "sign_in_failed", 5)[0]["account_hash"]
    rotated = gatehouse("keys", "rotate", "--config", gateway.config_path, "--purpose", "audit")
    assert rotated.returncode == 0, rotated.stderr
    gateway = restarted(gateway)
    try:
        assert_limited(login(gateway, ADA[1], "198.51.100.1"))
        assert login(gateway, ADA[1], "192.0.2.77", device_info=device("phone-1")).status == 200
        # One log file for both processes: the first line is of the fifth failure.
        assert audited(gateway, "locked_out", 2)[1]["account_hash"] != before, "the hashes are others"
    finally:
        gateway.stop()


def test_counts_of_an_earlier_version_are_gone_on_with(start):
    """Their codes were made with a key that came of the one of the hashes."""
    gateway = start({"account_limits": {"lockout": LOCKOUT}, **PROXY})
    state = Path(gateway.config["state_directory"])
    key = lambda purpose: base64.b64decode(json.loads((state / f"{purpose}-keys.json").read_text())["keys"][0]["key"])
    derived = lambda: hmac.new(key("audit"), b"limits", hashlib.sha256).digest()
    assert key("limits") != derived(), "where there are none it is a key of its own"
    for is_locked in (False, True):
        gateway.stop()
        (state / "limits-keys.json").unlink()
        gateway = Gateway(gateway.config_path.parent, "gateway", gateway.config)
        try:
            assert key("limits") == derived()
            if is_locked:
                assert_limited(login(gateway, ADA[1], "198.51.100.1"))
            else:
                assert [login(gateway, WRONG, f"203.0.113.{number}").status for number in range(5)] == [401] * 5
        finally:
            gateway.stop()


# Messages to backends


def sync(receiver: RecordingBackend, **changes) -> dict:
    return {
        "identity": {"assertion": {"issuer": ISSUER}},
        "user_sync": {"url": f"{receiver.url}/users", "allow_insecure_http": True, "audience": "users", **changes},
        **PROXY,
    }


def verified(gateway: Gateway, request) -> dict:
    """The claims of a message's signature, checked as a backend would."""
    keys = jwt.PyJWKSet.from_json(raw.exchange(gateway.port, "GET", JWKS_PATH).body.decode())
    token = request.header("x-auth-assertion")
    header = jwt.get_unverified_header(token)
    assert header["typ"] == "gatehouse-notice+jwt"
    key = keys[header["kid"]].key
    read = lambda **more: jwt.decode(token, key, algorithms=["ES256"], audience="users", issuer=ISSUER, **more)
    claims = read(options={"require": ["iat", "exp"]})
    # The same check 60 seconds later.
    with pytest.raises(jwt.ExpiredSignatureError):
        read(leeway=-60, options={"verify_iat": False})
    digest = jwt.utils.base64url_encode(hashlib.sha256(request.body).digest()).decode()
    assert claims["body_sha256"] == digest
    assert claims["jti"] == request.header("idempotency-key")
    assert claims["event"] == json.loads(request.body)["event"]
    return claims


def told(receiver: RecordingBackend, count: int) -> list:
    return wait_until(
        lambda: len(found := [each for each in receiver.requests_to("/users") if each.complete]) >= count and found,
        f"{count} messages",
    )


def by_age(requests: list) -> list:
    """Messages in the order of their events: several are on their way at once, and may overtake each other."""
    return sorted(requests, key=lambda request: json.loads(request.body)["occurred_at_ms"])


def test_the_backend_is_told_of_users(start, conduct_pool, receiver, email):
    receiver.on("/users", answer(204, b""))
    gateway = start(sync(receiver))
    register(gateway, conduct_pool, email)
    session = login(gateway, PASSWORD, email=email).json()
    raw.exchange(gateway.port, "DELETE", "/api/v1/auth/me", bearer(session["access_token"]))
    requests = by_age(told(receiver, 3))
    bodies = [json.loads(request.body) for request in requests]
    assert [body["event"] for body in bodies] == ["confirmed", "signed_in", "deleted"]
    subject = session["user"]["id"]
    assert bodies[0]["user"] == {"id": None, "email": email}
    assert bodies[1]["user"] == session["user"]
    assert bodies[2]["user"] == {"id": subject}
    assert {body["pool"] for body in bodies} == {POOL_ID}
    assert len({body["id"] for body in bodies}) == 3
    claims = [verified(gateway, request) for request in requests]
    assert [each.get("sub") for each in claims] == [None, subject, subject]


def test_the_backend_is_told_of_direct_calls_too(start, conduct_pool, receiver, email):
    receiver.on("/users", answer(204, b""))
    gateway = start({**sync(receiver), "direct_cognito": {"mode": "translate"}})
    client = cognito_client(gateway.url)
    named = {"ClientId": POOL_CLIENT_ID, "Username": email}
    client.sign_up(**named, Password=PASSWORD)
    client.confirm_sign_up(**named, ConfirmationCode=conduct_pool.confirmation_code(email))
    parameters = {"USERNAME": email, "PASSWORD": PASSWORD}
    tokens = client.initiate_auth(
        ClientId=POOL_CLIENT_ID, AuthFlow="USER_PASSWORD_AUTH", AuthParameters=parameters
    )["AuthenticationResult"]
    client.delete_user(AccessToken=tokens["AccessToken"])
    bodies = [json.loads(request.body) for request in by_age(told(receiver, 3))]
    assert [body["event"] for body in bodies] == ["confirmed", "signed_in", "deleted"]
    assert bodies[1]["user"]["id"] == bodies[2]["user"]["id"]
    events = ("registered", "confirmed", "signed_in", "user_deleted")
    assert [audited(gateway, event)[0]["operation"] for event in events] == [
        "SignUp", "ConfirmSignUp", "InitiateAuth", "DeleteUser",
    ]


def test_a_message_that_is_not_received_comes_again(start, receiver):
    receiver.on("/users", sequence(answer(503, b""), answer(302, b""), answer(200)))
    gateway = start(sync(receiver))
    assert login(gateway, ADA[1]).status == 200
    requests = told(receiver, 3)
    assert len({request.header("idempotency-key") for request in requests}) == 1
    assert len({request.body for request in requests}) == 1
    wait_until(lambda: gateway.samples()["gatehouse_outbox_delivered_total"] == 1, "the delivery to be counted")
    assert gateway.samples()["gatehouse_outbox_failures_total"] == 2


def test_a_message_outlasts_a_kill(start, receiver):
    receiver.on("/users", answer(503, b""))
    gateway = start(sync(receiver))
    assert login(gateway, ADA[1]).status == 200
    key = told(receiver, 1)[0].header("idempotency-key")
    receiver.on("/users", answer(200))
    before = len(receiver.requests_to("/users"))
    gateway = restarted(gateway, signal.SIGKILL)
    try:
        requests = wait_until(
            lambda: len(found := receiver.requests_to("/users")) > before and found, "the message again", 30
        )
        assert {request.header("idempotency-key") for request in requests} == {key}
    finally:
        gateway.stop()


def test_a_sign_in_does_not_wait_for_the_backend(start, receiver):
    gateway = start(sync(receiver, url="http://127.0.0.1:9/users"))
    assert login(gateway, ADA[1]).status == 200


def test_a_required_backend_must_have_been_told(start, receiver):
    receiver.on("/users", answer(503, b""))
    gateway = start(sync(receiver, mode="required", timeout="2s"))
    refused = login(gateway, ADA[1])
    assert_refusal(refused, 503, "ServiceUnavailableException")
    assert "token" not in refused.body.decode()
    assert audited(gateway, "sign_in_failed")[0]["reason"] == "user-sync-failed"
    receiver.on("/users", answer(200))
    assert login(gateway, ADA[1]).status == 200
    assert len(told(receiver, 2)) == 2
    assert not gateway.audit_log("locked_out")


def test_a_sign_in_that_the_backend_was_not_told_of_leaves_no_session(start, conduct_pool, receiver, email):
    """Neither here nor at Cognito, whichever way it came; and the app that tries on leaves none either."""
    receiver.on("/users", answer(503, b""))
    sessions = sync(receiver, mode="required", timeout="2s", events=["signed_in"])
    gateway = start({**sessions, "direct_cognito": {"mode": "translate"}})
    register(gateway, conduct_pool, email)
    assert_refusal(login(gateway, PASSWORD, email=email), 503, "ServiceUnavailableException")
    control(conduct_pool, "DELETE", "calls")
    assert_refusal(login(gateway, PASSWORD, email=email), 503, "ServiceUnavailableException")
    client = cognito_client(gateway.url)
    parameters = {"USERNAME": email, "PASSWORD": PASSWORD}
    with pytest.raises(ClientError, match="InternalErrorException"):
        client.initiate_auth(ClientId=POOL_CLIENT_ID, AuthFlow="USER_PASSWORD_AUTH", AuthParameters=parameters)
    asked = control(conduct_pool, "GET", "calls")["recent"]
    begun = [call for call in asked if call["operation"] == "InitiateAuth" and "error" not in call]
    ended = [call for call in asked if call["operation"] == "RevokeToken" and "error" not in call]
    assert len(begun) >= 2 and len(ended) == len(begun), asked
    with closing(sqlite3.connect(Path(gateway.config["state_directory"]) / "gatehouse.sqlite")) as database:
        rows = database.execute("SELECT ended_at, token FROM sessions").fetchall()
    assert len(rows) == 2 and all(ended_at and not token for ended_at, token in rows), rows
    receiver.on("/users", answer(200))
    assert login(gateway, PASSWORD, email=email).status == 200


def test_a_deletion_whose_answer_was_lost_is_told_when_it_is_finished(start, conduct_pool, receiver, email):
    receiver.on("/users", answer(204, b""))
    gateway = start(sync(receiver, events=["deleted"]))
    register(gateway, conduct_pool, email)
    session = login(gateway, PASSWORD, email=email).json()
    delete = lambda: raw.exchange(gateway.port, "DELETE", "/api/v1/auth/me", bearer(session["access_token"])).status
    control(conduct_pool, "POST", "faults", [{"operation": "DeleteUser", "drop": "after"}])
    try:
        assert delete() == 503
    finally:
        control(conduct_pool, "DELETE", "faults")
    assert [delete(), delete()] == [204, 401]
    assert json.loads(told(receiver, 1)[0].body)["user"] == {"id": session["user"]["id"]}


def test_a_direct_deletion_whose_answer_was_lost_is_finished_by_the_next_one(start, conduct_pool, receiver, email):
    """The SDK itself asks again; here it is told not to."""
    receiver.on("/users", answer(204, b""))
    gateway = start({**sync(receiver, events=["deleted"]), "direct_cognito": {"mode": "translate"}})
    register(gateway, conduct_pool, email)
    session = login(gateway, PASSWORD, email=email).json()

    def delete() -> raw.Response:
        fields = {"X-Amz-Target": "AWSCognitoIdentityProviderService.DeleteUser"}
        body = json.dumps({"AccessToken": session["access_token"]}).encode()
        return raw.exchange(gateway.port, "POST", "/", fields, body)

    control(conduct_pool, "POST", "faults", [{"operation": "DeleteUser", "drop": "after"}])
    try:
        assert delete().status == 503
    finally:
        control(conduct_pool, "DELETE", "faults")
    finished = delete()
    assert (finished.status, finished.body) == (200, b"{}"), finished.body
    me = raw.exchange(gateway.port, "GET", "/recorded/required/me", bearer(session["access_token"]))
    assert me.status == 401
    assert json.loads(told(receiver, 1)[0].body)["user"] == {"id": session["user"]["id"]}
    assert audited(gateway, "user_deleted")[0]["operation"] == "DeleteUser"
    with closing(sqlite3.connect(Path(gateway.config["state_directory"]) / "gatehouse.sqlite")) as database:
        assert database.execute("SELECT count(*) FROM sessions").fetchone() == (0,)


def test_events_are_posted_to_a_webhook(start, receiver):
    receiver.on("/events", sequence(answer(500, b""), answer(200)))
    webhook = {
        "url": f"{receiver.url}/events",
        "allow_insecure_http": True,
        "events": ["sign_in_failed"],
        "secret": "webhook-secret",
    }
    gateway = start({"audit": {"webhook": webhook}, **PROXY})
    assert login(gateway, ADA[1]).status == 200
    assert login(gateway, WRONG, "203.0.113.9").status == 401
    requests = wait_until(lambda: len(found := receiver.requests_to("/events")) >= 2 and found, "the event twice")
    assert requests[0].body == requests[1].body
    assert json.loads(requests[0].body) == audited(gateway, "sign_in_failed")[0]
    code = hmac.new(b"webhook-secret", requests[0].body, hashlib.sha256).hexdigest()
    assert requests[0].header("x-gatehouse-signature") == f"sha256={code}"
    assert requests[0].header("x-auth-assertion") is None


def test_direct_calls_that_are_refused_are_not_posted(start, receiver):
    webhook = {"url": f"{receiver.url}/events", "allow_insecure_http": True}
    gateway = start({"audit": {"webhook": webhook}, "direct_cognito": "block"})
    fields = {"X-Amz-Target": "AWSCognitoIdentityProviderService.InitiateAuth", "Content-Type": "application/x-amz-json-1.1"}
    for _ in range(3):
        assert raw.exchange(gateway.port, "POST", "/", fields, b"{}").status == 403
    assert login(gateway, ADA[1]).status == 200
    posted = wait_until(lambda: receiver.requests_to("/events"), "the sign-in's event")
    assert [json.loads(request.body)["event"] for request in posted] == ["signed_in"]
    audited(gateway, "direct_cognito", 3)


def test_cognitos_own_lock_looks_like_a_wrong_password(start, conduct_pool):
    """Cognito locks those who have an account alone."""
    front = CognitoFront(conduct_pool.url)
    front.refused["InitiateAuth"] = (400, "NotAuthorizedException", "Password attempts exceeded")
    gateway = start({"sign_in": {"cognito": {"endpoint": front.url}}})
    assert login(gateway, WRONG).status == 401
    assert audited(gateway, "locked_out")[0]["reason"] == "locked-out"
    front.stop()
