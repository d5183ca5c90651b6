"""`identity.user_attributes`: a backend hears of e-mail address and plan with access tokens too."""

import asyncio

import jwt
import pytest
from harness import raw
from harness.account import Account, assert_refusal, bearer
from harness.cognito_client import cognito_client
from harness.cognito_front import CognitoFront
from harness.gateway import ADA, Gateway
from harness.process import wait_until
from harness.user import PASSWORD, confirmed_user

ATTRIBUTES = {"issuer": "pool", "attributes": ["email", "email_verified", "locale"]}
ROUTES = [
    {"name": "mine", "path": "/recorded/mine/**", "issuers": ["pool"], "upstream": "recorder"},
    {
        "name": "verified",
        "path": "/recorded/verified/**",
        "issuers": ["pool"],
        "require": {"email_verified": True},
        "upstream": "recorder",
    },
]


@pytest.fixture
def front(pool):
    front = CognitoFront(pool.url)
    yield front
    front.stop()


@pytest.fixture
def start(start_gateway, pool, front):
    def start(attributes: dict | None = ATTRIBUTES, writable: tuple = ("name",), **more) -> Gateway:
        identity = {"claims": {"X-Auth-Locale": "locale"}, "assertion": {"issuer": "https://gateway.test"}}
        if attributes:
            identity["user_attributes"] = attributes
        cognito = pool.sign_in_settings("pool", endpoint=front.url, writable_attributes=list(writable))
        return start_gateway(
            {"identity": identity, "routes": ROUTES, "sign_in": {"cognito": cognito}, **more}, pool=pool
        )

    return start


@pytest.fixture
def signed_in(pool, front, ledger):
    """A new user's e-mail address and access token."""

    def sign_in(gateway: Gateway) -> tuple[str, str]:
        account = Account(gateway.port, ledger)
        email = confirmed_user(account, pool)
        token = account.login(email, PASSWORD).json()["access_token"]
        front.calls.clear()
        return email, token

    return sign_in


def get(gateway: Gateway, token: str, path: str = "/recorded/mine/x") -> raw.Response:
    return raw.exchange(gateway.port, "GET", path, bearer(token))


def test_a_backend_hears_of_them_with_an_access_token(start, signed_in, front, own_recorder):
    gateway = start()
    email, token = signed_in(gateway)
    assert get(gateway, token, "/recorded/verified/x").status == 200
    assert get(gateway, token).status == 200
    for request in own_recorder.requests:
        assert request.header("x-auth-email") == email
        assert request.header("x-auth-email-verified") == "true"
        said = jwt.decode(request.header("x-auth-assertion"), options={"verify_signature": False})
        assert (said["email"], said["email_verified"]) == (email, True)
    assert front.operations() == ["GetUser"], "a token is asked about once"


def test_groups_come_with_them(start, front, own_recorder, ledger):
    """The token has the groups itself."""
    gateway = start()
    token = Account(gateway.port, ledger).login(*ADA).json()["access_token"]
    front.calls.clear()
    assert get(gateway, token).status == 200
    [request] = own_recorder.requests
    assert (request.header("x-auth-email"), request.header("x-auth-groups")) == (ADA[0], "beta")
    assert front.operations() == ["GetUser"]


def test_without_the_setting_nobody_is_asked(start, signed_in, front, own_recorder):
    gateway = start(None)
    _, token = signed_in(gateway)
    assert get(gateway, token).status == 200
    assert_refusal(get(gateway, token, "/recorded/verified/x"), 403, "AccessDeniedException")
    assert own_recorder.requests[0].header("x-auth-email") is None
    assert front.operations() == []


def test_many_requests_with_a_new_token_are_one_call_and_none_for_account_calls(start, signed_in, front, own_recorder, ledger):
    gateway = start(threads=4)
    email, token = signed_in(gateway)
    body = b"x" * 100_000

    async def post() -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
        head = f"POST /recorded/mine/x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
        writer.write(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
        answer = await reader.read()
        writer.close()
        return int(answer.split()[1])

    async def all_at_once() -> list[int]:
        return await asyncio.gather(*(post() for _ in range(40)))

    assert set(asyncio.run(all_at_once())) == {200}
    assert front.operations() == ["GetUser"]
    assert {request.header("x-auth-email") for request in own_recorder.requests} == {email}
    assert {len(request.body) for request in own_recorder.requests} == {len(body)}
    assert Account(gateway.port, ledger).me(token).json()["email"] == email
    assert front.operations() == ["GetUser", "GetUser"], "the second is the call's own"


@pytest.mark.parametrize("on_failure", ["closed", "open"])
def test_where_cognito_cannot_be_asked(start, signed_in, front, own_recorder, on_failure):
    gateway = start({**ATTRIBUTES, "on_failure": on_failure})
    email, token = signed_in(gateway)
    front.refused["GetUser"] = (500, "InternalErrorException", "try again")
    answer = get(gateway, token)
    assert get(gateway, token, "/recorded/verified/x").status == (503 if on_failure == "closed" else 403)
    assert front.operations() == ["GetUser"], "the failure is remembered for a second"
    if on_failure == "closed":
        assert_refusal(answer, 503, "IdentityProviderUnavailableException")
        assert gateway.access_line(answer.header("x-request-id"))["denial_reason"] == "attributes-unavailable"
        assert own_recorder.requests == []
    else:
        assert answer.status == 200
        assert own_recorder.requests[-1].header("x-auth-email") is None
    front.refused.clear()

    def known() -> bool:
        answer = get(gateway, token)
        return answer.status == 200 and own_recorder.requests[-1].header("x-auth-email") == email

    wait_until(known, "the attributes to be read again")


def test_a_token_that_cognito_has_revoked_is_refused(start, signed_in, pool, own_recorder):
    gateway = start({**ATTRIBUTES, "on_failure": "open"})
    _, token = signed_in(gateway)
    cognito_client(pool.url).global_sign_out(AccessToken=token)
    assert_refusal(get(gateway, token), 401, "NotAuthorizedException")
    assert own_recorder.requests == []


def test_a_change_through_the_gateway_is_seen_at_once(start, signed_in, front, own_recorder, ledger):
    gateway = start(direct_cognito="translate", writable=["email", "name"])
    email, token = signed_in(gateway)
    assert get(gateway, token).status == 200
    assert Account(gateway.port, ledger).send("PATCH", "me", {"name": "Ada"}, token).status == 200
    front.calls.clear()
    assert get(gateway, token).status == get(gateway, token).status == 200
    assert front.operations() == ["GetUser"]
    change = [{"Name": "email", "Value": f"new-{email}"}]
    cognito_client(gateway.url).update_user_attributes(AccessToken=token, UserAttributes=change)
    assert get(gateway, token).status == 200
    assert own_recorder.requests[-1].header("x-auth-email") == f"new-{email}"
    assert own_recorder.requests[-1].header("x-auth-email-verified") == "false"
    assert_refusal(get(gateway, token, "/recorded/verified/x"), 403, "AccessDeniedException")


def test_a_reload_changes_what_is_read(start, signed_in, front, own_recorder):
    gateway = start()
    email, token = signed_in(gateway)
    assert get(gateway, token).status == 200
    gateway.reload({"identity": {"user_attributes": ...}})
    assert get(gateway, token).status == 200
    assert [request.header("x-auth-email") for request in own_recorder.requests] == [email, None]
