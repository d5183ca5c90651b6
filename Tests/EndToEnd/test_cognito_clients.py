"""Independent Cognito clients live a whole account's life: boto3, the AWS command line, pycognito.

Each test takes an `Endpoint`: where to call, and what the client knows. The gateway with `direct_cognito: translate`
is one of them, with the same pool behind it and no secret: by the app client's own id, and by that of a former one.
"""

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import boto3
import pytest
from botocore.exceptions import ClientError
from harness.cognito_client import cognito_client, secret_hash
from harness.gateway import ADA, POOL_CLIENT_ID, POOL_CLIENT_SECRET, POOL_ID, Gateway, LocalPool, gateway_config
from harness.local_pool_control import advance_clock, one_time_code
from pycognito import Cognito
from pycognito.aws_srp import AWSSRP, generate_hash_device
from pycognito.exceptions import TokenVerificationException

PASSWORD = "Brand-New-Horse-9"
CHANGED = "Changed-Horse-10"
RESET = "Reset-Horse-11"
PUBLIC_CLIENT_ID = "8public0client000000000000"
ACCESS_KEY = {"access_key_id": "AKIALOCALPOOL", "secret_access_key": "end-to-end-secret-access-key"}


@dataclass
class Endpoint:
    """Where a client calls, with which client id, and the secret if the client has to know it."""

    url: str
    pool: LocalPool
    client_id: str
    secret: str | None

    def hash(self, username: str, name: str = "SecretHash") -> dict[str, str]:
        return {name: secret_hash(username, self.client_id, self.secret)} if self.secret else {}

    def raw_secret(self) -> dict[str, str]:
        return {"ClientSecret": self.secret} if self.secret else {}


@pytest.fixture(scope="module")
def own_pool(run_directory):
    changes = {
        "more_clients": [{"id": PUBLIC_CLIENT_ID}],
        "administrator": ACCESS_KEY,
        "devices": "always",
        "rotation": {"enabled": False},
    }
    pool = LocalPool(run_directory, "clients-pool", changes)
    yield pool
    pool.stop()


@pytest.fixture(scope="module")
def translating(run_directory, own_pool, shared_recorder, issuer):
    """A gateway that carries direct calls out."""
    directory = run_directory / "translating"
    changes = {
        "direct_cognito": {"mode": "translate", "client_ids": [PUBLIC_CLIENT_ID]},
        "issuers": {"pool": {"client_ids": [POOL_CLIENT_ID, PUBLIC_CLIENT_ID]}},
    }
    config = gateway_config(directory, shared_recorder.url, issuer.server.url, None, own_pool, changes)
    gateway = Gateway(directory, "gateway", config)
    yield gateway
    gateway.stop()


@pytest.fixture(scope="module", params=["secret", "public", "gateway", "gateway-former-id"])
def endpoint(request, own_pool) -> Endpoint:
    if request.param == "secret":
        return Endpoint(own_pool.url, own_pool, POOL_CLIENT_ID, POOL_CLIENT_SECRET)
    if request.param == "public":
        return Endpoint(own_pool.url, own_pool, PUBLIC_CLIENT_ID, None)
    url = request.getfixturevalue("translating").url
    return Endpoint(url, own_pool, POOL_CLIENT_ID if request.param == "gateway" else PUBLIC_CLIENT_ID, None)


@pytest.fixture
def email() -> str:
    return f"life-{time.time_ns()}@example.com"


@pytest.fixture(autouse=True)
def noted(ledger):
    ledger.note(PASSWORD, CHANGED, RESET)


def code_of(error: pytest.ExceptionInfo) -> str:
    return error.value.response["Error"]["Code"]


