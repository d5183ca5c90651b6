"""Direct calls that end sessions, and operations that the pool does not have."""

import signal

import jwt
import pytest
from botocore.exceptions import ClientError
from harness import raw
from harness.account import bearer
from harness.cognito_client import cognito_client
from harness.cognito_front import CognitoFront
from harness.gateway import ADA, POOL_CLIENT_ID, POOL_CLIENT_SECRET, Gateway, LocalPool
from harness.process import wait_until

FORMER = "9former0client000000000000"


@pytest.fixture(scope="module")
def pools(run_directory):
    """A pool that leaves its refresh tokens as they are, one that rotates them at once, and one that tracks devices."""
    changes = {"more_clients": [{"id": FORMER}]}
    more = {
        "steady": {"rotation": {"enabled": False}},
        "rotating": {"rotation": {"enabled": True}},
        "tracking": {"rotation": {"enabled": False}, "devices": "always"},
    }
    pools = {name: LocalPool(run_directory, f"signing-out-{name}", {**changes, **more[name]}) for name in more}
    yield pools
    for pool in pools.values():
        pool.stop()


@pytest.fixture
def cognito(request, pools):
    return pools[getattr(request, "param", "steady")]


@pytest.fixture
def front(cognito):
    front = CognitoFront(cognito.url)
    yield front
    front.stop()


@pytest.fixture
def gateway(start_gateway, cognito, front, ledger, own_recorder):
    ledger.note(ADA[1], POOL_CLIENT_SECRET)
    changes = {
        "direct_cognito": {"mode": "translate", "client_ids": [FORMER]},
        "issuers": {"pool": {"client_ids": [POOL_CLIENT_ID, FORMER]}},
        "sign_in": {"cognito": {"endpoint": front.url}},
        "routes": [{"name": "mine", "path": "/recorded/**", "issuers": ["pool"], "upstream": "recorder"}],
    }
    return start_gateway(changes, pool=cognito)


def sign_in(url: str, ledger, client: str = POOL_CLIENT_ID) -> dict:
    parameters = {"USERNAME": ADA[0], "PASSWORD": ADA[1]}
    answer = cognito_client(url).initiate_auth(
        ClientId=client, AuthFlow="USER_PASSWORD_AUTH", AuthParameters=parameters
    )
    result = answer["AuthenticationResult"]
    ledger.note(result["AccessToken"], result["IdToken"], result["RefreshToken"])
    return result


def get(gateway: Gateway, token: str) -> int:
    return raw.exchange(gateway.port, "GET", "/recorded/x", bearer(token)).status


def ended(gateway: Gateway, end: str) -> float:
    return gateway.samples()[f'gatehouse_session_length_seconds_count{{end="{end}"}}']


def killed_and_restarted(gateway: Gateway) -> Gateway:
    gateway.process.signal(signal.SIGKILL)
    gateway.process.wait(10)
    return Gateway(gateway.config_path.parent, "gateway", gateway.config)


@pytest.mark.parametrize(
    ("cognito", "known"),
    [("steady", True), ("steady", False), ("rotating", False)],
    ids=["seen", "after-a-restart", "after-a-restart-with-rotation"],
    indirect=["cognito"],
)
def test_a_translated_revoke_token_ends_its_access_tokens_and_no_others(gateway, front, ledger, known):
    """Amplify's sign-out names the refresh token alone."""
    tokens, others = sign_in(gateway.url, ledger), sign_in(gateway.url, ledger)
    if not known:
        gateway = killed_and_restarted(gateway)
    assert get(gateway, tokens["AccessToken"]) == get(gateway, others["AccessToken"]) == 200
    front.calls.clear()
    client = cognito_client(gateway.url)
    client.revoke_token(ClientId=POOL_CLIENT_ID, Token=tokens["RefreshToken"])
    assert get(gateway, tokens["AccessToken"]) == 401
    assert get(gateway, others["AccessToken"]) == 200
    assert ("GetTokensFromRefreshToken" in front.operations()) is not known
    assert ended(gateway, "sign-out") == 1
    with pytest.raises(ClientError) as refused:
        client.get_tokens_from_refresh_token(ClientId=POOL_CLIENT_ID, RefreshToken=tokens["RefreshToken"])
    assert refused.value.response["Error"]["Code"] == "NotAuthorizedException"
    # It is over after a restart as well.
    assert get(killed_and_restarted(gateway), tokens["AccessToken"]) == 401


@pytest.mark.parametrize("cognito", ["rotating"], indirect=True)
def test_a_refreshed_session_ends_by_its_newest_token(gateway, ledger):
    tokens = sign_in(gateway.url, ledger)
    client = cognito_client(gateway.url)
    answer = client.get_tokens_from_refresh_token(ClientId=POOL_CLIENT_ID, RefreshToken=tokens["RefreshToken"])
    newer = answer["AuthenticationResult"]
    ledger.note(newer["AccessToken"], newer["IdToken"], newer.get("RefreshToken", ""))
    client.revoke_token(ClientId=POOL_CLIENT_ID, Token=newer.get("RefreshToken", tokens["RefreshToken"]))
    assert get(gateway, tokens["AccessToken"]) == get(gateway, newer["AccessToken"]) == 401


