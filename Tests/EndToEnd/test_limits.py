"""The effects of the configured limits."""

import socket
import ssl
import struct

import pytest
from harness import h2raw, raw
from harness.account import assert_refusal
from harness.backend import Holding
from harness.certificates import Authority
from harness.h2raw import H2Connection, frame, request
from harness.process import free_port, wait_until

TARGET = "/recorded/public/limits"


def test_connections_over_the_limit_are_told_503_and_room_is_used_again(start_gateway):
    gateway = start_gateway({"limits": {"connections": 2, "connections_per_address": 10}})
    gateway.wait_for_nobody()
    first, second = raw.RawConnection(gateway.port), raw.RawConnection(gateway.port)
    assert [each.request("GET", TARGET).status for each in (first, second)] == [200, 200]
    with raw.RawConnection(gateway.port) as third:
        answer = third.response()
        assert answer.status == 503
        assert answer.header("retry-after") == "5"
        assert third.is_closed_by_peer()
    assert gateway.refused("connection-limit") == 1
    # Those that were let in are not disturbed, and when one goes there is room again.
    assert first.request("GET", TARGET).status == 200
    second.close()
    wait_until(lambda: raw.exchange(gateway.port, "GET", TARGET).status == 200, "a place that became free")
    first.close()


def test_connections_over_the_limit_of_a_tls_listener_are_closed(start_gateway, run_directory):
    authority = Authority(run_directory / "limits-certificates")
    listener = {"address": f"127.0.0.1:{free_port()}", "tls": {"certificates": [authority.issue("api.test").settings()]}}
    gateway = start_gateway({"listeners": [listener], "limits": {"connections": 1, "connections_per_address": 10}})
    context = ssl.create_default_context(cafile=str(authority.pem))

    def connect() -> ssl.SSLSocket | None:
        """Nothing when there is no room."""
        connected = socket.create_connection(("127.0.0.1", gateway.port), timeout=10)
        try:
            return context.wrap_socket(connected, server_hostname="api.test")
        except (ssl.SSLEOFError, ConnectionError):
            connected.close()
            return None

    first = wait_until(connect, "room for one")
    before = gateway.refused("connection-limit")
    # A handshake costs far more than to turn a connection away: there is none.
    assert connect() is None
    assert gateway.refused("connection-limit") == before + 1
    first.sendall(raw.request_bytes("GET", TARGET))
    assert first.recv(65536).startswith(b"HTTP/1.1 200 ")
    first.close()
    wait_until(connect, "a place that became free").close()


@pytest.fixture
def held(own_recorder):
    """Requests for `TARGET/held` are answered when this is set."""
    holding = Holding()
    own_recorder.on(TARGET + "/held", holding)
    yield holding.released
    holding.released.set()


def test_requests_over_the_limit_are_told_503_at_once(start_gateway, own_recorder, held):
    gateway = start_gateway({"limits": {"requests": 3, "requests_per_address": 3}, "upstreams": {"recorder": {"first_byte_timeout": "20s"}}})
    with H2Connection(gateway.port) as busy, raw.RawConnection(gateway.port) as other:
        # Refused requests, and those that their client gave up, do not count any more.
        for _ in range(5):
            assert raw.exchange(gateway.port, "GET", "/nowhere").status == 404
            with raw.RawConnection(gateway.port) as bad:
                bad.send(b"nonsense\r\n\r\n")
                assert bad.response().status == 400
        with raw.RawConnection(gateway.port) as gone:
            gone.send(raw.request_bytes("GET", TARGET + "/held"))
            own_recorder.last(TARGET + "/held")
        wait_until(lambda: gateway.metric("gatehouse_requests_in_flight") == 0, "nothing in flight")
        own_recorder.requests.clear()

        # Those in flight are counted over all connections and event loops.
        streams = [busy.open(request(path=TARGET + "/held")) for _ in range(2)]
        other.send(raw.request_bytes("GET", TARGET + "/held"))
        wait_until(lambda: len(own_recorder.requests) == 3, "three requests at the backend")
        for _ in range(5):
            answer = raw.exchange(gateway.port, "POST", TARGET, body=b"x" * 1000)
            assert_refusal(answer, 503, "ServiceUnavailableException")
            assert answer.header("retry-after") == "1"
            assert gateway.access_line(answer.header("x-request-id"))["denial_reason"] == "overloaded"
            refused_stream = busy.open(request(path=TARGET))
            assert busy.response(refused_stream).status == 503
        assert len(own_recorder.requests) == 3
        assert 'gatehouse_denials_total{reason="overloaded"} 10\n' in gateway.admin("/metrics")[1]

        held.set()
        assert [busy.response(stream).body for stream in streams] == [b"held"] * 2
        assert other.response().body == b"held"
        # There is room again, for as many as before.
        held.clear()
        streams = [busy.open(request(path=TARGET + "/held")) for _ in range(3)]
        wait_until(lambda: len(own_recorder.requests) == 6, "three more requests at the backend")
        assert raw.exchange(gateway.port, "GET", TARGET).status == 503
        held.set()
        assert [busy.response(stream).body for stream in streams] == [b"held"] * 3


