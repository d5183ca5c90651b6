"""Refresh tokens: one successor for each, whoever asks how often, and whenever the gateway dies."""

import asyncio
import json
import random
import signal
import sqlite3
import threading
import time
from pathlib import Path

import pytest
from harness import raw
from harness.account import Account, assert_refusal
from harness.cognito_front import CognitoFront
from harness.gateway import ADA, Gateway, LocalPool, gatehouse
from harness.interposed import Clock, without_sanitizer
from harness.local_pool_control import advance_clock, control
from harness.process import accepts_connections, wait_until
from harness.sanitizer import PATIENCE

WINDOW = 60
DAY = 86_400


@pytest.fixture(params=["steady", "rotating"])
def cognito(request, run_directory):
    """A pool that leaves its refresh tokens as they are, and one that rotates them."""
    rotation = {"enabled": request.param == "rotating", "retry_grace": 60 if request.param == "rotating" else 0}
    name = "".join(character if character.isalnum() else "-" for character in request.node.name)[:60]
    pool = LocalPool(run_directory, f"pool-{name}", {"rotation": rotation})
    yield pool
    pool.stop()


@pytest.fixture
def served(start_gateway, cognito, ledger) -> tuple[Gateway, Account]:
    gateway = start_gateway(pool=cognito)
    return gateway, Account(gateway.port, ledger)


def calls(pool: LocalPool, operation: str) -> int:
    return control(pool, "GET", "calls")["counts"].get(operation, 0)


def sessions(gateway: Gateway) -> sqlite3.Connection:
    return sqlite3.connect(Path(gateway.config["state_directory"]) / "gatehouse.sqlite", timeout=10, isolation_level=None)


def let_the_window_pass(gateway: Gateway) -> None:
    """As if the last refresh of every session had been a minute ago."""
    with sessions(gateway) as database:
        database.execute("UPDATE sessions SET refreshed_at = refreshed_at - ?", [WINDOW + 2])


def test_a_retry_gets_the_same_answer(served, cognito):
    _, account = served
    tokens = account.login(*ADA).json()
    first = account.refresh(tokens["refresh_token"]).json()
    asked = calls(cognito, "GetTokensFromRefreshToken")
    retry = account.refresh(tokens["refresh_token"])
    assert retry.status == 200
    assert {**retry.json(), "expires_in": 0} == {**first, "expires_in": 0}
    assert calls(cognito, "GetTokensFromRefreshToken") == asked, "Cognito need not be asked"
    assert account.refresh(first["refresh_token"]).status == 200


def test_a_stop_completes_a_refresh_whose_client_has_gone(start_gateway, run_directory, ledger):
    """The pool has rotated the token by then, and takes the old one no more."""
    operation = "GetTokensFromRefreshToken"
    pool = LocalPool(run_directory, "pool-stop", {"rotation": {"enabled": True, "retry_grace": 0}})
    front = CognitoFront(pool.url)
    has_rotated, may_respond = threading.Event(), threading.Event()
    try:
        gateway = start_gateway({"sign_in": {"cognito": pool.sign_in_settings("pool", endpoint=front.url)}}, pool=pool)
        token = Account(gateway.port, ledger).login(*ADA).json()["refresh_token"]

        def hold(done: str) -> None:
            if done == operation:
                has_rotated.set()
                assert may_respond.wait(30 * PATIENCE)

        front.before_response = hold
        with raw.RawConnection(gateway.port) as connection:
            body = json.dumps({"refresh_token": token}).encode()
            connection.send(
                raw.request_bytes("POST", "/api/v1/auth/refresh", {"Content-Type": "application/json"}, body)
            )
            assert has_rotated.wait(10 * PATIENCE)
        gateway.wait_for_nobody()
        gateway.process.signal(signal.SIGTERM)
        wait_until(lambda: not accepts_connections(gateway.port), "the gateway to stop listening")
        assert gateway.admin("/healthz")[0] == 200, "it waits for the call"
        may_respond.set()
        assert gateway.process.wait(20) == 0
        restarted = Gateway(gateway.config_path.parent, "gateway", gateway.config)
        try:
            assert Account(restarted.port, ledger).refresh(token).status == 200
            assert front.operations().count(operation) == 1
        finally:
            restarted.stop()
    finally:
        may_respond.set()
        front.stop()
        pool.stop()


