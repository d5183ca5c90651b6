"""`error="invalid_token"` is about the bearer token and nothing else: clients refresh at it, or sign out.

The calls are those of `deploy/openapi.yaml`, so that a new one is in these tests, or fails them.
"""

import time
from dataclasses import dataclass

import jwt
import pytest
from harness import raw
from harness.account import Account, bearer
from harness.cognito_client import cognito_client, secret_hash
from harness.gateway import (
    ADA, POOL_CLIENT_ID, POOL_CLIENT_SECRET, Gateway, LocalPool, gateway_config, merged,
)
from harness.hosted import App, hosted_pool
from harness.keys import base64url, flip_signature
from harness.local_pool_control import control
from harness.process import SILENT_PORT
from harness.sessions import PREFIX as SESSION_PREFIX
from harness.sessions import State
from harness.user import PASSWORD, new_email, signed_in_user
from test_openapi import CLIENT, every_call, examples, operations

DOMAIN = "login.example.com"
FACTORS = ["EMAIL_OTP", "WEB_AUTHN", "PASSWORD"]
RELYING_PARTY = {"relying_party_id": "auth.example.com"}
JUNK = "Junk-Horse-99"
CREDENTIAL = {"id": "eA", "rawId": "eA", "type": "public-key", "response": {}}
CODE = {"email": "nobody@example.com", "code": "000000"}
# By operation: bodies with a wrong credential, and the status of the refusal.
WRONG = {
    "login": [({"email": ADA[0], "password": JUNK}, 401), ({"email": "nobody@example.com", "password": JUNK}, 401)],
    "answerChallenge": [({"challenge": "SOFTWARE_TOKEN_MFA", "session": "v2.k1.c2Vzc2lvbg", "code": "492301"}, 401)],
    "refresh": [({"refresh_token": "v2.k1.cmVmcmVzaA"}, 401), ({"refresh_token": "x"}, 401)],
    "logout": [({"refresh_token": "v2.k1.cmVmcmVzaA", "all_devices": True}, 401)],
    "confirm": [(CODE, 422), ({**CODE, "password": JUNK}, 422), ({**CODE, "email": ADA[0]}, 422)],
    "resetPassword": [({**CODE, "new_password": PASSWORD}, 422)],
    "changePassword": [({"current_password": JUNK, "new_password": PASSWORD}, 422)],
    "changeEmail": [({"email": "next@example.com", "current_password": JUNK}, 422)],
    "changePhone": [({"phone_number": "+4915112345678", "current_password": JUNK}, 422)],
    "verifyEmail": [({"code": "000000"}, 422)],
    "verifyPhone": [({"code": "000000"}, 422)],
    "verifyTotp": [({"code": "000000"}, 422)],
    "registerPasskey": [({"credential": CREDENTIAL}, 422)],
    "oauthToken": [
        ({"grant_type": "authorization_code", "client_id": POOL_CLIENT_ID, "code": "x", "redirect_uri": "x:/y",
          "code_verifier": "y" * 43}, 400),
        ({"grant_type": "refresh_token", "client_id": POOL_CLIENT_ID, "refresh_token": "v2.k1.cmVmcmVzaA"}, 400),
    ],
    "appleSignIn": [({"identity_token": "eyJhbGciOiJSUzI1NiJ9.e30.eA", "nonce": "n", "authorization_code": "c"}, 401)],
    "appleNotification": [({"payload": "eyJhbGciOiJSUzI1NiJ9.e30.eA"}, 401)],
}  # fmt: skip
# The bodies of these hold no credential.
WITHOUT_CREDENTIALS = {
    "register", "resendCode", "forgotPassword", "updateMe", "setSecondFactors", "endSession", "updateSessionUser",
    "resendEmailCode", "resendPhoneCode", "refreshSession",
}  # fmt: skip


@dataclass(frozen=True)
class Call:
    id: str
    method: str
    path: str
    # Each example of a body; one empty body where the call takes none.
    bodies: tuple
    # "required", "optional" or "none".
    token: str

    @property
    def is_of_session(self) -> bool:
        return self.path.startswith(f"{SESSION_PREFIX}/")

    def send(self, gateway: Gateway, body: object = None, token: str | None = None) -> raw.Response:
        path = self.path.replace("{id}", "0" * 32).replace("{passkey_id}", "eA")
        account = Account(gateway.port, gateway.ledger, prefix="")
        if token and len(token) > 40:
            gateway.ledger.note(token)
        return account.send(self.method, path.removeprefix("/"), body, token)


def call(name: str, operation: dict) -> Call:
    method, path = name.split()
    content = operation.get("requestBody", {}).get("content", {})
    bodies = tuple(example for each in content.values() for example in examples(each))
    security = operation.get("security", [])
    token = "none" if not security else "optional" if {} in security else "required"
    return Call(operation["operationId"], method.upper(), path, bodies or (None,), token)


