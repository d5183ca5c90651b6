"""`conceal_existing_users`: no sequence of account calls tells a registered address from any other."""

import itertools

import pytest
from harness.account import Account, assert_refusal
from harness.gateway import QUICK, USUAL, LocalPool
from harness.pool_users import UNKNOWN, change_user
from harness.transcripts import Stage, new_address, posting, rotations, shape
from harness.user import PASSWORD, new_email, register
from test_account_privacy import CALLS, MINE, NEW, TIMED

KNOWN, UNCONFIRMED, TO_RESET = "confirmed", "unconfirmed", "with a password to reset"
GROUPS = [[UNKNOWN, KNOWN, UNCONFIRMED, TO_RESET]]


@pytest.fixture(scope="module")
def concealing_pool(run_directory, request):
    """Its parameter is what it costs to hash a password."""
    cost = getattr(request, "param", QUICK)
    pool = LocalPool(run_directory, f"concealing-pool-{cost}", {"password_cost": cost})
    yield pool
    pool.stop()


@pytest.fixture(params=["password", "srp"])
def account(start_gateway, concealing_pool, ledger, request):
    ledger.note(MINE, NEW, PASSWORD)
    cognito = concealing_pool.sign_in_settings("pool", conceal_existing_users=True, flow=request.param)
    lockout = {"after": 5, "first": "10m"}
    changes = {"sign_in": {"cognito": cognito}, "account_limits": {"lockout": lockout}}
    return Account(start_gateway(changes, pool=concealing_pool).port, ledger)


def address(account: Account, pool: LocalPool, state: str) -> str:
    """An address in this state, of somebody else's, who has gone through the gateway for it."""
    email = new_address()
    if state != UNKNOWN:
        register(account, email)
    if state in (KNOWN, TO_RESET):
        assert account.post("confirm", {"email": email, "code": pool.confirmation_code(email)}).status == 204
    if state == TO_RESET:
        # As an administrator does it.
        change_user(pool, email, status="RESET_REQUIRED")
    return email


def stage(account: Account, pool: LocalPool) -> Stage:
    return Stage(account, CALLS, GROUPS, lambda state: address(account, pool, state))


def test_no_pair_of_calls_tells_more(account, concealing_pool):
    stage(account, concealing_pool).play(itertools.product(CALLS, repeat=2))


@pytest.mark.parametrize("concealing_pool", [TIMED], indirect=True)
def test_no_call_takes_another_time(account, concealing_pool):
    stage(account, concealing_pool).compare_times(rotations(CALLS))


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("concealing_pool", [USUAL], indirect=True)
def test_no_triple_of_calls_tells_more(account, concealing_pool):
    stage(account, concealing_pool).play(itertools.product(CALLS, repeat=3)).assert_times_alike()


def test_registration_and_sign_in_with_one_password_tell_nothing(account, concealing_pool):
    """Nor does going on until the account is locked."""
    answers = []
    for state in (KNOWN, UNCONFIRMED, TO_RESET, UNKNOWN):
        email = address(account, concealing_pool, state)
        register(account, email, MINE)
        answers.append([shape(account.login(email, MINE)) for _ in range(5)])
        assert_refusal(account.login(email, MINE), 429, "TooManyRequestsException")
    assert answers[0] == answers[1] == answers[2] == answers[3]
    assert answers[0][0][0] == 401


def test_a_password_that_is_too_weak_tells_nothing(account, concealing_pool):
    """Whatever the call before it."""
    weak = posting({"weak": lambda email: {"email": email, "code": "000000", "new_password": "weak"}}, "reset-password")
    calls = {**CALLS, **weak}
    played = Stage(account, calls, GROUPS, lambda state: address(account, concealing_pool, state))
    played.play([("weak",), *((call, "weak") for call in CALLS)])


def test_who_has_the_code_is_let_in(account, concealing_pool):
    email = new_email()
    assert register(account, email, MINE)["user_id"] is None
    assert_refusal(account.login(email, MINE), 401, "NotAuthorizedException")
    assert account.post("resend-code", {"email": email}).status == 202
    confirm = {"email": email, "code": concealing_pool.confirmation_code(email), "password": MINE}
    assert account.post("confirm", confirm).status == 200
    assert account.login(email, MINE).status == 200
