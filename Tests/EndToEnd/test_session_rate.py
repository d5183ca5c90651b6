"""The cost of sessions: 2 000 refreshes a second on two cores; validation and proxying as cheap as for Cognito."""

import socket
import statistics
import threading
import time

import pytest
from harness.gateway import binary
from harness.raw import RawConnection, request_bytes
from harness.sanitizer import PATIENCE, SANITIZER
from harness.sessions import PREFIX, State, session_settings

pytestmark = pytest.mark.alone

APPS = 16
REFRESHES = 250
REQUESTS = 4000
BATCH = 50
ROUNDS = 6

optimised = pytest.mark.skipif(
    bool(SANITIZER) or "debug" in str(binary()), reason="says nothing of a build that is not optimised"
)


def app(port: int, token: str, start: threading.Barrier, failed: list) -> None:
    """Refreshes with each token it gets, on one connection."""
    with RawConnection(port, timeout=30 * PATIENCE) as connection:
        start.wait()
        for _ in range(REFRESHES):
            answer = connection.request("POST", f"{PREFIX}/refresh", {"Authorization": f"Bearer {token}"}, b"")
            if answer.status != 200:
                return failed.append(answer.body)
            token = answer.json()["token"]


@pytest.mark.long
@optimised
def test_two_thousand_refreshes_a_second_on_two_cores(start_gateway, issuer):
    """Counted in processor time, which other work on the machine does not change: at most 1 ms for each."""
    gateway = start_gateway({**session_settings(issuer.server.url), "threads": 2})
    state = State(gateway)
    tokens = [state.begin(f"apple-{number}").token for number in range(APPS)]
    start, failed = threading.Barrier(APPS + 1), []
    apps = [threading.Thread(target=app, args=(gateway.port, token, start, failed)) for token in tokens]
    for each in apps:
        each.start()
    start.wait()
    spent, begin = gateway.process.cpu_seconds(), time.perf_counter()
    for each in apps:
        each.join()
    spent, took = gateway.process.cpu_seconds() - spent, time.perf_counter() - begin
    assert not failed
    count = APPS * REFRESHES
    print(f"{count / took:.0f} refreshes/s, {spent / count * 1000:.3f} ms of processor time each")
    assert spent / count <= 2 / 2000


def cost(gateway, request: bytes) -> float:
    """Processor time of one request among many of one connection, in seconds."""
    with RawConnection(gateway.port, timeout=30 * PATIENCE) as connection:
        connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        before = gateway.process.cpu_seconds()
        for _ in range(REQUESTS // BATCH):
            connection.send(request * BATCH)
            for _ in range(BATCH):
                assert connection.response().status == 200
        return (gateway.process.cpu_seconds() - before) / REQUESTS


@pytest.mark.long
@optimised
@pytest.mark.timeout(300)
def test_a_session_costs_what_a_cognito_token_costs(start_gateway, issuer):
    """In turns, forwards and back, so that what else goes on falls on all of them; the middle of the rounds. On a busy
    machine it takes more of them."""
    gateway = start_gateway({**session_settings(issuer.server.url), "threads": 1})
    headers = {
        "cognito": {"Authorization": f"Bearer {issuer.access()}"},
        "session": {"Authorization": f"Bearer {State(gateway).begin().token}"},
    }
    proxied = {name: request_bytes("GET", "/recorded/required/a", fields) for name, fields in headers.items()}
    validated = request_bytes("POST", f"{PREFIX}/validate", headers["session"], b"")
    requests = {**proxied, "validate": validated}
    for request in requests.values():
        cost(gateway, request)
    orders = [list(requests), list(reversed(requests))] * (ROUNDS // 2)
    rounds = []
    for _ in range(4):
        rounds += [{name: cost(gateway, requests[name]) for name in order} for order in orders]
        middle = {name: statistics.median(each[name] for each in rounds) for name in requests}
        if max(middle["session"], middle["validate"]) <= 1.1 * middle["cognito"]:
            break
    print({name: f"{seconds * 1e6:.1f} µs" for name, seconds in middle.items()}, len(rounds), "rounds")
    assert middle["session"] <= 1.1 * middle["cognito"]
    assert middle["validate"] <= 1.1 * middle["cognito"]