def test_boto3_from_sign_up_to_deletion(endpoint, email):
    client = cognito_client(endpoint.url)
    named = {"ClientId": endpoint.client_id, "Username": email, **endpoint.hash(email)}
    client.sign_up(**named, Password=PASSWORD, UserAttributes=[{"Name": "email", "Value": email}])
    first_code = endpoint.pool.confirmation_code(email)
    client.resend_confirmation_code(**named)
    code = endpoint.pool.confirmation_code(email)
    assert len(code) == 6 and first_code
    client.confirm_sign_up(**named, ConfirmationCode=code)

    def sign_in(password: str) -> dict:
        parameters = {"USERNAME": email, "PASSWORD": password, **endpoint.hash(email, "SECRET_HASH")}
        return client.initiate_auth(
            ClientId=endpoint.client_id, AuthFlow="USER_PASSWORD_AUTH", AuthParameters=parameters
        )

    tokens = sign_in(PASSWORD)["AuthenticationResult"]
    access = tokens["AccessToken"]
    client.change_password(AccessToken=access, PreviousPassword=PASSWORD, ProposedPassword=CHANGED)
    client.update_user_attributes(AccessToken=access, UserAttributes=[{"Name": "name", "Value": "Life"}])
    client.forgot_password(**named)
    client.confirm_forgot_password(**named, ConfirmationCode=endpoint.pool.confirmation_code(email), Password=RESET)

    # A second factor: an authenticator app.
    secret = client.associate_software_token(AccessToken=access)["SecretCode"]
    client.verify_software_token(AccessToken=access, UserCode=one_time_code(endpoint.pool, secret))
    client.set_user_mfa_preference(
        AccessToken=access, SoftwareTokenMfaSettings={"Enabled": True, "PreferredMfa": True}
    )
    advance_clock(endpoint.pool, 30)
    challenge = sign_in(RESET)
    assert challenge["ChallengeName"] == "SOFTWARE_TOKEN_MFA"
    username = challenge["ChallengeParameters"]["USER_ID_FOR_SRP"]
    tokens = client.respond_to_auth_challenge(
        ClientId=endpoint.client_id,
        ChallengeName="SOFTWARE_TOKEN_MFA",
        Session=challenge["Session"],
        ChallengeResponses={
            "USERNAME": username,
            "SOFTWARE_TOKEN_MFA_CODE": one_time_code(endpoint.pool, secret),
            **endpoint.hash(username, "SECRET_HASH"),
        },
    )["AuthenticationResult"]

    if not endpoint.secret:
        # As apps have always refreshed: without a user's name. With a secret it takes the hash of the real one.
        parameters = {"REFRESH_TOKEN": tokens["RefreshToken"]}
        refreshed = client.initiate_auth(
            ClientId=endpoint.client_id, AuthFlow="REFRESH_TOKEN_AUTH", AuthParameters=parameters
        )
        assert refreshed["AuthenticationResult"]["AccessToken"]

    refresh = {"RefreshToken": tokens["RefreshToken"], "ClientId": endpoint.client_id, **endpoint.raw_secret()}
    access = client.get_tokens_from_refresh_token(**refresh)["AuthenticationResult"]["AccessToken"]
    attributes = {item["Name"]: item["Value"] for item in client.get_user(AccessToken=access)["UserAttributes"]}
    assert (attributes["name"], attributes["email"], attributes["email_verified"]) == ("Life", email, "true")

    client.revoke_token(Token=tokens["RefreshToken"], ClientId=endpoint.client_id, **endpoint.raw_secret())
    with pytest.raises(ClientError) as refused:
        client.get_tokens_from_refresh_token(**refresh)
    assert code_of(refused) == "NotAuthorizedException"

    client.set_user_mfa_preference(
        AccessToken=_srp_tokens(endpoint, email, RESET, secret)["AccessToken"],
        SoftwareTokenMfaSettings={"Enabled": False},
    )
    access = sign_in(RESET)["AuthenticationResult"]["AccessToken"]
    client.global_sign_out(AccessToken=access)
    access = sign_in(RESET)["AuthenticationResult"]["AccessToken"]
    client.delete_user(AccessToken=access)
    with pytest.raises(ClientError) as refused:
        sign_in(RESET)
    assert code_of(refused) == "NotAuthorizedException"


def _srp(endpoint: Endpoint, email: str, password: str, **device) -> AWSSRP:
    return AWSSRP(
        username=email,
        password=password,
        pool_id=POOL_ID,
        client_id=endpoint.client_id,
        client_secret=endpoint.secret,
        client=cognito_client(endpoint.url),
        **device,
    )


def _srp_tokens(endpoint: Endpoint, email: str, password: str, secret: str) -> dict:
    """Tokens of a sign-in with SRP and then an authenticator app's code."""
    srp = _srp(endpoint, email, password)
    client = srp.client
    parameters = srp.get_auth_params()
    challenge = client.initiate_auth(
        AuthFlow="USER_SRP_AUTH", AuthParameters=parameters, ClientId=endpoint.client_id
    )["ChallengeParameters"]
    challenge = client.respond_to_auth_challenge(
        ClientId=endpoint.client_id,
        ChallengeName="PASSWORD_VERIFIER",
        ChallengeResponses=srp.process_challenge(challenge, parameters),
    )
    assert challenge["ChallengeName"] == "SOFTWARE_TOKEN_MFA"
    advance_clock(endpoint.pool, 30)
    username = challenge["ChallengeParameters"]["USER_ID_FOR_SRP"]
    return client.respond_to_auth_challenge(
        ClientId=endpoint.client_id,
        ChallengeName="SOFTWARE_TOKEN_MFA",
        Session=challenge["Session"],
        ChallengeResponses={
            "USERNAME": username,
            "SOFTWARE_TOKEN_MFA_CODE": one_time_code(endpoint.pool, secret),
            **endpoint.hash(username, "SECRET_HASH"),
        },
    )["AuthenticationResult"]


