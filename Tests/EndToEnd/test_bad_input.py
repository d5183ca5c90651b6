"""Issue section "Bad input": ambiguous or malformed HTTP is 400, the connection ends, the backend hears nothing."""

import threading

import pytest
from harness import raw
from harness.account import assert_refusal

HOST = b"Host: gateway.test\r\n"
GET = b"GET /recorded/public/x HTTP/1.1\r\n" + HOST
POST = b"POST /recorded/public/x HTTP/1.1\r\n" + HOST
NEXT = raw.request_bytes("GET", "/recorded/public/smuggled")

MALFORMED = {
    # Framing (RFC 9112 section 6)
    "length-and-chunked": POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + NEXT,
    "chunked-and-length": POST + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + NEXT,
    "two-different-lengths": POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    "length-list-different": POST + b"Content-Length: 5, 6\r\n\r\nhello!",
    "length-signed": POST + b"Content-Length: +5\r\n\r\nhello",
    "length-negative": POST + b"Content-Length: -5\r\n\r\nhello",
    "length-hexadecimal": POST + b"Content-Length: 0x5\r\n\r\nhello",
    "length-empty": POST + b"Content-Length:\r\n\r\nhello",
    "length-2-to-the-64": POST + b"Content-Length: 18446744073709551616\r\n\r\nhello",
    "length-with-space-before-colon": POST + b"Content-Length : 5\r\n\r\nhello",
    "coding-unknown": POST + b"Transfer-Encoding: cow\r\n\r\n",
    "coding-chunked-not-last": POST + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "coding-chunked-twice": POST + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    "coding-with-vertical-tab": POST + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
    "coding-in-http-1.0": b"POST /recorded/public/x HTTP/1.0\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    # Lines (RFC 9112 sections 2.2 and 5.2)
    "bare-lf-after-request-line": b"GET /recorded/public/x HTTP/1.1\n" + HOST + b"\r\n",
    "bare-lf-after-header": b"GET /recorded/public/x HTTP/1.1\r\nHost: gateway.test\nX: y\r\n\r\n",
    "bare-lf-at-the-end": GET + b"X: y\r\n\n",
    "bare-cr-in-value": GET + b"X: a\rb\r\n\r\n",
    "obs-fold": GET + b"X: a\r\n b\r\n\r\n",
    "obs-fold-of-the-first-header": b"GET /recorded/public/x HTTP/1.1\r\n X: a\r\n" + HOST + b"\r\n",
    # Headers (RFC 9110 section 5)
    "nul-in-value": GET + b"X: a\x00b\r\n\r\n",
    "control-byte-in-value": GET + b"X: a\x01b\r\n\r\n",
    "delete-in-value": GET + b"X: a\x7fb\r\n\r\n",
    "nul-in-name": GET + b"X\x00Y: a\r\n\r\n",
    "space-in-name": GET + b"X Y: a\r\n\r\n",
    "space-before-colon": GET + b"X : a\r\n\r\n",
    "name-empty": GET + b": a\r\n\r\n",
    "name-not-ascii": GET + b"X\xe4: a\r\n\r\n",
    "name-with-parentheses": GET + b"X(Y): a\r\n\r\n",
    "no-colon": GET + b"nothing\r\n\r\n",
    "no-host": b"GET /recorded/public/x HTTP/1.1\r\n\r\n",
    "two-hosts": GET + b"Host: other.test\r\n\r\n",
    "host-malformed": b"GET /recorded/public/x HTTP/1.1\r\nHost: a b\r\n\r\n",
    # Request line
    "no-version": b"GET /recorded/public/x\r\n" + HOST + b"\r\n",
    "two-spaces": b"GET  /recorded/public/x HTTP/1.1\r\n" + HOST + b"\r\n",
    "tab-instead-of-space": b"GET\t/recorded/public/x HTTP/1.1\r\n" + HOST + b"\r\n",
    "space-in-target": b"GET /recorded/public/x y HTTP/1.1\r\n" + HOST + b"\r\n",
    "method-malformed": b"G@T /recorded/public/x HTTP/1.1\r\n" + HOST + b"\r\n",
    "version-malformed": b"GET /recorded/public/x HTTP/1.x\r\n" + HOST + b"\r\n",
    "target-without-slash": b"GET recorded/public/x HTTP/1.1\r\n" + HOST + b"\r\n",
    "target-with-control-byte": b"GET /recorded/public/\x01 HTTP/1.1\r\n" + HOST + b"\r\n",
    "target-with-raw-utf-8": b"GET /recorded/public/\xc3\xa9 HTTP/1.1\r\n" + HOST + b"\r\n",
    "target-with-fragment": b"GET /recorded/public/x#y HTTP/1.1\r\n" + HOST + b"\r\n",
    "not-http-at-all": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
}

