"""Each operation in the table succeeds where the table says so: by boto3 at the local pool and through the gateway, and
by the gateway's own call."""

import re

import boto3
import pytest
from harness.account import Account
from harness.authenticator import Passkey
from harness.cognito_client import cognito_client
from harness.cognito_front import CognitoFront
from harness.gateway import POOL_CLIENT_ID, POOL_ID, LocalPool
from harness.local_pool_control import advance_clock, control, one_time_code
from harness.user import PASSWORD, new_email
from test_cognito_operations import KEY, ROWS

PUBLIC = "8local0public0client0each"
RELYING_PARTY = "auth.example.com"
FACTORS = ["PASSWORD", "EMAIL_OTP", "WEB_AUTHN"]
CHANGED, RESET = "Changed-Horse-10", "Reset-Horse-11"
NUMBER = "+4915112345679"
PREFIX = "/api/v1/auth/"


@pytest.fixture
def pool(run_directory, ledger, request):
    """One for each test, which moves its clock."""
    ledger.note(KEY["secret_access_key"], PASSWORD, CHANGED, RESET)
    changes = {
        "administrator": KEY, "devices": "always", "hourly_limits": False, "more_clients": [{"id": PUBLIC}],
        "first_factors": FACTORS, "web_authn": {"relying_party_id": RELYING_PARTY}, "rotation": {"enabled": False},
    }
    pool = LocalPool(run_directory, f"each-operation-{request.node.name}", changes)
    yield pool
    pool.stop()


@pytest.fixture
def front(pool):
    front = CognitoFront(pool.url)
    # Cognito keeps this operation for apps of old, and the pool does not have it.
    front.outputs["SetUserSettings"] = {}
    yield front
    front.stop()


@pytest.fixture
def gateway(start_gateway, pool, front):
    passwordless = {"factors": FACTORS, "relying_party_id": RELYING_PARTY}
    cognito = pool.sign_in_settings("pool", endpoint=front.url, passwordless=passwordless)
    return start_gateway({"sign_in": {"cognito": cognito}, "direct_cognito": {"mode": "translate"}}, pool=pool)


def expect_unverified(pool: LocalPool, email: str) -> None:
    credentials = {"aws_access_key_id": KEY["access_key_id"], "aws_secret_access_key": KEY["secret_access_key"]}
    admin = boto3.client("cognito-idp", region_name="eu-central-1", endpoint_url=pool.url, **credentials)
    unverified = [{"Name": "email_verified", "Value": "false"}]
    admin.admin_update_user_attributes(UserPoolId=POOL_ID, Username=email, UserAttributes=unverified)


