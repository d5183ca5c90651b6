"""A new password ends the user's other sessions: their access tokens, and their refresh tokens, also at Cognito."""

import time
from dataclasses import dataclass

import jwt
import pytest
from botocore.exceptions import ClientError
from harness import raw
from harness.account import Account, assert_refusal, bearer
from harness.cognito_client import cognito_client, secret_hash
from harness.gateway import ADA, POOL_CLIENT_ID, POOL_CLIENT_SECRET, Gateway, LocalPool
from harness.local_pool_control import control
from harness.pool_users import add_user, open_refresh_tokens
from harness.process import wait_until
from harness.user import new_email

NEXT = "Next-Horse-22"


@pytest.fixture(scope="module")
def pools(run_directory):
    """One that rotates refresh tokens, and one that does not."""
    pools = {
        rotates: LocalPool(run_directory, f"new-password-{rotates}", {"rotation": {"enabled": rotates}})
        for rotates in (False, True)
    }
    yield pools
    for pool in pools.values():
        pool.stop()


@pytest.fixture
def pool(pools, request) -> LocalPool:
    return pools[getattr(request, "param", False)]


@pytest.fixture(scope="module")
def early(pools):
    """Users for the tests by pool, each with a session of an app that signed in before there were any other."""
    numbers = {False: 6, True: 2}
    users = {pools[rotates].url: [early_user(pools[rotates]) for _ in range(numbers[rotates])] for rotates in pools}
    # A sign-in in the very second of the change is not meant by it, unless the gateway has it on record.
    tokens = [session["AccessToken"] for each in users.values() for _, session in each]
    last = max(jwt.decode(token, options={"verify_signature": False})["auth_time"] for token in tokens)
    wait_until(lambda: time.time() >= last + 2, "two seconds after the sign-ins")
    return users


def early_user(pool: LocalPool) -> tuple[str, dict]:
    email = new_email()
    add_user(pool, email, ADA[0])
    proof = secret_hash(email, POOL_CLIENT_ID, POOL_CLIENT_SECRET)
    parameters = {"USERNAME": email, "PASSWORD": ADA[1], "SECRET_HASH": proof}
    answer = cognito_client(pool.url).initiate_auth(
        ClientId=POOL_CLIENT_ID, AuthFlow="USER_PASSWORD_AUTH", AuthParameters=parameters
    )
    return email, answer["AuthenticationResult"]


@pytest.fixture
def gateway(start_gateway, pool, ledger, own_recorder, request):
    ledger.note(ADA[1], NEXT)
    changes = {
        "direct_cognito": {"mode": "translate"},
        "routes": [{"name": "mine", "path": "/recorded/**", "issuers": ["pool"], "upstream": "recorder"}],
        "sign_in": {"cognito": getattr(request, "param", {})},
    }
    return start_gateway(changes, pool=pool)


@dataclass
class User:
    """A user with three sessions: two of the gateway's API, and one of an app that calls Cognito through it."""

    gateway: Gateway
    account: Account
    email: str
    own: dict
    other: dict
    translated: dict

    def passes(self, token: str) -> bool:
        status = raw.exchange(self.gateway.port, "GET", "/recorded/x", bearer(token)).status
        assert status in (200, 401)
        return status == 200

    def refresh_translated(self) -> None:
        cognito_client(self.gateway.url).get_tokens_from_refresh_token(
            ClientId=POOL_CLIENT_ID, RefreshToken=self.translated["RefreshToken"]
        )

    def assert_ended(self, session: dict) -> None:
        assert not self.passes(session["access_token"])
        assert_refusal(self.account.refresh(session["refresh_token"]), 401, "TokenRefreshException")

    def assert_translated_ended(self) -> None:
        assert not self.passes(self.translated["AccessToken"])
        with pytest.raises(ClientError, match="Refresh Token has been revoked"):
            self.refresh_translated()


@pytest.fixture
def user(gateway, pool, early, ledger):
    email, translated = early[pool.url].pop()
    ledger.note(translated["AccessToken"], translated["IdToken"], translated["RefreshToken"])
    account = Account(gateway.port, ledger)
    own, other = (account.login(email, ADA[1]).json() for _ in range(2))
    return User(gateway, account, email, own, other, translated)


