"""Sign-ins without a password through the gateway: codes, passkeys, custom challenges, and the list to choose from.
Nothing tells whether an account exists, or which factors it has."""

import json
import urllib.request

import pytest
from botocore.exceptions import ClientError
from harness import raw
from harness.account import Account, assert_refusal
from harness.authenticator import FLAG, Passkey
from harness.cognito_client import cognito_client
from harness.cognito_front import CognitoFront
from harness.gateway import POOL_CLIENT_ID, Gateway, LocalPool, gateway_config
from harness.local_pool_control import control
from harness.process import SILENT_PORT, wait_until
from harness.user import PASSWORD, confirmed_user, new_email, signed_in_user
from test_account_names import KEY

RELYING_PARTY = "auth.example.com"
ORIGIN = f"https://{RELYING_PARTY}"
FACTORS = ["EMAIL_OTP", "SMS_OTP", "WEB_AUTHN", "PASSWORD"]
PASSWORDLESS = {
    "passwordless": {"factors": FACTORS, "relying_party_id": RELYING_PARTY},
    "custom_auth": True,
    "client_metadata": ["campaign"],
    "login_with": ["email", "phone_number"],
}
MANY = {"address": "10000/1m", "account": "10000/1m", "global": "100000/1m"}
LIMITS = {"sign_in": MANY, "messages": MANY, "codes": MANY, "lockout": {"after": 5, "first": "10m"}}


@pytest.fixture(scope="module")
def choice_pool(run_directory, ledger):
    ledger.note(KEY["secret_access_key"])
    pool = LocalPool(
        run_directory,
        "pool-passwordless",
        {
            "first_factors": FACTORS,
            "web_authn": {"relying_party_id": RELYING_PARTY},
            "custom_auth": [{"parameters": {"question": "Your first pet?"}, "answer": "rex"}],
            "hourly_limits": False,
            "username_attributes": ["email", "phone_number"],
            "administrator": KEY,
        },
    )
    yield pool
    pool.stop()


@pytest.fixture(scope="module")
def front(choice_pool):
    """Notes what reaches Cognito."""
    front = CognitoFront(choice_pool.url)
    yield front
    front.stop()


@pytest.fixture(scope="module")
def choosing(run_directory, choice_pool, front, ledger, issuer):
    """One gateway for all of the module's tests."""
    directory = run_directory / "passwordless"
    directory.mkdir()
    cognito = choice_pool.sign_in_settings("pool", endpoint=front.url, **PASSWORDLESS)
    changes = {"sign_in": {"cognito": cognito}, "account_limits": LIMITS, "direct_cognito": "translate"}
    config = gateway_config(directory, "http://127.0.0.1:9", issuer.server.url, None, choice_pool, changes)
    gateway = Gateway(directory, "gateway", config)
    account = Account(gateway.port, ledger)
    account.gateway = gateway
    yield account
    gateway.stop()


def newest_code(pool: LocalPool, email: str) -> str:
    return control(pool, "GET", f"inbox?email={email}")[-1]["code"]


def begin(account: Account, email: str, **more) -> dict:
    answer = account.post("login", {"email": email, **more})
    assert answer.status == 202, answer.body
    return answer.json()


def add_passkey(account: Account, token: str, **changes) -> Passkey:
    options = account.post("me/passkeys/options", None, token)
    assert options.status == 200, options.body
    passkey = Passkey(ORIGIN)
    created = passkey.create(options.json()["options"], **changes)
    answer = account.post("me/passkeys", {"credential": created}, token)
    assert answer.status == 204, answer.body
    return passkey


# MARK: Codes


def test_a_code_by_mail_signs_in(choosing, choice_pool):
    email = confirmed_user(choosing, choice_pool)
    asked = begin(choosing, email, factor="EMAIL_OTP", device_info={"device_id": "d-1", "platform": "ios"})
    assert asked["challenge"] == "EMAIL_OTP"
    assert asked["parameters"] == {"destination": f"{email[0]}***@e***", "delivery_medium": "EMAIL"}
    code = newest_code(choice_pool, email)
    wrong = "000000" if code != "000000" else "000001"
    assert_refusal(choosing.answer_challenge(asked, code=wrong), 422, "CodeMismatchException")
    answer = choosing.answer_challenge(asked, code=code)
    assert answer.status == 200, answer.body
    assert answer.json()["user"]["email"] == email
    assert choosing.refresh(answer.json()["refresh_token"]).status == 200
    assert_refusal(choosing.answer_challenge(asked, code=code), 422, "CodeMismatchException")


