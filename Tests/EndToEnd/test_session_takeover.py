"""`take_over_sessions`: a released app's refresh token of Cognito's own, shown once, goes on as a session here."""

import asyncio
import json
import random
import signal
import threading
import time
from pathlib import Path

import pytest
from harness import raw
from harness.account import Account, assert_refusal, bearer
from harness.cognito_client import cognito_client
from harness.gateway import ADA, POOL_CLIENT_ID, Gateway, LocalPool
from harness.local_pool_control import control
from test_refresh import calls, let_the_window_pass, refresh_at_once

FORMER = "9former0client000000000000"
ROUTES = [{"name": "mine", "path": "/recorded/**", "issuers": ["pool"], "upstream": "recorder"}]


BOTH = pytest.mark.parametrize("cognito", ["steady", "rotating"], indirect=True)


@pytest.fixture(scope="module")
def pools(run_directory):
    """A pool that leaves its refresh tokens as they are, and one that rotates them."""
    rotations = {"steady": {"enabled": False}, "rotating": {"enabled": True, "retry_grace": 60}}
    pools = {
        name: LocalPool(run_directory, f"takeover-{name}", {"more_clients": [{"id": FORMER}], "rotation": rotation})
        for name, rotation in rotations.items()
    }
    yield pools
    for pool in pools.values():
        pool.stop()


@pytest.fixture
def cognito(request, pools):
    return pools[getattr(request, "param", "rotating")]


def changes(pool: LocalPool, client_ids: list[str], **more) -> dict:
    takeover = pool.sign_in_settings("pool", take_over_sessions={"client_ids": client_ids})
    clients = {"pool": {"client_ids": [POOL_CLIENT_ID, FORMER]}}
    return {"issuers": clients, "sign_in": {"cognito": takeover}, "routes": ROUTES, **more}


@pytest.fixture
def start(start_gateway, cognito):
    def start(**more) -> Gateway:
        return start_gateway(changes(cognito, [POOL_CLIENT_ID, FORMER], **more), pool=cognito)

    return start


def released_app(pool: LocalPool, ledger) -> dict:
    """The tokens of a released app, which has signed in at Cognito itself."""
    parameters = {"USERNAME": ADA[0], "PASSWORD": ADA[1]}
    answer = cognito_client(pool.url).initiate_auth(
        ClientId=FORMER, AuthFlow="USER_PASSWORD_AUTH", AuthParameters=parameters
    )
    result = answer["AuthenticationResult"]
    ledger.note(ADA[1], result["AccessToken"], result["IdToken"], result["RefreshToken"])
    return result


def get(gateway: Gateway, token: str) -> int:
    return raw.exchange(gateway.port, "GET", "/recorded/x", bearer(token)).status


def killed(gateway: Gateway) -> None:
    gateway.process.signal(signal.SIGKILL)
    gateway.process.wait(10)


@BOTH
def test_an_update_signs_nobody_out(start, cognito, ledger):
    gateway = start()
    app = Account(gateway.port, ledger)
    old = released_app(cognito, ledger)
    device = {"device_id": "phone-1", "platform": "ios"}
    first = app.post("refresh", {"refresh_token": old["RefreshToken"], "device_info": device})
    assert first.status == 200
    assert first.json()["refresh_token"].startswith("v2.")
    assert "user" not in first.json()
    assert get(gateway, first.json()["access_token"]) == 200
    newer = app.post("refresh", {"refresh_token": first.json()["refresh_token"], "device_info": device}).json()
    user = app.me(newer["access_token"]).json()
    assert user["email"] == ADA[0]
    exported = app.send("GET", "me/export", token=newer["access_token"]).json()
    assert "phone-1" in json.dumps(exported)
    # It is a session like every other: it ends here and at Cognito.
    assert app.logout(refresh_token=newer["refresh_token"]).status == 204
    assert get(gateway, newer["access_token"]) == get(gateway, old["AccessToken"]) == 401
    assert_refusal(app.refresh(old["RefreshToken"]), 401, "TokenRefreshException")
    with pytest.raises(cognito_client(cognito.url).exceptions.NotAuthorizedException):
        cognito_client(cognito.url).get_tokens_from_refresh_token(ClientId=FORMER, RefreshToken=old["RefreshToken"])


