"""Headers that pretend, one test for each row of the list of threats: what the origin sees counts."""

from harness import h2raw, raw
from harness.account import bearer
from harness.backend import Request
from harness.h2raw import DATA, END_HEADERS, END_STREAM, HEADERS, H2Connection, block, frame
from harness.process import wait_until

SUBJECT = "8c3b1c52-0000-4000-8000-1234567890ab"
ROUTES = ("public", "optional", "required")


def normalised(name: str) -> str:
    """As CGI, WSGI and PHP read a header's name: every byte but letters and digits is the same to them."""
    return "".join(character if character.isalnum() else "-" for character in name.lower())


def sent(gateway, head: str, lines: list[str]) -> int:
    """The status of a request with exactly these lines."""
    with raw.RawConnection(gateway.port) as connection:
        text = f"{head} HTTP/1.1\r\nHost: gateway.test\r\n" + "".join(line + "\r\n" for line in lines) + "\r\n"
        connection.send(text.encode("latin-1"))
        return connection.response(to=head.split(" ")[0]).status


def sent_as_h2(gateway, path: str, lines: list[str], method: str = "GET") -> int:
    """The same over HTTP/2; 400 where the stream is reset instead."""
    fields = [line.split(":", 1) for line in lines]
    with H2Connection(gateway.port) as connection:
        headers = h2raw.request(method, path, *((name.lower(), value.strip()) for name, value in fields))
        return connection.response(connection.open(headers)).status or 400


def identity(request: Request) -> dict[str, list[str]]:
    """Headers that the origin could take for identity, by normalised name."""
    found: dict[str, list[str]] = {}
    for name, value in request.headers:
        if normalised(name).startswith("x-auth-"):
            found.setdefault(normalised(name), []).append(value)
    return found


def only_ours(gateway, recorder, issuer, lines: list[str]) -> None:
    """On every kind of route and over both versions the origin sees the verified identity, or none, and never the client's."""
    for route in ROUTES:
        path = f"/recorded/{route}/x"
        token = [f"Authorization: Bearer {issuer.access()}"] if route == "required" else []
        # Before and behind it.
        for number, order in enumerate((lines + token, token + lines)):
            for send in (lambda: sent(gateway, f"GET {path}", order), lambda: sent_as_h2(gateway, path, order)):
                recorder.forget()
                assert send() == 200, (route, number)
                request = recorder.last(path)
                seen = identity(request)
                assert b"mallory" not in request.raw_head.lower(), request.raw_head
                assert all(len(values) == 1 for values in seen.values())
                assert seen.get("x-auth-subject") == ([SUBJECT] if token else None)
                assert bool(seen) == bool(token)


def test_row_34_identity_headers_of_any_case_repeated_or_empty_never_arrive(gateway, recorder, issuer):
    for name in ("X-Auth-Subject", "x-auth-subject", "X-AUTH-SUBJECT", "x-AUTH-sUbJeCt", "X-Auth-Email", "X-Auth-Made-Up", "X-Auth-"):
        only_ours(gateway, recorder, issuer, [f"{name}: mallory"])
        only_ours(gateway, recorder, issuer, [f"{name}: mallory", f"{name.upper()}: Mallory"])
        only_ours(gateway, recorder, issuer, [f"{name}:"])
    # As many as a head may hold.
    only_ours(gateway, recorder, issuer, ["X-Auth-Subject: mallory"] * 90)


def test_row_35_look_alikes_of_identity_headers_never_arrive(gateway, recorder, issuer):
    for name in (
        "X_Auth_Subject", "X-Auth_Subject", "X_Auth-Subject", "x.auth.subject", "X+Auth+Subject", "X~Auth~Subject",
        "X|Auth|Subject", "X!Auth-Subject", "X'Auth'Subject", "X`Auth^Subject", "X#AUTH$Subject", "X%Auth&Subject",
        "X*Auth*Subject",
    ):
        only_ours(gateway, recorder, issuer, [f"{name}: mallory"])


