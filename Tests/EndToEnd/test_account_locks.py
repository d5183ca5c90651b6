"""Locks and limits of an account that nobody else can use up or avoid, on a gateway of each test's own."""

import json
import time

import pytest
from harness import raw
from harness.account import Account
from harness.cognito_front import CognitoFront
from harness.gateway import LocalPool
from harness.process import wait_until
from harness.user import PASSWORD, new_email, signed_in_user

WRONG = "Wrong-Horse-1"
LOCKOUT = {"after": 5, "first": "1h", "longest": "1h"}


@pytest.fixture(scope="module")
def lock_pool(run_directory):
    pool = LocalPool(run_directory, "lock-pool", {"hourly_limits": False, "lockout": False})
    yield pool
    pool.stop()


@pytest.fixture
def front(lock_pool):
    front = CognitoFront(lock_pool.url)
    yield front
    front.stop()


@pytest.fixture
def start(start_gateway, lock_pool, front, ledger):
    """Starts a gateway that carries direct calls out, with these limits beside unlimited ones."""
    ledger.note(PASSWORD, WRONG)

    def start(**limits) -> Account:
        free = {"address": "unlimited", "account": "unlimited", "global": "unlimited"}
        kinds = {kind: free for kind in ("sign_in", "codes", "messages", "refresh", "account")}
        changes = {
            "account_limits": {**kinds, "lockout": LOCKOUT, **limits}, "direct_cognito": {"mode": "translate"},
            "sign_in": {"cognito": {"endpoint": front.url}},
        }
        return Account(start_gateway(changes, pool=lock_pool).port, ledger)

    return start


def direct(account: Account, operation: str, **members) -> raw.Response:
    headers = {
        "Content-Type": "application/x-amz-json-1.1",
        "X-Amz-Target": f"AWSCognitoIdentityProviderService.{operation}",
    }
    return raw.exchange(account.port, "POST", "/", headers, json.dumps(members).encode())


def change(account: Account, token: str, password: str) -> raw.Response:
    return direct(account, "ChangePassword", AccessToken=token, PreviousPassword=password, ProposedPassword="Newer-Horse-10")


def test_a_forged_access_token_touches_nobodys_lock_and_tells_nothing_of_it(start, lock_pool, front):
    account = start()
    email, tokens = signed_in_user(account, lock_pool)
    head, payload, _ = tokens["access_token"].split(".")
    forged = f"{head}.{payload}.{'A' * 342}"
    invalid = {"__type": "NotAuthorizedException", "message": "Invalid Access Token"}
    # Whatever Cognito says of such a call, it is not asked.
    front.refused["ChangePassword"] = (400, "NotAuthorizedException", "Incorrect username or password.")
    front.calls.clear()
    for _ in range(7):
        assert change(account, forged, WRONG).json() == invalid
    assert front.calls == []
    # The account is open: a new device signs in, and a right token may guess.
    assert account.login(email, PASSWORD).status == 200
    assert change(account, tokens["access_token"], WRONG).json()["__type"] == "NotAuthorizedException"
    assert "ChangePassword" in front.operations()
    # Of an account that is locked a forged token says nothing else.
    assert [account.login(email, WRONG).status for _ in range(5)] == [401] * 5
    assert account.login(email, PASSWORD).status == 429
    assert change(account, forged, WRONG).json() == invalid


def test_an_expired_access_token_is_refused_as_by_cognito(start_gateway, run_directory, ledger):
    pool = LocalPool(run_directory, f"brief-{time.time_ns()}", {"lifetimes": {"access_token": 1}})
    front = CognitoFront(pool.url)
    changes = {
        "issuers": {"pool": {"clock_skew": "0s"}}, "direct_cognito": {"mode": "translate"},
        "sign_in": {"cognito": {"endpoint": front.url}},
        "account_limits": {"account": {"address": "unlimited", "account": "unlimited"}},
    }
    account = Account(start_gateway(changes, pool=pool).port, ledger)
    _, tokens = signed_in_user(account, pool)
    get_user = lambda: direct(account, "GetUser", AccessToken=tokens["access_token"])
    wait_until(lambda: get_user().status == 400, "the end of the token")
    front.calls.clear()
    assert get_user().json() == {"__type": "NotAuthorizedException", "message": "Access Token has expired"}
    assert front.calls == []
    front.stop()
    pool.stop()


