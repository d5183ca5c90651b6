"""Sign-in on the hosted pages of the user pool, through the gateway: RFC 6749, 7636, 8252, 9207 and 9700."""

import json
import urllib.parse
from pathlib import Path

import httpx
import pytest
from authlib.integrations.base_client.errors import OAuthError
from authlib.integrations.requests_client import OAuth2Session
from harness import raw
from harness.account import Account, assert_refusal
from harness.gateway import ADA, POOL_CLIENT_ID, POOL_ID, Gateway, LocalPool, check, gateway_config
from harness.hosted import (
    APP, LOGGED_OUT, LOOPBACK, PREFIX, App, Browser, Form, hosted_pool, hosted_settings, parse,
)
from harness.keys import Issuer
from harness.local_pool_control import control
from harness.process import SILENT_PORT, free_port, wait_until

USER = {"user_id": "1047", "email": "lin@gmail.example", "name": "Lin"}


@pytest.fixture(scope="module")
def port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def hosted(run_directory, port: int):
    pool = LocalPool(run_directory, "hosted-pool", hosted_pool(port))
    yield pool
    pool.stop()


def changes(pool: LocalPool, port: int, **more) -> dict:
    return {
        "listeners": [{"address": f"127.0.0.1:{port}"}],
        "sign_in": {"cognito": {**pool.sign_in_settings("pool"), "hosted": hosted_settings(pool, port)}},
        **more,
    }


def configuration(directory: Path, issuer: Issuer, pool: LocalPool, port: int, **more) -> dict:
    directory.mkdir()
    nobody = f"http://127.0.0.1:{SILENT_PORT}"
    return gateway_config(directory, nobody, issuer.server.url, None, pool, changes(pool, port, **more))


@pytest.fixture(scope="module")
def gateway(run_directory, issuer, hosted: LocalPool, port: int):
    directory = run_directory / "hosted-gateway"
    gateway = Gateway(directory, "gateway", configuration(directory, issuer, hosted, port))
    yield gateway
    gateway.stop()


@pytest.fixture
def app(gateway) -> App:
    return App(gateway.url + PREFIX)


@pytest.fixture
def browser():
    browser = Browser()
    yield browser
    browser.close()


def signed_in_code(app: App, browser: Browser, **parameters) -> str:
    """The code after a sign-in with Ada's password."""
    page = browser.go(app.authorize_url(**parameters))
    if isinstance(page, str):
        return app.code(page)
    return app.code(browser.fill_in(page, username=ADA[0], password=ADA[1]))


def assert_oauth(answer: httpx.Response, status: int, error: str) -> dict:
    """The answer is an error with the keys of RFC 6749 and those of the API."""
    assert answer.status_code == status, answer.text
    body = answer.json()
    assert body["error"] == error
    assert body["error_description"] == body["message"]
    assert body["statusCode"] == status
    assert body["requestId"] == answer.headers["x-request-id"]
    assert answer.headers["cache-control"] == "no-store"
    return body


