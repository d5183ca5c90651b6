"""Whatever the gateway waits for fails, is slow or breaks off while clients go on calling: it never ends, it answers every
call, and works again once the others do.

Debug builds cannot show what this is for: with `-O` an async function may go on on another thread with what it knew of the
first one. `--long` is a minute for each case.
"""

import itertools
import json
import signal
import sqlite3
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from harness import raw, steady_load
from harness.assertions import ISSUER
from harness.apple_app import AppleApp, apple_settings
from harness.gateway import ADA, LocalPool
from harness.local_apple import LocalApple
from harness.process import wait_until
from harness.unreliable import Unreliable

WRONG = "Wrong-Horse-1"
CALLERS = 8
PROXY = {"trusted_proxies": ["127.0.0.1"]}
ISSUERS = 6
ASSERTION = {"identity": {"assertion": {"issuer": ISSUER}}}
TROUBLE = pytest.mark.parametrize(
    ("mode", "seconds"),
    [("mixed", 4), *(pytest.param(mode, 60, marks=pytest.mark.long) for mode in ("failing", "slow", "mixed"))],
)


@pytest.fixture(scope="module")
def own_pool(run_directory):
    pool = LocalPool(run_directory, "unreliable-pool")
    yield pool
    pool.stop()


@pytest.fixture(scope="module")
def apple(run_directory):
    apple = LocalApple(run_directory, "unreliable-apple")
    yield apple
    apple.stop()


@pytest.fixture
def unreliable():
    servers: list[Unreliable] = []

    def start(behind: str | None = None) -> Unreliable:
        servers.append(Unreliable(behind))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


def under_load(gateway, seconds: float, *calls) -> Counter:
    """Makes the calls in turn, from several callers at once; how often each status was the answer."""
    statuses: Counter = Counter()
    numbers = itertools.count()
    end = time.monotonic() + seconds

    def caller() -> None:
        while time.monotonic() < end and gateway.process.exit_status is None:
            number = next(numbers)
            statuses[calls[number % len(calls)](number).status] += 1

    with ThreadPoolExecutor(CALLERS) as pool:
        callers = [pool.submit(caller) for _ in range(CALLERS)]
    assert gateway.process.exit_status is None, gateway.log()[-4000:]
    for each in callers:
        each.result()
    assert sum(statuses.values()) >= CALLERS
    return statuses


def login(gateway, password: str, number: int) -> raw.Response:
    """A sign-in from an address of its own."""
    fields = {
        "Content-Type": "application/json",
        "X-Forwarded-For": f"198.18.{number // 250 % 250}.{number % 250 + 1}",
    }
    body = json.dumps({"email": ADA[0], "password": password}).encode()
    return raw.exchange(gateway.port, "POST", "/api/v1/auth/login", fields, body)


def signs_in(gateway) -> bool:
    return login(gateway, ADA[1], 1).status == 200


@TROUBLE
def test_receivers_of_messages(start_gateway, own_pool, unreliable, ledger, mode, seconds):
    ledger.note(WRONG, ADA[1])
    webhook, users = unreliable(), unreliable()
    webhook.mode = users.mode = mode
    gateway = start_gateway(
        {
            **PROXY,
            "audit": {
                "webhook": {
                    "url": f"{webhook.url}/audit", "secret": "s" * 32, "timeout": "1s", "allow_insecure_http": True
                }
            },
            **ASSERTION,
            "user_sync": {"url": f"{users.url}/users", "timeout": "1s", "allow_insecure_http": True},
        },
        pool=own_pool,
    )
    statuses = under_load(
        gateway, seconds, lambda number: login(gateway, WRONG, number), lambda number: login(gateway, ADA[1], number)
    )
    assert set(statuses) == {401, 200}
    wait_until(lambda: webhook.requests and users.requests, "messages")
    before = gateway.samples()["gatehouse_outbox_delivered_total"]
    webhook.mode = users.mode = "well"
    # All others may have been delivered.
    assert signs_in(gateway)

    def is_received() -> bool:
        assert gateway.process.exit_status is None, gateway.log()[-4000:]
        return gateway.samples()["gatehouse_outbox_delivered_total"] > before

    wait_until(is_received, "messages to be received again", 30)


@TROUBLE
def test_a_backend_that_must_know_of_users(start_gateway, own_pool, unreliable, ledger, mode, seconds):
    ledger.note(ADA[1])
    users = unreliable()
    users.mode = mode
    gateway = start_gateway(
        {
            **PROXY,
            **ASSERTION,
            "user_sync": {
                "url": f"{users.url}/users", "timeout": "1s", "allow_insecure_http": True, "mode": "required",
                "events": ["signed_in"],
            },
        },
        pool=own_pool,
    )
    statuses = under_load(gateway, seconds, lambda number: login(gateway, ADA[1], number))
    assert set(statuses) <= ({503} if mode == "failing" else {200, 503})
    users.mode = "well"
    wait_until(lambda: signs_in(gateway), "a sign-in")


def read_again(gateway, changes: dict) -> None:
    """A reload, which is refused where a new issuer's keys cannot be had."""
    before = gateway.metric("gatehouse_config_reloads_total")
    gateway.write_config(changes)
    gateway.process.signal(signal.SIGHUP)
    wait_until(
        lambda: gateway.process.exit_status is not None or gateway.metric("gatehouse_config_reloads_total") > before,
        "the end of a reload", 30,
    )  # fmt: skip


@pytest.fixture
def backend():
    """One in a process of its own: beside this process's callers and servers it would answer late now and then."""
    backend = steady_load.Backend()
    yield backend
    backend.stop()