def test_a_code_by_telephone_message_signs_in(choosing, choice_pool):
    number = "+15557650001"
    email, tokens = signed_in_user(choosing, choice_pool)
    client = cognito_client(choice_pool.url)
    token = tokens["access_token"]
    client.update_user_attributes(
        AccessToken=token, UserAttributes=[{"Name": "phone_number", "Value": number}]
    )
    code = control(choice_pool, "GET", "inbox?phone=%2B15557650001")[-1]["code"]
    client.verify_user_attribute(AccessToken=token, AttributeName="phone_number", Code=code)
    for name, shown in ((email, {}), (number, {"destination": "+*******0001"})):
        asked = begin(choosing, name, factor="SMS_OTP")
        assert asked["parameters"] == {"delivery_medium": "SMS", **shown}
        code = control(choice_pool, "GET", "inbox?phone=%2B15557650001")[-1]["code"]
        assert choosing.answer_challenge(asked, code=code).status == 200


def test_the_list_of_factors_leads_to_each(choosing, choice_pool):
    email = confirmed_user(choosing, choice_pool)
    asked = begin(choosing, email)
    assert asked["challenge"] == "SELECT_CHALLENGE" and asked["parameters"] == {"methods": FACTORS}
    refused = assert_refusal(choosing.answer_challenge(asked, answer="TELEGRAM"), 422, "InvalidParameterException")
    assert "answer" in refused["fields"]
    by_code = choosing.answer_challenge(asked, answer="EMAIL_OTP").json()
    assert choosing.answer_challenge(by_code, code=newest_code(choice_pool, email)).status == 200
    by_password = choosing.answer_challenge(asked, answer="PASSWORD").json()
    assert by_password["challenge"] == "PASSWORD"
    assert_refusal(choosing.answer_challenge(by_password, password="Wrong-1234"), 401, "NotAuthorizedException")
    assert choosing.answer_challenge(by_password, password=PASSWORD).status == 200
    # The session of one challenge does not answer another.
    forged = choosing.post("challenge", {"challenge": "PASSWORD", "session": by_code["session"], "password": PASSWORD})
    assert_refusal(forged, 422, "InvalidParameterException")
    assert choosing.login(email, PASSWORD).status == 200
    assert choosing.login(email, PASSWORD, factor="PASSWORD").status == 200
    answer = choosing.post("login", {"email": email, "factor": "TELEGRAM"})
    assert "factor" in assert_refusal(answer, 422, "InvalidParameterException")["fields"]


# MARK: Passkeys


def test_a_passkey_is_registered_used_listed_and_deleted(choosing, choice_pool):
    email, tokens = signed_in_user(choosing, choice_pool)
    token = tokens["access_token"]
    assert choosing.send("GET", "me/passkeys", token=token).json() == {"passkeys": []}
    passkey = add_passkey(choosing, token)
    [listed] = choosing.send("GET", "me/passkeys", token=token).json()["passkeys"]
    assert listed["relying_party_id"] == RELYING_PARTY and listed["transports"] == ["internal"]
    assert listed["attachment"] == "platform" and listed["created_at"].endswith("Z")

    asked = begin(choosing, email, factor="WEB_AUTHN")
    assert asked["challenge"] == "WEB_AUTHN"
    options = asked["parameters"]["options"]
    assert options["rpId"] == RELYING_PARTY and options["allowCredentials"] == []
    answer = choosing.answer_challenge(asked, credential=passkey.get(options))
    assert answer.status == 200, answer.body
    assert answer.json()["user"]["email"] == email

    path = f"me/passkeys/{listed['id']}"
    assert choosing.send("DELETE", path, token=token).status == 204
    assert_refusal(choosing.send("DELETE", path, token=token), 404, "NotFoundException")
    assert choosing.send("GET", "me/passkeys", token=token).json() == {"passkeys": []}
    asked = begin(choosing, email, factor="WEB_AUTHN")
    refused = choosing.answer_challenge(asked, credential=passkey.get(asked["parameters"]["options"]))
    assert_refusal(refused, 401, "NotAuthorizedException")


