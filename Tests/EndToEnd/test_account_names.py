"""The names of an account: by which of them users sign in, and that no other name gets around a lock."""

import json
import time

import boto3
import pytest
from botocore.exceptions import ClientError
from harness import raw
from harness.account import Account, assert_refusal
from harness.cognito_client import cognito_client
from harness.cognito_front import CognitoFront
from harness.gateway import POOL_CLIENT_ID, POOL_CLIENT_SECRET, USUAL, LocalPool
from harness.user import PASSWORD, confirmed_user
from pycognito.aws_srp import AWSSRP
from harness.gateway import POOL_ID

WRONG = "Not-The-Horse-1"
LOCKOUT = {"after": 5, "first": "10m"}
KEY = {"access_key_id": "AKIANAMESTESTS", "secret_access_key": "names-secret-access-key"}
CREDENTIALS = {"AWS_ACCESS_KEY_ID": KEY["access_key_id"], "AWS_SECRET_ACCESS_KEY": KEY["secret_access_key"]}


@pytest.fixture(scope="module")
def names_pool(run_directory, ledger):
    ledger.note(KEY["secret_access_key"], WRONG, PASSWORD, POOL_CLIENT_SECRET)
    changes = {"administrator": KEY, "hourly_limits": False, "username_attributes": ["email", "phone_number"]}
    # A test measures by what a password costs.
    changes["password_cost"] = USUAL
    pool = LocalPool(run_directory, "names-pool", changes)
    yield pool
    pool.stop()


@pytest.fixture
def front(names_pool):
    front = CognitoFront(names_pool.url)
    yield front
    front.stop()


@pytest.fixture
def start(start_gateway, names_pool, front, ledger):
    """A gateway that locks accounts, and an app."""

    def make(flow: str = "srp", names: list[str] | None = None, **changes) -> Account:
        cognito = names_pool.sign_in_settings("pool", endpoint=front.url, flow=flow)
        cognito |= {"login_with": names} if names else {}
        # Times are compared in as many rounds as it takes.
        limits = {"lockout": LOCKOUT, "sign_in": {"address": "600/1m", "account": "600/1m"}}
        settings = {"sign_in": {"cognito": cognito}, "account_limits": limits, **changes}
        gateway = start_gateway(settings, pool=names_pool, environment=CREDENTIALS)
        account = Account(gateway.port, ledger)
        account.gateway = gateway
        return account

    return make


def administrator(pool: LocalPool):
    return boto3.client(
        "cognito-idp",
        region_name="eu-central-1",
        endpoint_url=pool.url,
        aws_access_key_id=KEY["access_key_id"],
        aws_secret_access_key=KEY["secret_access_key"],
    )


_phones = iter(range(15550000000, 15559999999))


def user_of_three_names(account: Account, pool: LocalPool) -> tuple[str, str, str]:
    """E-mail address, telephone number and `sub` of a new user."""
    email, phone = confirmed_user(account, pool), f"+{next(_phones)}"
    client = administrator(pool)
    attributes = [{"Name": "phone_number", "Value": phone}, {"Name": "phone_number_verified", "Value": "true"}]
    client.admin_update_user_attributes(UserPoolId=POOL_ID, Username=email, UserAttributes=attributes)
    user = client.admin_get_user(UserPoolId=POOL_ID, Username=email)
    sub = next(each["Value"] for each in user["UserAttributes"] if each["Name"] == "sub")
    return email, phone, sub


def shape(answer: raw.Response) -> tuple:
    """All of an answer that is not of this one request."""
    body = answer.json()
    body.pop("requestId", None)
    headers = [(name, value) for name, value in answer.headers if name.lower() not in ("x-request-id", "date")]
    return answer.status, body, headers


def lock(account: Account, name: str) -> None:
    assert [account.login(name, WRONG).status for _ in range(6)] == [401] * 5 + [429]