def test_pycognito_from_sign_up_to_deletion(endpoint, email):
    cognito = Cognito(
        POOL_ID,
        endpoint.client_id,
        username=email,
        client_secret=endpoint.secret,
        # pycognito makes the issuer and the key set's address from this.
        boto3_client_kwargs={"endpoint_url": endpoint.url, "region_name": "eu-central-1"},
        access_key="unused",
        secret_key="unused",
    )
    cognito.set_base_attributes(email=email)
    cognito.register(email, PASSWORD)
    cognito.confirm_sign_up(endpoint.pool.confirmation_code(email), email)
    tokens = _srp(endpoint, email, PASSWORD).authenticate_user()["AuthenticationResult"]
    with pytest.raises(ClientError) as refused:
        _srp(endpoint, email, "Wrong-Horse-12").authenticate_user()
    assert code_of(refused) == "NotAuthorizedException"
    cognito.access_token, cognito.id_token = tokens["AccessToken"], tokens["IdToken"]
    cognito.refresh_token = tokens["RefreshToken"]
    cognito.change_password(PASSWORD, CHANGED)
    assert _srp(endpoint, email, CHANGED).authenticate_user()["AuthenticationResult"]
    cognito.initiate_forgot_password()
    cognito.confirm_forgot_password(endpoint.pool.confirmation_code(email), RESET)
    assert _srp(endpoint, email, RESET).authenticate_user()["AuthenticationResult"]
    assert cognito.get_user().email == email
    cognito.delete_user()
    with pytest.raises(ClientError) as refused:
        _srp(endpoint, email, RESET).authenticate_user()
    assert code_of(refused) == "NotAuthorizedException"


def test_tokens_given_under_a_former_client_id_carry_the_configured_one(translating, own_pool, ledger):
    """A client that compares the audience with the id that it knows finds another one there."""
    parameters = {"USERNAME": ADA[0], "PASSWORD": ADA[1]}
    answer = cognito_client(translating.url).initiate_auth(
        ClientId=PUBLIC_CLIENT_ID, AuthFlow="USER_PASSWORD_AUTH", AuthParameters=parameters
    )
    tokens = answer["AuthenticationResult"]
    ledger.note(ADA[1], tokens["AccessToken"], tokens["IdToken"], tokens["RefreshToken"])

    def verifying(client_id: str) -> Cognito:
        return Cognito(
            POOL_ID, client_id, boto3_client_kwargs={"endpoint_url": own_pool.url, "region_name": "eu-central-1"},
            access_key="unused", secret_key="unused",
        )  # fmt: skip

    with pytest.raises(TokenVerificationException, match="Audience doesn't match"):
        verifying(PUBLIC_CLIENT_ID).verify_token(tokens["IdToken"], "id_token", "id")
    assert verifying(POOL_CLIENT_ID).verify_token(tokens["IdToken"], "id_token", "id")["aud"] == POOL_CLIENT_ID
    # It does not compare the client of access tokens.
    access = verifying(PUBLIC_CLIENT_ID).verify_token(tokens["AccessToken"], "access_token", "access")
    assert access["client_id"] == POOL_CLIENT_ID


def test_pycognito_proves_a_remembered_device(endpoint):
    """Its DEVICE_SRP_AUTH step leaves the SECRET_HASH out, so a client with a secret is refused there."""
    tokens = _srp(endpoint, *ADA).authenticate_user()["AuthenticationResult"]
    device = tokens["NewDeviceMetadata"]
    password, verifier = generate_hash_device(device["DeviceGroupKey"], device["DeviceKey"])
    cognito_client(endpoint.url).confirm_device(
        AccessToken=tokens["AccessToken"],
        DeviceKey=device["DeviceKey"],
        DeviceSecretVerifierConfig=verifier,
        DeviceName="a telephone",
    )
    srp = _srp(
        endpoint,
        *ADA,
        device_key=device["DeviceKey"],
        device_group_key=device["DeviceGroupKey"],
        device_password=password,
    )
    if endpoint.secret and endpoint.url == endpoint.pool.url:
        with pytest.raises(ClientError) as refused:
            srp.authenticate_user()
        assert "SECRET_HASH was not received" in refused.value.response["Error"]["Message"]
        return
    signed_in = srp.authenticate_user()
    assert "NewDeviceMetadata" not in signed_in["AuthenticationResult"]
    wrong = _srp(
        endpoint,
        *ADA,
        device_key=device["DeviceKey"],
        device_group_key=device["DeviceGroupKey"],
        device_password="another",
    )
    with pytest.raises(ClientError) as refused:
        wrong.authenticate_user()
    assert code_of(refused) == "NotAuthorizedException"