CALLS = [call(*each) for each in operations(CLIENT)]
BY_ID = {each.id: each for each in CALLS}
WITH_TOKEN = [each for each in CALLS if each.token != "none"]
WITHOUT_TOKEN = [each for each in CALLS if each.token == "none"]


@pytest.fixture(scope="module")
def refusing_pool(run_directory):
    changes = {"hourly_limits": False, "first_factors": FACTORS, "web_authn": RELYING_PARTY, **hosted_pool(1)}
    pool = LocalPool(run_directory, "pool-token-refusals", changes)
    yield pool
    pool.stop()


@pytest.fixture(scope="module")
def all_on(run_directory, refusing_pool, issuer, ledger):
    """A gateway with all calls switched on."""
    directory = run_directory / "token-refusals"
    directory.mkdir()
    changes = {
        "sign_in": {"cognito": {"passwordless": {"factors": FACTORS, **RELYING_PARTY}}},
        "direct_cognito": {"mode": "translate", "hosted_domains": [DOMAIN]},
    }
    changes = merged(every_call(refusing_pool, issuer), changes)
    nobody = f"http://127.0.0.1:{SILENT_PORT}"
    gateway = Gateway(
        directory, "gateway", gateway_config(directory, nobody, issuer.server.url, None, refusing_pool, changes)
    )
    gateway.ledger = ledger
    yield gateway
    gateway.stop()


def blames_the_token(answer: raw.Response) -> bool:
    return "invalid_token" in (answer.header("www-authenticate") or "")


@pytest.fixture(scope="module")
def good(all_on, refusing_pool) -> dict[bool, str]:
    """A token of a user's, for account calls and for session calls."""
    _, tokens = signed_in_user(Account(all_on.port, all_on.ledger), refusing_pool)
    return {False: tokens["access_token"], True: State(all_on).begin().token}


@pytest.fixture(scope="module")
def bad(all_on, refusing_pool, issuer) -> dict[bool, dict[str, str]]:
    """Tokens that are good for nothing here, for account calls and for session calls."""
    account = Account(all_on.port, all_on.ledger)
    _, ended = signed_in_user(account, refusing_pool)
    proof = secret_hash(ADA[0], POOL_CLIENT_ID, POOL_CLIENT_SECRET)
    parameters = {"USERNAME": ADA[0], "PASSWORD": ADA[1], "SECRET_HASH": proof}
    given = cognito_client(refusing_pool.url).initiate_auth(
        ClientId=POOL_CLIENT_ID, AuthFlow="USER_PASSWORD_AUTH", AuthParameters=parameters
    )["AuthenticationResult"]
    assert account.logout(ended["access_token"]).status == 204
    state = State(all_on)
    session, over = state.begin("apple-ada"), state.begin("apple-ben")
    assert Account(all_on.port, all_on.ledger, SESSION_PREFIX).logout(over.token).status == 204
    all_on.ledger.note(*(given[name] for name in ("AccessToken", "IdToken", "RefreshToken")), session.token, over.token)
    unsigned = f'{base64url(b"{}")}.{base64url(b"{}")}.eA'
    both = {
        "junk": "junk", "no issuer": unsigned, "another issuer": issuer.access(),
        "expired": issuer.access(exp=int(time.time()) - 600),
    }
    old = jwt.decode(session.token, options={"verify_signature": False}) | {"iat": 1, "exp": 2}
    return {
        False: {
            **both, "signed out": ended["access_token"], "ID token": given["IdToken"], "session": session.token,
            "changed": flip_signature(given["AccessToken"]),
        },
        True: {
            **both, "signed out": over.token, "Cognito's": given["AccessToken"],
            "changed": flip_signature(session.token),
            "long expired": state.token(old),
        },
    }  # fmt: skip


def test_every_call_with_a_body_has_its_wrong_credentials():
    with_body = {each.id for each in CALLS if each.bodies != (None,)}
    assert set(WRONG) | WITHOUT_CREDENTIALS == with_body and not set(WRONG) & WITHOUT_CREDENTIALS


@pytest.mark.parametrize("call", WITH_TOKEN, ids=lambda call: call.id)
def test_a_bad_bearer_token_is_blamed(all_on, bad, call):
    for kind, token in bad[call.is_of_session].items():
        # A session that has ended already is what a sign-out wants.
        if kind in ("signed out", "long expired") and call.id in ("logout", "endSession"):
            continue
        for body in call.bodies:
            answer = call.send(all_on, body, token)
            assert answer.status == 401 and blames_the_token(answer), (kind, answer.status, answer.headers, answer.body)


@pytest.mark.parametrize("call", [each for each in CALLS if each.token == "required"], ids=lambda call: call.id)
def test_a_missing_bearer_token_is_not_blamed(all_on, call):
    for body in call.bodies:
        answer = call.send(all_on, body)
        assert answer.status == 401 and answer.header("www-authenticate") == "Bearer", answer.body


