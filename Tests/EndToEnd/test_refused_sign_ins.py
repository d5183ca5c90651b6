"""The responses to a client about triggers that refuse, of disabled users, and of passwords that have expired or are wrong."""

import jwt
import pytest
from harness.account import Account, assert_refusal
from harness.gateway import ADA, LocalPool
from harness.local_pool_control import control
from harness.pool_users import add_user, change_user
from harness.process import wait_until
from harness.user import confirmed_user, new_email, register

REFUSED = "No <b>entry</b>   today."
SHOWN = "No bentry/b today."
TRIGGERS = ("pre_sign_up", "post_confirmation", "pre_authentication", "post_authentication", "custom_message")
LOCKOUT = {"account_limits": {"lockout": {"after": 2, "first": "10m"}}}


def refused_address(trigger: str) -> str:
    return f"{trigger}@example.com"


@pytest.fixture(scope="module")
def pool(run_directory):
    triggers = {trigger: {"refuse": REFUSED, "users": [refused_address(trigger)]} for trigger in TRIGGERS}
    pool = LocalPool(run_directory, "refusing-pool", {"triggers": triggers})
    for trigger in TRIGGERS[2:]:
        add_user(pool, refused_address(trigger), ADA[0])
    yield pool
    pool.stop()


@pytest.fixture
def gateway(start_gateway, pool, ledger, request):
    ledger.note(ADA[1])
    return start_gateway({**LOCKOUT, "sign_in": {"cognito": getattr(request, "param", {})}}, pool=pool)


@pytest.fixture
def account(gateway, ledger):
    return Account(gateway.port, ledger)


# MARK: Triggers


@pytest.mark.parametrize("trigger", ["pre_authentication", "post_authentication"])
def test_a_trigger_that_refuses_a_sign_in_is_heard_and_counts_as_no_guess(gateway, account, trigger):
    for _ in range(4):
        answer = account.login(refused_address(trigger), ADA[1])
        assert assert_refusal(answer, 403, "UserLambdaValidationException")["message"] == SHOWN
    failed = wait_until(lambda: gateway.audit_log("sign_in_failed"), "the failed sign-ins")
    assert {line["reason"] for line in failed} == {"rejected-by-trigger"}
    assert not gateway.audit_log("locked_out")


def test_a_trigger_that_refuses_a_registration_or_a_message_is_heard(account):
    body = {"email": refused_address("pre_sign_up"), "password": ADA[1]}
    assert assert_refusal(account.post("register", body), 403, "UserLambdaValidationException")["message"] == SHOWN
    answer = account.post("forgot-password", {"email": refused_address("custom_message")})
    assert assert_refusal(answer, 403, "UserLambdaValidationException")["message"] == SHOWN


def test_a_trigger_after_a_confirmation_is_heard(account, pool):
    email = refused_address("post_confirmation")
    register(account, email)
    answer = account.post("confirm", {"email": email, "code": pool.confirmation_code(email)})
    assert assert_refusal(answer, 403, "UserLambdaValidationException")["message"] == SHOWN


@pytest.mark.parametrize("gateway", [{"trigger_messages": False}], indirect=True)
def test_without_trigger_messages_the_client_gets_a_fixed_one(account):
    answer = account.login(refused_address("pre_authentication"), ADA[1])
    body = assert_refusal(answer, 403, "UserLambdaValidationException")
    assert body["message"] == "The sign-in service does not allow this."


@pytest.mark.parametrize("gateway", [{"conceal_existing_users": True}], indirect=True)
def test_a_trigger_before_the_proof_tells_nothing_where_addresses_are_concealed(account):
    wrong = account.login(new_email(), ADA[1]).json()["message"]
    answer = account.login(refused_address("pre_authentication"), ADA[1])
    assert assert_refusal(answer, 401, "NotAuthorizedException")["message"] == wrong
    answer = account.login(refused_address("post_authentication"), ADA[1])
    assert_refusal(answer, 403, "UserLambdaValidationException")


# MARK: Disabled users and temporary passwords

ENDS = {
    "UserDisabledException": {"is_enabled": 0},
    "TemporaryPasswordExpiredException": {"status": "FORCE_CHANGE_PASSWORD", "password_expires_at": 1},
}


@pytest.mark.parametrize("error", ENDS)
@pytest.mark.parametrize("gateway", [{"flow": flow} for flow in ("password", "srp")], indirect=True)
def test_the_right_password_alone_shows_why_it_is_of_no_use(account, pool, error):
    email = confirmed_user(account, pool, ADA[1])
    assert account.login(email, ADA[1]).status == 200
    change_user(pool, email, **ENDS[error])
    assert_refusal(account.login(email, "Wrong-Horse-1"), 401, "NotAuthorizedException")
    for _ in range(3):
        assert_refusal(account.login(email, ADA[1]), 403, error)
    # The right password was no guess, and forgets no wrong one.
    assert_refusal(account.login(email, "Wrong-Horse-1"), 401, "NotAuthorizedException")
    assert_refusal(account.login(email, "Wrong-Horse-1"), 429, "TooManyRequestsException")


def test_a_pool_that_reports_a_disabled_user_to_anybody_proves_nothing(account, pool):
    """As Cognito may where it does not prevent user existence errors."""
    fault = {"operation": "InitiateAuth", "error": "NotAuthorizedException", "message": "User is disabled."}
    control(pool, "POST", "faults", [fault])
    try:
        for _ in range(2):
            assert_refusal(account.login(new_email(), ADA[1]), 401, "NotAuthorizedException")
    finally:
        control(pool, "DELETE", "faults")


# MARK: The current password


def test_a_wrong_current_password_is_a_field_and_a_guess(gateway, account, pool):
    email = new_email()
    add_user(pool, email, ADA[0])
    token = account.login(email, ADA[1]).json()["access_token"]
    for _ in range(2):
        wrong = {"current_password": "Wrong-Horse-1", "new_password": "Next-Horse-22"}
        answer = account.post("change-password", wrong, token)
        assert assert_refusal(answer, 422, "InvalidParameterException")["fields"] == {
            "current_password": "is not right"
        }
    right = {"current_password": ADA[1], "new_password": "Next-Horse-22"}
    assert_refusal(account.post("change-password", right, token), 429, "TooManyRequestsException")
    assert_refusal(account.login(email, ADA[1]), 401, "NotAuthorizedException")
    assert account.me(token).status == 200, "the session goes on"
    subject = jwt.decode(token, options={"verify_signature": False})["sub"]
    assert subject
    locked = wait_until(lambda: gateway.audit_log("locked_out"), "the lock in the audit log")
    assert locked[0]["operation"] == "change-password"
    failed = [line for line in gateway.audit_log("sign_in_failed") if line["operation"] == "change-password"]
    assert [line["reason"] for line in failed] == ["bad-credentials"] * 2


def test_the_right_current_password_forgets_wrong_ones(account, pool):
    email = new_email()
    add_user(pool, email, ADA[0])
    token = account.login(email, ADA[1]).json()["access_token"]
    for _ in range(2):
        wrong = {"current_password": "Wrong-Horse-1", "new_password": ADA[1]}
        assert account.post("change-password", wrong, token).status == 422
        right = {"current_password": ADA[1], "new_password": ADA[1]}
        assert account.post("change-password", right, token).status == 204
