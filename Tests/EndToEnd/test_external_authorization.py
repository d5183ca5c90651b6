"""`listeners[].external_authorization`: real proxies ask the gateway, and hostile clients try what they can through them."""

import json
import re

import pytest
import yaml
from harness import documentation, raw
from harness.account import bearer
from harness.asking_proxies import PROXIES
from harness.backend import Request
from harness.gateway import ADA, Gateway
from harness.h2raw import H2Connection, request as h2_request
from harness.process import accepts_connections, free_port, wait_until
from harness.raw import From

SUBJECT = "8c3b1c52-0000-4000-8000-1234567890ab"
CLIENT, OTHER_CLIENT = "127.0.0.9", "127.0.0.10"
EVERY_KIND = ["nginx", "traefik", "caddy", "envoy"]
WORDS = ("mallory", "superuser")


def decisions(kind: str, trusted: list[str] | None = None) -> dict:
    authorization = {"proxy": kind, "trusted": trusted or ["127.0.0.1"]}
    return {"address": f"127.0.0.1:{free_port()}", "external_authorization": authorization}


def port_of(listener: dict) -> int:
    return int(listener["address"].rpartition(":")[2])


@pytest.fixture
def asked(start_gateway):
    """A gateway that serves at its first listener and decides at its second, whose port is returned too."""

    def start(kind: str, trusted: list[str] | None = None, routes=(), pool=None, **changes) -> tuple[Gateway, int]:
        listeners = [{"address": f"127.0.0.1:{free_port()}"}, decisions(kind, trusted)]
        gateway = start_gateway({"listeners": listeners, **changes}, pool=pool)
        if routes:
            gateway.reload({"routes": [*gateway.config["routes"], *routes]})
        port = port_of(listeners[1])
        wait_until(lambda: accepts_connections(port), "the second listener")
        return gateway, port

    return start


def question(
    kind: str, method: str, target: str, headers: dict[str, str] | None = None, host: str = "api.test", client: str | None = CLIENT
) -> tuple[str, str, dict[str, str]]:
    """Method, target and headers with which a proxy asks."""
    fields = {**({"X-Forwarded-For": client} if client else {}), **(headers or {})}
    if kind == "envoy":
        return method, target, {"Host": host, **fields}
    if kind == "nginx":
        return "GET", "/", {"X-Original-Method": method, "X-Original-URL": f"http://{host}{target}", **fields}
    return "GET", "/", {"X-Forwarded-Method": method, "X-Forwarded-Host": host, "X-Forwarded-Uri": target, **fields}


def ask(port: int, kind: str, method: str, target: str, headers: dict[str, str] | None = None, **more) -> raw.Response:
    return raw.exchange(port, *question(kind, method, target, headers, **more))


def reason(gateway: Gateway, answer: raw.Response) -> str | None:
    return gateway.access_line(answer.header("x-request-id")).get("denial_reason")


def identity(request: Request | raw.Response) -> dict[str, str]:
    """Caddy 2.6 sends headers empty that the gateway's response lacks."""
    return {name.lower(): value for name, value in request.headers if name.lower().startswith("x-auth") and value}


# ---- Real proxies, with the documentation's configurations


@pytest.fixture(params=PROXIES, ids=[each.name for each in PROXIES])
def fronted(request, asked, run_directory, own_recorder):
    """A real proxy before the recording backend: the gateway, and the proxy's port."""
    routes = [
        {"name": "near", "path": "/recorded/near", "access": "public", "upstream": "recorder", "allow": [CLIENT]},
        {"name": "rare", "path": "/recorded/rare", "access": "public", "upstream": "recorder", "rate_limit": {"rate": "1/1h"}},
        {"name": "hosted", "path": "/recorded/hosted", "hosts": ["api.test"], "access": "public", "upstream": "recorder"},
    ]
    gateway, port = asked(request.param.name, routes=routes)
    directory = run_directory / f"asking-{request.node.name.replace('[', '-').rstrip(']')}"
    with request.param.running(directory, port, own_recorder.port) as front:
        yield gateway, front


def through(front: int, method: str, target: str, headers=None, body=None, client: str = CLIENT) -> raw.Response:
    with From(client, front) as connection:
        return connection.request(method, target, {"Host": "api.test", **(headers or {})}, body)


