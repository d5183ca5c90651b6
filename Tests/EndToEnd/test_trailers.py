"""Trailers of a backend's response: for clients that asked for them, and only what may stand there."""

import pytest
from harness import raw
from harness.h2raw import H2Connection, request

TARGET = "/recorded/public/trailers"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/grpc\r\nTrailer: grpc-status\r\nTransfer-Encoding: chunked\r\n\r\n"
TRAILERS = b"grpc-status: 0\r\nX-Checksum: 1234\r\nX-Auth-Subject: mallory\r\nSet-Cookie: a=b\r\nContent-Length: 7\r\n"


def respond(exchange) -> None:
    exchange.read_body()
    exchange.send(HEAD + b"5\r\nhello\r\n0\r\n" + TRAILERS + b"\r\n")


@pytest.fixture
def backend(recorder):
    recorder.on(TARGET, respond)
    return recorder


def exchange(port: int, *fields: tuple[str, str], method: str = "GET", version: str = "1.1") -> tuple[raw.Response, bytes]:
    """The response's head, and everything behind it until the gateway closes, byte for byte."""
    lines = [f"{method} {TARGET} HTTP/{version}", "Host: gateway.test", *(f"{name}: {value}" for name, value in fields)]
    with raw.RawConnection(port) as connection:
        connection.send("\r\n".join(lines).encode() + b"\r\n\r\n")
        return connection.head(), connection.rest()


@pytest.mark.parametrize(
    "fields",
    [
        [("TE", "trailers"), ("Connection", "TE, close")],
        [("te", "Trailers"), ("Connection", "close")],
        [("TE", "gzip;q=0.5 , trailers"), ("Connection", "close, te")],
        [("TE", "gzip"), ("TE", "trailers"), ("Connection", "close")],
    ],
    ids=["named in Connection", "not named", "in a list", "on a line of its own"],
)
def test_an_http_1_1_client_that_asks_gets_them(gateway, backend, fields):
    head, rest = exchange(gateway.port, *fields)
    assert head.header("transfer-encoding") == "chunked"
    assert rest == b"5\r\nhello\r\n0\r\ngrpc-status: 0\r\nX-Checksum: 1234\r\n\r\n"
    got = backend.last(TARGET)
    assert (got.header("te"), got.header("connection")) == ("trailers", "TE")


@pytest.mark.parametrize("fields", [[], [("TE", "gzip")], [("TE", "trailersx")], [("TE", "")]])
def test_others_do_not_and_the_backend_hears_that(gateway, backend, fields):
    _, rest = exchange(gateway.port, *fields, ("Connection", "close"))
    assert rest == b"5\r\nhello\r\n0\r\n\r\n"
    assert backend.last(TARGET).names & {"te", "connection"} == set()


def test_http_2_clients_that_ask_get_them(gateway, backend):
    with H2Connection(gateway.port) as connection:
        response = connection.response(connection.open(request("GET", TARGET, ("te", "trailers"))))
        assert (response.status, response.body, response.ended, response.reset) == (200, b"hello", True, None)
        assert response.trailers == [("grpc-status", "0"), ("x-checksum", "1234")]
        assert backend.last(TARGET).header("te") == "trailers"
        response = connection.response(connection.open(request("GET", TARGET)))
        assert (response.body, response.ended, response.trailers) == (b"hello", True, [])


def test_http_2_trailers_without_a_body(gateway, recorder):
    def nothing(exchange):
        exchange.read_body()
        exchange.send(HEAD + b"0\r\n" + TRAILERS + b"\r\n")

    recorder.on(TARGET, nothing)
    with H2Connection(gateway.port) as connection:
        response = connection.response(connection.open(request("POST", TARGET, ("te", "trailers"))))
        assert (response.status, response.body, response.ended) == (200, b"", True)
        assert response.trailers[0] == ("grpc-status", "0")
        # The connection goes on.
        assert connection.response(connection.open(request())).status == 200


def test_an_upload_with_trailers_both_ways_loses_those_of_the_request(gateway, backend):
    body = b"3\r\nabc\r\n0\r\nX-Auth-Subject: mallory\r\nX-Sum: 1\r\n\r\n"
    with raw.RawConnection(gateway.port) as connection:
        connection.send(raw.request_bytes("POST", TARGET, {"Transfer-Encoding": "chunked", "TE": "trailers"}) + body)
        connection.head()
        assert connection.until(b"0\r\n") == b"5\r\nhello\r\n0\r\n"
        assert connection.until(b"\r\n\r\n") == b"grpc-status: 0\r\nX-Checksum: 1234\r\n\r\n"
        assert connection.request("GET", "/recorded/public/next").status == 200
    got = backend.last(TARGET)
    assert (got.body, got.raw_body) == (b"abc", b"3\r\nabc\r\n0\r\n\r\n")


def test_where_there_is_no_place_for_them_there_are_none(gateway, backend):
    ask = ("TE", "trailers")
    assert exchange(gateway.port, ask, version="1.0")[1] == b"hello"

    def head_only(exchange):
        exchange.send(HEAD)

    backend.on(TARGET, head_only)
    assert exchange(gateway.port, ask, ("Connection", "close"), method="HEAD")[1] == b""


def test_nothing_left_means_no_trailers(gateway, recorder):
    def forbidden(exchange):
        exchange.send(HEAD + b"0\r\nSet-Cookie: a=b\r\n\r\n")

    recorder.on(TARGET, forbidden)
    assert exchange(gateway.port, ("TE", "trailers"), ("Connection", "close"))[1] == b"0\r\n\r\n"
    with H2Connection(gateway.port) as connection:
        response = connection.response(connection.open(request("GET", TARGET, ("te", "trailers"))))
        assert (response.status, response.ended, response.trailers) == (200, True, [])
