"""The table of Cognito's operations: against botocore's model, the gateway, the local pool and the tests that it names."""

import json
import re
from pathlib import Path

import boto3
import botocore.session
import pytest
from botocore.exceptions import ClientError
from harness import raw
from harness.cognito_client import cognito_client, secret_hash
from harness.gateway import POOL_CLIENT_ID, POOL_CLIENT_SECRET, POOL_ID, REPOSITORY, LocalPool
from harness.user import PASSWORD, new_email

PAGE = (REPOSITORY / "docs" / "cognito-operations.md").read_text()
SOURCES = REPOSITORY / "Sources"
KEY = {"access_key_id": "AKIAOPERATIONS", "secret_access_key": "operations-secret-access-key"}


def rows() -> dict[str, list[str]]:
    table = re.findall(r"^\| `(\w+)` \| (.+) \|$", PAGE, re.MULTILINE)
    return {name: [cell.strip() for cell in rest.split("|")] for name, rest in table}


ROWS = rows()


def names_in(path: Path, table: str) -> set[str]:
    """The operations among the keys of a Swift dictionary."""
    text = path.read_text()
    start = text.index(table)
    return set(re.findall(r'"([A-Z]\w+)":', text[start : text.index("\n    ]\n", start)]))


def of_the_model() -> set[str]:
    model = botocore.session.get_session().get_service_model("cognito-idp")
    return {
        name
        for name in model.operation_names
        if model.operation_model(name).auth_type == "none" or model.operation_model(name).auth == ["smithy.api#noAuth"]
    }


def pool_operations(table: str) -> set[str]:
    return names_in(SOURCES / "LocalPool/Operations/UserPool+Answer.swift", table)


def test_the_table_has_every_operation_of_apps():
    assert set(ROWS) == of_the_model()
    assert list(ROWS) == sorted(ROWS)


def test_the_table_says_what_is_there():
    translated = names_in(SOURCES / "Cognito/DirectCalls/ClientOperation.swift", "private static let proofs")
    assert {name for name, row in ROWS.items() if row[1] == "yes"} == translated
    assert {name for name, row in ROWS.items() if row[2] == "yes"} == pool_operations("static let clientOperations")
    assert {cell for row in ROWS.values() for cell in row[1:3]} == {"yes", "no"}


def test_the_page_lists_what_administrators_can_do():
    section = PAGE[PAGE.index("## Administer the local pool") :]
    listed = {name for line in section.splitlines() if line.startswith("| ") for name in re.findall(r"`(\w+)`", line)}
    assert listed == pool_operations("static let administratorOperations")


def test_the_gateways_calls_are_those_of_its_description():
    described = (REPOSITORY / "deploy" / "openapi.yaml").read_text()
    for name, row in ROWS.items():
        for path in re.findall(r"`(?:GET|POST|PATCH|DELETE) ([\w/{}-]+)`", row[0]):
            assert f"\n  /api/v1/auth/{path}:" in described, f"{name}: {path}"
        assert row[0] == "none" or "`" in row[0], name


def test_every_named_test_is_there():
    hosted = re.findall(r"^\| (`(?:GET|POST) /\S+`|any other path.*?) \| (.+) \|$", PAGE, re.MULTILINE)
    assert len(hosted) == 6
    for name, cells in [(name, row[3]) for name, row in ROWS.items()] + hosted:
        named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", cells)
        assert named, name
        for file, test in named:
            text = (REPOSITORY / "Tests" / "EndToEnd" / file).read_text()
            assert re.search(rf"^(?:    )?def {test}\(", text, re.MULTILINE), f"{name}: {file}::{test}"


# MARK: Calls


@pytest.fixture(scope="module")
def own_pool(run_directory, ledger):
    ledger.note(KEY["secret_access_key"], PASSWORD)
    pool = LocalPool(run_directory, "operations-pool", {"administrator": KEY, "devices": "always", "hourly_limits": False})
    yield pool
    pool.stop()


@pytest.fixture(scope="module")
def admin(own_pool):
    credentials = {"aws_access_key_id": KEY["access_key_id"], "aws_secret_access_key": KEY["secret_access_key"]}
    return boto3.client("cognito-idp", region_name="eu-central-1", endpoint_url=own_pool.url, **credentials)


@pytest.fixture
def translating(start_gateway, own_pool):
    return start_gateway({"direct_cognito": {"mode": "translate"}}, pool=own_pool)