# Chunked bodies: the head is in order, so a streaming gateway may have opened a request at the backend; what the
# backend must not see is a complete request, or a second one.
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
BAD_CHUNKS = {
    "size-not-hexadecimal": b"xyz\r\nhello\r\n0\r\n\r\n",
    "size-empty": b"\r\nhello\r\n0\r\n\r\n",
    "size-negative": b"-5\r\nhello\r\n0\r\n\r\n",
    "size-prefixed": b"0x5\r\nhello\r\n0\r\n\r\n",
    "size-with-underscore": b"0_5\r\nhello\r\n0\r\n\r\n",
    "size-2-to-the-64": b"10000000000000000\r\nhello\r\n0\r\n\r\n",
    "size-with-space-before": b" 5\r\nhello\r\n0\r\n\r\n",
    "size-line-bare-lf": b"5\nhello\r\n0\r\n\r\n",
    "data-longer-than-size": b"5\r\nhello!!\r\n0\r\n\r\n",
    "data-not-followed-by-crlf": b"5\r\nhelloXX0\r\n\r\n",
    "data-followed-by-lf": b"5\r\nhello\n0\r\n\r\n",
    "extension-with-bare-lf": b"5;a\nb\r\nhello\r\n0\r\n\r\n",
    "trailer-malformed": b"5\r\nhello\r\n0\r\nno colon\r\n\r\n",
    "trailer-folded": b"5\r\nhello\r\n0\r\nX: a\r\n b\r\n\r\n",
}

AMBIGUOUS_PATHS = [
    "/recorded/public/a%2Fb",
    "/recorded/public/a%2fb",
    "/recorded/public/a%5Cb",
    "/recorded/public/a%5cb",
    "/recorded/public/a\\b",
    "/recorded/public/a%00b",
    "/recorded/public/../exact",
    "/recorded/public/./x",
    "/recorded/public/x/%2e%2e",
    "/recorded/public/%2e%2e/exact",
    "/recorded/public/%2E./exact",
    "/recorded/public/.%2e/exact",
    "/recorded/public/%2e/x",
    "/recorded/public/..;/exact",
    "/recorded/public/..%2fexact",
    "/recorded/public/%252e%252e/exact",
    "/recorded/public/a%252fb",
    "/recorded/public/%zz",
    "/recorded/public/%4",
    "/recorded/public/%",
    "/recorded/public/%c0%ae%c0%ae/exact",
    "/recorded/public/%ff",
]


# Targets that backends read differently, and the status: forwarded as they are where every reading comes under the
# same route, 404 where one does not.
OTHER_READINGS = {
    "/recorded/public/a%0d%0ab": 200,
    "/recorded/public/x/..": 200,
    "/recorded/public/x/.?y": 200,
    "/recorded/public/locked%0a": 404,
    "/recorded/public/lock%0aed": 404,
    "/recorded/public/locked/.": 404,
    "/recorded/public/locked/x/..": 404,
    "/recorded/required/..": 404,
}


@pytest.mark.parametrize("target", OTHER_READINGS)
def test_a_path_with_other_readings_is_forwarded_only_where_all_have_one_policy(gateway, recorder, target):
    assert raw.exchange(gateway.port, "GET", target).status == OTHER_READINGS[target]
    assert [request.target for request in recorder.requests] == [target] * (OTHER_READINGS[target] == 200)


def assert_refused(gateway, recorder, data: bytes, statuses: set[int] = frozenset({400})) -> None:
    """The one answer is a 4xx refusal with the connection's end behind it; the backend hears of nothing."""
    with raw.RawConnection(gateway.port, timeout=5) as connection:
        connection.send(data)
        response = connection.response()
        assert response.status in statuses, f"{response.status}: {response.body!r}"
        assert connection.rest() == b"", "bytes after the refusal"
    assert recorder.requests == []


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_http_is_refused(gateway, recorder, case):
    statuses = {400}
    if case in ("coding-unknown", "coding-chunked-twice"):
        statuses = {400, 501}
    if case in ("version-malformed", "not-http-at-all", "no-version"):
        statuses = {400, 505}
    assert_refused(gateway, recorder, MALFORMED[case], statuses)


