"""Challenges of a sign-in, authenticator apps, tracked devices, and the flows that prove a password."""

import time
from datetime import datetime, timedelta

import boto3
import pytest
from botocore.config import Config
from harness.account import Account, assert_refusal
from harness.aws_endpoints import CredentialEndpoint
from harness.cognito_client import cognito_client
from harness.cognito_front import CognitoFront
from harness.gateway import ADA, LocalPool
from harness.local_pool_control import advance_clock, control, one_time_code
from harness.process import wait_until
from harness.sanitizer import PATIENCE
from harness.user import PASSWORD, confirmed_user, new_email, register, signed_in_user

ACCESS_KEY = {"access_key_id": "AKIAGATEWAYTESTS", "secret_access_key": "gateways-secret-access-key"}
NO_CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "",
    "AWS_SECRET_ACCESS_KEY": "",
    "AWS_SHARED_CREDENTIALS_FILE": "/nowhere/credentials",
    "AWS_EC2_METADATA_DISABLED": "true",
}
WITH_CREDENTIALS = {
    **NO_CREDENTIALS,
    "AWS_ACCESS_KEY_ID": ACCESS_KEY["access_key_id"],
    "AWS_SECRET_ACCESS_KEY": ACCESS_KEY["secret_access_key"],
}
FLOWS = {
    "password": "ALLOW_USER_PASSWORD_AUTH",
    "srp": "ALLOW_USER_SRP_AUTH",
    "admin": "ALLOW_ADMIN_USER_PASSWORD_AUTH",
}


@pytest.fixture
def make_pool(run_directory, request):
    """A pool of the test's own: its clock may go ahead, but not so far that its tokens seem to be of the future."""
    pools: list[LocalPool] = []
    name = "".join(character if character.isalnum() else "-" for character in request.node.name)[:60]

    def make(**changes) -> LocalPool:
        changes = {"administrator": ACCESS_KEY, "hourly_limits": False, **changes}
        pools.append(LocalPool(run_directory, f"pool-{name}-{len(pools)}", changes))
        return pools[-1]

    yield make
    for pool in pools:
        pool.stop()


@pytest.fixture
def account_of(start_gateway, ledger):
    ledger.note(ACCESS_KEY["secret_access_key"])

    def start(pool: LocalPool, environment=None, **sign_in) -> Account:
        changes = {"sign_in": {"cognito": pool.sign_in_settings("pool", **sign_in)}}
        gateway = start_gateway(changes, pool=pool, environment=environment)
        account = Account(gateway.port, ledger)
        account.gateway = gateway
        return account

    return start


def administrator(pool: LocalPool):
    return boto3.client(
        "cognito-idp",
        region_name="eu-central-1",
        endpoint_url=pool.url,
        aws_access_key_id=ACCESS_KEY["access_key_id"],
        aws_secret_access_key=ACCESS_KEY["secret_access_key"],
        config=Config(retries={"total_max_attempts": 1}),
    )


def set_up_totp(account: Account, pool: LocalPool, token: str) -> str:
    """An authenticator app for the user; its key."""
    answer = account.post("mfa/totp", None, token)
    assert answer.status == 200, answer.body
    key = answer.json()["secret"]
    code = one_time_code(pool, key)
    verified = account.post("mfa/totp/verify", {"code": code}, token)
    assert verified.status == 204, verified.body
    # The pool takes each code once.
    advance_clock(pool, 30)
    return key


# MARK: Authenticator apps