@pytest.mark.parametrize("is_stored", [True, False])
def test_a_token_whose_successor_was_never_used_brings_it_again(served, cognito, is_stored):
    """However late: the app was killed before it stored the response. The gateway forgets it after a while."""
    gateway, account = served
    tokens = account.login(*ADA).json()
    lost = account.refresh(tokens["refresh_token"]).json()
    let_the_window_pass(gateway)
    if not is_stored:
        with sessions(gateway) as database:
            database.execute("UPDATE sessions SET answer = NULL")
    asked = calls(cognito, "GetTokensFromRefreshToken")
    answer = account.refresh(tokens["refresh_token"])
    assert answer.status == 200
    assert calls(cognito, "GetTokensFromRefreshToken") - asked == (0 if is_stored else 1)
    again = answer.json()
    assert account.me(again["access_token"]).status == 200
    events = wait_until(lambda: gateway.audit_log("refresh_given_again"), "the audit event")
    assert events[0]["operation"] == "refresh"
    # Whichever of the two the app has, the session goes on.
    assert account.refresh(lost["refresh_token"]).status == 200
    assert_refusal(account.refresh(tokens["refresh_token"]), 401, "TokenRefreshException")


def test_a_token_that_is_used_again_later_ends_its_session(served, cognito):
    gateway, account = served
    tokens = account.login(*ADA).json()
    others = account.login(*ADA).json()
    used = account.refresh(tokens["refresh_token"]).json()
    successor = account.refresh(used["refresh_token"]).json()
    let_the_window_pass(gateway)
    reuse = account.refresh(tokens["refresh_token"])
    assert_refusal(reuse, 401, "TokenRefreshException")
    assert gateway.access_line(reuse.header("x-request-id"))["denial_reason"] == "refresh-token-reused"
    assert_refusal(account.refresh(successor["refresh_token"]), 401, "TokenRefreshException")
    assert_refusal(account.me(successor["access_token"]), 401, "NotAuthorizedException")
    assert calls(cognito, "RevokeToken") == 1, "Cognito's own token has ended as well"
    assert account.refresh(others["refresh_token"]).status == 200, "another sign-in of the user has not"


def test_a_token_two_generations_old_has_no_window(served):
    gateway, account = served
    tokens = account.login(*ADA).json()
    second = account.refresh(tokens["refresh_token"]).json()
    third = account.refresh(second["refresh_token"]).json()
    assert_refusal(account.refresh(tokens["refresh_token"]), 401, "TokenRefreshException")
    assert_refusal(account.refresh(third["refresh_token"]), 401, "TokenRefreshException")


def test_a_refresh_without_the_records_goes_by_cognito(start_gateway, cognito, ledger):
    """A gateway that has lost its records, or another one with the same key, signs nobody out."""
    gateway = start_gateway(pool=cognito)
    account = Account(gateway.port, ledger)
    tokens = account.login(*ADA).json()
    newer = account.refresh(tokens["refresh_token"]).json()
    gateway.stop()
    state = Path(gateway.config["state_directory"])
    for file in state.glob("gatehouse.sqlite*"):
        file.unlink()
    again = start_gateway({"state_directory": str(state)}, pool=cognito)
    assert Account(again.port, ledger).refresh(newer["refresh_token"]).status == 200


def test_two_gateways_on_one_state_directory_are_one(start_gateway, cognito, ledger):
    gateways = [start_gateway(pool=cognito)]
    gateways.append(start_gateway({"state_directory": gateways[0].config["state_directory"]}, pool=cognito))
    accounts = [Account(gateway.port, ledger) for gateway in gateways]
    tokens = accounts[0].login(*ADA).json()
    answers = asyncio.run(refresh_at_once([gateway.port for gateway in gateways] * 20, tokens["refresh_token"]))
    assert {status for status, _ in answers} == {200}
    assert len({body["refresh_token"] for _, body in answers}) == 1
    assert accounts[1].refresh(answers[0][1]["refresh_token"]).status == 200
    let_the_window_pass(gateways[0])
    assert_refusal(accounts[1].refresh(tokens["refresh_token"]), 401, "TokenRefreshException")


