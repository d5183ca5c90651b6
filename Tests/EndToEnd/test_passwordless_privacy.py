"""No sign-in without a password tells in which state an account is, whether there is one, or which factors it has."""

import itertools
import sqlite3
from contextlib import closing

import pytest
from harness.account import Account, Ledger
from harness.cognito_front import CognitoFront
from harness.gateway import ADA, Gateway, LocalPool, gateway_config
from harness.pool_users import LOCKED, STATES, UNKNOWN, put_in_state
from harness.process import SILENT_PORT
from harness.transcripts import Call, Stage, new_address, posting
from test_account_privacy import BODIES, CALLS, MINE, NEW

FIRST_FACTORS = ["EMAIL_OTP", "SMS_OTP", "WEB_AUTHN", "PASSWORD"]
# The pool has both kinds of password or none.
FACTORS = [*FIRST_FACTORS, "PASSWORD_SRP"]
RELYING_PARTY = {"relying_party_id": "auth.example.com"}
WRONG = {
    "EMAIL_OTP": {"code": "00000x"},
    "SMS_OTP": {"code": "00000x"},
    "PASSWORD": {"password": MINE},
    "PASSWORD_SRP": {"password": MINE},
    "WEB_AUTHN": {"credential": {"id": "eA", "type": "public-key", "response": {}}},
    "CUSTOM": {"answer": "max"},
}
# Beside those of all accounts: other factors, and passwords that nobody has to prove here.
PHONE = {"is_phone_verified": 1, "attributes": '{"phone_number":"+15557650009"}'}
STATES_OF_FACTORS = {
    "with a phone": {"status": "CONFIRMED", **PHONE},
    "with a passkey": {"status": "CONFIRMED"},
    "without a proven address": {"status": "CONFIRMED", "is_email_verified": 0},
    "with a temporary password": {"status": "FORCE_CHANGE_PASSWORD"},
    "with a password to reset": {"status": "RESET_REQUIRED"},
}
LOCKED_STATES = [f"{LOCKED} {UNKNOWN}", LOCKED]
GROUPS = [[UNKNOWN, *STATES, *STATES_OF_FACTORS], LOCKED_STATES]


def begin(factor: str | None) -> Call:
    more = {"factor": factor} if factor else {}
    return lambda account, email: [account.post("login", {"email": email, **more})]


def answered(factor: str, chosen: bool = False, times: int = 1) -> Call:
    """Begins, and gives wrong answers. `chosen` is by way of the list of factors."""

    def call(account: Account, email: str) -> list:
        answers = begin(None if chosen else factor)(account, email)
        if chosen and answers[-1].status == 202:
            answers.append(account.answer_challenge(answers[-1].json(), answer=factor))
        if answers[-1].status == 202:
            asked = answers[-1].json()
            answers += [account.answer_challenge(asked, **WRONG[factor]) for _ in range(times)]
        return answers

    return call


BEGINNINGS = {"the list": begin(None), **{factor: begin(factor) for factor in FACTORS}}
ANSWERED = {f"{factor}, answered": answered(factor) for factor in FACTORS}
CHOSEN = {f"{factor}, chosen": answered(factor, chosen=True) for factor in FACTORS}
# Until the account is locked, and beyond.
REPEATED = {f"{factor}, again and again": answered(factor, times=3) for factor in FACTORS}


@pytest.fixture(scope="module", params=[True, False], ids=["hiding", "legacy"])
def factor_pool(run_directory, request):
    changes = {
        "first_factors": FIRST_FACTORS,
        "web_authn": RELYING_PARTY,
        "custom_auth": [{"parameters": {"question": "Your first pet?"}, "answer": "rex"}],
        "hourly_limits": False,
        "prevent_user_existence_errors": request.param,
    }
    pool = LocalPool(run_directory, f"private-factors-{request.param}", changes)
    pool.hides = request.param
    yield pool
    pool.stop()


def changes(endpoint: str) -> dict:
    """Two failed sign-ins lock an account."""
    passwordless = {"passwordless": {"factors": FACTORS, **RELYING_PARTY}, "custom_auth": True}
    return {
        "sign_in": {"cognito": {**passwordless, "conceal_existing_users": True, "endpoint": endpoint}},
        "account_limits": {"lockout": {"after": 2, "first": "10m"}},
    }


