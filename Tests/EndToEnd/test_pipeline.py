"""Issue item "Pipeline": routes, tokens, identity headers, forwarding headers."""

import json
import socket
import ssl
import time

import pytest
from harness import raw
from harness.account import assert_refusal, bearer
from harness.certificates import Authority
from harness.keys import CLIENT_ID, ISSUER, Issuer, SigningKey, flip_signature
from harness.process import free_port, wait_until

SUBJECT = "8c3b1c52-0000-4000-8000-1234567890ab"
REQUIRED = "/recorded/required/x"


def get(gateway, target: str, headers: dict[str, str] | None = None, method: str = "GET") -> raw.Response:
    return raw.exchange(gateway.port, method, target, headers)


# Routes


@pytest.mark.parametrize(
    "target, method, status",
    [
        ("/recorded/exact", "GET", 200),
        ("/recorded/exact", "POST", 200),
        ("/recorded/exact/more", "GET", 404),
        ("/recorded/exac", "GET", 404),
        ("/recorded/segment/one/detail", "GET", 200),
        ("/recorded/segment/one/two/detail", "GET", 404),
        ("/recorded/public/a/b/c/d", "GET", 200),
        ("/recorded/public/locked", "GET", 401),
        ("/RECORDED/exact", "GET", 404),
        ("/", "GET", 404),
        ("/unknown", "DELETE", 404),
    ],
)
def test_the_most_specific_route_decides_and_the_rest_is_404(gateway, recorder, target, method, status):
    assert get(gateway, target, method=method).status == status
    assert len(recorder.requests) == (1 if status == 200 else 0)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "TRACE", "PROPFIND"])
def test_a_wrong_method_is_405_with_allow_and_not_forwarded(gateway, recorder, method):
    response = get(gateway, "/recorded/exact", method=method)
    if method == "TRACE" and response.status == 501:
        return
    assert_refusal(response, 405, "MethodNotAllowedException")
    allowed = {name.strip() for name in response.header("allow").split(",")}
    assert {"GET", "POST"} <= allowed and method not in allowed
    assert recorder.requests == []


def test_a_404_has_the_shape_of_every_refusal(gateway):
    assert_refusal(get(gateway, "/nowhere"), 404, "NotFoundException")


def test_the_query_decides_nothing_and_is_forwarded_byte_for_byte(gateway, recorder):
    target = "/recorded/public/q?a=%2F%2e%2E&b=x+y&c=/recorded/exact&&=%zz"
    assert get(gateway, target).status == 200
    assert recorder.last("/recorded/public/q").target == target
    assert get(gateway, "/nowhere?/recorded/public/q").status == 404


@pytest.mark.parametrize("target", ["/recorded/public/a%20b", "/recorded/public/caf%C3%A9", "/recorded/public/%7Euser"])
def test_the_path_is_forwarded_byte_for_byte(gateway, recorder, target):
    assert get(gateway, target).status == 200
    assert recorder.requests[-1].target == target


def test_encoded_letters_match_the_route_they_spell(gateway, recorder):
    """`%6c` is `l`: the locked route must not be entered through another spelling."""
    response = get(gateway, "/recorded/public/%6cocked")
    assert_refusal(response, 401, "NotAuthorizedException")
    assert recorder.requests == []


def test_the_absolute_form_is_the_same_request(gateway, recorder):
    with raw.RawConnection(gateway.port) as connection:
        connection.send(b"GET http://gateway.test/recorded/public/abs HTTP/1.1\r\nHost: gateway.test\r\n\r\n")
        response = connection.response()
    if response.status == 200:
        assert recorder.last("/recorded/public/abs").target == "/recorded/public/abs"
    else:
        assert response.status == 400 and recorder.requests == []


# Access


