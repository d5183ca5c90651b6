"""Issue item "LocalPool": boto3, an independent client, finds a Cognito there."""

import contextlib
import json
import socket
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import jwt
import pytest
from botocore.exceptions import ClientError
from harness import raw
from harness.account import bearer
from harness.cognito_client import cognito_client, secret_hash
from harness.gateway import ADA, GRACE_UNCONFIRMED, POOL_CLIENT_ID, POOL_CLIENT_SECRET, LocalPool

PASSWORD = "Brand-New-Horse-9"


@pytest.fixture(scope="module")
def client(pool):
    return cognito_client(pool.url)


@pytest.fixture
def email() -> str:
    return f"user-{time.time_ns()}@example.com"


def hash_of(username: str) -> str:
    return secret_hash(username, POOL_CLIENT_ID, POOL_CLIENT_SECRET)


def sign_up(client, email: str, password: str = PASSWORD, **changes):
    return client.sign_up(
        **{
            "ClientId": POOL_CLIENT_ID,
            "SecretHash": hash_of(email),
            "Username": email,
            "Password": password,
            "UserAttributes": [{"Name": "email", "Value": email}, {"Name": "name", "Value": "New Person"}],
            **changes,
        }
    )


def password_auth(client, username: str, password: str, **changes) -> dict:
    parameters = {"USERNAME": username, "PASSWORD": password, "SECRET_HASH": hash_of(username), **changes}
    return client.initiate_auth(
        ClientId=POOL_CLIENT_ID,
        AuthFlow="USER_PASSWORD_AUTH",
        AuthParameters={name: value for name, value in parameters.items() if value is not None},
    )["AuthenticationResult"]


def refused(call, *arguments, **named) -> tuple[str, str]:
    """The error's code and message; fails when the call succeeds."""
    with pytest.raises(ClientError) as caught:
        call(*arguments, **named)
    error = caught.value.response["Error"]
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    return error["Code"], error["Message"]


def test_a_user_signs_up_confirms_and_signs_in(client, pool, email, ledger):
    ledger.note(PASSWORD)
    answer = sign_up(client, email)
    assert answer["UserConfirmed"] is False
    assert answer["CodeDeliveryDetails"]["DeliveryMedium"] == "EMAIL"
    assert email not in answer["CodeDeliveryDetails"]["Destination"]
    assert refused(password_auth, client, email, PASSWORD)[0] == "UserNotConfirmedException"

    confirm = {"ClientId": POOL_CLIENT_ID, "Username": email, "SecretHash": hash_of(email)}
    code = pool.confirmation_code(email)
    wrong = f"{(int(code) + 1) % 1_000_000:06d}"
    assert refused(client.confirm_sign_up, **confirm, ConfirmationCode=wrong)[0] == "CodeMismatchException"
    client.confirm_sign_up(**confirm, ConfirmationCode=code)

    tokens = password_auth(client, email, PASSWORD)
    user = client.get_user(AccessToken=tokens["AccessToken"])
    attributes = {attribute["Name"]: attribute["Value"] for attribute in user["UserAttributes"]}
    assert attributes["sub"] == answer["UserSub"]
    assert (attributes["email"], attributes["email_verified"], attributes["name"]) == (email, "true", "New Person")


def test_a_taken_address_is_refused(client, email):
    sign_up(client, email)
    assert refused(sign_up, client, email)[0] == "UsernameExistsException"


@pytest.mark.parametrize("password", ["short1A", "x"], ids=["too-short", "one-letter"])
def test_the_password_policy_holds(client, email, password):
    assert refused(sign_up, client, email, password)[0] == "InvalidPasswordException"


def test_tokens_are_signed_with_two_keys_and_verify_with_the_published_set(client, pool):
    tokens = password_auth(client, *ADA)
    with urllib.request.urlopen(pool.jwks_url, timeout=5) as answer:
        keys = {key["kid"]: jwt.PyJWK(key) for key in json.loads(answer.read())["keys"]}
    kids = {use: jwt.get_unverified_header(tokens[use])["kid"] for use in ("AccessToken", "IdToken")}
    assert kids["AccessToken"] != kids["IdToken"] and set(kids.values()) <= keys.keys()

    issuer = pool.issuer_settings()["issuer"]
    access = jwt.decode(tokens["AccessToken"], keys[kids["AccessToken"]], algorithms=["RS256"], issuer=issuer)
    assert (access["token_use"], access["client_id"], "aud" in access) == ("access", POOL_CLIENT_ID, False)
    assert access["cognito:groups"] == ["beta"]
    identity = jwt.decode(
        tokens["IdToken"], keys[kids["IdToken"]], algorithms=["RS256"], issuer=issuer, audience=POOL_CLIENT_ID
    )
    assert (identity["token_use"], identity["email"], identity["email_verified"]) == ("id", ADA[0], True)
    assert identity["sub"] == access["sub"] and identity["cognito:username"] == access["username"]


def test_wrong_credentials(client):
    wrong = refused(password_auth, client, ADA[0], "Wrong-Horse-1")
    unknown = refused(password_auth, client, "nobody@example.com", "Wrong-Horse-1")
    assert wrong == unknown == ("NotAuthorizedException", "Incorrect username or password.")
    assert refused(password_auth, client, *GRACE_UNCONFIRMED)[0] == "UserNotConfirmedException"


