"""Hosted sign-in by the rules of ASWebAuthenticationSession: callbacks, shared and ephemeral browsers, cancellation."""

import urllib.parse
from http.cookiejar import CookieJar

import pytest
from harness.account import Account
from harness.gateway import ADA, POOL_CLIENT_ID, Gateway, LocalPool, gateway_config
from harness.hosted import APP, LOGGED_OUT, PREFIX, App, hosted_pool, hosted_settings, parse
from harness.process import SILENT_PORT, free_port
from harness.web_authentication_session import HTTPS, CanceledLogin, CustomScheme, WebAuthenticationSession

UNIVERSAL_LINK = "https://app.example.com/oauth?x=1"
CALLBACKS = {APP: CustomScheme("com.example.app"), UNIVERSAL_LINK: HTTPS("app.example.com", "/oauth")}


@pytest.fixture(scope="module")
def port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def pool(run_directory, port: int):
    pool = LocalPool(run_directory, "web-session-pool", hosted_pool(port))
    yield pool
    pool.stop()


@pytest.fixture(scope="module")
def gateway(run_directory, issuer, pool: LocalPool, port: int):
    directory = run_directory / "web-session-gateway"
    directory.mkdir()
    changes = {
        "listeners": [{"address": f"127.0.0.1:{port}"}],
        "sign_in": {"cognito": {**pool.sign_in_settings("pool"), "hosted": hosted_settings(pool, port)}},
    }
    nobody = f"http://127.0.0.1:{SILENT_PORT}"
    gateway = Gateway(directory, "gateway", gateway_config(directory, nobody, issuer.server.url, None, pool, changes))
    yield gateway
    gateway.stop()


@pytest.fixture
def app(gateway) -> App:
    return App(gateway.url + PREFIX)


def begin(app: App, browser: CookieJar | None = None, **parameters: str) -> WebAuthenticationSession:
    return WebAuthenticationSession(app.authorize_url(**parameters), CALLBACKS[app.redirect_uri], browser)


@pytest.mark.parametrize("redirect_uri", CALLBACKS)
def test_the_callback_ends_the_session_and_the_app_signs_in(gateway, pool, ledger, redirect_uri):
    app = App(gateway.url + PREFIX, redirect_uri)
    session = begin(app)
    session.fill_in(username=ADA[0], password=ADA[1])
    url = session.finish()
    servers = {urllib.parse.urlsplit(loaded).netloc for loaded in session.loaded}
    assert servers == {urllib.parse.urlsplit(server).netloc for server in (gateway.url, pool.url)}
    assert parse(url)["iss"] == gateway.url + PREFIX
    answer = app.redeem(app.code(url))
    assert answer.status_code == 200, answer.text
    ledger.note(answer.json()["access_token"], answer.json()["refresh_token"])
    assert Account(gateway.port, ledger).me(answer.json()["access_token"]).json()["email"] == ADA[0]


def test_an_identity_provider_is_one_page_away(app):
    session = begin(app, identity_provider="Google")
    assert "Google" in session.page.text
    session.fill_in("verified", user_id="5001", email="noa@gmail.example", name="Noa")
    assert app.redeem(app.code(session.finish())).json()["user"]["username"] == "Google_5001"


@pytest.mark.parametrize("is_ephemeral", [False, True], ids=["shared", "ephemeral"])
def test_the_next_session_knows_the_user_only_by_shared_cookies(app, is_ephemeral):
    browser = None if is_ephemeral else CookieJar()
    first = begin(app, browser)
    first.fill_in(username=ADA[0], password=ADA[1])
    assert app.redeem(app.code(first.finish())).status_code == 200
    second = begin(app, browser)
    assert (second.page is not None) == is_ephemeral
    if is_ephemeral:
        second.fill_in(username=ADA[0], password=ADA[1])
    assert app.redeem(app.code(second.finish())).status_code == 200


@pytest.mark.parametrize("parameters", [{"scope": "openid admin"}, {"identity_provider": "Okta"}], ids=str)
def test_an_error_ends_the_session_too(app, parameters):
    """Otherwise the sheet would stay open on a page that leads nowhere."""
    session = begin(app, **parameters)
    answer = parse(session.finish())
    assert answer["state"] == app.state and answer["error"] in ("invalid_scope", "invalid_request")


def test_a_user_who_gives_up_on_the_page_comes_back(app):
    session = begin(app, identity_provider="Google")
    session.fill_in("cancel")
    assert parse(session.finish())["error"] == "access_denied"


def test_a_closed_sheet_leaves_nothing_that_a_later_session_trips_over(app):
    browser = CookieJar()
    closed = begin(app, browser)
    with pytest.raises(CanceledLogin):
        closed.finish()
    session = begin(app, browser)
    session.fill_in(username=ADA[0], password=ADA[1])
    assert app.redeem(app.code(session.finish())).status_code == 200


def test_a_session_of_its_own_signs_the_browser_out(app):
    browser = CookieJar()
    session = begin(app, browser)
    session.fill_in(username=ADA[0], password=ADA[1])
    assert session.finish()
    query = urllib.parse.urlencode({"client_id": POOL_CLIENT_ID, "logout_uri": LOGGED_OUT})
    ended = WebAuthenticationSession(f"{app.base}/logout?{query}", CALLBACKS[APP], browser)
    assert ended.finish() == LOGGED_OUT
    assert begin(app, browser).page is not None