@pytest.mark.parametrize("route", ["public", "optional", "required"])
def test_no_token(gateway, recorder, route):
    response = get(gateway, f"/recorded/{route}/x")
    if route == "required":
        assert_refusal(response, 401, "NotAuthorizedException")
        assert recorder.requests == []
    else:
        assert response.status == 200
        assert not [name for name in recorder.last(f"/recorded/{route}/x").names if name.startswith("x-auth")]


def test_a_bad_token_is_not_taken_for_no_token_on_an_optional_route(gateway, recorder, issuer):
    response = get(gateway, "/recorded/optional/x", bearer(flip_signature(issuer.access())))
    assert_refusal(response, 401, "NotAuthorizedException")
    assert recorder.requests == []


def test_an_access_token_gives_the_identity(gateway, recorder, issuer):
    token = issuer.access()
    assert get(gateway, REQUIRED, bearer(token)).status == 200
    request = recorder.last(REQUIRED)
    assert request.header("x-auth-subject") == SUBJECT
    assert request.header("x-auth-username") == SUBJECT
    assert request.header("x-auth-groups") == "beta,drivers"
    assert request.header("x-auth-scopes") == "aws.cognito.signin.user.admin openid"
    assert request.header("x-auth-issuer") == ISSUER
    assert request.header("x-auth-client") == CLIENT_ID
    assert request.header("x-auth-token-use") == "access"
    assert abs(int(request.header("x-auth-expires")) - time.time() - 3600) < 60
    assert "x-auth-email" not in request.names
    assert "authorization" not in request.names


def test_an_id_token_gives_the_email(gateway, recorder, issuer):
    assert get(gateway, REQUIRED, bearer(issuer.id())).status == 200
    request = recorder.last(REQUIRED)
    assert request.header("x-auth-email") == "ada@example.com"
    assert request.header("x-auth-email-verified") == "true"
    assert request.header("x-auth-token-use") == "id"
    assert request.header("x-auth-client") == CLIENT_ID


def test_an_id_token_is_refused_where_an_access_token_is_wanted(gateway, recorder, issuer):
    response = get(gateway, "/recorded/access-only/x", bearer(issuer.id()))
    assert response.status == 401
    assert recorder.requests == []
    assert get(gateway, "/recorded/access-only/x", bearer(issuer.access())).status == 200


def test_every_use_of_a_cached_token_carries_the_identity(gateway, recorder, issuer):
    token = issuer.access()
    with raw.RawConnection(gateway.port) as connection:
        for _ in range(5):
            assert connection.request("GET", REQUIRED, bearer(token)).status == 200
    requests = recorder.requests_to(REQUIRED)
    assert [request.header("x-auth-subject") for request in requests] == [SUBJECT] * 5


def test_the_scheme_is_case_insensitive(gateway, recorder, issuer):
    assert get(gateway, REQUIRED, {"Authorization": f"bearer {issuer.access()}"}).status == 200


def test_the_token_is_forwarded_where_the_route_says_so(gateway, recorder, issuer):
    token = issuer.access()
    assert get(gateway, "/recorded/forwarding/x", bearer(token)).status == 200
    assert recorder.last("/recorded/forwarding/x").header("authorization") == f"Bearer {token}"


def test_a_backend_of_fastapi_sees_the_caller(gateway, issuer):
    profile = get(gateway, "/api/v1/profile", bearer(issuer.id())).json()
    assert (profile["subject"], profile["email"]) == (SUBJECT, "ada@example.com")
    assert get(gateway, f"/users/{SUBJECT}").json() == {"sub": SUBJECT, "caller": None}
    assert get(gateway, f"/users/{SUBJECT}", bearer(issuer.access())).json()["caller"] == SUBJECT


# Tokens that must not pass: name → how to make it. 401, the reason in the log only.

def _with_claim(issuer, name: str, value) -> str:
    """Signed with a claim of a type that PyJWT itself would not write."""
    return issuer.with_raw_claims(json.dumps(issuer.access_claims(**{name: value})).encode())


