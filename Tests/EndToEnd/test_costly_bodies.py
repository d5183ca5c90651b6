"""Text that takes long to compare as characters costs no more than other text in what apps send to sign in with."""

import json

import pytest
from harness import raw
from harness.account import Account, bearer
from harness.apple_app import sha256hex
from harness.costly import Meter
from harness.gateway import ADA, BUDGETS, POOL_CLIENT_ID, Gateway, gateway_config, merged
from harness.keys import base64url
from harness.sessions import State, session_settings

BODY = 62_000
DIRECT = 15_000
FORMER = "9former0client000000000000"
PASSWORD = "Correct-Horse-1"
EMAIL = "costly@example.com"
REGISTER = {"email": EMAIL, "password": PASSWORD}
LOGIN = {"email": EMAIL, "password": PASSWORD}
DEVICE = {"device_id": "d", "platform": "ios"}
# Counting one call of each kind is part of its cost.
LIMITS = {
    **{kind: dict.fromkeys(("address", "account", "global"), "1000000/1h") for kind in BUDGETS},
    "lockout": {"after": 1000},
}

# In each the text stands for `@`, also in names. The text begins with what it is compared with.
ACCOUNT = {
    "register": [
        {"email": "@", "password": PASSWORD}, {"email": EMAIL, "password": "@"}, {**REGISTER, "name": "@"}, {**REGISTER, "@": 1},
        {**REGISTER, "attributes": "@"}, {**REGISTER, "attributes": {"@": "x"}}, {**REGISTER, "attributes": {"custom:@": "x"}},
        {**REGISTER, "attributes": {"name": "@"}}, {**REGISTER, "attributes": {"custom:plan": "@"}},
        {**REGISTER, "device_info": {**DEVICE, "@": "x"}},
        *({**REGISTER, "device_info": {**DEVICE, name: "@"}} for name in ("device_id", "platform", "model", "name", "locale")),
    ],
    "login": [
        {**LOGIN, "email": "@"}, {**LOGIN, "password": "@"}, {**LOGIN, "remember_me": "@"}, {**LOGIN, "device_token": "@"},
        {**LOGIN, "device_token": "v2.@"}, {**LOGIN, "@": 1}, {**LOGIN, "device_info": {**DEVICE, "device_id": "@"}},
        {"email": "@", "password": "@"}, ["@"], "@",
    ],
    "challenge": [
        {"challenge": "SMS_MFA@", "session": "x", "code": "1"}, {"challenge": "SMS_MFA", "session": "@", "code": "1"},
        {"challenge": "SMS_MFA", "session": "x", "code": "@"},
        {"challenge": "NEW_PASSWORD_REQUIRED", "session": "x", "new_password": PASSWORD, "attributes": {"@": "x"}},
    ],
    "refresh": [{"refresh_token": "@"}, {"refresh_token": "v2.@"}, {"refresh_token": "x", "device_info": {**DEVICE, "@": 1}}],
    "logout": [{"refresh_token": "@"}, {"all_devices": "@"}],
    "confirm": [{"email": "@", "code": "1"}, {"email": EMAIL, "code": "@"}, {"email": EMAIL, "code": "1", "password": "@"}],
    "resend-code": [{"email": "@"}],
    "forgot-password": [{"email": "@"}],
    "reset-password": [{"email": EMAIL, "code": "@", "new_password": "x"}, {"email": EMAIL, "code": "1", "new_password": "@"}],
}  # fmt: skip
SIGNED_IN = [
    ("PATCH", "me", {"attributes": {"@": "x"}}), ("PATCH", "me", {"attributes": {"custom:@": "x"}}), ("PATCH", "me", {"name": "@"}),
    ("PATCH", "me", {"attributes": {"name": "@"}}), ("PATCH", "me", {"email@": "x"}),
    ("POST", "change-password", {"current_password": "@", "new_password": PASSWORD}),
    ("POST", "change-password", {"current_password": PASSWORD, "new_password": "@"}),
    ("POST", "mfa/totp/verify", {"code": "@"}), ("POST", "logout", {"refresh_token": "@"}),
]  # fmt: skip
SIGN_UP = {"ClientId": POOL_CLIENT_ID, "Username": EMAIL, "Password": PASSWORD}
SIGN_IN = {"AuthFlow": "USER_PASSWORD_AUTH", "ClientId": POOL_CLIENT_ID, "AuthParameters": {"USERNAME": EMAIL, "PASSWORD": "x"}}
DIRECT_CALLS = [
    ("InitiateAuth", {**SIGN_IN, "AuthFlow": "USER_PASSWORD_AUTH@"}), ("InitiateAuth", {**SIGN_IN, "AuthFlow": "REFRESH_TOKEN@"}),
    ("InitiateAuth", {**SIGN_IN, "ClientId": POOL_CLIENT_ID + "@"}), ("InitiateAuth", {**SIGN_IN, "@": "x"}),
    ("InitiateAuth", {**SIGN_IN, "AuthParameters": {"USERNAME": "@", "PASSWORD": "x"}}),
    ("InitiateAuth", {**SIGN_IN, "AuthParameters": {"USERNAME": EMAIL, "PASSWORD": "@"}}),
    ("InitiateAuth", {**SIGN_IN, "AuthParameters": {"USERNAME": EMAIL, "@": "x"}}),
    ("InitiateAuth", {**SIGN_IN, "AuthParameters": {"USERNAME": EMAIL, "PASSWORD": "x", "DEVICE_KEY": "@"}}),
    ("InitiateAuth", {**SIGN_IN, "UserContextData": {"EncodedData": "@"}}),
    ("InitiateAuth", {**SIGN_IN, "AuthFlow": "REFRESH_TOKEN_AUTH", "AuthParameters": {"REFRESH_TOKEN": "@"}}),
    ("SignUp", {**SIGN_UP, "Username": "@"}), ("SignUp", {**SIGN_UP, "ClientId": "@"}), ("SignUp", {**SIGN_UP, "Password": "@"}),
    ("SignUp", {**SIGN_UP, "UserAttributes": [{"Name": "@", "Value": "x"}]}),
    ("SignUp", {**SIGN_UP, "UserAttributes": [{"Name": "name", "Value": "@"}]}),
    ("SignUp", {**SIGN_UP, "ClientMetadata": {"@": "@"}}),
    ("RespondToAuthChallenge", {"ClientId": POOL_CLIENT_ID, "ChallengeName": "SMS_MFA", "ChallengeResponses": {"USERNAME": "@"}}),
    ("RespondToAuthChallenge", {"ClientId": POOL_CLIENT_ID, "ChallengeName": "@", "ChallengeResponses": {"USERNAME": EMAIL}}),
    ("RevokeToken", {"ClientId": POOL_CLIENT_ID, "Token": "@"}), ("GetUser", {"AccessToken": "@"}),
    ("GetTokensFromRefreshToken", {"ClientId": POOL_CLIENT_ID + "@", "RefreshToken": "x"}),
]  # fmt: skip
CLAIMS = [{"iss": "@"}, {"client_id": "@"}, {"client_id": POOL_CLIENT_ID + "@"}, {"sub": "@"}, {"origin_jti": "@"}, {"@": 1}]


