"""Issue 3, item 1: TLS on the listener, seen with Python's ssl (OpenSSL) and httpx."""

import json
import os
import socket
import ssl
import struct

import httpx
import pytest
from harness import raw
from harness.backend import CutShort
from harness.certificates import Authority
from harness.gateway import check, gateway_config
from harness.pour import Progress
from harness.process import free_port, wait_until


@pytest.fixture(scope="module")
def authority(run_directory):
    return Authority(run_directory / "certificates")


@pytest.fixture(scope="module")
def clients(run_directory):
    """The authority that clients' certificates come from."""
    return Authority(run_directory / "certificates", "clients")


def tls_listener(*certificates, **tls) -> dict:
    http2 = tls.pop("http2", True)
    section = {"certificates": [certificate.settings() for certificate in certificates], **tls}
    return {"listeners": [{"address": f"127.0.0.1:{free_port()}", "http2": http2, "tls": section}]}


def client_context(authority: Authority, *protocols: str) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(authority.pem))
    if protocols:
        context.set_alpn_protocols(list(protocols))
    return context


def handshake(port: int, context: ssl.SSLContext, name: str = "api.test", session=None) -> ssl.SSLSocket:
    connected = socket.create_connection(("127.0.0.1", port), timeout=10)
    return context.wrap_socket(connected, server_hostname=name, session=session)


def get(tls: ssl.SSLSocket, target: str = "/recorded/public/x", name: str = "api.test") -> bytes:
    tls.sendall(f"GET {target} HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n".encode())
    received = b""
    while data := tls.recv(65536):
        received += data
    return received


def names_of(tls: ssl.SSLSocket) -> set[str]:
    return {name for _, name in tls.getpeercert()["subjectAltName"]}


def test_the_backend_is_told_that_the_client_used_https(start_gateway, authority, own_recorder):
    gateway = start_gateway(tls_listener(authority.issue("api.test")))
    with handshake(gateway.port, client_context(authority)) as tls:
        answer = get(tls)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert own_recorder.last("/recorded/public/x").header("x-forwarded-proto") == "https"


@pytest.mark.parametrize(
    ("offered", "http2", "negotiated"),
    [
        (["h2", "http/1.1"], True, "h2"),
        (["http/1.1", "h2"], True, "h2"),
        (["http/1.1"], True, "http/1.1"),
        ([], True, None),
        (["h2", "http/1.1"], False, "http/1.1"),
    ],
    ids=["both", "both, the other order", "http/1.1 only", "no ALPN", "HTTP/2 off"],
)
def test_the_protocol_is_negotiated(start_gateway, authority, offered, http2, negotiated):
    gateway = start_gateway(tls_listener(authority.issue("api.test"), http2=http2))
    with handshake(gateway.port, client_context(authority, *offered)) as tls:
        assert tls.selected_alpn_protocol() == negotiated


def test_the_certificate_is_chosen_by_the_name_asked_for(start_gateway, authority):
    gateway = start_gateway(
        tls_listener(
            authority.issue("api.test"), authority.issue("shop.test", "*.shop.test"), authority.issue("old.test", kind="rsa")
        )
    )
    context = client_context(authority)
    context.check_hostname = False
    for name, expected in [
        ("api.test", "api.test"),
        ("shop.test", "shop.test"),
        ("SHOP.test", "shop.test"),
        ("eu.shop.test", "shop.test"),
        ("a.b.shop.test", "api.test"),
        ("old.test", "old.test"),
        ("nobody.test", "api.test"),
        (None, "api.test"),
    ]:
        with handshake(gateway.port, context, name) as tls:
            assert expected in names_of(tls), f"asked for {name}"
            assert get(tls).startswith(b"HTTP/1.1 200 ")


def test_old_versions_and_weak_ciphers_are_refused(start_gateway, authority):
    gateway = start_gateway(tls_listener(authority.issue("api.test"), authority.issue("b.test", kind="rsa")))
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        context = client_context(authority)
        context.minimum_version = context.maximum_version = version
        with handshake(gateway.port, context) as tls:
            assert tls.version() == ("TLSv1.2" if version == ssl.TLSVersion.TLSv1_2 else "TLSv1.3")
    for ciphers in ("ECDHE-ECDSA-AES128-SHA", "ECDHE-RSA-AES128-SHA256", "AES128-GCM-SHA256", "DHE-RSA-AES128-GCM-SHA256"):
        context = client_context(authority)
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers(f"{ciphers}:@SECLEVEL=0")
        for name in ("api.test", "b.test"):
            with pytest.raises((ssl.SSLError, ConnectionError)):
                handshake(gateway.port, context, name)
    context = client_context(authority)
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.raises((ssl.SSLError, ConnectionError)):
        handshake(gateway.port, context)