def call(port: int, operation: str, body: dict | None = None, content_type: str = "application/x-amz-json-1.1"):
    headers = {"X-Amz-Target": f"AWSCognitoIdentityProviderService.{operation}", "Content-Type": content_type}
    return raw.exchange(port, "POST", "/", headers, json.dumps(body or {}).encode())


def test_what_is_not_there_is_refused(translating, own_pool):
    for name, row in ROWS.items():
        answer, of_pool = call(translating.port, name), call(own_pool.port, name)
        if row[1] == "no":
            assert (answer.status, answer.json()["__type"]) == (403, "ForbiddenException"), name
            assert "not available through this gateway" in answer.json()["message"], name
        else:
            assert answer.json().get("__type") != "ForbiddenException", name
        if row[2] == "no":
            assert (of_pool.status, of_pool.json()["__type"]) == (400, "UnknownOperationException"), name
            assert name in of_pool.json()["message"], name
        else:
            assert of_pool.json().get("__type") != "UnknownOperationException", name


def test_administrators_operations_need_a_signature(own_pool, translating):
    for name in pool_operations("static let administratorOperations"):
        assert call(own_pool.port, name).json()["__type"] == "MissingAuthenticationTokenException", name
        assert call(translating.port, name).json()["__type"] == "ForbiddenException", name


@pytest.mark.parametrize("content_type", ["application/json", "application/x-amz-json-1.0", "text/plain"])
def test_another_content_type_is_refused(own_pool, content_type):
    answer = call(own_pool.port, "GetUser", {"AccessToken": "x"}, content_type)
    assert (answer.status, answer.json()["__type"]) == (400, "UnknownOperationException")


def tokens(client, username: str, password: str = PASSWORD, client_id=POOL_CLIENT_ID, secret=POOL_CLIENT_SECRET) -> dict:
    parameters = {"USERNAME": username, "PASSWORD": password}
    if secret:
        parameters["SECRET_HASH"] = secret_hash(username, client_id, secret)
    return client.initiate_auth(ClientId=client_id, AuthFlow="USER_PASSWORD_AUTH", AuthParameters=parameters)[
        "AuthenticationResult"
    ]


@pytest.fixture
def user(admin) -> str:
    email = new_email()
    attributes = [{"Name": "email", "Value": email}, {"Name": "email_verified", "Value": "true"}]
    admin.admin_create_user(UserPoolId=POOL_ID, Username=email, UserAttributes=attributes, MessageAction="SUPPRESS")
    admin.admin_set_user_password(UserPoolId=POOL_ID, Username=email, Password=PASSWORD, Permanent=True)
    return email


@pytest.mark.parametrize("through", ["pool", "gateway"])
def test_devices(own_pool, translating, user, through):
    client = cognito_client(own_pool.url if through == "pool" else translating.url)
    result = tokens(client, user)
    access, device = result["AccessToken"], result["NewDeviceMetadata"]["DeviceKey"]
    verifier = {"PasswordVerifier": "AQID", "Salt": "BAUG"}
    client.confirm_device(AccessToken=access, DeviceKey=device, DeviceName="Phone", DeviceSecretVerifierConfig=verifier)
    shown = client.get_device(AccessToken=access, DeviceKey=device)["Device"]
    assert shown["DeviceKey"] == device
    assert [each["DeviceKey"] for each in client.list_devices(AccessToken=access)["Devices"]] == [device]
    client.update_device_status(AccessToken=access, DeviceKey=device, DeviceRememberedStatus="not_remembered")
    attributes = {
        each["Name"]: each["Value"]
        for each in client.get_device(AccessToken=access, DeviceKey=device)["Device"]["DeviceAttributes"]
    }
    assert attributes["dev:device_remembered_status"] == "not_remembered"


@pytest.mark.parametrize("through", ["pool", "gateway"])
def test_a_verified_address(own_pool, translating, admin, user, through):
    client = cognito_client(own_pool.url if through == "pool" else translating.url)
    unverified = [{"Name": "email_verified", "Value": "false"}]
    admin.admin_update_user_attributes(UserPoolId=POOL_ID, Username=user, UserAttributes=unverified)
    access = tokens(client, user)["AccessToken"]
    sent = client.get_user_attribute_verification_code(AccessToken=access, AttributeName="email")
    assert sent["CodeDeliveryDetails"]["DeliveryMedium"] == "EMAIL"
    code = own_pool.confirmation_code(user)
    client.verify_user_attribute(AccessToken=access, AttributeName="email", Code=code)
    attributes = client.get_user(AccessToken=access)["UserAttributes"]
    assert {"Name": "email_verified", "Value": "true"} in attributes


