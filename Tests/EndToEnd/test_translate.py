"""`direct_cognito: translate`: what released apps send to Cognito is carried out for them, and nothing else is."""

import json
import time

import jwt
import pytest
from botocore.exceptions import ClientError
from harness import raw
from harness.cognito_client import cognito_client
from harness.cognito_front import CognitoFront
from harness.gateway import ADA, POOL_CLIENT_ID, POOL_CLIENT_SECRET, gatehouse
from harness.h2raw import H2Connection, request
from harness.process import wait_until
from harness.sanitizer import PatientEvent

AMZ_JSON = {"Content-Type": "application/x-amz-json-1.1"}
FORMER = "9former0client000000000000"
SIGNATURE = (
    "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260101/eu-central-1/cognito-idp/aws4_request, "
    "SignedHeaders=host;x-amz-date, Signature=" + "0" * 64
)


def target(operation: str) -> dict[str, str]:
    return {"X-Amz-Target": f"AWSCognitoIdentityProviderService.{operation}", **AMZ_JSON}


def sign_in_body(password: str = ADA[1], client: str = POOL_CLIENT_ID) -> bytes:
    return json.dumps(
        {
            "AuthFlow": "USER_PASSWORD_AUTH",
            "ClientId": client,
            "AuthParameters": {"USERNAME": ADA[0], "PASSWORD": password},
        }
    ).encode()


@pytest.fixture
def front(pool):
    front = CognitoFront(pool.url)
    yield front
    front.stop()


@pytest.fixture
def translating(start_gateway, pool, front, ledger):
    ledger.note(ADA[1], POOL_CLIENT_SECRET)
    changes = {
        "direct_cognito": {"mode": "translate", "client_ids": [FORMER]},
        "issuers": {"pool": {"client_ids": [POOL_CLIENT_ID, FORMER]}},
        "sign_in": {"cognito": {"endpoint": front.url}},
    }
    return start_gateway(changes, pool=pool)


def tokens_of(ledger, body: bytes) -> dict:
    result = json.loads(body)["AuthenticationResult"]
    ledger.note(result["AccessToken"], result["IdToken"], result.get("RefreshToken", ""))
    return result


def test_a_call_over_http_1_1_is_carried_out(translating, front, own_recorder, ledger):
    headers = {**target("InitiateAuth"), "User-Agent": "MyApp/4.2 aws-sdk"}
    answer = raw.exchange(translating.port, "POST", "/", headers, sign_in_body())
    assert answer.status == 200
    assert tokens_of(ledger, answer.body)["TokenType"] == "Bearer"
    assert answer.header("content-type") == "application/x-amz-json-1.1"
    assert answer.header("cache-control") == "no-store"
    allowed = {"content-type", "cache-control", "content-length", "x-amzn-requestid", "x-request-id", "date"}
    assert {name.lower() for name, _ in answer.headers} <= allowed
    assert front.operations() == ["InitiateAuth"]
    assert "SECRET_HASH" in front.calls[0][1]["AuthParameters"]
    assert own_recorder.requests == []


def test_a_call_over_http_2_is_carried_out(translating, ledger):
    fields = [(name.lower(), value) for name, value in target("InitiateAuth").items()]
    with H2Connection(translating.port) as connection:
        stream = connection.open(request("POST", "/", *fields), end=False)
        connection.data(stream, sign_in_body(), end=True)
        response = connection.response(stream)
    assert response.status == 200
    assert tokens_of(ledger, response.body)["AccessToken"]


