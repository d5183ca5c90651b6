"""Paths that go around the policy, one test for each row of the list of threats.

Everything below `/public` is open, everything else needs a token, and nobody brings one: whatever reaches the origin must
be below `/public` by every reading of it, and be what was sent, byte for byte.
"""

import pytest
from harness import h2raw, raw
from harness.h2raw import H2Connection
from harness.websocket import Client

REFUSALS = {400, 401, 403, 404, 405, 501}


@pytest.fixture
def gateway(start_gateway):
    public = {"name": "public", "path": "/public/**", "access": "public", "upstream": "recorder", "websocket": True}
    rest = {"name": "rest", "path": "/**", "access": "required", "upstream": "recorder", "websocket": True}
    return start_gateway({"routes": [public, rest]})


def status_of(gateway, target: str, method: str = "GET", host: str = "gateway.test", lines: str = "") -> int:
    with raw.RawConnection(gateway.port) as connection:
        connection.send(f"{method} {target} HTTP/1.1\r\nHost: {host}\r\n{lines}\r\n".encode("latin-1"))
        return connection.response(to=method).status


def status_over_h2(gateway, target: str, method: str = "GET") -> int:
    """400 where the stream, or the whole connection, is ended instead."""
    with H2Connection(gateway.port) as connection:
        return connection.response(connection.open(h2raw.request(method, target))).status or 400


def refused(gateway, recorder, *targets: str) -> None:
    for target in targets:
        for status in (status_of(gateway, target), status_over_h2(gateway, target)):
            assert status in REFUSALS, (target, status)
            assert recorder.requests == [], target


def passed(gateway, recorder, *targets: str) -> None:
    """The origin gets exactly this target, over either version."""
    for target in targets:
        for send in (status_of, status_over_h2):
            recorder.forget()
            assert send(gateway, target) == 200, target
            assert [request.target for request in recorder.requests] == [target]
    recorder.forget()


def test_row_45_doubled_slashes_and_dot_segments(gateway, own_recorder):
    refused(
        gateway, own_recorder, "//admin", "///admin", "/./admin", "/../admin", "/public/../admin", "/public/./../admin",
        "/public/x/../../admin", "/public//../admin", "/public/../../../admin", "/public//admin", "/public/./x", "/public/..",
        "/public/../", "/public/.././admin", "//public/x", "/.//admin", "/public/..//admin", "//gateway.test/admin", "/public/...//",
    )
    passed(gateway, own_recorder, "/public", "/public/", "/public/...", "/public/..x", "/public/x..", "/public/.well-known/x", "/public/x/..")


def test_row_46_encoded_dots_and_separators(gateway, own_recorder):
    refused(
        gateway, own_recorder, "/public/%2e%2e/admin", "/public/%2E%2E/admin", "/public/.%2e/admin", "/public/%2e./admin",
        "/%2e/admin", "/public%2f..%2fadmin", "/public/..%2fadmin", "/public/..%2Fadmin", "/public/%2e%2e%2fadmin", "/public/..%5cadmin",
        "/public/..%5Cadmin", "/public\\..\\admin", "/public/..\\admin", "\\admin", "/\\admin", "/%5cadmin", "/%2fadmin",
        "/public%5c..%5cadmin", "/public/a%2fb", "/public/%2e%2e", "/public/%2e", "/public/x/%2e%2e",
    )


def test_row_47_double_encoding(gateway, own_recorder):
    refused(
        gateway, own_recorder, "/public/%252e%252e/admin", "/public/..%252fadmin", "/public/%252e%252e%252fadmin",
        "/public/%25%32%65%25%32%65/admin", "/public/..%25%32%66admin", "/public/%25252e%25252e/admin", "/public/%%32%65%%32%65/admin",
        "/public/%2%65/admin", "/public/..%255cadmin", "/%2561dmin", "/public/%u002e%u002e/admin", "/public/%", "/public/%2", "/public/%2g",
    )
    passed(gateway, own_recorder, "/public/100%25", "/public/100%25%20x")


