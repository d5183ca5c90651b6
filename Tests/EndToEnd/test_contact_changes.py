"""Changes of e-mail address, phone number and second factors: what proves them, and what they say of others."""

import pytest
from harness.account import Account, assert_refusal
from harness.cognito_client import cognito_client
from harness.gateway import Gateway, LocalPool, gateway_config
from harness.local_pool_control import control, one_time_code
from harness.process import SILENT_PORT, wait_until
from harness.user import PASSWORD, confirmed_user, new_email, signed_in_user

BEFORE_UPDATE = {"attributes_require_verification_before_update": ["email", "phone_number"]}
_numbers = iter(range(1_000_000, 2_000_000))


def new_number() -> str:
    return f"+4915{next(_numbers):07}"


@pytest.fixture(scope="module")
def pools(run_directory):
    """A pool that takes a new address at once, and one that waits for its code."""
    made = {
        name: LocalPool(run_directory, f"contact-{name}", {"hourly_limits": False, "lockout": False, **more})
        for name, more in {"at-once": {}, "waiting": BEFORE_UPDATE}.items()
    }
    yield made
    for pool in made.values():
        pool.stop()


@pytest.fixture(params=["at-once", "waiting"])
def kind(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def gateways(run_directory, issuer, pools):
    """One before each pool, for tests that want no settings of their own."""
    made = {}
    for kind, pool in pools.items():
        directory = run_directory / f"contact-gateway-{kind}"
        directory.mkdir()
        nobody = f"http://127.0.0.1:{SILENT_PORT}"
        config = gateway_config(directory, nobody, issuer.server.url, None, pool)
        made[kind] = Gateway(directory, "gateway", config)
    yield made
    for gateway in made.values():
        gateway.stop()


@pytest.fixture
def start(start_gateway, gateways, ledger, pools):
    def start(kind: str, more: dict | None = None, **sign_in) -> tuple[Account, LocalPool]:
        gateway = gateways[kind]
        if more or sign_in:
            changes = {**(more or {}), "sign_in": {"cognito": pools[kind].sign_in_settings("pool", **sign_in)}}
            gateway = start_gateway(changes, pool=pools[kind])
        account = Account(gateway.port, ledger)
        account.gateway = gateway
        return account, pools[kind]

    return start


def codes(pool: LocalPool, address: str) -> list[str]:
    name = "phone" if address.startswith("+") else "email"
    return [message["code"] for message in control(pool, "GET", f"inbox?{name}={address.replace('+', '%2B')}")]


def change(account: Account, tokens: dict, address: str, **more):
    call, field = ("me/phone", "phone_number") if address.startswith("+") else ("me/email", "email")
    body = {field: address, "current_password": PASSWORD, **more}
    return account.post(call, {name: value for name, value in body.items() if value is not None}, tokens["access_token"])


def verify(account: Account, tokens: dict, what: str, code: str):
    return account.post(f"me/{what}/verify", {"code": code}, tokens["access_token"])


def test_an_email_address_is_changed_by_its_code(start, kind):
    account, pool = start(kind)
    old, tokens = signed_in_user(account, pool)
    new = new_email()
    begun = change(account, tokens, new)
    assert begun.status == 202, begun.body
    assert begun.json() == {"delivery": {"destination": f"{new[0]}***@e***", "medium": "EMAIL"}}
    user = account.me(tokens["access_token"]).json()
    assert (user["email"], user["email_verified"]) == ((new, False) if kind == "at-once" else (old, True))
    wrong = "000000" if codes(pool, new)[-1] != "000000" else "000001"
    assert_refusal(verify(account, tokens, "email", wrong), 422, "CodeMismatchException")
    resent = account.post("me/email/resend", {}, tokens["access_token"])
    assert resent.status == 202 and resent.json()["delivery"]["medium"] == "EMAIL"
    verified = verify(account, tokens, "email", codes(pool, new)[-1])
    assert verified.status == 200, verified.body
    assert (verified.json()["email"], verified.json()["email_verified"]) == (new, True)
    assert account.me(tokens["access_token"]).json() == verified.json()
    assert account.login(new, PASSWORD).status == 200
    assert_refusal(account.login(old, PASSWORD), 401, "NotAuthorizedException")
    asked = verified.header("x-request-id")
    told = lambda: [line for line in account.gateway.audit_log("email_changed") if line["request_id"] == asked]
    wait_until(told, "the audit event")
    again = assert_refusal(change(account, tokens, new), 422, "InvalidParameterException")
    assert again["fields"] == {"email": "is verified already"}


def test_a_change_whose_user_cannot_be_read_after_it_is_in_the_audit_log(start, kind):
    account, pool = start(kind)
    _, tokens = signed_in_user(account, pool)
    new = new_email()
    assert change(account, tokens, new).status == 202
    control(pool, "POST", "faults", [{"operation": "GetUser", "drop": "after"}])
    try:
        failed = verify(account, tokens, "email", codes(pool, new)[-1])
    finally:
        control(pool, "DELETE", "faults")
    assert_refusal(failed, 503, "IdentityProviderUnavailableException")
    asked = failed.header("x-request-id")
    told = lambda: [line for line in account.gateway.audit_log("email_changed") if line["request_id"] == asked]
    wait_until(told, "the audit event")
    user = account.me(tokens["access_token"]).json()
    assert (user["email"], user["email_verified"]) == (new, True)


def test_a_phone_number_is_changed_by_its_code(start, kind):
    account, pool = start(kind)
    _, tokens = signed_in_user(account, pool)
    number = new_number()
    begun = change(account, tokens, number)
    assert begun.json() == {"delivery": {"destination": f"+*******{number[-4:]}", "medium": "SMS"}}
    assert account.post("me/phone/resend", {}, tokens["access_token"]).status == 202
    verified = verify(account, tokens, "phone", codes(pool, number)[-1])
    assert verified.status == 200, verified.body
    attributes = verified.json()["attributes"]
    assert (attributes["phone_number"], attributes["phone_number_verified"]) == (number, True)
    asked = verified.header("x-request-id")
    told = lambda: [line for line in account.gateway.audit_log("phone_number_changed") if line["request_id"] == asked]
    wait_until(told, "the audit event")


def test_a_stolen_token_changes_neither(start):
    account, pool = start("waiting")
    _, tokens = signed_in_user(account, pool)
    for address in (new_email(), new_number()):
        missing = assert_refusal(change(account, tokens, address, current_password=None), 422, "InvalidParameterException")
        assert missing["fields"] == {"current_password": "is required"}
        wrong = change(account, tokens, address, current_password="Wrong-Horse-99")
        fields = assert_refusal(wrong, 422, "InvalidParameterException")["fields"]
        assert fields == {"current_password": "is not right"}
        assert codes(pool, address) == [], "nothing was sent"
    for body in ({"email": new_email()}, {"attributes": {"phone_number": new_number()}}, {"attributes": {"email": new_email()}}):
        assert_refusal(account.send("PATCH", "me", body, tokens["access_token"]), 422, "InvalidParameterException")
    assert account.me(tokens["access_token"]).json()["attributes"].get("phone_number") is None


def test_wrong_passwords_lock_the_account_that_they_are_of(start):
    account, pool = start("waiting", {"account_limits": {"lockout": {"after": 5, "first": "5m"}}})
    email, tokens = signed_in_user(account, pool)
    for _ in range(5):
        assert change(account, tokens, new_email(), current_password="Wrong-Horse-99").status == 422
    locked = change(account, tokens, new_email())
    assert_refusal(locked, 429, "TooManyRequestsException")
    assert_refusal(account.login(email, PASSWORD), 401, "NotAuthorizedException")


def test_the_password_check_leaves_no_session(start):
    account, pool = start("waiting")
    _, tokens = signed_in_user(account, pool)
    before = control(pool, "GET", "calls")["counts"]
    assert change(account, tokens, new_email()).status == 202
    after = control(pool, "GET", "calls")["counts"]
    assert after["InitiateAuth"] == before["InitiateAuth"] + 1
    assert after["RevokeToken"] == before.get("RevokeToken", 0) + 1
    assert len(account.send("GET", "me/sessions", token=tokens["access_token"]).json()["sessions"]) == 1


def test_an_address_of_somebody_elses_looks_like_any_other(start, kind):
    account, pool = start(kind)
    taken = confirmed_user(account, pool)
    _, tokens = signed_in_user(account, pool)
    _, others = signed_in_user(account, pool)
    free = new_email()
    answers = [change(account, tokens, taken), change(account, others, free)]
    assert [answer.status for answer in answers] == [202, 202]
    assert answers[0].json().keys() == answers[1].json().keys()
    assert [name for name, _ in answers[0].headers] == [name for name, _ in answers[1].headers]
    refusals = []
    for who in (tokens, others):
        wrong = assert_refusal(verify(account, who, "email", "000000"), 422, "CodeMismatchException")
        del wrong["requestId"]
        refusals.append(wrong)
    assert refusals[0] == refusals[1]
    assert account.login(taken, PASSWORD).status == 200


def test_who_reads_its_messages_hears_that_an_address_is_taken(start):
    account, pool = start("waiting")
    _, tokens = signed_in_user(account, pool)
    taken = confirmed_user(account, pool)
    assert change(account, tokens, taken).status == 202
    code = codes(pool, taken)[-1]
    assert_refusal(verify(account, tokens, "email", code), 409, "UsernameExistsException")
    assert account.me(tokens["access_token"]).json()["email"] != taken


@pytest.mark.parametrize(
    "call, body, field",
    [
        ("me/email", {"email": "no address"}, "email"),
        ("me/email", {}, "email"),
        ("me/phone", {"phone_number": "0151 2345678"}, "phone_number"),
        ("me/phone", {"phone_number": "+0151234567"}, "phone_number"),
        ("me/phone", {"phone_number": "+49" + "1" * 20}, "phone_number"),
        ("me/email/verify", {"code": "12 34"}, "code"),
        ("me/phone/verify", {}, "code"),
    ],
    ids=str,
)
def test_what_is_no_address_or_code_is_422(account, pool, call, body, field):
    _, tokens = signed_in_user(account, pool)
    refusal = account.post(call, {"current_password": PASSWORD, **body}, tokens["access_token"])
    assert list(assert_refusal(refusal, 422, "InvalidParameterException")["fields"]) == [field]


def test_a_recent_sign_in_is_enough_where_the_settings_say_so(start):
    account, pool = start("waiting", contact_change={"proof": "recent_sign_in", "recent_sign_in": "30s"})
    _, tokens = signed_in_user(account, pool)
    assert change(account, tokens, new_email(), current_password=None).status == 202
    assert change(account, tokens, new_email(), current_password=PASSWORD).status == 202
    assert change(account, tokens, new_email(), current_password="Wrong-Horse-99").status == 422


# MARK: Second factors


def test_second_factors_are_listed_enabled_preferred_and_removed(start):
    account, pool = start("waiting")
    email, tokens = signed_in_user(account, pool)
    token = tokens["access_token"]

    def factors(**body):
        answer = account.send("PATCH", "mfa", body, token) if body else account.send("GET", "mfa", token=token)
        assert answer.status == 200, answer.body
        return answer.json()

    assert factors() == {"enabled": [], "preferred": None, "available": ["EMAIL_OTP"]}
    refused = account.send("PATCH", "mfa", {"enabled": ["SMS_MFA"]}, token)
    assert assert_refusal(refused, 422, "InvalidParameterException")["fields"] == {"enabled": "SMS_MFA needs a verified phone_number"}
    number = new_number()
    assert change(account, tokens, number).status == 202
    assert verify(account, tokens, "phone", codes(pool, number)[-1]).status == 200
    both = factors(enabled=["SMS_MFA", "EMAIL_OTP"], preferred="EMAIL_OTP")
    assert both == {"enabled": ["SMS_MFA", "EMAIL_OTP"], "preferred": "EMAIL_OTP", "available": ["SMS_MFA", "EMAIL_OTP"]}
    assert account.login(email, PASSWORD).json()["challenge"] == "EMAIL_OTP"
    assert factors(preferred="SMS_MFA") == {**both, "preferred": "SMS_MFA"}
    assert account.login(email, PASSWORD).json()["challenge"] == "SMS_MFA"
    secret = account.post("mfa/totp", {}, token).json()["secret"]
    account.ledger.note(secret)
    verified = account.post("mfa/totp/verify", {"code": one_time_code(pool, secret)}, token)
    assert verified.status == 204
    assert factors() == {
        "enabled": ["SOFTWARE_TOKEN_MFA", "SMS_MFA", "EMAIL_OTP"],
        "preferred": "SOFTWARE_TOKEN_MFA",
        "available": ["SOFTWARE_TOKEN_MFA", "SMS_MFA", "EMAIL_OTP"],
    }
    model = cognito_client(pool.url).get_user(AccessToken=token)
    assert sorted(model["UserMFASettingList"]) == ["EMAIL_OTP", "SMS_MFA", "SOFTWARE_TOKEN_MFA"]
    assert model["PreferredMfaSetting"] == "SOFTWARE_TOKEN_MFA"
    assert factors(enabled=["SOFTWARE_TOKEN_MFA", "SMS_MFA"])["preferred"] == "SOFTWARE_TOKEN_MFA"
    assert factors(preferred=None)["preferred"] is None
    assert sorted(account.login(email, PASSWORD).json()["parameters"]["methods"]) == ["SMS_MFA", "SOFTWARE_TOKEN_MFA"]
    cleared = account.send("PATCH", "mfa", {"enabled": []}, token)
    assert cleared.json()["enabled"] == []
    assert account.login(email, PASSWORD).status == 200
    expected = {(verified.header("x-request-id"), "verify-totp"), (cleared.header("x-request-id"), "set-mfa")}

    def audited() -> set[tuple[str, str]]:
        events = account.gateway.audit_log("second_factors_changed")
        return {(event["request_id"], event["operation"]) for event in events}

    wait_until(lambda: audited() >= expected, "the audit events of both calls")


@pytest.mark.parametrize(
    "body, field",
    [
        ({"enabled": "SMS_MFA"}, "enabled"),
        ({"enabled": ["PASSKEY"]}, "enabled"),
        ({"enabled": [], "preferred": "EMAIL_OTP"}, "preferred"),
        ({"enabled": [], "preferred": "x"}, "preferred"),
    ],
    ids=str,
)
def test_what_is_no_second_factor_is_422(account, pool, body, field):
    _, tokens = signed_in_user(account, pool)
    refusal = account.send("PATCH", "mfa", body, tokens["access_token"])
    assert list(assert_refusal(refusal, 422, "InvalidParameterException")["fields"]) == [field]
