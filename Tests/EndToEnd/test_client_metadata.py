"""`client_metadata`: of the values that clients give, those with listed keys reach the pool's triggers."""

import re

import pytest
import yaml
from harness.account import Account, assert_refusal
from harness.cognito_client import cognito_client
from harness.cognito_front import CognitoFront
from harness.gateway import POOL_CLIENT_ID, REPOSITORY, LocalPool
from harness.local_pool_control import control
from harness.user import PASSWORD, confirmed_user, new_email, signed_in_user

LISTED = {"campaign": "spring"}
METADATA = {"client_metadata": LISTED}
PREFIX = "/api/v1/auth/"
NUMBER = "+4915112345678"
# Each call that takes it: the operations of Cognito's that it goes to, and a body, made of a user's address and tokens.
CALLS = {
    "POST login": (["InitiateAuth"], lambda user: {"email": user.email, "password": PASSWORD}),
    "POST challenge": (["RespondToAuthChallenge"], lambda user: {**user.challenge(), "code": "000000"}),
    "POST refresh": (["GetTokensFromRefreshToken"], lambda user: {"refresh_token": user.new_refresh_token()}),
    "POST register": (["SignUp"], lambda user: {"email": new_email(), "password": PASSWORD}),
    "POST confirm": (["ConfirmSignUp"], lambda user: {"email": user.email, "code": "000000"}),
    "POST resend-code": (["ResendConfirmationCode"], lambda user: {"email": user.email}),
    "POST forgot-password": (["ForgotPassword"], lambda user: {"email": user.email}),
    "POST reset-password": (
        ["ConfirmForgotPassword"], lambda user: {"email": user.email, "code": "000000", "new_password": PASSWORD}
    ),
    "PATCH me": (["UpdateUserAttributes"], lambda user: {"name": "Ada"}),
    "POST me/email": (["UpdateUserAttributes"], lambda user: {"email": new_email(), "current_password": PASSWORD}),
    "POST me/email/resend": (["GetUserAttributeVerificationCode"], lambda user: {}),
    "POST me/phone": (["UpdateUserAttributes"], lambda user: {"phone_number": NUMBER, "current_password": PASSWORD}),
    "POST me/phone/resend": (["GetUserAttributeVerificationCode"], lambda user: {}),
}


@pytest.fixture(scope="module")
def pool(run_directory):
    changes = {"first_factors": ["PASSWORD", "EMAIL_OTP"], "devices": "always", "hourly_limits": False}
    pool = LocalPool(run_directory, "pool-metadata", changes)
    yield pool
    pool.stop()


@pytest.fixture(scope="module")
def front(pool):
    """Notes what reaches Cognito."""
    front = CognitoFront(pool.url)
    yield front
    front.stop()


@pytest.fixture
def account(start_gateway, pool, front, ledger) -> Account:
    cognito = pool.sign_in_settings(
        "pool", endpoint=front.url, client_metadata=["campaign", "referrer"], passwordless={"factors": ["EMAIL_OTP"]}
    )
    gateway = start_gateway({"sign_in": {"cognito": cognito}, "direct_cognito": "translate"}, pool=pool)
    account = Account(gateway.port, ledger)
    account.gateway = gateway
    return account


class User:
    def __init__(self, account: Account, pool: LocalPool):
        self.account = account
        self.email, self.tokens = signed_in_user(account, pool)

    def new_refresh_token(self) -> str:
        """One that has not been used: a repeated use would get the first response again."""
        return self.account.login(self.email, PASSWORD).json()["refresh_token"]

    def challenge(self) -> dict:
        asked = self.account.post("login", {"email": self.email, "factor": "EMAIL_OTP"}).json()
        return {"challenge": asked["challenge"], "session": asked["session"]}


def documented_calls() -> set[str]:
    description = yaml.safe_load((REPOSITORY / "deploy" / "openapi.yaml").read_text())
    bodies = description["components"]["requestBodies"]
    found = set()
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            body = operation.get("requestBody", {}) if isinstance(operation, dict) else {}
            reference = body.get("$ref", "").rsplit("/", 1)[-1]
            if "client_metadata" in str(bodies.get(reference)) and path.startswith(PREFIX):
                found.add(f"{method.upper()} {path.removeprefix(PREFIX)}")
    return found