def test_an_authenticator_app_is_set_up_asked_and_removed(account_of, make_pool):
    pool = make_pool()
    account = account_of(pool)
    email, tokens = signed_in_user(account, pool)
    set_up = account.post("mfa/totp", None, tokens["access_token"])
    key, uri = set_up.json()["secret"], set_up.json()["otpauth_uri"]
    assert uri.startswith("otpauth://totp/Gatehouse:") and f"secret={key}" in uri and "%40example.com" in uri
    wrong = "000000" if one_time_code(pool, key) != "000000" else "000001"
    refusal = account.post("mfa/totp/verify", {"code": wrong}, tokens["access_token"])
    assert_refusal(refusal, 422, "CodeMismatchException")
    assert account.login(email, PASSWORD).status == 200, "what is not verified is not asked for"
    verified = account.post("mfa/totp/verify", {"code": one_time_code(pool, key)}, tokens["access_token"])
    assert verified.status == 204
    advance_clock(pool, 30)

    asked = account.login(email, PASSWORD, device_info={"device_id": "d-1", "platform": "ios"})
    assert asked.status == 202
    challenge = asked.json()
    assert challenge["challenge"] == "SOFTWARE_TOKEN_MFA" and challenge["parameters"] == {}
    assert_refusal(account.answer_challenge(challenge, code=wrong), 422, "CodeMismatchException")
    answer = account.answer_challenge(challenge, code=one_time_code(pool, key))
    assert answer.status == 200, answer.body
    assert answer.json()["user"]["email"] == email
    assert account.refresh(answer.json()["refresh_token"]).status == 200
    assert_refusal(account.answer_challenge(challenge, code="123456"), 401, "NotAuthorizedException")

    assert account.send("DELETE", "mfa/totp", token=answer.json()["access_token"]).status == 204
    assert account.login(email, PASSWORD).status == 200


def test_a_pool_that_requires_a_second_factor_has_it_set_up_at_sign_in(account_of, make_pool):
    pool = make_pool(mfa={"mode": "required", "methods": ["SOFTWARE_TOKEN_MFA"]})
    account = account_of(pool, totp_issuer="Example App")
    email = confirmed_user(account, pool)
    asked = account.login(email, PASSWORD).json()
    assert asked["challenge"] == "MFA_SETUP"
    assert asked["parameters"]["methods"] == ["SOFTWARE_TOKEN_MFA"]
    key = asked["parameters"]["secret"]
    assert asked["parameters"]["otpauth_uri"].startswith("otpauth://totp/Example%20App:")
    wrong = "000000" if one_time_code(pool, key) != "000000" else "000001"
    assert_refusal(account.answer_challenge(asked, code=wrong), 422, "CodeMismatchException")
    assert account.answer_challenge(asked, code=one_time_code(pool, key)).status == 200
    advance_clock(pool, 30)
    assert account.login(email, PASSWORD).json()["challenge"] == "SOFTWARE_TOKEN_MFA"


# MARK: Codes by message


def messages(pool: LocalPool, **of) -> list[dict]:
    query = "&".join(f"{name}={value}" for name, value in of.items())
    return control(pool, "GET", f"inbox?{query}")


@pytest.mark.parametrize("challenge", ["EMAIL_OTP", "SMS_MFA"])
def test_a_code_by_message(account_of, make_pool, challenge):
    pool = make_pool()
    account = account_of(pool)
    email, tokens = signed_in_user(account, pool)
    client = cognito_client(pool.url)
    settings = {"EMAIL_OTP": "EmailMfaSettings", "SMS_MFA": "SMSMfaSettings"}[challenge]
    if challenge == "SMS_MFA":
        change = {"phone_number": "+15551234567", "current_password": PASSWORD}
        assert account.post("me/phone", change, tokens["access_token"]).status == 202
    client.set_user_mfa_preference(
        AccessToken=tokens["access_token"], **{settings: {"Enabled": True, "PreferredMfa": True}}
    )
    asked = account.login(email, PASSWORD).json()
    assert asked["challenge"] == challenge
    assert "***" in asked["parameters"]["destination"]
    of = {"email": email} if challenge == "EMAIL_OTP" else {"phone": "%2B15551234567"}
    code = messages(pool, **of)[-1]["code"]
    assert account.answer_challenge(asked, code=code).status == 200


