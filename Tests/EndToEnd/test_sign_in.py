"""Issue item "Sign-in": login, refresh and me, against LocalPool through the real wire protocol."""

import json
import re

import pytest
from harness import raw
from harness.account import Account, assert_refusal, bearer
from harness.cognito_front import CognitoFront
from harness.gateway import ADA, GRACE_UNCONFIRMED
from harness.process import free_port, wait_until

def test_a_login_gives_tokens_and_the_user(account):
    response = account.login(*ADA)
    assert response.status == 200
    assert response.header("cache-control") == "no-store"
    tokens = response.json()
    assert tokens["token_type"] == "Bearer"
    assert 0 < tokens["expires_in"] <= 86_400
    assert tokens["access_token"].count(".") == 2
    assert tokens["refresh_token"]
    user = tokens["user"]
    assert user["email"] == ADA[0] and user["email_verified"] is True
    assert user["id"] and user["username"]
    assert user["groups"] == ["beta"]


def test_the_access_token_opens_the_backend(account, gateway):
    tokens = account.login(*ADA).json()
    response = raw.exchange(gateway.port, "GET", "/api/v1/whoami", bearer(tokens["access_token"]))
    assert response.status == 200
    assert response.json()["identity"]["x-auth-subject"] == tokens["user"]["id"]


def test_the_refresh_token_is_sealed(account, gateway):
    """The client's refresh token is not Cognito's, is no JWT, and opens nothing."""
    sealed = account.login(*ADA).json()["refresh_token"]
    assert not sealed.startswith("eyJ")
    response = raw.exchange(gateway.port, "GET", "/api/v1/whoami", bearer(sealed))
    assert response.status == 401


def test_a_wrong_password_and_an_unknown_user_look_the_same(account):
    answers = []
    for email, password in [(ADA[0], "Wrong-Horse-7-Battery"), ("nobody@example.com", "Wrong-Horse-7-Battery")]:
        response = account.login(email, password)
        body = assert_refusal(response, 401, "NotAuthorizedException")
        assert body.pop("requestId")
        names = sorted(name.lower() for name, _ in response.headers)
        answers.append((body, names))
    assert answers[0] == answers[1]
    assert answers[0][0]["message"] == "Incorrect email or password."


def test_an_unconfirmed_user_is_told_so_only_with_the_right_password(account):
    assert_refusal(account.login(*GRACE_UNCONFIRMED), 403, "UserNotConfirmedException")
    assert_refusal(account.login(GRACE_UNCONFIRMED[0], "Wrong-Horse-7"), 401, "NotAuthorizedException")


def test_a_refresh_gives_new_tokens_without_the_user(account, gateway):
    first = account.login(*ADA).json()
    response = account.refresh(first["refresh_token"])
    assert response.status == 200
    tokens = response.json()
    assert "user" not in tokens
    assert tokens["refresh_token"] and tokens["access_token"] != first["access_token"]
    me = account.me(tokens["access_token"])
    assert me.status == 200 and me.json()["id"] == first["user"]["id"]


def test_a_refresh_can_be_followed_by_another(account):
    tokens = account.login(*ADA).json()
    for _ in range(3):
        response = account.refresh(tokens["refresh_token"])
        assert response.status == 200
        tokens = response.json()


@pytest.fixture
def front(pool):
    front = CognitoFront(pool.url)
    yield front
    front.stop()


@pytest.fixture
def fronted(start_gateway, pool, front, ledger) -> Account:
    """An account on a gateway whose calls to the pool can be watched and refused."""
    changes = {"sign_in": {"cognito": pool.sign_in_settings("pool", endpoint=front.url)}}
    return Account(start_gateway(changes, pool=pool).port, ledger)


def test_a_refresh_uses_the_newer_flow(fronted, front):
    tokens = fronted.login(*ADA).json()
    assert fronted.refresh(tokens["refresh_token"]).status == 200
    assert front.operations()[-1] == "GetTokensFromRefreshToken"