class TestSignIn:
    def test_a_user_of_the_pool_signs_in_and_the_tokens_are_those_of_a_login(self, gateway, app, browser, ledger):
        answer = app.redeem(signed_in_code(app, browser))
        assert answer.status_code == 200, answer.text
        tokens = answer.json()
        ledger.note(tokens["access_token"], tokens["refresh_token"])
        assert answer.headers["cache-control"] == "no-store"
        account = Account(gateway.port, ledger)
        login = account.login(*ADA).json()
        assert set(tokens) == set(login)
        assert tokens["user"] == login["user"]
        # The tokens were given when the browser came back.
        assert tokens["token_type"] == "Bearer" and 3590 < tokens["expires_in"] <= 3600
        assert set(tokens["scope"].split()) == {"openid", "email", "profile", "aws.cognito.signin.user.admin"}
        assert account.me(tokens["access_token"]).json() == login["user"]
        refreshed = account.refresh(tokens["refresh_token"])
        assert refreshed.status == 200
        assert account.me(refreshed.json()["access_token"]).status == 200
        assert account.logout(refresh_token=refreshed.json()["refresh_token"]).status == 204
        assert_refusal(account.me(tokens["access_token"]), 401, "NotAuthorizedException")
        assert_refusal(account.refresh(refreshed.json()["refresh_token"]), 401, "TokenRefreshException")

    def test_the_way_is_made_of_redirects_with_get_that_nobody_stores(self, gateway, app, browser):
        """ASWebAuthenticationSession follows these, and ends at the app's scheme."""
        page = browser.go(app.authorize_url())
        target = browser.fill_in(page, username=ADA[0], password=ADA[1])
        assert target.startswith("com.example.app:/oauth?")
        own = [step for step in browser.visited if step.url.port == gateway.port]
        assert [step.status_code for step in own] == [303, 303]
        for step in own:
            assert step.headers["cache-control"] == "no-store"
            assert step.headers["referrer-policy"] == "no-referrer"
        cookie = own[0].headers["set-cookie"]
        # Plain HTTP has no __Host- cookies: this gateway allows it for a pool on this machine.
        assert cookie.startswith("gatehouse-sign-in=")
        assert {"Path=/", "HttpOnly", "SameSite=Lax", "Max-Age=600"} <= {part.strip() for part in cookie.split(";")}
        parameters = parse(target)
        assert set(parameters) == {"code", "state", "iss"}
        assert parameters["iss"] == f"http://127.0.0.1:{gateway.port}{PREFIX}"
        assert len(parameters["code"]) == 43
        sent = parse(str(own[0].headers["location"]))
        assert sent["client_id"] == POOL_CLIENT_ID
        assert sent["code_challenge"] != app.challenge
        assert sent["state"] != app.state and app.state not in sent["state"]
        assert sent["redirect_uri"] == f"http://127.0.0.1:{gateway.port}{PREFIX}/callback"

    def test_a_user_of_an_identity_provider_signs_in(self, gateway, app, browser, ledger):
        page = browser.go(app.authorize_url(identity_provider="Google"))
        assert "Google" in page.text
        answer = app.redeem(app.code(browser.fill_in(page, "verified", **USER)))
        tokens = answer.json()
        ledger.note(tokens["access_token"], tokens["refresh_token"])
        user = tokens["user"]
        assert (user["username"], user["email"], user["email_verified"], user["name"]) == (
            "Google_1047", USER["email"], True, "Lin",
        )
        assert user["groups"] == [f"{POOL_ID}_Google"]
        account = Account(gateway.port, ledger)
        assert account.me(tokens["access_token"]).json()["username"] == "Google_1047"
        refreshed = account.refresh(tokens["refresh_token"]).json()
        assert account.me(refreshed["access_token"]).status == 200
        again = App(app.base)
        page = Browser().go(again.authorize_url(identity_provider="Google"))
        assert page.status_code == 200
        assert account.send("DELETE", "me", token=refreshed["access_token"]).status == 204

    def test_two_sign_ins_of_one_browser_go_on_at_once(self, gateway, browser):
        first, second = App(gateway.url + PREFIX), App(gateway.url + PREFIX)
        pages = [browser.go(app.authorize_url(prompt="login")) for app in (first, second)]
        targets = [browser.fill_in(page, username=ADA[0], password=ADA[1]) for page in pages]
        for app, target in zip((first, second), targets):
            assert app.redeem(app.code(target)).status_code == 200

    def test_the_device_binds_the_session(self, gateway, app, browser, ledger):
        code = signed_in_code(app, browser)
        body = {**app.token_form(code), "device_info": {"device_id": "phone-1", "platform": "ios"}}
        account = Account(gateway.port, ledger)
        tokens = account.post("oauth/token", body).json()
        other = account.post("refresh", {"refresh_token": tokens["refresh_token"], "device_info": {"device_id": "b"}})
        assert_refusal(other, 401, "TokenRefreshException")
        assert account.refresh(tokens["refresh_token"]).status == 200

    def test_the_audit_log_has_one_sign_in(self, gateway, app, browser):
        identifiers = [app.redeem(signed_in_code(app, browser)).headers["x-request-id"] for _ in range(2)]

        def events(identifier: str) -> list[str]:
            lines = gateway.audit_log("signed_in")
            return [line["operation"] for line in lines if line["request_id"] == identifier]

        # The log is written behind the response, and in order: with the second event the first one is whole.
        wait_until(lambda: events(identifiers[1]), "the event of the second sign-in")
        assert events(identifiers[0]) == ["oauth-token"]

    @pytest.mark.parametrize(
        "redirect_uri", [LOOPBACK, "http://127.0.0.1:1/back", "https://app.example.com/oauth?x=1"]
    )
    def test_a_listed_redirect_uri_is_taken(self, gateway, browser, redirect_uri):
        app = App(gateway.url + PREFIX, redirect_uri)
        if redirect_uri == LOOPBACK:
            # Port 80 is nobody's here: only the first step is looked at.
            assert httpx.get(app.authorize_url(), trust_env=False).status_code == 303
            return
        target = browser.fill_in(browser.go(app.authorize_url()), username=ADA[0], password=ADA[1])
        assert parse(target)["state"] == app.state
        assert app.redeem(parse(target)["code"]).status_code == 200