NOW = int(time.time())
FOREIGN_KEY = SigningKey("foreign")
BAD_TOKENS = {
    "signature-flipped": lambda issuer: flip_signature(issuer.access()),
    "signature-missing": lambda issuer: issuer.access().rsplit(".", 1)[0] + ".",
    "payload-of-another": lambda issuer: ".".join(
        [issuer.access().split(".")[0], issuer.access(sub="someone-else").split(".")[1], issuer.access().split(".")[2]]
    ),
    "alg-none": lambda issuer: issuer.raw({"alg": "none", "kid": issuer.access_key.kid}, issuer.access_claims()),
    "alg-None": lambda issuer: issuer.raw({"alg": "None", "kid": issuer.access_key.kid}, issuer.access_claims()),
    "alg-missing": lambda issuer: issuer.raw({"kid": issuer.access_key.kid}, issuer.access_claims()),
    "alg-array": lambda issuer: issuer.raw({"alg": ["RS256"], "kid": issuer.access_key.kid}, issuer.access_claims()),
    "alg-hs256-with-the-public-key": lambda issuer: issuer.hs256_with_public_key(),
    "alg-rs384": lambda issuer: issuer.sign(issuer.access_claims(), issuer.access_key, algorithm="RS384"),
    "alg-ps256": lambda issuer: issuer.sign(issuer.access_claims(), issuer.access_key, algorithm="PS256"),
    "kid-unknown": lambda issuer: issuer.sign(issuer.access_claims(), issuer.access_key, kid="no-such-key"),
    "kid-missing": lambda issuer: issuer.raw({"alg": "RS256"}, issuer.access_claims(), b"x" * 256),
    "kid-traversal": lambda issuer: issuer.sign(issuer.access_claims(), issuer.access_key, kid="../../etc/passwd"),
    "key-of-another": lambda issuer: issuer.sign(issuer.access_claims(), FOREIGN_KEY, kid=issuer.access_key.kid),
    "crit-unknown": lambda issuer: issuer.raw(
        {"alg": "RS256", "kid": issuer.access_key.kid, "crit": ["x"], "x": 1}, issuer.access_claims(), b"x" * 256
    ),
    "two-segments": lambda issuer: issuer.access().rsplit(".", 1)[0],
    "four-segments": lambda issuer: issuer.access() + ".x",
    "padded": lambda issuer: issuer.access() + "==",
    "not-a-token": lambda _: "hello",
    "exp-past": lambda issuer: issuer.access(exp=NOW - 120),
    "exp-missing": lambda issuer: issuer.access(exp=...),
    "exp-text": lambda issuer: _with_claim(issuer, "exp", "9999999999"),
    "exp-true": lambda issuer: _with_claim(issuer, "exp", True),
    "nbf-future": lambda issuer: issuer.access(nbf=NOW + 86400),
    "iat-future": lambda issuer: issuer.access(iat=NOW + 86400),
    "iss-other": lambda issuer: issuer.access(iss=ISSUER + "2"),
    "iss-slash": lambda issuer: issuer.access(iss=ISSUER + "/"),
    "iss-missing": lambda issuer: issuer.access(iss=...),
    "client-other": lambda issuer: issuer.access(client_id="anotherclient"),
    "client-missing": lambda issuer: issuer.access(client_id=...),
    "client-as-aud-only": lambda issuer: issuer.access(client_id=..., aud=CLIENT_ID),
    "use-refresh": lambda issuer: issuer.access(token_use="refresh"),
    "use-missing": lambda issuer: issuer.access(token_use=...),
    "id-aud-other": lambda issuer: issuer.id(aud="anotherclient"),
    "id-aud-missing": lambda issuer: issuer.id(aud=...),
    "sub-missing": lambda issuer: issuer.access(sub=...),
    "sub-not-text": lambda issuer: _with_claim(issuer, "sub", 7),
    "duplicate-claim": lambda issuer: issuer.with_raw_claims(
        b'{"sub":"a","sub":"b","iss":"%s","client_id":"%s","token_use":"access","iat":%d,"exp":%d}'
        % (ISSUER.encode(), CLIENT_ID.encode(), NOW, NOW + 3600)
    ),
    "claims-not-an-object": lambda issuer: issuer.with_raw_claims(b'["sub"]'),
    "claims-not-json": lambda issuer: issuer.with_raw_claims(b"{sub}"),
}