@pytest.mark.parametrize(
    "refusal",
    [
        (400, "UnknownOperationException", ""),
        (400, "UnsupportedOperationException", "Not supported for this pool."),
    ],
    ids=lambda refusal: refusal[1],
)
def test_a_refresh_falls_back_to_the_older_flow(fronted, front, refusal):
    """REFRESH_TOKEN_AUTH, with SECRET_HASH over the real username (the sub), not over the e-mail."""
    front.refused["GetTokensFromRefreshToken"] = refusal
    tokens = fronted.login(*ADA).json()
    response = fronted.refresh(tokens["refresh_token"])
    assert response.status == 200
    operation, body = front.calls[-1]
    assert (operation, body["AuthFlow"]) == ("InitiateAuth", "REFRESH_TOKEN_AUTH")
    assert fronted.me(response.json()["access_token"]).status == 200


@pytest.mark.parametrize(
    "error, status",
    [
        ("TooManyRequestsException", 429),
        ("LimitExceededException", 429),
        ("InternalErrorException", 503),
        ("ResourceNotFoundException", 503),
        ("UserNotFoundException", 401),
        ("PasswordResetRequiredException", 403),
    ],
)
def test_cognitos_errors_become_the_gateways(fronted, front, error, status):
    front.refused["InitiateAuth"] = (500 if error == "InternalErrorException" else 400, error, "said Cognito")
    response = fronted.login(*ADA)
    assert response.status == status
    assert "said Cognito" not in response.body.decode()


def test_an_answer_without_a_known_error_is_503(fronted, front):
    front.refused["InitiateAuth"] = (502, "", "")
    assert fronted.login(*ADA).status == 503


def test_a_refresh_token_outlives_the_gateway(start_gateway, pool, ledger):
    """Sealed under a key in the state directory: a restart signs nobody out."""
    gateway = start_gateway(pool=pool)
    sealed = Account(gateway.port, ledger).login(*ADA).json()["refresh_token"]
    gateway.stop()
    again = start_gateway({"state_directory": gateway.config["state_directory"]}, pool=pool)
    assert Account(again.port, ledger).refresh(sealed).status == 200


def test_a_refresh_token_of_another_gateway_is_worth_nothing(start_gateway, account, pool, ledger):
    other = start_gateway(pool=pool)
    sealed = Account(other.port, ledger).login(*ADA).json()["refresh_token"]
    assert_refusal(account.refresh(sealed), 401, "TokenRefreshException")


@pytest.mark.parametrize("change", ["garbage", "flipped", "cut", "empty"])
def test_a_refresh_token_that_was_tampered_with_is_refused(account, change):
    sealed = account.login(*ADA).json()["refresh_token"]
    middle = len(sealed) // 2
    tampered = {
        "garbage": "not a refresh token",
        "flipped": sealed[:middle] + ("A" if sealed[middle] != "A" else "B") + sealed[middle + 1 :],
        "cut": sealed[:-5],
        "empty": "",
    }[change]
    response = account.refresh(tampered)
    if change == "empty" and response.status == 422:
        return
    assert_refusal(response, 401, "TokenRefreshException")


def test_me(account):
    tokens = account.login(*ADA).json()
    response = account.me(tokens["access_token"])
    assert response.status == 200
    user = response.json()
    assert user["id"] == tokens["user"]["id"]
    assert user["email"] == ADA[0]


def test_me_without_and_with_a_bad_token(account):
    assert_refusal(account.me(None), 401, "NotAuthorizedException")
    assert_refusal(account.me("no.such.token"), 401, "NotAuthorizedException")


@pytest.mark.parametrize("call", ["login", "refresh"])
@pytest.mark.parametrize(
    "body",
    [b"", b"{", b'{"email": "a@b.c",}', b"email=a", b'{"email":"a","email":"b","password":"p"}', b"\xff\xfe", b"{} {}"],
    ids=["empty", "cut", "trailing-comma", "form", "duplicate-name", "not-utf-8", "two-values"],
)
def test_malformed_json_is_400(account, call, body):
    assert_refusal(account.post(call, body), 400, "BadRequestException")