@pytest.mark.parametrize(
    "wrong",
    [{"origin": "https://evil.example.com"}, {"relying_party": "evil.example.com"}, {"flags": FLAG.UV}],
    ids=["origin", "relying party", "absent user"],
)
def test_a_wrong_passkey_response_is_refused(choosing, choice_pool, wrong):
    email, tokens = signed_in_user(choosing, choice_pool)
    token = tokens["access_token"]
    passkey = add_passkey(choosing, token)
    asked = begin(choosing, email, factor="WEB_AUTHN")
    credential = passkey.get(asked["parameters"]["options"], **wrong)
    answer = choosing.answer_challenge(asked, credential=credential)
    refused = assert_refusal(answer, 401, "NotAuthorizedException")
    assert refused["message"] == "Incorrect email or password."
    options = choosing.post("me/passkeys/options", None, token).json()["options"]
    created = Passkey(ORIGIN).create(options, **wrong)
    answer = choosing.post("me/passkeys", {"credential": created}, token)
    assert_refusal(answer, 422, "InvalidParameterException")


def test_passkey_calls_need_a_token_and_a_credential(choosing, choice_pool):
    for method, call in (("POST", "me/passkeys/options"), ("POST", "me/passkeys"), ("GET", "me/passkeys")):
        assert_refusal(choosing.send(method, call), 401, "NotAuthorizedException")
    _, tokens = signed_in_user(choosing, choice_pool)
    answer = choosing.post("me/passkeys", {"credential": "text"}, tokens["access_token"])
    assert assert_refusal(answer, 422, "InvalidParameterException")["fields"] == {"credential": "must be an object"}


# MARK: Custom challenges and metadata


def test_a_custom_challenge_passes_through(choosing, choice_pool):
    email = confirmed_user(choosing, choice_pool)
    asked = begin(choosing, email, factor="CUSTOM")
    assert asked["challenge"] == "CUSTOM_CHALLENGE" and asked["parameters"] == {"question": "Your first pet?"}
    refused = choosing.answer_challenge(asked, answer="max")
    assert_refusal(refused, 401, "NotAuthorizedException")
    asked = begin(choosing, email, factor="CUSTOM")
    answer = choosing.answer_challenge(asked, answer="rex")
    assert answer.status == 200 and answer.json()["user"]["email"] == email


def test_listed_metadata_goes_to_the_triggers(choosing, choice_pool, front):
    email = new_email()
    metadata = {"client_metadata": {"campaign": "spring"}}
    calls = {
        "SignUp": ("register", {"email": email, "password": PASSWORD}),
        "ResendConfirmationCode": ("resend-code", {"email": email}),
        "ConfirmSignUp": ("confirm", {"email": email}),
        "ForgotPassword": ("forgot-password", {"email": email}),
        "InitiateAuth": ("login", {"email": email, "password": PASSWORD}),
        "ConfirmForgotPassword": ("reset-password", {"email": email, "code": "000000", "new_password": PASSWORD}),
    }
    for operation, (call, body) in calls.items():
        if call == "confirm":
            body["code"] = newest_code(choice_pool, email)
        front.calls.clear()
        assert choosing.post(call, {**body, **metadata}).status in (200, 201, 202, 204, 422)
        assert [seen["ClientMetadata"] for name, seen in front.calls if name == operation] == [{"campaign": "spring"}]
        other = choosing.post(call, {**body, "client_metadata": {"role": "admin"}})
        refused = assert_refusal(other, 422, "InvalidParameterException")
        assert refused["fields"] == {"client_metadata.role": "is not accepted"}
    asked = begin(choosing, email, factor="EMAIL_OTP")
    front.calls.clear()
    choosing.answer_challenge(asked, code="000000", **metadata)
    assert front.calls[-1][1]["ClientMetadata"] == {"campaign": "spring"}


# MARK: Responses do not tell who has an account


def shape(answer: raw.Response) -> tuple:
    """All of an answer that is not of this one request: values that are random or sealed count by their length."""
    body = answer.json()
    body.pop("requestId", None)
    if "session" in body:
        body["session"] = len(body["session"])
    if "options" in body.get("parameters", {}):
        body["parameters"]["options"]["challenge"] = len(body["parameters"]["options"]["challenge"])
    if "destination" in body.get("parameters", {}):
        body["parameters"]["destination"] = "masked"
    changing = ("x-request-id", "date", "retry-after")
    headers = [(name, value) for name, value in answer.headers if name.lower() not in changing]
    return answer.status, body, headers