def test_the_refusal_has_the_usual_shape(gateway):
    with raw.RawConnection(gateway.port) as connection:
        connection.send(MALFORMED["two-different-lengths"])
        assert_refusal(connection.response(), 400, "BadRequestException")


@pytest.mark.parametrize("case", BAD_CHUNKS)
def test_a_malformed_chunk_is_refused(gateway, recorder, case):
    own_path = f"/recorded/public/{case}"
    with raw.RawConnection(gateway.port, timeout=5) as connection:
        # A path of its own: on a busy machine the backend may record the last case's head only now.
        connection.send(CHUNKED.replace(b"/recorded/public/x", own_path.encode()) + BAD_CHUNKS[case] + NEXT)
        assert connection.response().status == 400
        assert connection.rest() == b""
    assert len(recorder.requests_to(own_path)) <= 1
    assert recorder.requests_to("/recorded/public/smuggled") == []
    for request in recorder.requests_to(own_path):
        assert recorder.connection_of(request).closed_by_peer.wait(5)
        assert not request.complete, "the backend got a body that looks complete"


def test_a_chunked_body_that_breaks_off_never_looks_complete(gateway, recorder):
    with raw.RawConnection(gateway.port) as connection:
        connection.send(CHUNKED + b"5\r\nhello\r\n0\r\n")
        request = recorder.last("/recorded/public/x")
    assert recorder.connection_of(request).closed_by_peer.wait(5)
    assert not request.complete


@pytest.mark.parametrize("target", AMBIGUOUS_PATHS)
def test_a_path_that_changes_under_decoding_is_refused(gateway, recorder, target):
    assert_refused(gateway, recorder, f"GET {target} HTTP/1.1\r\nHost: gateway.test\r\n\r\n".encode())


@pytest.mark.parametrize(
    "target, status",
    [("//recorded/exact", 400), ("/recorded//exact", 400), ("/recorded/exact;x", 404), ("/recorded/exact%20", 404)],
)
def test_a_path_near_a_route_is_not_that_route(gateway, recorder, target, status):
    assert raw.exchange(gateway.port, "GET", target).status == status
    assert recorder.requests == []


def test_connect_is_not_a_tunnel(gateway, recorder):
    with raw.RawConnection(gateway.port) as connection:
        connection.send(b"CONNECT internal.test:80 HTTP/1.1\r\nHost: internal.test:80\r\n\r\n")
        assert connection.response().status == 400
    assert recorder.requests == []


def test_headers_that_are_too_large_are_431(gateway, recorder):
    lines = b"".join(b"X-%d: %s\r\n" % (number, b"a" * 1000) for number in range(80))
    assert_refused(gateway, recorder, GET + lines + b"\r\n", {431})


def test_too_many_headers_are_431(gateway, recorder):
    lines = b"".join(b"X-%d: a\r\n" % number for number in range(2000))
    assert_refused(gateway, recorder, GET + lines + b"\r\n", {431})


def test_a_target_that_is_too_long_is_414(gateway, recorder):
    target = b"/recorded/public/" + b"a" * 70_000
    assert_refused(gateway, recorder, b"GET " + target + b" HTTP/1.1\r\n" + HOST + b"\r\n", {414, 431})


def test_a_smuggled_request_is_never_executed(gateway, recorder):
    """CL.TE through the gateway: whatever the refusal, the second request must not run, and others get their own."""
    with raw.RawConnection(gateway.port, timeout=5) as connection:
        connection.send(
            POST + b"Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
            b"GGET /recorded/public/smuggled HTTP/1.1\r\nHost: gateway.test\r\n\r\n"
        )
        assert connection.response().status == 400
        assert connection.rest() == b""
    assert raw.exchange(gateway.port, "GET", "/recorded/public/innocent").json()["target"] == "/recorded/public/innocent"
    assert [request.target for request in recorder.requests] == ["/recorded/public/innocent"]


def test_bad_input_does_not_disturb_others(gateway, recorder):
    failures = []

    def disturb():
        for data in MALFORMED.values():
            try:
                with raw.RawConnection(gateway.port, timeout=5) as connection:
                    connection.send(data)
                    connection.rest()
            except OSError as error:
                failures.append(error)

    thread = threading.Thread(target=disturb)
    thread.start()
    with raw.RawConnection(gateway.port) as connection:
        for number in range(100):
            assert connection.request("GET", f"/recorded/public/{number}").status == 200
    thread.join(60)
    assert not thread.is_alive() and not failures