def test_the_second_factor_is_chosen(account_of, make_pool):
    pool = make_pool()
    account = account_of(pool)
    email, tokens = signed_in_user(account, pool)
    key = set_up_totp(account, pool, tokens["access_token"])
    cognito_client(pool.url).set_user_mfa_preference(
        AccessToken=tokens["access_token"],
        EmailMfaSettings={"Enabled": True, "PreferredMfa": False},
        SoftwareTokenMfaSettings={"Enabled": True, "PreferredMfa": False},
    )
    asked = account.login(email, PASSWORD).json()
    assert asked["challenge"] == "SELECT_MFA_TYPE"
    assert sorted(asked["parameters"]["methods"]) == ["EMAIL_OTP", "SOFTWARE_TOKEN_MFA"]
    assert_refusal(account.answer_challenge(asked, answer="SMS_MFA"), 422, "InvalidParameterException")
    chosen = account.answer_challenge(asked, answer="SOFTWARE_TOKEN_MFA")
    assert chosen.status == 202, chosen.body
    assert account.answer_challenge(chosen.json(), code=one_time_code(pool, key)).status == 200


# MARK: New passwords


def test_a_new_password_is_required(account_of, make_pool):
    pool = make_pool()
    account = account_of(pool)
    email = new_email()
    administrator(pool).admin_create_user(
        UserPoolId="eu-central-1_LocalPool", Username=email, TemporaryPassword="Temporary-Horse-1",
        UserAttributes=[{"Name": "email", "Value": email}, {"Name": "email_verified", "Value": "true"}],
    )  # fmt: skip
    asked = account.login(email, "Temporary-Horse-1").json()
    assert asked["challenge"] == "NEW_PASSWORD_REQUIRED"
    assert_refusal(account.answer_challenge(asked, new_password="short"), 422, "InvalidPasswordException")
    asked = account.login(email, "Temporary-Horse-1").json()
    answer = account.answer_challenge(asked, new_password=PASSWORD, name="Niko", attributes={"locale": "de"})
    assert answer.status == 200, answer.body
    assert answer.json()["user"]["name"] == "Niko"
    assert account.login(email, PASSWORD).status == 200


# MARK: Challenge sessions


def test_a_challenge_session_is_sealed_and_good_for_its_own_challenge(account_of, make_pool):
    pool = make_pool()
    account = account_of(pool)
    email, tokens = signed_in_user(account, pool)
    key = set_up_totp(account, pool, tokens["access_token"])
    device = {"device_id": "d-1", "platform": "ios"}
    asked = account.login(email, PASSWORD, device_info=device).json()
    session, code = asked["session"], one_time_code(pool, key)
    middle = len(session) // 2
    flipped = session[:middle] + ("A" if session[middle] != "A" else "B") + session[middle + 1 :]
    for wrong in (flipped, session[:-3], "made-up", tokens["refresh_token"]):
        refusal = account.post("challenge", {"challenge": "SOFTWARE_TOKEN_MFA", "session": wrong, "code": code})
        assert_refusal(refusal, 401, "NotAuthorizedException")
    other = {"device_id": "d-2", "platform": "ios"}
    assert_refusal(account.answer_challenge(asked, code=code, device_info=other), 401, "NotAuthorizedException")
    refusal = account.post("challenge", {"challenge": "SMS_MFA", "session": session, "code": code})
    assert list(assert_refusal(refusal, 422, "InvalidParameterException")["fields"]) == ["challenge"]
    # A refresh token it is not.
    assert_refusal(account.refresh(session), 401, "TokenRefreshException")
    assert account.answer_challenge(asked, code=code, device_info=device).status == 200


def test_a_question_from_before_a_password_reset_signs_nobody_in(account_of, make_pool):
    pool = make_pool()
    account = account_of(pool)
    email, tokens = signed_in_user(account, pool)
    key = set_up_totp(account, pool, tokens["access_token"])
    asked = account.login(email, PASSWORD).json()
    second = int(time.time())
    # A sign-in in the second of the reset is not meant.
    wait_until(lambda: int(time.time()) > second, "the next second")
    assert account.post("forgot-password", {"email": email}).status == 202
    reset = {"email": email, "code": pool.confirmation_code(email), "new_password": "Newest-Horse-12"}
    assert account.post("reset-password", reset).status == 204
    refusal = account.answer_challenge(asked, code=one_time_code(pool, key))
    assert_refusal(refusal, 401, "NotAuthorizedException")
    # The new password gets a question that signs in.
    advance_clock(pool, 30)
    asked = account.login(email, "Newest-Horse-12").json()
    assert account.answer_challenge(asked, code=one_time_code(pool, key)).status == 200


