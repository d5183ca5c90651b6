"""Servers that answer with malice: each call ends in time and in an error, nobody else waits, nothing else is asked.

How much memory such answers may take is in test_input_memory.py, how much time texts may cost in test_costly_tokens.py.
"""

import gzip
import itertools
import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor, wait

import pytest
from harness import raw
from harness.apple_app import AppleApp, apple_settings
from harness.gateway import ADA
from harness.local_apple import LocalApple
from harness.process import wait_until
from harness.sanitizer import PATIENCE

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
SECOND = 1.0 * PATIENCE


def sized(body: bytes, fields: bytes = b"") -> bytes:
    return HEAD + fields + b"Content-Length: %d\r\n\r\n" % len(body) + body


# Sent at once, and then nothing more.
MALFORMED = {
    "two-lengths": HEAD + b'Content-Length: 2\r\nContent-Length: 40\r\n\r\n{}',
    "two-lengths-shorter": HEAD + b'Content-Length: 40\r\nContent-Length: 2\r\n\r\n{}',
    "list-of-lengths": HEAD + b"Content-Length: 2, 40\r\n\r\n{}",
    "length-and-chunked": HEAD + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "negative-length": HEAD + b"Content-Length: -1\r\n\r\n{}",
    "signed-length": HEAD + b"Content-Length: +2\r\n\r\n{}",
    "length-beyond-64-bits": HEAD + b"Content-Length: 18446744073709551618\r\n\r\n{}",
    "chunk-beyond-64-bits": HEAD + b"Transfer-Encoding: chunked\r\n\r\n10000000000000002\r\n{}\r\n0\r\n\r\n",
    "no-http": b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
    "http-0.9": b"{}",
    "switching": b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
}  # fmt: skip
# Sent at once, and well-formed as HTTP.
MISLEADING = {
    "nested-lists": sized(b"[" * 100_000),
    "nested-objects": sized(b'{"keys":' * 10_000),
    "nested-key": sized(b'{"keys":[{"kty":' + b"[" * 100_000 + b"]" * 100_000 + b"}]}"),
    "long-number": sized(b'{"keys":' + b"9" * 200_000 + b"}"),
    "large-exponent": sized(b'{"keys":[1e999999999,-1E-999999999]}'),
    "gzip-bomb": sized(gzip.compress(bytes(64 << 20), 9), b"Content-Encoding: gzip\r\n"),
    "empty": sized(b""),
    "no-text": sized(b"\xff\xfe" * 1000),
}
# A part again and again, five times a second, without an end.
DRIPPING = {
    "head": (HEAD + b"X-A: ", b"a"),
    "fields": (HEAD, b"X-A: b\r\n"),
    "interim": (b"", b"HTTP/1.1 102 Processing\r\n\r\n"),
    "body": (HEAD + b"Content-Length: 100000\r\n\r\n{", b" "),
    "chunks": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    "chunk-size": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"0"),
    "trailers": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n", b"X-A: b\r\n"),
}
ANSWERS = {**MALFORMED, **MISLEADING, **{f"drip-{name}": answer for name, answer in DRIPPING.items()}}
every_answer = pytest.mark.parametrize("name", ANSWERS)


class Hostile:
    """Answers every request with the answer of this name. "redirect-<status>" leads to `elsewhere`, which is nobody's."""

    def __init__(self, name: str):
        self._elsewhere = socket.create_server(("127.0.0.1", 0))
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=100)
        self._stopping = threading.Event()
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self.requests = 0
        if name.startswith("redirect"):
            where = b"http://127.0.0.1:%d/x" % self._elsewhere.getsockname()[1]
            self._begin = b"HTTP/1.1 %s Found\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n" % (name[9:].encode(), where)
            self._unit = b""
        else:
            answer = ANSWERS[name]
            self._begin, self._unit = answer if isinstance(answer, tuple) else (answer, b"")
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        try:
            while True:
                threading.Thread(target=self._serve, args=(self._listening.accept()[0],), daemon=True).start()
        except OSError:
            return

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                while connection.recv(1 << 16):
                    self.requests += 1
                    connection.sendall(self._begin)
                    while self._unit and not self._stopping.wait(0.2):
                        connection.sendall(self._unit)
            except OSError:
                return

    def stop(self) -> None:
        """Fails if anybody has followed to where it led."""
        self._stopping.set()
        self._listening.close()
        self._elsewhere.setblocking(False)
        with pytest.raises(BlockingIOError):
            self._elsewhere.accept()
        self._elsewhere.close()


@pytest.fixture
def hostile():
    servers: list[Hostile] = []

    def start(name: str) -> Hostile:
        servers.append(Hostile(name))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


def ends_in_time(gateway, call, seconds: float):
    """The result of `call`, which must return within this time, while other clients are served at once."""
    with ThreadPoolExecutor(1) as caller:
        start = time.monotonic()
        result = caller.submit(call)
        while not wait([result], 0.05).done:
            asked = time.monotonic()
            # The gateway's own answer, on the event loop that waits for the hostile one.
            assert raw.exchange(gateway.port, "GET", "/nowhere").status == 404
            assert time.monotonic() - asked < SECOND
            assert time.monotonic() - start < seconds
        assert gateway.process.exit_status is None, gateway.log()[-4000:]
        return result.result()


# ---- A backend