@pytest.mark.parametrize("host", ["cognito-idp.eu-central-1.amazonaws.com", "gateway.test"])
def test_an_absolute_form_target_is_carried_out(translating, ledger, host):
    head = f"POST http://{host}/ HTTP/1.1\r\nHost: {host}\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in target("InitiateAuth").items())
    body = sign_in_body()
    with raw.RawConnection(translating.port) as connection:
        connection.send(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        answer = connection.response()
    assert answer.status == 200
    tokens_of(ledger, answer.body)


def test_a_signature_goes_nowhere(translating, front, ledger):
    """Some SDK versions sign what needs no signature."""
    headers = {**target("InitiateAuth"), "Authorization": SIGNATURE, "X-Amz-Date": "20260101T000000Z"}
    answer = raw.exchange(translating.port, "POST", "/", headers, sign_in_body())
    assert answer.status == 200
    refresh_token = tokens_of(ledger, answer.body)["RefreshToken"]
    body = json.dumps({"ClientId": POOL_CLIENT_ID, "RefreshToken": refresh_token}).encode()
    headers = {**target("GetTokensFromRefreshToken"), "Authorization": SIGNATURE}
    answer = raw.exchange(translating.port, "POST", "/", headers, body)
    assert answer.status == 200
    tokens_of(ledger, answer.body)
    assert front.operations() == ["InitiateAuth", "GetTokensFromRefreshToken"]


def test_connect_is_refused(translating, front):
    with raw.RawConnection(translating.port) as connection:
        host = "cognito-idp.eu-central-1.amazonaws.com:443"
        connection.send(f"CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        assert connection.response().status == 403
    assert front.calls == []


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("POST", target("AdminInitiateAuth")),
        ("POST", {**target("AdminDeleteUser"), "Authorization": SIGNATURE}),
        ("POST", target("ListUsers")),
        ("POST", target("NoSuchOperation")),
        ("GET", target("GetUser")),
        ("POST", {"Host": "cognito-idp.eu-central-1.amazonaws.com"}),
        ("POST", {"Host": "myapp.auth.eu-central-1.amazoncognito.com"}),
        ("POST", {"Authorization": SIGNATURE}),
    ],
)
def test_everything_else_is_refused(translating, front, own_recorder, method, headers):
    answer = raw.exchange(translating.port, method, "/recorded/public/x", headers, b"{}")
    assert answer.status == 403
    assert answer.json()["__type"] == "ForbiddenException"
    assert answer.header("x-amzn-errortype") == "ForbiddenException:"
    assert front.calls == []
    assert own_recorder.requests == []


def test_two_targets_are_refused(translating, front):
    head = "POST / HTTP/1.1\r\nHost: gateway.test\r\nContent-Length: 2\r\n"
    for operation in ("InitiateAuth", "AdminGetUser"):
        head += f"X-Amz-Target: AWSCognitoIdentityProviderService.{operation}\r\n"
    with raw.RawConnection(translating.port) as connection:
        connection.send((head + "\r\n{}").encode())
        assert connection.response().status == 403
    assert front.calls == []


@pytest.mark.parametrize("sized", [True, False])
def test_a_body_that_is_too_large_is_refused(translating, front, sized):
    body = b'{"a":"' + b"a" * (64 << 10) + b'"}'
    headers = target("SignUp")
    if not sized:
        headers, body = {**headers, "Transfer-Encoding": "chunked"}, raw.chunked(body)
    answer = raw.exchange(translating.port, "POST", "/", headers, body)
    assert answer.status == 413
    assert answer.json()["__type"] == "RequestEntityTooLargeException"
    assert front.calls == []


def test_cognitos_refusals_are_passed_on(translating):
    client = cognito_client(translating.url)
    with pytest.raises(ClientError) as refused:
        client.initiate_auth(
            ClientId=POOL_CLIENT_ID,
            AuthFlow="USER_PASSWORD_AUTH",
            AuthParameters={"USERNAME": ADA[0], "PASSWORD": "Wrong-Horse-1"},
        )
    assert refused.value.response["Error"]["Code"] == "NotAuthorizedException"
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400


def test_the_gateways_own_fault_is_a_503_and_an_error_in_the_log(translating, front):
    message = f"Unable to verify secret hash for client {POOL_CLIENT_ID}"
    front.refused["InitiateAuth"] = (400, "NotAuthorizedException", message)
    answer = raw.exchange(translating.port, "POST", "/", target("InitiateAuth"), sign_in_body())
    assert answer.status == 503
    assert answer.header("retry-after") == "5"
    assert "secret" not in answer.body.decode()
    wait_until(lambda: "sign_in.cognito.client_secret" in translating.log(), "the log to name the setting")


def test_another_client_id_is_refused_and_a_former_one_served(translating, front, ledger):
    answer = raw.exchange(translating.port, "POST", "/", target("InitiateAuth"), sign_in_body(client="5other"))
    assert answer.status == 400
    assert answer.json()["__type"] == "ResourceNotFoundException"
    assert front.calls == []
    answer = raw.exchange(translating.port, "POST", "/", target("InitiateAuth"), sign_in_body(client=FORMER))
    assert answer.status == 200
    tokens_of(ledger, answer.body)
    assert front.calls[0][1]["ClientId"] == POOL_CLIENT_ID


