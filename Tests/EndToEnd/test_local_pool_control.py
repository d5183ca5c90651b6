"""LocalPool's own endpoints: keys rotate, trouble comes as ordered, and what was asked is counted."""

import http.client
import json
import urllib.request

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError
from harness.cognito_client import cognito_client, secret_hash
from harness.gateway import ADA, POOL_CLIENT_ID, POOL_CLIENT_SECRET, LocalPool
from harness.local_pool_control import control


@pytest.fixture(scope="module")
def own_pool(run_directory):
    pool = LocalPool(run_directory, "control-pool", {"rotation": {"enabled": True}})
    yield pool
    pool.stop()


@pytest.fixture(autouse=True)
def quiet(own_pool):
    control(own_pool, "DELETE", "faults")
    control(own_pool, "DELETE", "calls")


def sign_in(pool: LocalPool) -> dict:
    hashed = secret_hash(ADA[0], POOL_CLIENT_ID, POOL_CLIENT_SECRET)
    return cognito_client(pool.url).initiate_auth(
        ClientId=POOL_CLIENT_ID,
        AuthFlow="USER_PASSWORD_AUTH",
        AuthParameters={"USERNAME": ADA[0], "PASSWORD": ADA[1], "SECRET_HASH": hashed},
    )["AuthenticationResult"]


def refresh(pool: LocalPool, token: str) -> dict:
    return cognito_client(pool.url).get_tokens_from_refresh_token(
        RefreshToken=token, ClientId=POOL_CLIENT_ID, ClientSecret=POOL_CLIENT_SECRET
    )["AuthenticationResult"]


def key_ids(pool: LocalPool) -> list[str]:
    with urllib.request.urlopen(pool.jwks_url, timeout=5) as answer:
        return [key["kid"] for key in json.loads(answer.read())["keys"]]


def test_keys_rotate(own_pool):
    before = key_ids(own_pool)
    control(own_pool, "POST", "keys/rotate", {"keep_old": True})
    after = key_ids(own_pool)
    assert len(after) == 4 and set(before) < set(after)
    control(own_pool, "POST", "keys/rotate", {"keep_old": False})
    assert len(key_ids(own_pool)) == 2 and not set(key_ids(own_pool)) & set(after)


def test_an_error_on_order(own_pool):
    order = [{"operation": "InitiateAuth", "times": 1, "error": "TooManyRequestsException", "message": "Slow down."}]
    control(own_pool, "POST", "faults", order)
    with pytest.raises(ClientError) as refused:
        sign_in(own_pool)
    assert refused.value.response["Error"]["Code"] == "TooManyRequestsException"
    assert sign_in(own_pool)["AccessToken"]
    assert control(own_pool, "GET", "calls")["counts"] == {"InitiateAuth": 2}


def test_an_answer_lost_after_the_token_was_rotated(own_pool):
    token = sign_in(own_pool)["RefreshToken"]
    control(own_pool, "POST", "faults", [{"operation": "GetTokensFromRefreshToken", "times": 1, "drop": "after"}])
    with pytest.raises(ConnectionClosedError):
        refresh(own_pool, token)
    with pytest.raises(ClientError) as refused:
        refresh(own_pool, token)
    assert refused.value.response["Error"]["Code"] == "RefreshTokenReuseException"


def test_a_connection_lost_before_anything_was_done(own_pool):
    token = sign_in(own_pool)["RefreshToken"]
    control(own_pool, "POST", "faults", [{"operation": "GetTokensFromRefreshToken", "times": 1, "drop": "before"}])
    with pytest.raises(ConnectionClosedError):
        refresh(own_pool, token)
    assert refresh(own_pool, token)["RefreshToken"]


def test_half_a_key_set(own_pool):
    control(own_pool, "POST", "faults", [{"operation": "JWKS", "times": 1, "drop": "mid_answer"}])
    with pytest.raises(http.client.IncompleteRead):
        key_ids(own_pool)
    assert key_ids(own_pool)
