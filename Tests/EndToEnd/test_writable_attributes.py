"""Users set what describes them, and nothing that decides about their access: through the gateway's own calls, through
translated ones, and, as far as `check` can see, at Cognito itself."""

import json

import pytest
from botocore.exceptions import ClientError
from harness.account import Account, assert_refusal, bearer
from harness import raw
from harness.cognito_client import cognito_client
from harness.cognito_front import CognitoFront
from harness.gateway import POOL_CLIENT_ID, POOL_CLIENT_SECRET, LocalPool, check, gateway_config, run
from harness.user import PASSWORD, confirmed_user, new_email, signed_in_user

TENANT = "custom:tenant"
ROUTES = [
    {
        "name": "tenants",
        "path": "/recorded/tenant/**",
        "issuers": ["pool"],
        "token_uses": ["id"],
        "require": {"claims": [{"claim": TENANT, "equals": "acme"}]},
        "upstream": "recorder",
    }
]


@pytest.fixture
def front(pool):
    front = CognitoFront(pool.url)
    yield front
    front.stop()


@pytest.fixture
def guarded(start_gateway, pool, front, ledger):
    """A gateway whose backend is for one tenant, by an attribute of the ID token."""
    ledger.note(POOL_CLIENT_SECRET)
    cognito = pool.sign_in_settings("pool", endpoint=front.url, include_id_token=True)
    return start_gateway({"direct_cognito": "translate", "routes": ROUTES, "sign_in": {"cognito": cognito}}, pool=pool)


def refused_field(answer: raw.Response, field: str) -> None:
    refusal = assert_refusal(answer, 422, "InvalidParameterException")
    assert refusal["fields"] == {field: "is not an attribute that can be set"}


def test_nobody_gives_a_tenant_to_themselves(guarded, pool, ledger):
    account = Account(guarded.port, ledger)
    body = {"email": new_email(), "password": PASSWORD, "attributes": {TENANT: "acme"}}
    refused_field(account.post("register", body), f"attributes.{TENANT}")
    email = confirmed_user(account, pool)
    tokens = account.login(email, PASSWORD).json()
    change = {"attributes": {"locale": "de", TENANT: "acme"}}
    refused_field(account.send("PATCH", "me", change, tokens["access_token"]), f"attributes.{TENANT}")
    # Nothing of the call was done.
    assert account.me(tokens["access_token"]).json()["attributes"] == {}
    again = account.login(email, PASSWORD).json()
    assert raw.exchange(guarded.port, "GET", "/recorded/tenant/x", bearer(again["id_token"])).status == 403


def test_direct_calls_hold_to_the_same_list(guarded, front, pool, ledger):
    client = cognito_client(guarded.url)
    account = Account(guarded.port, ledger)
    email = confirmed_user(account, pool)
    signed_in = client.initiate_auth(
        ClientId=POOL_CLIENT_ID,
        AuthFlow="USER_PASSWORD_AUTH",
        AuthParameters={"USERNAME": email, "PASSWORD": PASSWORD},
    )["AuthenticationResult"]
    token = signed_in["AccessToken"]
    ledger.note(token, signed_in["IdToken"], signed_in["RefreshToken"])
    front.calls.clear()
    sign_up = {"ClientId": POOL_CLIENT_ID, "Username": new_email(), "Password": PASSWORD}
    answered = {"ClientId": POOL_CLIENT_ID, "ChallengeName": "NEW_PASSWORD_REQUIRED", "Session": "s" * 20}
    responses = {"USERNAME": email, "NEW_PASSWORD": PASSWORD, f"userAttributes.{TENANT}": "acme"}
    refused = [
        lambda: client.sign_up(**sign_up, UserAttributes=[{"Name": TENANT, "Value": "acme"}]),
        lambda: client.update_user_attributes(AccessToken=token, UserAttributes=[{"Name": TENANT, "Value": "acme"}]),
        lambda: client.update_user_attributes(AccessToken=token, UserAttributes=[{"Name": "email", "Value": "a@b.example"}]),
        lambda: client.delete_user_attributes(AccessToken=token, UserAttributeNames=["locale", TENANT]),
        lambda: client.respond_to_auth_challenge(**answered, ChallengeResponses=responses),
    ]
    for call in refused:
        with pytest.raises(ClientError) as refusal:
            call()
        error = refusal.value.response["Error"]
        assert (error["Code"], error["Message"]) == (
            "NotAuthorizedException",
            "A client attempted to write unauthorized attribute",
        )
    assert front.calls == []
    attributes = [{"Name": "email", "Value": sign_up["Username"]}, {"Name": "locale", "Value": "de"}]
    assert client.sign_up(**sign_up, UserAttributes=attributes)["UserSub"]
    client.update_user_attributes(AccessToken=token, UserAttributes=[{"Name": "locale", "Value": "fr"}])
    client.delete_user_attributes(AccessToken=token, UserAttributeNames=["locale"])
    assert front.operations() == ["SignUp", "UpdateUserAttributes", "DeleteUserAttributes"]