def test_the_description_and_the_page_list_the_calls():
    assert documented_calls() == set(CALLS)
    page = (REPOSITORY / "docs" / "passwordless.md").read_text()
    sentence = page[page.index("The calls `login`") :].split(" take it")[0]
    listed = set(re.findall(r"`([^`]+)`", sentence))
    assert listed == {call.removeprefix("POST ") for call in CALLS}


@pytest.mark.parametrize("call", CALLS)
def test_listed_keys_go_to_the_triggers_and_others_are_refused(account, pool, front, call):
    user = User(account, pool)
    operations, body_of = CALLS[call]
    method, path = call.split()
    token = user.tokens["access_token"] if path.startswith("me") else None
    for body, seen in (({}, None), (METADATA, LISTED)):
        given = {**body_of(user), **body}
        front.calls.clear()
        account.send(method, path, given, token)
        got = [sent.get("ClientMetadata") for name, sent in front.calls if name in operations]
        assert got and set(map(str, got)) == {str(seen)}, (front.operations(), got)
    given = {**body_of(user), "client_metadata": {"campaign": "spring", "role": "admin"}}
    front.calls.clear()
    refused = account.send(method, path, given, token)
    fields = assert_refusal(refused, 422, "InvalidParameterException")["fields"]
    assert fields == {"client_metadata.role": "is not accepted"} and front.calls == []


def test_each_step_of_a_remembered_device_has_them(account, pool, front):
    """The last step gives the tokens, for which Cognito asks the trigger of token generation."""
    email, tokens = signed_in_user(account, pool, device_info={"device_id": "phone-1", "platform": "ios"})
    number = [{"Name": "phone_number", "Value": NUMBER}]
    client, access = cognito_client(pool.url), tokens["access_token"]
    client.update_user_attributes(AccessToken=access, UserAttributes=number)
    code = control(pool, "GET", f"inbox?phone={NUMBER.replace('+', '%2B')}")[-1]["code"]
    client.verify_user_attribute(AccessToken=access, AttributeName="phone_number", Code=code)
    client.set_user_mfa_preference(AccessToken=access, SMSMfaSettings={"Enabled": True, "PreferredMfa": True})
    front.calls.clear()
    answer = account.login(email, PASSWORD, device_token=tokens["device_token"], **METADATA)
    assert answer.status == 200, answer.body
    steps = [(body.get("ChallengeName"), body.get("ClientMetadata")) for _, body in front.calls if "ClientId" in body]
    assert steps == [(None, LISTED), ("DEVICE_SRP_AUTH", LISTED), ("DEVICE_PASSWORD_VERIFIER", LISTED)]


def test_the_sign_in_after_a_confirmation_has_them(account, pool, front):
    email = new_email()
    assert account.post("register", {"email": email, "password": PASSWORD}).status == 201
    code = pool.confirmation_code(email)
    front.calls.clear()
    answer = account.post("confirm", {"email": email, "code": code, "password": PASSWORD, **METADATA})
    assert answer.status == 200, answer.body
    seen = {name: body.get("ClientMetadata") for name, body in front.calls}
    assert seen["ConfirmSignUp"] == seen["InitiateAuth"] == LISTED


def test_translated_calls_pass_the_same_keys(account, pool, front):
    email = confirmed_user(account, pool)
    client = cognito_client(account.gateway.url)
    front.calls.clear()
    tokens = client.initiate_auth(
        ClientId=POOL_CLIENT_ID, AuthFlow="USER_PASSWORD_AUTH",
        AuthParameters={"USERNAME": email, "PASSWORD": PASSWORD}, ClientMetadata={**LISTED, "role": "admin"},
    )["AuthenticationResult"]
    client.get_user_attribute_verification_code(
        AccessToken=tokens["AccessToken"], AttributeName="email", ClientMetadata={"role": "admin"}
    )
    client.get_tokens_from_refresh_token(
        ClientId=POOL_CLIENT_ID, RefreshToken=tokens["RefreshToken"], ClientMetadata={"referrer": "x", "Campaign": "y"}
    )
    seen = [(name, body.get("ClientMetadata")) for name, body in front.calls]
    assert seen == [
        ("InitiateAuth", LISTED), ("GetUserAttributeVerificationCode", None),
        ("GetTokensFromRefreshToken", {"referrer": "x"}),
    ]