def test_row_35_look_alikes_of_a_configured_header_never_arrive(start_gateway, own_recorder, issuer):
    gateway = start_gateway({"identity": {"claims": {"Remote-User": "username"}}})
    for name in ("Remote-User", "remote_user", "REMOTE.USER", "Remote+User", "remote-user"):
        for route in ROUTES:
            own_recorder.forget()
            token = bearer(issuer.access()) if route == "required" else {}
            assert raw.exchange(gateway.port, "GET", f"/recorded/{route}/x", {name: "mallory", **token}).status == 200
            names = [(normalised(key), value) for key, value in own_recorder.last(f"/recorded/{route}/x").headers]
            assert [value for key, value in names if key == "remote-user"] == ([SUBJECT] if token else [])


def test_row_36_a_connection_list_takes_nothing_of_the_gateways_away(gateway, recorder, issuer):
    token = f"Authorization: Bearer {issuer.access()}"
    for listed in (
        "X-Auth-Subject", "x-auth-subject, X-AUTH-GROUPS", "close, Authorization", "keep-alive, X-Forwarded-For, X-Request-Id",
        "traceparent, Host, Content-Length", "X-Auth-Subject" + ", x" * 80, ", ,\t, X-Auth-Subject",
    ):
        for path in ("/recorded/required/x", "/recorded/forwarding/x"):
            recorder.forget()
            assert sent(gateway, f"GET {path}", [token, f"Connection: {listed}", f"Connection: {listed}"]) == 200
            request = recorder.last(path)
            assert identity(request)["x-auth-subject"] == [SUBJECT]
            assert identity(request)["x-auth-groups"] == ["beta,drivers"]
            for name in ("x-forwarded-for", "x-request-id", "traceparent", "host"):
                assert len(request.all(name)) == 1, name
            assert bool(request.all("authorization")) == ("forwarding" in path)
            assert "x-auth" not in " ".join(request.all("connection")).lower()


def test_row_37_folded_and_spaced_lines_are_refused(gateway, recorder, issuer):
    token = f"Authorization: Bearer {issuer.access()}"
    for lines in (
        ["X-Auth-Subject : mallory"], ["X-Auth-Subject\t: mallory"], [" X-Auth-Subject: mallory"], ["\tX-Auth-Subject: mallory"],
        ["X-A: b", " X-Auth-Subject: mallory"], ["X-A: b", "\tX-Auth-Subject: mallory"], ["X-A: b\nX-Auth-Subject: mallory"],
        ["X-A: b\rX-Auth-Subject: mallory"], ["X-Auth-Subject\0: mallory"], ["X-Auth Subject: mallory"], [": mallory"],
        ["X-Auth-Subject"], ["X-A: b\0\r\nX-Auth-Subject: mallory"], ["X\u00adAuth-Subject: mallory"],
    ):
        for order in ([token, *lines], [*lines, token]):
            assert sent(gateway, "GET /recorded/required/x", order) == 400, lines
    assert recorder.requests == []


def test_row_38_trailers_never_become_headers(gateway, recorder, issuer):
    before = len(recorder.connections)
    token = f"Authorization: Bearer {issuer.access()}"
    for name in ("X-Auth-Subject", "x_auth_subject", "Authorization", "X-Forwarded-For", "Content-Length", "Host", "Cookie"):
        for announced in ([], [f"Trailer: {name}"]):
            recorder.forget()
            head = ["POST /recorded/required/x HTTP/1.1", "Host: gateway.test", token, "Transfer-Encoding: chunked", *announced]
            with raw.RawConnection(gateway.port) as connection:
                connection.send("\r\n".join(head).encode() + f"\r\n\r\n2\r\nhi\r\n0\r\n{name}: mallory\r\n\r\n".encode())
                # Only a length that contradicts the framing is refused (RFC 9112, 6.3).
                assert connection.response().status == (400 if name == "Content-Length" else 200)
            with H2Connection(gateway.port) as connection:
                authorization = ("authorization", token.split(": ")[1])
                stream = connection.open(h2raw.request("POST", "/recorded/required/x", authorization), end=False)
                connection.send(frame(DATA, 0, stream, b"hi"))
                connection.send(frame(HEADERS, END_HEADERS | END_STREAM, stream, block([(name.lower(), "mallory")])))
                connection.response(stream)
            for request in recorder.requests:
                assert identity(request)["x-auth-subject"] == [SUBJECT]
    wait_until(lambda: gateway.metric("gatehouse_requests_in_flight") == 0, "the requests to end")
    assert b"mallory" not in b"".join(connection.received for connection in recorder.connections[before:])


