"""No sequence of account calls tells in which state an address's account is, or whether there is one."""

import itertools

import pytest
from harness.account import Account, assert_refusal
from harness.cognito_front import CognitoFront
from harness.gateway import ADA, QUICK, USUAL, LocalPool
from harness.pool_users import LOCKED, STATES, UNKNOWN, put_in_state
from harness.transcripts import Stage, assert_times_alike, new_address, posting, rotations, shape

MINE, NEW = "My-Own-Horse-77", "Reset-Horse-11"
BODIES = {
    "register": lambda email: {"email": email, "password": MINE},
    "confirm": lambda email: {"email": email, "code": "000000", "password": MINE},
    "resend-code": lambda email: {"email": email},
    "login": lambda email: {"email": email, "password": MINE},
    "forgot-password": lambda email: {"email": email},
    "reset-password": lambda email: {"email": email, "code": "000000", "new_password": NEW},
}
CALLS = posting(BODIES)
# Registration says that an address is taken, unless that is concealed.
OPEN_CALLS = {name: call for name, call in CALLS.items() if name != "register"}
# The states of a group must look alike: who is locked out hears of it, or not, in the same way.
GROUPS = [[UNKNOWN, *STATES], [f"{LOCKED} {UNKNOWN}", LOCKED]]
# Whether Cognito hides users, and whether the gateway conceals them.
MODES = list(itertools.product((True, False), repeat=2))
WRONG_CODE = "The code is not right, or has expired."
# Half of the usual time of a password, which is still most of a call's.
TIMED = USUAL - 1


@pytest.fixture(scope="module")
def pools(run_directory):
    """Pools by whether they hide their users, and by what it costs to hash a password."""
    made: dict[tuple[bool, int], LocalPool] = {}

    def pool(hides: bool, cost: int = QUICK) -> LocalPool:
        changes = {"prevent_user_existence_errors": hides, "password_cost": cost}
        if (hides, cost) not in made:
            made[hides, cost] = LocalPool(run_directory, f"private-pool-{hides}-{cost}", changes)
        return made[hides, cost]

    yield pool
    for each in made.values():
        each.stop()


@pytest.fixture
def open_stage(start_gateway, ledger):
    """A gateway before a pool, and somebody who calls it. One failed sign-in locks an account."""
    ledger.note(MINE, NEW, ADA[1])

    def open_stage(
        pool: LocalPool, conceals: bool, flow: str = "password", front: CognitoFront | None = None
    ) -> Stage:
        settings = {"conceal_existing_users": conceals, "flow": flow, "endpoint": front.url if front else pool.url}
        lockout = {"after": 1, "first": "10m"}
        changes = {"sign_in": {"cognito": settings}, "account_limits": {"lockout": lockout}}
        gateway = start_gateway(changes, pool=pool)
        account = Account(gateway.port, ledger)
        account.gateway = gateway
        calls = CALLS if conceals else OPEN_CALLS
        return Stage(account, calls, GROUPS, lambda state: put_in_state(account, pool, new_address(), state), front)

    return open_stage


def pairs(stage: Stage) -> list[tuple[str, str]]:
    return list(itertools.product(stage.calls, repeat=2))


@pytest.mark.parametrize(("hides", "conceals"), MODES)
def test_no_pair_of_calls_tells_the_state_of_an_account(open_stage, pools, hides, conceals):
    stage = open_stage(pools(hides), conceals)
    stage.play(pairs(stage))


@pytest.mark.parametrize("hides", [True, False])
def test_no_call_takes_another_time_for_one_state(open_stage, pools, hides):
    """By itself, and in any place of a sequence."""
    open_stage(pools(hides, TIMED), True).compare_times(rotations(CALLS))


@pytest.mark.parametrize("flow", ["password", "srp"])
@pytest.mark.parametrize(("hides", "conceals"), MODES)
def test_cognito_gets_the_same_calls_for_each_state(open_stage, pools, hides, conceals, flow):
    """So that nothing that Cognito takes time for is left out."""
    front = CognitoFront(pools(hides).url)
    try:
        stage = open_stage(pools(hides), conceals, flow, front)
        stage.play([(call,) for call in stage.calls])
    finally:
        front.stop()


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("flow", ["password", "srp"])
@pytest.mark.parametrize(("hides", "conceals"), MODES)
def test_no_pair_of_calls_takes_another_time(open_stage, pools, hides, conceals, flow):
    stage = open_stage(pools(hides, USUAL), conceals, flow)
    stage.play(pairs(stage)).assert_times_alike()


def test_a_delay_for_one_state_would_be_seen():
    times = {(call, state): [0.05, 0.06, 0.055] for call in CALLS for group in GROUPS for state in group}
    assert_times_alike(times, GROUPS)
    times["forgot-password", "confirmed"] = [0.15, 0.16, 0.17]
    with pytest.raises(AssertionError, match="forgot-password"):
        assert_times_alike(times, GROUPS)


@pytest.mark.parametrize("hides", [True, False])
def test_a_wrong_code_is_one_error_until_the_limits_of_cognito_and_beyond(open_stage, pools, hides):
    stage = open_stage(pools(hides), False)
    for state in (UNKNOWN, "unconfirmed", "confirmed"):
        email = stage.address(state)
        asked = [shape(stage.account.post("forgot-password", {"email": email})) for _ in range(7)]
        assert {status for status, _, _ in asked} == {202}
        # Fifteen an hour.
        for call, tries in (("confirm", 17), ("reset-password", 1)):
            for _ in range(tries):
                answer = stage.account.post(call, BODIES[call](email))
                assert assert_refusal(answer, 422, "CodeMismatchException")["message"] == WRONG_CODE, (state, call)