# MARK: Administration of the local pool


def refused(function, **arguments) -> str:
    with pytest.raises(ClientError) as caught:
        function(**arguments)
    return caught.value.response["Error"]["Code"]


def test_groups_are_there_before_users_are_in_them(admin, user):
    name = f"group-{new_email().split('@')[0]}"
    member = {"UserPoolId": POOL_ID, "Username": user, "GroupName": name}
    assert refused(admin.admin_add_user_to_group, **member) == "ResourceNotFoundException"
    made = admin.create_group(UserPoolId=POOL_ID, GroupName=name, Description="A group", Precedence=3)["Group"]
    assert refused(admin.create_group, UserPoolId=POOL_ID, GroupName=name) == "GroupExistsException"
    assert admin.get_group(UserPoolId=POOL_ID, GroupName=name)["Group"] == made
    assert (made["Description"], made["Precedence"]) == ("A group", 3)
    changed = admin.update_group(UserPoolId=POOL_ID, GroupName=name, Description="Another")["Group"]
    assert (changed["Description"], changed["Precedence"]) == ("Another", 3)
    admin.admin_add_user_to_group(**member)
    assert [each["GroupName"] for each in admin.admin_list_groups_for_user(UserPoolId=POOL_ID, Username=user)["Groups"]] == [name]
    members = admin.list_users_in_group(UserPoolId=POOL_ID, GroupName=name)["Users"]
    assert {"Name": "email", "Value": user} in members[0]["Attributes"] and len(members) == 1
    pages = admin.get_paginator("list_groups").paginate(UserPoolId=POOL_ID, PaginationConfig={"PageSize": 1})
    listed = [each["GroupName"] for page in pages for each in page["Groups"]]
    # The configured users' groups are there from the start.
    assert name in listed and "beta" in listed and listed == sorted(set(listed))
    admin.admin_remove_user_from_group(**member)
    admin.admin_add_user_to_group(**member)
    admin.delete_group(UserPoolId=POOL_ID, GroupName=name)
    assert refused(admin.get_group, UserPoolId=POOL_ID, GroupName=name) == "ResourceNotFoundException"
    assert admin.admin_list_groups_for_user(UserPoolId=POOL_ID, Username=user)["Groups"] == []


def test_users_are_listed_by_filters_and_pages(admin, user):
    def found(filter: str) -> list[str]:
        return [each["Username"] for each in admin.list_users(UserPoolId=POOL_ID, Filter=filter)["Users"]]

    sub = admin.admin_get_user(UserPoolId=POOL_ID, Username=user)["Username"]
    assert found(f'email = "{user}"') == found(f'"email"="{user.upper()}"') == found(f'sub = "{sub}"') == [sub]
    assert sub in found(f'email ^= "{user[:6]}"') and found('email = "nobody"') == []
    assert sub in found('cognito:user_status = "CONFIRMED"') and sub not in found('cognito:user_status = "UNCONFIRMED"')
    admin.admin_disable_user(UserPoolId=POOL_ID, Username=user)
    assert sub in found('status = "Disabled"') and sub not in found('status = "Enabled"')
    for wrong in ("email", 'email > "a"', 'colour = "red"', "email = a"):
        assert refused(admin.list_users, UserPoolId=POOL_ID, Filter=wrong) == "InvalidParameterException"
    pages = admin.get_paginator("list_users").paginate(UserPoolId=POOL_ID, PaginationConfig={"PageSize": 2})
    everyone = [each["Username"] for page in pages for each in page["Users"]]
    assert len(everyone) == len(set(everyone)) == len(found("")) >= 3
    some = admin.list_users(UserPoolId=POOL_ID, AttributesToGet=["email"], Filter=f'sub = "{sub}"')["Users"][0]
    assert some["Attributes"] == [{"Name": "email", "Value": user}]