def test_row_39_a_public_route_strips_too(gateway, recorder, issuer):
    token = f"Authorization: Bearer {issuer.access()}"
    for method in ("GET", "OPTIONS", "HEAD", "POST"):
        for lines in (["X-Auth-Subject: mallory"], ["X-Auth-Subject: mallory", token], ["Upgrade: websocket", "Connection: Upgrade", "X_Auth_Subject: mallory"]):
            recorder.forget()
            assert sent(gateway, f"{method} /recorded/public/x", lines) == 200
            request = recorder.last("/recorded/public/x")
            # A token is not looked at there, so that it says nothing either.
            assert identity(request) == {} and b"mallory" not in request.raw_head


FORWARDING = [
    "X-Forwarded-For: 6.6.6.6", "X-Forwarded-Proto: evil", "X-Forwarded-Host: evil.test", "X-Forwarded-Port: 666",
    "X-Forwarded-Prefix: /evil", "X_Forwarded_For: 6.6.6.6", "x.forwarded.for: 6.6.6.6", "X-Forwarded: for=6.6.6.6",
    "X-Forwarded-Server: evil.test", "X-Forwarded-Anything: evil", "Forwarded: for=6.6.6.6;host=evil.test;proto=evil",
    "True-Client-IP: 6.6.6.6", "True_Client_IP: 6.6.6.6", "X-Real-IP: 6.6.6.6", "X-Client-IP: 6.6.6.6",
    "CF-Connecting-IP: 6.6.6.6", "X-Cluster-Client-IP: 6.6.6.6", "Client-IP: 6.6.6.6",
]


def test_row_40_nobody_says_where_a_request_came_from_but_the_connection(gateway, recorder, issuer):
    token = f"Authorization: Bearer {issuer.access()}"
    for lines in ([line] for line in FORWARDING):
        for path in ("/recorded/public/x", "/recorded/required/x"):
            recorder.forget()
            order = [*lines, token] * (path != "/recorded/public/x") or [*lines, *lines]
            assert sent(gateway, f"GET {path}", order) == 200
            request = recorder.last(path)
            assert request.header("x-forwarded-for") == "127.0.0.1"
            assert request.header("x-forwarded-proto") == "http"
            assert request.header("x-forwarded-host") == "gateway.test"
            assert b"6.6.6.6" not in request.raw_head and b"evil" not in request.raw_head
    recorder.forget()
    assert sent_as_h2(gateway, "/recorded/public/x", FORWARDING) == 200
    request = recorder.last("/recorded/public/x")
    assert request.header("x-forwarded-for") == "127.0.0.1" and b"evil" not in request.raw_head


OVERRIDES = [
    "X-Forwarded-Uri: {}", "X-Original-URL: {}", "X-Original-Uri: {}", "X-Rewrite-URL: {}", "X_Original_URL: {}", "X-Forwarded-Path: {}",
    "X-Original-Path: {}", "X-Original-Host: gateway.test{}",
]
METHODS = ["X-HTTP-Method-Override: DELETE", "X-HTTP-Method: DELETE", "X-Method-Override: DELETE", "x_http_method_override: DELETE"]


