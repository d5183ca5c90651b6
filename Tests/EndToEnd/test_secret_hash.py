"""SECRET_HASH where it belongs and where it does not: LocalPool's app clients with a secret and without one."""

import pytest
from botocore.exceptions import ClientError
from harness.account import Account, assert_refusal
from harness.cognito_client import cognito_client, secret_hash
from harness.gateway import ADA, GRACE_UNCONFIRMED, POOL_CLIENT_ID, POOL_CLIENT_SECRET, LocalPool
from harness.process import wait_until

PUBLIC = "8local0public0client0hash"
EMAIL = ADA[0]
# Each operation that takes the hash, as its method in boto3, with an input that lacks only the client and the hash.
OPERATIONS = {
    "sign_up": {"Username": "hash@example.com", "Password": ADA[1]},
    "confirm_sign_up": {"Username": EMAIL, "ConfirmationCode": "000000"},
    "resend_confirmation_code": {"Username": GRACE_UNCONFIRMED[0]},
    "forgot_password": {"Username": EMAIL},
    "confirm_forgot_password": {"Username": EMAIL, "ConfirmationCode": "000000", "Password": ADA[1]},
    "initiate_auth": {"AuthFlow": "USER_PASSWORD_AUTH", "AuthParameters": {"USERNAME": EMAIL, "PASSWORD": ADA[1]}},
    "initiate_auth with SRP": {"AuthFlow": "USER_SRP_AUTH", "AuthParameters": {"USERNAME": EMAIL, "SRP_A": "ab" * 128}},
    "initiate_auth with a choice": {"AuthFlow": "USER_AUTH", "AuthParameters": {"USERNAME": EMAIL}},
    "initiate_auth with triggers": {"AuthFlow": "CUSTOM_AUTH", "AuthParameters": {"USERNAME": EMAIL}},
    "initiate_auth with a refresh token": {"AuthFlow": "REFRESH_TOKEN_AUTH", "AuthParameters": {"REFRESH_TOKEN": "x"}},
    "respond_to_auth_challenge": {
        "ChallengeName": "SMS_MFA",
        "Session": "s" * 30,
        "ChallengeResponses": {"USERNAME": EMAIL, "SMS_MFA_CODE": "000000"},
    },
}


@pytest.fixture(scope="module")
def hash_pool(run_directory):
    changes = {
        "more_clients": [{"id": PUBLIC}],
        "first_factors": ["EMAIL_OTP", "PASSWORD"],
        "custom_auth": [{"parameters": {"question": "Your first pet?"}, "answer": "rex"}],
        "hourly_limits": False,
    }
    pool = LocalPool(run_directory, "pool-secret-hash", changes)
    yield pool
    pool.stop()


def refusal(pool: LocalPool, operation: str, client_id: str, proof: str | None) -> str | None:
    """Cognito's error and its message; nil for success."""
    request = {"ClientId": client_id, **OPERATIONS[operation]}
    for name in ("AuthParameters", "ChallengeResponses"):
        if proof and name in request:
            request[name] = {**request[name], "SECRET_HASH": proof}
    if proof and "Username" in request:
        request["SecretHash"] = proof
    try:
        getattr(cognito_client(pool.url), operation.split()[0])(**request)
    except ClientError as error:
        return f"{error.response['Error']['Code']}: {error.response['Error']['Message']}"
    return None


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_client_without_a_secret_must_not_send_the_hash(hash_pool, operation):
    """Cognito's text is known from developers who have met it: AWS documents only that such a client needs no hash."""
    proof = secret_hash(EMAIL, PUBLIC, POOL_CLIENT_SECRET)
    message = f"App client {PUBLIC} is not configured for secret but secret hash was received"
    assert refusal(hash_pool, operation, PUBLIC, proof) == f"InvalidParameterException: {message}"
    without = refusal(hash_pool, operation, PUBLIC, None)
    assert without is None or "secret" not in without.lower()


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_client_with_a_secret_must_send_it(hash_pool, operation):
    message = f"Client {POOL_CLIENT_ID} is configured with secret but SECRET_HASH was not received"
    assert refusal(hash_pool, operation, POOL_CLIENT_ID, None) == f"NotAuthorizedException: {message}"


def test_a_secret_for_a_client_without_one_is_an_error_of_the_settings(start_gateway, hash_pool, ledger):
    """And no wrong password of the user's."""
    settings = {
        "issuers": {"pool": {"client_ids": [PUBLIC]}},
        "sign_in": {"cognito": hash_pool.sign_in_settings("pool", client_id=PUBLIC)},
        "direct_cognito": {"mode": "translate"},
        "account_limits": {"lockout": {"after": 1, "first": "10m"}},
    }
    gateway = start_gateway(settings, pool=hash_pool)
    account = Account(gateway.port, ledger)
    calls = {
        "login": {"email": EMAIL, "password": ADA[1]},
        "forgot-password": {"email": EMAIL},
        "resend-code": {"email": EMAIL},
        "register": {"email": "hash@example.com", "password": ADA[1]},
        "confirm": {"email": EMAIL, "code": "000000"},
        "reset-password": {"email": EMAIL, "code": "000000", "new_password": ADA[1]},
    }
    for call, body in calls.items():
        # Twice: it counts as no guess.
        for _ in range(2):
            assert_refusal(account.post(call, body), 503, "IdentityProviderUnavailableException")
    with pytest.raises(ClientError) as translated:
        cognito_client(gateway.url).forgot_password(ClientId=PUBLIC, Username=EMAIL)
    assert translated.value.response["ResponseMetadata"]["HTTPStatusCode"] == 503
    named = lambda: gateway.log().count("setting=sign_in.cognito.client_secret")
    wait_until(lambda: named() == 2 * len(calls) + 1, "the setting, once for each call")
    # The client that has the secret is good, whatever hash an app sends.
    client = {"client_ids": [PUBLIC, POOL_CLIENT_ID]}
    gateway.reload({"issuers": {"pool": client}, "sign_in": {"cognito": {"client_id": POOL_CLIENT_ID}}})
    assert account.login(*ADA).status == 200
    cognito_client(gateway.url).forgot_password(ClientId=POOL_CLIENT_ID, Username=EMAIL, SecretHash="x" * 44)
