"""Direct requests for a pool's hosted domain, as released apps and their browsers send them to the gateway."""

import urllib.parse

import httpx
import jwt
import pytest
from authlib.integrations.requests_client import OAuth2Session
from harness.gateway import ADA, POOL_CLIENT_ID, POOL_CLIENT_SECRET, Gateway, LocalPool, gateway_config
from harness.hosted import APP, LOGGED_OUT, App, Browser, hosted_pool, hosted_settings, parse
from harness.process import SILENT_PORT, free_port
from harness.sanitizer import PATIENCE

OLD_CLIENT = "8local0former0client00000"
DOMAIN = "login.example.com"


@pytest.fixture(scope="module")
def pool(run_directory):
    pool = LocalPool(run_directory, "hosted-direct-pool", hosted_pool(1))
    yield pool
    pool.stop()


def gateway_of(run_directory, issuer, pool: LocalPool, mode: str) -> Gateway:
    port = free_port()
    directory = run_directory / f"hosted-direct-{mode}"
    directory.mkdir()
    changes = {
        "listeners": [{"address": f"127.0.0.1:{port}"}],
        "issuers": {"pool": {"client_ids": [POOL_CLIENT_ID, OLD_CLIENT]}},
        "sign_in": {"cognito": {"hosted": hosted_settings(pool, port)}},
        "direct_cognito": {"mode": mode, "hosted_domains": [DOMAIN]}
        | ({"client_ids": [OLD_CLIENT]} if mode == "translate" else {}),
    }
    nobody = f"http://127.0.0.1:{SILENT_PORT}"
    return Gateway(directory, "gateway", gateway_config(directory, nobody, issuer.server.url, None, pool, changes))


@pytest.fixture(scope="module")
def gateway(run_directory, issuer, pool):
    gateway = gateway_of(run_directory, issuer, pool, "translate")
    yield gateway
    gateway.stop()


class Domain:
    """The hosted domain as an app sees it, with the gateway behind its name."""

    def __init__(self, gateway: Gateway):
        self.client = httpx.Client(
            base_url=gateway.url, headers={"Host": DOMAIN}, timeout=20 * PATIENCE, trust_env=False
        )

    def token(self, **form: str) -> httpx.Response:
        return self.client.post("/oauth2/token", data=form)


@pytest.fixture
def domain(gateway) -> Domain:
    return Domain(gateway)


def signed_in(domain: Domain, app: App) -> str:
    """The code that the app gets straight from Cognito."""
    query = urllib.parse.urlsplit(app.authorize_url(client_id=OLD_CLIENT)).query
    answer = domain.client.get(f"/oauth2/authorize?{query}")
    assert answer.status_code == 303, answer.text
    browser = Browser()
    target = browser.fill_in(browser.go(answer.headers["location"]), username=ADA[0], password=ADA[1])
    browser.close()
    return app.code(target)


def test_an_app_without_a_secret_signs_in_refreshes_and_signs_out(domain, pool, ledger):
    app = App("")
    tokens = domain.token(
        grant_type="authorization_code", client_id=OLD_CLIENT, code=signed_in(domain, app), redirect_uri=APP,
        code_verifier=app.verifier,
    ).json()
    ledger.note(tokens["access_token"], tokens["refresh_token"])
    assert set(tokens) == {"access_token", "id_token", "refresh_token", "expires_in", "token_type"}
    claims = jwt.decode(tokens["access_token"], options={"verify_signature": False})
    assert claims["client_id"] == POOL_CLIENT_ID
    headers = {"Authorization": f"Bearer {tokens['access_token']}"}
    assert domain.client.get("/oauth2/userInfo", headers=headers).json()["email"] == ADA[0]
    refreshed = domain.token(
        grant_type="refresh_token", client_id=OLD_CLIENT, refresh_token=tokens["refresh_token"]
    )
    assert refreshed.status_code == 200
    assert {"access_token", "id_token", "expires_in", "token_type"} <= set(refreshed.json())
    assert domain.client.post("/oauth2/revoke", data={"client_id": OLD_CLIENT, "token": tokens["refresh_token"]}).status_code == 200
    assert domain.client.get("/oauth2/userInfo", headers=headers).status_code == 401
    ended = domain.token(grant_type="refresh_token", client_id=OLD_CLIENT, refresh_token=tokens["refresh_token"])
    assert (ended.status_code, ended.json()["error"]) == (400, "invalid_grant")