@BOTH
@pytest.mark.parametrize("refreshes", [0, 1])
def test_a_released_app_signs_out_by_its_own_token(start, cognito, ledger, refreshes):
    """Before its first refresh, or after one whose response was lost."""
    app = Account(start().port, ledger)
    old = released_app(cognito, ledger)
    for _ in range(refreshes):
        assert app.refresh(old["RefreshToken"]).status == 200
    assert app.logout(refresh_token=old["RefreshToken"]).status == 204
    assert_refusal(app.refresh(old["RefreshToken"]), 401, "TokenRefreshException")


def test_a_lost_response_comes_again_also_after_a_kill(start, cognito, ledger):
    gateway = start()
    old = released_app(cognito, ledger)
    first = Account(gateway.port, ledger).refresh(old["RefreshToken"]).json()
    asked = calls(cognito, "GetTokensFromRefreshToken")
    again = Account(gateway.port, ledger).refresh(old["RefreshToken"]).json()
    killed(gateway)
    let_the_window_pass(gateway)
    gateway = start(state_directory=gateway.config["state_directory"])
    once_more = Account(gateway.port, ledger).refresh(old["RefreshToken"]).json()
    assert first["refresh_token"] == again["refresh_token"] == once_more["refresh_token"]
    assert calls(cognito, "GetTokensFromRefreshToken") == asked


def test_a_token_that_is_shown_again_later_ends_the_session(start, cognito, ledger):
    gateway = start()
    app = Account(gateway.port, ledger)
    old = released_app(cognito, ledger)
    used = app.refresh(old["RefreshToken"]).json()
    let_the_window_pass(gateway)
    assert app.refresh(old["RefreshToken"]).json()["refresh_token"] == used["refresh_token"], "nobody has used it"
    first = app.refresh(used["refresh_token"]).json()
    reuse = app.refresh(old["RefreshToken"])
    assert_refusal(reuse, 401, "TokenRefreshException")
    assert gateway.access_line(reuse.header("x-request-id"))["denial_reason"] == "refresh-token-reused"
    assert_refusal(app.refresh(first["refresh_token"]), 401, "TokenRefreshException")
    assert get(gateway, first["access_token"]) == 401


@BOTH
def test_only_listed_clients_sessions_are_taken_over(start_gateway, cognito, ledger):
    old = released_app(cognito, ledger)["RefreshToken"]
    gateway = start_gateway(changes(cognito, [POOL_CLIENT_ID]), pool=cognito)
    app = Account(gateway.port, ledger)
    assert_refusal(app.refresh(old), 401, "TokenRefreshException")
    # One that the app names is compared with the list, and Cognito is not asked.
    asked = calls(cognito, "GetTokensFromRefreshToken")
    for client_id in (FORMER, "9unknown0client0000000000"):
        named = app.post("refresh", {"refresh_token": old, "client_id": client_id})
        assert_refusal(named, 401, "TokenRefreshException")
    gateway.reload({"sign_in": {"cognito": {"take_over_sessions": ...}}})
    assert_refusal(app.refresh(old), 401, "TokenRefreshException")
    assert calls(cognito, "GetTokensFromRefreshToken") == asked
    gateway.reload({"sign_in": {"cognito": {"take_over_sessions": {"client_ids": [FORMER]}}}})
    assert app.post("refresh", {"refresh_token": old, "client_id": FORMER}).status == 200


def test_the_device_goes_along(run_directory, start_gateway, ledger):
    """In a pool that tracks devices a refresh token is good with the key of its device only."""
    pool = LocalPool(run_directory, "takeover-devices", {"more_clients": [{"id": FORMER}], "devices": "always"})
    try:
        app = Account(start_gateway(changes(pool, [FORMER]), pool=pool).port, ledger)
        old = released_app(pool, ledger)
        device = old["NewDeviceMetadata"]["DeviceKey"]
        verifier = {"PasswordVerifier": "AQID", "Salt": "BAUG"}
        client = cognito_client(pool.url)
        client.confirm_device(
            AccessToken=old["AccessToken"], DeviceKey=device, DeviceSecretVerifierConfig=verifier
        )
        shown = {"refresh_token": old["RefreshToken"], "device_info": {"device_id": "phone-1", "platform": "ios"}}
        assert_refusal(app.post("refresh", shown), 401, "TokenRefreshException")
        first = app.post("refresh", {**shown, "device_key": device})
        assert first.status == 200, first.body
        sealed = {**shown, "refresh_token": first.json()["refresh_token"]}
        other = {"device_id": "phone-2", "platform": "ios"}
        assert_refusal(app.post("refresh", {**sealed, "device_info": other}), 401, "TokenRefreshException")
        again = app.post("refresh", sealed)
        assert again.status == 200, "the session has the key from now on"
        sessions = app.send("GET", "me/sessions", token=again.json()["access_token"]).json()["sessions"]
        assert [(session["platform"], session["current"]) for session in sessions] == [("ios", True)]
    finally:
        pool.stop()


