"""Hosted sign-in together with `user_sync`: the backend hears of it, and its own user is the app's. And the metrics."""

import json
import urllib.parse

import httpx
import pytest
from harness.account import Account
from harness.backend import RecordingBackend, answer
from harness.gateway import ADA, POOL_CLIENT_ID, Gateway, LocalPool, gateway_config
from harness.hosted import PREFIX, App, Browser, hosted_pool, hosted_settings
from harness.pool_users import open_refresh_tokens
from harness.process import SILENT_PORT, free_port, wait_until
from harness.sanitizer import PATIENCE

DOMAIN = "login.example.com"
KIM = {"user_id": "4001", "email": "kim@gmail.example", "name": "Kim"}
USER = {"id": 7, "first_name": "Kim", "plan": None}
METHODS = ("password", "federated", "translated")


@pytest.fixture(scope="module")
def backend():
    backend = RecordingBackend()
    yield backend
    backend.stop()


@pytest.fixture(scope="module")
def ports() -> tuple[int, int]:
    """Of a gateway that waits for the backend, and of one that does not."""
    return free_port(), free_port()


@pytest.fixture(scope="module")
def pool(run_directory, ports):
    first, second = (hosted_pool(port)["client"]["hosted"]["callback_urls"] for port in ports)
    changes = hosted_pool(ports[0])
    changes["client"]["hosted"]["callback_urls"] = [*first, second[0]]
    pool = LocalPool(run_directory, "hosted-sync-pool", changes)
    yield pool
    pool.stop()


def changes(pool: LocalPool, port: int, backend: RecordingBackend, **sync) -> dict:
    url = {"url": f"{backend.url}/users", "allow_insecure_http": True, "audience": "users", "timeout": "10s"}
    return {
        "listeners": [{"address": f"127.0.0.1:{port}"}],
        "sign_in": {"cognito": {"hosted": hosted_settings(pool, port)}},
        "identity": {"assertion": {"issuer": "https://gateway.example"}},
        "user_sync": {**url, **sync},
        "direct_cognito": {"mode": "translate", "hosted_domains": [DOMAIN]},
    }


@pytest.fixture(scope="module")
def gateway(run_directory, issuer, ledger, pool, ports, backend):
    """One that waits for the backend's user at every sign-in."""
    ledger.note(ADA[1])
    directory = run_directory / "hosted-sync"
    directory.mkdir()
    waiting = changes(pool, ports[0], backend, mode="required", respond=True)
    nobody = f"http://127.0.0.1:{SILENT_PORT}"
    gateway = Gateway(directory, "gateway", gateway_config(directory, nobody, issuer.server.url, None, pool, waiting))
    gateway.ledger = ledger
    yield gateway
    gateway.stop()


@pytest.fixture
def receiver(backend) -> RecordingBackend:
    backend.forget()
    backend.on("/users", of_backend(USER))
    return backend


@pytest.fixture
def browser():
    browser = Browser()
    yield browser
    browser.close()


def of_backend(user: dict):
    return answer(200, json.dumps(user).encode(), {"Content-Type": "application/json"})


def messages(receiver: RecordingBackend, event: str) -> list[dict]:
    told = [json.loads(request.body) for request in receiver.requests_to("/users") if request.complete]
    return [message for message in told if message["event"] == event]


def redeem(app: App, code: str, gateway: Gateway) -> httpx.Response:
    response = app.redeem(code)
    if response.status_code == 200:
        gateway.ledger.note(response.json()["access_token"], response.json()["refresh_token"])
    return response


def code_of_ada(app: App, browser: Browser) -> str:
    return app.code(browser.fill_in(browser.go(app.authorize_url(prompt="login")), username=ADA[0], password=ADA[1]))


def code_of_kim(app: App, browser: Browser) -> str:
    return app.code(browser.fill_in(browser.go(app.authorize_url(identity_provider="Google")), "verified", **KIM))


def sign_ins(gateway: Gateway) -> dict[tuple[str, str], float]:
    samples = gateway.samples()
    return {
        (method, result): samples.get(f'gatehouse_sign_ins_total{{method="{method}",result="{result}"}}', 0)
        for method in METHODS
        for result in ("success", "refused")
    }


@pytest.mark.parametrize(
    ("sign_in", "email"), [(code_of_ada, ADA[0]), (code_of_kim, KIM["email"])], ids=["own", "Google"]
)
def test_the_backends_user_is_that_of_a_hosted_sign_in(gateway, receiver, browser, sign_in, email):
    app = App(gateway.url + PREFIX)
    response = redeem(app, sign_in(app, browser), gateway)
    assert response.status_code == 200, response.text
    tokens = response.json()
    assert tokens["user"] == USER
    assert tokens["token_type"] == "Bearer" and tokens["scope"]
    # The backend hears of the user as Cognito has them, once.
    [told] = messages(receiver, "signed_in")
    assert told["user"]["email"] == email and told["user"]["id"]
    receiver.on("/users", of_backend({**USER, "plan": "gold"}))
    account = Account(gateway.port, gateway.ledger)
    assert account.me(tokens["access_token"]).json() == {**USER, "plan": "gold"}
    [read] = messages(receiver, "read")
    assert read["user"]["id"] == told["user"]["id"]
    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"], "client_id": POOL_CLIENT_ID}
    refreshed = httpx.post(f"{app.base}/token", data=form, timeout=20 * PATIENCE, trust_env=False).json()
    assert refreshed["access_token"] and "user" not in refreshed
    gateway.ledger.note(refreshed["access_token"], refreshed["refresh_token"])
    assert len(messages(receiver, "signed_in")) == 1, "a refresh is no sign-in"