def test_a_request_that_may_go_on_reaches_the_backend_with_the_callers_identity(fronted, own_recorder, issuer):
    gateway, front = fronted
    token = bearer(issuer.access())
    path = "/recorded/required/a%20b"
    target = f"{path}?x=1&y=%2F"
    assert raw.exchange(gateway.port, "GET", target, token).status == 200
    expected = identity(own_recorder.last(path))
    assert expected["x-auth-subject"] == SUBJECT
    for method, body in [("GET", None), ("POST", b"a body"), ("DELETE", None), ("PUT", b"x" * 100_000)]:
        own_recorder.forget()
        assert through(front, method, target, token, body).status == 200, method
        request = own_recorder.last(path)
        assert (request.method, request.target, request.body) == (method, target, body or b"")
        assert identity(request) == expected
        assert request.header("authorization") is None
    lines = wait_until(lambda: [each for each in gateway.access_log() if each["method"] == "PUT"], "the decision's line")
    assert len(lines) == 1 and "decision_for" in lines[0]
    line = lines[0]
    assert line["route"] == "required" and line["status"] == 200 and line["client_address"] == CLIENT
    assert line["path"] == "/recorded/required/a%20b?x=&y="


def test_a_chunked_body_goes_past_the_gateway(fronted, own_recorder, issuer):
    _, front = fronted
    with From(CLIENT, front) as connection:
        head = f"POST /recorded/required/x HTTP/1.1\r\nHost: api.test\r\nAuthorization: Bearer {issuer.access()}\r\n"
        connection.send(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + raw.chunked(b"one", b"two"))
        assert connection.response().status == 200
    assert own_recorder.last("/recorded/required/x").body == b"onetwo"


SPOOFS = [
    "X-Auth-Subject: mallory", "x-auth-email: mallory@evil.test", "X-AUTH-GROUPS: superuser", "X-Auth-Scopes: superuser",
    "X-Auth-Username: mallory", "X-Auth-Email-Verified: mallory", "X-Auth-Issuer: mallory", "X-Auth-Client: mallory",
    "X-Auth-Token-Use: mallory", "X-Auth-Expires: mallory", "X_Auth_Subject: mallory", "X-Auth_Subject: mallory",
]  # fmt: skip


@pytest.mark.parametrize("route", ["public", "optional", "required"])
def test_an_invented_identity_does_not_reach_the_backend(fronted, own_recorder, issuer, route):
    """A token without groups, e-mail address or user name of its own leaves those headers out, whoever sends them."""
    _, front = fronted
    token = [f"Authorization: Bearer {issuer.access()}"] if route == "required" else []
    reached = 0
    # Alone, all together, twice, and listed as the connection's own.
    for lines in [*([each] for each in SPOOFS), SPOOFS[:10], SPOOFS[:1] * 2, [*SPOOFS[:2], "Connection: x-auth-subject"]]:
        own_recorder.forget()
        with From(CLIENT, front) as connection:
            text = "".join(f"{line}\r\n" for line in lines + token)
            connection.send(f"GET /recorded/{route}/x HTTP/1.1\r\nHost: api.test\r\n{text}\r\n".encode())
            status = connection.response().status
        for request in own_recorder.requests:
            assert not [word for word in WORDS if word in request.raw_head.decode().lower()], request.raw_head
            # Caddy takes away what a client lists in Connection: the caller is nobody then.
            possible = {SUBJECT if token else None} | ({None} if "Connection" in str(lines) else set())
            assert identity(request).get("x-auth-subject") in possible
            reached += 1
        # Envoy refuses underscores itself, and the gateway those that Caddy passes on.
        assert status == 200 or "_" in str(lines) and status in (400, 403), lines
    assert reached >= 10