def test_translated_calls_with_a_token_count_with_the_accounts_own(start, lock_pool):
    account = start(codes={"account": "5/1h"})
    _, tokens = signed_in_user(account, lock_pool)

    def own(token: str) -> bool:
        return account.post("me/email/verify", {"code": "000000"}, token).status == 429

    def translated(token: str) -> bool:
        answer = direct(account, "VerifyUserAttribute", AccessToken=token, AttributeName="email", Code="000000")
        return answer.json()["__type"] == "TooManyRequestsException"

    assert [own(tokens["access_token"]) for _ in range(2)] == [False] * 2
    # Another token of the account is no other account.
    refreshed = account.refresh(tokens["refresh_token"]).json()["access_token"]
    assert [translated(refreshed) for _ in range(3)] == [False] * 3
    assert translated(refreshed) and translated(tokens["access_token"]) and own(refreshed)
    _, other = signed_in_user(account, lock_pool)
    assert not translated(other["access_token"])


def test_codes_from_a_known_device_are_nobody_elses_to_use_up(start_gateway, run_directory, ledger):
    factors = ["PASSWORD", "EMAIL_OTP"]
    pool = LocalPool(run_directory, f"codes-{time.time_ns()}", {"first_factors": factors, "hourly_limits": False})
    cognito = pool.sign_in_settings("pool", passwordless={"factors": factors})
    limits = {"messages": {"address": "unlimited", "account": "5/1h", "global": "12/1h"}}
    account = Account(start_gateway({"sign_in": {"cognito": cognito}, "account_limits": limits}, pool=pool).port, ledger)
    known = {"device_id": "known-device-1", "platform": "ios"}
    # One message, which counts in all.
    email, _ = signed_in_user(account, pool, device_info=known)

    def code(**more) -> int:
        return account.post("login", {"email": email, "factor": "EMAIL_OTP", **more}).status

    stranger = {"device_id": "other-device-1", "platform": "ios"}
    asked = [account.post("forgot-password", {"email": email}).status for _ in range(3)] + [code(), code()]
    assert 429 in asked and asked[0] == 202
    assert code() == code(device_info=stranger) == 429
    assert code(device_info=known) == 202
    # Where all together have had as many as they may, the device still gets its code.
    others = [account.post("forgot-password", {"email": f"nobody{number}@example.com"}).status for number in range(12)]
    assert others[-1] == 429
    assert [code(device_info=known) for _ in range(5)] == [202] * 4 + [429]
    pool.stop()


def test_failed_sign_ins_of_strangers_lock_no_call_with_a_token(start, lock_pool):
    account = start()
    email, tokens = signed_in_user(account, lock_pool)
    token = tokens["access_token"]
    assert [account.login(email, WRONG).status for _ in range(6)] == [401] * 5 + [429]
    proof = {"current_password": PASSWORD}
    assert account.post("me/email", {"email": new_email(), **proof}, token).status == 202
    assert account.post("me/phone", {"phone_number": "+4915112345678", **proof}, token).status == 202
    assert account.post("change-password", {**proof, "new_password": PASSWORD}, token).status == 204
    assert change(account, token, PASSWORD).status == 200


def test_guesses_with_a_token_are_bounded_whichever_call_makes_them(start, lock_pool):
    account = start()
    email, tokens = signed_in_user(account, lock_pool)
    other = account.login(email, PASSWORD).json()["access_token"]
    token = tokens["access_token"]
    guess = {"current_password": WRONG}
    assert account.post("me/email", {"email": new_email(), **guess}, token).status == 422
    assert account.post("me/phone", {"phone_number": "+4915112345678", **guess}, other).status == 422
    assert account.post("change-password", {**guess, "new_password": PASSWORD}, token).status == 422
    assert [change(account, each, WRONG).json()["__type"] for each in (token, other)] == ["NotAuthorizedException"] * 2
    right = {"current_password": PASSWORD}
    for each in (token, other):
        assert change(account, each, PASSWORD).json()["__type"] == "TooManyRequestsException"
        assert account.post("change-password", {**right, "new_password": PASSWORD}, each).status == 429
        assert account.post("me/email", {"email": new_email(), **right}, each).status == 429
    # They are failures of the account too.
    assert account.login(email, PASSWORD).status == 401


