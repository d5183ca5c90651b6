"""Responses that the gateway compresses, on routes that want it, and those that it leaves as they are."""

import base64
import gzip
import json
import ssl
import urllib.request
import zlib

import pytest
from harness import raw
from harness.backend import Holding
from harness.certificates import Authority
from harness.h2raw import H2Connection, request
from harness.process import accepts_connections, free_port, wait_until

PATH = "/compressed/x"
TEXT = json.dumps([{"id": number, "name": f"user {number}"} for number in range(500)]).encode()
JSON = {"Content-Type": "application/json"}
TAKES = {"Accept-Encoding": "gzip, br;q=0.9"}


@pytest.fixture
def gateway(start_gateway):
    routes = [
        {"path": "/compressed/**", "access": "public", "compress": True, "upstream": "recorder"},
        {"path": "/plain/**", "access": "public", "upstream": "recorder"},
    ]
    return start_gateway({"routes": routes})


@pytest.fixture
def backend(own_recorder):
    """Has the backend respond: `backend(body, headers, status)`."""

    def respond(body: bytes = TEXT, headers: dict[str, str] = JSON, status: int = 200, path: str = PATH) -> None:
        own_recorder.on(path, lambda exchange: exchange.respond(status, body, headers))

    return respond


def get(gateway, headers: dict[str, str] = TAKES, path: str = PATH, method: str = "GET") -> raw.Response:
    return raw.exchange(gateway.port, method, path, headers)


def is_compressed(response: raw.Response) -> bool:
    return response.header("content-encoding") == "gzip"


def test_a_text_is_compressed_for_a_client_that_takes_it(gateway, backend):
    backend(headers={**JSON, "ETag": '"1"', "Accept-Ranges": "bytes", "X-Kept": "as it is"})
    response = get(gateway)
    assert response.status == 200
    assert is_compressed(response)
    assert gzip.decompress(response.body) == TEXT
    assert len(response.body) < len(TEXT) / 3
    assert response.header("content-length") is None
    assert response.header("vary") == "Accept-Encoding"
    # The bytes are not the backend's, but mean the same.
    assert response.header("etag") == 'W/"1"'
    assert response.header("accept-ranges") is None
    assert response.header("x-kept") == "as it is"
    # The log has the bytes that were sent.
    (line,) = wait_until(lambda: [line for line in gateway.access_log() if line["path"] == PATH], "its line")
    assert line["bytes_sent"] == len(response.body)


def test_other_clients_get_the_text_as_it_is_and_caches_know_of_both(gateway, backend):
    backend(headers={**JSON, "ETag": '"1"', "Vary": "Origin"})
    for headers in ({}, {"Accept-Encoding": "br"}, {"Accept-Encoding": "gzip;q=0, *"}):
        response = get(gateway, headers)
        assert not is_compressed(response)
        assert response.body == TEXT
        assert response.header("content-length") == str(len(TEXT))
        assert response.header("etag") == '"1"'
        assert response.all("vary") == ["Origin", "Accept-Encoding"]


def test_a_route_without_the_setting_compresses_nothing(gateway, backend):
    backend(path="/plain/x")
    response = get(gateway, path="/plain/x")
    assert not is_compressed(response)
    assert response.header("vary") is None
    assert response.body == TEXT


def test_a_response_over_http2_is_compressed(gateway, backend):
    backend()
    with H2Connection(gateway.port) as connection:
        stream = connection.response(connection.open(request("GET", PATH, ("accept-encoding", "gzip"))))
    assert dict(stream.headers)["content-encoding"] == "gzip"
    assert gzip.decompress(stream.body) == TEXT


def test_a_client_of_http10_gets_it_until_the_connection_closes(gateway, backend):
    backend()
    with raw.RawConnection(gateway.port) as connection:
        connection.send(b"GET " + PATH.encode() + b" HTTP/1.0\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n")
        response = connection.response()
    assert response.header("transfer-encoding") is None
    assert gzip.decompress(response.body) == TEXT


def test_a_large_body_is_compressed_piece_by_piece(gateway, backend):
    body = b"".join(b"%d,%d\n" % (number, number * number) for number in range(600_000))
    backend(body, {"Content-Type": "text/csv; charset=utf-8"})
    response = get(gateway)
    assert is_compressed(response)
    assert gzip.decompress(response.body) == body


def test_bytes_that_cannot_be_compressed_arrive_whole(gateway, backend):
    body = base64.b85encode(bytes((number * number * 7919 >> 3) % 256 for number in range(300_000)))
    backend(body, {"Content-Type": "text/plain"})
    assert gzip.decompress(get(gateway).body) == body


def test_what_the_backend_has_sent_is_not_held_back(gateway, own_recorder):
    holding = Holding()

    def slow(exchange):
        exchange.read_body()
        exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n")
        exchange.send(b"8\r\n{\"a\":1}\n\r\n")
        holding(exchange)

    own_recorder.on(PATH, slow)
    with raw.RawConnection(gateway.port) as connection:
        connection.send(raw.request_bytes("GET", PATH, TAKES))
        assert is_compressed(connection.head())
        reader, line = zlib.decompressobj(16 + zlib.MAX_WBITS), b""
        for chunk in connection.chunks():
            line += reader.decompress(chunk)
            if line == b'{"a":1}\n':
                break
        holding.released.set()


