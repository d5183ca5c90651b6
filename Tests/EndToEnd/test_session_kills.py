"""The gateway is killed under load, again and again: no session that was acknowledged is lost, none that was ended comes
back, the database is whole, and the next process is ready at once.
"""

import random
import signal
import threading
import time

import pytest
from harness import raw
from harness.account import bearer
from harness.gateway import binary
from harness.process import wait_until
from harness.sanitizer import PATIENCE, SANITIZER
from harness.sessions import App, State, session_settings

REQUIRED = "/recorded/required/a"
REFRESHING = 4


class Address:
    port = 0


class Client(threading.Thread):
    """An app that gets no answer asks again with what it was told last."""

    def __init__(self, address: Address, state: State, ledger):
        super().__init__(daemon=True)
        self.address, self.state, self.ledger = address, state, ledger
        self.done = 0
        self.failed: str | None = None
        self.stopping = threading.Event()

    def app(self) -> App:
        return App(self.address.port, self.ledger)

    def step(self) -> bool:
        raise NotImplementedError

    def run(self) -> None:
        while not self.stopping.is_set() and self.failed is None:
            try:
                self.done += self.step()
            except (OSError, raw.ConnectionClosed):
                self.stopping.wait(0.01)


class Refreshing(Client):
    """Refreshes without pause: its session must never end."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.token = self.state.begin(f"apple-{id(self)}").token

    def step(self) -> bool:
        answer = self.app().refresh(self.token)
        if answer.status == 200:
            self.token = answer.json()["token"]
        elif answer.status == 401:
            self.failed = answer.body.decode()
        return answer.status == 200


class Leaving(Client):
    """Signs in and out without pause, or deletes its user: what was acknowledged has ended for good."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.ended: list[str] = []

    def step(self) -> bool:
        deletes = len(self.ended) % 4 == 3
        session = self.state.begin(f"apple-{id(self)}-{len(self.ended) // 4}")
        answer = None
        while answer is None or answer.status not in (204, 401):
            try:
                answer = (self.app().delete if deletes else self.app().logout)(session.token)
            except (OSError, raw.ConnectionClosed):
                if self.stopping.is_set():
                    return False
                self.stopping.wait(0.01)
        self.ended.append(session.token)
        return True


def assert_ended(address: Address, ledger, tokens: list[str]) -> None:
    for token in tokens:
        assert raw.exchange(address.port, "GET", REQUIRED, bearer(token)).status == 401
        assert App(address.port, ledger).refresh(token).status == 401


@pytest.mark.parametrize("kills", [5, pytest.param(200, marks=[pytest.mark.long, pytest.mark.timeout(1800)])])
def test_no_kill_loses_a_session_or_brings_one_back(start_gateway, issuer, ledger, kills):
    settings = session_settings(issuer.server.url)
    gateway = start_gateway(settings)
    state, address = State(gateway), Address()
    settings["state_directory"] = gateway.config["state_directory"]
    address.port = gateway.port
    refreshing = [Refreshing(address, state, ledger) for _ in range(REFRESHING)]
    leaving = Leaving(address, state, ledger)
    clients: list[Client] = [*refreshing, leaving]
    for client in clients:
        client.start()
    choice, slowest, spent = random.Random(kills), 0.0, 0.0
    for _ in range(kills):
        progress = [client.done for client in clients]
        wait_until(
            lambda: any(client.failed for client in clients)
            or all(client.done > done for client, done in zip(clients, progress)),
            "every app to get on", seconds=30,
        )  # fmt: skip
        # Anywhere in a call: what is under way at that moment is what the test is about.
        time.sleep(choice.uniform(0, 0.03) * PATIENCE)
        ended = list(leaving.ended)
        gateway.process.signal(signal.SIGKILL)
        gateway.process.wait(10)
        with state.database() as database:
            assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        begin = time.monotonic()
        gateway = start_gateway(settings)
        slowest = max(slowest, time.monotonic() - begin)
        spent = max(spent, gateway.process.cpu_seconds())
        address.port = gateway.port
        assert_ended(address, ledger, ended[-8:])
    for client in clients:
        client.stopping.set()
    for client in clients:
        client.join(30)
    print(f"{kills} kills, {sum(client.done for client in refreshing)} refreshes, {len(leaving.ended)} ends, ready in {slowest:.2f} s")
    assert [client.failed for client in clients] == [None] * len(clients)
    assert all(App(address.port, ledger).refresh(client.token).status == 200 for client in refreshing)
    assert_ended(address, ledger, leaving.ended)
    if not SANITIZER and "debug" not in str(binary()):
        # The work of a start is counted in processor time; a wait for something would take seconds.
        assert spent < 1 and slowest < 5