@pytest.fixture
def spelled(start_gateway, run_directory, ledger):
    """Starts a gateway for a pool that keeps names of different case apart: an account, and how to register one more."""
    ledger.note(PASSWORD, WRONG, "Newest-Horse-12")
    changes = {"alias_attributes": ["email"], "users": [], "username_case_sensitive": True}
    changes |= {"lockout": False, "hourly_limits": False}
    pool = LocalPool(run_directory, f"spelled-{time.time_ns()}", changes)
    settings = {"login_with": ["username", "email"], "registration_name": "username"}
    free = {"address": "unlimited", "account": "unlimited", "global": "unlimited"}
    gateway = start_gateway(
        {
            "sign_in": {"cognito": pool.sign_in_settings("pool", **settings)},
            "account_limits": {"lockout": LOCKOUT, "sign_in": free, "messages": free, "codes": free},
        },
        pool=pool,
    )
    account = Account(gateway.port, ledger)

    def register(name: str, email: str) -> None:
        body = {"username": name, "email": email, "password": PASSWORD}
        assert account.post("register", body).status == 201
        code = pool.confirmation_code(email)
        assert account.post("confirm", {"username": name, "code": code}).status == 204

    yield account, register, pool
    pool.stop()


def sign_in(account: Account, name: str, password: str = PASSWORD, **more) -> raw.Response:
    return account.post("login", {"username": name, "password": password, **more})


def test_an_account_of_another_case_gives_no_more_guesses(spelled):
    account, register, _ = spelled
    register("victim1", "victim@example.com")
    register("Victim1", "mallory@example.com")
    phone, evil = ({"device_info": {"device_id": f"device-of-{name}", "platform": "ios"}} for name in ("victim", "mallory"))
    assert sign_in(account, "victim1", **phone).status == 200
    for round in range(2):
        assert sign_in(account, "Victim1", **(evil if round else {})).status == 200
        assert [sign_in(account, "victim1", WRONG).status for _ in range(2)] == [401] * 2
    assert sign_in(account, "Victim1").status == 200
    assert sign_in(account, "victim1", WRONG).status == 401
    assert sign_in(account, "victim1", WRONG).status == sign_in(account, "victim1", WRONG, **evil).status == 429
    assert sign_in(account, "victim1", **phone).status == 200
    assert sign_in(account, "Victim1", **evil).status == 200


def test_a_reset_ends_the_sessions_of_all_who_have_had_the_name(spelled):
    account, register, pool = spelled
    register("victim1", "victim@example.com")
    stolen = sign_in(account, "victim1").json()
    register("Victim1", "mallory@example.com")
    other = sign_in(account, "Victim1").json()
    second = int(time.time())
    wait_until(lambda: int(time.time()) > second, "the next second")
    assert account.post("forgot-password", {"username": "victim1"}).status == 202
    code = pool.confirmation_code("victim@example.com")
    reset = {"username": "victim1", "code": code, "new_password": "Newest-Horse-12"}
    assert account.post("reset-password", reset).status == 204
    for session in (stolen, other):
        assert account.me(session["access_token"]).status == 401
        assert account.refresh(session["refresh_token"]).status == 401


def test_registrations_under_many_names_do_not_fill_one_mailbox(start_gateway, run_directory, ledger):
    ledger.note(PASSWORD)
    changes = {"alias_attributes": ["email", "phone_number"], "users": [], "hourly_limits": False}
    pool = LocalPool(run_directory, f"names-{time.time_ns()}", changes)
    cognito = pool.sign_in_settings("pool", login_with=["username", "email"], registration_name="username")
    # An address of a client's is counted once for each registration, whatever is in it.
    limits = {"messages": {"address": "9/1h", "account": "5/1h", "global": "unlimited"}}
    account = Account(start_gateway({"sign_in": {"cognito": cognito}, "account_limits": limits}, pool=pool).port, ledger)

    def register(number: int, email: str, **more) -> int:
        body = {"username": f"bot{number}", "email": email, "password": PASSWORD, **more}
        return account.post("register", body).status

    assert [register(number, "victim@example.com") for number in range(7)] == [201] * 5 + [429] * 2
    assert register(7, "other@example.com", phone_number="+4915112345678") == 201
    assert register(8, "third@example.com") == 201
    assert register(9, "fourth@example.com") == 429
    pool.stop()
