"""A device token is one device: whatever `device_id` comes with it, its failures are counted together."""

import pytest
from harness.account import Account, assert_refusal
from harness.gateway import LocalPool
from harness.local_pool_control import advance_clock, one_time_code
from harness.user import PASSWORD, signed_in_user

WRONG = "Not-The-Horse-1"
LOCKOUT = {"after": 5, "first": "1h", "longest": "1h"}


@pytest.fixture(scope="module")
def tracking_pool(run_directory):
    """A pool that remembers devices where the user wants it."""
    pool = LocalPool(run_directory, "tracking-pool", {"devices": "opt_in", "hourly_limits": False})
    yield pool
    pool.stop()


@pytest.fixture(params=["password", "srp"])
def account(start_gateway, tracking_pool, ledger, request) -> Account:
    ledger.note(WRONG, PASSWORD)
    cognito = tracking_pool.sign_in_settings("pool", flow=request.param)
    settings = {"sign_in": {"cognito": cognito}, "account_limits": {"lockout": LOCKOUT}}
    return Account(start_gateway(settings, pool=tracking_pool).port, ledger)


def device(identifier: str) -> dict:
    return {"device_info": {"device_id": identifier, "platform": "ios"}}


def test_made_up_device_ids_give_no_more_guesses(account, tracking_pool):
    email, tokens = signed_in_user(account, tracking_pool, **device("phone"))
    token = tokens["device_token"]
    answers = [account.login(email, WRONG, device_token=token, **device(f"d-{number}")).status for number in range(400)]
    assert answers == [401] * 5 + [429] * 395
    # No other spelling of the device gets in, not even with the right password.
    for more in ({}, device("phone"), device("d-1000")):
        assert_refusal(account.login(email, PASSWORD, device_token=token, **more), 429, "TooManyRequestsException")
    # It is the device that is locked, and nobody else.
    assert account.login(email, PASSWORD).status == 200


def test_no_device_id_is_needed_to_be_counted(account, tracking_pool):
    email, tokens = signed_in_user(account, tracking_pool)
    answers = [account.login(email, WRONG, device_token=tokens["device_token"]).status for _ in range(7)]
    assert answers == [401] * 5 + [429] * 2
    assert account.login(email, PASSWORD).status == 200


def test_made_up_device_ids_give_no_more_guesses_of_the_second_factor(account, tracking_pool):
    email, tokens = signed_in_user(account, tracking_pool, remember_me=False)
    token, access = tokens["device_token"], tokens["access_token"]
    key = account.post("mfa/totp", None, access).json()["secret"]
    assert account.post("mfa/totp/verify", {"code": one_time_code(tracking_pool, key)}, access).status == 204
    advance_clock(tracking_pool, 30)
    answers = []
    for number in range(20):
        asked = account.login(email, PASSWORD, device_token=token)
        if asked.status == 202:
            asked = account.answer_challenge(asked.json(), code="000000", **device(f"d-{number}"))
        answers.append(asked.status)
    assert answers == [422] * 5 + [429] * 15


def test_others_lock_no_known_device_out(account, tracking_pool):
    email, tokens = signed_in_user(account, tracking_pool)
    assert [account.login(email, WRONG).status for _ in range(6)] == [401] * 5 + [429]
    assert_refusal(account.login(email, PASSWORD, **device("made-up")), 429, "TooManyRequestsException")
    assert account.login(email, PASSWORD, device_token=tokens["device_token"]).status == 200