def test_the_minimum_version_can_be_raised(start_gateway, authority):
    gateway = start_gateway(tls_listener(authority.issue("api.test"), minimum_version="1.3"))
    context = client_context(authority)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises((ssl.SSLError, ConnectionError)):
        handshake(gateway.port, context)
    with handshake(gateway.port, client_context(authority)) as tls:
        assert tls.version() == "TLSv1.3"


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])
def test_a_client_without_a_good_certificate_is_refused_where_one_is_required(
    start_gateway, authority, clients, own_recorder, version
):
    gateway = start_gateway(tls_listener(authority.issue("api.test"), client_ca=str(clients.pem)))

    def attempt(certificate) -> bytes:
        context = client_context(authority)
        context.minimum_version = context.maximum_version = version
        if certificate:
            context.load_cert_chain(certificate.certificate, certificate.key)
        # With TLS 1.3 a client learns of the refusal when it reads.
        with handshake(gateway.port, context) as tls:
            return get(tls)

    for certificate in (None, authority.issue("mallory.test")):
        with pytest.raises((ssl.SSLError, ConnectionError)):
            if not attempt(certificate):
                raise ConnectionResetError
    assert own_recorder.requests == []
    assert attempt(clients.issue("ada.test")).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])
@pytest.mark.parametrize("mutual", [False, True], ids=["", "with client certificates"])
def test_a_session_that_a_client_offers_again_is_served(start_gateway, authority, clients, version, mutual):
    changes = {"client_ca": str(clients.pem)} if mutual else {}
    gateway = start_gateway(tls_listener(authority.issue("api.test"), **changes))
    context = client_context(authority)
    context.minimum_version = context.maximum_version = version
    if mutual:
        certificate = clients.issue("ada.test")
        context.load_cert_chain(certificate.certificate, certificate.key)
    session = None
    for _ in range(3):
        with handshake(gateway.port, context, session=session) as tls:
            assert get(tls).startswith(b"HTTP/1.1 200 ")
            session = tls.session


def resume(port: int, context: ssl.SSLContext, session=None) -> tuple[bool, ssl.SSLSession]:
    """Whether the session was resumed, and the one that the server gave."""
    with handshake(port, context, session=session) as tls:
        assert get(tls).startswith(b"HTTP/1.1 200 ")
        return tls.session_reused, tls.session


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])
@pytest.mark.parametrize("names", [["api.test"], ["other.test", "api.test"]], ids=["one", "two"])
def test_tickets_resume_sessions_on_every_loop_and_across_a_reload(start_gateway, authority, version, names):
    listener = tls_listener(*(authority.issue(name) for name in names))
    gateway = start_gateway({**listener, "threads": 4})
    context = client_context(authority)
    context.minimum_version = context.maximum_version = version
    reused, session = resume(gateway.port, context)
    assert not reused
    # Each connection comes to another event loop.
    for _ in range(4):
        reused, newer = resume(gateway.port, context, session)
        assert reused
    gateway.reload({"limits": {"header_count": 50}})
    assert resume(gateway.port, context, session)[0], "a ticket from before the reload"
    assert resume(gateway.port, context, newer)[0]
    # Other certificates are other keys: the old tickets are no error, and no session.
    listener["listeners"][0]["tls"]["certificates"] = [authority.issue("api.test", "new").settings()]
    gateway.reload(listener)
    reused, session = resume(gateway.port, context, session)
    assert not reused
    assert resume(gateway.port, context, session)[0]


def test_plain_http_on_a_tls_port_gets_no_answer(start_gateway, authority, own_recorder):
    gateway = start_gateway(tls_listener(authority.issue("api.test")))
    with raw.RawConnection(gateway.port) as connection:
        connection.send(raw.request_bytes("GET", "/recorded/public/x"))
        assert not connection.rest().startswith(b"HTTP/")
    assert own_recorder.requests == []