def test_wrong_codes_lock_known_and_unknown_accounts_alike(choosing, choice_pool):
    known = confirmed_user(choosing, choice_pool)
    results = {}
    for email in (known, new_email()):
        answers = []
        asked = begin(choosing, email, factor="EMAIL_OTP")
        for _ in range(5):
            step = begin(choosing, email, factor="EMAIL_OTP")
            answers.append(choosing.answer_challenge(step, code="00000x"))
        # The lock holds for each factor, also with the right proof.
        right = newest_code(choice_pool, email) if email == known else "000000"
        answers.append(choosing.answer_challenge(step, code=right))
        answers.append(choosing.answer_challenge(asked, code=right))
        answers += [choosing.post("login", {"email": email, "factor": factor}) for factor in FACTORS]
        answers.append(choosing.login(email, PASSWORD))
        assert [answer.status for answer in answers] == [422] * 5 + [429] * 7
        results[email] = str([shape(answer) for answer in answers])
    assert len(set(results.values())) == 1


def test_messages_have_a_budget(start_gateway, choice_pool, ledger):
    cognito = choice_pool.sign_in_settings("pool", **PASSWORDLESS)
    limits = {**LIMITS, "messages": {"address": "100/1m", "account": "2/1h", "global": "100/1m"}}
    gateway = start_gateway({"sign_in": {"cognito": cognito}, "account_limits": limits}, pool=choice_pool)
    account = Account(gateway.port, ledger)
    for email in (confirmed_user(account, choice_pool), new_email()):
        sent = [account.post("login", {"email": email, "factor": "EMAIL_OTP"}).status for _ in range(3)]
        assert sent[-1] == 429 and sent[0] in (202, 429), sent
    assert account.post("login", {"email": email, "factor": "WEB_AUTHN"}).status == 202


# MARK: Settings, second factors, unknown challenges


def test_nothing_is_offered_unless_it_is_set(account):
    answer = account.post("login", {"email": "ada@example.com"})
    assert assert_refusal(answer, 422, "InvalidParameterException")["fields"] == {"password": "is required"}
    answer = account.post("login", {"email": "ada@example.com", "factor": "EMAIL_OTP"})
    assert "factor" in assert_refusal(answer, 422, "InvalidParameterException")["fields"]
    answer = account.post("login", {"email": "ada@example.com", "factor": "CUSTOM"})
    assert "factor" in assert_refusal(answer, 422, "InvalidParameterException")["fields"]
    answer = account.post("login", {"email": "ada@example.com", "password": "x", "client_metadata": {"a": "b"}})
    assert_refusal(answer, 422, "InvalidParameterException")


@pytest.mark.parametrize(
    "method, field, query",
    [("EMAIL_OTP", {"email": "second@example.com"}, "email=second@example.com"),
     ("SMS_MFA", {"phone_number": "+15557650002"}, "phone=%2B15557650002")],
)
def test_a_pool_that_requires_codes_by_message_has_them_set_up(run_directory, start_gateway, ledger, method, field, query):
    pool = LocalPool(run_directory, f"pool-set-up-{method}", {"mfa": {"mode": "required", "methods": [method]}})
    try:
        gateway = start_gateway({"sign_in": {"cognito": pool.sign_in_settings("pool")}}, pool=pool)
        account = Account(gateway.port, ledger)
        email = confirmed_user(account, pool)
        asked = account.login(email, PASSWORD).json()
        assert asked["challenge"] == "MFA_SETUP" and asked["parameters"] == {"methods": [method]}
        if method == "SMS_MFA":
            wrong = account.answer_challenge(asked, phone_number="5557650002")
            assert "phone_number" in assert_refusal(wrong, 422, "InvalidParameterException")["fields"]
        code_asked = account.answer_challenge(asked, **field)
        assert code_asked.status == 202 and code_asked.json()["challenge"] == method, code_asked.body
        code = control(pool, "GET", f"inbox?{query}")[-1]["code"]
        answer = account.answer_challenge(code_asked.json(), code=code)
        assert answer.status == 200, answer.body
        next_email = field.get("email", email)
        assert account.login(next_email, PASSWORD).json()["challenge"] == method
    finally:
        pool.stop()


@pytest.fixture(scope="module")
def asked_anything(run_directory, pool, issuer, ledger):
    """A gateway without any of this file's settings, and what stands between it and Cognito."""
    front = CognitoFront(pool.url)
    directory = run_directory / "unknown-challenges"
    directory.mkdir()
    changes = {"sign_in": {"cognito": {"endpoint": front.url}}}
    nobody = f"http://127.0.0.1:{SILENT_PORT}"
    gateway = Gateway(directory, "gateway", gateway_config(directory, nobody, issuer.server.url, None, pool, changes))
    account = Account(gateway.port, ledger)
    account.gateway = gateway
    yield account, front
    gateway.stop()
    front.stop()