class TestRefusedRequests:
    """RFC 6749, 4.1.2.1."""

    @pytest.mark.parametrize(
        "parameters",
        [
            {"client_id": None}, {"client_id": "other"}, {"client_id": ""}, {"redirect_uri": None},
            {"redirect_uri": "com.example.app:/oauth/"}, {"redirect_uri": "com.example.app:/oauth?x=1"},
            {"redirect_uri": "COM.example.app:/oauth"}, {"redirect_uri": "https://app.example.com/oauth"},
            {"redirect_uri": "https://app.example.com.evil.example/oauth?x=1"},
            {"redirect_uri": "http://127.0.0.1:80@evil.example/back"}, {"redirect_uri": "http://127.0.0.1:/back"},
            {"redirect_uri": "http://127.0.0.1:99999/back"}, {"redirect_uri": "http://localhost:80/back"},
            {"redirect_uri": "http://127.0.0.1:80/evil/back"}, {"redirect_uri": "http://127.0.0.1:8a/back"},
        ],
        ids=str,
    )
    def test_a_wrong_client_or_redirect_uri_leads_nowhere(self, app, parameters):
        answer = httpx.get(app.authorize_url(**parameters), trust_env=False)
        assert answer.status_code == 400
        assert "location" not in answer.headers and "set-cookie" not in answer.headers
        assert answer.json()["error"] == "BadRequestException"

    def test_a_repeated_redirect_uri_leads_nowhere(self, app):
        answer = httpx.get(app.authorize_url() + "&redirect_uri=com.example.app:/oauth", trust_env=False)
        assert answer.status_code == 400 and "location" not in answer.headers

    @pytest.mark.parametrize(
        ("parameters", "error"),
        [
            ({"response_type": "token"}, "unsupported_response_type"),
            ({"response_type": None}, "unsupported_response_type"),
            ({"code_challenge": None}, "invalid_request"),
            ({"code_challenge_method": "plain"}, "invalid_request"),
            ({"code_challenge_method": None}, "invalid_request"),
            ({"code_challenge": "short"}, "invalid_request"),
            ({"scope": "openid admin"}, "invalid_scope"),
            ({"scope": "email"}, "invalid_scope"),
            ({"identity_provider": "Okta"}, "invalid_request"),
            ({"idp_identifier": "evil"}, "invalid_request"),
            ({"prompt": "dance"}, "invalid_request"),
            ({"response_mode": "fragment"}, "invalid_request"),
            ({"request": "eyJ"}, "invalid_request"),
        ],
        ids=str,
    )
    def test_any_other_error_goes_to_the_app(self, gateway, app, parameters, error):
        answer = httpx.get(app.authorize_url(**parameters), trust_env=False)
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("com.example.app:/oauth?")
        assert parse(answer.headers["location"]) == {
            "error": error, "state": app.state, "iss": f"{gateway.url}{PREFIX}",
        }

    def test_a_sign_in_that_is_given_up_goes_to_the_app(self, app, browser):
        page = browser.go(app.authorize_url(identity_provider="Google"))
        assert parse(browser.fill_in(page, "cancel"))["error"] == "access_denied"

    @pytest.mark.parametrize(
        ("fault", "error"),
        [({"error": "invalid_grant"}, "access_denied"), ({"error": "invalid_client"}, "server_error"),
         ({"error": "server_error", "status": 500}, "temporarily_unavailable")],
        ids=str,
    )
    def test_what_cognito_says_to_the_gateway_is_mapped(self, gateway, hosted, app, browser, fault, error):
        control(hosted, "POST", "faults", [{"operation": "OAuthToken", "times": 1, **fault}])
        target = browser.fill_in(browser.go(app.authorize_url()), username=ADA[0], password=ADA[1])
        parameters = parse(target)
        assert (parameters["error"], parameters["state"]) == (error, app.state)
        if error == "server_error":
            setting = "sign_in.cognito.client_secret"
            wait_until(lambda: setting in gateway.log(), "the setting in the log")


