"""A route's requirements of a verified token: scopes, groups, claims, the age of a sign-in, the subject in the path."""

import time
import urllib.parse

import pytest
from harness import h2raw, raw
from harness.account import assert_refusal, bearer
from harness.h2raw import H2Connection
from harness.websocket import Client, Held

SUBJECT = "8c3b1c52-0000-4000-8000-1234567890ab"


def route(name: str, path: str | None = None, **more) -> dict:
    return {"name": name, "path": path or f"/{name}", "access": "required", "upstream": "recorder", **more}


ROUTES = [
    route("plain"),
    route("orders", require={"scopes": {"all": ["openid", "orders/read"]}}),
    route("staff", require={"groups": {"any": ["drivers", "admin"]}}),
    route("admin", require={"groups": {"all": ["drivers", "admin"]}}, access="optional"),
    route("tenant", require={"claims": [{"claim": ["tenant", "id"], "in": ["acme", "zenith"]}]}),
    route("mail", require={"email_verified": True}),
    route("recent", require={"max_age": "5m"}),
    route("socket", require={"groups": {"any": ["admin"]}}, websocket=True),
    route("own", "/users/{sub}/**"),
]


@pytest.fixture
def gateway(start_gateway):
    gateway = start_gateway({"routes": ROUTES})
    gateway.wait_until_ready()
    return gateway


def get(gateway, path: str, token: str | None, **headers) -> raw.Response:
    return raw.exchange(gateway.port, "GET", path, {**(bearer(token) if token else {}), **headers})


def denied(gateway, answer: raw.Response, reason: str, challenge: str | None = None) -> None:
    """403 in the one form of all refusals; why is in the log alone."""
    body = assert_refusal(answer, 403, "AccessDeniedException")
    assert reason not in answer.body.decode()
    assert answer.header("www-authenticate") == challenge
    assert gateway.access_line(body["requestId"])["denial_reason"] == reason


def test_who_meets_the_requirements_passes(gateway, issuer, own_recorder):
    scope = "openid orders/read"
    token = issuer.access(scope=scope, tenant={"id": "acme"}, email_verified=True, auth_time=int(time.time()) - 10)
    paths = ["/plain", "/orders", "/staff", "/tenant", "/mail", "/recent", f"/users/{SUBJECT}/photos?size=9"]
    for path in paths * 2:
        assert get(gateway, path, token).status == 200, path
    assert [each.target for each in own_recorder.requests] == paths * 2


def test_who_lacks_something_is_refused_and_the_backend_hears_nothing(gateway, issuer, own_recorder):
    token = issuer.access()
    for _ in range(2):
        denied(
            gateway, get(gateway, "/orders", token), "insufficient-scope",
            'Bearer error="insufficient_scope", scope="openid orders/read"',
        )  # fmt: skip
        denied(gateway, get(gateway, "/admin", token), "group-missing")
        denied(gateway, get(gateway, "/tenant", token), "claim-mismatch")
        denied(gateway, get(gateway, "/mail", token), "email-not-verified")
        denied(gateway, get(gateway, "/users/somebody-else/photos", token), "subject-mismatch")
        denied(gateway, get(gateway, f"/users/{SUBJECT};x/photos", token), "subject-mismatch")
    denied(gateway, get(gateway, "/tenant", issuer.access(tenant={"id": "acme,zenith"})), "claim-mismatch")
    assert own_recorder.requests == []
    samples = gateway.samples()
    for reason in ("insufficient-scope", "group-missing", "email-not-verified"):
        assert samples[f'gatehouse_denials_total{{reason="{reason}"}}'] == 2
    assert samples['gatehouse_denials_total{reason="subject-mismatch"}'] == 4
    assert samples['gatehouse_denials_total{reason="claim-mismatch"}'] == 3


def test_a_sign_in_that_was_too_long_ago_is_401_with_the_age_that_would_do(gateway, issuer, own_recorder):
    answer = get(gateway, "/recent", issuer.access(auth_time=int(time.time()) - 310))
    body = assert_refusal(answer, 401, "NotAuthorizedException")
    assert answer.header("www-authenticate") == 'Bearer error="insufficient_user_authentication", max_age="300"'
    assert gateway.access_line(body["requestId"])["denial_reason"] == "authentication-too-old"
    assert own_recorder.requests == []


