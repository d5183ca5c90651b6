"""A gateway that is killed when Cognito has set a new password ends the sessions from before when it is back."""

import signal
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from harness import raw
from harness.account import Account, assert_refusal, bearer
from harness.cognito_client import cognito_client
from harness.cognito_front import CognitoFront
from harness.gateway import ADA, POOL_CLIENT_ID, Gateway, LocalPool
from harness.pool_users import add_user, open_refresh_tokens
from harness.process import wait_until
from harness.user import new_email

NEXT = "Next-Horse-24"
# By what sets the password: Cognito's operation.
OPERATIONS = {
    "reset-password": "ConfirmForgotPassword", "change-password": "ChangePassword",
    "translated reset": "ConfirmForgotPassword", "translated change": "ChangePassword",
}  # fmt: skip


@pytest.fixture(scope="module")
def pool(run_directory):
    pool = LocalPool(run_directory, "new-password-kill", {})
    yield pool
    pool.stop()


@pytest.fixture
def front(pool):
    front = CognitoFront(pool.url)
    front.released = threading.Event()
    yield front
    front.released.set()
    front.stop()


@pytest.fixture
def gateway(start_gateway, pool, front, ledger, own_recorder):
    ledger.note(ADA[1], NEXT)
    changes = {
        "direct_cognito": {"mode": "translate"},
        "routes": [{"name": "mine", "path": "/recorded/**", "issuers": ["pool"], "upstream": "recorder"}],
        # For longer than a change can take, it may be under way at another gateway on the same state.
        "sign_in": {"cognito": {"endpoint": front.url, "timeout": "3s"}},
    }
    return start_gateway(changes, pool=pool)


def set_password(way: str, account: Account, email: str, code: str, own: dict) -> None:
    client = cognito_client(f"http://127.0.0.1:{account.port}")
    if way == "reset-password":
        account.post("reset-password", {"email": email, "code": code, "new_password": NEXT})
    elif way == "change-password":
        account.post("change-password", {"current_password": ADA[1], "new_password": NEXT}, own["access_token"])
    elif way == "translated reset":
        client.confirm_forgot_password(
            ClientId=POOL_CLIENT_ID, Username=email, ConfirmationCode=code, Password=NEXT
        )
    else:
        client.change_password(
            AccessToken=own["access_token"], PreviousPassword=ADA[1], ProposedPassword=NEXT
        )


def left_over(gateway: Gateway) -> list:
    with closing(sqlite3.connect(gateway.config_path.parent / "state" / "gatehouse.sqlite", timeout=30)) as database:
        return database.execute("SELECT * FROM password_changes").fetchall()


def passes(gateway: Gateway, session: dict) -> bool:
    return raw.exchange(gateway.port, "GET", "/recorded/x", bearer(session["access_token"])).status == 200


class Change:
    """A user's new password, set in one of the ways, with a session that sets it and another one."""

    def __init__(self, account: Account, pool: LocalPool, way: str):
        self.way, self.email = way, new_email()
        add_user(pool, self.email, ADA[0])
        self.own, self.other = (account.login(self.email, ADA[1]).json() for _ in range(2))
        assert account.post("forgot-password", {"email": self.email}).status == 202
        self._account, self._code = account, pool.confirmation_code(self.email)

    def make(self) -> None:
        set_password(self.way, self._account, self.email, self._code, self.own)


def test_the_sessions_from_before_end_when_the_gateway_is_back(gateway, pool, front, ledger):
    changes = [Change(Account(gateway.port, ledger), pool, way) for way in OPERATIONS]
    are_set = threading.Semaphore(0)

    def hold(operation: str) -> None:
        if operation in OPERATIONS.values():
            are_set.release()
            front.released.wait(60)

    front.before_response = hold
    with ThreadPoolExecutor(len(changes)) as threads:
        calls = [threads.submit(change.make) for change in changes]
        assert all(are_set.acquire(timeout=20) for _ in changes)
        gateway.process.signal(signal.SIGKILL)
        gateway.process.wait(10)
        assert all(call.exception(20) is not None for call in calls), "nobody heard that it was done"
    front.before_response = None
    front.released.set()
    again = Gateway(gateway.config_path.parent, "gateway", gateway.config)
    try:
        account = Account(again.port, ledger)
        # Without keys it would let nobody pass.
        again.wait_until_ready()
        for change in changes:
            wait_until(lambda change=change: not passes(again, change.other), f"the end of the other session: {change.way}", seconds=40)
            assert_refusal(account.refresh(change.other["refresh_token"]), 401, "TokenRefreshException")
            goes_on = "change" in change.way
            assert passes(again, change.own) is goes_on, change.way
            assert account.refresh(change.own["refresh_token"]).status == (200 if goes_on else 401), change.way
            wait_until(
                lambda email=change.email, left=int(goes_on): open_refresh_tokens(pool, email) == left,
                f"the end at Cognito: {change.way}",
            )
            assert passes(again, account.login(change.email, NEXT).json()), change.way
        wait_until(lambda: "sessions were ended later than the password was set" in again.log(), "the log")
        wait_until(lambda: not left_over(again), "all to be done")
    finally:
        again.stop()


def test_a_refused_reset_ends_nothing_after_a_kill(gateway, pool, front, ledger):
    account, email = Account(gateway.port, ledger), new_email()
    add_user(pool, email, ADA[0])
    session = account.login(email, ADA[1]).json()
    wrong = {"email": email, "code": "000000", "new_password": NEXT}
    assert_refusal(account.post("reset-password", wrong), 422, "CodeMismatchException")
    gateway.process.signal(signal.SIGKILL)
    gateway.process.wait(10)
    again = Gateway(gateway.config_path.parent, "gateway", gateway.config)
    try:
        account = Account(again.port, ledger)
        assert account.refresh(session["refresh_token"]).status == 200
        assert not left_over(again)
        assert passes(again, session)
    finally:
        again.stop()