def test_what_may_not_go_on_does_not_reach_the_backend(fronted, own_recorder, issuer):
    gateway, front = fronted
    missing = through(front, "GET", "/recorded/required/x")
    assert missing.status == 401 and missing.header("www-authenticate").startswith("Bearer")
    forged = bearer(issuer.access()[:-8] + "AAAAAAAA")
    assert through(front, "GET", "/recorded/required/x", forged).status == 401
    for method, target in [
        ("GET", "/nowhere"), ("DELETE", "/recorded/exact"), ("GET", "/recorded/access-only/x/../../required/x"),
        ("GET", "/recorded/public/%2e%2e/required/x"), ("GET", "/recorded/public//x"), ("GET", "/recorded/public/..%2frequired/x"),
        ("GET", "/recorded/public/%252e%252e/required/x"), ("GET", "/recorded/public/locked"), ("GET", "/api/v1/auth/me"),
    ]:  # fmt: skip
        answer = through(front, method, target)
        assert 400 <= answer.status < 500, (target, answer.status)
    assert own_recorder.requests == []
    # Other names than its own.
    for name in ["X-Original-URL", "X-Rewrite-URL", "X-HTTP-Method-Override", "X-Forwarded-Path", "X-Host"]:
        assert through(front, "GET", "/recorded/public/x", {name: "/recorded/required/x"}).status in (200, 403), name
    for name in ["X-Original-Method", "X-Forwarded-Host", "X-Forwarded-Method", "X-Forwarded-Uri", "Forwarded", "X-Real-IP"]:
        assert through(front, "GET", "/recorded/public/x", {name: "invented.test"}).status in (200, 400, 403), name
    for name in ["X-Accel-Redirect", "X-Sendfile", "X-Middleware-Subrequest"]:
        assert through(front, "GET", "/recorded/public/x", {name: "/etc/passwd"}).status == 403, name
    assert own_recorder.requests
    dangerous = {
        "x-http-method-override", "x-rewrite-url", "x-original-url", "x-original-method", "x-forwarded-uri",
        "x-forwarded-method", "forwarded", "x-host", "x-accel-redirect", "x-sendfile", "x-middleware-subrequest",
    }  # fmt: skip
    for request in own_recorder.requests:
        assert not dangerous & {name.lower() for name in request.names}, request.names
        assert "invented.test" not in str(request.headers)


def test_a_client_cannot_choose_the_request_that_is_judged(fronted, own_recorder):
    _, front = fronted
    public = "http://api.test/recorded/public/x"
    for fields in [
        {"X-Original-URL": public, "X-Original-Method": "GET"},
        {"X-Forwarded-Uri": "/recorded/public/x", "X-Forwarded-Method": "GET", "X-Forwarded-Host": "api.test"},
        {"X-Original-URI": "/recorded/public/x", "X-Forwarded-Prefix": "/recorded/public"},
        {"x-envoy-original-path": "/recorded/public/x", "X-Rewrite-URL": "/recorded/public/x"},
    ]:
        assert through(front, "GET", "/recorded/required/x", fields).status in (401, 403), fields
    assert own_recorder.requests == []


def test_the_clients_address_is_the_one_that_the_proxy_sees(fronted, own_recorder):
    _, front = fronted
    assert through(front, "GET", "/recorded/near").status == 200
    invented = {"X-Forwarded-For": CLIENT, "X-Real-IP": CLIENT, "Forwarded": f"for={CLIENT}"}
    for headers in [{}, invented, {"X-Forwarded-For": f"{CLIENT}, 127.0.0.1"}]:
        assert through(front, "GET", "/recorded/near", headers, client=OTHER_CLIENT).status == 403
    # Each client has its own rate.
    for client in (CLIENT, OTHER_CLIENT):
        assert through(front, "GET", "/recorded/rare", client=client).status == 200
        assert through(front, "GET", "/recorded/rare", client=client).status in (403, 429)
        more = {"X-Forwarded-For": "192.0.2.77"}
        assert through(front, "GET", "/recorded/rare", more, client=client).status in (403, 429)


def test_the_host_of_the_original_request_chooses_the_route(fronted, own_recorder):
    _, front = fronted
    assert through(front, "GET", "/recorded/hosted").status == 200
    assert through(front, "GET", "/recorded/hosted", {"Host": "evil.test"}).status in (403, 404)


def test_nothing_passes_while_the_gateway_is_away(fronted, own_recorder, issuer):
    gateway, front = fronted
    assert through(front, "GET", "/recorded/public/x").status == 200
    own_recorder.forget()
    gateway.stop()
    for target in ["/recorded/public/x", "/recorded/required/x"]:
        assert through(front, "GET", target, bearer(issuer.access())).status in (403, 500, 502, 503)
    assert own_recorder.requests == []