@pytest.mark.parametrize(
    ("response", "status", "error"),
    [
        (answer(503, b""), 503, "temporarily_unavailable"),
        (answer(204, b""), 502, "server_error"),
        (answer(200, b"[]"), 502, "server_error"),
    ],
    ids=["503", "no content", "no object"],
)
def test_without_the_backends_user_no_session_is_left(gateway, pool, receiver, browser, response, status, error):
    before = open_refresh_tokens(pool, ADA[0])
    app = App(gateway.url + PREFIX)
    code = code_of_ada(app, browser)
    receiver.on("/users", response)
    refused = app.redeem(code)
    assert (refused.status_code, refused.json()["error"]) == (status, error), refused.text
    assert not {"access_token", "refresh_token", "user"} & set(refused.json())
    assert refused.headers["cache-control"] == "no-store"
    assert open_refresh_tokens(pool, ADA[0]) == before, "the session has ended at Cognito too"
    receiver.on("/users", of_backend(USER))
    again = app.redeem(code)
    assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")
    # The browser is still signed in on the pages: the app only begins again.
    app = App(gateway.url + PREFIX)
    assert redeem(app, app.code(browser.go(app.authorize_url())), gateway).json()["user"] == USER


def direct_redemption(gateway: Gateway, app: App, browser: Browser) -> httpx.Response:
    """As a released app does it, that knows only the pool's domain."""
    client = httpx.Client(base_url=gateway.url, headers={"Host": DOMAIN}, timeout=20 * PATIENCE, trust_env=False)
    query = urllib.parse.urlsplit(app.authorize_url(prompt="login")).query
    page = browser.go(client.get(f"/oauth2/authorize?{query}").headers["location"])
    code = app.code(browser.fill_in(page, username=ADA[0], password=ADA[1]))
    return client.post("/oauth2/token", data=app.token_form(code))


def test_a_sign_in_at_the_pools_domain_is_reported_too(gateway, pool, receiver, browser):
    tokens = direct_redemption(gateway, App(""), browser).json()
    gateway.ledger.note(tokens["access_token"], tokens["refresh_token"])
    assert "user" not in tokens, "the response is Cognito's own"
    [told] = messages(receiver, "signed_in")
    assert told["user"]["email"] == ADA[0]
    before = open_refresh_tokens(pool, ADA[0])
    receiver.on("/users", answer(503, b""))
    refused = direct_redemption(gateway, App(""), browser)
    assert (refused.status_code, refused.json()["error"]) == (503, "temporarily_unavailable")
    assert open_refresh_tokens(pool, ADA[0]) == before


def test_sign_ins_on_hosted_pages_are_counted_as_federated(gateway, receiver, browser):
    """Those of the pool's own users, and those of an identity provider's."""
    before = sign_ins(gateway)
    for sign_in in (code_of_ada, code_of_kim):
        app = App(gateway.url + PREFIX)
        assert redeem(app, sign_in(app, browser), gateway).status_code == 200
    assert App(gateway.url + PREFIX).redeem("x" * 43).status_code == 400
    app = App(gateway.url + PREFIX)
    code = code_of_ada(app, browser)
    receiver.on("/users", answer(503, b""))
    assert app.redeem(code).status_code == 503
    receiver.on("/users", of_backend(USER))
    tokens = direct_redemption(gateway, App(""), browser).json()
    gateway.ledger.note(tokens["access_token"], tokens["refresh_token"])
    assert Account(gateway.port, gateway.ledger).login(*ADA).status == 200
    # Beginning a sign-in, and refreshing, are none.
    form = {"grant_type": "refresh_token", "refresh_token": "v2.k1.cmVmcmVzaA", "client_id": POOL_CLIENT_ID}
    assert httpx.post(f"{app.base}/token", data=form, timeout=20 * PATIENCE, trust_env=False).status_code == 400
    counted = {key: count - before[key] for key, count in sign_ins(gateway).items()}
    assert counted == {
        ("federated", "success"): 2, ("federated", "refused"): 2, ("translated", "success"): 1,
        ("translated", "refused"): 0, ("password", "success"): 1, ("password", "refused"): 0,
    }  # fmt: skip


def test_in_the_background_no_sign_in_waits_for_the_backend(start_gateway, pool, ports, receiver, browser, ledger):
    gateway = start_gateway(changes(pool, ports[1], receiver, mode="background"), pool=pool)
    gateway.ledger = ledger
    receiver.on("/users", answer(503, b""))
    app = App(gateway.url + PREFIX)
    tokens = redeem(app, code_of_kim(app, browser), gateway).json()
    assert tokens["user"]["username"] == f"Google_{KIM['user_id']}"
    told = wait_until(lambda: messages(receiver, "signed_in"), "the first try")
    assert told[0]["user"]["email"] == KIM["email"]