@pytest.mark.parametrize("flow", ["password", "srp"])
def test_a_sub_is_no_name_to_sign_in_with(start, front, names_pool, flow):
    account = start(flow)
    email, _, sub = user_of_three_names(account, names_pool)
    front.calls.clear()
    answers = [account.login(name, PASSWORD) for name in (sub, sub.upper(), "nobody@example.com")]
    assert_refusal(answers[0], 401, "NotAuthorizedException")
    assert shape(answers[0]) == shape(answers[1]) == shape(answers[2])
    # Cognito was asked as often for each, and never about the user.
    assert len(front.calls) % 3 == 0 and front.operations()[0] == "InitiateAuth"
    assert front.operations()[: len(front.calls) // 3] * 3 == front.operations()
    assert sub not in json.dumps(front.calls).lower()
    assert account.login(email, PASSWORD).status == 200
    # It is locked as any other name is.
    assert [account.login(sub, PASSWORD).status for _ in range(4)] == [401] * 3 + [429]


@pytest.mark.parametrize("call, more", [("resend-code", {}), ("forgot-password", {})])
def test_no_code_is_sent_by_a_name_that_is_not_accepted(start, front, names_pool, call, more):
    account = start()
    _, phone, sub = user_of_three_names(account, names_pool)
    front.calls.clear()
    for name in (sub, phone):
        assert account.post(call, {"email": name, **more}).status == 202
    reset = {"email": sub, "code": "123456", "new_password": PASSWORD}
    assert_refusal(account.post("reset-password", reset), 422, "CodeMismatchException")
    assert sub not in json.dumps(front.calls) and phone not in json.dumps(front.calls)


def test_the_kinds_of_names_are_configured(start, names_pool):
    account = start(names=["phone_number"])
    assert account.post("register", {"email": "unused@example.com", "password": PASSWORD}).status == 201
    email, phone, sub = user_of_three_names(start(), names_pool)
    assert account.login(phone, PASSWORD).status == 200
    assert [account.login(name, PASSWORD).status for name in (email, sub, "someone")] == [401] * 3


@pytest.mark.parametrize("flow", ["password", "srp"])
def test_another_name_gets_around_no_lock(start, names_pool, flow):
    account = start(flow, ["email", "phone_number"])
    email, phone, _ = user_of_three_names(account, names_pool)
    if flow == "password":
        # The gateway has to have seen whose these are.
        assert [account.login(name, PASSWORD).status for name in (email, phone)] == [200, 200]
    lock(account, email)
    right, wrong, nobody = (account.login(*each) for each in ((phone, PASSWORD), (phone, WRONG), ("+15000", WRONG)))
    assert shape(right) == shape(wrong) == shape(nobody)
    assert_refusal(right, 401, "NotAuthorizedException")
    # The typed name is locked in its turn, also for a telephone number that nobody has.
    assert [account.login(phone, PASSWORD).status for _ in range(4)] == [401] * 3 + [429]
    assert [account.login("+15000", WRONG).status for _ in range(5)] == [401] * 4 + [429]


@pytest.mark.parametrize("flow", ["password", "srp"])
def test_failures_under_several_names_add_up(start, names_pool, flow):
    account = start(flow, ["email", "phone_number"])
    email, phone, _ = user_of_three_names(account, names_pool)
    assert [account.login(name, PASSWORD).status for name in (email, phone)] == [200, 200]
    assert [account.login(name, WRONG).status for name in (email, phone, email, phone, email)] == [401] * 5
    assert account.login(phone, PASSWORD).status == account.login(email, PASSWORD).status == 401


def test_a_known_device_signs_in_by_any_of_the_names(start, names_pool):
    account = start("srp", ["email", "phone_number"])
    email, phone, _ = user_of_three_names(account, names_pool)
    device = {"device_info": {"device_id": "phone-1", "platform": "ios"}}
    assert account.login(email, PASSWORD, **device).status == 200
    lock(account, email)
    assert account.login(phone, PASSWORD).status == 401
    assert account.login(phone, PASSWORD, **device).status == 200


@pytest.mark.parametrize("flow", ["password", "srp"])
def test_a_password_that_was_reset_opens_the_account_under_each_name(start, names_pool, flow):
    account = start(flow, ["email", "phone_number"])
    email, phone, _ = user_of_three_names(account, names_pool)
    lock(account, phone)
    assert account.post("forgot-password", {"email": email}).status == 202
    body = {"email": email, "code": names_pool.confirmation_code(email), "new_password": "Reset-Horse-11"}
    assert account.post("reset-password", body).status == 204
    assert account.login(email, "Reset-Horse-11").status == 200


def test_a_lock_holds_for_direct_calls_by_another_name(start, names_pool, ledger):
    account = start("srp", ["email", "phone_number"], direct_cognito="translate")
    email, phone, sub = user_of_three_names(account, names_pool)
    lock(account, email)
    client = cognito_client(f"http://127.0.0.1:{account.port}")

    def sign_in(name: str, password: str) -> str:
        srp = AWSSRP(name, password, POOL_ID, POOL_CLIENT_ID, client=client)
        with pytest.raises(ClientError) as refused:
            srp.authenticate_user()
        return "{Code}: {Message}".format(**refused.value.response["Error"])

    assert sign_in(phone, PASSWORD) == sign_in(phone, WRONG) == "NotAuthorizedException: Incorrect username or password."
    assert sign_in(sub, PASSWORD) == "NotAuthorizedException: Incorrect username or password."

    def with_password(name: str) -> str:
        parameters = {"USERNAME": name, "PASSWORD": PASSWORD}
        with pytest.raises(ClientError) as refused:
            client.initiate_auth(ClientId=POOL_CLIENT_ID, AuthFlow="USER_PASSWORD_AUTH", AuthParameters=parameters)
        return refused.value.response["Error"]["Code"]

    assert with_password(phone) == with_password(sub) == "NotAuthorizedException"
    assert with_password(email) == "TooManyRequestsException"


def names_asked(front) -> set[str]:
    """All by which Cognito was asked for a user."""
    asked = set()
    for _, body in front.calls:
        for members in (body, body.get("AuthParameters", {}), body.get("ChallengeResponses", {})):
            asked |= {value for name, value in members.items() if name.lower() == "username"}
    return asked


DIRECT = {
    "ConfirmSignUp": {"ConfirmationCode": "123456"},
    "ResendConfirmationCode": {},
    "ForgotPassword": {},
    "ConfirmForgotPassword": {"ConfirmationCode": "123456", "Password": PASSWORD},
}


@pytest.mark.parametrize("operation", DIRECT)
def test_direct_calls_by_a_name_that_is_not_accepted_are_for_nobody(start, front, names_pool, operation):
    account = start("password", direct_cognito="translate")
    email, phone, sub = user_of_three_names(account, names_pool)

    def call(name: str) -> tuple:
        headers = {"X-Amz-Target": f"AWSCognitoIdentityProviderService.{operation}", "Content-Type": "application/x-amz-json-1.1"}
        body = {"ClientId": POOL_CLIENT_ID, "Username": name, **DIRECT[operation]}
        answer = raw.exchange(account.port, "POST", "/", headers, json.dumps(body).encode())
        body = answer.json() if answer.body else {}
        # Where a message to nobody goes is made up from the name.
        body.get("CodeDeliveryDetails", {}).pop("Destination", None)
        varying = ("x-request-id", "x-amzn-requestid", "date", "content-length")
        return answer.status, body, [each for each in answer.headers if each[0].lower() not in varying]

    front.calls.clear()
    unknown = call("nobody@example.com")
    assert names_asked(front) == {"nobody@example.com"}
    front.calls.clear()
    for name in (sub, sub.upper(), phone, "ada"):
        assert call(name) == unknown, name
    assert front.operations() == [operation] * 4
    assert all(name.endswith("@gatehouse.invalid") for name in names_asked(front))
    # An accepted name is the user's.
    call(email)
    assert email in names_asked(front)


@pytest.mark.parametrize("flow", ["password", "admin", "srp"])
def test_a_locked_account_is_locked_at_cognito_by_nobody(start, front, names_pool, flow):
    account = start(flow, ["email", "phone_number"], direct_cognito="translate")
    email, phone, sub = user_of_three_names(account, names_pool)
    # The gateway has to have seen whose these are.
    assert [account.login(name, PASSWORD).status for name in (email, phone)] == [200, 200]
    lock(account, email)
    times: dict[str, list[float]] = {}

    def login(name: str, password: str, state: str) -> tuple:
        began = time.monotonic()
        answer = account.login(name, password)
        times.setdefault(state, []).append(time.monotonic() - began)
        return shape(answer)

    def quickest() -> dict[str, float]:
        """Of each state, which other work on the machine has delayed least."""
        return {state: min(each) for state, each in times.items()}

    def are_alike() -> bool:
        return max(quickest().values()) < 2 * min(quickest().values()) + 0.05

    closed = []
    # One round is enough where nothing else is at work. Four wrong passwords lock nobody.
    for number in range(16):
        if number % 4 == 0:
            if number and are_alike():
                break
            other = confirmed_user(account, names_pool)
        wrong = login(other, WRONG, "open")
        nobody = login(f"nobody-{phone[1:]}-{number}@example.com", WRONG, "nobody")
        front.calls.clear()
        password, state = (PASSWORD, "closed, right password") if number % 2 else (WRONG, "closed, wrong password")
        closed.append(login(phone, password, state))
        assert closed[-1] == wrong == nobody and wrong[0] == 401
        assert front.calls and all(name.endswith("@gatehouse.invalid") or len(name) == 36 for name in names_asked(front))
        assert not {email, phone, sub} & names_asked(front)
    print(flow, {state: f"{seconds * 1000:.1f} ms" for state, seconds in quickest().items()})
    assert are_alike(), quickest()

    # Nor by direct calls.
    client = cognito_client(f"http://127.0.0.1:{account.port}")
    front.calls.clear()
    parameters = {"USERNAME": phone, "PASSWORD": PASSWORD}
    with pytest.raises(ClientError) as refused:
        client.initiate_auth(ClientId=POOL_CLIENT_ID, AuthFlow="USER_PASSWORD_AUTH", AuthParameters=parameters)
    assert refused.value.response["Error"]["Message"] == "Incorrect username or password."
    assert len(names_asked(front)) == 1 and not {email, phone, sub} & names_asked(front)
