"""Pools whose users have other names than e-mail addresses, and registrations that a pool refuses."""

import json
import unicodedata
import urllib.parse
import urllib.request

import boto3
import pytest
import yaml
from harness import documentation
from harness.account import Account, assert_refusal
from harness.cognito_client import cognito_client, secret_hash
from harness.cognito_front import CognitoFront
from harness.gateway import POOL_CLIENT_ID, POOL_CLIENT_SECRET, POOL_ID, Gateway, LocalPool, Served, gateway_config
from harness.process import accepts_connections, free_port, wait_until
from harness.user import PASSWORD, new_email

KEY = {"access_key_id": "AKIAPOOLNAMES", "secret_access_key": "pool-names-secret-access-key"}
COMMON = {"administrator": KEY, "hourly_limits": False}
SCHEMA = {
    "attributes": [
        {"name": "family_name", "required": True},
        {"name": "custom:plan", "minimum": 2, "maximum": 8},
        {"name": "custom:tenant", "mutable": False},
    ]
}
POOLS = {
    "aliases": {"alias_attributes": ["email", "phone_number", "preferred_username"], "users": []},
    "phones": {"username_attributes": ["phone_number"], "users": []},
    "names": {"username_attributes": [], "users": []},
    "schema": {**SCHEMA, "users": []},
    "closed": {"allow_admin_create_user_only": True},
}

_phones = iter(range(15560000000, 15569999999))
_names = iter(range(10_000))


def new_phone() -> str:
    return f"+{next(_phones)}"


def new_name(stem: str = "ada") -> str:
    return f"{stem}-{next(_names)}"


@pytest.fixture(scope="module")
def pools(run_directory, ledger):
    ledger.note(KEY["secret_access_key"], PASSWORD, POOL_CLIENT_SECRET)
    running: dict[str, LocalPool] = {}

    def get(kind: str) -> LocalPool:
        if kind not in running:
            running[kind] = LocalPool(run_directory, f"pool-of-{kind}", {**COMMON, **POOLS[kind]})
        return running[kind]

    yield get
    for pool in running.values():
        pool.stop()


@pytest.fixture(scope="module")
def make(run_directory, ledger, pools, shared_recorder, issuer):
    """An app before a gateway before the pool of a kind; gateways with the same settings are shared."""
    accounts: dict[str, Account] = {}

    def account(kind: str, front: CognitoFront | None = None, **cognito) -> Account:
        known = f"{kind} {sorted(cognito.items())} {front and front.url}"
        if known not in accounts:
            pool = pools(kind)
            changes = {"endpoint": front.url} if front else {}
            settings = {"sign_in": {"cognito": pool.sign_in_settings("pool", **changes, **cognito)}}
            directory = run_directory / f"pool-names-{len(accounts)}"
            directory.mkdir()
            config = gateway_config(directory, shared_recorder.url, issuer.server.url, None, pool, settings)
            gateway = Gateway(directory, "gateway", config)
            accounts[known] = Account(gateway.port, ledger)
            accounts[known].gateway, accounts[known].pool = gateway, pool
        return accounts[known]

    yield account
    for each in accounts.values():
        each.gateway.stop()


def code_by_sms(pool: LocalPool, number: str) -> str:
    """The newest code that was sent to this number."""
    url = f"{pool.url}/_local/inbox?{urllib.parse.urlencode({'phone': number})}"
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.loads(answer.read())[-1]["code"]


def administrator(pool: LocalPool):
    credentials = {"aws_access_key_id": KEY["access_key_id"], "aws_secret_access_key": KEY["secret_access_key"]}
    return boto3.client("cognito-idp", region_name="eu-central-1", endpoint_url=pool.url, **credentials)


# MARK: Names