@BOTH
def test_many_at_once_at_two_gateways_on_one_state_directory_are_one(start, cognito, ledger):
    gateways = [start()]
    gateways.append(start(state_directory=gateways[0].config["state_directory"]))
    old = released_app(cognito, ledger)
    answers = asyncio.run(refresh_at_once([gateway.port for gateway in gateways] * 50, old["RefreshToken"]))
    assert {status for status, _ in answers} == {200}
    successors = {body["refresh_token"] for _, body in answers}
    assert len(successors) == 1
    assert Account(gateways[1].port, ledger).refresh(successors.pop()).status == 200


def test_a_token_that_translate_gave_is_taken_over_too(start, cognito, ledger):
    gateway = start(direct_cognito={"mode": "translate", "client_ids": [FORMER]})
    parameters = {"USERNAME": ADA[0], "PASSWORD": ADA[1]}
    answer = cognito_client(gateway.url).initiate_auth(
        ClientId=FORMER, AuthFlow="USER_PASSWORD_AUTH", AuthParameters=parameters
    )
    token = answer["AuthenticationResult"]["RefreshToken"]
    ledger.note(token, answer["AuthenticationResult"]["AccessToken"], answer["AuthenticationResult"]["IdToken"])
    app = Account(gateway.port, ledger)
    assert app.refresh(app.refresh(token).json()["refresh_token"]).status == 200


def test_a_disabled_user_and_a_deleted_one_are_refused(start, cognito, ledger):
    app = Account(start().port, ledger)
    old = released_app(cognito, ledger)
    refusal = {"operation": "GetTokensFromRefreshToken", "times": 1, "status": 400, "error": "NotAuthorizedException"}
    control(cognito, "POST", "faults", [{**refusal, "message": "User is disabled."}])
    assert_refusal(app.refresh(old["RefreshToken"]), 403, "UserDisabledException")
    control(cognito, "POST", "faults", [{**refusal, "error": "UserNotFoundException"}])
    assert_refusal(app.refresh(old["RefreshToken"]), 401, "TokenRefreshException")
    assert app.refresh(old["RefreshToken"]).status == 200


def test_guesses_are_limited_by_address(start, ledger):
    gateway = start(account_limits={"refresh": {"address": "3/1m"}})
    app = Account(gateway.port, ledger)
    guesses = [app.refresh(f"{number:080}") for number in range(5)]
    assert [answer.status for answer in guesses] == [401, 401, 401, 429, 429]


class Updated(threading.Thread):
    """An updated app: it shows its old token until it has a sealed one, which it then refreshes without pause."""

    def __init__(self, token: str, address, ledger):
        super().__init__(daemon=True)
        self.token, self.address, self.ledger = token, address, ledger
        self.refreshed = 0
        self.ended: str | None = None
        self.stopping = threading.Event()

    def run(self) -> None:
        while not self.stopping.is_set() and self.ended is None:
            try:
                answer = Account(self.address["port"], self.ledger).refresh(self.token)
            except (OSError, raw.ConnectionClosed):
                self.stopping.wait(0.01)
                continue
            if answer.status == 200:
                self.token = answer.json()["refresh_token"]
                self.refreshed += 1
            elif answer.status == 401:
                self.ended = answer.body.decode()


def test_no_kill_ends_a_session_that_is_taken_over(start, cognito, ledger):
    gateway = start()
    state, address = gateway.config["state_directory"], {"port": gateway.port}
    tokens = [released_app(cognito, ledger)["RefreshToken"] for _ in range(9)]
    choice = random.Random(9)
    apps: list[Updated] = []
    for round in range(3):
        apps += [Updated(token, address, ledger) for token in tokens[round * 3 : round * 3 + 3]]
        for app in apps[-3:]:
            app.start()
        # Anywhere in a takeover: what is under way at that moment is what the test is about.
        time.sleep(choice.uniform(0, 0.03))
        killed(gateway)
        gateway = start(state_directory=state)
        address["port"] = gateway.port
    for app in apps:
        while app.refreshed == 0 and app.ended is None:
            app.join(0.01)
        app.stopping.set()
    for app in apps:
        app.join(30)
    assert [app.ended for app in apps] == [None] * len(apps)
    account = Account(gateway.port, ledger)
    assert all(account.refresh(app.token).status == 200 for app in apps)
    assert (Path(state) / "gatehouse.sqlite").exists()