class TestCallback:
    def callback(self, app: App, browser: Browser) -> str:
        """The URL at which Cognito leads back to the gateway, unused."""
        page = browser.client.get(app.authorize_url(prompt="login"))
        page = browser.client.get(page.headers["location"])
        page = browser.client.get(urllib.parse.urljoin(str(page.url), page.headers["location"]))
        form = Form(page.text)
        done = browser.client.post(
            urllib.parse.urljoin(str(page.url), form.action),
            data={**form.values, "username": ADA[0], "password": ADA[1]},
        )
        return done.headers["location"]

    def test_only_the_browser_that_began_comes_back(self, app, browser):
        url = self.callback(app, browser)
        other = Browser()
        for client in (httpx.Client(trust_env=False), other.client):
            if client is other.client:
                client.get(App(app.base).authorize_url())
            answer = client.get(url)
            assert answer.status_code == 400 and "location" not in answer.headers
            assert answer.json()["message"] == "This sign-in has ended. Begin again in the app."
        assert app.redeem(app.code(browser.go(url))).status_code == 200

    def test_a_state_gives_one_code(self, app, browser):
        url = self.callback(app, browser)
        assert app.code(browser.go(url))
        again = browser.go(url)
        # Cognito does not know the code any more.
        assert parse(again)["error"] == "access_denied" if isinstance(again, str) else again.status_code == 400

    @pytest.mark.parametrize("change", ["drop", "flip", "twice"])
    def test_a_changed_state_leads_nowhere(self, app, browser, change):
        url = self.callback(app, browser)
        parts = urllib.parse.urlsplit(url)
        parameters = dict(urllib.parse.parse_qsl(parts.query))
        if change == "drop":
            parameters.pop("state")
        elif change == "flip":
            text = parameters["state"]
            parameters["state"] = text[:-2] + ("A" if text[-2] != "A" else "B") + text[-1]
        query = urllib.parse.urlencode(parameters)
        if change == "twice":
            query += "&state=x"
        answer = browser.client.get(parts._replace(query=query).geturl())
        assert answer.status_code == 400 and "location" not in answer.headers

    def test_an_error_outside_the_list_is_a_server_error(self, app, browser):
        parts = urllib.parse.urlsplit(self.callback(app, browser))
        state = urllib.parse.parse_qs(parts.query)["state"][0]
        query = urllib.parse.urlencode({"state": state, "error": "<script>", "error_description": "x"})
        target = browser.go(parts._replace(query=query).geturl())
        assert parse(target)["error"] == "server_error" and "script" not in target


