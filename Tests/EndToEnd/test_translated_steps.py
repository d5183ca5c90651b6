"""Steps of translated sign-ins: each comes under the account that its sign-in began with, whatever name is in it."""

import json
import signal

import pytest
from botocore.exceptions import ClientError
from harness import raw
from harness.account import Account
from harness.cognito_client import cognito_client, secret_hash
from harness.cognito_front import CognitoFront
from harness.gateway import POOL_CLIENT_ID, POOL_CLIENT_SECRET, POOL_ID, Gateway, LocalPool
from harness.local_pool_control import advance_clock, one_time_code
from harness.user import PASSWORD, signed_in_user
from pycognito.aws_srp import AWSSRP
from test_account_names import KEY, user_of_three_names

WRONG = "Not-The-Horse-1"
LOCKOUT = {"after": 5, "first": "1h", "longest": "1h"}
INCORRECT = "NotAuthorizedException: Incorrect username or password."
OTHER_USER = "NotAuthorizedException: Invalid session for the user."
LIMITED = "TooManyRequestsException: Too many requests. Try again later."


@pytest.fixture(scope="module")
def steps_pool(run_directory, ledger):
    ledger.note(KEY["secret_access_key"], WRONG, PASSWORD, POOL_CLIENT_SECRET)
    pool = LocalPool(run_directory, "steps-pool", {"administrator": KEY, "hourly_limits": False, "username_attributes": ["email", "phone_number"]})
    yield pool
    pool.stop()


@pytest.fixture
def front(steps_pool):
    """A Cognito that goes by its session alone, and takes any name for the user's: `front.user` says whose."""
    front = CognitoFront(steps_pool.url)
    front.user = None

    def rewrite(operation: str, body: dict) -> dict:
        if operation == "RespondToAuthChallenge" and front.user:
            digest = secret_hash(front.user, POOL_CLIENT_ID, POOL_CLIENT_SECRET)
            body["ChallengeResponses"] |= {"USERNAME": front.user, "SECRET_HASH": digest}
        return body

    front.rewrite = rewrite
    yield front
    front.stop()


@pytest.fixture
def start(start_gateway, steps_pool, front, ledger):
    def make() -> Account:
        cognito = steps_pool.sign_in_settings("pool", endpoint=front.url, login_with=["email", "phone_number"])
        settings = {"sign_in": {"cognito": cognito}, "account_limits": {"lockout": LOCKOUT}, "direct_cognito": "translate"}
        account = Account(0, ledger)
        account.gateway = start_gateway(settings, pool=steps_pool)
        account.port = account.gateway.port
        return account

    return make


def direct(account: Account, operation: str, body: dict) -> raw.Response:
    headers = {
        "X-Amz-Target": f"AWSCognitoIdentityProviderService.{operation}",
        "Content-Type": "application/x-amz-json-1.1",
    }
    answer = raw.exchange(account.port, "POST", "/", headers, json.dumps({"ClientId": POOL_CLIENT_ID, **body}).encode())
    account.ledger.note_answer(answer)
    return answer


def begin(account: Account, name: str, password: str) -> dict:
    """The answer to the challenge of a sign-in that has begun with a proof of a password."""
    srp = AWSSRP(name, password, POOL_ID, POOL_CLIENT_ID, client=cognito_client(f"http://127.0.0.1:{account.port}"))
    parameters = srp.get_auth_params()
    challenge = srp.client.initiate_auth(ClientId=POOL_CLIENT_ID, AuthFlow="USER_SRP_AUTH", AuthParameters=parameters)
    return srp.process_challenge(challenge["ChallengeParameters"], parameters)


def respond(account: Account, challenge: str, answers: dict, session: str | None = None) -> str:
    """The error that the step is answered with; empty for a success."""
    body = {"ChallengeName": challenge, "ChallengeResponses": answers, **({"Session": session} if session else {})}
    answer = direct(account, "RespondToAuthChallenge", body).json()
    return f"{answer['__type']}: {answer['message']}" if "__type" in answer else ""


def restarted(account: Account) -> None:
    gateway = account.gateway
    gateway.process.signal(signal.SIGTERM)
    gateway.process.wait(10)
    account.gateway = Gateway(gateway.config_path.parent, "gateway", gateway.config)


def made_up() -> list[str]:
    return [f"made-up-{number}@example.com" for number in range(20)]


def guesses(front) -> int:
    return front.operations().count("RespondToAuthChallenge")