@TROUBLE
def test_key_sets(start_gateway, issuer, unreliable, backend, mode, seconds):
    """Keys are asked for at each start of a reading of the settings, so these are read again and again."""
    keys = unreliable(issuer.server.url.removesuffix("/.well-known/jwks.json"))
    keys.mode = mode

    def settings(generation: int) -> dict:
        return {
            "issuers": {
                f"tenant-{number}": {
                    "profile": "oidc",
                    "issuer": f"https://tenant-{number}.example",
                    "audiences": ["api"],
                    "jwks_url": f"{keys.url}/{generation}/jwks.json",
                    "allow_insecure_http": True,
                }
                for number in range(ISSUERS)
            }
        }

    gateway = start_gateway({**settings(0), "upstreams": {"recorder": {"url": backend.url, "first_byte_timeout": "8s"}}})
    tokens = [issuer.access(iss=f"https://tenant-{number}.example", aud="api") for number in range(ISSUERS)]

    def call(number: int) -> raw.Response:
        headers = {"Authorization": f"Bearer {tokens[number % ISSUERS]}"}
        return raw.exchange(gateway.port, "GET", "/recorded/required/x", headers)

    with ThreadPoolExecutor(1) as pool:
        loaded = pool.submit(under_load, gateway, seconds, call)
        for generation in itertools.count(1):
            if loaded.done():
                break
            read_again(gateway, settings(generation))
    statuses = loaded.result()
    assert set(statuses) <= ({503} if mode == "failing" else {200, 503})
    assert keys.requests > ISSUERS
    keys.mode = "well"
    gateway.reload(settings(-1))
    wait_until(lambda: all(call(number).status == 200 for number in range(ISSUERS)), "every issuer's keys")


@TROUBLE
def test_cognito(start_gateway, own_pool, unreliable, ledger, mode, seconds):
    ledger.note(WRONG, ADA[1])
    cognito = unreliable(own_pool.url)
    gateway = start_gateway(
        {**PROXY, "sign_in": {"cognito": {"endpoint": cognito.url, "timeout": "1s"}}}, pool=own_pool
    )
    session = login(gateway, ADA[1], 0).json()
    cognito.mode = mode

    def refresh(number: int) -> raw.Response:
        body = json.dumps({"refresh_token": session["refresh_token"]}).encode()
        headers = {"Content-Type": "application/json"}
        return raw.exchange(gateway.port, "POST", "/api/v1/auth/refresh", headers, body)

    statuses = under_load(
        gateway, seconds,
        lambda number: login(gateway, WRONG, number), lambda number: login(gateway, ADA[1], number), refresh,
    )  # fmt: skip
    # A refresh token that was used is good for a while, and ends its session afterwards: 401.
    assert set(statuses) <= {200, 401, 503}
    assert statuses[503] or mode == "slow"
    cognito.mode = "well"
    wait_until(lambda: signs_in(gateway), "a sign-in")


@TROUBLE
def test_apple(start_gateway, apple, unreliable, ledger, mode, seconds):
    front = unreliable(apple.url)
    settings = apple_settings(apple)
    settings["sign_in"]["apple"]["server"] |= {"endpoint": front.url, "timeout": "1s"}
    gateway = start_gateway({**PROXY, **settings})
    app = AppleApp(gateway.port, apple, ledger)
    front.mode = mode
    user = f"user-{time.time_ns()}"

    def sign_in(number: int) -> raw.Response:
        return app.sign_in(f"{user}-{number}@example.com")

    def delete(number: int) -> raw.Response:
        answer = app.sign_in(f"{user}-{number}@example.com")
        return app.send("DELETE", "me", token=answer.json()["token"]) if answer.status == 200 else answer

    statuses = under_load(gateway, seconds, sign_in, delete)
    assert set(statuses) <= {200, 204, 401, 503}
    front.mode = "well"
    wait_until(lambda: app.sign_in(f"{user}-last@example.com").status == 200, "a sign-in")


@contextmanager
def held_again_and_again(gateway, seconds: float):
    """Somebody else writes to the store's database, and takes long."""
    path = Path(gateway.config["state_directory"]) / "gatehouse.sqlite"
    stopping = threading.Event()

    def hold() -> None:
        with closing(sqlite3.connect(path, timeout=30, isolation_level=None)) as lock:
            while not stopping.is_set():
                lock.execute("BEGIN EXCLUSIVE")
                stopping.wait(seconds)
                lock.execute("ROLLBACK")
                stopping.wait(seconds / 4)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()


@pytest.mark.parametrize(
    ("held", "seconds"), [(0.5, 4), *(pytest.param(held, 60, marks=pytest.mark.long) for held in (0.5, 8))]
)
def test_the_store(start_gateway, own_pool, unreliable, ledger, held, seconds):
    ledger.note(WRONG, ADA[1])
    webhook = unreliable()
    webhook.mode = "mixed"
    webhook_settings = {
        "url": f"{webhook.url}/audit", "secret": "s" * 32, "timeout": "1s", "allow_insecure_http": True
    }
    gateway = start_gateway({**PROXY, "audit": {"webhook": webhook_settings}}, pool=own_pool)
    with held_again_and_again(gateway, held):
        statuses = under_load(
            gateway, seconds,
            lambda number: login(gateway, WRONG, number), lambda number: login(gateway, ADA[1], number),
        )  # fmt: skip
    assert set(statuses) <= {200, 401, 503}
    wait_until(lambda: signs_in(gateway), "a sign-in", 30)