def account_at(gateway: Gateway, ledger: Ledger) -> Account:
    account = Account(gateway.port, ledger)
    account.gateway = gateway
    return account


@pytest.fixture(scope="module")
def account(run_directory, issuer, ledger, factor_pool):
    ledger.note(MINE, NEW, ADA[1])
    directory = run_directory / f"private-factors-{factor_pool.hides}"
    directory.mkdir()
    nobody, issued = f"http://127.0.0.1:{SILENT_PORT}", issuer.server.url
    config = gateway_config(directory, nobody, issued, None, factor_pool, changes(factor_pool.url))
    gateway = Gateway(directory, "gateway", config)
    yield account_at(gateway, ledger)
    gateway.stop()


@pytest.fixture
def stage(account, factor_pool):
    """Plays calls for groups of states, by the module's account unless another one is given."""

    def stage(
        calls: dict[str, Call], groups: list[list[str]], account: Account = account, front: CognitoFront | None = None
    ) -> Stage:
        def address(state: str) -> str:
            columns = STATES_OF_FACTORS.get(state, {})
            email = put_in_state(account, factor_pool, new_address(), state, **columns)
            if state == "with a passkey":
                give_passkey(factor_pool, email)
            return email

        return Stage(account, calls, groups, address, front)

    return stage


def give_passkey(pool: LocalPool, email: str) -> None:
    """One whose key nobody has."""
    with closing(sqlite3.connect(pool.config["database"], timeout=30)) as database, database:
        database.execute(
            "INSERT INTO passkeys SELECT ?1, sub, '', 0, 'Passkey', '[]', NULL, 0 FROM users WHERE email = ?1", [email]
        )


def test_no_factor_tells_the_state_of_an_account(stage):
    """Nor does the list of factors, nor do wrong answers until the account is locked."""
    for calls in (BEGINNINGS, ANSWERED, CHOSEN, REPEATED):
        stage(calls, GROUPS).play([(call,) for call in calls])


def test_no_pair_of_a_factor_and_any_call_tells_it(stage):
    calls = {**CALLS, **ANSWERED}
    pairs = [pair for pair in itertools.product(calls, repeat=2) if set(pair) - set(CALLS)]
    groups = [[UNKNOWN, *STATES, "with a phone", "with a passkey", "with a password to reset"], LOCKED_STATES]
    stage(calls, groups).play(pairs)


def test_cognito_gets_the_same_calls_for_each_state(stage, start_gateway, factor_pool, ledger):
    """So that nothing that Cognito takes time for is left out."""
    front = CognitoFront(factor_pool.url)
    try:
        account = account_at(start_gateway(changes(front.url), pool=factor_pool), ledger)
        # The gateway asks once what the pool says of a password to reset to who has another one.
        stage(ANSWERED, [["with a password to reset"]], account, front).play([("PASSWORD, answered",)])
        for calls in (BEGINNINGS, ANSWERED, CHOSEN):
            stage(calls, GROUPS, account, front).play([(call,) for call in calls])
    finally:
        front.stop()


def test_a_custom_challenge_does_not_tell_of_a_lock(stage, factor_pool):
    """The rest is up to the pool: Cognito asks its triggers for some users only."""
    calls = {"CUSTOM": begin("CUSTOM"), "CUSTOM, answered": answered("CUSTOM")}
    alike = [UNKNOWN] if factor_pool.hides else []
    groups = [[*alike, "confirmed", "with a phone"], ["unconfirmed", "disabled"]]
    stage(calls, [*groups, LOCKED_STATES]).play([(call,) for call in calls])


def test_no_factor_takes_another_time_for_one_state(stage):
    """In the manner of ``test_account_privacy.py``, where a password's hashing is the measure."""
    timed = stage({**posting({"login": BODIES["login"]}), "the list": begin(None), **ANSWERED}, GROUPS)
    timed.play([(call,) for call in timed.calls] * 5)
    timed.assert_times_alike()