def test_a_response_that_breaks_off_does_not_look_complete(gateway, own_recorder):
    def broken(exchange):
        exchange.read_body()
        exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5000\r\n\r\n" + b"x" * 3000)
        exchange.close()

    own_recorder.on(PATH, broken)
    with pytest.raises(raw.ConnectionClosed):
        get(gateway)


def test_a_head_request_is_told_of_the_same_response(gateway, backend):
    backend()
    response = get(gateway, method="HEAD")
    assert is_compressed(response)
    assert response.header("content-length") is None
    assert response.body == b""


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "image/png"},
        {"Content-Type": "text/event-stream"},
        {"Content-Type": "application/octet-stream"},
        {},
        {**JSON, "Content-Encoding": "br"},
        {**JSON, "Cache-Control": "private, no-transform"},
        {**JSON, "Content-Digest": "sha-256=:AAAA:"},
        {**JSON, "Set-Cookie": "session=secret"},
    ],
    ids=lambda headers: "-".join(headers.values()) or "no type",
)
def test_what_is_not_to_be_compressed_passes_as_it_is(gateway, backend, headers):
    backend(headers=headers)
    response = get(gateway)
    assert response.header("content-encoding") == headers.get("Content-Encoding")
    assert response.body == TEXT
    assert response.header("content-length") == str(len(TEXT))


def test_short_bodies_and_parts_pass_as_they_are(gateway, backend):
    backend(TEXT[:1023])
    assert get(gateway).body == TEXT[:1023]
    backend(TEXT[:1024])
    assert is_compressed(get(gateway))
    backend(TEXT[:2000], {**JSON, "Content-Range": f"bytes 0-1999/{len(TEXT)}"}, 206)
    response = get(gateway, {**TAKES, "Range": "bytes=0-1999"})
    assert response.status == 206
    assert response.body == TEXT[:2000]


@pytest.mark.parametrize("status", [400, 404, 500])
def test_errors_of_the_backend_are_compressed_too(gateway, backend, status):
    backend(status=status)
    response = get(gateway)
    assert response.status == status
    assert gzip.decompress(response.body) == TEXT


@pytest.mark.parametrize(
    "credentials", [{"Cookie": "session=1"}, {"Authorization": "Basic YTpi"}, {"Authorization": "Negotiate x"}]
)
def test_lengths_tell_nothing_where_another_sites_page_can_ask(gateway, backend, credentials):
    """BREACH: a browser sends these by itself, whoever made it ask."""
    backend()
    response = get(gateway, {**TAKES, **credentials})
    assert not is_compressed(response)
    assert response.body == TEXT


def test_a_clients_certificate_is_sent_by_browsers_too(start_gateway, backend, run_directory):
    authority = Authority(run_directory / "compression-certificates")
    tls = {"certificates": [authority.issue("api.test").settings()]}
    with_certificates = {"address": f"127.0.0.1:{free_port()}", "tls": {**tls, "client_ca": str(authority.pem)}}
    without = {"address": f"127.0.0.1:{free_port()}", "tls": tls}
    start_gateway(
        {
            "listeners": [without, with_certificates],
            "routes": [{"path": "/compressed/**", "access": "public", "compress": True, "upstream": "recorder"}],
        }
    )
    # It is bound after the first one, for which `start_gateway` waits.
    port = int(with_certificates["address"].rpartition(":")[2])
    wait_until(lambda: accepts_connections(port), "the other listener")
    backend()
    context = ssl.create_default_context(cafile=str(authority.pem))
    context.check_hostname = False
    client = authority.issue("client.test")
    context.load_cert_chain(client.certificate, client.key)
    found = []
    for listener in (without, with_certificates):
        asked = urllib.request.Request(f"https://{listener['address']}{PATH}", headers=TAKES)
        with urllib.request.urlopen(asked, context=context) as response:
            found.append(response.headers.get("Content-Encoding"))
    assert found == ["gzip", None]


def test_the_length_of_one_body_differs_from_time_to_time(gateway, backend):
    backend()
    lengths = {len(get(gateway).body) for _ in range(40)}
    assert len(lengths) > 10


def test_a_bearer_token_lets_a_response_be_compressed(start_gateway, backend, issuer):
    gateway = start_gateway(
        {"routes": [{"path": "/compressed/**", "access": "required", "compress": True, "upstream": "recorder"}]}
    )
    backend()
    response = get(gateway, {**TAKES, "Authorization": f"Bearer {issuer.access()}"})
    assert gzip.decompress(response.body) == TEXT
    # The gateway's own responses are never compressed: tokens are in them.
    refused = get(gateway)
    assert refused.status == 401
    assert not is_compressed(refused)
