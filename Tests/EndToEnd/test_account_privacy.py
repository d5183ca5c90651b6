"""No sequence of account calls tells in which state an address's account is, or whether there is one."""

import itertools
import statistics
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from harness import raw
from harness.account import Account, assert_refusal
from harness.gateway import ADA, LocalPool
from harness.pool_users import STATES, UNKNOWN, add_user
from harness.user import new_email

MINE, NEW = "My-Own-Horse-77", "Reset-Horse-11"
LOCKED = "locked"
CALLS = {
    "register": lambda email: {"email": email, "password": MINE},
    "confirm": lambda email: {"email": email, "code": "000000", "password": MINE},
    "resend-code": lambda email: {"email": email},
    "login": lambda email: {"email": email, "password": MINE},
    "forgot-password": lambda email: {"email": email},
    "reset-password": lambda email: {"email": email, "code": "000000", "new_password": NEW},
}
# Registration says that an address is taken, unless that is concealed.
OPEN_CALLS = [call for call in CALLS if call != "register"]
# Whether Cognito hides users, and whether the gateway conceals them.
MODES = list(itertools.product((True, False), repeat=2))
WRONG_CODE = "The code is not right, or has expired."


@pytest.fixture(scope="module")
def pools(run_directory):
    pools = {
        hides: LocalPool(run_directory, f"private-pool-{hides}", {"prevent_user_existence_errors": hides})
        for hides in (True, False)
    }
    yield pools
    for pool in pools.values():
        pool.stop()


@pytest.fixture
def open_account(start_gateway, pools, ledger):
    """Starts a gateway before one of the pools. One failed sign-in locks an account."""
    ledger.note(MINE, NEW, ADA[1])

    def start(hides: bool, conceals: bool, flow: str) -> Account:
        settings = {"conceal_existing_users": conceals, "flow": flow}
        changes = {
            "sign_in": {"cognito": settings},
            "account_limits": {"lockout": {"after": 1, "first": "10m"}},
        }
        return Account(start_gateway(changes, pool=pools[hides]).port, ledger)

    return start


def address(account: Account, pool: LocalPool, state: str) -> str:
    """An address in this state, of somebody else's."""
    email = new_email()
    if state in STATES:
        add_user(pool, email, ADA[0], **STATES[state])
    if state.startswith(LOCKED):
        if state != f"{LOCKED} {UNKNOWN}":
            add_user(pool, email, ADA[0], **STATES["confirmed"])
        assert account.login(email, MINE).status == 401
    return email


def shape(answer: raw.Response) -> tuple:
    """All of a response that is not of this one request."""
    body = answer.json() if answer.body else None
    if body:
        body.pop("requestId", None)
    volatile = ("x-request-id", "date", "retry-after")
    return answer.status, body, [(name, value) for name, value in answer.headers if name.lower() not in volatile]


def transcripts(account: Account, pool: LocalPool, sequences: list[tuple[str, ...]]) -> dict:
    """How long each call took in each state. The responses are the same for all states of an address."""
    times: dict[tuple[str, str], list[float]] = {}

    def play(job: tuple[tuple[str, ...], str]) -> list[tuple]:
        sequence, state = job
        email, answers = address(account, pool, state), []
        for call in sequence:
            began = time.monotonic()
            answer = account.post(call, CALLS[call](email))
            times.setdefault((call, state), []).append(time.monotonic() - began)
            answers.append(shape_of_address(answer, email))
        return answers

    states = [UNKNOWN, *STATES, f"{LOCKED} {UNKNOWN}", LOCKED]
    # The states come in turn, so that other work on the machine delays all of them alike.
    jobs = [(sequence, state) for sequence in sequences for state in states]
    with ThreadPoolExecutor(2) as workers:
        answered = dict(zip(jobs, workers.map(play, jobs)))
    for sequence, state in jobs:
        like = f"{LOCKED} {UNKNOWN}" if state == LOCKED else state if state.startswith(LOCKED) else UNKNOWN
        assert answered[sequence, state] == answered[sequence, like], (sequence, state)
    return times


def shape_of_address(answer: raw.Response, email: str) -> tuple:
    status, body, headers = shape(answer)
    # A pool that hides its users makes the destination up for those who are not there.
    assert email not in str(body)
    return status, body, headers


def assert_alike(times: dict, of: list[str]) -> None:
    """Coarse, since other work shares the machine: what would be left out is most of a password's hashing."""
    for call in of:
        medians = {state: statistics.median(values) for (name, state), values in times.items() if name == call}
        for group in (True, False):
            alike = [median for state, median in medians.items() if state.startswith(LOCKED) == group]
            assert max(alike) < 2 * min(alike) + 0.05, (call, medians)


@pytest.mark.parametrize("hides", [True, False])
def test_no_pair_of_calls_tells_the_state_of_an_account_that_is_concealed(open_account, pools, hides):
    account = open_account(hides, True, "password")
    assert_alike(transcripts(account, pools[hides], list(itertools.product(CALLS, repeat=2))), list(CALLS))


@pytest.mark.parametrize("hides", [True, False])
def test_no_call_tells_the_state_of_an_account(open_account, pools, hides):
    transcripts(open_account(hides, False, "password"), pools[hides], [(call,) for call in OPEN_CALLS])


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("flow", ["password", "srp"])
@pytest.mark.parametrize(("hides", "conceals"), MODES)
def test_no_pair_of_calls_tells_it_in_any_mode(open_account, pools, hides, conceals, flow):
    calls = list(CALLS) if conceals else OPEN_CALLS
    account = open_account(hides, conceals, flow)
    assert_alike(transcripts(account, pools[hides], list(itertools.product(calls, repeat=2))), calls)


def test_a_delay_for_one_state_would_be_seen():
    times = {(call, state): [0.01, 0.02, 0.015] for call in CALLS for state in (UNKNOWN, "confirmed", LOCKED)}
    assert_alike(times, list(CALLS))
    times["login", "confirmed"] = [0.1, 0.11, 0.12]
    with pytest.raises(AssertionError, match="login"):
        assert_alike(times, list(CALLS))


@pytest.mark.parametrize("hides", [True, False])
def test_a_wrong_code_is_one_error_until_the_limits_of_cognito_and_beyond(open_account, pools, hides):
    account = open_account(hides, False, "password")
    for state in (UNKNOWN, "unconfirmed", "confirmed"):
        email = address(account, pools[hides], state)
        asked = [shape(account.post("forgot-password", {"email": email})) for _ in range(7)]
        assert {status for status, _, _ in asked} == {202}
        # Fifteen an hour.
        for call, tries in (("confirm", 17), ("reset-password", 1)):
            for _ in range(tries):
                answer = account.post(call, CALLS[call](email))
                assert assert_refusal(answer, 422, "CodeMismatchException")["message"] == WRONG_CODE, (state, call)
