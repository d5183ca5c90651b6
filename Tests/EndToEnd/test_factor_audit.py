"""The audit log tells of passkeys, second factors and addresses that users change, by the API and by translated calls."""

import json

import pytest
from harness.account import Account, assert_refusal
from harness.authenticator import Passkey
from harness.cognito_client import cognito_client
from harness.gateway import Gateway, LocalPool
from harness.local_pool_control import control
from harness.process import wait_until
from harness.user import PASSWORD, new_email, signed_in_user

RELYING_PARTY = "auth.example.com"
FACTORS = ["PASSWORD", "WEB_AUTHN"]


@pytest.fixture(scope="module")
def pool(run_directory):
    changes = {"first_factors": FACTORS, "web_authn": {"relying_party_id": RELYING_PARTY}, "hourly_limits": False}
    pool = LocalPool(run_directory, "pool-factor-audit", changes)
    yield pool
    pool.stop()


@pytest.fixture
def gateway(start_gateway, pool) -> Gateway:
    cognito = pool.sign_in_settings("pool", passwordless={"factors": FACTORS, "relying_party_id": RELYING_PARTY})
    return start_gateway({"sign_in": {"cognito": cognito}, "direct_cognito": "translate"}, pool=pool)


@pytest.fixture
def account(gateway, ledger) -> Account:
    account = Account(gateway.port, ledger)
    account.gateway = gateway
    return account


def the_event(gateway: Gateway, kind: str) -> dict:
    """The one event of this kind, which has its user."""
    [event] = wait_until(lambda: gateway.audit_log(kind), f"the event {kind}")
    [sign_in, *_] = gateway.audit_log("signed_in")
    assert event["subject_hash"] == sign_in["subject_hash"]
    return event


def test_passkeys_by_the_api(account, gateway, pool):
    _, tokens = signed_in_user(account, pool)
    token = tokens["access_token"]
    options = account.post("me/passkeys/options", None, token).json()["options"]
    created = Passkey(f"https://{RELYING_PARTY}").create(options)
    assert account.post("me/passkeys", {"credential": created}, token).status == 204
    assert account.post("me/passkeys", {"credential": created}, token).status >= 400
    [listed] = account.send("GET", "me/passkeys", token=token).json()["passkeys"]
    assert account.send("DELETE", f"me/passkeys/{listed['id']}", token=token).status == 204
    assert the_event(gateway, "passkey_deleted")["operation"] == "delete-passkey"
    event = the_event(gateway, "passkey_registered")
    assert event["operation"] == "register-passkey" and "reason" not in event


def test_passkeys_and_factors_by_translated_calls(account, gateway, pool):
    email, tokens = signed_in_user(account, pool)
    client, token = cognito_client(gateway.url), tokens["access_token"]
    options = client.start_web_authn_registration(AccessToken=token)["CredentialCreationOptions"]
    created = Passkey(f"https://{RELYING_PARTY}").create(json.loads(json.dumps(options)))
    client.complete_web_authn_registration(AccessToken=token, Credential=created)
    [listed] = client.list_web_authn_credentials(AccessToken=token)["Credentials"]
    client.delete_web_authn_credential(AccessToken=token, CredentialId=listed["CredentialId"])
    client.set_user_mfa_preference(AccessToken=token, EmailMfaSettings={"Enabled": True, "PreferredMfa": True})
    number = [{"Name": "phone_number", "Value": "+15557650002"}]
    client.update_user_attributes(AccessToken=token, UserAttributes=number)
    code = control(pool, "GET", "inbox?phone=%2B15557650002")[-1]["code"]
    client.verify_user_attribute(AccessToken=token, AttributeName="phone_number", Code=code)
    assert the_event(gateway, "phone_number_changed")["operation"] == "VerifyUserAttribute"
    assert the_event(gateway, "passkey_registered")["operation"] == "CompleteWebAuthnRegistration"
    assert the_event(gateway, "passkey_deleted")["operation"] == "DeleteWebAuthnCredential"
    assert the_event(gateway, "second_factors_changed")["operation"] == "SetUserMFAPreference"
    assert the_event(gateway, "user_changed")["operation"] == "UpdateUserAttributes"


def test_a_wrong_password_at_a_change_of_address(account, gateway, pool, ledger):
    _, tokens = signed_in_user(account, pool)
    body = {"email": new_email(), "current_password": "Wrong-Horse-1"}
    ledger.note(body["current_password"], PASSWORD)
    refusal = account.post("me/email", body, tokens["access_token"])
    assert "current_password" in assert_refusal(refusal, 422, "InvalidParameterException")["fields"]
    event = the_event(gateway, "sign_in_failed")
    assert (event["operation"], event["reason"]) == ("change-email", "bad-credentials")
