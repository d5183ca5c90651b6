"""Clients that do anything at any time, many at once: the next one is served, and nothing is left over."""

import random
import socket
import ssl
import struct
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from harness import h2raw
from harness.backend import Exchange
from harness.certificates import Authority
from harness.h2raw import (
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PREFACE,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    block,
    frame,
)
from harness.process import free_port, wait_until

PATHS = ["quick", "large", "cut", "late", "silent", "informational", "refused"]
CLIENTS = 12


def script(name: str):
    def respond(exchange: Exchange) -> None:
        if name == "quick":
            exchange.respond(200, exchange.read_body())
        elif name == "large":
            exchange.respond(200, bytes(300_000))
        elif name == "cut":
            exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nbeginning")
            exchange.close()
        elif name == "late":
            exchange.wait_for_close() if random.random() < 0.2 else exchange.respond(200, b"late")
        elif name == "silent":
            exchange.wait_for_close()
        elif name == "informational":
            exchange.send(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")
            exchange.close()
        else:
            exchange.respond(401, b"no", {"Connection": "close"})

    return respond


class Careless:
    """A client of its own random numbers, so that a run can be repeated."""

    def __init__(self, port: int, tls: ssl.SSLContext | None, token: str, seed: int):
        self.random = random.Random(seed)
        self.port = port
        self.tls = tls
        self.token = token

    def run(self, until: float) -> int:
        count = 0
        while time.monotonic() < until:
            try:
                self.connect()
            except OSError:
                # The gateway closes connections that break a rule.
                pass
            count += 1
        return count

    def connect(self) -> None:
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as plain:
            stream = plain
            if self.tls:
                if self.random.random() < 0.1:
                    return plain.sendall(b"\x16\x03\x01\x02\x00\x01")
                stream = self.tls.wrap_socket(plain, server_hostname="localhost", do_handshake_on_connect=False)
                stream.do_handshake()
            speaks_http2 = stream.selected_alpn_protocol() == "h2" if self.tls else self.random.random() < 0.6
            messages = self.http2() if speaks_http2 else self.http1()
            if self.random.random() < 0.5:
                plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
            for message in messages:
                stream.sendall(message)
                if self.random.random() < 0.1:
                    stream.recv(self.random.choice([1, 1000, 100_000]))
            self.leave(plain, stream)

    def leave(self, plain: socket.socket, stream: socket.socket) -> None:
        way = self.random.randrange(4)
        if way == 0:
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif way == 1:
            plain.shutdown(socket.SHUT_WR)
            while stream.recv(65536):
                pass
        elif way == 2:
            plain.shutdown(socket.SHUT_WR)
        else:
            stream.recv(100)

    def fields(self) -> list[tuple[str, str]]:
        kind = self.random.randrange(4)
        # A token whose key nobody knows is looked up.
        token = [self.token, self.token[:-8] + "AAAAAAAA", "eyJhbGciOiJSUzI1NiIsImtpZCI6Im5vbmUifQ.e30.AAAA", ""][kind]
        return [("authorization", f"Bearer {token}")] if token else []

    def target(self) -> str:
        return f"/recorded/{self.random.choice(['public', 'required'])}/careless/{self.random.choice(PATHS)}"

    def http1(self) -> list[bytes]:
        messages = []
        for _ in range(self.random.choice([1, 1, 1, 5, 40])):
            head = f"{self.random.choice(['GET', 'POST'])} {self.target()} HTTP/1.{self.random.choice('01')}\r\nHost: localhost\r\n"
            head += "".join(f"{name}: {value}\r\n" for name, value in self.fields())
            body = self.random.choice([b"", b"", b"x" * 10, b"x" * 70_000])
            if body and self.random.random() < 0.5:
                announced = len(body) + self.random.choice([0, 1000])
                messages.append(head.encode() + b"Content-Length: %d\r\n\r\n" % announced + body)
            elif body:
                messages.append(head.encode() + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % len(body) + body)
            else:
                messages.append(head.encode() + b"\r\n")
        if self.random.random() < 0.2:
            messages[-1] = messages[-1][: self.random.randrange(len(messages[-1]))]
        return messages

    def http2(self) -> list[bytes]:
        window = self.random.choice([0, 1, 65_535, 1 << 20])
        messages = [PREFACE + frame(SETTINGS, 0, 0, struct.pack("!HI", 4, window)) + frame(SETTINGS, h2raw.ACK, 0)]
        for number in range(self.random.choice([1, 3, 30, 100, 100])):
            stream = 2 * number + 1
            has_body = self.random.random() < 0.3
            head = h2raw.request("POST" if has_body else "GET", self.target(), *self.fields())
            messages.append(frame(HEADERS, END_HEADERS | (0 if has_body else END_STREAM), stream, block(head)))
            if has_body:
                ends = self.random.random() < 0.7
                messages.append(frame(DATA, END_STREAM if ends else 0, stream, b"x" * self.random.choice([0, 5, 9000])))
            if self.random.random() < 0.2:
                messages.append(frame(WINDOW_UPDATE, 0, 0, struct.pack("!I", 100_000)))
            if self.random.random() < 0.05:
                messages.append(frame(RST_STREAM, 0, stream, struct.pack("!I", 8)))
        return messages if self.random.random() < 0.5 else [b"".join(messages)]


@pytest.fixture
def authority(run_directory):
    return Authority(run_directory / "careless")


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "TLS"])
def test_the_next_client_is_served_and_nothing_is_left_over(request, start_gateway, authority, own_recorder, issuer, tls):
    certificate = authority.issue("localhost")
    for name in PATHS:
        for access in ("public", "required"):
            own_recorder.on(f"/recorded/{access}/careless/{name}", script(name))
    listener = {"address": f"127.0.0.1:{free_port()}"} | ({"tls": {"certificates": [certificate.settings()]}} if tls else {})
    gateway = start_gateway({
        "threads": 2, "listeners": [listener], "upstreams": {"recorder": {"first_byte_timeout": "2s", "idle_timeout": "2s"}},
        "limits": {"header_timeout": "2s", "body_idle_timeout": "2s", "keep_alive_timeout": "2s"},
    })
    context = ssl.create_default_context(cafile=str(authority.pem))

    def is_served() -> bool:
        with socket.create_connection(("127.0.0.1", gateway.port), timeout=30) as plain:
            stream = context.wrap_socket(plain, server_hostname="localhost") if tls else plain
            stream.sendall(b"GET /recorded/public/careless/quick HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            return stream.recv(12) == b"HTTP/1.1 200"

    seconds = 120 if request.config.getoption("--long") else 6
    offered = ssl.create_default_context(cafile=str(authority.pem))
    offered.set_alpn_protocols(["h2", "http/1.1"])
    with ThreadPoolExecutor(CLIENTS) as clients:
        until = time.monotonic() + seconds
        runs = [
            clients.submit(Careless(gateway.port, offered if tls else None, issuer.access(), seed).run, until)
            for seed in range(CLIENTS)
        ]
        # Meanwhile as well: both event loops get some of these. The backend is a thread among those of all clients, and
        # may be too late for one.
        while not all(run.done() for run in runs):
            wait_until(is_served, "a client that is served", seconds=30)
        assert min(run.result() for run in runs) > 0
    assert [is_served() for _ in range(20)] == [True] * 20
    wait_until(lambda: gateway.metric("gatehouse_requests_in_flight") == 0, "no request left over", seconds=30)
    wait_until(lambda: gateway.metric("gatehouse_client_connections_open") == 0, "no connection left over", seconds=30)
    assert gateway.metric("gatehouse_http2_streams_open") == 0