class TestCode:
    def test_a_second_use_ends_the_session_of_the_first(self, gateway, app, browser, ledger):
        """RFC 6749, 4.1.2."""
        code = signed_in_code(app, browser)
        tokens = app.redeem(code).json()
        account = Account(gateway.port, ledger)
        assert account.me(tokens["access_token"]).status == 200
        assert_oauth(app.redeem(code), 400, "invalid_grant")
        assert_refusal(account.me(tokens["access_token"]), 401, "NotAuthorizedException")
        assert_refusal(account.refresh(tokens["refresh_token"]), 401, "TokenRefreshException")

    @pytest.mark.parametrize(
        "wrong",
        [{"code_verifier": "x" * 43}, {"code_verifier": "short"}, {"redirect_uri": "https://app.example.com/oauth?x=1"}],
        ids=str,
    )
    def test_a_wrong_proof_uses_the_code_up(self, app, browser, wrong):
        code = signed_in_code(app, browser)
        assert_oauth(app.redeem(code, **wrong), 400, "invalid_grant")
        assert_oauth(app.redeem(code), 400, "invalid_grant")

    @pytest.mark.parametrize(
        ("changes", "error"),
        [
            ({"client_id": "other"}, "invalid_client"), ({"grant_type": "password"}, "unsupported_grant_type"),
            ({"grant_type": "client_credentials"}, "unsupported_grant_type"), ({"code": ""}, "invalid_request"),
            ({"code_verifier": ""}, "invalid_request"), ({"code": "unknown"}, "invalid_grant"),
        ],
        ids=str,
    )
    def test_errors_have_the_names_of_the_rfc(self, app, changes, error):
        assert_oauth(app.redeem("x" * 43, **changes), 400, error)

    def test_a_repeated_parameter_is_refused(self, app):
        body = urllib.parse.urlencode(app.token_form("x" * 43)) + "&code=y"
        answer = httpx.post(
            f"{app.base}/token", content=body, headers={"Content-Type": "application/x-www-form-urlencoded"},
            trust_env=False,
        )
        assert_oauth(answer, 400, "invalid_request")

    def test_a_refresh_of_another_text_is_an_invalid_grant(self, app):
        form = {"grant_type": "refresh_token", "refresh_token": "v2.x.y", "client_id": POOL_CLIENT_ID}
        answer = httpx.post(f"{app.base}/token", data=form, trust_env=False)
        assert_oauth(answer, 400, "invalid_grant")
        # As in every call, null is a field that is not there.
        answer = httpx.post(f"{app.base}/token", json=form | {"client_id": None}, trust_env=False)
        assert_oauth(answer, 400, "invalid_grant")

    def test_a_refresh_for_another_client_is_refused_and_the_token_stays_good(self, app, browser, ledger):
        tokens = app.redeem(signed_in_code(app, browser)).json()
        ledger.note(tokens["access_token"], tokens["refresh_token"])
        form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}

        def refresh(**client: str) -> httpx.Response:
            return httpx.post(f"{app.base}/token", data=form | client, trust_env=False)

        assert_oauth(refresh(client_id="other"), 400, "invalid_client")
        # RFC 6749, 6: a client need not name itself. By 3.1, a parameter without a value is not there.
        assert refresh(client_id="").status_code == 200


class TestLogout:
    def test_the_browser_is_signed_out_at_the_pages(self, gateway, app, browser):
        signed_in_code(app, browser)
        # The browser is known there: no page.
        assert isinstance(browser.go(App(app.base).authorize_url()), str)
        query = urllib.parse.urlencode({"client_id": POOL_CLIENT_ID, "logout_uri": LOGGED_OUT})
        assert browser.go(f"{app.base}/logout?{query}") == LOGGED_OUT
        assert browser.go(App(app.base).authorize_url()).status_code == 200

    @pytest.mark.parametrize("logout_uri", ["", APP, LOGGED_OUT + "/", "https://evil.example/"])
    def test_another_uri_leads_nowhere(self, app, logout_uri):
        query = urllib.parse.urlencode({"client_id": POOL_CLIENT_ID, "logout_uri": logout_uri})
        answer = httpx.get(f"{app.base}/logout?{query}", trust_env=False)
        assert answer.status_code == 400 and "location" not in answer.headers


class TestScopes:
    def test_a_token_for_other_scopes_is_not_good_for_the_own_account(self, gateway, app, browser, ledger):
        tokens = app.redeem(signed_in_code(app, browser, scope="openid email")).json()
        ledger.note(tokens["access_token"], tokens["refresh_token"])
        account, token = Account(gateway.port, ledger), tokens["access_token"]
        # The password is not looked at: 422 would tell whether it is right.
        address = {"email": "next@example.com", "phone_number": "+4915112345678", "current_password": "Wrong-Horse-1"}
        calls = [
            ("GET", "me", None), ("GET", "me/sessions", None), ("DELETE", "me/sessions", None),
            ("DELETE", "me/sessions/7c1de09b52f84c3ca7b1d0e2f3948576", None),
            ("POST", "me/email", address), ("POST", "me/phone", address),
        ]
        for method, path, body in calls:
            answer = account.send(method, path, body, token)
            assert_refusal(answer, 403, "AccessDeniedException")
            assert 'scope="aws.cognito.signin.user.admin"' in answer.header("www-authenticate"), path
        assert account.logout(token).status == 204