def test_authlib_takes_the_gateway_for_the_domain(gateway, domain, ledger):
    session = OAuth2Session(
        OLD_CLIENT, redirect_uri=APP, scope="openid email", code_challenge_method="S256",
        token_endpoint_auth_method="none",
    )
    session.trust_env = False
    session.headers["Host"] = DOMAIN
    app = App("")
    url, state = session.create_authorization_url(f"{gateway.url}/oauth2/authorize", code_verifier=app.verifier)
    answer = domain.client.get(url.removeprefix(gateway.url))
    browser = Browser()
    target = browser.fill_in(browser.go(answer.headers["location"]), username=ADA[0], password=ADA[1])
    browser.close()
    tokens = session.fetch_token(
        f"{gateway.url}/oauth2/token", authorization_response=target, state=state, code_verifier=app.verifier
    )
    ledger.note(tokens["access_token"], tokens["refresh_token"])
    assert session.refresh_token(f"{gateway.url}/oauth2/token", refresh_token=tokens["refresh_token"])["access_token"]


def test_a_browser_is_sent_to_the_domain_of_the_settings_only(domain, pool):
    app = App("")
    query = urllib.parse.urlsplit(app.authorize_url(client_id=OLD_CLIENT, redirect_uri="https://evil.example/")).query
    for path in ("/oauth2/authorize", "/login", "/signup", "/forgotPassword"):
        answer = domain.client.get(f"{path}?{query}&client%5Fid=evil&client_secret=x&unknown=y")
        target = urllib.parse.urlsplit(answer.headers["location"])
        assert f"{target.scheme}://{target.netloc}{target.path}" == pool.url + path
        parameters = parse(answer.headers["location"])
        assert parameters["client_id"] == POOL_CLIENT_ID
        assert POOL_CLIENT_SECRET not in answer.headers["location"]
        assert not {"client_secret", "unknown"} & set(parameters)
        # Cognito's own list stands against the redirect URI.
        assert httpx.get(answer.headers["location"], trust_env=False).status_code == 400
    answer = domain.client.get("/logout", params={"client_id": OLD_CLIENT, "logout_uri": LOGGED_OUT})
    assert parse(answer.headers["location"]) == {"client_id": POOL_CLIENT_ID, "logout_uri": LOGGED_OUT}


@pytest.mark.parametrize(
    "change", [{"code_challenge": None}, {"code_challenge_method": "plain"}, {"response_type": "token"}, {"client_id": "x"}],
    ids=str,
)
def test_a_browser_without_pkce_or_client_is_refused(domain, change):
    query = urllib.parse.urlsplit(App("").authorize_url(**{"client_id": OLD_CLIENT, **change})).query
    answer = domain.client.get(f"/oauth2/authorize?{query}")
    assert answer.status_code == 400 and "location" not in answer.headers


@pytest.mark.parametrize(
    ("form", "error"),
    [
        ({"grant_type": "client_credentials", "client_id": OLD_CLIENT}, "unsupported_grant_type"),
        ({"grant_type": "password", "client_id": OLD_CLIENT}, "unsupported_grant_type"),
        ({"grant_type": "authorization_code", "client_id": OLD_CLIENT, "code": "x", "redirect_uri": APP}, "invalid_request"),
        ({"grant_type": "authorization_code", "client_id": "x", "code": "x", "code_verifier": "y"}, "invalid_client"),
        (
            {"grant_type": "authorization_code", "client_id": OLD_CLIENT, "code": "x", "code_verifier": "y" * 43,
             "redirect_uri": APP},
            "invalid_grant",
        ),
        ({"grant_type": "refresh_token", "client_id": OLD_CLIENT, "refresh_token": "x"}, "invalid_grant"),
        ({}, "invalid_request"),
        ({"grant_type": "refresh_token", "client_id": OLD_CLIENT}, "invalid_request"),
    ],
    ids=str,
)
def test_the_secret_is_added_to_a_users_own_grants_only(domain, form, error):
    answer = domain.token(**form)
    assert (answer.status_code, answer.json()["error"]) == (400, error)


@pytest.mark.parametrize("path", ["/", "/oauth2/idpresponse", "/oauth2/token/", "/OAUTH2/token", "/saml2/idpresponse"])
def test_other_paths_are_refused(domain, path):
    for method in ("GET", "POST"):
        assert domain.client.request(method, path).status_code == 403


def test_a_gateway_that_blocks_refuses_all_of_them(run_directory, issuer, pool):
    gateway = gateway_of(run_directory, issuer, pool, "block")
    try:
        domain = Domain(gateway)
        for path in ("/oauth2/authorize", "/login", "/logout", "/oauth2/userInfo"):
            assert domain.client.get(path).status_code == 403
        assert domain.token(grant_type="refresh_token").status_code == 403
    finally:
        gateway.stop()