def test_row_48_parameters_behind_dots_and_segments(gateway, own_recorder):
    refused(
        gateway, own_recorder, "/public/..;/admin", "/public/..;x/admin", "/public/..;x=y/admin", "/public/;/../admin", "/;/admin",
        "/;x/admin", "/public/..;", "/public/.;/../admin", "/public/..%3b/admin", "/public/..%3Bx/admin", "/public;/../admin",
        "/public;x/../admin", "/public/%2e%2e;/admin", "/public/.%2e%3bx/admin", "/admin;", "/admin;/public", "/public/;x/y",
    )
    passed(gateway, own_recorder, "/public/a;v=1", "/public/a;v=1/b", "/public/a%3Bv")


def test_row_49_encoded_controls(gateway, own_recorder):
    refused(
        gateway, own_recorder, "/admin%00", "/admin%00.png", "/public/%00/../admin", "/public/..%00/admin", "/public%00/../admin",
        "/admin%0a", "/admin%0d%0aX:y", "/public/..%0a/admin", "/public/.%0d./admin", "/public/.%09./admin", "/public/%0a../admin",
        "/public/..%7f/admin", "/public/x%00", "/%0aadmin", "/public/..%0d%0a", "/public/x%c2%85", "/public/..%c2%80/admin",
    )
    passed(gateway, own_recorder, "/public/a%0d%0aX-Auth-Subject:%20x", "/public/a%09b")


def test_row_50_overlong_and_look_alike_utf_8(gateway, own_recorder):
    refused(
        gateway, own_recorder, "/public/%c0%ae%c0%ae/admin", "/public/..%c0%afadmin", "/%c0%ae%c0%ae/admin", "/public/%e0%80%ae%e0%80%ae/admin",
        "/public/%f0%80%80%ae%f0%80%80%ae/admin", "/public/..%e0%80%afadmin", "/public/..%c1%9cadmin", "/public/%ff", "/public/%c3",
        "/public/%ed%a0%80", "/public/%f4%90%80%80", "/public/%f8%80%80%80%ae",
        # Full-width and small full stops, one and two dot leaders, slashes of other kinds.
        "/public/%ef%bc%8e%ef%bc%8e/admin", "/public/%ef%b9%92%ef%b9%92/admin", "/public/%e2%80%a4%e2%80%a4/admin", "/public/%e2%80%a5/admin",
        "/public/..%ef%bc%8fadmin", "/public/..%e2%88%95admin", "/public/..%e2%81%84admin", "/public/..%ef%bc%bcadmin", "/public/..%ef%b9%a8admin",
        # Characters that compatibility normalisation turns into two dots, or into a slash with letters around it.
        "/public/%ef%b8%b0/admin", "/public/%e2%84%80", "/public/%e2%84%81", "/public/%e2%84%85", "/public/%e2%84%86",
        # As they are, without percents.
        "/public/\xc0\xae\xc0\xae/admin", "/public/\xff", "/public/\xc3\xa9",
    )
    passed(gateway, own_recorder, "/public/caf%C3%A9", "/public/%E7%94%A8%E6%88%B7", "/public/%F0%9F%98%80", "/public/%E2%80%A6")


def test_row_51_other_spellings_of_a_name_are_that_name_or_none(gateway, own_recorder):
    refused(
        gateway, own_recorder, "/%61dmin", "/%61%64%6d%69%6e", "/Admin", "/ADMIN", "/%41dmin", "/admin/", "/admin/x", "/adm%69n/x", "/admin.",
        "/admin%20", "/admin%2e", "/Public/x", "/PUBLIC/x", "/publicx", "/public%20/x", "/%70ublicx", "/publi%63%20/x", "/", "/healthz", "/.well-known/x",
    )
    # An encoded letter is the letter, and goes on as it was sent.
    passed(gateway, own_recorder, "/%70ublic/x", "/publi%63/%78")


def test_row_51_what_no_route_names_is_refused(start_gateway, own_recorder):
    gateway = start_gateway(
        {"routes": [{"name": "public", "path": "/public/**", "access": "public", "upstream": "recorder"}]}
    )
    for target in ("/", "/admin", "/Public/x", "/publi", "/publicx", "/index.html", "/public%20"):
        assert status_of(gateway, target) == 404
        assert status_over_h2(gateway, target) == 404
    assert own_recorder.requests == []