@pytest.mark.parametrize("case", BAD_TOKENS)
def test_a_bad_token_is_401_and_the_reason_stays_in_the_log(gateway, recorder, issuer, case):
    response = get(gateway, REQUIRED, bearer(BAD_TOKENS[case](issuer)))
    error = "TokenExpiredException" if case == "exp-past" else "NotAuthorizedException"
    body = assert_refusal(response, 401, error)
    assert 'error="invalid_token"' in response.header("www-authenticate")
    assert recorder.requests == []
    line = gateway.access_line(response.header("x-request-id"))
    reason = line["denial_reason"]
    assert reason
    if case != "exp-past":
        assert str(reason) not in body["message"]


def test_all_bad_tokens_get_the_same_answer(gateway, issuer):
    bodies = set()
    for case in ("signature-flipped", "alg-none", "kid-unknown", "client-other", "iss-other"):
        body = get(gateway, REQUIRED, bearer(BAD_TOKENS[case](issuer))).json()
        bodies.add((body["error"], body["message"]))
    assert len(bodies) == 1


@pytest.mark.parametrize(
    "changes", [{"exp": NOW - 30}, {"nbf": NOW + 30}, {"iat": NOW + 30}, {"exp": NOW + 3600.5}], ids=str
)
def test_a_clock_that_is_off_by_less_than_a_minute_does_no_harm(gateway, recorder, issuer, changes):
    # Made anew from the time of this test, not of the collection.
    shift = int(time.time()) - NOW
    token = issuer.access(**{name: value + shift for name, value in changes.items()})
    assert get(gateway, REQUIRED, bearer(token)).status == 200


def test_a_cached_token_ends_with_its_exp(gateway, recorder, issuer):
    # It is good for three seconds at least.
    token = issuer.access(exp=int(time.time()) - 56)
    assert get(gateway, REQUIRED, bearer(token)).status == 200
    refused = wait_until(
        lambda: (response := get(gateway, REQUIRED, bearer(token))).status == 401 and response,
        "the cached token to expire",
        interval=0.2,
    )
    assert_refusal(refused, 401, "TokenExpiredException")


def test_a_very_long_token_is_refused_without_harm(gateway, recorder, issuer):
    response = get(gateway, REQUIRED, bearer("a." + "b" * 10_000 + ".c"))
    assert response.status == 401
    assert recorder.requests == []


@pytest.mark.parametrize("value", ["Bearer", "Bearer ", "Bearer a b", "Basic dXNlcjpwYXNz", "Token x", ""])
def test_an_authorization_that_is_no_bearer_token_is_401(gateway, recorder, value):
    assert get(gateway, REQUIRED, {"Authorization": value}).status == 401
    assert recorder.requests == []


def test_two_authorization_headers_are_refused(gateway, recorder, issuer):
    token = issuer.access()
    with raw.RawConnection(gateway.port) as connection:
        connection.send(
            f"GET {REQUIRED} HTTP/1.1\r\nHost: gateway.test\r\n"
            f"Authorization: Bearer {token}\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
        )
        assert connection.response().status == 400
    assert recorder.requests == []