def test_row_41_the_path_of_the_request_line_is_the_one_that_counts(gateway, recorder, issuer):
    for line in OVERRIDES:
        lines = [line.format("/recorded/public/x")]
        assert sent(gateway, "GET /recorded/required/x", lines) == 401
        assert sent(gateway, "GET /nowhere", lines) == 404
        assert recorder.requests == []
        assert sent(gateway, "GET /recorded/public/x", [line.format("/recorded/required/secret")]) == 200
        request = recorder.last("/recorded/public/x")
        assert b"secret" not in request.raw_head
        recorder.forget()
    for line in METHODS:
        assert sent(gateway, "POST /recorded/public/x", [line]) == 200
        assert b"DELETE" not in recorder.last("/recorded/public/x").raw_head
        assert recorder.last("/recorded/public/x").method == "POST"


BELIEVED = """
    script-name path-info x-script-name x-forwarded-prefix daphne-root-path request-uri x-original-url x-rewrite-url x-original-uri
    x-http-method x-http-method-override x-method-override x-host x-http-host-override x-scheme proxy remote-user remote-addr
    x-remote-user x-forwarded-user x-forwarded-email x-forwarded-groups x-forwarded-preferred-username x-forwarded-access-token
    x-auth-request-user x-auth-request-email http-remote-user http-x-auth-subject x-ssl-client-cert ssl-client-s-dn x-client-cert
    x-client-cert-subject x-real-ip x-client-ip x-cluster-client-ip true-client-ip cf-connecting-ip fastly-client-ip
    x-originating-ip x-remote-ip x-remote-addr x-accel-redirect x-accel-mapping x-sendfile x-sendfile-type x-envoy-original-path
    x-envoy-external-address x-middleware-subrequest x-amzn-oidc-data x-amzn-oidc-identity x-ms-client-principal
    x-ms-client-principal-name x-goog-authenticated-user-email x-goog-iap-jwt-assertion cf-access-jwt-assertion
    tailscale-user-login impersonate-user x-webauth-user oidc-claim-sub shib-session-id sm-user iv-user $wsru !~passenger-x
    spring-cloud-function-definition x-apigateway-event destination x-vhm-root unencoded-url x-consumer-username
""".split()


def test_what_servers_believe_never_arrives_in_any_spelling_over_either_version(gateway, recorder, issuer):
    token = f"Authorization: Bearer {issuer.access()}"
    names = [name for plain in BELIEVED for name in (plain, plain.replace("-", "_"), plain.replace("-", "."), plain.title())]
    for path in ("/recorded/public/x", "/recorded/required/x"):
        for start in range(0, len(names), 48):
            listed = names[start : start + 48]
            # A Connection list takes nothing away from this.
            for more in ([], [f"Connection: {', '.join(listed[:10])}, Host, X-Forwarded-Host"]):
                lines = [f"{name}: mallory" for name in listed] + [token]
                for send in (lambda: sent(gateway, f"GET {path}", lines + more), lambda: sent_as_h2(gateway, path, lines)):
                    recorder.forget()
                    assert send() == 200
                    assert b"mallory" not in recorder.last(path).raw_head.lower(), listed
                    assert recorder.last(path).header("x-forwarded-host") is not None


def test_what_servers_believe_does_not_arrive_with_an_upgrade_either(start_gateway, own_recorder):
    route = {"name": "socket", "path": "/socket", "access": "public", "upstream": "recorder", "websocket": True}
    gateway = start_gateway({"routes": [route]})
    upgrade = ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13"]
    for spelt in (lambda name: name, lambda name: name.replace("-", "_")):
        own_recorder.forget()
        # The recording backend knows no WebSockets, and answers as it does.
        sent(gateway, "GET /socket", upgrade + [f"{spelt(name)}: mallory" for name in BELIEVED])
        request = own_recorder.last("/socket")
        assert request.header("upgrade") == "websocket" and b"mallory" not in request.raw_head.lower()