def test_on_an_optional_route_only_a_token_that_is_there_is_judged(gateway, issuer, own_recorder):
    assert get(gateway, "/admin", None).status == 200
    denied(gateway, get(gateway, "/admin", issuer.access()), "group-missing")
    assert get(gateway, "/admin", issuer.access(**{"cognito:groups": ["admin", "drivers"]})).status == 200
    assert len(own_recorder.requests) == 2


def test_http2_comes_under_the_same_policy(gateway, issuer, own_recorder):
    fields = [("authorization", f"Bearer {issuer.access()}")]
    with H2Connection(gateway.port) as connection:
        answers = {
            path: connection.response(connection.open(h2raw.request("GET", path, *fields))).status
            for path in ("/staff", "/orders", "/users/somebody-else", f"/users/{SUBJECT}")
        }
    assert answers == {"/staff": 200, "/orders": 403, "/users/somebody-else": 403, f"/users/{SUBJECT}": 200}
    assert [each.target for each in own_recorder.requests] == ["/staff", f"/users/{SUBJECT}"]


def test_a_websocket_comes_under_the_same_policy(gateway, issuer, own_recorder):
    own_recorder.on("/socket", Held())
    with Client(gateway.port) as client:
        client.ask("/socket", bearer(issuer.access()))
        denied(gateway, client.response(), "group-missing")
    assert own_recorder.requests == []
    with Client(gateway.port) as client:
        client.open("/socket", bearer(issuer.access(**{"cognito:groups": ["admin"]})))


def test_a_reload_that_requires_more_holds_for_tokens_that_were_seen_before(gateway, issuer, own_recorder):
    token = issuer.access()
    assert get(gateway, "/staff", token).status == 200
    routes = [dict(each) for each in ROUTES]
    routes[2]["require"] = {"groups": {"any": ["admin"]}}
    gateway.reload({"routes": routes})
    denied(gateway, get(gateway, "/staff", token), "group-missing")
    routes.insert(0, route("first", require={"groups": {"any": ["beta"]}}))
    gateway.reload({"routes": routes})
    assert get(gateway, "/first", token).status == 200
    denied(gateway, get(gateway, "/staff", token), "group-missing")


def test_claims_have_headers_that_are_the_gateways_own(start_gateway, issuer, own_recorder):
    claims = {"X-Auth-Tenant": "custom:tenant", "X-Roles": ["realm", "roles"], "X-Level": "level"}
    open_route = {"name": "open", "path": "/open", "access": "public", "upstream": "recorder"}
    gateway = start_gateway({"routes": [*ROUTES, open_route], "identity": {"claims": claims}})
    gateway.wait_until_ready()
    roles = ["a,b", "c\r\nX-Auth-Subject: mallory", "d"]
    token = issuer.access(**{"custom:tenant": "acmé, inc", "realm": {"roles": roles}, "level": 3})
    spoofed = {"X-Roles": "root", "x_roles": "root", "X.Roles": "root", "X-Level": "9"}
    for _ in range(2):
        assert get(gateway, "/plain", token, **spoofed).status == 200
        request = own_recorder.requests[-1]
        assert request.header("x-auth-tenant") == "acm%C3%A9%2C inc"
        assert [urllib.parse.unquote(role) for role in request.header("x-roles").split(",")] == roles
        assert request.header("x-level") == "3"
        assert request.header("x-auth-subject") == SUBJECT
        assert not {"x_roles", "x.roles"} & request.names
    assert get(gateway, "/open", None, **spoofed).status == 200
    assert not {"x-roles", "x_roles", "x.roles", "x-level", "x-auth-tenant"} & own_recorder.requests[-1].names
    # A reload that tells other claims tells them of tokens that were seen before.
    gateway.reload({"identity": {"claims": {"X-Level": ..., "X-Rank": "level"}}})
    assert get(gateway, "/plain", token).status == 200
    assert own_recorder.requests[-1].header("x-rank") == "3"
    assert "x-level" not in own_recorder.requests[-1].names