def test_a_gateway_without_the_new_sealing_key_ends_no_session_of_the_others(start_gateway, cognito, ledger):
    gateways = [start_gateway(pool=cognito)]
    gateways.append(start_gateway({"state_directory": gateways[0].config["state_directory"]}, pool=cognito))
    accounts = [Account(gateway.port, ledger) for gateway in gateways]
    token = accounts[0].login(*ADA).json()["refresh_token"]
    rotate = gatehouse("keys", "rotate", "--config", gateways[0].config_path, "--purpose", "sealing")
    assert rotate.returncode == 0, rotate.stderr
    gateways[0].reload()
    first = accounts[0].refresh(token).json()
    assert accounts[1].refresh(token).status == 503
    gateways[1].reload()
    assert accounts[1].refresh(token).json()["refresh_token"] == first["refresh_token"]
    assert accounts[1].refresh(first["refresh_token"]).status == 200


def test_an_answer_of_cognitos_that_is_lost_is_asked_for_again(served, cognito):
    """Cognito has rotated, and the connection ends: within its grace period the same token gets another one. Whether
    the client has to ask once more depends on libcurl, which itself repeats what went to a connection kept from before.
    """
    _, account = served
    tokens = account.login(*ADA).json()
    control(cognito, "POST", "faults", [{"operation": "GetTokensFromRefreshToken", "times": 1, "drop": "after"}])
    first = account.refresh(tokens["refresh_token"])
    if first.status != 200:
        assert_refusal(first, 503, "IdentityProviderUnavailableException")
    answer = account.refresh(tokens["refresh_token"])
    assert answer.status == 200
    assert account.refresh(answer.json()["refresh_token"]).status == 200


def test_cognito_slow_or_throttled_ends_no_session(served, cognito):
    _, account = served
    tokens = account.login(*ADA).json()
    throttled = {"operation": "GetTokensFromRefreshToken", "times": 1, "error": "TooManyRequestsException", "status": 400}
    control(cognito, "POST", "faults", [throttled])
    assert_refusal(account.refresh(tokens["refresh_token"]), 429, "TooManyRequestsException")
    slow = {"operation": "GetTokensFromRefreshToken", "times": 1, "delay_ms": 300}
    control(cognito, "POST", "faults", [slow])
    answers = asyncio.run(refresh_at_once([account.port] * 20, tokens["refresh_token"]))
    assert {status for status, _ in answers} == {200}


# MARK: Devices


def test_a_refresh_token_is_bound_to_its_device(start_gateway, pool, ledger):
    account = Account(start_gateway(pool=pool).port, ledger)
    device = {"device_id": "phone-1", "platform": "ios"}
    token = account.login(*ADA, device_info=device).json()["refresh_token"]
    other = account.post("refresh", {"refresh_token": token, "device_info": {**device, "device_id": "phone-2"}})
    assert_refusal(other, 401, "TokenRefreshException")
    assert account.post("refresh", {"refresh_token": token, "device_info": device}).status == 200


def test_a_binding_can_be_required(start_gateway, pool, ledger):
    changes = {"sign_in": {"cognito": pool.sign_in_settings("pool", device_binding="required")}}
    account = Account(start_gateway(changes, pool=pool).port, ledger)
    device = {"device_id": "phone-1", "platform": "ios"}
    token = account.login(*ADA, device_info=device).json()["refresh_token"]
    assert_refusal(account.refresh(token), 401, "TokenRefreshException")
    assert account.post("refresh", {"refresh_token": token, "device_info": device}).status == 200
    unbound = account.login(*ADA).json()["refresh_token"]
    assert account.refresh(unbound).status == 200


def test_one_message_for_everything_that_is_wrong_with_a_token(start_gateway, pool, ledger, account):
    """Flipped, cut, another gateway's key, another purpose, another device, used again: one answer."""
    gateway = start_gateway(pool=pool)
    own = Account(gateway.port, ledger)
    device = {"device_id": "phone-1", "platform": "ios"}
    token = own.login(*ADA, device_info=device).json()["refresh_token"]
    wrong = [token[:-3], token[:-1] + ("A" if token[-1] != "A" else "B"), token.replace("v2.", "v1.", 1), "x"]
    wrong.append(account.login(*ADA).json()["refresh_token"])
    answers = [own.refresh(text) for text in wrong]
    answers.append(own.post("refresh", {"refresh_token": token, "device_info": {**device, "device_id": "other"}}))
    own.refresh(own.refresh(token).json()["refresh_token"])
    answers.append(own.refresh(token))
    answers.append(own.refresh(token))
    bodies = {json.dumps({**answer.json(), "requestId": ""}) for answer in answers}
    assert len(bodies) == 1
    assert {answer.status for answer in answers} == {401}