def test_remember_me_outlasts_the_challenge(account_of, make_pool):
    pool = make_pool()
    account = account_of(pool)
    email, tokens = signed_in_user(account, pool)
    key = set_up_totp(account, pool, tokens["access_token"])
    asked = account.login(email, PASSWORD, remember_me=False).json()
    answer = account.answer_challenge(asked, code=one_time_code(pool, key)).json()
    export = account.send("GET", "me/export", token=answer["access_token"]).json()
    first, second = (_life(session) for session in export["sessions"])
    assert {first, second} == {timedelta(days=30), timedelta(days=1)}


def _life(session: dict) -> timedelta:
    ends, begins = (datetime.fromisoformat(session[name].replace("Z", "+00:00")) for name in ("ends_at", "signed_in_at"))
    return ends - begins


# MARK: Flows


@pytest.mark.parametrize("flow", FLOWS)
def test_each_flow_signs_in_and_goes_through_challenges(account_of, make_pool, flow):
    """The app client has switched on no other flow than this one."""
    pool = make_pool(client={"flows": [FLOWS[flow], "ALLOW_REFRESH_TOKEN_AUTH"]})
    account = account_of(pool, flow=flow, environment=WITH_CREDENTIALS)
    assert account.login(*ADA).status == 200
    wrong = assert_refusal(account.login(ADA[0], "Not-The-Horse-1"), 401, "NotAuthorizedException")
    nobody = assert_refusal(account.login("nobody@example.com", "Not-The-Horse-1"), 401, "NotAuthorizedException")
    assert wrong["message"] == nobody["message"]
    unconfirmed = new_email()
    register(account, unconfirmed)
    assert_refusal(account.login(unconfirmed, PASSWORD), 403, "UserNotConfirmedException")
    email, tokens = signed_in_user(account, pool)
    key = set_up_totp(account, pool, tokens["access_token"])
    asked = account.login(email, PASSWORD).json()
    answer = account.answer_challenge(asked, code=one_time_code(pool, key))
    assert answer.status == 200, answer.body
    assert account.refresh(answer.json()["refresh_token"]).status == 200
    counts = control(pool, "GET", "calls")["counts"]
    if flow == "admin":
        assert "InitiateAuth" not in counts and counts["AdminInitiateAuth"] >= 4
    else:
        assert "AdminInitiateAuth" not in counts


def test_with_srp_cognito_never_sees_the_password(start_gateway, make_pool, ledger):
    pool = make_pool(client={"flows": ["ALLOW_USER_SRP_AUTH", "ALLOW_REFRESH_TOKEN_AUTH"]})
    front = CognitoFront(pool.url)
    try:
        changes = {"sign_in": {"cognito": pool.sign_in_settings("pool", endpoint=front.url, flow="srp")}}
        account = Account(start_gateway(changes, pool=pool).port, ledger)
        assert account.login(*ADA).status == 200
        assert front.operations() == ["InitiateAuth", "RespondToAuthChallenge"]
        assert ADA[1] not in repr(front.calls)
    finally:
        front.stop()


