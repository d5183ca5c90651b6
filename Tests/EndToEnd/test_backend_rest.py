"""Bytes that a backend sends behind its response, and the end of the connection then, belong to no other request."""

import os
import signal
import socket
import ssl
import struct
import threading
from contextlib import contextmanager

import pytest
from harness import raw
from harness.authority import Authority
from harness.lifeline import is_stopped
from harness.process import wait_until

# A whole response, planted behind the one that was asked for.
PLANTED = b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nplanted"
GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood"
EMPTY = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
# The most bytes that the gateway receives at once.
RECEIVE = 64 << 10


class Plain:
    """One connection; every piece is a write of its own."""

    def __init__(self, accepted: socket.socket):
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = accepted
        # Bytes that one answer leaves for the next one to send first.
        self.late = b""

    def head(self) -> bytes:
        received = b""
        while not received.endswith(b"\r\n\r\n"):
            if not (piece := self.socket.recv(RECEIVE)):
                raise EOFError
            received += piece
        return received

    def send(self, *pieces: bytes) -> None:
        for piece in pieces:
            self.socket.sendall(piece)


class TLS(Plain):
    """Every piece is a record of its own, and all of them are one write."""

    def __init__(self, accepted: socket.socket, context: ssl.SSLContext):
        super().__init__(accepted)
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._repeat(self._tls.do_handshake)

    def _repeat(self, act):
        while True:
            try:
                return act()
            except ssl.SSLWantReadError:
                self.socket.sendall(self._outgoing.read())
                if not (piece := self.socket.recv(RECEIVE)):
                    raise EOFError from None
                self._incoming.write(piece)

    def head(self) -> bytes:
        received = b""
        while not received.endswith(b"\r\n\r\n"):
            if not (piece := self._repeat(lambda: self._tls.read(RECEIVE))):
                raise EOFError
            received += piece
        return received

    def send(self, *pieces: bytes) -> None:
        for piece in pieces:
            self._tls.write(piece)
        self.socket.sendall(self._outgoing.read())


@contextmanager
def accepting(take):
    """A server that hands each connection to `take`, one after the other; the port."""

    def accept() -> None:
        try:
            while True:
                take(listening.accept()[0])
        except OSError:
            return

    with socket.create_server(("127.0.0.1", 0), backlog=100) as listening:
        threading.Thread(target=accept, daemon=True).start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)


@contextmanager
def backend(answer, context: ssl.SSLContext | None = None):
    """A server that has `answer(connection, target)` answer every request; the port."""

    def serve(accepted: socket.socket) -> None:
        try:
            connection = TLS(accepted, context) if context else Plain(accepted)
            while True:
                answer(connection, connection.head().split()[1])
        except (EOFError, OSError):
            accepted.close()

    with accepting(lambda accepted: threading.Thread(target=serve, args=(accepted,), daemon=True).start()) as port:
        yield port


def settings(server: dict, **changes) -> dict:
    return {"threads": 1, "upstreams": {"recorder": {"url": ..., "servers": [server], **changes}}}


def assert_own_answers(gateway, method: str) -> None:
    for number in range(40):
        assert raw.exchange(gateway.port, method, "/recorded/public/rest").status == 200
        following = raw.exchange(gateway.port, "GET", "/recorded/public/next")
        assert (following.status, following.body) == (200, b"good"), number


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])
def test_a_record_behind_a_response_is_no_answer_to_the_next_request(start_gateway, tmp_path, version):
    authority = Authority(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = context.maximum_version = version
    context.load_cert_chain(authority.path("server.pem"), authority.path("server.key"))

    def answer(connection, target: bytes) -> None:
        if target.endswith(b"/rest"):
            connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(PLANTED), PLANTED)
        else:
            connection.send(GOOD)

    with backend(answer, context) as port:
        assert_own_answers(start_gateway(settings({"url": f"https://127.0.0.1:{port}"}, tls=authority.settings())), "HEAD")


def test_bytes_behind_a_response_that_fills_a_receive_are_no_answer_to_the_next_request(start_gateway):
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"
    filling = RECEIVE - len(head % RECEIVE)

    def answer(connection, target: bytes) -> None:
        if target.endswith(b"/rest"):
            connection.send(head % filling + b"x" * filling + PLANTED)
        else:
            connection.send(GOOD)

    with backend(answer) as port:
        assert_own_answers(start_gateway(settings({"url": f"http://127.0.0.1:{port}"})), "GET")


def test_a_backend_that_closes_without_a_word_after_each_response_loses_none(start_gateway):
    def answer(connection, _target: bytes) -> None:
        # The end comes with the response, in one segment.
        connection.socket.send(GOOD, socket.MSG_MORE)
        connection.socket.shutdown(socket.SHUT_RDWR)

    with backend(answer) as port:
        gateway = start_gateway(settings({"url": f"http://127.0.0.1:{port}"}))
        with raw.RawConnection(gateway.port) as connection:
            statuses = [connection.request("GET", "/recorded/public/next").status for _ in range(200)]
    assert statuses == [200] * 200


@pytest.fixture(params=["plain", "tls"])
def upstream(request, tmp_path):
    """How to serve a backend, and the settings of an upstream whose server it is."""
    authority = Authority(tmp_path) if request.param == "tls" else None
    context = None
    if authority:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(authority.path("server.pem"), authority.path("server.key"))

    def of(port: int) -> dict:
        if not authority:
            return settings({"url": f"http://127.0.0.1:{port}"})
        return settings({"url": f"https://127.0.0.1:{port}"}, tls=authority.settings())

    return context, of