def filled(value, text: str):
    match value:
        case str():
            return value.replace("@", text) if "@" in value and "@example" not in value else value
        case dict():
            return {filled(name, text): filled(each, text) for name, each in value.items()}
        case list():
            return [filled(each, text) for each in value]
    return value


def body(value, text: str) -> bytes:
    return json.dumps(filled(value, text), ensure_ascii=False).encode()


def post(gateway, path: str, data: bytes, method: str = "POST", **fields) -> raw.Response:
    return raw.exchange(gateway.port, method, path, {"Content-Type": "application/json", **fields}, data)


@pytest.fixture(scope="module")
def gateway(run_directory, shared_recorder, issuer, pool):
    directory = run_directory / "costly-bodies"
    directory.mkdir()
    changes = merged(
        session_settings(issuer.server.url),
        {
            "account_limits": LIMITS,
            "direct_cognito": {"mode": "translate", "client_ids": [FORMER]},
            "issuers": {"pool": {"client_ids": [POOL_CLIENT_ID, FORMER]}},
        },
    )
    config = gateway_config(directory, shared_recorder.url, issuer.server.url, pool=pool, changes=changes)
    gateway = Gateway(directory, "gateway", config)
    yield gateway
    gateway.stop()


@pytest.fixture(scope="module")
def meter(gateway):
    meter = Meter(gateway.process)
    plain = body({**LOGIN, "password": "@"}, "x" * BODY)
    meter.calibrate(lambda: post(gateway, "/api/v1/auth/login", plain))
    return meter


@pytest.fixture(scope="module")
def token(gateway, ledger) -> str:
    return Account(gateway.port, ledger).login(*ADA).json()["access_token"]


@pytest.mark.parametrize("call, value", [(call, value) for call, values in ACCOUNT.items() for value in values])
def test_account_calls(gateway, meter, call, value):
    size = BODY // json.dumps(value).count('@"')
    meter.assert_cheap(lambda text: post(gateway, f"/api/v1/auth/{call}", body(value, text)), size)