def test_a_client_that_never_ends_its_handshake_is_closed(start_gateway, authority):
    gateway = start_gateway({**tls_listener(authority.issue("api.test")), "limits": {"handshake_timeout": "1s"}})
    with raw.RawConnection(gateway.port) as connection:
        connection.send(b"\x16\x03\x01")
        assert connection.is_closed_by_peer()


def failed_handshakes(gateway) -> float:
    return gateway.samples()['gatehouse_client_connections_refused_total{reason="handshake-failed"}']


def fails_at_the_name(gateway, authority):
    """As with a certificate that has expired, it is the client that has enough of it."""
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(gateway.port, client_context(authority), "other.test")


def fails_at_the_version(gateway, authority):
    context = client_context(authority)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises((ssl.SSLError, ConnectionError)):
        handshake(gateway.port, context)


def speaks_plain_http(gateway, authority):
    with raw.RawConnection(gateway.port) as connection:
        connection.send(raw.request_bytes("GET", "/recorded/public/x"))
        connection.rest()


def leaves_half_way(gateway, authority):
    with raw.RawConnection(gateway.port) as connection:
        connection.send(b"\x16\x03\x01")


def stops_half_way(gateway, authority):
    with raw.RawConnection(gateway.port) as connection:
        connection.send(b"\x16\x03\x01")
        assert connection.is_closed_by_peer()


def never_begins(gateway, authority):
    with raw.RawConnection(gateway.port) as connection:
        assert connection.is_closed_by_peer()


@pytest.mark.parametrize(
    "fails", [fails_at_the_name, fails_at_the_version, speaks_plain_http, leaves_half_way, stops_half_way, never_begins]
)
def test_a_handshake_that_fails_is_counted_once(start_gateway, authority, fails):
    changes = {**tls_listener(authority.issue("api.test"), minimum_version="1.3"), "limits": {"handshake_timeout": "1s"}}
    gateway = start_gateway(changes)
    assert failed_handshakes(gateway) == 0
    for count in (1, 2):
        fails(gateway, authority)
        wait_until(lambda: failed_handshakes(gateway) == count, "the failed handshake to be counted")
    # Errors after the end of those connections, and a handshake that succeeds, are not counted.
    with handshake(gateway.port, client_context(authority)) as tls:
        assert get(tls).startswith(b"HTTP/1.1 200 ")
    time_out = raw.RawConnection(gateway.port)
    assert time_out.is_closed_by_peer()
    assert failed_handshakes(gateway) == 3


def test_who_connects_and_leaves_has_not_failed_at_a_handshake(start_gateway, authority):
    """So balancers look whether the port is open; some of them end that with a reset."""
    gateway = start_gateway({"threads": 1, **tls_listener(authority.issue("api.test"))})
    for number in range(6):
        connection = socket.create_connection(("127.0.0.1", gateway.port), timeout=10)
        if number % 2:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
    # On one event loop what came before is over when a later handshake has succeeded.
    with handshake(gateway.port, client_context(authority)) as tls:
        assert get(tls).startswith(b"HTTP/1.1 200 ")
    assert failed_handshakes(gateway) == 0


@pytest.mark.parametrize("http2", [False, True], ids=["HTTP/1.1", "HTTP/2"])
def test_bodies_pass_both_ways(start_gateway, authority, own_recorder, http2):
    def mirror(exchange):
        exchange.respond(200, exchange.read_body(), {"Content-Type": "application/octet-stream"})

    own_recorder.on("/recorded/public/mirror", mirror)
    gateway = start_gateway(tls_listener(authority.issue("127.0.0.1")))
    body = bytes(range(256)) * 8192
    with httpx.Client(verify=client_context(authority), http1=not http2, http2=http2) as client:
        answer = client.post(f"https://127.0.0.1:{gateway.port}/recorded/public/mirror", content=body)
    assert (answer.status_code, answer.http_version) == (200, "HTTP/2" if http2 else "HTTP/1.1")
    assert answer.content == body


def test_an_http_1_0_response_cut_short_ends_without_a_goodbye(start_gateway, authority, own_recorder):
    cut = CutShort()
    own_recorder.on("/recorded/public/cut-short", cut)
    gateway = start_gateway(tls_listener(authority.issue("api.test")))
    with handshake(gateway.port, client_context(authority)) as tls:
        tls.sendall(b"GET /recorded/public/cut-short HTTP/1.0\r\nHost: api.test\r\n\r\n")
        received = b""
        while CutShort.part not in received:
            received += tls.recv(65536)
        cut.released.set()
        # Else Python takes an end without one for an orderly one.
        tls.suppress_ragged_eofs = False
        with pytest.raises((ConnectionResetError, ssl.SSLEOFError)):
            tls.recv(1)