def test_the_sample_for_traefik_takes_nothing_from_clients():
    """Traefik is not to be had here: `question` asks as it does."""
    middlewares = yaml.safe_load(documentation.block("external-authorization.md", "external-authorization-traefik"))["http"]["middlewares"]
    asking = middlewares["gatehouse"]["forwardAuth"]
    assert asking["trustForwardHeader"] is False
    assert re.match(asking["authResponseHeadersRegex"], "X-Auth-Subject")
    assert middlewares["no-token"]["headers"]["customRequestHeaders"] == {"Authorization": ""}


# ---- The decision service itself


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_a_decision_is_the_one_that_a_served_request_gets(asked, own_recorder, issuer, kind):
    gateway, port = asked(kind)
    tokens = {"none": {}, "good": bearer(issuer.access()), "id": bearer(issuer.id()), "bad": bearer("a.b.c")}
    targets = [
        "/recorded/public/x", "/recorded/optional/x", "/recorded/required/x", "/recorded/access-only/x", "/recorded/exact",
        "/recorded/public/locked", "/recorded/segment/a/detail", "/nowhere", "/", "/recorded/public/%2e%2e/required",
        "/recorded/public/..", "/recorded/public//x", "/recorded/public/a%2fb", "/recorded/public/%00", "/recorded/public/%zz",
        "/recorded/public/x;y=/../required", "/recorded/public/x?y=%2e%2e%00", "/recorded/public/%E2%88%95x",
    ]  # fmt: skip
    for name, token in tokens.items():
        for target in targets:
            for method in ("GET", "POST", "OPTIONS"):
                served = raw.exchange(gateway.port, method, target, {"Host": "api.test", **token})
                own_recorder.forget()
                decided = ask(port, kind, method, target, token)
                status = served.status
                if kind == "nginx" and status not in (200, 401):
                    status = 403
                assert decided.status == status, (name, method, target)
                if status != 200:
                    assert reason(gateway, decided) == reason(gateway, served), (name, method, target)
                    assert decided.header("www-authenticate") == served.header("www-authenticate")
                    assert not identity(decided)
                assert own_recorder.requests == []


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_a_permission_has_the_identity_and_no_body(asked, own_recorder, issuer, kind):
    rules = {"request_headers": {"add": {"X-Backend-Key": "secret"}}, "response_headers": {"add": {"X-For-Clients": "1"}}}
    routes = [{"name": "ruled", "path": "/recorded/ruled", "access": "required", "upstream": "recorder", **rules}]
    gateway, port = asked(kind, routes=routes, identity={"assertion": {"issuer": "https://gateway.test"}})
    token = bearer(issuer.access())
    assert raw.exchange(gateway.port, "GET", "/recorded/ruled", token).status == 200
    backend = own_recorder.last("/recorded/ruled")
    answer = ask(port, kind, "GET", "/recorded/ruled", {**token, "X-Auth-Subject": "mallory", "X-Auth-Email": "mallory"})
    assert answer.status == 200 and answer.body == b"" and answer.header("content-length") == "0"
    assert answer.header("cache-control") == "no-store"
    assert answer.header("x-backend-key") is None and answer.header("x-for-clients") is None
    assert answer.header("x-forwarded-for") is None and answer.header("traceparent") is None
    given = identity(answer)
    assert set(given) == set(identity(backend)) and "x-auth-assertion" in given
    given.pop("x-auth-assertion")
    assert given == {name: value for name, value in identity(backend).items() if name != "x-auth-assertion"}
    # Nobody's request.
    answer = ask(port, kind, "GET", "/recorded/optional/x", {"X-Auth-Subject": "mallory"})
    assert answer.status == 200 and identity(answer) == {}


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_others_than_the_proxies_get_no_decision(asked, own_recorder, issuer, kind):
    # One that is trusted for the client's address may not ask for that.
    gateway, port = asked(kind, ["127.0.0.1", "192.0.2.0/24"], trusted_proxies=["127.0.0.2"])
    for address in ("127.0.0.2", "127.0.0.3"):
        with From(address, port) as connection:
            answer = connection.request(*question(kind, "GET", "/recorded/required/x", bearer(issuer.access()), client="127.0.0.1"))
            assert answer.status == 403 and not identity(answer)
            line = gateway.access_line(answer.header("x-request-id"))
            assert line["denial_reason"] == "proxy-not-trusted" and line["decision_for"] == kind
            assert "route" not in line
    assert ask(port, kind, "GET", "/recorded/required/x", bearer(issuer.access())).status == 200
    # A proxy in front of the one that asks is no client.
    chain = f"10.9.9.9, {CLIENT}, 127.0.0.2"
    answer = ask(port, kind, "GET", "/recorded/public/x", client=chain)
    assert gateway.access_line(answer.header("x-request-id"))["client_address"] == CLIENT