@pytest.mark.parametrize("cognito", ["tracking"], indirect=True)
@pytest.mark.parametrize("refreshed", [False, True])
def test_the_session_of_a_device_ends_after_a_restart_too(gateway, front, ledger, refreshed):
    """Cognito exchanges its refresh token with the device's key only, which no sign-out has."""
    sessions = [sign_in(gateway.url, ledger) for _ in range(2)]
    client = cognito_client(gateway.url)
    verifier = {"PasswordVerifier": "AQID", "Salt": "BAUG"}
    for session in sessions:
        client.confirm_device(
            AccessToken=session["AccessToken"], DeviceKey=session["NewDeviceMetadata"]["DeviceKey"],
            DeviceName="a telephone", DeviceSecretVerifierConfig=verifier,
        )  # fmt: skip
    tokens, others = sessions
    if refreshed:
        answer = client.get_tokens_from_refresh_token(
            ClientId=POOL_CLIENT_ID, RefreshToken=tokens["RefreshToken"], DeviceKey=tokens["NewDeviceMetadata"]["DeviceKey"]
        )
        tokens |= {"AccessToken": answer["AuthenticationResult"]["AccessToken"]}
        ledger.note(tokens["AccessToken"], answer["AuthenticationResult"]["IdToken"])
    gateway = killed_and_restarted(gateway)
    assert get(gateway, tokens["AccessToken"]) == get(gateway, others["AccessToken"]) == 200
    front.calls.clear()
    cognito_client(gateway.url).revoke_token(ClientId=POOL_CLIENT_ID, Token=tokens["RefreshToken"])
    assert front.operations() == ["RevokeToken"]
    assert get(gateway, tokens["AccessToken"]) == 401
    assert get(gateway, others["AccessToken"]) == 200
    assert ended(gateway, "sign-out") == 1


def test_a_session_from_before_there_was_a_secret_ends_like_any_other(gateway, cognito, ledger):
    tokens = sign_in(cognito.url, ledger, FORMER)
    assert get(gateway, tokens["AccessToken"]) == 200
    cognito_client(gateway.url).revoke_token(ClientId=FORMER, Token=tokens["RefreshToken"])
    assert get(gateway, tokens["AccessToken"]) == 401


def test_a_token_that_is_none_ends_nothing(gateway, front):
    cognito_client(gateway.url).revoke_token(ClientId=POOL_CLIENT_ID, Token="nonsense")
    assert front.operations() == ["GetTokensFromRefreshToken", "RevokeToken"]
    assert ended(gateway, "sign-out") == 0
    assert gateway.metric("gatehouse_revocations") == 0


def test_a_sign_out_is_refused_where_nobody_can_say_whose_session_it_is(gateway, front, ledger):
    tokens = sign_in(gateway.url, ledger)
    gateway = killed_and_restarted(gateway)
    front.refused["GetTokensFromRefreshToken"] = (500, "InternalErrorException", "try again")
    client = cognito_client(gateway.url)
    with pytest.raises(ClientError) as refused:
        client.revoke_token(ClientId=POOL_CLIENT_ID, Token=tokens["RefreshToken"])
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 503
    assert front.operations()[-1] == "GetTokensFromRefreshToken", "it can be tried again"
    front.refused.clear()
    client.revoke_token(ClientId=POOL_CLIENT_ID, Token=tokens["RefreshToken"])
    assert get(gateway, tokens["AccessToken"]) == 401


def test_the_length_of_translated_sessions_is_counted(gateway, front, ledger):
    everywhere, expired = sign_in(gateway.url, ledger), sign_in(gateway.url, ledger)
    client = cognito_client(gateway.url)
    front.refused["GetTokensFromRefreshToken"] = (400, "NotAuthorizedException", "Refresh Token has expired")
    for _ in range(2):
        with pytest.raises(ClientError):
            client.get_tokens_from_refresh_token(ClientId=POOL_CLIENT_ID, RefreshToken=expired["RefreshToken"])
    assert ended(gateway, "expiry") == 1, "each session counts once"
    client.global_sign_out(AccessToken=everywhere["AccessToken"])
    assert ended(gateway, "sign-out") == 1
    assert get(gateway, everywhere["AccessToken"]) == 401
    signed_in = 'gatehouse_sign_ins_total{method="translated",result="success"}'
    assert gateway.samples()[signed_in] == 2


@pytest.mark.parametrize("error", ["UnsupportedOperationException", "UnknownOperationException"])
def test_an_operation_that_the_pool_does_not_have_is_refused_as_what_it_is(gateway, front, ledger, error):
    """SDKs repeat a 503 for seconds, and a 400 never."""
    token = sign_in(gateway.url, ledger)["AccessToken"]
    front.calls.clear()
    front.refused["GetUserAuthFactors"] = (400, error, "Not for this pool")
    with pytest.raises(ClientError) as refused:
        cognito_client(gateway.url).get_user_auth_factors(AccessToken=token)
    answer = refused.value.response
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == 400
    assert answer["Error"] == {"Code": error, "Message": "Not for this pool"}
    assert front.operations() == ["GetUserAuthFactors"]
    wait_until(lambda: "operation=GetUserAuthFactors" in gateway.log() and error in gateway.log(), "the log to say so")
    assert jwt.decode(token, options={"verify_signature": False})["sub"] not in gateway.log()
