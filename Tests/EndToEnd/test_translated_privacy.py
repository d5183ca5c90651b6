"""Translated calls tell of an account what Cognito itself tells, and nothing beside, be it by a response or a lock."""

import json

import pytest
from harness import raw
from harness.account import Account
from harness.cognito_client import secret_hash
from harness.gateway import ADA, POOL_CLIENT_ID, POOL_CLIENT_SECRET, Gateway, LocalPool, gateway_config
from harness.hosted import PREFIX, App, hosted_pool, hosted_settings, parse
from harness.pool_users import LOCKED, STATES, UNKNOWN, put_in_state
from harness.process import SILENT_PORT
from harness.transcripts import Stage, new_address

JUNK = "Junk-Horse-99"
DOMAIN = "login.example.com"
PUBLIC_VALUE = "ab" * 128
# By name: the operation, and its input for a user.
CALLS = {
    "SignUp": ("SignUp", lambda name: {"Username": name, "Password": JUNK}),
    "ConfirmSignUp": ("ConfirmSignUp", lambda name: {"Username": name, "ConfirmationCode": "000000"}),
    "ResendConfirmationCode": ("ResendConfirmationCode", lambda name: {"Username": name}),
    "ForgotPassword": ("ForgotPassword", lambda name: {"Username": name}),
    "ConfirmForgotPassword": (
        "ConfirmForgotPassword", lambda name: {"Username": name, "ConfirmationCode": "000000", "Password": JUNK},
    ),
    "a password": ("InitiateAuth", lambda name: sign_in("USER_PASSWORD_AUTH", name, PASSWORD=JUNK)),
    "SRP": ("InitiateAuth", lambda name: sign_in("USER_SRP_AUTH", name, SRP_A=PUBLIC_VALUE)),
    "a choice": ("InitiateAuth", lambda name: sign_in("USER_AUTH", name)),
    "a code": ("InitiateAuth", lambda name: sign_in("USER_AUTH", name, PREFERRED_CHALLENGE="EMAIL_OTP")),
    "a chosen password": (
        "InitiateAuth", lambda name: sign_in("USER_AUTH", name, PREFERRED_CHALLENGE="PASSWORD", PASSWORD=JUNK),
    ),
    "triggers": ("InitiateAuth", lambda name: sign_in("CUSTOM_AUTH", name)),
}  # fmt: skip
SIGN_INS = [name for name, (operation, _) in CALLS.items() if operation == "InitiateAuth"]
# The members of responses that are of one request.
RANDOM = ("Session", "UserSub", "SRP_B", "SALT", "SECRET_BLOCK", "USERNAME", "USER_ID_FOR_SRP")
LOCKED_STATES = [f"{LOCKED} {UNKNOWN}", LOCKED]


def sign_in(flow: str, name: str, **more: str) -> dict:
    return {"AuthFlow": flow, "AuthParameters": {"USERNAME": name, **more}}


@pytest.fixture(scope="module", params=[True, False], ids=["hiding", "legacy"])
def pool(run_directory, request):
    changes = {
        "prevent_user_existence_errors": request.param,
        # One factor, so that the pool does not pick any at random.
        "first_factors": ["PASSWORD"],
        "custom_auth": [{"parameters": {"question": "Your first pet?"}, "answer": "rex"}],
        "hourly_limits": False,
        **hosted_pool(1),
    }
    pool = LocalPool(run_directory, f"private-translated-{request.param}", changes)
    yield pool
    pool.stop()


@pytest.fixture(scope="module")
def account(run_directory, issuer, ledger, pool):
    """Of a gateway that locks an account at the first failed sign-in."""
    ledger.note(JUNK, ADA[1])
    directory = run_directory / f"{pool.config_path.stem}-gateway"
    directory.mkdir()
    changes = {
        "sign_in": {"cognito": {"hosted": hosted_settings(pool, 1)}},
        "direct_cognito": {"mode": "translate", "hosted_domains": [DOMAIN]},
        "account_limits": {"lockout": {"after": 1, "first": "10m"}},
    }
    nobody = f"http://127.0.0.1:{SILENT_PORT}"
    gateway = Gateway(directory, "gateway", gateway_config(directory, nobody, issuer.server.url, None, pool, changes))
    account = Account(gateway.port, ledger)
    account.gateway = gateway
    yield account
    gateway.stop()