def test_a_slow_client_that_asked_to_close_gets_its_response_whole(start_gateway, authority, own_recorder):
    body, sent = os.urandom(1 << 20) * 8, Progress()

    def respond(backend) -> None:
        backend.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body))
        for piece in sent.counted(body):
            backend.send(piece)

    own_recorder.on("/recorded/public/large", respond)
    gateway = start_gateway(tls_listener(authority.issue("api.test")))
    connected = socket.socket()
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connected.connect(("127.0.0.1", gateway.port))
    connected.settimeout(10)
    with client_context(authority).wrap_socket(connected, server_hostname="api.test") as tls:
        tls.sendall(b"GET /recorded/public/large HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n")
        wait_until(lambda: sent.count and sent.stands_still(), "the gateway to hold what it cannot send", interval=0.2)
        received = b""
        while sent.count < len(body):
            received += tls.recv(65536)
        # The gateway has the whole body now, and more time passes than a client's goodbye may take.
        wait_until(sent.stands_still, "half a second in which nothing comes from the backend", interval=0.5)
        received += b"".join(iter(lambda: tls.recv(65536), b""))
    assert received.partition(b"\r\n\r\n")[2] == body


def test_connections_end_in_order_when_the_gateway_stops(start_gateway, authority):
    gateway = start_gateway(tls_listener(authority.issue("api.test")))
    with handshake(gateway.port, client_context(authority)) as tls:
        tls.sendall(b"GET /recorded/public/x HTTP/1.1\r\nHost: api.test\r\n\r\n")
        assert tls.recv(65536).startswith(b"HTTP/1.1 200 ")
        assert gateway.stop() == 0
        while tls.recv(65536):
            pass


def test_faults_name_the_line(run_directory, authority, tmp_path):
    good, other = authority.issue("api.test"), authority.issue("other.test")
    empty = tmp_path / "empty.pem"
    empty.write_text("")
    missing = str(tmp_path / "missing.pem")
    for number, (tls, expected) in enumerate(
        [
            ({"certificates": []}, "tls.certificates: must hold at least one certificate"),
            ({}, "tls.certificates: is missing"),
            ({"certificates": [{"certificate": missing, "key": str(good.key)}]}, "certificates[0].certificate: the file can't"),
            ({"certificates": [{"certificate": str(good.certificate)}]}, "certificates[0].key: is missing"),
            (
                {"certificates": [{"certificate": str(good.certificate), "key": str(other.key)}]},
                "certificates[0].key: the key is not the certificate's",
            ),
            (
                {"certificates": [good.settings(), {"certificate": str(other.certificate), "key": str(good.key)}]},
                "certificates[1].key: the key is not the certificate's",
            ),
            ({"certificates": [{"certificate": str(empty), "key": str(good.key)}]}, "certificates[0].certificate: the file holds no"),
            ({"certificates": [{"certificate": str(good.certificate), "key": str(empty)}]}, "certificates[0].key: the file holds no"),
            ({"certificates": [good.settings()], "client_ca": str(empty)}, "tls.client_ca: the file holds no"),
            ({"certificates": [good.settings()], "minimum_version": "1.1"}, "tls.minimum_version: must be"),
        ]
    ):
        directory = run_directory / f"tls-faults-{number}"
        directory.mkdir()
        config = gateway_config(directory, "http://127.0.0.1:1", "http://127.0.0.1:1/jwks")
        config["listeners"][0]["tls"] = tls
        path = directory / "gateway.yaml"
        path.write_text(json.dumps(config, indent=2))
        result = check(path)
        assert result.returncode == 78, f"{tls}: {result.stdout}{result.stderr}"
        fault = next(line for line in result.stderr.splitlines() if expected in line)
        line = int(fault.removeprefix(f"{path}:").split(":")[0])
        # A missing key is told at its section, which in a list begins with a brace.
        key = {"tls.certificates: is missing": '"tls"', "certificates[0].key: is missing": "{"}.get(
            expected, '"' + expected.split(":")[0].split(".")[-1].split("[")[0] + '"'
        )
        assert key in path.read_text().splitlines()[line - 1], fault
