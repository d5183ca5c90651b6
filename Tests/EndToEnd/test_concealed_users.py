"""`conceal_existing_users`: no sequence of account calls tells a registered address from any other."""

import itertools
import statistics
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from harness import raw
from harness.account import Account, assert_refusal
from harness.gateway import LocalPool
from harness.user import PASSWORD, new_email, register

MINE, NEW = "My-Own-Horse-77", "Reset-Horse-11"
KNOWN, UNCONFIRMED, UNKNOWN = "confirmed", "unconfirmed", "unknown"
CALLS = {
    "register": lambda email: {"email": email, "password": MINE},
    "confirm": lambda email: {"email": email, "code": "000000", "password": MINE},
    "resend-code": lambda email: {"email": email},
    "login": lambda email: {"email": email, "password": MINE},
    "forgot-password": lambda email: {"email": email},
    "reset-password": lambda email: {"email": email, "code": "000000", "new_password": NEW},
}


@pytest.fixture(scope="module")
def concealing_pool(run_directory):
    pool = LocalPool(run_directory, "concealing-pool")
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
    """An address in this state, of somebody else's."""
    email = new_email()
    if state != UNKNOWN:
        register(account, email)
    if state == KNOWN:
        assert account.post("confirm", {"email": email, "code": pool.confirmation_code(email)}).status == 204
    return email


def shape(answer: raw.Response) -> tuple:
    """All of an answer that is not of this one request."""
    body = answer.json() if answer.body else None
    if body:
        body.pop("requestId", None)
    headers = [(name, value) for name, value in answer.headers if name.lower() not in ("x-request-id", "date")]
    return answer.status, body, headers


def transcripts(account: Account, pool: LocalPool, sequences: list[tuple[str, ...]]) -> dict:
    """The responses to each sequence in each state, and how long each call took."""
    times: dict[tuple[str, str], list[float]] = {}

    def play(job: tuple[tuple[str, ...], str]) -> list[tuple]:
        sequence, state = job
        email, answers = address(account, pool, state), []
        for call in sequence:
            began = time.monotonic()
            answers.append(shape(account.post(call, CALLS[call](email))))
            times.setdefault((call, state), []).append(time.monotonic() - began)
        return answers

    jobs = [(sequence, state) for sequence in sequences for state in (KNOWN, UNCONFIRMED, UNKNOWN)]
    with ThreadPoolExecutor(2) as workers:
        answered = dict(zip(jobs, workers.map(play, jobs)))
    for sequence in sequences:
        for state in (KNOWN, UNCONFIRMED):
            assert answered[sequence, state] == answered[sequence, UNKNOWN], (sequence, state)
    return times


def assert_alike(times: dict) -> None:
    """Coarse, since other work shares the machine: what would be left out is most of a password's hashing."""
    for call in CALLS:
        medians = [statistics.median(times[call, state]) for state in (KNOWN, UNCONFIRMED, UNKNOWN)]
        assert max(medians) < 2 * min(medians) + 0.05, (call, medians)


def test_no_pair_of_calls_tells_more(account, concealing_pool):
    assert_alike(transcripts(account, concealing_pool, list(itertools.product(CALLS, repeat=2))))


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_no_triple_of_calls_tells_more(account, concealing_pool):
    assert_alike(transcripts(account, concealing_pool, list(itertools.product(CALLS, repeat=3))))


def test_registration_and_sign_in_with_one_password_tell_nothing(account, concealing_pool):
    """Nor does going on until the account is locked."""
    answers = []
    for state in (KNOWN, UNCONFIRMED, UNKNOWN):
        email = address(account, concealing_pool, state)
        register(account, email, MINE)
        answers.append([shape(account.login(email, MINE)) for _ in range(5)])
        assert_refusal(account.login(email, MINE), 429, "TooManyRequestsException")
    assert answers[0] == answers[1] == answers[2]
    assert answers[0][0][0] == 401


def test_who_has_the_code_is_let_in(account, concealing_pool):
    email = new_email()
    assert register(account, email, MINE)["user_id"] is None
    assert_refusal(account.login(email, MINE), 401, "NotAuthorizedException")
    assert account.post("resend-code", {"email": email}).status == 202
    confirm = {"email": email, "code": concealing_pool.confirmation_code(email), "password": MINE}
    assert account.post("confirm", confirm).status == 200
    assert account.login(email, MINE).status == 200