def test_row_52_the_query_takes_no_part(gateway, own_recorder):
    refused(
        gateway, own_recorder, "/admin?/public", "/admin?x=/public/", "/admin?/public/../", "/admin/?/public/x", "/admin%3f/public", "/admin%3F/../public",
        "/?/public/x", "?/public/x", "/admin?%2fpublic", "/public/../admin?x", "/admin??/public",
    )
    passed(gateway, own_recorder, "/public/x?/../admin", "/public?/admin", "/public/x?a=%2e%2e%2f&b=%00&c=%zz", "/public/x??")


def test_row_53_a_fragment_is_no_part_of_a_request(gateway, own_recorder):
    refused(
        gateway, own_recorder, "/admin#x", "/admin#/public", "/public/x#/../admin", "/public/x#", "/#/public", "/admin%23/public", "/admin%23",
        "/public/..%23/admin", "/%23/../public", "/public/x?y#z", "/public%23/../admin",
    )
    passed(gateway, own_recorder, "/public/a%23b")


def test_row_54_the_absolute_form_comes_under_the_same_policy(gateway, own_recorder):
    for authority in ("gateway.test", "GATEWAY.TEST:80", "gateway.test:80", "evil.test", "public", "gateway.test:80/public/..", "127.0.0.1"):
        for scheme in ("http", "HTTP", "https"):
            for host in ("gateway.test", "evil.test"):
                assert status_of(gateway, f"{scheme}://{authority}/admin", host=host) in REFUSALS
    for target in (
        "http://gateway.test@evil.test/admin", "http://user:pass@gateway.test/admin", "http://gateway.test/public/../admin",
        "http://gateway.test//admin", "http://gateway.test/public/%2e%2e/admin", "http:///public/x", "http:/public/x", "http:public/x",
        "ftp://gateway.test/public/x", "file:///public/x", "javascript:/public/x", "http://gateway.test:99999/public/x", "http://gate way.test/public/x",
        "http://gateway.test\\@evil.test/public/x", "http://gateway.test#/public/x", "http://[::1/public/x", "http://user@gateway.test/public/x",
        "http://gateway.test?/public/x", "gateway.test/public/x", "//gateway.test/public/x", "*", "gateway.test:80",
    ):
        assert status_of(gateway, target) in REFUSALS, target
    # Two authorities are one too many (RFC 9112, 3.2.2).
    assert status_of(gateway, "http://evil.test/public/x") in REFUSALS
    assert own_recorder.requests == []
    assert status_of(gateway, "http://GATEWAY.test:80/public/x?y") == 200
    assert [request.target for request in own_recorder.requests] == ["/public/x?y"]


def test_row_55_every_method_comes_under_the_same_policy(gateway, own_recorder):
    methods = ("HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "get", "Get", "GETX", "M-SEARCH", "REPORT", "QUERY")
    preflight = "Origin: https://evil.test\r\nAccess-Control-Request-Method: GET\r\n"
    for method in methods:
        for lines in ("", preflight):
            assert status_of(gateway, "/admin", method, lines=lines) in REFUSALS, method
        assert status_over_h2(gateway, "/admin", method) in REFUSALS, method
    for method in ("CONNECT", "TRACE"):
        assert status_of(gateway, "/public/x", method) in REFUSALS
        assert status_over_h2(gateway, "/public/x", method) in REFUSALS
    assert status_of(gateway, "gateway.test:80", "CONNECT", host="gateway.test:80") in REFUSALS
    upgrade = "Connection: Upgrade\r\nUpgrade: {}\r\n"
    for name in ("websocket", "h2c", "WebSocket", "TLS/1.0", "websocket, h2c"):
        assert status_of(gateway, "/admin", lines=upgrade.format(name) + "HTTP2-Settings: AAMAAABkAAQAAP__\r\n") in REFUSALS
    with Client(gateway.port) as client:
        client.ask("/admin")
        assert client.response().status == 401
    assert own_recorder.requests == []
