"""The time of day is wrong for a while: two hours behind, or forty days ahead, and then right again. Nothing that was ended
counts again, nobody who may get in is kept out longer than by the right clock, and nothing is forgotten that is still
needed."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from harness import raw
from harness.account import Account, assert_refusal, bearer
from harness.backend import answer
from harness.gateway import ADA, Gateway, LocalPool, gatehouse
from harness.interposed import Clock, without_sanitizer
from harness.keys import KeyServer, SigningKey
from harness.process import wait_until
from harness.sessions import App, State, session_settings

pytestmark = without_sanitizer

HOUR, DAY = 3600, 86_400
WRONG = "Wrong-Horse-1"
REQUIRED = "/recorded/required/a"
LOCKOUT = {"after": 5, "first": "1s", "longest": "1s"}
STEPS = pytest.mark.parametrize("step", [-2 * HOUR, 40 * DAY], ids=["behind", "ahead"])


@pytest.fixture
def clock(tmp_path) -> Clock:
    return Clock(tmp_path)


@pytest.fixture(scope="module")
def own_pool(run_directory):
    """Its clock is always right."""
    pool = LocalPool(run_directory, "clock-pool")
    yield pool
    pool.stop()


@pytest.fixture
def start(start_gateway, own_pool, clock, ledger):
    ledger.note(ADA[1], WRONG)
    return lambda changes=None, **more: start_gateway(changes, pool=own_pool, environment=clock.environment, **more)


_restarted: list[Gateway] = []


@pytest.fixture(autouse=True)
def nobody_stays():
    """`start` stops the gateways that it started, and knows nothing of later ones."""
    yield
    while _restarted:
        _restarted.pop().stop()


def restarted(gateway: Gateway, clock: Clock) -> Gateway:
    assert gateway.stop() == 0
    _restarted.append(Gateway(gateway.config_path.parent, "gateway", gateway.config, clock.environment))
    return _restarted[-1]


def rows(gateway: Gateway, query: str) -> list[tuple]:
    with closing(sqlite3.connect(Path(gateway.config["state_directory"]) / "gatehouse.sqlite", timeout=10)) as database:
        return database.execute(query).fetchall()


def login(gateway: Gateway, ledger, password: str = ADA[1]) -> raw.Response:
    return Account(gateway.port, ledger).login(ADA[0], password)


# Ended sessions


@STEPS
def test_a_start_with_a_wrong_clock_lets_nothing_back_in(start, clock, ledger, issuer, step):
    gateway = start()
    account = Account(gateway.port, ledger)
    ended, going = account.login(*ADA).json(), account.login(*ADA).json()
    assert account.logout(ended["access_token"], refresh_token=ended["refresh_token"]).status == 204
    revoked, other = issuer.access(jti="revoked"), issuer.access(jti="other")
    command = ("revoke", "--config", gateway.config_path, "--issuer", "own", "--jti", "revoked")
    assert gatehouse(*command).returncode == 0
    before = rows(gateway, "SELECT family, ended_at IS NULL FROM sessions ORDER BY family")
    assert len(before) == 2

    clock.offset = step
    gateway = restarted(gateway, clock)
    # Upkeep comes first thing after a start, and it was done before what comes next is asked for.
    gateway.wait_until_ready()
    Account(gateway.port, ledger).refresh(ended["refresh_token"])
    clock.offset = 0
    # The running one, whose clock is right now, and the next one.
    for _ in range(2):
        assert raw.exchange(gateway.port, "GET", REQUIRED, bearer(revoked)).status == 401
        assert raw.exchange(gateway.port, "GET", REQUIRED, bearer(other)).status == 200
        refused = Account(gateway.port, ledger).refresh(ended["refresh_token"])
        assert refused.status == 401
        # The gateway still knows, whatever Cognito would say.
        assert gateway.access_line(refused.header("x-request-id"))["denial_reason"] == "session-ended"
        gateway = restarted(gateway, clock)
    assert rows(gateway, "SELECT family, ended_at IS NULL FROM sessions ORDER BY family") == before
    assert Account(gateway.port, ledger).refresh(going["refresh_token"]).status == 200


@pytest.mark.parametrize("everywhere", [{}, {"all_devices": True}], ids=["here", "everywhere"])
def test_an_expired_access_token_is_not_told_that_it_has_signed_out(start, clock, ledger, everywhere):
    gateway = start()
    account = Account(gateway.port, ledger)
    tokens, other = account.login(*ADA).json(), account.login(*ADA).json()
    clock.offset = 2 * HOUR
    assert_refusal(account.logout(tokens["access_token"], **everywhere), 401, "TokenExpiredException")
    clock.offset = 0
    newer = account.refresh(tokens["refresh_token"])
    assert newer.status == 200, "nothing has ended"
    clock.offset = 2 * HOUR
    # The refresh token says which session is meant.
    shown = newer.json()["refresh_token"]
    assert account.logout(tokens["access_token"], refresh_token=shown).status == 204
    clock.offset = 0
    assert_refusal(account.refresh(shown), 401, "TokenRefreshException")
    assert account.refresh(other["refresh_token"]).status == 200


@STEPS
def test_a_refresh_token_that_was_exchanged_by_a_wrong_clock_is_not_exchanged_again(start, clock, ledger, step):
    gateway = start()
    account = Account(gateway.port, ledger)
    token = account.login(*ADA).json()["refresh_token"]
    clock.offset = 2 * HOUR if step < 0 else step
    newer = account.refresh(token)
    if newer.status == 401:
        # Forty days are more than a refresh token is good for.
        clock.offset = 0
        assert account.refresh(token).status == 200
        return
    clock.offset = 0
    again = account.refresh(token)
    assert again.status == 200 and again.json()["refresh_token"] == newer.json()["refresh_token"], "nobody has used it"
    assert account.refresh(newer.json()["refresh_token"]).status == 200
    assert account.refresh(token).status == 401


@STEPS
def test_sessions_of_the_gateways_own_go_on_when_the_clock_is_set(start, clock, ledger, issuer, step):
    gateway = start(session_settings(issuer.server.url, lifetime="100d"))
    app, token = App(gateway.port, ledger), State(gateway).begin(lifetime=100 * DAY).token
    for offset in (step, 0):
        clock.offset = offset
        refreshed = app.refresh(token)
        assert refreshed.status == 200, offset
        token = refreshed.json()["token"]
        assert app.validate(token).status == 200, offset
        assert raw.exchange(gateway.port, "GET", REQUIRED, bearer(token)).status == 200, offset


# Limits


@STEPS
@pytest.mark.parametrize("restarts", [False, True], ids=["running", "restarted"])
def test_one_failure_locks_nobody_out_when_the_clock_is_set(start, clock, ledger, step, restarts):
    gateway = start({"account_limits": {"lockout": LOCKOUT}})
    assert login(gateway, ledger, WRONG).status == 401
    for offset in (step, 0):
        clock.offset = offset
        if restarts:
            gateway = restarted(gateway, clock)
        assert login(gateway, ledger).status == 200, offset
        assert login(gateway, ledger, WRONG).status == 401, offset


@STEPS
@pytest.mark.parametrize("restarts", [False, True], ids=["running", "restarted"])
def test_a_lock_ends_in_its_time_when_the_clock_is_set(start, clock, ledger, step, restarts):
    gateway = start({"account_limits": {"lockout": LOCKOUT}})
    for offset in (step, 0):
        # It lasts a second, which a busy machine may take for the sixth attempt.
        wait_until(lambda: login(gateway, ledger, WRONG).status == 429, "the lock", interval=0)
        clock.offset = offset
        if restarts:
            gateway = restarted(gateway, clock)
        wait_until(lambda: login(gateway, ledger).status == 200, f"the lock to end at {offset}", 6)


@STEPS
def test_a_restart_neither_ends_nor_extends_a_lock_after_a_start_with_a_wrong_clock(start, clock, ledger, step):
    clock.offset = step
    gateway = start({"account_limits": {"lockout": {"after": 5, "first": "10m", "longest": "10m"}}})
    clock.offset = 0

    def seconds_left() -> int:
        refused = login(gateway, ledger, WRONG)
        return int(refused.header("Retry-After")) if refused.status == 429 else 0

    wait_until(lambda: seconds_left() > 0, "the lock", interval=0)
    wait_until(lambda: seconds_left() < 598, "some of it to pass")
    before = seconds_left()
    gateway = restarted(gateway, clock)
    assert before - 60 < seconds_left() <= before


@STEPS
@pytest.mark.parametrize("restarts", [False, True], ids=["running", "restarted"])
def test_a_limit_holds_for_its_own_time_when_the_clock_is_set(start, clock, ledger, step, restarts):
    gateway = start({"account_limits": {"sign_in": {"address": "3/3s"}}})

    def attempt() -> int:
        # It counts as any other, and nobody has to look a password up for it.
        return Account(gateway.port, ledger).post("login", b"{").status

    for offset in (step, 0):
        wait_until(lambda: attempt() == 429, "the limit to be reached", interval=0)
        clock.offset = offset
        if restarts:
            gateway = restarted(gateway, clock)
        wait_until(lambda: attempt() == 400, f"the limit to let one through at {offset}", 9)


# Key sets


def test_key_sets_are_fetched_in_their_time_when_the_clock_is_set_back(start_gateway, clock, issuer):
    server = KeyServer(issuer.access_key)
    try:
        gateway = start_gateway(
            {"key_sets": {"minimum_lifetime": "2s", "maximum_lifetime": "2s", "unknown_key_interval": "1h"}},
            jwks_url=server.url, environment=clock.environment,
        )
        wait_until(lambda: server.fetches > 0, "the first fetch")
        token = issuer.access(iat=..., auth_time=...)
        headers = bearer(token)
        assert raw.exchange(gateway.port, "GET", REQUIRED, headers).status == 200
        for offset in (-2 * HOUR, 0, 40 * DAY, 0):
            clock.offset = offset
            fetches = server.fetches
            wait_until(lambda: server.fetches > fetches + 1, f"fetches at {offset}")
        clock.offset = -2 * HOUR
        server.keys = [SigningKey("another")]
        wait_until(lambda: raw.exchange(gateway.port, "GET", REQUIRED, headers).status == 401, "the withdrawn key to go")
    finally:
        server.stop()


# Messages


@STEPS
@pytest.mark.parametrize("restarts", [False, True], ids=["running", "restarted"])
def test_messages_are_neither_lost_nor_late_when_the_clock_is_set(start, clock, ledger, receiver, step, restarts):
    receiver.on("/events", answer(500, b""))
    webhook = {"url": f"{receiver.url}/events", "allow_insecure_http": True, "events": ["signed_in", "sign_in_failed"]}
    gateway = start({"audit": {"webhook": webhook}})
    login(gateway, ledger)
    wait_until(lambda: receiver.requests_to("/events"), "an attempt")
    clock.offset = step
    if restarts:
        gateway = restarted(gateway, clock)
    login(gateway, ledger, WRONG)
    seen = len(receiver.requests_to("/events"))
    wait_until(lambda: len(receiver.requests_to("/events")) > seen, "another attempt")
    clock.offset = 0
    if restarts:
        gateway = restarted(gateway, clock)
    receiver.on("/events", answer(200))
    wait_until(lambda: rows(gateway, "SELECT count(*) FROM outbox") == [(0,)], "both to be received", 20)
    assert gateway.metric("gatehouse_outbox_lost_total") == 0