@pytest.mark.parametrize("method, call, value", SIGNED_IN)
def test_account_calls_of_who_has_signed_in(gateway, meter, token, method, call, value):
    meter.assert_cheap(
        lambda text: post(gateway, f"/api/v1/auth/{call}", body(value, text), method, **bearer(token)), BODY
    )


@pytest.mark.parametrize("call, value", [("register", REGISTER), ("login", LOGIN)])
@pytest.mark.parametrize("count", [2, 20, 60])
def test_many_names(gateway, meter, call, value, count):
    def send(text: str) -> None:
        names = {f"{text}{number}": "x" for number in range(count)}
        post(gateway, f"/api/v1/auth/{call}", body({**value, **names, "attributes": names}, ""))

    meter.assert_cheap(send, BODY // count // 2)


def test_as_many_attributes_as_a_body_can_hold(gateway, meter):
    """Thousands of short names are no more work than as many bytes of one."""

    def send(count: int) -> raw.Response:
        names = {f"n{number}": 0 for number in range(count)}
        return post(gateway, "/api/v1/auth/register", body({**REGISTER, "attributes": names}, ""))

    assert send(5_500).status == 422
    assert min(meter.cost(lambda: send(5_500)) for _ in range(5)) <= 20 * min(meter.cost(lambda: send(60)) for _ in range(5))


@pytest.mark.parametrize("operation, value", DIRECT_CALLS)
def test_calls_that_are_translated(gateway, meter, operation, value):
    fields = {"X-Amz-Target": f"AWSCognitoIdentityProviderService.{operation}", "Content-Type": "application/x-amz-json-1.1"}
    meter.assert_cheap(lambda text: raw.exchange(gateway.port, "POST", "/", fields, body(value, text)), DIRECT)


@pytest.mark.parametrize("changes", CLAIMS)
def test_tokens_in_calls_that_are_translated(gateway, meter, pool, changes):
    fields = {"X-Amz-Target": "AWSCognitoIdentityProviderService.GetUser", "Content-Type": "application/x-amz-json-1.1"}
    claims = {"iss": pool.issuer_settings()["issuer"], "client_id": POOL_CLIENT_ID, "sub": "x", **changes}

    def send(text: str) -> None:
        token = f"{base64url(b'{}')}.{base64url(body(claims, text))}.x"
        raw.exchange(gateway.port, "POST", "/", fields, json.dumps({"AccessToken": token}).encode())

    meter.assert_cheap(send, 11_000)


# ---- Apple, and the gateway's own sessions


@pytest.mark.parametrize(
    "name", ["identity_token", "authorization_code", "nonce", "userIdentifier", "name", "email", "device_info", "@"]
)
def test_sign_in_with_apple(gateway, meter, issuer, name):
    """With a token that is right as far as the text lets it be."""

    def send(text: str) -> None:
        value = {"nonce": "n", "userIdentifier": "apple-costly", "name": "A", filled(name, text): text}
        token = issuer.id(
            iss="https://appleid.apple.com", aud="com.example.app", sub="apple-costly", nonce=sha256hex(value["nonce"])
        )
        post(gateway, "/api/auth/apple", body({"identity_token": token, **value}, ""))

    meter.assert_cheap(send, BODY - 2_000)


@pytest.mark.parametrize("claim", ["iss", "aud", "sub", "nonce", "email", "is_private_email", "@"])
def test_claims_of_apples_tokens(gateway, meter, issuer, claim):
    def send(text: str) -> None:
        claims = {"iss": "https://appleid.apple.com", "aud": "com.example.app", "sub": "apple-costly", "nonce": sha256hex("n")}
        token = issuer.id(**{**claims, "email": "a@b.example", filled(claim, text): text})
        post(gateway, "/api/auth/apple", body({"identity_token": token, "nonce": "n"}, ""))

    meter.assert_cheap(send, 250 if claim == "sub" else 1_500)


@pytest.mark.parametrize("name", ["payload", "@"])
def test_notifications_of_apples(gateway, meter, name):
    meter.assert_cheap(lambda text: post(gateway, "/api/auth/apple/notifications", body({name: text}, text)), BODY)


def test_signing_out_of_a_session(gateway, meter):
    session = State(gateway).begin()
    meter.assert_cheap(
        lambda text: post(gateway, "/api/auth/logout", body({"all_devices": text}, ""), **bearer(session.token)), BODY
    )