def test_a_key_that_others_have_ends_what_it_has_sealed(start_gateway, pool, ledger):
    gateway = start_gateway(pool=pool)
    account = Account(gateway.port, ledger)
    token = account.login(*ADA).json()["refresh_token"]
    rotate = gatehouse("keys", "rotate", "--config", gateway.config_path, "--purpose", "sealing", "--compromised")
    assert rotate.returncode == 0, rotate.stderr
    gateway.reload()
    assert_refusal(account.refresh(token), 401, "TokenRefreshException")
    assert account.refresh(account.login(*ADA).json()["refresh_token"]).status == 200


# MARK: Many at once


async def refresh_at_once(ports: list[int], token: str) -> list[tuple[int, dict]]:
    """One refresh of the same token on each of these ports, all connected before any is sent."""
    body = json.dumps({"refresh_token": token}).encode()
    ready = asyncio.Event()

    async def one(port: int) -> tuple[int, dict]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        await ready.wait()
        head = f"POST /api/v1/auth/refresh HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + body)
        answer = await reader.read()
        writer.close()
        head, _, rest = answer.partition(b"\r\n\r\n")
        return int(head.split()[1]), json.loads(rest)

    tasks = [asyncio.create_task(one(port)) for port in ports]
    await asyncio.sleep(0)
    ready.set()
    return await asyncio.gather(*tasks)


def test_a_thousand_refreshes_of_one_token_are_one(served, cognito):
    gateway, account = served
    tokens = account.login(*ADA).json()
    before = calls(cognito, "GetTokensFromRefreshToken")
    answers = asyncio.run(refresh_at_once([gateway.port] * 1000, tokens["refresh_token"]))
    assert {status for status, _ in answers} == {200}
    assert calls(cognito, "GetTokensFromRefreshToken") == before + 1
    successors = {body["refresh_token"] for _, body in answers}
    assert len(successors) == 1
    assert account.refresh(successors.pop()).status == 200


# MARK: Kills


class App(threading.Thread):
    """Refreshes without pause, as an app does that gets no answer: the token it was told of last, until it has the next."""

    def __init__(self, email_and_password: tuple[str, str], address: "Address", ledger):
        super().__init__(daemon=True)
        self.address = address
        self.ledger = ledger
        self.token = Account(address.port, ledger).login(*email_and_password).json()["refresh_token"]
        self.refreshed = 0
        self.ended: str | None = None
        self.stopping = threading.Event()

    def run(self) -> None:
        while not self.stopping.is_set() and self.ended is None:
            try:
                answer = Account(self.address.port, self.ledger).refresh(self.token)
            except (OSError, raw.ConnectionClosed):
                time.sleep(0.01)
                continue
            if answer.status == 200:
                self.token = answer.json()["refresh_token"]
                self.refreshed += 1
            elif answer.status == 401:
                self.ended = answer.body.decode()


class Address:
    port = 0


@pytest.mark.parametrize("kills", [5, pytest.param(100, marks=[pytest.mark.long, pytest.mark.timeout(900)])])
def test_no_kill_ends_a_session(start_gateway, cognito, ledger, kills):
    gateway = start_gateway(pool=cognito)
    address, config = Address(), gateway.config
    address.port = gateway.port
    apps = [App(ADA, address, ledger) for _ in range(4)]
    for app in apps:
        app.start()
    choice = random.Random(kills)
    for _ in range(kills):
        progress = [app.refreshed for app in apps]
        wait_until(
            lambda: any(app.ended for app in apps) or all(app.refreshed > done for app, done in zip(apps, progress)),
            "every app to refresh", seconds=30,
        )  # fmt: skip
        # Anywhere in a refresh: what is under way at that moment is what the test is about.
        time.sleep(choice.uniform(0, 0.03) * PATIENCE)
        gateway.process.signal(signal.SIGKILL)
        gateway.process.wait(10)
        gateway = start_gateway({"state_directory": config["state_directory"]}, pool=cognito)
        address.port = gateway.port
    for app in apps:
        app.stopping.set()
    for app in apps:
        app.join(30)
    assert [app.ended for app in apps] == [None] * len(apps)
    account = Account(gateway.port, ledger)
    assert all(account.refresh(app.token).status == 200 for app in apps)