def test_a_key_that_appears_after_the_start_is_found(start_gateway, own_recorder):
    """Rotation: an unknown kid makes the gateway look again, at most once in an interval."""
    issuer = Issuer()
    try:
        gateway = start_gateway({"key_sets": {"unknown_key_interval": "2s"}}, jwks_url=issuer.server.url)
        assert get(gateway, REQUIRED, bearer(issuer.access())).status == 200
        added = SigningKey("added-later")
        issuer.server.keys.append(added)
        token = issuer.sign(issuer.access_claims(), added)
        wait_until(lambda: get(gateway, REQUIRED, bearer(token)).status == 200, "the new key", interval=0.1)
        strays = [issuer.sign(issuer.access_claims(), added, kid=f"stray-{number}") for number in range(20)]
        fetched, began = issuer.server.fetches, int(time.time())
        for stray in strays:
            assert get(gateway, REQUIRED, bearer(stray)).status == 401
        # One now, and one for each interval that passes until a slow machine has asked twenty times. The gateway counts
        # whole seconds of the time of day.
        assert issuer.server.fetches - fetched <= 1 + (int(time.time()) - began) // 2
    finally:
        issuer.server.stop()


# Identity headers

SPOOFED = [
    "X-Auth-Subject",
    "x-auth-subject",
    "X-AUTH-SUBJECT",
    "X_Auth_Subject",
    "X-Auth_Subject",
    "x.auth.subject",
    "X-Auth-Email",
    "X-Auth-Groups",
    "X-Auth-Something-New",
]


@pytest.mark.parametrize("spelling", SPOOFED)
@pytest.mark.parametrize("route", ["public", "optional", "required"])
def test_a_spoofed_identity_never_arrives(gateway, recorder, issuer, route, spelling):
    headers = {spelling: "mallory"}
    if route == "required":
        headers |= bearer(issuer.access())
    response = get(gateway, f"/recorded/{route}/spoof", headers)
    if response.status == 400:
        assert recorder.requests == []
        return
    assert response.status == 200
    request = recorder.last(f"/recorded/{route}/spoof")
    assert b"mallory" not in request.raw_head
    assert request.all("x-auth-subject") == ([SUBJECT] if route == "required" else [])


def test_a_connection_header_cannot_remove_the_identity(gateway, recorder, issuer):
    named = "close, X-Auth-Subject, X-Auth-Groups, X-Forwarded-For, X-Request-Id, Authorization"
    assert get(gateway, REQUIRED, {"Connection": named, **bearer(issuer.access())}).status == 200
    request = recorder.last(REQUIRED)
    assert request.header("x-auth-subject") == SUBJECT
    assert request.header("x-auth-groups") == "beta,drivers"
    assert request.header("x-forwarded-for") == "127.0.0.1"
    assert request.header("x-request-id")


def test_an_identity_in_trailers_never_arrives(gateway, recorder):
    with raw.RawConnection(gateway.port) as connection:
        connection.send(
            raw.request_bytes(
                "POST", "/recorded/public/trailers", {"Transfer-Encoding": "chunked", "Trailer": "X-Auth-Subject"}
            )
            + b"2\r\nhi\r\n0\r\nX-Auth-Subject: mallory\r\n\r\n"
        )
        status = connection.response().status
    if status == 200:
        assert b"mallory" not in recorder.last("/recorded/public/trailers").raw_body
    else:
        assert status == 400
    assert b"mallory" not in b"".join(connection.received for connection in recorder.connections)


def test_claims_that_are_not_ascii_are_percent_encoded(gateway, recorder, issuer):
    token = issuer.access(sub="sübject", **{"cognito:groups": ["müller", "a,b"]})
    assert get(gateway, REQUIRED, bearer(token)).status == 200
    request = recorder.last(REQUIRED)
    assert request.header("x-auth-subject") == "s%C3%BCbject"
    # A comma inside a group must not make two groups of it.
    groups = request.header("x-auth-groups").split(",")
    assert groups[0] == "m%C3%BCller" and len(groups) == 2


def test_a_claim_with_a_line_break_never_makes_a_second_header(gateway, recorder, issuer):
    response = get(gateway, REQUIRED, bearer(issuer.access(sub="a\r\nX-Auth-Groups: admin\r\nY: b")))
    if response.status == 200:
        request = recorder.last(REQUIRED)
        assert request.header("x-auth-groups") == "beta,drivers"
        assert "y" not in request.names
    else:
        assert response.status == 401 and recorder.requests == []