def test_other_names_give_no_more_tries_of_a_password(start, front, steps_pool):
    account = start()
    email, phone, front.user = user_of_three_names(account, steps_pool)
    front.calls.clear()
    for name in [*made_up(), phone]:
        answered = respond(account, "PASSWORD_VERIFIER", begin(account, email, WRONG) | {"USERNAME": name})
        assert answered == OTHER_USER
    # Nor does something made up beside what is known.
    for session in ("s" * 40, ""):
        answers = begin(account, email, WRONG) | {"USERNAME": "made-up@example.com"}
        answers["PASSWORD_CLAIM_SECRET_BLOCK"] += "" if session else "\n"
        assert respond(account, "PASSWORD_VERIFIER", answers, session) == OTHER_USER
    assert guesses(front) == 0
    # By the names that it goes under, the account has five tries.
    names = [email, front.user, email.upper(), front.user, email]
    tried = [respond(account, "PASSWORD_VERIFIER", begin(account, email, WRONG) | {"USERNAME": name}) for name in names]
    assert tried == [INCORRECT] * 5
    with pytest.raises(ClientError) as refused:
        begin(account, email, PASSWORD)
    assert refused.value.response["Error"]["Code"] == "TooManyRequestsException"


def test_other_names_give_no_more_tries_of_a_code(start, front, steps_pool):
    account = start()
    email, tokens = signed_in_user(account, steps_pool)
    key = account.post("mfa/totp", None, tokens["access_token"]).json()["secret"]
    code = one_time_code(steps_pool, key)
    assert account.post("mfa/totp/verify", {"code": code}, tokens["access_token"]).status == 204
    advance_clock(steps_pool, 30)
    front.user = account.me(tokens["access_token"]).json()["id"]

    def ask() -> str:
        parameters = {"USERNAME": email, "PASSWORD": PASSWORD}
        asked = direct(account, "InitiateAuth", {"AuthFlow": "USER_PASSWORD_AUTH", "AuthParameters": parameters})
        return asked.json()["Session"]

    def answer(name: str, session: str, code: str) -> str:
        return respond(
            account, "SOFTWARE_TOKEN_MFA", {"USERNAME": name, "SOFTWARE_TOKEN_MFA_CODE": code}, session)

    session = ask()
    front.calls.clear()
    assert {answer(name, session, "000000") for name in made_up()} == {OTHER_USER}
    assert guesses(front) == 0
    assert answer(front.user, session, one_time_code(steps_pool, key)) == ""
    advance_clock(steps_pool, 30)
    sessions = [ask() for _ in range(6)]
    tried = [answer(front.user, session, "000000").split(":")[0] for session in sessions]
    assert tried == ["CodeMismatchException"] * 5 + ["TooManyRequestsException"]


def test_steps_that_began_elsewhere_are_counted_together(start, front, steps_pool):
    """As after a restart, or at another gateway: nobody knows whose they are."""
    account = start()
    email, _, front.user = user_of_three_names(account, steps_pool)
    begun = [begin(account, email, WRONG) for _ in made_up()]
    right = begin(account, email, PASSWORD)
    restarted(account)
    try:
        front.calls.clear()
        # A user who was about to sign in is let in.
        assert respond(account, "PASSWORD_VERIFIER", right) == ""
        tried = [
            respond(account, "PASSWORD_VERIFIER", answers | {"USERNAME": name})
            for name, answers in zip(made_up(), begun)
        ]
        assert tried == [INCORRECT] * 5 + [LIMITED] * 15
        assert guesses(front) == 6
        # A sign-in that begins here goes on here.
        assert respond(account, "PASSWORD_VERIFIER", begin(account, email, PASSWORD)) == ""
    finally:
        account.gateway.stop()


@pytest.mark.parametrize("challenge", ["SOFTWARE_TOKEN_MFA", "SMS_MFA", "NEW_PASSWORD_REQUIRED", "PASSWORD_VERIFIER", "CUSTOM"])
def test_a_made_up_step_tells_nothing_of_names(start, front, steps_pool, challenge):
    account = start()
    email, phone, sub = user_of_three_names(account, steps_pool)
    # The gateway has seen that both are one account's, which is then locked by one of them.
    assert [account.login(name, PASSWORD).status for name in (email, phone)] == [200, 200]
    assert [account.login(email, WRONG).status for _ in range(6)] == [401] * 5 + [429]

    def answered(name: str) -> tuple:
        proofs = {
            "SOFTWARE_TOKEN_MFA_CODE": "000000", "SMS_MFA_CODE": "000000", "NEW_PASSWORD": PASSWORD,
            "PASSWORD_CLAIM_SIGNATURE": "c" * 44, "PASSWORD_CLAIM_SECRET_BLOCK": "c2VjcmV0IGJsb2Nr",
            "TIMESTAMP": "Sun Nov 22 19:00:00 UTC 2026",
        }
        body = {"ChallengeName": challenge, "Session": "s" * 40, "ChallengeResponses": {"USERNAME": name, **proofs}}
        answer = direct(account, "RespondToAuthChallenge", body)
        headers = [(name, value) for name, value in answer.headers if name.lower() not in ("x-request-id", "x-amzn-requestid", "date")]
        return answer.status, answer.json(), headers

    for _ in range(3):
        unrelated, nobody = answered("+15559999999"), answered("nobody@example.com")
        assert answered(phone) == unrelated == nobody
        # Under Cognito's own name for the user neither.
        assert answered(sub) == unrelated
    assert unrelated[0] == 400 and unrelated[1]["__type"] != "TooManyRequestsException"
