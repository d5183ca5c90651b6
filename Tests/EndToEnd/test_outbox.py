"""Messages to other services: each destination has a queue of its own, and what must not be lost has room of its own."""

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from harness import raw
from harness.account import Account, bearer
from harness.assertions import ISSUER
from harness.backend import RecordingBackend, answer, silence
from harness.gateway import ADA, Gateway, LocalPool
from harness.process import wait_until
from harness.user import signed_in_user

WRONG = "Wrong-Horse-1"
LIMIT = 100_000


@pytest.fixture(scope="module")
def own_pool(run_directory):
    """Users of this module's own, so that deleting one is nobody else's trouble."""
    pool = LocalPool(run_directory, "outbox-pool")
    yield pool
    pool.stop()


@pytest.fixture
def start(start_gateway, own_pool, receiver):
    def start() -> Gateway:
        webhook = {"url": f"{receiver.url}/events", "events": ["sign_in_failed"], "timeout": "60s"}
        sync = {"url": f"{receiver.url}/users", "audience": "users"}
        plain = {"allow_insecure_http": True}
        return start_gateway(
            {
                "identity": {"assertion": {"issuer": ISSUER}},
                "audit": {"webhook": {**webhook, **plain}},
                "user_sync": {**sync, **plain},
            },
            pool=own_pool,
        )

    return start


def told(receiver: RecordingBackend) -> list[str]:
    return [json.loads(request.body)["event"] for request in receiver.requests_to("/users") if request.complete]


def database(gateway: Gateway):
    path = Path(gateway.config["state_directory"]) / "gatehouse.sqlite"
    return closing(sqlite3.connect(path, timeout=10, isolation_level=None))


def fill(gateway: Gateway, destination: str) -> None:
    """As many messages as may wait for a destination that has not answered for a while; none is due for half an hour."""
    now = int(time.time() * 1000)
    rows = ((f"{destination}-{number}", destination, "signed_in", "{}", now, now + 1_800_000, 9) for number in range(LIMIT))
    with database(gateway) as outbox:
        outbox.execute("BEGIN IMMEDIATE")
        outbox.executemany(
            "INSERT INTO outbox (key, destination, kind, body, created_at, due_at, attempts) VALUES (?, ?, ?, ?, ?, ?, ?)",
            rows,
        )
        outbox.execute("COMMIT")


def test_a_webhook_that_does_not_answer_holds_no_other_message_up(start, receiver, ledger):
    receiver.on("/events", silence)
    receiver.on("/users", answer(204, b""))
    gateway = start()
    account = Account(gateway.port, ledger)
    ledger.note(WRONG)
    for _ in range(20):
        assert account.login(ADA[0], WRONG).status == 401
    wait_until(lambda: receiver.requests_to("/events"), "the webhook to be busy")
    assert account.login(*ADA).status == 200
    wait_until(lambda: told(receiver) == ["signed_in"], "the backend to be told of a sign-in")


@pytest.mark.parametrize("full", ["audit_webhook", "user_sync"])
def test_a_full_queue_loses_no_deletion(start, receiver, own_pool, ledger, full):
    receiver.on("/users", answer(204, b""))
    gateway = start()
    account = Account(gateway.port, ledger)
    _, tokens = signed_in_user(account, own_pool)
    fill(gateway, full)
    wait_until(lambda: gateway.metric("gatehouse_outbox_waiting") >= LIMIT, "the full queue to be seen")
    answered = raw.exchange(gateway.port, "DELETE", "/api/v1/auth/me", bearer(tokens["access_token"]))
    assert answered.status == 204
    wait_until(lambda: told(receiver)[-1:] == ["deleted"], "the backend to be told of the deletion")
    assert gateway.metric("gatehouse_outbox_lost_total") == 0


def test_one_full_queue_takes_no_more_and_the_others_do(start, receiver, ledger):
    receiver.on("/users", answer(204, b""))
    gateway = start()
    account = Account(gateway.port, ledger)
    fill(gateway, "audit_webhook")
    # Each second the gateway counts what waits.
    wait_until(lambda: gateway.metric("gatehouse_outbox_waiting") == LIMIT, "the full queue to be seen")
    ledger.note(WRONG)
    assert account.login(ADA[0], WRONG).status == 401
    wait_until(lambda: gateway.metric("gatehouse_outbox_lost_total") == 1, "the event to be lost")
    assert account.login(*ADA).status == 200
    wait_until(lambda: told(receiver) == ["signed_in"], "the backend to be told of a sign-in")
    assert gateway.metric("gatehouse_outbox_lost_total") == 1