def test_a_telephone_number_is_a_name_for_every_call(make):
    account = make("phones", login_with=["phone_number"])
    phone = new_phone()
    made = account.post("register", {"phone_number": phone, "password": PASSWORD})
    assert made.status == 201
    assert made.json()["delivery"] == {"destination": f"+*******{phone[-4:]}", "medium": "SMS"}
    assert "username" not in made.json()
    assert account.post("resend-code", {"phone_number": phone}).json()["delivery"]["medium"] == "SMS"
    confirm = {"phone_number": phone, "code": code_by_sms(account.pool, phone), "password": PASSWORD}
    assert account.post("confirm", confirm).status == 200
    user = account.post("login", {"phone_number": phone, "password": PASSWORD}).json()["user"]
    assert user["attributes"]["phone_number"] == phone and user["email"] is None
    assert account.post("forgot-password", {"phone_number": phone}).status == 202
    reset = {"phone_number": phone, "code": code_by_sms(account.pool, phone), "new_password": "Another-Horse-9"}
    assert account.post("reset-password", reset).status == 204
    assert account.post("login", {"phone_number": phone, "password": "Another-Horse-9"}).status == 200
    # The field of earlier versions goes on to take every kind of name.
    assert account.post("login", {"email": phone, "password": "Another-Horse-9"}).status == 200


@pytest.mark.parametrize("name", ["ada@home", "+4915112345678", "7b0f3a52-4d5e-4f60-8a7b-1c2d3e4f5a61"])
def test_a_user_name_that_no_later_call_would_take_is_refused_at_the_registration(make, name):
    refused = make("names", login_with=["username"]).post("register", {"username": name, "password": PASSWORD})
    assert refused.status == 422 and list(refused.json()["fields"]) == ["username"]


def test_a_user_name_of_any_script_is_a_name_for_every_call(make):
    account = make("names", login_with=["username"])
    for stem in ("ada", "Юлия", "नीलम", "李小龍", "№7!"):
        name = new_name(stem)
        registration = {"username": name, "password": PASSWORD, "attributes": {}}
        assert account.post("register", registration).status == 201, name
        administrator(account.pool).admin_confirm_sign_up(UserPoolId=POOL_ID, Username=name)
        answer = account.post("login", {"username": name, "password": PASSWORD})
        assert answer.status == 200 and answer.json()["user"]["username"] == name
        refreshed = account.refresh(answer.json()["refresh_token"])
        assert refreshed.status == 200


def test_both_spellings_of_an_accent_are_one_name(make):
    account = make("names", login_with=["username"])
    name = unicodedata.normalize("NFC", new_name("éva"))
    assert account.post("register", {"username": unicodedata.normalize("NFD", name), "password": PASSWORD}).status == 201
    administrator(account.pool).admin_confirm_sign_up(UserPoolId=POOL_ID, Username=name)
    for form in ("NFC", "NFD"):
        answer = account.post("login", {"username": unicodedata.normalize(form, name), "password": PASSWORD})
        assert answer.status == 200 and answer.json()["user"]["username"] == name
    again = account.post("register", {"username": unicodedata.normalize("NFD", name), "password": PASSWORD})
    assert_refusal(again, 409, "UsernameExistsException")


@pytest.mark.parametrize("name", ["a b", "a\u200bb", "a\u202eb", "", "x" * 129])
def test_a_user_name_has_nothing_invisible(make, name):
    account = make("names", login_with=["username"])
    for call, more in (("login", {}), ("register", {}), ("forgot-password", {})):
        answer = account.post(call, {"username": name, "password": PASSWORD, **more})
        assert "username" in assert_refusal(answer, 422, "InvalidParameterException")["fields"]


CALLS = {
    "login": {"password": PASSWORD},
    "register": {"password": PASSWORD},
    "confirm": {"code": "123456"},
    "resend-code": {},
    "forgot-password": {},
    "reset-password": {"code": "123456", "new_password": PASSWORD},
}


@pytest.mark.parametrize("call", CALLS)
def test_exactly_one_name_is_given(make, call):
    account = make("names", login_with=["username", "phone_number", "email"])
    none = assert_refusal(account.post(call, CALLS[call]), 422, "InvalidParameterException")
    assert none["fields"] == {"email": "is required, or another one of email, phone_number, username"}
    both = account.post(call, {**CALLS[call], "username": "ada", "phone_number": "+15551234567"})
    fault = "only one of email, phone_number, username may be given"
    fields = assert_refusal(both, 422, "InvalidParameterException")["fields"]
    assert fields == {"username": fault, "phone_number": fault}
    wrong = account.post(call, {**CALLS[call], "phone_number": "555"})
    assert "phone_number" in assert_refusal(wrong, 422, "InvalidParameterException")["fields"]