@pytest.mark.parametrize(
    "body",
    [
        {"userattributes": [{"Name": TENANT, "Value": "acme"}]},
        {"UserAttributes": [{"name": TENANT, "Value": "acme"}]},
        {"UserAttributes": [{"Name": "locale", "name": TENANT, "Value": "acme"}]},
        {"UserAttributes": {"Name": TENANT, "Value": "acme"}},
        {"UserAttributes": [{"Name": [TENANT], "Value": "acme"}]},
    ],
    ids=json.dumps,
)
def test_no_spelling_gets_an_attribute_past_the_list(guarded, front, body):
    headers = {
        "X-Amz-Target": "AWSCognitoIdentityProviderService.SignUp",
        "Content-Type": "application/x-amz-json-1.1",
    }
    call = {"ClientId": POOL_CLIENT_ID, "Username": new_email(), "Password": PASSWORD, **body}
    answer = raw.exchange(guarded.port, "POST", "/", headers, json.dumps(call).encode())
    assert answer.status == 400 and answer.json()["__type"] in ("NotAuthorizedException", "SerializationException")
    assert front.calls == []


def test_a_custom_attribute_can_be_listed(start_gateway, pool, ledger):
    cognito = pool.sign_in_settings("pool", writable_attributes=["custom:theme"])
    account = Account(start_gateway({"sign_in": {"cognito": cognito}}, pool=pool).port, ledger)
    _, tokens = signed_in_user(account, pool)
    changed = account.send("PATCH", "me", {"attributes": {"custom:theme": "dark"}}, tokens["access_token"])
    assert changed.status == 200 and changed.json()["attributes"]["custom:theme"] == "dark"
    # The list is all there is.
    refused_field(account.send("PATCH", "me", {"name": "N"}, tokens["access_token"]), "name")


# ---- check


@pytest.fixture
def checked(tmp_path, pool):
    def run_check(writable: list | None, changes: dict) -> tuple[int, str]:
        cognito = pool.sign_in_settings("pool", **({} if writable is None else {"writable_attributes": writable}))
        settings = {"sign_in": {"cognito": cognito}, **changes}
        config = gateway_config(tmp_path, "http://127.0.0.1:1", "http://127.0.0.1:1/k", pool=pool, changes=settings)
        path = tmp_path / "gatehouse.yaml"
        path.write_text(json.dumps(config, indent=1))
        result = check(path)
        return result.returncode, result.stdout + result.stderr

    return run_check


CLAIMS = {"identity": {"claims": {"X-Auth-Tenant": TENANT, "X-Auth-Country": ["address", "country"]}}}
PHONE = {"require": {"claims": [{"claim": "phone_number", "present": True}]}}
PROVEN = {"require": {"claims": [*PHONE["require"]["claims"], {"claim": "phone_number_verified", "equals": "true"}]}}
EMAIL = {"require": {"claims": [{"claim": "email", "in": ["a@example.com"]}]}}


def routes(more: dict) -> dict:
    return {"routes": [{"name": "r", "path": "/r", "issuers": ["pool"], "upstream": "recorder", **more}]}


@pytest.mark.parametrize(
    "writable, changes, named",
    [
        (["name", TENANT], {"routes": ROUTES}, f"[1]: {TENANT} decides about access (routes[tenants].require)"),
        (["name", TENANT], CLAIMS, f"[1]: {TENANT} decides about access (identity.claims.X-Auth-Tenant)"),
        (["address"], CLAIMS, "[0]: address decides about access (identity.claims.X-Auth-Country)"),
        (["phone_number"], routes(PHONE), "[0]: phone_number decides about access"),
        (["email"], routes(EMAIL), "[0]: email decides about access"),
        (["sub"], {}, "[0]: must be an attribute that users can set"),
        (["email_verified"], {}, "[0]: must be an attribute that users can set"),
        (["locale", "locale"], {}, "[1]: is given more than once"),
    ],
    ids=str,
)
def test_what_decides_about_access_is_refused_as_writable(checked, writable, changes, named):
    status, output = checked(writable, changes)
    assert status == 78
    faults = [line for line in output.splitlines() if "sign_in.cognito.writable_attributes" + named in line]
    assert len(faults) == 1, output
    # File and line.
    assert faults[0].split(":")[0].endswith("gatehouse.yaml") and faults[0].split(":")[1].isdigit()