def test_the_secret_hash_is_enforced(client, email):
    code, message = refused(password_auth, client, *ADA, SECRET_HASH="AAAA")
    assert code == "NotAuthorizedException" and "secret hash" in message.lower().replace("secrethash", "secret hash")
    code, message = refused(password_auth, client, *ADA, SECRET_HASH=None)
    assert code == "NotAuthorizedException" and "SECRET_HASH was not received" in message
    assert refused(sign_up, client, email, SecretHash="AAAA")[0] == "NotAuthorizedException"


def test_an_unknown_client_is_refused(client):
    assert refused(sign_up, client, "a@example.com", ClientId="nosuchclient0000000000000")[0] == "ResourceNotFoundException"


def test_refresh_hashes_the_real_username(client):
    """The trap: REFRESH_TOKEN_AUTH wants the hash over the internal username, not over the e-mail signed in with."""
    tokens = password_auth(client, *ADA)
    username = jwt.decode(tokens["AccessToken"], options={"verify_signature": False})["username"]
    assert username != ADA[0]

    def refresh(hashed: str) -> dict:
        parameters = {"REFRESH_TOKEN": tokens["RefreshToken"], "SECRET_HASH": hash_of(hashed)}
        return client.initiate_auth(
            ClientId=POOL_CLIENT_ID, AuthFlow="REFRESH_TOKEN_AUTH", AuthParameters=parameters
        )["AuthenticationResult"]

    result = refresh(username)
    assert result["AccessToken"] != tokens["AccessToken"] and "RefreshToken" not in result
    assert refused(refresh, ADA[0])[0] == "NotAuthorizedException"


def test_refresh_with_the_raw_secret(client):
    tokens = password_auth(client, *ADA)
    arguments = {"RefreshToken": tokens["RefreshToken"], "ClientId": POOL_CLIENT_ID}
    result = client.get_tokens_from_refresh_token(**arguments, ClientSecret=POOL_CLIENT_SECRET)["AuthenticationResult"]
    assert client.get_user(AccessToken=result["AccessToken"])["Username"]
    assert refused(client.get_tokens_from_refresh_token, **arguments, ClientSecret="wrong" * 8)[0] == "NotAuthorizedException"


def test_a_refresh_keeps_the_time_of_the_sign_in(client):
    tokens = password_auth(client, *ADA)
    result = client.get_tokens_from_refresh_token(
        RefreshToken=tokens["RefreshToken"], ClientId=POOL_CLIENT_ID, ClientSecret=POOL_CLIENT_SECRET
    )["AuthenticationResult"]
    before, after = (
        jwt.decode(token, options={"verify_signature": False}) for token in (tokens["AccessToken"], result["AccessToken"])
    )
    assert before["auth_time"] == after["auth_time"] and before["origin_jti"] == after["origin_jti"]
    assert before["jti"] != after["jti"]


def test_a_made_up_refresh_token_is_refused(client):
    assert refused(
        client.get_tokens_from_refresh_token,
        RefreshToken="made-up",
        ClientId=POOL_CLIENT_ID,
        ClientSecret=POOL_CLIENT_SECRET,
    )[0] == "NotAuthorizedException"


def test_a_bad_access_token_is_refused(client):
    assert refused(client.get_user, AccessToken="no.such.token")[0] == "NotAuthorizedException"


def test_an_operation_that_is_not_there_is_refused(client):
    assert refused(client.list_user_pools, MaxResults=1)[0] == "UnknownOperationException"


def test_errors_have_cognitos_shape(pool):
    headers = {
        "X-Amz-Target": "AWSCognitoIdentityProviderService.GetUser",
        "Content-Type": "application/x-amz-json-1.1",
    }
    response = raw.exchange(pool.port, "POST", "/", headers, b'{"AccessToken":"x"}')
    assert response.status == 400
    assert response.header("content-type") == "application/x-amz-json-1.1"
    assert response.header("x-amzn-errortype") == "NotAuthorizedException:"
    assert response.header("x-amzn-requestid")
    assert set(response.json()) == {"__type", "message"}


def test_a_users_state_outlives_the_pool(run_directory):
    first = LocalPool(run_directory, "lasting-pool")
    try:
        refresh_token = password_auth(cognito_client(first.url), *ADA)["RefreshToken"]
    finally:
        first.stop()
    second = LocalPool(run_directory, "lasting-pool")
    try:
        arguments = {"ClientId": POOL_CLIENT_ID, "ClientSecret": POOL_CLIENT_SECRET}
        assert cognito_client(second.url).get_tokens_from_refresh_token(RefreshToken=refresh_token, **arguments)
    finally:
        second.stop()


def test_the_gateway_accepts_what_boto3_signed_in(client, gateway):
    tokens = password_auth(client, *ADA)
    for use in ("AccessToken", "IdToken"):
        assert raw.exchange(gateway.port, "GET", "/api/v1/whoami", bearer(tokens[use])).status == 200


def test_a_pool_that_is_stopped_while_clients_connect_ends_in_good_order(run_directory):
    """A connection that was accepted, and that nobody had begun to serve, was a crash."""

    def connect(port: int) -> None:
        with contextlib.suppress(OSError):
            while True:
                socket.create_connection(("127.0.0.1", port), timeout=5).close()

    for number in range(3):
        stopped = LocalPool(run_directory, f"stopped-pool-{number}")
        with ThreadPoolExecutor(8) as clients:
            for _ in range(8):
                clients.submit(connect, stopped.port)
            assert stopped.stop() == 0