def test_a_reload_changes_how_many_requests_are_taken_and_counts_those_in_flight(start_gateway, own_recorder, held):
    gateway = start_gateway({"limits": {"requests": 3, "requests_per_address": 3}, "upstreams": {"recorder": {"first_byte_timeout": "20s"}}})
    with H2Connection(gateway.port) as busy:
        streams = [busy.open(request(path=TARGET + "/held")) for _ in range(2)]
        wait_until(lambda: len(own_recorder.requests) == 2, "two requests at the backend")
        assert raw.exchange(gateway.port, "GET", TARGET).status == 200
        gateway.reload({"limits": {"requests": 2}})
        assert raw.exchange(gateway.port, "GET", TARGET).status == 503
        held.set()
        assert [busy.response(stream).body for stream in streams] == [b"held"] * 2
    assert raw.exchange(gateway.port, "GET", TARGET).status == 200


# HTTP/2


def test_how_many_streams_may_be_open_is_configured(start_gateway, own_recorder, held):
    gateway = start_gateway({"limits": {"http2": {"streams": 2}}, "upstreams": {"recorder": {"first_byte_timeout": "20s"}}})
    with H2Connection(gateway.port) as connection:
        # A limit holds from when the client has acknowledged it (RFC 9113, section 6.5.3).
        assert connection.response(connection.open(request(path=TARGET))).status == 200
        streams = [connection.open(request(path=TARGET + "/held")) for _ in range(2)]
        wait_until(lambda: len(own_recorder.requests) == 3, "two more requests at the backend")
        third = connection.open(request(path=TARGET + "/held"))
        assert connection.response(third).reset is not None or connection.goaways
        settings = next(found for found in connection.frames if found.type == h2raw.SETTINGS and found.payload)
        assert struct.pack("!HI", 3, 2) in settings.payload
        held.set()
        if not connection.closed:
            assert [connection.response(stream).status for stream in streams] == [200, 200]
    assert len(own_recorder.requests) == 3


def open_and_reset(connection: H2Connection) -> None:
    stream = connection.open(request(path=TARGET))
    connection.send(frame(h2raw.RST_STREAM, 0, stream, struct.pack("!I", 8)))


def test_how_many_streams_may_be_reset_is_configured(start_gateway):
    gateway = start_gateway({"limits": {"http2": {"resets": 3, "reset_window": "1h"}}})
    with H2Connection(gateway.port) as connection:
        for _ in range(3):
            open_and_reset(connection)
        assert connection.response(connection.open(request(path=TARGET))).status == 200
        open_and_reset(connection)
        connection.rest()
        assert [found.code for found in connection.goaways] == [h2raw.ENHANCE_YOUR_CALM]


@pytest.mark.parametrize("frames", [2, 3])
def test_how_many_continuations_may_follow_is_configured(start_gateway, frames):
    gateway = start_gateway({"limits": {"http2": {"continuation_frames": 2}}})
    with H2Connection(gateway.port) as connection:
        head = frame(h2raw.HEADERS, h2raw.END_STREAM, 1, h2raw.block(request(path=TARGET)))
        for number in range(frames):
            flags = h2raw.END_HEADERS if number == frames - 1 else 0
            head += frame(h2raw.CONTINUATION, flags, 1, h2raw.block([(f"x-{number}", "1")]))
        connection.send(head)
        if frames == 2:
            assert connection.response(1).status == 200
        else:
            connection.rest()
            assert connection.goaways[-1].code != h2raw.NO_ERROR


def test_a_connection_that_begins_no_handshake_holds_a_place_and_is_counted(start_gateway, run_directory):
    authority = Authority(run_directory / "silent-certificates")
    listener = {"address": f"127.0.0.1:{free_port()}", "tls": {"certificates": [authority.issue("api.test").settings()]}}
    gateway = start_gateway({"listeners": [listener]})
    gateway.wait_for_nobody()
    with raw.RawConnection(gateway.port):
        wait_until(lambda: gateway.metric("gatehouse_client_connections_open") == 1, "the silent connection")
    gateway.wait_for_nobody()
