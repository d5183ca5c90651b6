"""moto's server as a second Cognito that nobody here wrote.

It is looser than Cognito: it checks no secret hash at most operations, and knows neither RevokeToken nor
GetTokensFromRefreshToken. What it does answer has its own shapes, and these the gateway must understand.
"""

import sys

import boto3
import pytest
from harness.account import Account, bearer
from harness.process import Process, accepts_connections, free_port
from harness import raw

EMAIL = "ada@example.com"
PASSWORD = "Correct-Horse-7-Battery"


class Moto:
    """moto's server with one pool, whose users are told apart by e-mail address, and one app client with a secret."""

    def __init__(self, directory):
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        arguments = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
        environment = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
        self.process = Process(arguments, directory / "moto.log", environment)
        self.process.wait_ready(lambda: accepts_connections(port), "moto", seconds=60)
        self.admin = boto3.client(
            "cognito-idp",
            endpoint_url=self.url,
            region_name="us-east-1",
            aws_access_key_id="test",
            aws_secret_access_key="test",
        )
        pool = self.admin.create_user_pool(
            PoolName="apps", UsernameAttributes=["email"], AutoVerifiedAttributes=["email"]
        )["UserPool"]
        client = self.admin.create_user_pool_client(
            UserPoolId=pool["Id"],
            ClientName="app",
            GenerateSecret=True,
            ExplicitAuthFlows=["ALLOW_USER_PASSWORD_AUTH", "ALLOW_REFRESH_TOKEN_AUTH"],
        )["UserPoolClient"]
        self.pool_id, self.client_id, self.secret = pool["Id"], client["ClientId"], client["ClientSecret"]

    def changes(self) -> dict:
        return {
            "issuers": {
                "moto": {
                    "profile": "cognito",
                    "region": "us-east-1",
                    "user_pool_id": self.pool_id,
                    "client_ids": [self.client_id],
                    # moto's tokens have AWS's iss.
                    "issuer": f"https://cognito-idp.us-east-1.amazonaws.com/{self.pool_id}",
                    "jwks_url": f"{self.url}/{self.pool_id}/.well-known/jwks.json",
                    "allow_insecure_http": True,
                }
            },
            "sign_in": {
                "cognito": {
                    "issuer": "moto",
                    "client_id": self.client_id,
                    "client_secret": self.secret,
                    "endpoint": self.url,
                    "allow_insecure_http": True,
                }
            },
        }


@pytest.fixture(scope="module")
def moto(tmp_path_factory):
    moto = Moto(tmp_path_factory.mktemp("moto"))
    yield moto
    moto.process.stop()


@pytest.fixture
def account(moto, start_gateway, ledger):
    ledger.note(moto.secret)
    return Account(start_gateway(moto.changes()).port, ledger)


def test_an_accounts_life_as_far_as_moto_has_one(account, moto):
    registered = account.post("register", {"email": EMAIL, "password": PASSWORD})
    assert registered.status == 201
    user_id = registered.json()["user_id"]

    assert account.login(EMAIL, PASSWORD).status == 403
    assert account.post("confirm", {"email": EMAIL, "code": "123456"}).status == 204

    wrong = account.login(EMAIL, "Wrong-Horse-7-Battery")
    unknown = account.login("nobody@example.com", PASSWORD)
    assert (wrong.status, unknown.status) == (401, 401)
    assert wrong.json()["error"] == unknown.json()["error"] == "NotAuthorizedException"

    tokens = account.login(EMAIL, PASSWORD)
    assert tokens.status == 200
    access = tokens.json()["access_token"]
    assert tokens.json()["user"]["id"] == user_id

    # moto's tokens pass the gate, with moto's key set.
    proxied = raw.exchange(account.port, "GET", "/recorded/required/x", bearer(access))
    assert proxied.status == 200
    me = account.send("GET", "me", token=access)
    assert (me.status, me.json()["id"], me.json()["email"]) == (200, user_id, EMAIL)

    changed = {"current_password": PASSWORD, "new_password": "Another-Horse-8"}
    assert account.post("change-password", changed, token=access).status == 204
    assert account.login(EMAIL, PASSWORD).status == 401
    assert account.login(EMAIL, "Another-Horse-8").status == 200

    # The same for everyone, whether there is such a user or not.
    known = account.post("forgot-password", {"email": EMAIL})
    assert known.status == account.post("forgot-password", {"email": "nobody@example.com"}).status == 202


def test_a_password_that_an_administrator_set_must_be_replaced(account, moto):
    email = "grace@example.com"
    moto.admin.admin_create_user(
        UserPoolId=moto.pool_id, Username=email, TemporaryPassword=PASSWORD, MessageAction="SUPPRESS"
    )
    asked = account.login(email, PASSWORD)
    assert (asked.status, asked.json()["challenge"]) == (202, "NEW_PASSWORD_REQUIRED")
    answer = {"challenge": "NEW_PASSWORD_REQUIRED", "session": asked.json()["session"], "new_password": "Another-Horse-8"}
    assert account.post("challenge", answer).status == 200
    assert account.login(email, "Another-Horse-8").status == 200


def test_what_moto_has_not_is_the_providers_fault_and_nobody_elses(account, moto):
    """It answers ResendConfirmationCode with a page of HTML and 500."""
    answer = account.post("resend-code", {"email": EMAIL})
    assert (answer.status, answer.json()["error"]) == (503, "IdentityProviderUnavailableException")
