"""A user who sets a new password gets rid of whoever has a session, and nobody can pass for another user by a name."""

import time

import jwt
import pytest
from harness import raw
from harness.account import Account, bearer
from harness.cognito_client import cognito_client, secret_hash
from harness.cognito_front import CognitoFront
from harness.gateway import ADA, POOL_CLIENT_ID, POOL_CLIENT_SECRET, Gateway, LocalPool, gateway_config
from harness.hosted import PREFIX, App, Browser, hosted_pool, hosted_settings
from harness.pool_users import add_user
from harness.process import free_port, wait_until
from harness.user import PASSWORD, confirmed_user, new_email

FORMER = "9former0client000000000000"
NEXT = "Next-Horse-22"
ROUTES = [{"name": "mine", "path": "/recorded/**", "issuers": ["pool"], "upstream": "recorder"}]


def passes(gateway: Gateway, token: str) -> bool:
    status = raw.exchange(gateway.port, "GET", "/recorded/x", bearer(token)).status
    assert status in (200, 401)
    return status == 200


def wait_past(access_token: str) -> None:
    """A sign-in in the very second of the new password is not meant by it, unless it is on record."""
    signed_in = jwt.decode(access_token, options={"verify_signature": False})["auth_time"]
    wait_until(lambda: time.time() >= signed_in + 2, "two seconds after the sign-in")


def reset(account: Account, pool: LocalPool, email: str) -> None:
    assert account.post("forgot-password", {"email": email}).status == 202
    code = pool.confirmation_code(email)
    answer = account.post("reset-password", {"email": email, "code": code, "new_password": NEXT})
    assert answer.status == 204, answer.body


@pytest.fixture(scope="module")
def pool(run_directory):
    pool = LocalPool(run_directory, "takeover-names", {"more_clients": [{"id": FORMER}]})
    yield pool
    pool.stop()


@pytest.fixture
def gateway(start_gateway, pool, ledger, own_recorder):
    ledger.note(ADA[1], NEXT)
    cognito = pool.sign_in_settings("pool", take_over_sessions={"client_ids": [FORMER]})
    changes = {
        "issuers": {"pool": {"client_ids": [POOL_CLIENT_ID, FORMER]}}, "sign_in": {"cognito": cognito},
        "routes": ROUTES, "direct_cognito": "translate",
    }
    return start_gateway(changes, pool=pool)


def test_a_reset_ends_a_session_that_was_taken_over(gateway, pool, ledger):
    """Its user has never signed in here."""
    account, email = Account(gateway.port, ledger), new_email()
    add_user(pool, email, ADA[0])
    released = cognito_client(pool.url).initiate_auth(
        ClientId=FORMER, AuthFlow="USER_PASSWORD_AUTH", AuthParameters={"USERNAME": email, "PASSWORD": ADA[1]}
    )["AuthenticationResult"]
    session = account.refresh(released["RefreshToken"]).json()
    wait_past(session["access_token"])
    assert passes(gateway, session["access_token"])
    reset(account, pool, email)
    assert not passes(gateway, session["access_token"])
    assert account.refresh(session["refresh_token"]).status == 401


def test_a_reset_ends_a_session_that_only_ever_refreshed_by_a_direct_call(gateway, pool, ledger):
    account, email = Account(gateway.port, ledger), new_email()
    add_user(pool, email, ADA[0])
    proof = secret_hash(email, POOL_CLIENT_ID, POOL_CLIENT_SECRET)
    early = cognito_client(pool.url).initiate_auth(
        ClientId=POOL_CLIENT_ID, AuthFlow="USER_PASSWORD_AUTH",
        AuthParameters={"USERNAME": email, "PASSWORD": ADA[1], "SECRET_HASH": proof},
    )["AuthenticationResult"]
    refreshed = cognito_client(gateway.url).get_tokens_from_refresh_token(
        ClientId=POOL_CLIENT_ID, RefreshToken=early["RefreshToken"]
    )["AuthenticationResult"]
    wait_past(refreshed["AccessToken"])
    assert passes(gateway, refreshed["AccessToken"])
    reset(account, pool, email)
    assert not passes(gateway, refreshed["AccessToken"])