@pytest.mark.parametrize("call", CALLS)
def test_without_the_setting_there_is_email_alone(make, call):
    account = make("schema")
    fields = assert_refusal(account.post(call, {**CALLS[call], "username": "ada"}), 422, "InvalidParameterException")
    assert fields["fields"] == {"email": "is required"}


def test_a_chosen_name_and_its_aliases_are_one_account(make):
    account = make("aliases", login_with=["username", "email", "phone_number"], registration_name="username", flow="srp")
    name, email, phone = new_name("Ada"), new_email(), new_phone()
    made = account.post("register", {"username": name, "email": email, "password": PASSWORD, "attributes": {"phone_number": phone}})
    assert made.status == 201 and made.json()["username"] == name
    code = code_by_sms(account.pool, phone)
    assert account.post("confirm", {"username": name, "code": code}).status == 204
    client = administrator(account.pool)
    client.admin_update_user_attributes(
        UserPoolId=POOL_ID, Username=name, UserAttributes=[{"Name": "email_verified", "Value": "true"}]
    )
    users = [
        account.post("login", {field: value, "password": PASSWORD}).json()["user"]
        for field, value in (("username", name.upper()), ("email", email), ("phone_number", phone))
    ]
    assert {user["id"] for user in users} == {made.json()["user_id"]}
    assert {user["username"] for user in users} == {name}
    taken = account.post("register", {"username": name.lower(), "email": new_email(), "password": PASSWORD})
    assert_refusal(taken, 409, "UsernameExistsException")


def test_a_generated_name_confirms_and_an_address_signs_in(make):
    account = make("aliases", login_with=["email", "phone_number"], registration_name="generated")
    email = new_email()
    made = account.post("register", {"email": email, "password": PASSWORD})
    assert made.status == 201
    name = made.json()["username"]
    assert len(name) == 32 and set(name) <= set("0123456789abcdef")
    assert account.post("resend-code", {"username": name}).status == 202
    confirm = {"username": name, "code": account.pool.confirmation_code(email), "password": PASSWORD}
    assert account.post("confirm", confirm).status == 200
    assert account.login(email, PASSWORD).json()["user"]["username"] == name
    # It is no name to sign in with, as no setting says so.
    assert account.post("login", {"username": name, "password": PASSWORD}).status == 422
    assert_refusal(account.login(name, PASSWORD), 401, "NotAuthorizedException")
    missing = assert_refusal(account.post("register", {"password": PASSWORD}), 422, "InvalidParameterException")
    assert missing["fields"] == {"email": "is required, or phone_number"}


@pytest.mark.parametrize("names", [("username", "email"), ("email", "username")])
def test_failures_under_a_user_name_and_an_alias_add_up(start_gateway, pools, ledger, names):
    pool = pools("aliases")
    cognito = pool.sign_in_settings("pool", login_with=["username", "email"], registration_name="username", flow="srp")
    settings = {"sign_in": {"cognito": cognito}, "account_limits": {"lockout": {"after": 5, "first": "10m"}}}
    account = Account(start_gateway(settings, pool=pool).port, ledger)
    values = {"username": new_name("lock"), "email": new_email()}
    account.post("register", {**values, "password": PASSWORD})
    code = pool.confirmation_code(values["email"])
    assert account.post("confirm", {"username": values["username"], "code": code}).status == 204
    for count, field in ((3, names[0]), (2, names[1])):
        for _ in range(count):
            wrong = account.post("login", {field: values[field], "password": "Not-The-Horse-1"})
            assert_refusal(wrong, 401, "NotAuthorizedException")
    for field in names:
        assert_refusal(account.post("login", {field: values[field], "password": PASSWORD}), 401, "NotAuthorizedException")


def test_the_secret_hash_is_of_the_bytes_that_are_sent(make, pools):
    front = CognitoFront(pools("names").url)
    try:
        account = make("names", front=front, login_with=["username"])
        name = new_name("Žofie")
        account.post("login", {"username": unicodedata.normalize("NFD", name), "password": PASSWORD})
        parameters = front.calls[-1][1]["AuthParameters"]
        assert parameters["USERNAME"].encode() == unicodedata.normalize("NFC", name).encode()
        assert parameters["SECRET_HASH"] == secret_hash(parameters["USERNAME"], POOL_CLIENT_ID, POOL_CLIENT_SECRET)
    finally:
        front.stop()