class Life:
    """A user's life in boto3's calls, by a client without a secret."""

    def __init__(self, pool: LocalPool, url: str, client_id: str):
        self.pool, self.client_id, self.email = pool, client_id, new_email()
        self.succeeded: set[str] = set()
        self.client = cognito_client(url)
        self.client.meta.events.register("after-call", self._note)

    def _note(self, model, http_response, **_) -> None:
        if http_response.status_code == 200:
            self.succeeded.add(model.name)

    @property
    def named(self) -> dict:
        return {"ClientId": self.client_id, "Username": self.email}

    def code(self) -> str:
        return self.pool.confirmation_code(self.email)

    def sign_in(self, password: str) -> dict:
        parameters = {"USERNAME": self.email, "PASSWORD": password}
        return self.client.initiate_auth(
            ClientId=self.client_id, AuthFlow="USER_PASSWORD_AUTH", AuthParameters=parameters
        )

    def access(self, password: str) -> dict:
        return {"AccessToken": self.sign_in(password)["AuthenticationResult"]["AccessToken"]}

    def register(self) -> None:
        attributes = [{"Name": "email", "Value": self.email}]
        self.client.sign_up(**self.named, Password=PASSWORD, UserAttributes=attributes)
        self.client.resend_confirmation_code(**self.named)
        self.client.confirm_sign_up(**self.named, ConfirmationCode=self.code())

    def use_devices(self) -> None:
        result = self.sign_in(PASSWORD)["AuthenticationResult"]
        device = {"AccessToken": result["AccessToken"], "DeviceKey": result["NewDeviceMetadata"]["DeviceKey"]}
        verifier = {"PasswordVerifier": "AQID", "Salt": "BAUG"}
        self.client.confirm_device(**device, DeviceSecretVerifierConfig=verifier)
        self.client.get_device(**device)
        self.client.update_device_status(**device, DeviceRememberedStatus="remembered")
        assert len(self.client.list_devices(AccessToken=result["AccessToken"])["Devices"]) == 1
        # The session of the device ends with it.
        self.client.forget_device(**device)

    def change(self, access: dict) -> None:
        self.client.update_user_attributes(**access, UserAttributes=[{"Name": "name", "Value": "Life"}])
        self.client.delete_user_attributes(**access, UserAttributeNames=["name"])
        expect_unverified(self.pool, self.email)
        self.client.get_user_attribute_verification_code(**access, AttributeName="email")
        self.client.verify_user_attribute(**access, AttributeName="email", Code=self.code())
        self.client.change_password(**access, PreviousPassword=PASSWORD, ProposedPassword=CHANGED)
        self.client.forgot_password(**self.named)
        self.client.confirm_forgot_password(**self.named, ConfirmationCode=self.code(), Password=RESET)

    def use_passkeys(self, access: dict) -> None:
        options = self.client.start_web_authn_registration(**access)["CredentialCreationOptions"]
        passkey = Passkey(f"https://{RELYING_PARTY}")
        self.client.complete_web_authn_registration(**access, Credential=passkey.create(options))
        assert "WEB_AUTHN" in self.client.get_user_auth_factors(**access)["ConfiguredUserAuthFactors"]
        [listed] = self.client.list_web_authn_credentials(**access)["Credentials"]
        self.client.delete_web_authn_credential(**access, CredentialId=listed["CredentialId"])

    def use_second_factor(self, access: dict) -> dict:
        """The tokens of a sign-in with both factors, which is the last one with the second."""
        secret = self.client.associate_software_token(**access)["SecretCode"]
        self.client.verify_software_token(**access, UserCode=one_time_code(self.pool, secret))
        preference = {"Enabled": True, "PreferredMfa": True}
        self.client.set_user_mfa_preference(**access, SoftwareTokenMfaSettings=preference)
        advance_clock(self.pool, 30)
        asked = self.sign_in(RESET)
        username = asked["ChallengeParameters"]["USER_ID_FOR_SRP"]
        responses = {"USERNAME": username, "SOFTWARE_TOKEN_MFA_CODE": one_time_code(self.pool, secret)}
        answered = self.client.respond_to_auth_challenge(
            ClientId=self.client_id, ChallengeName=asked["ChallengeName"], Session=asked["Session"],
            ChallengeResponses=responses,
        )
        self.client.set_user_mfa_preference(**access, SoftwareTokenMfaSettings={"Enabled": False})
        return answered["AuthenticationResult"]

    def end(self, tokens: dict) -> None:
        refresh = {"ClientId": self.client_id, "RefreshToken": tokens["RefreshToken"]}
        access = self.client.get_tokens_from_refresh_token(**refresh)["AuthenticationResult"]["AccessToken"]
        assert self.client.get_user(AccessToken=access)["UserAttributes"]
        self.client.revoke_token(ClientId=self.client_id, Token=tokens["RefreshToken"])
        self.client.global_sign_out(**self.access(RESET))
        self.client.delete_user(**self.access(RESET))

    def live(self) -> None:
        self.register()
        self.use_devices()
        self.change(self.access(PASSWORD))
        access = self.access(RESET)
        self.use_passkeys(access)
        self.end(self.use_second_factor(access))


def those_that_are(column: int) -> set[str]:
    return {name for name, row in ROWS.items() if row[column] == "yes"}


def test_the_local_pool_carries_each_of_its_operations_out(pool):
    life = Life(pool, pool.url, PUBLIC)
    life.live()
    assert life.succeeded == those_that_are(2)


