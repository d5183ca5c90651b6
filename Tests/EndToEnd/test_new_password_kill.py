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


@pytest.mark.parametrize("way", OPERATIONS)
def test_the_sessions_from_before_end_when_the_gateway_is_back(gateway, pool, front, ledger, way):
    account, email = Account(gateway.port, ledger), new_email()
    add_user(pool, email, ADA[0])
    own, other = (account.login(email, ADA[1]).json() for _ in range(2))
    assert account.post("forgot-password", {"email": email}).status == 202
    code = pool.confirmation_code(email)
    is_set = threading.Event()

    def hold(operation: str) -> None:
        if operation == OPERATIONS[way]:
            is_set.set()
            front.released.wait(60)

    front.before_response = hold
    with ThreadPoolExecutor(1) as threads:
        call = threads.submit(set_password, way, account, email, code, own)
        assert is_set.wait(20)
        gateway.process.signal(signal.SIGKILL)
        gateway.process.wait(10)
        assert call.exception(20) is not None, "nobody heard that it was done"
    front.before_response = None
    front.released.set()
    again = Gateway(gateway.config_path.parent, "gateway", gateway.config)
    try:
        account = Account(again.port, ledger)
        # Without keys it would let nobody pass.
        again.wait_until_ready()
        wait_until(lambda: not passes(again, other), "the end of the other session", seconds=40)
        assert_refusal(account.refresh(other["refresh_token"]), 401, "TokenRefreshException")
        goes_on = "change" in way
        assert passes(again, own) is goes_on
        assert account.refresh(own["refresh_token"]).status == (200 if goes_on else 401)
        wait_until(lambda: open_refresh_tokens(pool, email) == int(goes_on), "the end at Cognito")
        wait_until(lambda: "sessions were ended later than the password was set" in again.log(), "the log")
        signed_in = account.login(email, NEXT).json()
        assert passes(again, signed_in)
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