# Headers on the way


def test_hop_by_hop_headers_stay_on_their_hop(gateway, recorder):
    headers = {
        "Connection": "keep-alive, X-Private",
        "X-Private": "1",
        "Keep-Alive": "timeout=5",
        "Proxy-Connection": "keep-alive",
        "Proxy-Authorization": "Basic eDp5",
        "TE": "trailers",
        "X-Kept": "yes",
    }
    assert get(gateway, "/recorded/public/hop", headers).status == 200
    request = recorder.last("/recorded/public/hop")
    gone = {"x-private", "keep-alive", "proxy-connection", "proxy-authorization", "upgrade"}
    assert not gone & request.names
    assert request.header("x-kept") == "yes"
    assert "x-private" not in (request.header("connection") or "").lower()


def test_the_backends_hop_by_hop_headers_stay_on_their_hop(gateway, recorder):
    def hop(exchange):
        headers = {"Connection": "keep-alive, X-Private", "X-Private": "1", "Keep-Alive": "timeout=5", "X-Kept": "yes"}
        exchange.respond(200, b"ok", headers)

    recorder.on("/recorded/public/hop", hop)
    response = get(gateway, "/recorded/public/hop")
    assert response.header("x-kept") == "yes"
    assert response.header("x-private") is None and response.header("keep-alive") is None


def test_forwarding_headers_say_who_called_and_how(gateway, recorder):
    assert get(gateway, "/recorded/public/fwd", {"Host": "api.example.com"}).status == 200
    request = recorder.last("/recorded/public/fwd")
    assert request.header("x-forwarded-for") == "127.0.0.1"
    assert request.header("x-forwarded-proto") == "http"
    assert request.header("x-forwarded-host") == "api.example.com"


def test_forwarding_headers_of_an_untrusted_client_are_replaced(gateway, recorder):
    headers = {
        "X-Forwarded-For": "6.6.6.6",
        "X-Forwarded-Proto": "gopher",
        "X-Forwarded-Host": "evil.example",
        "Forwarded": "for=6.6.6.6",
    }
    assert get(gateway, "/recorded/public/fwd", headers).status == 200
    request = recorder.last("/recorded/public/fwd")
    assert request.header("x-forwarded-for") == "127.0.0.1"
    assert request.header("x-forwarded-proto") == "http"
    assert request.header("x-forwarded-host") == "gateway.test"
    assert b"6.6.6.6" not in request.raw_head and b"evil.example" not in request.raw_head


SCHEMES = [
    (["https"], "https"),
    (["http"], "http"),
    (["http, https"], "https"),
    (["https,\thttp "], "http"),
    (["http", "https"], "https"),
    (["https", "http"], "http"),
    (["HTTPS"], "http"),
    (["https,"], "http"),
    (["https;q=1"], "http"),
    (["wss"], "http"),
    ([""], "http"),
    ([], "http"),
]


def test_a_trusted_proxy_says_by_which_scheme_its_client_came(start_gateway, own_recorder):
    gateway = start_gateway({"trusted_proxies": ["127.0.0.1"]})
    for given, scheme in SCHEMES:
        own_recorder.forget()
        lines = ["GET /recorded/public/fwd HTTP/1.1", "Host: a", *(f"X-Forwarded-Proto: {each}" for each in given)]
        with raw.RawConnection(gateway.port) as connection:
            connection.send("\r\n".join([*lines, "X_Forwarded_Proto: https", "Forwarded: proto=https", "", ""]).encode())
            assert connection.response().status == 200
        request = own_recorder.last("/recorded/public/fwd")
        assert request.all("x-forwarded-proto") == [scheme], given
        assert not {"forwarded", "x_forwarded_proto"} & request.names