@pytest.mark.parametrize(
    "challenge, parameters",
    [("FACE_SCAN", {}), ("MFA_SETUP", {"MFAS_CAN_SETUP": '["FACE_SCAN"]'}), ("CUSTOM_CHALLENGE", {})],
)
def test_an_unknown_challenge_is_403_and_named_in_the_log(asked_anything, challenge, parameters):
    account, front = asked_anything
    front.outputs["InitiateAuth"] = {
        "ChallengeName": challenge,
        "Session": "s" * 30,
        "ChallengeParameters": parameters,
    }
    answer = account.login("ada@example.com", "Some-Password-1")
    assert_refusal(answer, 403, "UnsupportedChallengeException")
    name = f"{challenge}: FACE_SCAN" if parameters else challenge
    asked = answer.header("x-request-id")

    def told() -> bool:
        lines = account.gateway.process.errors().splitlines()
        return any(name in line and asked in line for line in lines)

    wait_until(told, "the name of the challenge in the log")


# MARK: Translated calls


def test_a_released_app_uses_the_same_flows(choosing, choice_pool):
    """boto3, without the secret, at the gateway."""
    client = cognito_client(choosing.gateway.url)
    email, tokens = signed_in_user(choosing, choice_pool)

    def start(**more) -> dict:
        return client.initiate_auth(
            ClientId=POOL_CLIENT_ID, AuthFlow="USER_AUTH", AuthParameters={"USERNAME": email, **more}
        )

    def respond(asked: dict, **answers) -> dict:
        return client.respond_to_auth_challenge(
            ClientId=POOL_CLIENT_ID,
            ChallengeName=asked["ChallengeName"],
            Session=asked["Session"],
            ChallengeResponses={"USERNAME": email, **answers},
        )

    asked = start()
    assert asked["ChallengeName"] == "SELECT_CHALLENGE" and "EMAIL_OTP" in asked["AvailableChallenges"]
    asked = respond(asked, ANSWER="EMAIL_OTP")
    token = respond(asked, EMAIL_OTP_CODE=newest_code(choice_pool, email))["AuthenticationResult"]["AccessToken"]
    options = client.start_web_authn_registration(AccessToken=token)["CredentialCreationOptions"]
    passkey = Passkey(ORIGIN)
    client.complete_web_authn_registration(AccessToken=token, Credential=passkey.create(options))
    assert "WEB_AUTHN" in client.get_user_auth_factors(AccessToken=token)["ConfiguredUserAuthFactors"]
    asked = start(PREFERRED_CHALLENGE="WEB_AUTHN")
    options = json.loads(asked["ChallengeParameters"]["CREDENTIAL_REQUEST_OPTIONS"])
    answer = respond(asked, CREDENTIAL=json.dumps(passkey.get(options)))
    assert "AuthenticationResult" in answer
    [listed] = client.list_web_authn_credentials(AccessToken=token)["Credentials"]
    client.delete_web_authn_credential(AccessToken=token, CredentialId=listed["CredentialId"])
    custom = client.initiate_auth(
        ClientId=POOL_CLIENT_ID, AuthFlow="CUSTOM_AUTH", AuthParameters={"USERNAME": email}
    )
    assert "AuthenticationResult" in respond(custom, ANSWER="rex")
    # Wrong codes count as wrong passwords do.
    for _ in range(5):
        asked = start(PREFERRED_CHALLENGE="EMAIL_OTP")
        with pytest.raises(ClientError):
            respond(asked, EMAIL_OTP_CODE="00000x")
    assert_refusal(choosing.login(email, PASSWORD), 429, "TooManyRequestsException")


def test_sign_ins_count_by_method(choosing, choice_pool):
    email = confirmed_user(choosing, choice_pool)
    asked = begin(choosing, email, factor="EMAIL_OTP")
    assert choosing.answer_challenge(asked, code=newest_code(choice_pool, email)).status == 200
    with urllib.request.urlopen(f"http://127.0.0.1:{choosing.gateway.admin_port}/metrics") as answer:
        metrics = answer.read().decode()
    for method in ("passwordless", "passkey", "custom", "password"):
        assert f'method="{method}"' in metrics
    counted = 'gatehouse_sign_ins_total{method="passwordless",result="success"}'
    [line] = [line for line in metrics.splitlines() if line.startswith(counted)]
    assert float(line.rsplit(" ", 1)[1]) >= 1