class TestIndependentClient:
    def test_authlib_signs_in_and_refreshes(self, gateway, browser, ledger):
        session = OAuth2Session(
            POOL_CLIENT_ID, redirect_uri=APP, scope="openid email", code_challenge_method="S256",
            token_endpoint_auth_method="none",
        )
        session.trust_env = False
        verifier = App("").verifier
        base = gateway.url + PREFIX
        url, state = session.create_authorization_url(f"{base}/authorize", code_verifier=verifier)
        target = browser.fill_in(browser.go(url), username=ADA[0], password=ADA[1])
        token = session.fetch_token(
            f"{base}/token", authorization_response=target, state=state, code_verifier=verifier
        )
        ledger.note(token["access_token"], token["refresh_token"])
        assert token["scope"] == "openid email"
        # Without aws.cognito.signin.user.admin the token is not good for the user's own account.
        refreshed = session.refresh_token(f"{base}/token", refresh_token=token["refresh_token"])
        assert refreshed["access_token"] != token["access_token"]
        session.refresh_token(f"{base}/token", refresh_token=refreshed["refresh_token"])
        # The first token once more, long after its successor was used, is a theft.
        with pytest.raises(OAuthError, match="invalid_grant"):
            session.refresh_token(f"{base}/token", refresh_token=token["refresh_token"])


def test_a_code_outlasts_a_restart(run_directory, issuer, browser):
    port = free_port()
    pool = LocalPool(run_directory, "hosted-restart-pool", hosted_pool(port))
    directory = run_directory / "hosted-restart"
    gateway = Gateway(directory, "gateway", configuration(directory, issuer, pool, port))
    try:
        app = App(gateway.url + PREFIX)
        code = signed_in_code(app, browser)
        assert gateway.stop() == 0
        gateway = Gateway(directory, "gateway-again", gateway.config)
        assert app.redeem(code).status_code == 200
        assert_oauth(app.redeem(code), 400, "invalid_grant")
    finally:
        gateway.stop()
        pool.stop()


def test_who_begins_too_many_sign_ins_waits(start_gateway, hosted):
    port = free_port()
    limits = {"sign_in": {"address": "2/1m"}}
    gateway = start_gateway(changes(hosted, port, account_limits=limits), pool=hosted)
    app = App(gateway.url + PREFIX)
    answers = [httpx.get(app.authorize_url(), trust_env=False) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [303, 303, 429]
    answer = app.redeem("x" * 43)
    assert_oauth(answer, 429, "temporarily_unavailable")
    assert int(answer.headers["retry-after"]) > 0


def test_without_the_setting_the_paths_are_ordinary_routes(start_gateway, hosted):
    gateway = start_gateway(pool=hosted)
    answer = raw.exchange(gateway.port, "GET", f"{PREFIX}/authorize")
    assert_refusal(answer, 404, "NotFoundException")


def test_wrong_settings_are_reported_together(run_directory, hosted, port):
    bad = {
        "domain": "http://auth.example.com/path", "public_url": "https://api.example.com",
        "redirect_uris": ["myapp://oauth", "http://example.com/", "https://app.example.com/#x", "http://localhost/"],
        "scopes": ["email"], "identity_providers": [],
    }
    directory = run_directory / "hosted-settings"
    directory.mkdir()
    settings = {**hosted.sign_in_settings("pool"), "hosted": bad}
    config = gateway_config(directory, "http://127.0.0.1:1", hosted.jwks_url, None, hosted, {"sign_in": {"cognito": settings}})
    path = directory / "gateway.yaml"
    path.write_text(json.dumps(config, indent=2))
    result = check(path)
    assert result.returncode != 0
    for key in ("domain", "redirect_uris[0]", "redirect_uris[1]", "redirect_uris[2]", "redirect_uris[3]", "scopes",
                "identity_providers"):
        assert f"sign_in.cognito.hosted.{key}" in result.stdout + result.stderr, result.stderr