class CommandLine:
    """`aws cognito-idp … --endpoint-url …`, without credentials and without this machine's settings."""

    def __init__(self, url: str, directory: Path):
        self.url = url
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(directory),
            "AWS_CONFIG_FILE": str(directory / "none"),
            "AWS_SHARED_CREDENTIALS_FILE": str(directory / "none"),
            "AWS_DEFAULT_REGION": "eu-central-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def run(self, operation: str, **options: str) -> subprocess.CompletedProcess:
        # In one word each, because a token may begin with a dash.
        arguments = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
        command = [sys.executable, "-m", "awscli", "cognito-idp", operation, *arguments]
        return subprocess.run(
            [*command, "--endpoint-url", self.url, "--output", "json"],
            env=self.environment, capture_output=True, text=True, timeout=60, check=False,
        )

    def __call__(self, operation: str, **options: str) -> dict:
        result = self.run(operation, **options)
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout or "{}")


@pytest.mark.timeout(600)
def test_the_aws_command_line_from_sign_up_to_deletion(endpoint, email, run_directory):
    aws = CommandLine(endpoint.url, run_directory)
    hashed = {"secret_hash": endpoint.hash(email)["SecretHash"]} if endpoint.secret else {}
    named = {"client_id": endpoint.client_id, "username": email, **hashed}
    assert aws("sign-up", **named, password=PASSWORD)["UserConfirmed"] is False
    aws("confirm-sign-up", **named, confirmation_code=endpoint.pool.confirmation_code(email))
    parameters = {"USERNAME": email, "PASSWORD": PASSWORD, **endpoint.hash(email, "SECRET_HASH")}
    sign_in = {
        "client_id": endpoint.client_id,
        "auth_flow": "USER_PASSWORD_AUTH",
        "auth_parameters": json.dumps(parameters),
    }
    tokens = aws("initiate-auth", **sign_in)["AuthenticationResult"]
    secret = {"client_secret": endpoint.secret} if endpoint.secret else {}
    refreshed = aws(
        "get-tokens-from-refresh-token",
        refresh_token=tokens["RefreshToken"],
        client_id=endpoint.client_id,
        **secret,
    )["AuthenticationResult"]
    access = refreshed["AccessToken"]
    aws("change-password", access_token=access, previous_password=PASSWORD, proposed_password=CHANGED)
    user = aws("get-user", access_token=access)
    assert {"Name": "email", "Value": email} in user["UserAttributes"]
    aws("delete-user", access_token=access)
    refused = aws.run("initiate-auth", **sign_in)
    assert refused.returncode != 0 and "NotAuthorizedException" in refused.stderr


def administrator(pool: LocalPool, secret: str = ACCESS_KEY["secret_access_key"]):
    """boto3 with an access key, so that it signs."""
    return boto3.client(
        "cognito-idp",
        region_name="eu-central-1",
        endpoint_url=pool.url,
        aws_access_key_id=ACCESS_KEY["access_key_id"],
        aws_secret_access_key=secret,
    )


def test_boto3_as_administrator(own_pool, email):
    client = administrator(own_pool)
    named = {"UserPoolId": POOL_ID, "Username": email}
    client.admin_create_user(**named, TemporaryPassword=PASSWORD, MessageAction="SUPPRESS")
    hashed = {"SECRET_HASH": secret_hash(email, POOL_CLIENT_ID, POOL_CLIENT_SECRET)}

    def sign_in(password: str) -> dict:
        return client.admin_initiate_auth(
            UserPoolId=POOL_ID,
            ClientId=POOL_CLIENT_ID,
            AuthFlow="ADMIN_USER_PASSWORD_AUTH",
            AuthParameters={"USERNAME": email, "PASSWORD": password, **hashed},
        )

    challenge = sign_in(PASSWORD)
    assert challenge["ChallengeName"] == "NEW_PASSWORD_REQUIRED"
    tokens = client.admin_respond_to_auth_challenge(
        UserPoolId=POOL_ID,
        ClientId=POOL_CLIENT_ID,
        ChallengeName="NEW_PASSWORD_REQUIRED",
        Session=challenge["Session"],
        ChallengeResponses={"USERNAME": email, "NEW_PASSWORD": CHANGED, **hashed},
    )["AuthenticationResult"]
    assert tokens["AccessToken"]
    assert client.admin_get_user(**named)["UserStatus"] == "CONFIRMED"
    client.admin_disable_user(**named)
    with pytest.raises(ClientError) as refused:
        sign_in(CHANGED)
    assert code_of(refused) == "NotAuthorizedException"
    client.admin_enable_user(**named)
    client.admin_delete_user(**named)
    with pytest.raises(ClientError) as refused:
        client.admin_get_user(**named)
    assert code_of(refused) == "UserNotFoundException"
    with pytest.raises(ClientError) as refused:
        administrator(own_pool, "another-secret-access-key").admin_get_user(**named)
    assert code_of(refused) == "InvalidSignatureException"