@pytest.mark.parametrize("id", WRONG)
def test_a_wrong_credential_in_the_body_blames_no_token(all_on, good, bad, id):
    call = BY_ID[id]
    # Calls without a token do not look at one.
    other = bad[call.is_of_session]["expired"]
    tokens = {"required": [good[call.is_of_session]], "optional": [None], "none": [None, other]}
    for body, status in WRONG[id]:
        for token in tokens[call.token]:
            answer = call.send(all_on, body, token)
            assert answer.status == status and not blames_the_token(answer), (answer.headers, answer.body)
            if status == 401:
                assert answer.header("www-authenticate") == "Bearer"


@pytest.mark.parametrize(
    ("factor", "answer", "status"),
    [
        ("PASSWORD", {"password": JUNK}, 401),
        ("WEB_AUTHN", {"credential": CREDENTIAL}, 401),
        ("EMAIL_OTP", {"code": "00000x"}, 422),
    ],
)
def test_a_first_factor_that_fails_blames_no_token(all_on, factor, answer, status):
    account = Account(all_on.port, all_on.ledger)
    for email in (ADA[0], "nobody@example.com"):
        asked = account.post("login", {"email": email, "factor": factor}).json()
        refused = account.answer_challenge(asked, **answer)
        assert (refused.status, refused.header("www-authenticate")) == (status, "Bearer" if status == 401 else None)


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.id)
def test_an_example_with_a_good_token_blames_none(all_on, refusing_pool, good, call):
    for body in call.bodies:
        token = good[False] if call.token != "none" else None
        if call.is_of_session:
            device = (body or {}).get("device_info", {"device_id": "phone-7"})
            token = State(all_on).begin(new_email(), device_id=device["device_id"]).token
        elif call.id in ("deleteMe", "logout"):
            token = signed_in_user(Account(all_on.port, all_on.ledger), refusing_pool)[1]["access_token"]
        answer = call.send(all_on, body, token)
        assert not blames_the_token(answer), (answer.status, answer.headers, answer.body)


REFUSALS = {
    "NotAuthorizedException": (
        "Incorrect username or password.", "Password attempts exceeded", "User is disabled.",
        "Invalid session for the user.", "Temporary password has expired and must be reset by an administrator.",
    ),
    "CodeMismatchException": ("Invalid verification code provided, please try again.",),
    "ExpiredCodeException": ("Invalid code provided, please request a code again.",),
    "RefreshTokenReuseException": ("Refresh token has already been used.",),
    "ResourceNotFoundException": ("User pool client x does not exist.", "Device does not exist."),
}  # fmt: skip
OF_THE_TOKEN = {"NotAuthorizedException": ("Access Token has been revoked", "Access Token has expired")}


def refused_by_cognito(pool: LocalPool, refusals: dict, send) -> list[raw.Response]:
    """The responses to a call for which Cognito refuses everything, once for each refusal."""
    answers = []
    for error, messages in refusals.items():
        for message in messages:
            fault = {"operation": "*", "error": error, "message": message, "status": 400}
            control(pool, "POST", "faults", [fault])
            try:
                answers.append(send())
            finally:
                control(pool, "DELETE", "faults")
    return answers


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.id)
def test_what_cognito_refuses_for_another_reason_blames_no_token(all_on, refusing_pool, good, call):
    token = good[call.is_of_session] if call.token != "none" else None
    if call.is_of_session or call.id in ("endOtherSessions", "logout"):
        # Cognito is not asked, or not about the user.
        return
    for body in call.bodies:
        for answer in refused_by_cognito(refusing_pool, REFUSALS, lambda: call.send(all_on, body, token)):
            assert not blames_the_token(answer), (answer.status, answer.headers, answer.body)


@pytest.mark.parametrize("call", [each for each in WITHOUT_TOKEN if not each.is_of_session], ids=lambda call: call.id)
def test_a_call_without_a_token_blames_none_whatever_cognito_says(all_on, refusing_pool, call):
    for body in call.bodies:
        for answer in refused_by_cognito(refusing_pool, OF_THE_TOKEN, lambda: call.send(all_on, body)):
            assert not blames_the_token(answer), (answer.status, answer.headers, answer.body)


def test_the_direct_token_endpoint_blames_none(all_on):
    app = App("")
    forms = [app.token_form("x"), {"grant_type": "refresh_token", "client_id": POOL_CLIENT_ID, "refresh_token": "x"}]
    for form in forms:
        data = "&".join(f"{name}={value}" for name, value in form.items()).encode()
        headers = {"Host": DOMAIN, "Content-Type": "application/x-www-form-urlencoded"}
        answer = raw.exchange(all_on.port, "POST", "/oauth2/token", headers, data)
        assert (answer.status, answer.json()["error"]) == (400, "invalid_grant") and not blames_the_token(answer)
    answer = raw.exchange(all_on.port, "GET", "/oauth2/userInfo", {"Host": DOMAIN, **bearer("junk")})
    assert answer.status == 401 and blames_the_token(answer)