GOOD = {
    "nginx": [("X-Original-Method", "GET"), ("X-Original-URL", "http://api.test/recorded/public/x")],
    "traefik": [("X-Forwarded-Method", "GET"), ("X-Forwarded-Host", "api.test"), ("X-Forwarded-Uri", "/recorded/public/x")],
}
WRONG = {
    "X-Original-Method": ["", "GE T", "GET, GET", "G" * 33, "CONNECT", "GET/", "GËT"],
    "X-Forwarded-Method": ["", "GE T", "GET, GET", "CONNECT"],
    "X-Forwarded-Host": ["", "api.test, api.test", "api.test/x", "a@api.test", "api.test:99999", "api.test:80:80", "[::1", "*"],
    "X-Original-URL": [
        "", "/recorded/public/x", "//api.test/recorded/public/x", "http:///recorded/public/x", "http://api.test",
        "http://api.test?x", "ftp://api.test/recorded/public/x", "HTTP://api.test/recorded/public/x",
        "http://user@api.test/recorded/public/x", "http://api.test:x/recorded/public/x", "http://api.test/recorded/public/x#y",
        "http://api.test/recorded/public/x http://api.test/recorded/public/x", "http://api.test\\@evil.test/recorded/public/x",
        "http://api.test/recorded/public/\x7f", "http://api.test/recorded/public/\xe4", "httpx://api.test/recorded/public/x",
    ],
    "X-Forwarded-Uri": [
        "", "recorded/public/x", "*", "http://api.test/recorded/public/x", "?x", "/recorded/public/x#y", "/recorded/public/x y",
        "/recorded/public/\xe4", "../recorded/public/x",
    ],
}  # fmt: skip


@pytest.mark.parametrize("kind", GOOD)
def test_an_original_request_that_is_not_clear_is_refused(asked, own_recorder, kind):
    gateway, port = asked(kind)
    refused = 403 if kind == "nginx" else 400

    def asking(lines: list[tuple[str, str]]) -> raw.Response:
        head = "GET / HTTP/1.1\r\nHost: gatehouse.test\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines)
        with raw.RawConnection(port) as connection:
            connection.send(head.encode("latin-1") + b"\r\n")
            return connection.response()

    client = ("X-Forwarded-For", CLIENT)
    assert asking([*GOOD[kind], client]).status == 200
    cases = [[each for each in GOOD[kind] if each[0] != name] + [client] for name, _ in GOOD[kind]]
    cases += [[*GOOD[kind], GOOD[kind][number], client] for number in range(len(GOOD[kind]))]
    cases += [[*GOOD[kind], (name, "/recorded/required/x"), client] for name, _ in GOOD[kind][-1:]]
    for name, _ in GOOD[kind]:
        cases += [[each if each[0] != name else (name, value) for each in GOOD[kind]] + [client] for value in WRONG[name]]
    # Nobody knows who the client is.
    cases += [[*GOOD[kind], ("X-Forwarded-For", value)] for value in ("", "unknown", "unix:", f"{CLIENT}, x", f"{CLIENT},")]
    cases += [GOOD[kind], [*GOOD[kind], client, ("X-Forwarded-For", "unknown")]]
    for lines in cases:
        answer = asking(lines)
        # A byte that no field may have is refused as HTTP.
        if answer.status == refused:
            found = reason(gateway, answer)
            assert found == "original-request-unclear", (lines, found)
            # The proxy's connection is as good as before.
            assert answer.header("connection") is None
        else:
            assert answer.status == 400, (lines, answer.status)
    assert own_recorder.requests == []


