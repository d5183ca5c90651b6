"""A password that a user sets at sign-in, after an administrator's reset, ends the sessions from before."""

import boto3
import pytest
from harness import raw
from harness.account import Account, assert_refusal, bearer
from harness.cognito_client import cognito_client, secret_hash
from harness.gateway import POOL_CLIENT_ID, POOL_CLIENT_SECRET, POOL_ID, LocalPool
from harness.pool_users import open_refresh_tokens
from harness.user import PASSWORD, confirmed_user

KEY = {"access_key_id": "AKIDEXAMPLE", "secret_access_key": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}
TEMPORARY, NEXT = "Temporary-Horse-1", "Next-Horse-23"


@pytest.fixture(scope="module")
def pool(run_directory, ledger):
    ledger.note(KEY["secret_access_key"])
    pool = LocalPool(run_directory, "new-password-at-sign-in", {"administrator": KEY})
    yield pool
    pool.stop()


@pytest.fixture
def gateway(start_gateway, pool, ledger):
    ledger.note(TEMPORARY, NEXT)
    changes = {
        "direct_cognito": {"mode": "translate"},
        "routes": [{"name": "mine", "path": "/recorded/**", "issuers": ["pool"], "upstream": "recorder"}],
    }
    return start_gateway(changes, pool=pool)


@pytest.fixture
def account(gateway, ledger) -> Account:
    return Account(gateway.port, ledger)


def reset(pool: LocalPool, email: str) -> None:
    credentials = {"aws_access_key_id": KEY["access_key_id"], "aws_secret_access_key": KEY["secret_access_key"]}
    admin = boto3.client("cognito-idp", region_name="eu-central-1", endpoint_url=pool.url, **credentials)
    admin.admin_set_user_password(UserPoolId=POOL_ID, Username=email, Password=TEMPORARY, Permanent=False)


def by_the_api(account: Account, email: str) -> tuple[str, str]:
    asked = account.login(email, TEMPORARY).json()
    assert asked["challenge"] == "NEW_PASSWORD_REQUIRED"
    answer = account.answer_challenge(asked, new_password=NEXT)
    assert answer.status == 200, answer.body
    return answer.json()["access_token"], answer.json()["refresh_token"]


def by_translated_calls(account: Account, email: str, url: str, ledger) -> tuple[str, str]:
    client = cognito_client(url)
    hashed = {"SECRET_HASH": secret_hash(email, POOL_CLIENT_ID, POOL_CLIENT_SECRET)}
    asked = client.initiate_auth(
        ClientId=POOL_CLIENT_ID,
        AuthFlow="USER_PASSWORD_AUTH",
        AuthParameters={"USERNAME": email, "PASSWORD": TEMPORARY, **hashed},
    )
    assert asked["ChallengeName"] == "NEW_PASSWORD_REQUIRED"
    result = client.respond_to_auth_challenge(
        ClientId=POOL_CLIENT_ID,
        ChallengeName="NEW_PASSWORD_REQUIRED",
        Session=asked["Session"],
        ChallengeResponses={"USERNAME": email, "NEW_PASSWORD": NEXT, **hashed},
    )["AuthenticationResult"]
    ledger.note(result["AccessToken"], result["IdToken"], result["RefreshToken"])
    return result["AccessToken"], result["RefreshToken"]


@pytest.mark.parametrize("way", ["api", "translated"])
def test_a_new_password_at_sign_in_ends_earlier_sessions(account, gateway, pool, own_recorder, ledger, way):
    email = confirmed_user(account, pool)
    earlier = [account.login(email, PASSWORD).json() for _ in range(2)]
    reset(pool, email)
    if way == "api":
        access, _ = by_the_api(account, email)
    else:
        access, _ = by_translated_calls(account, email, gateway.url, ledger)
    for session in earlier:
        assert raw.exchange(gateway.port, "GET", "/recorded/x", bearer(session["access_token"])).status == 401
        assert_refusal(account.refresh(session["refresh_token"]), 401, "TokenRefreshException")
    assert raw.exchange(gateway.port, "GET", "/recorded/x", bearer(access)).status == 200
    assert open_refresh_tokens(pool, email) == 1, "that of the sign-in with the new password"