def test_a_client_made_at_run_time_is_described_as_it_was_set_and_signs_in(admin, own_pool, user):
    settings = {
        "ClientName": "made",
        "ExplicitAuthFlows": ["ALLOW_USER_PASSWORD_AUTH", "ALLOW_REFRESH_TOKEN_AUTH"],
        "ReadAttributes": ["email"],
        "WriteAttributes": ["email", "name"],
        "RefreshTokenValidity": 7,
        "AccessTokenValidity": 30,
        "TokenValidityUnits": {"AccessToken": "minutes", "RefreshToken": "days"},
        "CallbackURLs": ["https://app.example.com/callback"],
        "AllowedOAuthFlows": ["code"],
        "AllowedOAuthScopes": ["openid"],
        "AllowedOAuthFlowsUserPoolClient": True,
        "PreventUserExistenceErrors": "ENABLED",
        "SupportedIdentityProviders": ["COGNITO"],
    }
    made = admin.create_user_pool_client(UserPoolId=POOL_ID, GenerateSecret=True, **settings)["UserPoolClient"]
    identity = {"UserPoolId": POOL_ID, "ClientId": made["ClientId"]}
    described = admin.describe_user_pool_client(**identity)["UserPoolClient"]
    assert described == made and {name: described[name] for name in settings} == settings
    client = cognito_client(own_pool.url)
    result = tokens(client, user, client_id=made["ClientId"], secret=made["ClientSecret"])
    attributes = client.get_user(AccessToken=result["AccessToken"])["UserAttributes"]
    assert {each["Name"] for each in attributes} == {"sub", "email"}
    nickname = [{"Name": "nickname", "Value": "x"}]
    assert refused(client.update_user_attributes, AccessToken=result["AccessToken"], UserAttributes=nickname) == "NotAuthorizedException"
    # A member that an update does not give has its default again.
    admin.update_user_pool_client(**identity, ClientName="changed")
    changed = admin.describe_user_pool_client(**identity)["UserPoolClient"]
    assert changed["ClientName"] == "changed" and changed["ClientSecret"] == made["ClientSecret"]
    assert "ReadAttributes" not in changed and changed["RefreshTokenValidity"] == 30
    assert refused(tokens, client=client, username=user, client_id=made["ClientId"], secret=made["ClientSecret"]) == "InvalidParameterException"
    pages = admin.get_paginator("list_user_pool_clients").paginate(UserPoolId=POOL_ID, PaginationConfig={"PageSize": 1})
    listed = {each["ClientId"]: each["ClientName"] for page in pages for each in page["UserPoolClients"]}
    assert listed[made["ClientId"]] == "changed" and POOL_CLIENT_ID in listed
    admin.delete_user_pool_client(**identity)
    assert refused(admin.describe_user_pool_client, **identity) == "ResourceNotFoundException"
    assert refused(admin.delete_user_pool_client, UserPoolId=POOL_ID, ClientId=POOL_CLIENT_ID) == "InvalidParameterException"


def test_the_pool_is_described_as_it_is_configured(run_directory):
    pool = LocalPool(
        run_directory,
        "described-pool",
        {
            "administrator": KEY,
            "alias_attributes": ["email", "preferred_username"],
            "username_case_sensitive": True,
            "allow_admin_create_user_only": True,
            "mfa": {"mode": "required", "methods": ["SOFTWARE_TOKEN_MFA"]},
            "password_policy": {"minimum_length": 12, "require_symbols": True},
            "attributes": [
                {"name": "family_name", "required": True},
                {"name": "custom:age", "type": "Number", "minimum": 18, "mutable": False},
            ],
            "users": [],
        },
    )
    try:
        credentials = {"aws_access_key_id": KEY["access_key_id"], "aws_secret_access_key": KEY["secret_access_key"]}
        client = boto3.client("cognito-idp", region_name="eu-central-1", endpoint_url=pool.url, **credentials)
        described = client.describe_user_pool(UserPoolId=POOL_ID)["UserPool"]
        assert described["AliasAttributes"] == ["email", "preferred_username"] and "UsernameAttributes" not in described
        assert described["UsernameConfiguration"] == {"CaseSensitive": True}
        assert described["AdminCreateUserConfig"]["AllowAdminCreateUserOnly"] is True
        policy = described["Policies"]["PasswordPolicy"]
        assert (policy["MinimumLength"], policy["RequireSymbols"], policy["RequireNumbers"]) == (12, True, False)
        schema = {each["Name"]: each for each in described["SchemaAttributes"]}
        assert schema["family_name"]["Required"] is True and schema["nickname"]["Required"] is False
        assert schema["custom:age"]["Mutable"] is False
        assert schema["custom:age"]["NumberAttributeConstraints"]["MinValue"] == "18"
        configuration = client.get_user_pool_mfa_config(UserPoolId=POOL_ID)
        assert configuration["MfaConfiguration"] == "ON"
        assert configuration["SoftwareTokenMfaConfiguration"] == {"Enabled": True}
        assert "SmsMfaConfiguration" not in configuration
    finally:
        pool.stop()
