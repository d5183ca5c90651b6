"""`Date` on responses (RFC 9110, section 6.6.1): apps set their idea of the time by it."""

import time
from email.utils import parsedate_to_datetime

import pytest
from harness import raw
from harness.h2raw import H2Connection, request

TARGET = "/recorded/public/dated"
OLD = "Sun, 06 Nov 1994 08:49:37 GMT"


def dates(port: int, protocol: str, target: str) -> list[str]:
    if protocol == "http1":
        return raw.exchange(port, "GET", target).all("date")
    with H2Connection(port) as connection:
        headers = connection.response(connection.open(request("GET", target))).headers
        return [value for name, value in headers if name == "date"]


def assert_is_from_now(dates: list[str], began: float) -> None:
    [date] = dates
    assert date.endswith(" GMT") and len(date) == 29
    assert int(began) <= parsedate_to_datetime(date).timestamp() <= time.time()


@pytest.mark.parametrize("protocol", ["http1", "http2"])
def test_each_response_tells_the_time(gateway, recorder, protocol):
    began = time.time()
    # The gateway's own, and a backend's that has none, with its lines passed on.
    recorder.on(TARGET, lambda exchange: exchange.respond(200, b"no date"))
    for target in ("/no-route", "/healthz", TARGET):
        assert_is_from_now(dates(gateway.port, protocol, target), began)
    # `Connection` names another field: the lines are taken apart.
    recorder.on(TARGET, lambda exchange: exchange.respond(200, b"no date", {"Connection": "x-own", "X-Own": "1"}))
    assert_is_from_now(dates(gateway.port, protocol, TARGET), began)
    for more in ({}, {"Connection": "x-own", "X-Own": "1"}):
        recorder.on(TARGET, lambda exchange: exchange.respond(200, b"dated", {"Date": OLD, **more}))  # noqa: B023
        assert dates(gateway.port, protocol, TARGET) == [OLD]


def test_a_malformed_request_and_the_admin_listener_are_told_the_time(gateway):
    began = time.time()
    with raw.RawConnection(gateway.port) as connection:
        connection.send(b"GET / HTTP/1.1\r\n\r\n")
        assert_is_from_now(connection.response().all("date"), began)
    assert_is_from_now(raw.exchange(gateway.admin_port, "GET", "/healthz").all("date"), began)