@pytest.mark.parametrize("flow", ["password", "srp"])
def test_a_pool_that_tells_who_exists_does_not_tell_it_through_the_gateway(account_of, make_pool, flow):
    """PreventUserExistenceErrors is LEGACY: the same answer, after as many calls."""
    pool = make_pool(prevent_user_existence_errors=False)
    account = account_of(pool, flow=flow)
    answers, calls = [], []
    for email in (ADA[0], "nobody@example.com"):
        before = sum(control(pool, "GET", "calls")["counts"].values())
        body = assert_refusal(account.login(email, "Not-The-Horse-1"), 401, "NotAuthorizedException")
        del body["requestId"]
        answers.append(body)
        calls.append(sum(control(pool, "GET", "calls")["counts"].values()) - before)
    assert answers[0] == answers[1]
    assert calls[0] == calls[1]
    for call in ("forgot-password", "resend-code"):
        assert account.post(call, {"email": "xnobody@example.com"}).status == 202
    body = {"email": "nobody@example.com", "code": "123456", "new_password": PASSWORD}
    assert_refusal(account.post("reset-password", body), 422, "CodeMismatchException")
    assert_refusal(account.post("confirm", {"email": body["email"], "code": "123456"}), 422, "CodeMismatchException")


def test_nobody_takes_as_long_as_a_wrong_password(account_of, make_pool):
    """Of what the gateway does itself, with a Cognito that answers both at once."""
    front = CognitoFront("http://127.0.0.1:9")
    try:
        account = account_of(make_pool(), endpoint=front.url)
        wrong = (400, "NotAuthorizedException", "Incorrect username or password.")
        unknown = (400, "UserNotFoundException", "User does not exist.")
        times: dict[tuple, list[float]] = {wrong: [], unknown: []}
        for _ in range(60):
            for refusal in (wrong, unknown):
                front.refused["InitiateAuth"] = refusal
                begin = time.perf_counter()
                assert account.login(ADA[0], "Not-The-Horse-1").status == 401
                times[refusal].append(time.perf_counter() - begin)
        # The quickest of each, which other work on the machine has delayed least.
        assert abs(min(times[wrong]) - min(times[unknown])) < 0.002 * PATIENCE
    finally:
        front.stop()


# MARK: AWS credentials


@pytest.mark.parametrize("source", ["file", "profile", "container", "instance"])
def test_credentials_come_from_where_aws_tools_find_them(account_of, make_pool, tmp_path, source):
    pool = make_pool()
    endpoint = CredentialEndpoint(ACCESS_KEY)
    entries = "\n".join(f"aws_{name} = {value}" for name, value in ACCESS_KEY.items())
    file = tmp_path / "credentials"
    try:
        if source == "file":
            file.write_text(f"# for tests\n[other]\naws_access_key_id = AKIAOTHER\n\n[default]\n{entries}\n")
            environment = {"AWS_SHARED_CREDENTIALS_FILE": str(file)}
        elif source == "profile":
            file.write_text(f"[default]\naws_access_key_id = X\naws_secret_access_key = Y\n[ gateway ]\n{entries}\n")
            environment = {"AWS_SHARED_CREDENTIALS_FILE": str(file), "AWS_PROFILE": "gateway"}
        elif source == "container":
            file.write_text(endpoint.token + "\n")
            environment = {
                "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{endpoint.url}/v2/credentials/1",
                "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": str(file),
            }
        else:
            environment = {"AWS_EC2_METADATA_DISABLED": "", "AWS_EC2_METADATA_SERVICE_ENDPOINT": endpoint.url}
        account = account_of(pool, flow="admin", environment={**NO_CREDENTIALS, **environment})
        for _ in range(2):
            assert account.login(*ADA).status == 200
        if source == "instance":
            roles = "/latest/meta-data/iam/security-credentials/"
            assert endpoint.asked == [("PUT", "/latest/api/token"), ("GET", roles), ("GET", f"{roles}gateway-role")]
        if source == "container":
            assert endpoint.asked == [("GET", "/v2/credentials/1")], "once, and then kept"
    finally:
        endpoint.stop()


