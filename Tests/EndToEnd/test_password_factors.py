"""The password as a factor among others: by the configured flow, or proven by SRP within USER_AUTH."""

import json

import pytest
from harness.account import Account, assert_refusal
from harness.cognito_front import CognitoFront
from harness.gateway import LocalPool
from harness.local_pool_control import one_time_code
from harness.process import wait_until
from harness.user import PASSWORD, confirmed_user, new_email, register, signed_in_user

FACTORS = ["PASSWORD", "PASSWORD_SRP", "EMAIL_OTP"]


@pytest.fixture(scope="module")
def pool(run_directory):
    changes = {"first_factors": ["PASSWORD", "EMAIL_OTP"], "hourly_limits": False}
    pool = LocalPool(run_directory, "pool-password-factors", changes)
    yield pool
    pool.stop()


@pytest.fixture(scope="module")
def front(pool):
    """Notes what reaches Cognito."""
    front = CognitoFront(pool.url)
    yield front
    front.stop()


@pytest.fixture
def start(start_gateway, pool, front, ledger):
    def start(flow: str = "password", in_front_of: LocalPool = pool, **more) -> Account:
        endpoint = front.url if in_front_of is pool else in_front_of.url
        cognito = in_front_of.sign_in_settings("pool", endpoint=endpoint, flow=flow, passwordless={"factors": FACTORS})
        gateway = start_gateway({"sign_in": {"cognito": cognito}, **more}, pool=in_front_of)
        account = Account(gateway.port, ledger)
        account.gateway = gateway
        return account

    return start


def flows(front: CognitoFront) -> list[str]:
    """How the calls prove a password: the flow and its preferred challenge, or the challenge that is answered."""
    seen = []
    for operation, body in front.calls:
        preferred = body.get("AuthParameters", {}).get("PREFERRED_CHALLENGE")
        seen.append(body.get("ChallengeName") or " ".join(filter(None, [body.get("AuthFlow", operation), preferred])))
    return seen


CONFIGURED = {"password": ["USER_PASSWORD_AUTH"], "srp": ["USER_SRP_AUTH", "PASSWORD_VERIFIER"]}
PROVEN = ["USER_AUTH PASSWORD_SRP", "PASSWORD_VERIFIER"]


@pytest.mark.parametrize("flow", CONFIGURED)
def test_each_kind_signs_in_by_its_own_flow(start, pool, front, flow):
    account = start(flow)
    email = confirmed_user(account, pool)
    for factor, expected in (("PASSWORD", CONFIGURED[flow]), ("PASSWORD_SRP", PROVEN)):
        front.calls.clear()
        at_once = account.login(email, PASSWORD, factor=factor)
        assert at_once.status == 200, at_once.body
        assert flows(front) == expected
        asked = account.post("login", {"email": email, "factor": factor}).json()
        assert (asked["challenge"], asked["parameters"]) == (factor, {})
        front.calls.clear()
        refused = account.answer_challenge(asked, password="Wrong-Horse-12")
        assert_refusal(refused, 401, "NotAuthorizedException")
        assert flows(front) == expected
        front.calls.clear()
        answer = account.answer_challenge(asked, password=PASSWORD)
        assert answer.status == 200 and answer.json()["user"]["email"] == email
        assert flows(front) == expected
        assert (PASSWORD in json.dumps(front.calls)) == (expected == ["USER_PASSWORD_AUTH"])


def test_both_are_in_the_list_to_choose_from(start, pool):
    account = start()
    email = confirmed_user(account, pool)
    asked = account.post("login", {"email": email}).json()
    assert asked["parameters"] == {"methods": FACTORS}
    for factor in ("PASSWORD", "PASSWORD_SRP"):
        chosen = account.answer_challenge(asked, answer=factor).json()
        assert chosen["challenge"] == factor
        other = "PASSWORD" if factor == "PASSWORD_SRP" else "PASSWORD_SRP"
        mixed = account.post("challenge", {"challenge": other, "session": chosen["session"], "password": PASSWORD})
        assert "challenge" in assert_refusal(mixed, 422, "InvalidParameterException")["fields"]
        assert account.answer_challenge(chosen, password=PASSWORD).status == 200


def test_a_second_factor_follows(start, pool):
    account = start()
    email, tokens = signed_in_user(account, pool)
    secret = account.post("mfa/totp", None, tokens["access_token"]).json()["secret"]
    account.ledger.note(secret)
    code = one_time_code(pool, secret)
    assert account.post("mfa/totp/verify", {"code": code}, tokens["access_token"]).status == 204
    asked = account.login(email, PASSWORD, factor="PASSWORD_SRP")
    assert asked.status == 202 and asked.json()["challenge"] == "SOFTWARE_TOKEN_MFA"
    assert_refusal(account.login(email, "Wrong-Horse-12", factor="PASSWORD_SRP"), 401, "NotAuthorizedException")


def test_a_client_of_user_auth_alone_signs_in_by_the_proof(start, run_directory):
    client = {"flows": ["ALLOW_USER_AUTH", "ALLOW_REFRESH_TOKEN_AUTH"]}
    pool = LocalPool(run_directory, "pool-user-auth-alone", {"client": client})
    try:
        account = start(in_front_of=pool)
        email = confirmed_user(account, pool)
        answer = account.login(email, PASSWORD, factor="PASSWORD_SRP")
        assert answer.status == 200, answer.body
        assert account.refresh(answer.json()["refresh_token"]).status == 200
        assert_refusal(account.login(email, PASSWORD), 503, "IdentityProviderUnavailableException")
        setting = "sign_in.cognito.flow"
        wait_until(lambda: setting in account.gateway.log(), "the setting in the log")
    finally:
        pool.stop()


def test_who_has_no_password_is_asked_in_two_calls_as_everyone_is(start, pool, front):
    """Cognito answers for the account before anything is proven, and picks a factor at random for nobody."""
    account = start(account_limits={"lockout": {"after": 100, "first": "1m"}})
    unconfirmed = new_email()
    register(account, unconfirmed)
    known = confirmed_user(account, pool)
    results = set()
    for email in (known, unconfirmed, *(new_email() for _ in range(12))):
        front.calls.clear()
        answer = account.login(email, "Wrong-Horse-12", factor="PASSWORD_SRP")
        body = assert_refusal(answer, 401, "NotAuthorizedException")
        results.add((body["message"], tuple(flows(front))))
    assert results == {("Incorrect email or password.", tuple(PROVEN))}


def test_wrong_passwords_of_both_kinds_lock_the_account(start, pool):
    account = start(account_limits={"lockout": {"after": 4, "first": "10m"}})
    email = confirmed_user(account, pool)
    for factor in ("PASSWORD", "PASSWORD_SRP") * 2:
        assert account.login(email, "Wrong-Horse-12", factor=factor).status == 401
    for more in ({}, {"factor": "PASSWORD"}, {"factor": "PASSWORD_SRP"}):
        assert_refusal(account.login(email, PASSWORD, **more), 429, "TooManyRequestsException")