def reset(user: User, pool: LocalPool) -> dict:
    assert user.account.post("forgot-password", {"email": user.email}).status == 202
    return {"email": user.email, "code": pool.confirmation_code(user.email), "new_password": NEXT}


def change(user: User) -> raw.Response:
    body = {"current_password": ADA[1], "new_password": NEXT}
    return user.account.post("change-password", body, user.own["access_token"])


@pytest.mark.parametrize("pool", [False, True], indirect=True, ids=["steady", "rotating"])
def test_a_change_ends_all_sessions_but_the_own(user, pool):
    assert change(user).status == 204
    user.assert_ended(user.other)
    user.assert_translated_ended()
    assert user.passes(user.own["access_token"])
    refreshed = user.account.refresh(user.own["refresh_token"])
    assert refreshed.status == 200
    assert user.passes(refreshed.json()["access_token"])
    assert open_refresh_tokens(pool, user.email) == 1, "the own one"
    assert user.account.login(user.email, NEXT).status == 200


@pytest.mark.parametrize("pool", [False, True], indirect=True, ids=["steady", "rotating"])
def test_a_reset_ends_all_sessions(user, pool):
    assert user.account.post("reset-password", reset(user, pool)).status == 204
    user.assert_ended(user.own)
    user.assert_ended(user.other)
    user.assert_translated_ended()
    assert open_refresh_tokens(pool, user.email) == 0
    signed_in = user.account.login(user.email, NEXT).json()
    assert user.passes(signed_in["access_token"])
    assert user.account.refresh(signed_in["refresh_token"]).status == 200


def test_translated_calls_end_the_sessions_too(user, pool):
    client = cognito_client(user.gateway.url)
    client.change_password(
        AccessToken=user.translated["AccessToken"], PreviousPassword=ADA[1], ProposedPassword=NEXT
    )
    user.assert_ended(user.own)
    user.assert_ended(user.other)
    assert user.passes(user.translated["AccessToken"])
    again = user.account.login(user.email, NEXT).json()
    body = reset(user, pool)
    client.confirm_forgot_password(
        ClientId=POOL_CLIENT_ID, Username=user.email, ConfirmationCode=body["code"], Password=ADA[1]
    )
    user.assert_ended(again)
    user.assert_translated_ended()


@pytest.mark.parametrize("gateway", [{"end_sessions_on_password_change": False}], indirect=True)
def test_sessions_go_on_where_the_setting_says_so(user, pool):
    assert change(user).status == 204
    assert user.account.post("reset-password", reset(user, pool) | {"new_password": ADA[1]}).status == 204
    for session in (user.own, user.other):
        assert user.passes(session["access_token"])
        assert user.account.refresh(session["refresh_token"]).status == 200
    assert user.passes(user.translated["AccessToken"])
    user.refresh_translated()


def test_a_failure_at_cognito_is_in_the_log_and_fails_no_call(user, pool):
    fault = {"operation": "RevokeToken", "error": "InternalErrorException", "status": 500}
    control(pool, "POST", "faults", [fault])
    try:
        assert change(user).status == 204
    finally:
        control(pool, "DELETE", "faults")
    user.assert_ended(user.other)
    wait_until(
        lambda: "sessions that ended with a new password continue at Cognito" in user.gateway.log(), "the warning"
    )


def test_the_end_outlasts_a_restart(user, pool, ledger):
    assert change(user).status == 204
    user.gateway.stop()
    user.gateway = Gateway(user.gateway.config_path.parent, "gateway", user.gateway.config)
    try:
        user.account = Account(user.gateway.port, ledger)
        user.assert_ended(user.other)
        user.assert_translated_ended()
        assert user.passes(user.own["access_token"])
        # The gateway knows from before that the name is this user's.
        assert user.account.post("reset-password", reset(user, pool)).status == 204
        user.assert_ended(user.own)
    finally:
        user.gateway.stop()
