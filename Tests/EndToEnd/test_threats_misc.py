"""Further threats of the list whose features are there already: key-set addresses, log lines, other sites' pages.

Row 89 is test_secrets. Rows of features that are not there yet have no test.
"""

import json
import socket

import pytest
from harness import h2raw, raw
from harness.account import assert_refusal, bearer
from harness.h2raw import H2Connection
from harness.keys import Issuer, KeySetServer
from harness.process import wait_until
from test_threats_tokens import header, signed

REQUIRED = "/recorded/required/x"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_row_87_a_key_set_that_redirects_is_followed_nowhere(start_gateway, own_recorder, issuer, status):
    with socket.create_server(("127.0.0.1", 0)) as trap:
        server = KeySetServer()
        try:
            server.document = {"keys": [issuer.access_key.jwk()]}
            server.status = status
            for target in (f"http://127.0.0.1:{trap.getsockname()[1]}/jwks.json", "http://169.254.169.254/latest/meta-data/", "file:///etc/passwd"):
                server.headers = {"Location": target}
                gateway = start_gateway(jwks_url=server.url)
                answer = raw.exchange(gateway.port, "GET", REQUIRED, bearer(issuer.access()))
                assert_refusal(answer, 503, "IdentityProviderUnavailableException")
            assert own_recorder.requests == []
            trap.setblocking(False)
            with pytest.raises(BlockingIOError):
                trap.accept()
        finally:
            server.stop()


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest/meta-data/", "http://[fd00:ec2::254]/", "http://[::ffff:169.254.169.254]/", "http://127.0.0.1:{}/",
        "http://localhost:{}/", "http://[::1]:{}/", "http://0.0.0.0:{}/", "http://[::]:{}/", "http://10.0.0.1/", "http://2130706433:{}/",
        "http://0x7f.1:{}/", "http://127.1:{}/",
    ],
)
def test_row_87_a_key_set_at_a_private_address_is_not_asked_for(start_gateway, own_recorder, issuer, url):
    with socket.create_server(("127.0.0.1", 0)) as trap:
        changes = {"issuers": {"own": {"allow_private_addresses": False}}, "key_sets": {"timeout": "2s"}}
        gateway = start_gateway(changes, jwks_url=url.format(trap.getsockname()[1]))
        answer = raw.exchange(gateway.port, "GET", REQUIRED, bearer(issuer.access()))
        assert_refusal(answer, 503, "IdentityProviderUnavailableException")
        assert own_recorder.requests == []
        trap.setblocking(False)
        with pytest.raises(BlockingIOError):
            trap.accept()


def test_row_88_what_a_client_sends_stays_within_its_own_record(start_gateway, own_recorder, issuer):
    """Line breaks, escapes and JSON in the path, the query, header values, a subject and a kid."""
    gateway = start_gateway()
    injected = '"}\r\n{"status":200,"forged":true}\r\n\x1b[31m\u2028'
    encoded = "".join(f"%{byte:02X}" for byte in injected.encode())
    subject = issuer.access(sub=injected)
    expected = 0
    for target, headers in (
        (f"/recorded/public/{encoded}", {}),
        (f"/nowhere/{encoded}?{encoded}", {}),
        ('/recorded/public/x?"},{"forged":true}', {}),
        ("/recorded/public/x", {"User-Agent": '"}\\{"forged":true}', "X-Request-Id": '"},{"forged":true'}),
        ("/recorded/public/x", {"Host": "gateway.test", "Referer": '"}{"forged":true}\t', "X-Forwarded-For": '"forged"'}),
        (REQUIRED, bearer(subject)),
        (REQUIRED, bearer(signed(issuer, header(issuer, kid=injected)))),
        (REQUIRED, bearer(signed(issuer, header(issuer, alg=injected)))),
        (REQUIRED, bearer(issuer.access(iss=injected))),
        (REQUIRED, bearer(issuer.access(**{"cognito:groups": [injected]}))),
    ):
        expected += 1
        answer = raw.exchange(gateway.port, "GET", target, headers)
        line = gateway.access_line(answer.header("x-request-id"))
        assert line["status"] == answer.status and "forged" not in line
    with H2Connection(gateway.port) as connection:
        connection.response(connection.open(h2raw.request("GET", "/nowhere/x", ("user-agent", '"}{"forged":true}'))))
        expected += 1
    # Bytes that are no request have a line as well.
    with raw.RawConnection(gateway.port) as connection:
        connection.send(b'GET /"}{"forged":true} HTTP/1.1\r\nHost: a\r\n {"forged":true}\r\n\r\n')
        assert connection.response().status == 400
        expected += 1
    lines = wait_until(lambda: len(gateway.access_log()) >= expected and gateway.access_log(), "all lines")
    assert len(lines) == expected
    # Every line is one JSON object of visible characters (access_log has read them). The path and the user agent are
    # the client's.
    text = gateway.process.output()
    assert text.isascii() and "\x1b" not in text and text.count("\n") == expected
    assert all("forged" not in json.dumps({**line, "path": "", "user_agent": ""}) for line in lines)