@pytest.mark.parametrize(
    "writable, changes",
    [
        (None, {}),
        (None, {"routes": ROUTES}),
        (["custom:theme"], {"routes": ROUTES}),
        (["phone_number"], routes(PROVEN)),
        (["email"], routes({"require": {**EMAIL["require"], "email_verified": True}})),
        ([], {}),
    ],
    ids=str,
)
def test_what_decides_about_nothing_is_good(checked, writable, changes):
    status, output = checked(writable, changes)
    assert status == 0 and "warning" not in output, output


def test_a_default_one_that_decides_about_access_is_left_out_with_a_warning(checked, start_gateway, pool, ledger):
    status, output = checked(None, CLAIMS)
    assert status == 0
    assert "users cannot set address, since identity.claims.X-Auth-Country uses it" in output
    account = Account(start_gateway(CLAIMS, pool=pool).port, ledger)
    body = {"email": new_email(), "password": PASSWORD, "attributes": {"address": "DE"}}
    refused_field(account.post("register", body), "attributes.address")


# ---- check --online


KEY = {"access_key_id": "AKIAATTRIBUTETESTS", "secret_access_key": "attributes-secret-access-key"}
NONE = {
    "AWS_ACCESS_KEY_ID": "",
    "AWS_SECRET_ACCESS_KEY": "",
    "AWS_SHARED_CREDENTIALS_FILE": "/nowhere/credentials",
    "AWS_EC2_METADATA_DISABLED": "true",
}
SIGNED = {**NONE, "AWS_ACCESS_KEY_ID": KEY["access_key_id"], "AWS_SECRET_ACCESS_KEY": KEY["secret_access_key"]}


@pytest.mark.parametrize(
    "written, environment, status, words",
    [
        (["email", "name", TENANT], SIGNED, 69, f"the app client may write {TENANT}, by which access is decided"),
        (["email", "name", "custom:theme"], SIGNED, 0, "may also write custom:theme, which is not listed"),
        (["email", "name"], SIGNED, 0, "may not write locale, which is listed"),
        (["email", "name", "locale"], SIGNED, 0, "as the app client's write permissions"),
        (None, SIGNED, 0, "may also write given_name, family_name"),
        (["email", "name", TENANT], NONE, 0, "not compared with the app client's write permissions"),
    ],
)
def test_the_app_clients_permissions_are_compared(tmp_path, own_recorder, issuer, written, environment, status, words):
    client = {"id": POOL_CLIENT_ID, "secret": POOL_CLIENT_SECRET}
    client |= {} if written is None else {"write_attributes": written}
    pool = LocalPool(tmp_path, changes={"client": client, "administrator": KEY, "users": []})
    try:
        cognito = pool.sign_in_settings("pool", writable_attributes=["name", "locale"])
        changes = {"sign_in": {"cognito": cognito}, "routes": ROUTES, "upstreams": {"down": ...}}
        config = gateway_config(tmp_path, own_recorder.url, issuer.server.url, pool=pool, changes=changes)
        path = tmp_path / "gatehouse.yaml"
        path.write_text(json.dumps(config))
        result = run("check", path, environment, "--online", "--json")
    finally:
        pool.stop()
    found = {each["subject"]: each for each in json.loads(result.stdout)["online"]}
    told = found["sign_in.cognito.writable_attributes"]
    assert words in told["text"]
    assert (result.returncode, told["good"]) == (status, status == 0), result.stdout
    assert KEY["secret_access_key"] not in result.stdout + result.stderr


def test_aws_credentials_are_shown_to_nobody_but_aws(tmp_path, own_recorder, issuer, pool):
    """0.0.0.0 stands for any host of somebody else's: it leads here, and is no loopback address."""
    elsewhere = own_recorder.url.replace("127.0.0.1", "0.0.0.0")
    cognito = pool.sign_in_settings("pool", endpoint=elsewhere)
    changes = {"sign_in": {"cognito": cognito}, "upstreams": {"down": ...}}
    config = gateway_config(tmp_path, own_recorder.url, issuer.server.url, pool=pool, changes=changes)
    config["routes"] = [route for route in config["routes"] if route["upstream"] != "down"]
    path = tmp_path / "gatehouse.yaml"
    path.write_text(json.dumps(config))
    result = run("check", path, SIGNED, "--online", "--json")
    found = {each["subject"]: each for each in json.loads(result.stdout)["online"]}
    told = found["sign_in.cognito.writable_attributes"]
    assert told["good"] and told["text"].startswith(f"not checked: {elsewhere} is neither AWS's nor on this machine")
    asked = [request for request in own_recorder.requests if request.header("x-amz-target")]
    assert [request.header("x-amz-target").rsplit(".", 1)[1] for request in asked] == ["ConfirmSignUp"]
    assert not any(request.header("authorization") for request in own_recorder.requests)
    assert not any(KEY["access_key_id"].encode() in request.raw_head + request.body for request in own_recorder.requests)