def test_a_question_of_envoys_names_a_host_and_a_client(asked):
    gateway, port = asked("envoy")
    assert ask(port, "envoy", "GET", "/recorded/public/x", client=None).status == 400
    with raw.RawConnection(port) as connection:
        connection.send(f"GET /recorded/public/x HTTP/1.0\r\nX-Forwarded-For: {CLIENT}\r\n\r\n".encode())
        answer = connection.response()
        assert answer.status == 400 and reason(gateway, answer) == "original-request-unclear"
    # The other proxies' headers are a client's here.
    others = {"X-Forwarded-Uri": "/recorded/public/x", "X-Forwarded-Method": "GET", "X-Forwarded-Host": "api.test"}
    assert ask(port, "envoy", "GET", "/recorded/required/x", others).status == 401


def test_envoy_may_ask_by_http2(asked, issuer):
    _, port = asked("envoy")
    with H2Connection(port) as connection:
        token = ("authorization", f"Bearer {issuer.access()}")
        fields = h2_request("POST", "/recorded/required/x", ("x-forwarded-for", CLIENT), token)
        answer = connection.response(connection.open(fields))
        assert answer.status == 200 and dict(answer.headers)["x-auth-subject"] == SUBJECT
        answer = connection.response(connection.open(h2_request("GET", "/recorded/required/x", ("x-forwarded-for", CLIENT))))
        assert answer.status == 401


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_a_header_that_gives_backends_another_request_is_refused(asked, kind):
    routes = [{"name": "dav", "path": "/recorded/dav", "access": "public", "upstream": "recorder", "forward_headers": ["Destination"]}]
    gateway, port = asked(kind, routes=routes)
    for name, value in [
        ("X-Original-URI", "/recorded/required/x"), ("X-Rewrite-URL", "/x"), ("x_http_method_override", "DELETE"),
        ("X-HTTP-Method", "DELETE"), ("X-Host", "evil.test"), ("Destination", "/recorded/required/x"), ("Script-Name", "/x"),
        ("X_Auth_Subject", "mallory"), ("X-Auth_Subject", "mallory"), ("x.auth.subject", "mallory"), ("Content_Length", "7"),
    ]:  # fmt: skip
        answer = ask(port, kind, "GET", "/recorded/public/x", {name: value})
        assert answer.status == 403 and reason(gateway, answer) == "override-header", name
    assert ask(port, kind, "COPY", "/recorded/dav", {"Destination": "/recorded/dav/b"}).status == 200
    # Proxies add what they know of the client.
    harmless = {"X-Real-IP": CLIENT, "X-Forwarded-Proto": "https", "X-Forwarded-Port": "443", "X-Forwarded-Server": "front"}
    assert ask(port, kind, "GET", "/recorded/public/x", harmless).status == 200


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_account_calls_are_never_carried_out(asked, pool, kind):
    gateway, port = asked(kind, pool=pool)
    calls = [("POST", "login"), ("POST", "register"), ("POST", "logout"), ("GET", "me"), ("DELETE", "me"), ("OPTIONS", "login")]
    body = json.dumps({"email": ADA[0], "password": ADA[1]}).encode()
    for method, call in calls:
        for path in (f"/api/v1/auth/{call}", f"/api/v1/auth/{call}/"):
            method_of_question, target, headers = question(kind, method, path, {"Content-Type": "application/json"})
            answer = raw.exchange(port, method_of_question, target, headers, body)
            assert answer.status in (401, 403, 404, 405), (method, path)
            assert b"token" not in answer.body.lower() or answer.status == 401
    login = ask(port, kind, "POST", "/api/v1/auth/login")
    assert login.status == 403 and reason(gateway, login) == "not-decided"
    assert gateway.audit_log() == []
    # At a listener that serves they are.
    assert raw.exchange(gateway.port, "POST", "/api/v1/auth/login", {"Content-Type": "application/json"}, body).status == 200


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_calls_to_cognito_and_preflights_are_refused(asked, kind):
    cors = {"origins": ["https://app.test"]}
    routes = [{"name": "page", "path": "/recorded/page", "access": "required", "upstream": "recorder", "cors": cors}]
    gateway, port = asked(kind, routes=routes)
    target = {"X-Amz-Target": "AWSCognitoIdentityProviderService.InitiateAuth", "Content-Type": "application/x-amz-json-1.1"}
    answer = ask(port, kind, "POST", "/", target)
    assert answer.status == 403 and reason(gateway, answer) == "direct-cognito"
    preflight = {"Origin": "https://app.test", "Access-Control-Request-Method": "GET"}
    assert raw.exchange(gateway.port, "OPTIONS", "/recorded/page", preflight).status == 204
    answer = ask(port, kind, "OPTIONS", "/recorded/page", preflight)
    assert answer.status == 403 and reason(gateway, answer) == "not-decided"