def test_an_address_that_is_not_proven_names_nobody(run_directory, issuer, ledger, own_recorder):
    """An identity provider says that the attacker has the victim's address."""
    port = free_port()
    pool = LocalPool(run_directory, "takeover-hosted", hosted_pool(port))
    directory = run_directory / "takeover-hosted-gateway"
    directory.mkdir()
    cognito = {**pool.sign_in_settings("pool"), "hosted": hosted_settings(pool, port)}
    changes = {"listeners": [{"address": f"127.0.0.1:{port}"}], "sign_in": {"cognito": cognito}}
    gateway = Gateway(
        directory, "gateway", gateway_config(directory, "http://127.0.0.1:1", issuer.server.url, None, pool, changes)
    )
    browser = Browser()
    try:
        account, victim = Account(gateway.port, ledger), new_email()
        ledger.note(ADA[1], NEXT)
        add_user(pool, victim, ADA[0])
        stolen = account.login(victim, ADA[1]).json()
        app = App(gateway.url + PREFIX)
        page = browser.go(app.authorize_url(identity_provider="Google"))
        shown = browser.fill_in(page, "unverified", user_id="666", email=victim, name="Eve")
        attacker = app.redeem(app.code(shown)).json()
        assert attacker["user"]["email"] == victim and attacker["user"]["email_verified"] is False
        wait_past(attacker["access_token"])
        reset(account, pool, victim)
        assert account.me(stolen["access_token"]).status == 401
        assert account.refresh(stolen["refresh_token"]).status == 401
        assert account.me(attacker["access_token"]).status == 200
    finally:
        browser.close()
        gateway.stop()
        pool.stop()


# MARK: A pool's own challenges

MANY = {"address": "10000/1m", "account": "10000/1m", "global": "100000/1m"}
ASKED_AGAIN = {
    "ChallengeName": "CUSTOM_CHALLENGE", "Session": "s" * 40,
    "ChallengeParameters": {"question": "Your first pet?", "USERNAME": "x"},
}


@pytest.fixture(scope="module")
def custom_pool(run_directory):
    pool = LocalPool(
        run_directory, "takeover-custom",
        {"custom_auth": [{"parameters": {"question": "Your first pet?"}, "answer": "rex"}], "hourly_limits": False},
    )
    yield pool
    pool.stop()


@pytest.fixture
def front(custom_pool):
    front = CognitoFront(custom_pool.url)
    yield front
    front.stop()


def custom_gateway(start_gateway, pool: LocalPool, front: CognitoFront, **limits) -> Gateway:
    cognito = pool.sign_in_settings("pool", endpoint=front.url, custom_auth=True)
    return start_gateway({"sign_in": {"cognito": cognito}, "account_limits": {"sign_in": MANY, **limits}}, pool=pool)


@pytest.mark.parametrize("trigger", ["asks again", "fails"])
def test_wrong_answers_lock_the_account(start_gateway, custom_pool, front, ledger, trigger):
    """AWS's own sample asks again after a wrong answer; other triggers fail."""
    gateway = custom_gateway(start_gateway, custom_pool, front, messages=MANY, lockout={"after": 5, "first": "10m"})
    account = Account(gateway.port, ledger)
    email = confirmed_user(account, custom_pool)
    if trigger == "asks again":
        front.outputs["RespondToAuthChallenge"] = ASKED_AGAIN
    else:
        front.refused["RespondToAuthChallenge"] = (
            400, "UserLambdaValidationException", "VerifyAuthChallengeResponse failed with error no."
        )
    for _ in range(5):
        asked = account.post("login", {"email": email, "factor": "CUSTOM"}).json()
        answer = account.answer_challenge(asked, answer="wrong")
        assert answer.status == (202 if trigger == "asks again" else 403), answer.body
    front.outputs.clear()
    front.refused.clear()
    assert account.post("login", {"email": email, "factor": "CUSTOM"}).status == 429
    assert account.login(email, PASSWORD).status == 429


def test_a_right_answer_forgets_the_questions_before(start_gateway, custom_pool, front, ledger):
    gateway = custom_gateway(start_gateway, custom_pool, front, messages=MANY, lockout={"after": 3, "first": "10m"})
    account = Account(gateway.port, ledger)
    email = confirmed_user(account, custom_pool)
    for _ in range(3):
        asked = account.post("login", {"email": email, "factor": "CUSTOM"}).json()
        front.outputs["RespondToAuthChallenge"] = ASKED_AGAIN
        for _ in range(2):
            assert account.answer_challenge(asked, answer="first").status == 202
        front.outputs.clear()
        assert account.answer_challenge(asked, answer="rex").status == 200


def test_custom_challenges_are_in_the_budget_of_messages(start_gateway, custom_pool, front, ledger):
    few = {**MANY, "account": "3/1h"}
    gateway = custom_gateway(start_gateway, custom_pool, front, messages=few)
    account = Account(gateway.port, ledger)
    email = new_email()
    add_user(custom_pool, email, ADA[0])
    answers = [account.post("login", {"email": email, "factor": "CUSTOM"}).status for _ in range(5)]
    assert answers == [202, 202, 202, 429, 429]
    assert front.operations().count("InitiateAuth") == 3
