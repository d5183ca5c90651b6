"""A signed-in user finds out no more about somebody else's address than anybody does."""

import itertools

import pytest
from harness import raw
from harness.account import Account
from harness.cognito_front import CognitoFront
from harness.gateway import ADA, QUICK, LocalPool
from harness.pool_users import LOCKED, STATES, UNKNOWN, add_user, put_in_state
from harness.transcripts import Call, Stage, new_address, rotations
from test_account_privacy import CALLS, MINE, NEW, OPEN_CALLS, TIMED

GROUPS = [[UNKNOWN, *STATES, f"{LOCKED} {UNKNOWN}", LOCKED]]
# Whether Cognito hides users, and whether the gateway conceals them.
MODES = [(True, True), (False, False)]


@pytest.fixture(scope="module")
def pools(run_directory):
    """Pools by whether they hide their users, and by what it costs to hash a password. A new address waits for its
    code: else its owner sees whether it has changed."""
    made: dict[tuple[bool, int], LocalPool] = {}

    def pool(hides: bool, cost: int = QUICK) -> LocalPool:
        changes = {
            "prevent_user_existence_errors": hides, "password_cost": cost, "hourly_limits": False,
            "attributes_require_verification_before_update": ["email", "phone_number"],
        }  # fmt: skip
        if (hides, cost) not in made:
            made[hides, cost] = LocalPool(run_directory, f"token-private-pool-{hides}-{cost}", changes)
        return made[hides, cost]

    yield pool
    for each in made.values():
        each.stop()


class Callers:
    """Somebody for each address who is signed in, and wants to know about it."""

    def __init__(self, pool: LocalPool):
        self.pool = pool
        self.tokens: dict[str, str] = {}

    def token(self, account: Account, email: str) -> str:
        if email not in self.tokens:
            own = f"own-{new_address()}"
            add_user(self.pool, own, ADA[0])
            self.tokens[email] = account.login(own, ADA[1]).json()["access_token"]
        return self.tokens[email]

    def call(self, method: str, path: str, body=lambda email: {}) -> Call:
        def call(account: Account, email: str) -> list[raw.Response]:
            return [account.send(method, path, body(email), self.token(account, email))]

        return call

    def calls(self) -> dict[str, Call]:
        return {
            "me/email": self.call("POST", "me/email", lambda email: {"email": email, "current_password": ADA[1]}),
            "me/email/resend": self.call("POST", "me/email/resend"),
            "me/email/verify": self.call("POST", "me/email/verify", lambda email: {"code": "000000"}),
        }


@pytest.fixture
def open_stage(start_gateway, ledger):
    """A gateway before a pool. One failed sign-in locks an account."""
    ledger.note(MINE, NEW, ADA[1])

    def open_stage(pool: LocalPool, conceals: bool, front: CognitoFront | None = None) -> Stage:
        settings = {"conceal_existing_users": conceals, "endpoint": front.url if front else pool.url}
        lockout = {"after": 1, "first": "10m"}
        gateway = start_gateway({"sign_in": {"cognito": settings}, "account_limits": {"lockout": lockout}}, pool=pool)
        account = Account(gateway.port, ledger)
        account.gateway = gateway
        callers = Callers(pool)

        def address(state: str) -> str:
            email = put_in_state(account, pool, new_address(), state)
            callers.token(account, email)
            return email

        stage = Stage(account, {**(CALLS if conceals else OPEN_CALLS), **callers.calls()}, GROUPS, address, front)
        stage.signed_in = list(callers.calls())
        return stage

    return open_stage


@pytest.mark.parametrize(("hides", "conceals"), MODES)
def test_no_pair_with_a_call_of_a_signed_in_user_tells_the_state_of_an_account(open_stage, pools, hides, conceals):
    """Locked accounts look like all others, too: no call here has their password."""
    stage = open_stage(pools(hides), conceals)
    of_token = set(stage.signed_in)
    # The tests without a token show the responses of sign-ins about a lock.
    names = [name for name in stage.calls if name != "login"]
    stage.play(pair for pair in itertools.product(names, repeat=2) if set(pair) & of_token)


def test_cognito_gets_the_same_calls_for_each_state(open_stage, pools):
    front = CognitoFront(pools(True).url)
    try:
        stage = open_stage(pools(True), True, front)
        stage.play(rotations(stage.signed_in))
    finally:
        front.stop()


def test_no_call_of_a_signed_in_user_takes_another_time(open_stage, pools):
    stage = open_stage(pools(True, TIMED), True)
    stage.calls["login"] = CALLS["login"]
    stage.groups = [[UNKNOWN, *STATES]]
    stage.compare_times([*rotations(stage.signed_in), *[("login",)] * 3])


def test_the_second_request_for_a_code_names_the_address_that_was_asked_for(open_stage, pools):
    """Also where the pool has refused it as somebody else's, and would send the code to the old one."""
    front = CognitoFront(pools(True).url)
    try:
        stage = open_stage(pools(True), False, front)
        shown, asked = {}, {}
        for state in (UNKNOWN, "confirmed"):
            if state == "confirmed":
                front.refused["UpdateUserAttributes"] = (400, "AliasExistsException", "An account with the email exists.")
            email = stage.address(state)
            first, second = (stage.calls[name](stage.account, email)[0] for name in ("me/email", "me/email/resend"))
            assert first.status == second.status == 202
            assert first.json() == second.json()
            shown[state] = [(answer.json(), [name for name, _ in answer.headers]) for answer in (first, second)]
            asked[state] = front.operations().count("GetUserAttributeVerificationCode")
        assert shown[UNKNOWN] == shown["confirmed"]
        assert asked == {UNKNOWN: 1, "confirmed": 1}, "nobody gets a code about a change that was refused"
    finally:
        front.stop()
