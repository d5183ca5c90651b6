"""Issue item "Direct Cognito traffic": refused in Cognito's own shape, and nothing is sent on."""

import pytest
from botocore.exceptions import ClientError
from harness import raw
from harness.cognito_client import cognito_client

TARGET = "AWSCognitoIdentityProviderService.InitiateAuth"
BODY = b'{"AuthFlow":"USER_PASSWORD_AUTH","AuthParameters":{}}'
AMZ_JSON = {"Content-Type": "application/x-amz-json-1.1"}


def assert_blocked(response: raw.Response, recorder) -> None:
    assert response.status == 403
    body = response.json()
    assert body["__type"] == "ForbiddenException"
    assert "POST /api/v1/auth/login" in body["message"]
    assert response.header("x-amzn-errortype").startswith("ForbiddenException")
    assert response.header("x-request-id")
    assert recorder.requests == []


@pytest.mark.parametrize("target", ["/", "/recorded/public/x", "/recorded/required/x", "/nowhere"])
@pytest.mark.parametrize("operation", ["InitiateAuth", "SignUp", "AdminGetUser", "NoSuchOperation"])
def test_a_target_header_is_blocked_on_every_path(gateway, recorder, target, operation):
    headers = {"X-Amz-Target": f"AWSCognitoIdentityProviderService.{operation}", **AMZ_JSON}
    assert_blocked(raw.exchange(gateway.port, "POST", target, headers, BODY), recorder)


@pytest.mark.parametrize("name", ["x-amz-target", "X-AMZ-TARGET", "X-Amz-target"])
def test_the_header_is_known_in_every_case(gateway, recorder, name):
    assert_blocked(raw.exchange(gateway.port, "POST", "/recorded/public/x", {name: TARGET}, BODY), recorder)


@pytest.mark.parametrize(
    "host",
    [
        "cognito-idp.eu-central-1.amazonaws.com",
        "COGNITO-IDP.eu-central-1.amazonaws.com",
        "cognito-idp.eu-central-1.amazonaws.com:443",
        "cognito-idp.eu-central-1.amazonaws.com.",
        "cognito-idp-fips.us-east-1.amazonaws.com",
        "cognito-idp.cn-north-1.amazonaws.com.cn",
        "myapp.auth.eu-central-1.amazoncognito.com",
        "myapp.auth-fips.us-west-2.amazoncognito.com",
        "cognito-idp.eusc-de-east-1.amazonaws.eu",
        "myapp.auth.eusc-de-east-1.amazoncognito.eu",
        "cognito-idp.us-iso-east-1.c2s.ic.gov",
        "cognito-idp.us-isob-east-1.sc2s.sgov.gov",
        "cognito-idp.eu-isoe-west-1.cloud.adc-e.uk",
        "cognito-idp.us-isof-south-1.csp.hci.ic.gov",
        "cognito-idp-fips.us-east-1.api.aws",
    ],
)
def test_a_cognito_host_is_blocked(gateway, recorder, host):
    assert_blocked(raw.exchange(gateway.port, "POST", "/recorded/public/x", {"Host": host}, BODY), recorder)


def test_the_configured_endpoints_own_host_and_port_is_blocked(gateway, recorder, pool):
    for host in (f"127.0.0.1:{pool.port}", f"127.0.0.1.:{pool.port}"):
        assert_blocked(raw.exchange(gateway.port, "POST", "/recorded/public/x", {"Host": host}, BODY), recorder)
    # The same host with another port is another service.
    other = {"Host": f"127.0.0.1:{gateway.port}"}
    assert raw.exchange(gateway.port, "POST", "/recorded/public/x", other, BODY).status == 200


@pytest.mark.parametrize("host", ["cognito-idp.eu-central-1.amazonaws.com", "myapp.auth.eu-central-1.amazoncognito.com"])
def test_an_absolute_form_target_at_cognito_is_blocked(gateway, recorder, host):
    with raw.RawConnection(gateway.port) as connection:
        connection.send(
            f"POST http://{host}/recorded/public/x HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n\r\n".encode()
        )
        assert_blocked(connection.response(), recorder)


def test_connect_to_cognito_is_blocked(gateway, recorder):
    with raw.RawConnection(gateway.port) as connection:
        host = "cognito-idp.eu-central-1.amazonaws.com:443"
        connection.send(f"CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        assert connection.response().status == 403
    assert recorder.requests == []


def test_a_sigv4_signature_for_cognito_is_blocked(gateway, recorder):
    signature = (
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260101/eu-central-1/cognito-idp/aws4_request, "
        "SignedHeaders=host;x-amz-date, Signature=" + "0" * 64
    )
    assert_blocked(raw.exchange(gateway.port, "POST", "/recorded/public/x", {"Authorization": signature}, BODY), recorder)


def test_amazon_headers_never_reach_the_backend_but_the_trace_id_does(gateway, recorder):
    headers = {
        "X-Amz-Target": "DynamoDB_20120810.GetItem",
        "X-Amz-Date": "20260101T000000Z",
        "X-Amz-Security-Token": "x",
        "X-Amzn-Trace-Id": "Root=1-67891233-abcdef012345678912345678",
    }
    assert raw.exchange(gateway.port, "POST", "/recorded/public/x", headers, b"").status == 200
    names = recorder.last("/recorded/public/x").names
    assert not [name for name in names if name.startswith("x-amz-")]
    assert "x-amzn-trace-id" in names


@pytest.mark.parametrize("host", ["cognito-idp.example.com", "amazonaws.com", "notcognito-idp.eu-central-1.amazonaws.com"])
def test_another_host_is_none_of_it(gateway, recorder, host):
    assert raw.exchange(gateway.port, "GET", "/recorded/public/x", {"Host": host}).status == 200


def test_boto3_pointed_at_the_gateway_reads_the_refusal(gateway, recorder):
    """A released app's SDK must see a proper service error, not something it can't parse."""
    with pytest.raises(ClientError) as caught:
        cognito_client(gateway.url).initiate_auth(
            ClientId="x", AuthFlow="USER_PASSWORD_AUTH", AuthParameters={"USERNAME": "a", "PASSWORD": "b"}
        )
    assert caught.value.response["Error"]["Code"] == "ForbiddenException"
    assert "/api/v1/auth/login" in caught.value.response["Error"]["Message"]
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403
    assert recorder.requests == []