ABSENT = {
    "head": ("HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(PLANTED), PLANTED),
    "head-chunked": ("HEAD", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", PLANTED),
    "head-unannounced": ("HEAD", b"HTTP/1.1 200 OK\r\n\r\n", PLANTED),
    "not-modified": ("GET", b"HTTP/1.1 304 Not Modified\r\nContent-Length: %d\r\n\r\n" % len(PLANTED), PLANTED),
}


@pytest.mark.parametrize("method, head, body", ABSENT.values(), ids=ABSENT.keys())
def test_a_body_that_must_not_come_and_comes_late_is_no_answer_to_another_request(
    start_gateway, upstream, method, head, body
):
    """It comes when the next request is at the backend already: on that connection nobody could tell."""
    context, of = upstream

    def answer(connection, target: bytes) -> None:
        # As a backend that is still at the body's beginning.
        connection.send(connection.late)
        connection.late = b""
        if target.endswith(b"/rest"):
            connection.send(head)
            connection.late = body
        else:
            connection.send(GOOD)

    with backend(answer, context) as port:
        gateway = start_gateway(of(port))
        for number in range(20):
            assert raw.exchange(gateway.port, method, "/recorded/public/rest").status in (200, 304)
            following = raw.exchange(gateway.port, "GET", "/recorded/public/next")
            assert (following.status, following.body) == (200, b"good"), number


def test_a_connection_is_kept_after_responses_that_no_body_can_follow(start_gateway):
    connections = []

    def answer(connection, target: bytes) -> None:
        if connection not in connections:
            connections.append(connection)
        connection.send(b"HTTP/1.1 304 Not Modified\r\n\r\n" if target.endswith(b"/304") else EMPTY)

    with backend(answer) as port:
        gateway = start_gateway(settings({"url": f"http://127.0.0.1:{port}"}))
        for method, path in [("HEAD", "x"), ("GET", "304"), ("GET", "x"), ("HEAD", "x")]:
            assert raw.exchange(gateway.port, method, f"/recorded/public/{path}").status in (200, 304)
    assert len(connections) == 1


@contextmanager
def asleep(gateway):
    """Nothing of what happens meanwhile is seen by the gateway before all of it has."""
    os.kill(gateway.process.pid, signal.SIGSTOP)
    try:
        wait_until(lambda: is_stopped(gateway.process.pid), "the gateway to stop")
        yield
    finally:
        os.kill(gateway.process.pid, signal.SIGCONT)


def request_while_idle(gateway, happen, method: str) -> raw.Response:
    """Sends a request on a client's connection while something happens on the backend's idle one."""
    with raw.RawConnection(gateway.port) as connection:
        assert connection.request("GET", "/recorded/public/first").body == b"good"
        with asleep(gateway):
            connection.send(raw.request_bytes(method, "/recorded/public/next"))
            happen()
        return connection.response()


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_bytes_that_wait_on_an_idle_connection_are_no_answer_to_the_next_request(start_gateway, upstream, method):
    context, of = upstream
    connections = []

    def answer(connection, _target: bytes) -> None:
        if connection not in connections:
            connections.append(connection)
        connection.send(GOOD)

    with backend(answer, context) as port:
        gateway = start_gateway(of(port))
        for number in range(10):
            response = request_while_idle(gateway, lambda: connections[-1].send(PLANTED), method)
            assert (response.status, response.body) == (200, b"good"), number
            assert len(connections) == number + 2, "a connection of its own"
        # Nothing had been sent: nothing was repeated.
        assert gateway.metric("gatehouse_upstream_retries_total") == 0
        counted = "gatehouse_upstream_server_unsolicited_total"
        wait_until(lambda: gateway.metric(counted) == 10, "all of them to be counted")


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("end", ["closed", "reset"])
def test_an_idle_connection_that_ends_as_a_request_comes_costs_nothing(start_gateway, method, end):
    connections = []

    def answer(connection, _target: bytes) -> None:
        if connection not in connections:
            connections.append(connection)
        connection.send(GOOD)

    def happen() -> None:
        ended = connections[-1].socket
        if end == "reset":
            ended.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        # The next receive finds the end and closes the connection.
        ended.shutdown(socket.SHUT_RD if end == "reset" else socket.SHUT_RDWR)
        wait_until(lambda: ended.fileno() < 0, "the connection to be closed")

    with backend(answer) as port:
        gateway = start_gateway(settings({"url": f"http://127.0.0.1:{port}"}))
        for number in range(5):
            response = request_while_idle(gateway, happen, method)
            assert (response.status, response.body) == (200, b"good"), number
        assert gateway.metric("gatehouse_upstream_retries_total") == 0
        assert gateway.metric("gatehouse_upstream_server_failures_total") == 0


def test_a_server_that_resets_new_connections_costs_no_request_and_no_other_server_its_name(start_gateway):
    """The request is sent into the reset, or finds it behind: either way it goes to the other server once."""
    with backend(lambda connection, _target: connection.send(GOOD)) as good, resetting() as bad:
        servers = [{"url": f"http://127.0.0.1:{port}"} for port in (bad, good)]
        upstream = {"url": ..., "servers": servers, "ejection": {"after": 0}, "retries": {"budget": "100%"}}
        gateway = start_gateway({"threads": 1, "upstreams": {"recorder": upstream}})
        statuses = [raw.exchange(gateway.port, "GET", "/recorded/public/x").status for _ in range(100)]
        assert statuses == [200] * 100
        failures = 'gatehouse_upstream_server_failures_total{upstream="recorder",server="%s"}'
        samples = gateway.samples()
    assert samples[failures % servers[1]["url"]] == 0
    assert samples[failures % servers[0]["url"]] == samples['gatehouse_upstream_retries_total{upstream="recorder"}'] > 0


@contextmanager
def resetting():
    """A server that resets every connection as soon as it is there; the port."""

    def reset(accepted: socket.socket) -> None:
        accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        accepted.close()

    with accepting(reset) as port:
        yield port
