"""The local pool's choice of first factors, passkeys and custom challenges, asked by boto3 and a software
authenticator."""

import json

import pytest
from botocore.exceptions import ClientError
from harness.authenticator import FLAG, Passkey
from harness.cognito_client import cognito_client, secret_hash
from harness.gateway import ADA, POOL_CLIENT_ID, POOL_CLIENT_SECRET, LocalPool
from harness.local_pool_control import control

RELYING_PARTY = "auth.example.com"
ORIGIN = f"https://{RELYING_PARTY}"
PHONE = "+15557654321"


@pytest.fixture(scope="module")
def pool(run_directory):
    pool = LocalPool(
        run_directory,
        "pool-choice",
        {
            "first_factors": ["PASSWORD", "EMAIL_OTP", "SMS_OTP", "WEB_AUTHN"],
            "web_authn": {"relying_party_id": RELYING_PARTY, "origins": ["android:apk-key-hash:Zm9v"]},
            "custom_auth": [
                {"parameters": {"question": "Your first pet?"}, "answer": "rex"},
                {"parameters": {"question": "And its colour?"}, "answer": "brown"},
            ],
            "hourly_limits": False,
        },
    )
    yield pool
    pool.stop()


@pytest.fixture(scope="module")
def client(pool):
    return cognito_client(pool.url)


def parameters(username: str, **more) -> dict:
    return {"USERNAME": username, "SECRET_HASH": secret_hash(username, POOL_CLIENT_ID, POOL_CLIENT_SECRET), **more}


def start(client, username: str = ADA[0], flow: str = "USER_AUTH", **more) -> dict:
    return client.initiate_auth(ClientId=POOL_CLIENT_ID, AuthFlow=flow, AuthParameters=parameters(username, **more))


def respond(client, asked: dict, username: str = ADA[0], **answers) -> dict:
    return client.respond_to_auth_challenge(
        ClientId=POOL_CLIENT_ID,
        ChallengeName=asked["ChallengeName"],
        Session=asked["Session"],
        ChallengeResponses=parameters(username, **answers),
    )


def error_of(call) -> str:
    with pytest.raises(ClientError) as refused:
        call()
    return refused.value.response["Error"]["Code"]


@pytest.fixture(scope="module")
def access_token(client):
    answer = start(client, flow="USER_PASSWORD_AUTH", PASSWORD=ADA[1])
    return answer["AuthenticationResult"]["AccessToken"]


def register(client, access_token: str, passkey: Passkey, **changes) -> None:
    options = client.start_web_authn_registration(AccessToken=access_token)["CredentialCreationOptions"]
    client.complete_web_authn_registration(
        AccessToken=access_token, Credential=passkey.create(options, **changes)
    )


@pytest.fixture(scope="module")
def passkey(client, access_token):
    passkey = Passkey(ORIGIN)
    register(client, access_token, passkey)
    return passkey


def newest_code(pool, address: str = ADA[0]) -> str:
    return control(pool, "GET", f"inbox?email={address}")[-1]["code"]


def test_the_list_of_factors_is_what_the_user_has(client, passkey):
    asked = start(client)
    assert asked["ChallengeName"] == "SELECT_CHALLENGE"
    assert asked["AvailableChallenges"] == ["PASSWORD", "PASSWORD_SRP", "EMAIL_OTP", "WEB_AUTHN"]
    # There is no telephone number to send a code to.
    assert start(client, PREFERRED_CHALLENGE="SMS_OTP")["ChallengeName"] == "SELECT_CHALLENGE"
    assert error_of(lambda: respond(client, asked, ANSWER="SMS_OTP")) == "InvalidParameterException"
    assert "AuthenticationResult" in respond(client, asked, ANSWER="PASSWORD", PASSWORD=ADA[1])


def test_a_code_by_mail(client, pool):
    asked = start(client, PREFERRED_CHALLENGE="EMAIL_OTP")
    assert asked["ChallengeParameters"]["CODE_DELIVERY_DELIVERY_MEDIUM"] == "EMAIL"
    code = newest_code(pool)
    wrong = "000000" if code != "000000" else "000001"
    assert error_of(lambda: respond(client, asked, EMAIL_OTP_CODE=wrong)) == "CodeMismatchException"
    assert "AuthenticationResult" in respond(client, asked, EMAIL_OTP_CODE=code)
    assert error_of(lambda: respond(client, asked, EMAIL_OTP_CODE=code)) == "NotAuthorizedException"