def test_calls_are_counted_by_operation_and_by_app(translating):
    for app, operation in (("MyApp/4.2", "GetUser"), ("MyApp/4.2", "AdminGetUser"), ("MyApp/3.9", "GetUser")):
        headers = {**target(operation), "User-Agent": f"{app} aws-sdk-swift/1.0"}
        raw.exchange(translating.port, "POST", "/", headers, b"{}")
    samples = translating.samples()
    assert samples['gatehouse_direct_cognito_calls_total{operation="GetUser"}'] == 2
    by_app = "gatehouse_direct_cognito_applications_total"
    told = {name.removeprefix(by_app): value for name, value in samples.items() if value and name.startswith(by_app)}
    assert told == {
        '{application="MyApp/4.2",operation="GetUser"}': 1,
        '{application="MyApp/4.2",operation="other"}': 1,
        '{application="MyApp/3.9",operation="GetUser"}': 1,
    }
    status, text = translating.admin("/status")
    assert status == 200
    direct = json.loads(text)["direct_cognito"]
    assert direct["mode"] == "translate"
    assert direct["operations"] == {"GetUser": 2, "other": 1}
    applications = {entry["application"]: entry for entry in direct["applications"]}
    assert applications["MyApp/4.2"]["calls"] == 2
    assert applications["MyApp/4.2"]["refused"] == 2
    assert abs(applications["MyApp/3.9"]["last_seen"] - time.time()) < 60


def test_a_call_whose_client_has_gone_is_audited_and_counted(translating, front, ledger):
    answer = raw.exchange(translating.port, "POST", "/", target("InitiateAuth"), sign_in_body())
    body = json.dumps({"AccessToken": tokens_of(ledger, answer.body)["AccessToken"]}).encode()

    def get_user(app: str) -> bytes:
        return raw.request_bytes("POST", "/", {**target("GetUser"), "User-Agent": app}, body)

    def audited(app: str) -> dict:
        found = lambda: [line for line in translating.audit_log("direct_cognito") if line["application"] == app]
        (line,) = wait_until(found, f"an audit line of {app}")
        return line

    with raw.RawConnection(translating.port) as connection:
        connection.send(get_user("Waits/1.0"))
        assert connection.response().status == 200
    done, released = PatientEvent(), PatientEvent()

    def hold(_operation: str) -> None:
        done.set()
        assert released.wait(20)

    front.before_response = hold
    with raw.RawConnection(translating.port) as connection:
        connection.send(get_user("Leaves/1.0"))
        assert done.wait(20)
    gone = lambda: [line for line in translating.access_log() if line.get("denial_reason") == "client-disconnected"]
    wait_until(gone, "the client to be missed")
    released.set()
    assert audited("Leaves/1.0")["subject_hash"] == audited("Waits/1.0")["subject_hash"]
    by_app = 'gatehouse_direct_cognito_applications_total{application="%s",operation="GetUser"}'
    assert [translating.samples()[by_app % app] for app in ("Waits/1.0", "Leaves/1.0")] == [1, 1]


def test_a_reload_goes_from_blocking_to_translating(start_gateway, pool, ledger):
    gateway = start_gateway({"direct_cognito": "block"}, pool=pool)
    assert raw.exchange(gateway.port, "POST", "/", target("InitiateAuth"), sign_in_body()).status == 403
    gateway.reload({"direct_cognito": {"mode": "translate"}})
    answer = raw.exchange(gateway.port, "POST", "/", target("InitiateAuth"), sign_in_body())
    assert answer.status == 200
    tokens_of(ledger, answer.body)
    assert json.loads(gateway.admin("/status")[1])["direct_cognito"]["operations"] == {"InitiateAuth": 2}


@pytest.mark.parametrize("operation", ["GlobalSignOut", "DeleteUser"])
def test_who_signs_out_everywhere_or_is_gone_gets_nowhere_any_more(start_gateway, pool, own_recorder, ledger, operation):
    routes = [{"name": "mine", "path": "/recorded/**", "issuers": ["pool"], "upstream": "recorder"}]
    gateway = start_gateway({"direct_cognito": {"mode": "translate"}, "routes": routes}, pool=pool)
    email, password = f"ends-{operation.lower()}@example.com", "Brand-New-Horse-9"
    ledger.note(password)
    client = cognito_client(gateway.url)
    client.sign_up(ClientId=POOL_CLIENT_ID, Username=email, Password=password)
    code = pool.confirmation_code(email)
    client.confirm_sign_up(ClientId=POOL_CLIENT_ID, Username=email, ConfirmationCode=code)
    parameters = {"USERNAME": email, "PASSWORD": password}
    signed_in = client.initiate_auth(
        ClientId=POOL_CLIENT_ID, AuthFlow="USER_PASSWORD_AUTH", AuthParameters=parameters
    )
    token = signed_in["AuthenticationResult"]["AccessToken"]
    ledger.note(token, signed_in["AuthenticationResult"]["RefreshToken"])
    get = lambda: raw.exchange(gateway.port, "GET", "/recorded/x", {"Authorization": f"Bearer {token}"}).status
    assert get() == 200
    call = raw.exchange(gateway.port, "POST", "/", target(operation), json.dumps({"AccessToken": token}).encode())
    assert call.status == 200
    assert get() == 401