def test_an_answer_that_a_kill_has_lost_waits_a_minute_for_its_client(start_gateway, cognito, ledger):
    """The gateway was away for longer than the window, and not the client."""
    gateway = start_gateway(pool=cognito)
    account = Account(gateway.port, ledger)
    tokens = account.login(*ADA).json()
    successor = account.refresh(tokens["refresh_token"]).json()
    gateway.process.signal(signal.SIGKILL)
    gateway.process.wait(10)
    let_the_window_pass(gateway)
    again = start_gateway({"state_directory": gateway.config["state_directory"]}, pool=cognito)
    account = Account(again.port, ledger)
    assert account.refresh(tokens["refresh_token"]).json()["refresh_token"] == successor["refresh_token"]
    newest = account.refresh(successor["refresh_token"])
    assert newest.status == 200
    assert_refusal(account.refresh(tokens["refresh_token"]), 401, "TokenRefreshException")


@pytest.fixture
def kill_and_start_later(start_gateway, cognito, ledger, tmp_path):
    """Starts a gateway; the function kills it, lets time pass, for the pool too, and starts another on its state."""
    clock = Clock(tmp_path)
    gateway = start_gateway(pool=cognito, environment=clock.environment)

    def later(pause: int) -> tuple[Gateway, Account]:
        gateway.process.signal(signal.SIGKILL)
        gateway.process.wait(10)
        clock.offset += pause
        advance_clock(cognito, pause)
        directory = gateway.config["state_directory"]
        again = start_gateway({"state_directory": directory}, pool=cognito, environment=clock.environment)
        return again, Account(again.port, ledger)

    return gateway, Account(gateway.port, ledger), later


@without_sanitizer
@pytest.mark.parametrize("device", [{}, {"device_info": {"device_id": "phone-1"}}], ids=["no-device", "device"])
@pytest.mark.parametrize("pause", [1, WINDOW + 1, DAY], ids=["second", "minute", "day"])
def test_an_answer_that_a_kill_has_lost_is_given_however_late(kill_and_start_later, pause, device):
    """The gateway was killed after it had stored the response, and before its app had read it."""
    gateway, account, later = kill_and_start_later
    token = account.login(*ADA, **device).json()["refresh_token"]
    body = json.dumps({"refresh_token": token, **device}).encode()
    with raw.RawConnection(gateway.port) as connection:
        connection.send(raw.request_bytes("POST", "/api/v1/auth/refresh", {"Content-Type": "application/json"}, body))
        with sessions(gateway) as database:
            stored = "SELECT count(*) FROM sessions WHERE generation = 1"
            wait_until(lambda: database.execute(stored).fetchone() == (1,), "the response to be stored")
        _, account = later(pause)
    answer = account.post("refresh", {"refresh_token": token, **device})
    assert answer.status == 200, answer.body
    given = answer.json()
    assert account.me(given["access_token"]).status == 200
    newest = account.post("refresh", {"refresh_token": given["refresh_token"], **device})
    assert newest.status == 200, newest.body
    assert_refusal(account.post("refresh", {"refresh_token": token, **device}), 401, "TokenRefreshException")
    assert_refusal(account.refresh(newest.json()["refresh_token"]), 401, "TokenRefreshException")


@without_sanitizer
@pytest.mark.parametrize("generation", ["the token itself", "an unused successor"])
@pytest.mark.parametrize("pause", [30, DAY], ids=["half-minute", "day"])
def test_what_cognito_gave_and_a_kill_has_lost_is_there_within_cognitos_grace(
    kill_and_start_later, cognito, request, pause, generation
):
    """Cognito has rotated its token, and the gateway was killed before it had stored the new one. Without rotation nothing
    is lost."""
    gateway, account, later = kill_and_start_later
    token = account.login(*ADA).json()["refresh_token"]
    if generation == "an unused successor":
        account.refresh(token)
        let_the_window_pass(gateway)
        with sessions(gateway) as database:
            database.execute("UPDATE sessions SET answer = NULL")
    # libcurl itself repeats a call that an idle connection loses, once for each connection it has kept.
    lost = {"operation": "GetTokensFromRefreshToken", "times": 100, "drop": "after"}
    control(cognito, "POST", "faults", [lost])
    assert_refusal(account.refresh(token), 503, "IdentityProviderUnavailableException")
    control(cognito, "DELETE", "faults")
    again, account = later(pause)
    answer = account.refresh(token)
    if "rotating" in request.node.name and pause > WINDOW:
        assert_refusal(answer, 401, "TokenRefreshException")
        assert again.access_line(answer.header("x-request-id"))["denial_reason"] == "token-reused"
    else:
        assert answer.status == 200, answer.body
        assert account.refresh(answer.json()["refresh_token"]).status == 200