def test_row_88_what_an_issuer_serves_stays_within_its_own_record(start_gateway, issuer):
    server = KeySetServer()
    try:
        forged = '"\r\n2026-01-01 error forged\x1b[31m'
        key = Issuer().access_key.jwk()
        server.document = {"keys": [{**key, "kid": forged, "use": forged}, {**key, "kid": forged, "kty": forged}, issuer.access_key.jwk()]}
        server.headers = {"Cache-Control": "max-age=600, forged"}
        gateway = start_gateway(jwks_url=server.url)
        assert raw.exchange(gateway.port, "GET", REQUIRED, bearer(issuer.access())).status == 200
        wait_until(lambda: "keys left out of the key set" in gateway.log(), "the warning")
        assert "forged" not in gateway.log() and "\x1b" not in gateway.log()
        assert "forged" not in gateway.admin("/metrics")[1]
    finally:
        server.stop()


def test_row_90_other_sites_pages_change_nothing_with_a_cookie(start_gateway, own_recorder, issuer):
    """There are no cookies for signing in yet; these are the cookies that hold a route's token."""
    route = {"name": "session", "path": "/session", "upstream": "recorder", "token_cookie": "session"}
    gateway = start_gateway({"routes": [route]})
    cookie = {"Cookie": f"session={issuer.access()}"}
    own = "http://gateway.test"
    others = [
        {}, {"Origin": "null"}, {"Origin": "https://evil.test"}, {"Origin": own + ".evil.test"}, {"Origin": own + ":8080"}, {"Origin": own + "/"},
        {"Origin": own.upper()}, {"Origin": "https://gateway.test"}, {"Origin": f"{own} {own}"}, {"Origin": f"{own}, {own}"}, {"Origin": ""},
        {"Referer": own + "/"}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": "none"},
        {"Sec-Fetch-Site": "Same-Origin"}, {"Sec-Fetch-Site": "same-origin, same-origin"}, {"Sec-Fetch-Site": "cross-site", "Origin": own},
        {"Sec-Fetch-Site": "cross-site", "sec_fetch_site": "same-origin"}, {"Sec-Fetch-Site": "", "Origin": own},
        {"X-Requested-With": "XMLHttpRequest"}, {"X-Forwarded-Host": "evil.test", "Origin": "http://evil.test"},
        {"X-HTTP-Method-Override": "GET"},
    ]
    for method in ("POST", "PUT", "PATCH", "DELETE", "PROPFIND", "get", "QUERY"):
        for fields in others:
            answer = raw.exchange(gateway.port, method, "/session", {**cookie, **fields})
            assert_refusal(answer, 403, "AccessDeniedException")
    assert own_recorder.requests == []
    for fields in ({"Origin": own}, {"Sec-Fetch-Site": "same-origin"}):
        assert raw.exchange(gateway.port, "POST", "/session", {**cookie, **fields}).status == 200
    assert len(own_recorder.requests) == 2