# Every operation that takes an access token.
WITH_TOKEN = {
    "AssociateSoftwareToken": {},
    "ChangePassword": {"PreviousPassword": ADA[1], "ProposedPassword": "Changed-Horse-10"},
    "CompleteWebAuthnRegistration": {"Credential": {}},
    "ConfirmDevice": {"DeviceKey": "k"},
    "DeleteUser": {},
    "DeleteUserAttributes": {"UserAttributeNames": ["locale"]},
    "DeleteWebAuthnCredential": {"CredentialId": "c"},
    "ForgetDevice": {"DeviceKey": "k"},
    "GetDevice": {"DeviceKey": "k"},
    "GetUser": {},
    "GetUserAttributeVerificationCode": {"AttributeName": "email"},
    "GetUserAuthFactors": {},
    "GlobalSignOut": {},
    "ListDevices": {},
    "ListWebAuthnCredentials": {},
    "SetUserMFAPreference": {},
    "SetUserSettings": {"MFAOptions": []},
    "StartWebAuthnRegistration": {},
    "UpdateDeviceStatus": {"DeviceKey": "k"},
    "UpdateUserAttributes": {"UserAttributes": [{"Name": "locale", "Value": "de"}]},
    "VerifySoftwareToken": {"UserCode": "123456"},
    "VerifyUserAttribute": {"AttributeName": "email", "Code": "123456"},
}


def test_a_token_on_the_revocation_list_does_nothing_at_cognito(translating, front, ledger):
    """Cognito knows nothing of what the gateway alone has revoked, and would go by the token."""
    answer = raw.exchange(translating.port, "POST", "/", target("InitiateAuth"), sign_in_body())
    tokens = tokens_of(ledger, answer.body)
    claims = jwt.decode(tokens["AccessToken"], options={"verify_signature": False})

    def call(operation: str, token: str) -> raw.Response:
        body = json.dumps({**WITH_TOKEN[operation], "AccessToken": token}).encode()
        return raw.exchange(translating.port, "POST", "/", target(operation), body)

    assert call("GetUser", tokens["AccessToken"]).status == 200
    command = ("revoke", "--config", translating.config_path, "--issuer", "pool", "--origin-jti", claims["origin_jti"])
    assert gatehouse(*command).returncode == 0
    wait_until(lambda: call("ListDevices", tokens["AccessToken"]).status == 400, "the revocation to be followed")
    front.calls.clear()
    for operation in WITH_TOKEN:
        refused = call(operation, tokens["AccessToken"])
        assert (refused.status, refused.header("x-amzn-errortype")) == (400, "NotAuthorizedException:"), operation
        assert refused.json() == {"__type": "NotAuthorizedException", "message": "Access Token has been revoked"}
    # It was only asked whether the token is one.
    assert front.operations() == ["GetUser"] * len(WITH_TOKEN)

    # Nobody learns from a token of their own making what is on the list.
    head, payload, _ = tokens["AccessToken"].split(".")
    made_up = call("GetUser", f"{head}.{payload}.{'A' * 342}")
    assert made_up.json()["message"] == "Invalid Access Token"

    body = json.dumps({"ClientId": POOL_CLIENT_ID, "RefreshToken": tokens["RefreshToken"]}).encode()
    refused = raw.exchange(translating.port, "POST", "/", target("GetTokensFromRefreshToken"), body)
    assert refused.json() == {"__type": "NotAuthorizedException", "message": "Refresh Token has been revoked"}
    parameters = {"REFRESH_TOKEN": tokens["RefreshToken"]}
    body = {"ClientId": POOL_CLIENT_ID, "AuthFlow": "REFRESH_TOKEN_AUTH", "AuthParameters": parameters}
    refused = raw.exchange(translating.port, "POST", "/", target("InitiateAuth"), json.dumps(body).encode())
    assert refused.json() == {"__type": "NotAuthorizedException", "message": "Refresh Token has been revoked"}
    # A new sign-in is another matter.
    again = raw.exchange(translating.port, "POST", "/", target("InitiateAuth"), sign_in_body())
    assert call("GetUser", tokens_of(ledger, again.body)["AccessToken"]).status == 200
