"""What a backend sends behind its response, or does with the connection then, belongs to no other request."""

import socket
import ssl
import threading
from contextlib import contextmanager

import pytest
from harness import raw
from harness.authority import Authority

# A whole response, planted behind the one that was asked for.
PLANTED = b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nplanted"
GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood"
# What the gateway receives at most at once.
RECEIVE = 64 << 10


class Plain:
    """One connection; every piece is a write of its own."""

    def __init__(self, accepted: socket.socket):
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = accepted

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
def backend(answer, context: ssl.SSLContext | None = None):
    """A server that has `answer(connection, target)` answer every request; the port."""

    def serve(accepted: socket.socket) -> None:
        try:
            connection = TLS(accepted, context) if context else Plain(accepted)
            while True:
                answer(connection, connection.head().split()[1])
        except (EOFError, OSError):
            accepted.close()

    def accept() -> None:
        try:
            while True:
                threading.Thread(target=serve, args=(listening.accept()[0],), daemon=True).start()
        except OSError:
            return

    with socket.create_server(("127.0.0.1", 0), backlog=100) as listening:
        threading.Thread(target=accept, daemon=True).start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)


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
