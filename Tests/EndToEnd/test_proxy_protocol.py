"""PROXY protocol on a listener: who the client is, by a proxy that is trusted, and only by one."""

import ipaddress
import socket
import ssl
import struct

import pytest
from harness import h2raw, raw
from harness.certificates import Authority
from harness.process import free_port, wait_until

SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"
TARGET = "/recorded/public/x"
REQUEST = raw.request_bytes("GET", TARGET)
CRC32C = 3


def line(source: str, destination: str = "192.0.2.1") -> bytes:
    """A header of version 1."""
    return f"PROXY TCP{ipaddress.ip_address(source).version} {source} {destination} 56324 443\r\n".encode()


def value(type: int, content: bytes) -> bytes:
    return struct.pack("!BH", type, len(content)) + content


def crc32c(data: bytes) -> int:
    remainder = 0xFFFFFFFF
    for byte in data:
        remainder ^= byte
        for _ in range(8):
            remainder = remainder >> 1 ^ (0x82F63B78 if remainder & 1 else 0)
    return remainder ^ 0xFFFFFFFF


def binary(source: str, values: bytes = b"", checksum: bool = False) -> bytes:
    """A header of version 2."""
    address = ipaddress.ip_address(source)
    rest = address.packed + address.packed + struct.pack("!HH", 56324, 443) + values
    family = 0x11 if address.version == 4 else 0x21

    def header(checksum_value: bytes) -> bytes:
        return SIGNATURE + struct.pack("!BBH", 0x21, family, len(rest + checksum_value)) + rest + checksum_value

    if not checksum:
        return header(b"")
    return header(value(CRC32C, struct.pack("!I", crc32c(header(value(CRC32C, bytes(4)))))))


def listener(*trusted: str, **more) -> dict:
    section = {"proxy_protocol": {"trusted": list(trusted or ["127.0.0.1", "::1/128"])}}
    return {"listeners": [{"address": f"127.0.0.1:{free_port()}", **section, **more}]}


@pytest.fixture(scope="module")
def authority(run_directory):
    return Authority(run_directory / "proxy-certificates")


HEADERS = {
    "v1 IPv4": (line("198.51.100.9"), "198.51.100.9"),
    "v1 IPv6": (line("2001:db8::9", "::1"), "2001:db8::9"),
    "v1 unknown": (b"PROXY UNKNOWN\r\n", "127.0.0.1"),
    "v2 IPv4": (binary("198.51.100.9"), "198.51.100.9"),
    "v2 IPv6": (binary("2001:db8::9"), "2001:db8::9"),
    "v2 IPv4-mapped": (binary("::ffff:198.51.100.9"), "198.51.100.9"),
    "v2 with values": (binary("198.51.100.9", value(2, b"api.test") + value(0xEA, bytes(500))), "198.51.100.9"),
    "v2 with a checksum": (binary("198.51.100.9", value(2, b"api.test"), checksum=True), "198.51.100.9"),
    "v2 local": (SIGNATURE + b"\x20\x00\x00\x00", "127.0.0.1"),
    "v2 local with an address": (SIGNATURE + b"\x20\x11\x00\x0c" + b"\x01" * 12, "127.0.0.1"),
}


def test_the_client_is_who_a_trusted_proxy_says(start_gateway, own_recorder):
    gateway = start_gateway(listener())
    for name, (header, client) in HEADERS.items():
        with raw.RawConnection(gateway.port) as connection:
            # Both requests of the connection are of that client.
            connection.send(header + REQUEST)
            answers = [connection.response(), connection.request("GET", TARGET)]
        for answer in answers:
            assert answer.status == 200, name
            assert gateway.access_line(answer.header("x-request-id"))["client_address"] == client, name
        assert [request.header("x-forwarded-for") for request in own_recorder.requests_to(TARGET)] == [client] * 2, name
        own_recorder.forget()


def test_a_header_may_come_in_any_pieces(start_gateway, own_recorder):
    gateway = start_gateway(listener())
    for header in (line("198.51.100.9"), binary("198.51.100.9", value(4, bytes(40)))):
        with raw.RawConnection(gateway.port) as connection:
            connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for byte in header + REQUEST:
                connection.send(bytes([byte]))
            assert connection.response().status == 200
        assert own_recorder.last(TARGET).header("x-forwarded-for") == "198.51.100.9"
        own_recorder.forget()


BAD = {
    "no header": REQUEST,
    "HTTP/2's preface": h2raw.PREFACE,
    "a line without its carriage return": b"PROXY TCP4 198.51.100.9 192.0.2.1 1 2\n" + REQUEST,
    "a port too high": b"PROXY TCP4 198.51.100.9 192.0.2.1 1 65536\r\n" + REQUEST,
    "a name for an address": b"PROXY TCP4 localhost 192.0.2.1 1 2\r\n" + REQUEST,
    "an endless line": b"PROXY UNKNOWN " + b"x" * 200,
    "an unknown command": SIGNATURE + b"\x2f\x11\x00\x0c" + bytes(12) + REQUEST,
    "a wrong checksum": binary("198.51.100.9", value(CRC32C, b"\x01\x02\x03\x04")) + REQUEST,
    "a header too long": SIGNATURE + b"\x21\x11\xff\xff",
}