@pytest.mark.parametrize(
    "environment, reason",
    [
        (NO_CREDENTIALS, "aws-credentials-missing"),
        ({**WITH_CREDENTIALS, "AWS_SECRET_ACCESS_KEY": "another-secret-access-key"}, "signature-refused"),
        ({**WITH_CREDENTIALS, "AWS_ACCESS_KEY_ID": "AKIASOMEBODYELSES"}, "signature-refused"),
        ({**NO_CREDENTIALS, "AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://192.0.2.1/"}, "aws-credentials-missing"),
    ],
    ids=["none", "wrong-secret", "unknown-key", "foreign-endpoint"],
)
def test_bad_credentials_are_the_gateways_fault(account_of, make_pool, environment, reason):
    account = account_of(make_pool(), flow="admin", environment=environment)
    assert_refusal(account.login(*ADA), 503, "IdentityProviderUnavailableException")
    line = wait_until(
        lambda: [line for line in account.gateway.log().splitlines() if " error " in line], "an error in the log"
    )[0]
    assert f"reason={reason}" in line.replace(" ", "").replace(":", "=") or reason in line


# MARK: Devices


@pytest.mark.parametrize("tracking", ["always", "opt_in"])
@pytest.mark.parametrize("flow", ["password", "srp"])
def test_a_remembered_device_stands_in_for_the_second_factor(account_of, make_pool, tracking, flow):
    pool = make_pool(devices=tracking)
    account = account_of(pool, flow=flow)
    device = {"device_id": "phone-1", "platform": "ios", "name": "Ada's phone"}
    email, tokens = signed_in_user(account, pool, device_info=device)
    assert account.refresh(tokens["refresh_token"]).status == 200, "a tracked device's token needs the device's key"
    key = set_up_totp(account, pool, tokens["access_token"])
    again = account.login(email, PASSWORD, device_info=device, device_token=tokens["device_token"])
    assert again.status == 200, again.body
    assert again.json()["device_token"]
    newest = account.refresh(again.json()["refresh_token"])
    assert newest.status == 200
    export = account.send("GET", "me/export", token=newest.json()["access_token"]).json()
    assert len(export["devices"]) == 1

    # Nothing else does: no token, no other account's, no device_id.
    assert account.login(email, PASSWORD, device_info=device).json()["challenge"] == "SOFTWARE_TOKEN_MFA"
    advance_clock(pool, 30)
    other, others = signed_in_user(account, pool, device_info=device)
    for wrong in (others["device_token"], tokens["device_token"][:-4] + "AAAA", tokens["refresh_token"]):
        assert account.login(email, PASSWORD, device_token=wrong).json()["challenge"] == "SOFTWARE_TOKEN_MFA"

    # A device that the user has taken out is a new one.
    cognito_client(pool.url).forget_device(
        AccessToken=newest.json()["access_token"], DeviceKey=export["devices"][0]["DeviceKey"]
    )
    asked = account.login(email, PASSWORD, device_token=tokens["device_token"])
    assert asked.json()["challenge"] == "SOFTWARE_TOKEN_MFA"
    signed_in = account.answer_challenge(asked.json(), code=one_time_code(pool, key))
    assert signed_in.status == 200 and signed_in.json()["device_token"] != tokens["device_token"]


def test_the_older_refresh_flow_knows_the_device_too(account_of, make_pool):
    """REFRESH_TOKEN_AUTH, where the pool has no GetTokensFromRefreshToken."""
    pool = make_pool(devices="always", get_tokens_from_refresh_token=False)
    account = account_of(pool)
    _, tokens = signed_in_user(account, pool)
    for _ in range(3):
        answer = account.refresh(tokens["refresh_token"])
        assert answer.status == 200, answer.body
        tokens = answer.json()
    assert control(pool, "GET", "calls")["counts"]["GetTokensFromRefreshToken"] == 1, "asked once, and then known"


def test_a_device_that_is_not_to_be_remembered(account_of, make_pool):
    pool = make_pool(devices="opt_in")
    account = account_of(pool)
    email, tokens = signed_in_user(account, pool, remember_me=False)
    set_up_totp(account, pool, tokens["access_token"])
    asked = account.login(email, PASSWORD, device_token=tokens["device_token"])
    assert asked.json()["challenge"] == "SOFTWARE_TOKEN_MFA"