# MARK: Refused registrations


def logged(account: Account, answer, message: str) -> str:
    """The line with this message about a request."""

    def find() -> list[str]:
        lines = account.gateway.log().splitlines()
        return [line for line in lines if message in line and answer.json()["requestId"] in line]

    return wait_until(find, f"a line: {message}")[0]


REFUSED = [
    ("schema", {}, {"email": ...}, {"attributes.family_name": "is required"}, "writable_attributes"),
    (
        "schema",
        {"writable_attributes": ["family_name", "custom:colour"]},
        {"email": ..., "attributes": {"family_name": "Doe", "custom:colour": "red"}},
        {"attributes.custom:colour": "is not an attribute of the pool"},
        "writable_attributes",
    ),
    (
        "schema",
        {"writable_attributes": ["family_name", "custom:plan"]},
        {"email": ..., "attributes": {"family_name": "Doe", "custom:plan": "x"}},
        {"attributes.custom:plan": "does not conform to the pool's schema"},
        "writable_attributes",
    ),
    ("phones", {}, {"email": ...}, {"email": "must be a telephone number"}, "login_with"),
    ("aliases", {}, {"email": ...}, {"email": "must not be an e-mail address"}, "registration_name"),
    (
        "aliases",
        {"registration_name": "username", "login_with": ["username", "email"]},
        {"username": "ada@example.com", "email": ...},
        {"username": "must not be an e-mail address"},
        "AliasAttributes",
    ),
    (
        "aliases",
        {"registration_name": "username", "login_with": ["username"], "writable_attributes": ["preferred_username"]},
        {"username": "ada-1", "attributes": {"preferred_username": "countess"}},
        {"attributes.preferred_username": "cannot be set before the account is confirmed"},
        "AliasAttributes",
    ),
    (
        "schema",
        {},
        {"email": ..., "attributes": {"family_name": "Doe", "phone_number": "555"}},
        {"attributes.phone_number": "must be a telephone number with a plus sign and the country code"},
        "attributes",
    ),
]


@pytest.mark.parametrize("kind, cognito, body, fields, setting", REFUSED, ids=lambda value: str(value)[:40])
def test_a_refused_registration_names_the_field_and_the_setting(make, kind, cognito, body, fields, setting):
    account = make(kind, **cognito)
    body = {name: new_email() if value is ... else value for name, value in body.items()}
    answer = account.post("register", {**body, "password": PASSWORD})
    assert assert_refusal(answer, 422, "InvalidParameterException")["fields"] == fields
    warning = logged(account, answer, "Cognito refuses a registration")
    assert setting in warning and ", ".join(fields) in warning


def test_where_administrators_alone_create_users_registration_is_forbidden(make):
    account = make("closed")
    answer = account.post("register", {"email": new_email(), "password": PASSWORD})
    assert assert_refusal(answer, 403, "AccessDeniedException")["message"] == "Registration is not open."
    assert "AllowAdminCreateUserOnly" in logged(account, answer, "Cognito does not permit registrations")


# MARK: The documented pool


def test_the_documented_pool_starts_and_has_its_user(tmp_path):
    port = free_port()
    settings = yaml.safe_load(documentation.block("local-pool.md", "names-and-attributes").replace("9229", str(port)))
    pool = Served(tmp_path, "documented-pool", "local-pool", {**settings, "database": ":memory:"})
    try:
        pool.process.wait_ready(lambda: accepts_connections(port), "the documented pool")
        client = cognito_client(f"http://127.0.0.1:{port}")
        identity = settings["client"]
        digest = secret_hash("ada", identity["id"], identity["secret"])
        tokens = client.initiate_auth(
            ClientId=identity["id"],
            AuthFlow="USER_PASSWORD_AUTH",
            AuthParameters={"USERNAME": "ada", "PASSWORD": "Correct-Horse-7-Battery", "SECRET_HASH": digest},
        )["AuthenticationResult"]
        user = client.get_user(AccessToken=tokens["AccessToken"])
        assert user["Username"] == "ada"
        assert {"Name": "custom:tenant", "Value": "acme"} in user["UserAttributes"]
    finally:
        pool.stop()