def test_what_a_trusted_proxy_passes_on_over_tls_came_as_it_says(start_gateway, own_recorder, run_directory):
    authority = Authority(run_directory / "scheme-certificates")
    listener = {"address": f"127.0.0.1:{free_port()}", "tls": {"certificates": [authority.issue("api.test").settings()]}}
    gateway = start_gateway({"trusted_proxies": ["127.0.0.1"], "listeners": [listener]})
    context = ssl.create_default_context(cafile=str(authority.pem))
    seen = []
    for given in ({}, {"X-Forwarded-Proto": "https"}, {"X-Forwarded-Proto": "http"}, {"X-Forwarded-Proto": "gopher"}):
        connected = socket.create_connection(("127.0.0.1", gateway.port), timeout=10)
        with context.wrap_socket(connected, server_hostname="api.test") as connection:
            connection.sendall(raw.request_bytes("GET", "/recorded/public/fwd", {"Connection": "close", **given}))
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
        seen.append(own_recorder.last("/recorded/public/fwd").header("x-forwarded-proto"))
        own_recorder.forget()
    assert seen == ["https", "https", "http", "http"]


@pytest.mark.parametrize("given", ["abc-123", "A.b_c-9", "x" * 128])
def test_a_good_request_id_is_kept(gateway, recorder, given):
    response = get(gateway, "/recorded/public/id", {"X-Request-Id": given})
    assert response.header("x-request-id") == given
    assert recorder.last("/recorded/public/id").header("x-request-id") == given


@pytest.mark.parametrize("given", ["", "a b", "x" * 129, 'a"b', "ä", "<script>"])
def test_a_bad_request_id_is_replaced(gateway, recorder, given):
    response = get(gateway, "/recorded/public/id", {"X-Request-Id": given})
    made = response.header("x-request-id")
    assert made and made != given
    assert recorder.last("/recorded/public/id").header("x-request-id") == made


def test_each_request_gets_its_own_id(gateway, recorder):
    made = {get(gateway, "/recorded/public/id").header("x-request-id") for _ in range(10)}
    assert len(made) == 10


def test_a_traceparent_is_passed_on(gateway, recorder):
    given = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    assert get(gateway, "/recorded/public/trace", {"traceparent": given}).status == 200
    # The trace is the caller's; the gateway may stand in it as a span of its own.
    version, trace, _, _ = recorder.last("/recorded/public/trace").header("traceparent").split("-")
    assert (version, trace) == ("00", "4bf92f3577b34da6a3ce929d0e0e4736")


@pytest.mark.parametrize("given", [None, "garbage", "00-" + "0" * 32 + "-00f067aa0ba902b7-01"])
def test_a_traceparent_is_made_where_there_is_no_good_one(gateway, recorder, given):
    assert get(gateway, "/recorded/public/trace", {"traceparent": given} if given else {}).status == 200
    version, trace, span, flags = recorder.last("/recorded/public/trace").header("traceparent").split("-")
    assert (version, len(trace), len(span), len(flags)) == ("00", 32, 16, 2)
    assert int(trace, 16) and int(span, 16)


# Key sets


def test_a_key_set_that_cannot_be_had_is_503_not_401(start_gateway, own_recorder, issuer):
    gateway = start_gateway(jwks_url=f"http://127.0.0.1:{free_port()}/jwks.json")
    for _ in range(3):
        response = get(gateway, REQUIRED, bearer(issuer.access()))
        assert_refusal(response, 503, "IdentityProviderUnavailableException")
    # Nobody else suffers.
    assert get(gateway, "/recorded/public/x").status == 200
    assert get(gateway, REQUIRED).status == 401
    assert len(own_recorder.requests) == 1


def test_a_key_set_that_fails_later_goes_on_serving(start_gateway, own_recorder):
    issuer = Issuer()
    gateway = start_gateway(jwks_url=issuer.server.url)
    assert get(gateway, REQUIRED, bearer(issuer.access())).status == 200
    issuer.server.stop()
    assert get(gateway, REQUIRED, bearer(issuer.access(jti="another token, not cached"))).status == 200