def test_the_gateway_translates_each_of_its_operations(pool, gateway):
    life = Life(pool, gateway.url, POOL_CLIENT_ID)
    life.live()
    other = Life(pool, gateway.url, POOL_CLIENT_ID)
    other.register()
    options = [{"DeliveryMedium": "SMS", "AttributeName": "phone_number"}]
    other.client.set_user_settings(**other.access(PASSWORD), MFAOptions=options)
    assert life.succeeded | other.succeeded == those_that_are(1)


class Calls(Account):
    """Notes the calls that succeed, as the table writes them."""

    def __init__(self, *arguments) -> None:
        super().__init__(*arguments)
        self.succeeded: set[str] = set()

    def send(self, method, call, body=None, token=None):
        answer = super().send(method, call, body, token)
        assert answer.status in (200, 201, 202, 204), (method, call, answer.body)
        path = re.sub(r"^(me/(?:passkeys|sessions))/(?!options).*", lambda found: f"{found[1]}/{{}}", call)
        self.succeeded.add(f"{method} {path}")
        return answer


def test_the_gateways_own_call_for_each_succeeds(pool, gateway, ledger):
    calls = Calls(gateway.port, ledger)
    email = new_email()

    def code(address: str = "") -> str:
        name, value = ("phone", address.replace("+", "%2B")) if address else ("email", email)
        return control(pool, "GET", f"inbox?{name}={value}")[-1]["code"]

    def token(password: str) -> str:
        return calls.login(email, password).json()["access_token"]

    calls.post("register", {"email": email, "password": PASSWORD})
    calls.post("resend-code", {"email": email})
    calls.post("confirm", {"email": email, "code": code()})
    device = {"device_id": "phone-1", "platform": "ios"}
    access = calls.login(email, PASSWORD, device_info=device).json()["access_token"]
    calls.me(access)
    calls.send("PATCH", "me", {"name": "Life"}, access)
    calls.send("PATCH", "me", {"name": None}, access)
    proof = {"current_password": PASSWORD}
    email_before, email = email, new_email()
    calls.post("me/email", {"email": email, **proof}, access)
    calls.post("me/email/resend", None, access)
    calls.post("me/email/verify", {"code": code()}, access)
    assert email != email_before
    calls.post("me/phone", {"phone_number": NUMBER, **proof}, access)
    calls.post("me/phone/resend", None, access)
    calls.post("me/phone/verify", {"code": code(NUMBER)}, access)
    calls.post("change-password", {"current_password": PASSWORD, "new_password": CHANGED}, access)
    calls.post("forgot-password", {"email": email})
    calls.post("reset-password", {"email": email, "code": code(), "new_password": RESET})
    access = token(RESET)
    passkey = Passkey(f"https://{RELYING_PARTY}")
    options = calls.post("me/passkeys/options", None, access).json()["options"]
    calls.post("me/passkeys", {"credential": passkey.create(options)}, access)
    [listed] = calls.send("GET", "me/passkeys", token=access).json()["passkeys"]
    calls.send("DELETE", f"me/passkeys/{listed['id']}", token=access)
    secret = calls.post("mfa/totp", None, access).json()["secret"]
    calls.post("mfa/totp/verify", {"code": one_time_code(pool, secret)}, access)
    advance_clock(pool, 30)
    asked = calls.login(email, RESET).json()
    answered = calls.answer_challenge(asked, code=one_time_code(pool, secret)).json()
    calls.send("PATCH", "mfa", {"enabled": ["SMS_MFA"], "preferred": "SMS_MFA"}, access)
    calls.send("PATCH", "mfa", {"enabled": []}, access)
    calls.send("DELETE", "mfa/totp", token=access)
    refreshed = calls.refresh(answered["refresh_token"]).json()
    calls.send("GET", "me/sessions", token=access)
    calls.send("DELETE", "me/sessions", token=access)
    assert refreshed["access_token"]
    calls.logout(refresh_token=calls.login(email, RESET).json()["refresh_token"])
    calls.logout(token(RESET), all_devices=True)
    calls.send("DELETE", "me", token=token(RESET))
    cells = " ".join(row[0] for row in ROWS.values())
    listed = {re.sub(r"\{\w+\}", "{}", call) for call in re.findall(r"`((?:GET|POST|PATCH|DELETE) [^`]+)`", cells)}
    assert listed <= calls.succeeded, listed - calls.succeeded