def call(port: int, name: str, email: str, secret: str | None = None) -> raw.Response:
    """With the `secret`, as Cognito itself wants it."""
    operation, make = CALLS[name]
    body = {"ClientId": POOL_CLIENT_ID, **make(email)}
    if secret:
        proof = secret_hash(email, POOL_CLIENT_ID, secret)
        if "AuthParameters" in body:
            body["AuthParameters"]["SECRET_HASH"] = proof
        else:
            body["SecretHash"] = proof
    target = f"AWSCognitoIdentityProviderService.{operation}"
    headers = {"X-Amz-Target": target, "Content-Type": "application/x-amz-json-1.1"}
    return raw.exchange(port, "POST", "/", headers, json.dumps(body).encode())


def without_random(value: object) -> object:
    """Random texts count by whether they are there."""
    if isinstance(value, dict):
        return {name: name in RANDOM or without_random(each) for name, each in value.items()}
    return value


def body_of(answer: raw.Response) -> tuple:
    body = without_random(json.loads(answer.body or b"{}"))
    # The pool makes it up for who is not there.
    body.get("CodeDeliveryDetails", {}).pop("Destination", None)
    return answer.status, body


@pytest.mark.parametrize("state", [UNKNOWN, *STATES])
@pytest.mark.parametrize("name", CALLS)
def test_the_response_is_cognitos_own(account, pool, name, state):
    translated = call(account.port, name, put_in_state(account, pool, new_address(), state))
    own = call(pool.port, name, put_in_state(account, pool, new_address(), state), POOL_CLIENT_SECRET)
    assert body_of(translated) == body_of(own)
    # Of these, AWS sends all but the first and the last, and the local pool none.
    added = {"x-request-id", "x-amzn-requestid", "date", "cache-control"}
    own_names = {header.lower() for header, _ in own.headers} | added
    assert {header.lower() for header, _ in translated.headers} <= own_names


@pytest.mark.parametrize("name", SIGN_INS)
def test_a_lock_tells_nothing_of_the_account(account, pool, name):
    """Nor whether there is one."""
    answers = [body_of(call(account.port, name, put_in_state(account, pool, new_address(), state)))
               for state in LOCKED_STATES for _ in range(3)]  # fmt: skip
    assert all(answer == answers[0] for answer in answers), answers


def test_failures_of_translated_calls_lock_all_accounts_alike(account, pool):
    """The next call is refused, translated or not."""
    states = [UNKNOWN, *STATES]
    seen = {}
    for state in states:
        email = put_in_state(account, pool, new_address(), state)
        first = call(account.port, "a password", email)
        assert first.status == 400
        refused = account.login(email, JUNK)
        answers = [refused.status, refused.json()["error"], body_of(call(account.port, "a password", email))]
        seen[state] = answers
    assert all(answers == seen[UNKNOWN] for answers in seen.values()), seen


@pytest.mark.parametrize("name", CALLS)
def test_no_translated_call_takes_another_time(account, pool, name):
    """Than for another account in the same state of the lock."""
    groups = [[UNKNOWN, *STATES], LOCKED_STATES] if name in SIGN_INS else [LOCKED_STATES]
    if not pool.config["prevent_user_existence_errors"]:
        # Then Cognito refuses at once who is not there.
        groups = [LOCKED_STATES]
    timed = Stage(
        account, {"login": lambda account, email: call(account.port, name, email) and []}, groups,
        lambda state: put_in_state(account, pool, new_address(), state),
    )  # fmt: skip
    timed.play([("login",)] * 5)
    timed.assert_times_alike()


@pytest.mark.parametrize("path", [f"{PREFIX}/authorize", "/oauth2/authorize", "/login", "/signup", "/forgotPassword"])
def test_the_way_to_the_hosted_pages_is_the_same_for_each_name(account, pool, path):
    """It may have a name as `login_hint`. The pages are Cognito's."""
    host = {} if path.startswith(PREFIX) else {"Host": DOMAIN}
    seen = {}
    for state in (UNKNOWN, *STATES, *LOCKED_STATES):
        email = put_in_state(account, pool, new_address(), state)
        query = App("").authorize_url(login_hint=email).partition("?")[2]
        answer = raw.exchange(account.port, "GET", f"{path}?{query}", host)
        target = answer.header("location")
        assert answer.status == 303 and parse(target)["login_hint"] == email
        lengths = {name: len(value) for name, value in parse(target).items()}
        names = [name for name, _ in answer.headers]
        seen[state] = (target.partition("?")[0], lengths, names, len(answer.header("set-cookie") or ""), answer.body)
    assert all(each == seen[UNKNOWN] for each in seen.values()), seen