@pytest.mark.parametrize("kind", ["nginx", "traefik", "caddy"])
def test_a_websocket_is_judged_as_one_without_its_upgrade(asked, issuer, kind):
    """Proxies keep `Upgrade` to themselves. A page of another site must not open a WebSocket with the user's cookie."""
    routes = [
        {
            "name": "socket", "path": "/recorded/socket", "access": "required", "upstream": "recorder", "websocket": True,
            "token_cookie": "session",
        }
    ]  # fmt: skip
    gateway, port = asked(kind, routes=routes)
    opening = {"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version": "13", "Cookie": f"session={issuer.access()}"}
    for origin, status in [("https://evil.test", 403), ("http://api.test", 200), (None, 403)]:
        headers = {**opening, **({"Origin": origin} if origin else {})}
        answer = ask(port, kind, "GET", "/recorded/socket", headers)
        assert answer.status == status, origin
    # On a route without `websocket` none opens, as where the gateway forwards.
    answer = ask(port, kind, "GET", "/recorded/public/x", {**opening, "Origin": "http://api.test"})
    assert answer.status == 403 and reason(gateway, answer) == "not-decided"
    # As for a request that changes something.
    post = {"Cookie": opening["Cookie"], "Origin": "https://evil.test"}
    answer = ask(port, kind, "POST", "/recorded/socket", post)
    assert answer.status == 403 and reason(gateway, answer) == "cross-site-request"


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_no_body_is_waited_for(asked, kind):
    _, port = asked(kind)
    with raw.RawConnection(port) as connection:
        method, target, headers = question(kind, "POST", "/recorded/public/x")
        connection.send(raw.request_bytes(method, target, {**headers, "Content-Length": "1000000"}))
        assert connection.response().status == 200


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_rates_and_counts_are_those_of_the_route(asked, kind):
    routes = [{"name": "rare", "path": "/recorded/rare", "access": "public", "upstream": "recorder", "rate_limit": {"rate": "1/1h"}}]
    gateway, port = asked(kind, routes=routes)
    assert ask(port, kind, "GET", "/recorded/rare").status == 200
    answer = ask(port, kind, "GET", "/recorded/rare")
    assert answer.status == (403 if kind == "nginx" else 429) and int(answer.header("retry-after")) > 3000
    assert reason(gateway, answer) == "rate-limited-route"
    assert ask(port, kind, "GET", "/recorded/rare", client=OTHER_CLIENT).status == 200
    counted = {name: value for name, value in gateway.samples().items() if name.startswith("gatehouse_requests_total")}
    assert sum(value for name, value in counted.items() if 'route="rare"' in name) == 3
    # A served request counts against the same limit.
    answer = raw.exchange(gateway.port, "GET", "/recorded/rare", {"X-Forwarded-For": CLIENT})
    assert answer.status == 200, "the client is 127.0.0.1 here"


def test_a_reload_changes_who_asks(asked):
    gateway, port = asked("nginx")
    assert ask(port, "nginx", "GET", "/recorded/public/x").status == 200
    first, second = gateway.config["listeners"]
    changed = {**second, "external_authorization": {"proxy": "traefik", "trusted": ["127.0.0.1"]}}
    gateway.reload({"listeners": [first, changed]})
    assert ask(port, "nginx", "GET", "/recorded/public/x").status == 400
    assert ask(port, "traefik", "GET", "/recorded/public/x").status == 200
    gateway.reload({"listeners": [first, {"address": second["address"]}]})
    assert ask(port, "traefik", "GET", "/recorded/public/x").status == 404