def test_a_password_as_a_factor(client):
    assert "AuthenticationResult" in start(client, PREFERRED_CHALLENGE="PASSWORD", PASSWORD=ADA[1])
    asked = start(client, PREFERRED_CHALLENGE="PASSWORD")
    assert asked["ChallengeName"] == "PASSWORD"
    assert error_of(lambda: respond(client, asked, PASSWORD="wrong")) == "NotAuthorizedException"
    asked = start(client, PREFERRED_CHALLENGE="PASSWORD")
    assert "AuthenticationResult" in respond(client, asked, PASSWORD=ADA[1])


@pytest.mark.parametrize("algorithm", ["ES256", "EdDSA", "RS256"])
@pytest.mark.parametrize("attestation", ["none", "packed"])
def test_a_passkey_of_each_algorithm_signs_in(client, access_token, algorithm, attestation):
    passkey = Passkey(ORIGIN, algorithm)
    register(client, access_token, passkey, attestation=attestation)
    asked = start(client, PREFERRED_CHALLENGE="WEB_AUTHN")
    options = json.loads(asked["ChallengeParameters"]["CREDENTIAL_REQUEST_OPTIONS"])
    assert options["rpId"] == RELYING_PARTY
    answer = respond(client, asked, CREDENTIAL=json.dumps(passkey.get(options)))
    assert "AuthenticationResult" in answer
    identifier = passkey.create({**registration(client, access_token)})["id"]
    client.delete_web_authn_credential(AccessToken=access_token, CredentialId=identifier)
    listed = client.list_web_authn_credentials(AccessToken=access_token)["Credentials"]
    assert identifier not in [credential["CredentialId"] for credential in listed]


def registration(client, access_token: str) -> dict:
    return client.start_web_authn_registration(AccessToken=access_token)["CredentialCreationOptions"]


WRONG_ASSERTIONS = {
    "another party": {"relying_party": "evil.example.com"},
    "another origin": {"origin": "https://evil.example.com"},
    "a suffix that is no subdomain": {"origin": f"https://evil{RELYING_PARTY}"},
    "plain HTTP": {"origin": f"http://{RELYING_PARTY}"},
    "another challenge": {"challenge": b"0" * 16},
    "a registration's type": {"kind": "webauthn.create"},
    "an absent user": {"flags": FLAG.UV},
    "another user": {"user_handle": b"someone-else"},
    "another signature": {"signature": lambda signature: signature[:-1] + bytes([signature[-1] ^ 1])},
    "no signature": {"signature": lambda signature: b""},
    "a count that stands still": {"count": 1},
}


@pytest.mark.parametrize("wrong", WRONG_ASSERTIONS.values(), ids=WRONG_ASSERTIONS.keys())
def test_a_wrong_assertion_is_refused(client, access_token, wrong):
    passkey = Passkey(ORIGIN)
    register(client, access_token, passkey)
    for changes in ({}, wrong):
        asked = start(client, PREFERRED_CHALLENGE="WEB_AUTHN")
        options = json.loads(asked["ChallengeParameters"]["CREDENTIAL_REQUEST_OPTIONS"])
        credential = json.dumps(passkey.get(options, **changes))
        if not changes:
            assert "AuthenticationResult" in respond(client, asked, CREDENTIAL=credential)
            continue
        assert error_of(lambda: respond(client, asked, CREDENTIAL=credential)) == "NotAuthorizedException"
        # A session is good for one response.
        right = json.dumps(passkey.get(options))
        assert error_of(lambda: respond(client, asked, CREDENTIAL=right)) == "NotAuthorizedException"
    client.delete_web_authn_credential(AccessToken=access_token, CredentialId=json.loads(right)["id"])