@pytest.mark.parametrize(
    "call, body, fields",
    [
        ("login", {}, {"email", "password"}),
        ("login", {"email": "ada@example.com"}, {"password"}),
        ("login", {"email": 7, "password": True}, {"email", "password"}),
        ("login", {"email": None, "password": "x"}, {"email"}),
        ("login", {"email": "ada@example.com", "password": "x", "remember_me": "yes"}, {"remember_me"}),
        ("refresh", {}, {"refresh_token"}),
        ("refresh", {"refresh_token": ["x"]}, {"refresh_token"}),
    ],
    ids=str,
)
def test_wrong_types_are_422_and_each_field_is_named(account, call, body, fields):
    refusal = assert_refusal(account.post(call, body), 422, "InvalidParameterException")
    assert set(refusal["fields"]) == fields
    assert all(isinstance(text, str) and text for text in refusal["fields"].values())


@pytest.mark.parametrize("body, status", [([], 422), ("text", 422), (7, 422), (None, 400)], ids=str)
def test_json_that_is_no_object_is_refused(account, body, status):
    assert account.post("login", body).status == status


def test_unknown_keys_are_ignored(account):
    response = account.post("login", {"email": ADA[0], "password": ADA[1], "something": {"new": [1]}})
    assert response.status == 200


def test_a_body_that_is_too_large_is_413(account):
    assert account.post("login", {"email": ADA[0], "password": "x" * 70_000}).status == 413


def test_device_info_is_accepted(account):
    device = {"device_id": "d-1", "platform": "ios", "os_version": "18.1", "app_version": "2.0"}
    tokens = account.login(*ADA, device_info=device, remember_me=False).json()
    assert account.post("refresh", {"refresh_token": tokens["refresh_token"], "device_info": device}).status == 200


def test_a_wrong_method_is_405(gateway):
    response = raw.exchange(gateway.port, "GET", "/api/v1/auth/login")
    assert_refusal(response, 405, "MethodNotAllowedException")
    assert response.header("allow") == "POST"


def test_a_login_needs_no_token_and_minds_none(account, gateway):
    """A stale token that the app still sends along must not keep its user from signing in."""
    body = json.dumps({"email": ADA[0], "password": ADA[1]}).encode()
    headers = {"Content-Type": "application/json", **bearer("stale.old.token")}
    response = raw.exchange(gateway.port, "POST", "/api/v1/auth/login", headers, body)
    account.ledger.note_answer(response)
    assert response.status == 200


def test_cognito_out_of_reach_is_503(start_gateway, pool, ledger):
    settings = pool.sign_in_settings("pool", endpoint=f"http://127.0.0.1:{free_port()}")
    gateway = start_gateway({"sign_in": {"cognito": settings}}, pool=pool)
    response = Account(gateway.port, ledger).login(*ADA)
    assert_refusal(response, 503, "IdentityProviderUnavailableException")


def test_a_wrong_client_secret_is_503_and_an_error_in_the_log(start_gateway, pool, ledger):
    wrong = "9wrong9secret9wrong9secret9wrong9secret9wrong9secr"
    ledger.note(wrong)
    gateway = start_gateway({"sign_in": {"cognito": pool.sign_in_settings("pool", client_secret=wrong)}}, pool=pool)
    response = Account(gateway.port, ledger).login(*ADA)
    assert response.status == 503
    assert response.json()["error"] in ("IdentityProviderUnavailableException", "ServiceUnavailableException")
    assert "secret" not in response.body.decode().lower()
    wait_until(
        lambda: re.search(r"^\S+ (error|critical) ", gateway.log(), re.MULTILINE),
        "an error in the log",
    )
    assert wrong not in gateway.log()