def test_a_trusted_proxy_without_a_good_header_gets_no_answer(start_gateway, own_recorder):
    gateway = start_gateway(listener())
    for name, sent in BAD.items():
        with raw.RawConnection(gateway.port) as connection:
            connection.send(sent)
            assert connection.rest() == b"", name
    assert own_recorder.requests == []
    refused = 'gatehouse_client_connections_refused_total{reason="proxy-header-malformed"}'
    assert f"{refused} {len(BAD)}\n" in gateway.admin("/metrics")[1]
    lines = wait_until(
        lambda: len(found := [each for each in gateway.access_log() if each["status"] == 444]) == len(BAD) and found,
        "a log line for each",
    )
    assert {(each["client_address"], each["denial_reason"]) for each in lines} == {("127.0.0.1", "proxy-header-malformed")}


def test_from_others_a_header_is_no_http(start_gateway, own_recorder):
    gateway = start_gateway(listener("10.0.0.0/8", "::1"))
    for header in (line("198.51.100.9"), binary("198.51.100.9")):
        with raw.RawConnection(gateway.port) as connection:
            connection.send(header + REQUEST)
            assert connection.response().status == 400
    assert own_recorder.requests == []
    assert raw.exchange(gateway.port, "GET", TARGET).status == 200
    assert own_recorder.last(TARGET).header("x-forwarded-for") == "127.0.0.1"


def test_without_the_setting_a_header_is_no_http(gateway, recorder):
    with raw.RawConnection(gateway.port) as connection:
        connection.send(line("198.51.100.9") + REQUEST)
        assert connection.response().status == 400
    assert recorder.requests == []


@pytest.mark.parametrize("header", ["v1 IPv4", "v2 with a checksum"])
@pytest.mark.parametrize("apart", [True, False], ids=["apart", "together"])
def test_tls_begins_behind_the_header(start_gateway, authority, own_recorder, header, apart):
    certificate = authority.issue("api.test")
    gateway = start_gateway(listener(tls={"certificates": [certificate.settings()]}))
    context = ssl.create_default_context(cafile=str(authority.pem))
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_hostname="api.test")
    header = HEADERS[header][0]
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=10) as connected:
        if apart:
            connected.sendall(header)
            header = b""

        def until_done(step):
            nonlocal header
            while True:
                try:
                    result = step()
                except ssl.SSLWantReadError:
                    result = None
                connected.sendall(header + outgoing.read())
                header = b""
                if result is not None:
                    return result
                received = connected.recv(65536)
                assert received, "closed"
                incoming.write(received)

        until_done(lambda: tls.do_handshake() or True)
        tls.write(raw.request_bytes("GET", TARGET, {"Host": "api.test"}))
        assert until_done(lambda: tls.read(65536)).startswith(b"HTTP/1.1 200 ")
    request = own_recorder.last(TARGET)
    assert request.header("x-forwarded-for") == "198.51.100.9"
    assert request.header("x-forwarded-proto") == "https"


def test_http2_begins_behind_the_header(start_gateway, own_recorder):
    gateway = start_gateway(listener())
    connected = socket.create_connection(("127.0.0.1", gateway.port), timeout=10)
    with h2raw.H2Connection.on(connected) as connection:
        connection.send(binary("2001:db8::9") + h2raw.PREFACE + h2raw.frame(h2raw.SETTINGS, 0, 0))
        streams = [connection.open(h2raw.request(path=TARGET)) for _ in range(3)]
        assert [connection.response(stream).status for stream in streams] == [200] * 3
    assert [request.header("x-forwarded-for") for request in own_recorder.requests_to(TARGET)] == ["2001:db8::9"] * 3


@pytest.mark.parametrize("sent", [b"", b"PROXY TCP4 198.51.100.9", SIGNATURE], ids=["nothing", "half a line", "a signature"])
def test_a_header_must_come_in_time(start_gateway, sent):
    gateway = start_gateway(merge_limits(listener(), handshake_timeout="300ms"))
    with raw.RawConnection(gateway.port) as connection:
        connection.send(sent)
        assert connection.rest() == b""
    refused = 'gatehouse_client_connections_refused_total{reason="proxy-header-timeout"} 1\n'
    assert refused in gateway.admin("/metrics")[1]


def merge_limits(changes: dict, **limits) -> dict:
    return {**changes, "limits": limits}


def test_connections_without_a_header_count_and_go(start_gateway):
    # One event loop lets connections in in the order in which they come.
    gateway = start_gateway({"threads": 1, **merge_limits(listener(), connections=2, connections_per_address=10, handshake_timeout="2s")})

    def serves_two() -> bool:
        with raw.RawConnection(gateway.port) as first, raw.RawConnection(gateway.port) as second:
            for connection in (first, second):
                connection.send(line("198.51.100.9") + REQUEST)
            return [connection.response().status for connection in (first, second)] == [200, 200]

    def is_empty() -> bool:
        return gateway.metric("gatehouse_client_connections_open") == 0

    # Whoever looked whether the gateway is up has gone, and so have these.
    wait_until(serves_two, "room for two")
    wait_until(is_empty, "no connection")
    with raw.RawConnection(gateway.port) as first, raw.RawConnection(gateway.port) as second:
        for connection in (first, second):
            connection.send(b"PROXY ")
        with raw.RawConnection(gateway.port) as third:
            assert third.response().status == 503
        assert [connection.rest() for connection in (first, second)] == [b"", b""]
    wait_until(serves_two, "room for two again")


def test_a_stop_does_not_wait_for_headers(start_gateway):
    gateway = start_gateway(merge_limits(listener(), handshake_timeout="60s"))
    with raw.RawConnection(gateway.port) as silent, raw.RawConnection(gateway.port) as busy:
        busy.send(line("198.51.100.9") + REQUEST)
        assert busy.response().status == 200
        assert gateway.stop() == 0
        assert silent.rest() == b""