WRONG_REGISTRATIONS = {
    "another party": ({"relying_party": "evil.example.com"}, "WebAuthnRelyingPartyMismatchException"),
    "another origin": ({"origin": "https://evil.example.com"}, "WebAuthnOriginNotAllowedException"),
    "another challenge": ({"challenge": b"0" * 16}, "WebAuthnChallengeNotFoundException"),
    "an assertion's type": ({"kind": "webauthn.get"}, "InvalidParameterException"),
    "an absent user": ({"flags": FLAG.UV}, "InvalidParameterException"),
    "a maker's attestation": ({"attestation": "fido-u2f"}, "WebAuthnCredentialNotSupportedException"),
}


@pytest.mark.parametrize("wrong", WRONG_REGISTRATIONS.values(), ids=WRONG_REGISTRATIONS.keys())
def test_a_wrong_registration_is_refused(client, access_token, wrong):
    changes, error = wrong
    assert error_of(lambda: register(client, access_token, Passkey(ORIGIN), **changes)) == error


def test_a_passkey_of_a_listed_origin(client, access_token):
    passkey = Passkey("android:apk-key-hash:Zm9v")
    register(client, access_token, passkey)
    again = passkey.create(registration(client, access_token))
    refused = error_of(
        lambda: client.complete_web_authn_registration(AccessToken=access_token, Credential=again)
    )
    assert refused == "InvalidParameterException", "registered twice"
    client.delete_web_authn_credential(AccessToken=access_token, CredentialId=again["id"])
    refused = error_of(
        lambda: client.delete_web_authn_credential(AccessToken=access_token, CredentialId=again["id"])
    )
    assert refused == "ResourceNotFoundException"


def test_passkeys_are_listed_by_pages(client, access_token, passkey):
    first = client.list_web_authn_credentials(AccessToken=access_token, MaxResults=1)
    assert first["Credentials"][0]["RelyingPartyId"] == RELYING_PARTY
    assert first["Credentials"][0]["AuthenticatorTransports"] == ["internal"]
    other = Passkey(ORIGIN)
    register(client, access_token, other)
    first = client.list_web_authn_credentials(AccessToken=access_token, MaxResults=1)
    second = client.list_web_authn_credentials(
        AccessToken=access_token, MaxResults=1, NextToken=first["NextToken"]
    )
    assert first["Credentials"] != second["Credentials"]
    client.delete_web_authn_credential(
        AccessToken=access_token, CredentialId=second["Credentials"][0]["CredentialId"]
    )


def test_the_factors_of_a_user(client, access_token, passkey):
    factors = client.get_user_auth_factors(AccessToken=access_token)
    assert factors["ConfiguredUserAuthFactors"] == ["PASSWORD", "EMAIL_OTP", "WEB_AUTHN"]


def test_an_unknown_user_gets_challenges_that_nothing_answers(client):
    names = set()
    for number in range(40):
        username = f"nobody{number}@example.com"
        asked = start(client, username)
        names.add(asked["ChallengeName"])
        if asked["ChallengeName"] == "EMAIL_OTP":
            refused = error_of(lambda: respond(client, asked, username, EMAIL_OTP_CODE="123456"))
            assert refused == "CodeMismatchException"
        if asked["ChallengeName"] == "SELECT_CHALLENGE":
            refused = error_of(lambda: respond(client, asked, username, ANSWER="PASSWORD", PASSWORD="guess"))
            assert refused == "NotAuthorizedException"
    assert len(names) > 1, "one of the pool's factors at random"


def test_custom_challenges_in_their_order(client):
    asked = start(client, flow="CUSTOM_AUTH")
    assert asked["ChallengeName"] == "CUSTOM_CHALLENGE"
    assert asked["ChallengeParameters"]["question"] == "Your first pet?"
    second = respond(client, asked, ANSWER="rex")
    assert second["ChallengeParameters"]["question"] == "And its colour?"
    assert "AuthenticationResult" in respond(client, second, ANSWER="brown")
    asked = start(client, flow="CUSTOM_AUTH")
    assert error_of(lambda: respond(client, asked, ANSWER="max")) == "NotAuthorizedException"
    asked = start(client, "nobody@example.com", flow="CUSTOM_AUTH")
    assert error_of(lambda: respond(client, asked, "nobody@example.com", ANSWER="rex")) == "NotAuthorizedException"