def upstream_of(url: str, recorder: str) -> dict:
    """A backend at /hostile/**, which has three seconds."""
    timeouts = {"first_byte_timeout": "1s", "idle_timeout": "1s", "whole_timeout": "3s"}
    routes = [
        {"name": "hostile", "path": "/hostile/**", "access": "public", "upstream": "hostile"},
        {"name": "plain", "path": "/recorded/public/**", "access": "public", "upstream": "recorder"},
    ]
    return {"threads": 1, "upstreams": {"hostile": {"url": url, **timeouts}, "recorder": {"url": recorder}}, "routes": routes}


@pytest.mark.parametrize("name", [*MALFORMED, *(f"drip-{name}" for name in DRIPPING)])
def test_a_backend(start_gateway, own_recorder, hostile, name):
    server = hostile(name)
    gateway = start_gateway(upstream_of(server.url, own_recorder.url))

    def call() -> int:
        with raw.RawConnection(gateway.port) as connection:
            try:
                return connection.request("GET", "/hostile/x").status
            except raw.ConnectionClosed as closed:
                # The head was good, and had been passed on.
                assert name.startswith("drip-") or name == "chunk-beyond-64-bits", closed
                return 502

    for _ in range(2):
        assert ends_in_time(gateway, call, 5) in (502, 504)


@pytest.mark.parametrize("status", ["302", "307"])
def test_a_redirect_of_a_backends_is_the_clients_to_follow(start_gateway, own_recorder, hostile, status):
    gateway = start_gateway(upstream_of(hostile(f"redirect-{status}").url, own_recorder.url))
    response = raw.exchange(gateway.port, "GET", "/hostile/x")
    assert (response.status, response.header("location")[:17]) == (int(status), "http://127.0.0.1:")


def test_what_a_backend_compressed_stays_so(start_gateway, own_recorder, hostile):
    gateway = start_gateway(upstream_of(hostile("gzip-bomb").url, own_recorder.url))
    assert raw.exchange(gateway.port, "GET", "/hostile/x").body == MISLEADING["gzip-bomb"].split(b"\r\n\r\n", 1)[1]


# ---- A key set's server


@pytest.mark.parametrize("name", [*ANSWERS, "redirect-302", "redirect-307"])
def test_a_key_set(start_gateway, issuer, hostile, name):
    server = hostile(name)
    gateway = start_gateway({"threads": 1, "key_sets": {"timeout": "1s"}}, jwks_url=server.url)
    token = {"Authorization": f"Bearer {issuer.access()}"}
    response = ends_in_time(gateway, lambda: raw.exchange(gateway.port, "GET", "/recorded/required/x", token), 5)
    assert response.status == 503
    assert server.requests


# ---- Cognito


@pytest.mark.parametrize("name", [*ANSWERS, "redirect-302", "redirect-307"])
def test_cognito(start_gateway, pool, hostile, ledger, name):
    server = hostile(name)
    cognito = {"endpoint": server.url, "timeout": "1s"}
    gateway = start_gateway({"threads": 1, "sign_in": {"cognito": cognito}}, pool=pool)
    ledger.note(ADA[1])
    body = json.dumps({"email": ADA[0], "password": ADA[1]}).encode()

    def call() -> raw.Response:
        fields = {"Content-Type": "application/json"}
        return raw.exchange(gateway.port, "POST", "/api/v1/auth/login", fields, body)

    assert ends_in_time(gateway, call, 5).status in (500, 502, 503, 504)
    assert server.requests


# ---- Apple


@pytest.fixture(scope="module")
def apple(run_directory):
    apple = LocalApple(run_directory, "hostile-apple")
    yield apple
    apple.stop()


users = (f"hostile-{number}@example.com" for number in itertools.count())


@pytest.mark.parametrize("name", [*ANSWERS, "redirect-302", "redirect-307"])
def test_apple(start_gateway, apple, hostile, ledger, name):
    """A code that could not be exchanged costs nobody the sign-in."""
    server = hostile(name)
    settings = apple_settings(apple, {"server": {"endpoint": server.url, "timeout": "1s"}})
    gateway = start_gateway({"threads": 1, **settings})
    app = AppleApp(gateway.port, apple, ledger)
    response = ends_in_time(gateway, lambda: app.sign_in(next(users)), 5)
    assert response.status == 200
    assert server.requests


# ---- Receivers of messages


@pytest.mark.parametrize("name", ["no-http", "switching", *(f"drip-{name}" for name in DRIPPING), "redirect-302", "redirect-307"])
def test_receivers_of_messages(start_gateway, pool, hostile, ledger, name):
    """Only a whole 2xx is a receipt. Its body is nobody's, so that it matters little where that ends."""
    webhook = hostile(name)
    settings = {"url": f"{webhook.url}/audit", "secret": "s" * 32, "timeout": "1s", "allow_insecure_http": True}
    gateway = start_gateway({"threads": 1, "audit": {"webhook": settings}}, pool=pool)
    body = json.dumps({"email": ADA[0], "password": "Wrong-Horse-1"}).encode()
    ledger.note("Wrong-Horse-1")
    fields = {"Content-Type": "application/json"}
    assert raw.exchange(gateway.port, "POST", "/api/v1/auth/login", fields, body).status == 401

    def call() -> None:
        wait_until(lambda: gateway.metric("gatehouse_outbox_failures_total") > 0, "a failed delivery")

    ends_in_time(gateway, call, 8)
    assert gateway.metric("gatehouse_outbox_delivered_total") == 0
