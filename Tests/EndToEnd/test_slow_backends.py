"""Backends that take their time to accept a connection, or the bytes sent to them."""

import hashlib
import socket
import ssl
import threading
import time

import pytest
from harness import raw
from harness.account import assert_refusal
from harness.authority import Authority

TARGET = "/recorded/public/slow"


class FullQueue:
    """Listens, accepts nobody, and has its queue full: whoever connects now hears nothing."""

    def __enter__(self) -> "FullQueue":
        self._listening = socket.socket()
        self._listening.bind(("127.0.0.1", 0))
        self._listening.listen(0)
        self.port = self._listening.getsockname()[1]
        self._waiting: list[socket.socket] = []
        while True:
            connecting = socket.socket()
            connecting.settimeout(0.3)
            self._waiting.append(connecting)
            try:
                connecting.connect(("127.0.0.1", self.port))
            except TimeoutError:
                return self

    def __exit__(self, *_) -> None:
        for connecting in self._waiting:
            connecting.close()
        self._listening.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@pytest.fixture
def full_queue():
    with FullQueue() as queue:
        yield queue


def upstream(*urls: str, **settings) -> dict:
    return {"upstreams": {"recorder": {"url": ..., "servers": [{"url": url} for url in urls], **settings}}}


@pytest.mark.parametrize("body", [None, b"x" * 100_000], ids=["GET", "POST"])
def test_a_connection_that_is_not_made_in_time_is_504(start_gateway, full_queue, body):
    gateway = start_gateway({"threads": 1, **upstream(full_queue.url, connect_timeout="400ms")})
    start = time.monotonic()
    response = raw.exchange(gateway.port, "POST" if body else "GET", TARGET, body=body)
    assert_refusal(response, 504, "UpstreamTimeoutException")
    assert 0.3 < time.monotonic() - start < 4, "the default is 5s"
    assert gateway.access_line(response.header("x-request-id"))["denial_reason"] == "upstream-connect-timeout"


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_the_next_server_is_tried(start_gateway, full_queue, own_recorder, method):
    settings = upstream(full_queue.url, own_recorder.url, connect_timeout="400ms")
    gateway = start_gateway({"threads": 1, **settings})
    statuses = [raw.exchange(gateway.port, method, TARGET, body=b"x" if method == "POST" else None).status for _ in range(4)]
    assert statuses == [200] * 4
    assert len(own_recorder.requests) == 4


def test_a_routes_own_time_to_connect_is_kept(start_gateway, full_queue):
    route = {"name": "own", "path": "/own", "access": "public", "upstream": "recorder", "timeouts": {"connect": "300ms"}}
    gateway = start_gateway({"threads": 1, **upstream(full_queue.url, connect_timeout="1h"), "routes": [route]})
    start = time.monotonic()
    assert raw.exchange(gateway.port, "GET", "/own").status == 504
    assert time.monotonic() - start < 8


class SlowTLSServer:
    """Takes a TLS connection's bytes only once it is let, and answers with how many there were and their digest."""

    def __init__(self, authority: Authority, version: ssl.TLSVersion):
        self.may_read = threading.Event()
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.minimum_version = self._context.maximum_version = version
        self._context.load_cert_chain(authority.path("server.pem"), authority.path("server.key"))
        self._listening = socket.socket()
        # Inherited by what is accepted: little room, so that the sender must wait.
        self._listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self._listening.bind(("127.0.0.1", 0))
        self._listening.listen()
        self.url = f"https://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        try:
            accepted, _ = self._listening.accept()
            with self._context.wrap_socket(accepted, server_side=True) as tls:
                reader = tls.makefile("rb")
                while reader.readline() != b"\r\n":
                    pass
                assert self.may_read.wait(30)
                digest, count = hashlib.sha256(), 0
                while size := int(reader.readline(), 16):
                    piece = reader.read(size)
                    digest.update(piece)
                    count += size
                    reader.readline()
                reader.readline()
                body = f"{count} {digest.hexdigest()}".encode()
                tls.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        except OSError:
            pass

    def stop(self) -> None:
        self.may_read.set()
        self._listening.close()


@pytest.mark.parametrize("size", [100, 50_000], ids=["small chunks", "large chunks"])
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])
def test_an_upload_to_a_tls_backend_that_does_not_read_waits_and_arrives_whole(
    start_gateway, tmp_path, version, size
):
    authority = Authority(tmp_path)
    server = SlowTLSServer(authority, version)
    try:
        gateway = start_gateway(upstream(server.url, tls=authority.settings(certificate=..., key=...), first_byte_timeout="30s"))
        total = 12 << 20
        data = b"".join(index.to_bytes(4, "big") for index in range(total // 4))
        with raw.RawConnection(gateway.port, timeout=60) as connection:
            connection.send(raw.request_bytes("POST", TARGET, {"Transfer-Encoding": "chunked"}))
            sent = 0

            def send() -> None:
                nonlocal sent
                for start in range(0, total, size):
                    piece = data[start : start + size]
                    connection.send(b"%x\r\n%s\r\n" % (len(piece), piece))
                    sent += len(piece)
                connection.send(b"0\r\n\r\n")

            sender = threading.Thread(target=send, daemon=True)
            sender.start()
            # The client has to stop, since nobody on the way collects what the backend does not take.
            before = -1
            while not sent or before != sent:
                before = sent
                sender.join(0.5)
            assert 0 < sent < total
            server.may_read.set()
            response = connection.response()
            sender.join(10)
        assert response.status == 200
        assert response.body.decode() == f"{total} {hashlib.sha256(data).hexdigest()}"
    finally:
        server.stop()