def test_row_42_no_user_agent_is_let_in_for_its_name(gateway, recorder):
    for agent in ("kube-probe/1.31", "GoogleHC/1.0", "ELB-HealthChecker/2.0", "Envoy/HC", "Go-http-client/1.1", "gatehouse", ""):
        for path in ("/recorded/required/x", "/recorded/required/ping", "/recorded/required/healthz"):
            assert sent(gateway, f"GET {path}", [f"User-Agent: {agent}"]) == 401
    assert sent(gateway, "GET /healthz", ["User-Agent: kube-probe/1.31"]) == 404
    assert recorder.requests == []


def test_row_43_two_authorization_headers_are_refused(gateway, recorder, issuer):
    good, other = (f"Authorization: Bearer {token}" for token in (issuer.access(), issuer.access(sub="other")))
    for lines in (
        [good, good], [good, other], [good, "Authorization: Basic eDp5"], ["Authorization: Basic eDp5", good], [good, "authorization:"],
        ["AUTHORIZATION:", good], ["Authorization: Basic eDp5", "Authorization: Basic eDp5"],
    ):
        for path in ("/recorded/required/x", "/recorded/optional/x"):
            assert sent(gateway, f"GET {path}", lines) == 400, lines
            assert sent_as_h2(gateway, path, lines) == 400, lines
    for value in (f"{good}, Bearer x", f"{good},{good.split(' ')[-1]}", good.replace("Bearer ", "Bearer Bearer ")):
        assert sent(gateway, "GET /recorded/required/x", [value]) == 401
    assert recorder.requests == []


def test_row_44_two_session_cookies_come_to_the_same_over_http_1_and_in_crumbs(start_gateway, own_recorder, issuer):
    route = {"name": "session", "path": "/session", "upstream": "recorder", "token_cookie": "session"}
    gateway = start_gateway({"routes": [route]})
    good, other = issuer.access(), issuer.access(sub="other")
    cases: list[tuple[list[str], int, str | None]] = [
        ([f"session={good}"], 200, None),
        ([f"a=1; session={good}; b=2"], 200, "a=1; b=2"),
        (["a=1", f"session={good}", "b=2"], 200, "a=1; b=2"),
        ([f"session=bad; session={good}"], 400, None),
        ([f"session={good}; session=bad"], 400, None),
        ([f"session={good}", f"session={other}"], 400, None),
        ([f"session={good}", "session="], 400, None),
        ([f"session={good}", "session"], 400, None),
        ([f"session={good}", "a=1;session =x"], 400, None),
        ([f"SESSION=x; session={good}"], 200, "SESSION=x"),
        ([f"session=bad{good}"], 401, None),
        # Bytes that only some readers take for a separator or a part of a character are neither.
        ([f"a=\u037esession={other}", f"session={good}"], 200, f"a=\u037esession={other}"),
        ([f"a=\u037esession={good}"], 401, None),
        ([f"session={good}", "session=\u0338x"], 400, None),
        ([f"a=1;\u0338 session={good}"], 401, None),
    ]
    for cookies, status, passed in cases:
        lines = [f"Cookie: {cookie}".encode().decode("latin-1") for cookie in cookies]
        for send in (lambda: sent(gateway, "GET /session", lines), lambda: sent_as_h2(gateway, "/session", lines)):
            own_recorder.forget()
            assert send() == status, cookies
            if status != 200:
                assert own_recorder.requests == []
                continue
            request = own_recorder.last("/session")
            assert request.header("x-auth-subject") == SUBJECT
            cookie = request.header("cookie")
            assert (cookie and cookie.encode("latin-1").decode()) == passed
            assert good.encode() not in request.raw_head


def test_bytes_of_a_cookie_that_are_no_text_go_on_as_they_are(start_gateway, own_recorder, issuer):
    route = {"name": "session", "path": "/session", "upstream": "recorder", "token_cookie": "session"}
    gateway = start_gateway({"routes": [route]})
    assert sent(gateway, "GET /session", [f"Cookie: a=\u00e4\u00ff; session={issuer.access()}"]) == 200
    assert own_recorder.last("/session").header("cookie") == "a=\u00e4\u00ff"
