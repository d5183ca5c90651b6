"""LocalPool's hosted pages and the endpoints of its domain: as Cognito's, for development without the internet."""

import urllib.parse

import boto3
import botocore
import httpx
import jwt
import pytest
from botocore.exceptions import ClientError
from harness.gateway import ADA, POOL_CLIENT_ID, POOL_CLIENT_SECRET, POOL_ID, LocalPool
from harness.hosted import APP, LOGGED_OUT, PROVIDERS, App, Browser, Form, parse
from harness.local_pool_control import advance_clock, one_time_code

PUBLIC = "8local0public0client00000"
LIN = {"user_id": "2001", "email": "mei@gmail.example", "name": "Mei"}


@pytest.fixture(scope="module")
def hosted_pool(run_directory):
    client = {"callback_urls": [APP], "logout_urls": [LOGGED_OUT]}
    pool = LocalPool(
        run_directory,
        "pages-pool",
        {
            "client": {"hosted": client},
            "more_clients": [
                {"id": PUBLIC, "hosted": {"callback_urls": [APP], "scopes": ["openid", "email"], "identity_providers": ["Okta"]}},
                {"id": "9local0without0pages00000"},
            ],
            "identity_providers": PROVIDERS,
        },
    )
    yield pool
    pool.stop()


@pytest.fixture
def app(hosted_pool) -> App:
    return App(f"{hosted_pool.url}/oauth2")


@pytest.fixture
def browser():
    browser = Browser()
    yield browser
    browser.close()


def redeem(app: App, code: str, **changes: str) -> httpx.Response:
    return app.redeem(code, client_secret=POOL_CLIENT_SECRET, **changes)


def signed_in_code(app: App, browser: Browser, **parameters) -> str:
    page = browser.go(app.authorize_url(prompt="login", **parameters))
    return app.code(browser.fill_in(page, username=ADA[0], password=ADA[1]))


def claims(token: str) -> dict:
    return jwt.decode(token, options={"verify_signature": False})


def cognito(pool: LocalPool):
    config = botocore.config.Config(signature_version=botocore.UNSIGNED, retries={"total_max_attempts": 1})
    return boto3.client("cognito-idp", endpoint_url=pool.url, region_name="eu-central-1", config=config)


class TestPages:
    def test_a_user_registers_confirms_and_signs_in(self, hosted_pool, app, browser):
        page = browser.go(app.authorize_url())
        page = browser.go(f"{hosted_pool.url}/signup?{page.url.query.decode()}")
        page = browser.fill_in(page, username="new@example.com", password="Brand-New-Horse-1")
        assert "new@example.com" in page.text
        code = hosted_pool.confirmation_code("new@example.com")
        page = browser.fill_in(page, code=code)
        assert "confirmed" in page.text
        target = browser.fill_in(page, username="new@example.com", password="Brand-New-Horse-1")
        assert redeem(app, app.code(target)).status_code == 200

    def test_a_forgotten_password_is_replaced(self, hosted_pool, app, browser):
        self.test_a_user_registers(hosted_pool, browser, "forgetful@example.com")
        page = browser.go(app.authorize_url())
        page = browser.go(f"{hosted_pool.url}/forgotPassword?{page.url.query.decode()}")
        page = browser.fill_in(page, username="forgetful@example.com")
        code = hosted_pool.confirmation_code("forgetful@example.com")
        page = browser.fill_in(page, code=code, password="Another-Horse-22")
        target = browser.fill_in(page, username="forgetful@example.com", password="Another-Horse-22")
        assert app.code(target)

    @pytest.mark.parametrize("email", ["registered@example.com"])
    def test_a_user_registers(self, hosted_pool, browser, email):
        app = App(f"{hosted_pool.url}/oauth2")
        page = browser.go(app.authorize_url())
        page = browser.go(f"{hosted_pool.url}/signup?{page.url.query.decode()}")
        page = browser.fill_in(page, username=email, password="Brand-New-Horse-1")
        assert browser.fill_in(page, code=hosted_pool.confirmation_code(email)).status_code == 200

    def test_a_wrong_password_gets_the_page_again(self, app, browser):
        page = browser.fill_in(browser.go(app.authorize_url()), username=ADA[0], password="wrong-horse-77")
        assert page.status_code == 400 and "Incorrect username or password." in page.text

    def test_a_second_factor_is_asked_for(self, hosted_pool, app, browser):
        email, client = "factor@example.com", cognito(hosted_pool)
        self.test_a_user_registers(hosted_pool, browser, email)
        page = browser.go(app.authorize_url(prompt="login"))
        token = redeem(app, app.code(browser.fill_in(page, username=email, password="Brand-New-Horse-1"))).json()
        key = client.associate_software_token(AccessToken=token["access_token"])["SecretCode"]
        client.verify_software_token(AccessToken=token["access_token"], UserCode=one_time_code(hosted_pool, key))
        client.set_user_mfa_preference(
            AccessToken=token["access_token"], SoftwareTokenMfaSettings={"Enabled": True, "PreferredMfa": True}
        )
        advance_clock(hosted_pool, 30)
        page = browser.go(app.authorize_url(prompt="login"))
        page = browser.fill_in(page, username=email, password="Brand-New-Horse-1")
        page = browser.fill_in(page, code="000000")
        assert page.status_code == 400
        assert app.code(browser.fill_in(page, code=one_time_code(hosted_pool, key)))

    def test_a_form_of_another_page_is_refused(self, app, browser):
        page = browser.go(app.authorize_url())
        form = Form(page.text)
        target = urllib.parse.urljoin(str(page.url), form.action)
        data = {**form.values, "username": ADA[0], "password": ADA[1]}
        assert httpx.post(target, data=data, trust_env=False).status_code == 403
        assert browser.client.post(target, data={**data, "_csrf": "x"}).status_code == 403

    def test_pages_have_no_script_and_may_load_nothing(self, app, browser):
        page = browser.go(app.authorize_url(login_hint='"><script>'))
        assert page.headers["content-security-policy"].startswith("default-src 'none'")
        assert page.headers["cache-control"] == "no-store"
        assert "<script" not in page.text and "&quot;&gt;&lt;script&gt;" in page.text
        assert "SameSite=Lax" in browser.visited[-1].headers["set-cookie"]

    def test_a_browser_stays_signed_in_until_it_signs_out(self, hosted_pool, app, browser):
        signed_in_code(app, browser)
        assert isinstance(browser.go(app.authorize_url()), str)
        assert browser.go(app.authorize_url(prompt="login")).status_code == 200
        query = urllib.parse.urlencode({"client_id": POOL_CLIENT_ID, "logout_uri": LOGGED_OUT})
        assert browser.go(f"{hosted_pool.url}/logout?{query}") == LOGGED_OUT
        assert browser.go(app.authorize_url()).status_code == 200
        assert parse(browser.go(app.authorize_url(prompt="none")))["error"] == "login_required"
        for query in ("", f"client_id={POOL_CLIENT_ID}&logout_uri=https://evil.example/"):
            assert browser.go(f"{hosted_pool.url}/logout?{query}").status_code == 400


class TestAuthorize:
    @pytest.mark.parametrize(
        "parameters",
        [{"client_id": "x"}, {"client_id": "9local0without0pages00000"}, {"redirect_uri": APP + "/"}, {"redirect_uri": None}],
        ids=str,
    )
    def test_a_wrong_client_or_redirect_uri_gets_a_page(self, app, browser, parameters):
        page = browser.go(app.authorize_url(**parameters))
        assert page.status_code == 400 and "location" not in page.headers

    @pytest.mark.parametrize(
        ("parameters", "error"),
        [
            ({"response_type": "token"}, "unauthorized_client"), ({"response_type": None}, "invalid_request"),
            ({"scope": "openid other"}, "invalid_scope"), ({"scope": "email"}, "invalid_scope"),
            ({"code_challenge_method": "plain"}, "invalid_request"), ({"identity_provider": "Nobody"}, "invalid_request"),
            ({"client_id": PUBLIC, "identity_provider": "Google"}, "invalid_request"),
        ],
        ids=str,
    )
    def test_other_errors_go_to_the_app(self, app, browser, parameters, error):
        assert parse(browser.go(app.authorize_url(**parameters))) == {"error": error, "state": app.state}


class TestTokens:
    def test_tokens_say_what_was_asked_for(self, hosted_pool, app, browser):
        answer = redeem(app, signed_in_code(app, browser, scope="openid email", nonce="n-1"))
        tokens = answer.json()
        assert set(tokens) == {"access_token", "id_token", "refresh_token", "expires_in", "token_type"}
        access, identity = claims(tokens["access_token"]), claims(tokens["id_token"])
        assert (access["scope"], access["client_id"], access["token_use"]) == ("openid email", POOL_CLIENT_ID, "access")
        assert (identity["nonce"], identity["aud"], identity["sub"]) == ("n-1", POOL_CLIENT_ID, access["sub"])
        with pytest.raises(ClientError, match="does not have required scopes"):
            cognito(hosted_pool).get_user(AccessToken=tokens["access_token"])
        form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
        again = httpx.post(f"{app.base}/token", data=form, auth=(POOL_CLIENT_ID, POOL_CLIENT_SECRET), trust_env=False)
        assert again.status_code == 200
        assert claims(again.json()["access_token"])["scope"] == "openid email"
        assert "nonce" not in claims(again.json()["id_token"])

    def test_the_signatures_are_those_of_the_pool(self, hosted_pool, app, browser):
        found = httpx.get(f"{hosted_pool.url}/{POOL_ID}/.well-known/openid-configuration", trust_env=False).json()
        assert found["issuer"] == f"{hosted_pool.url}/{POOL_ID}"
        assert found["token_endpoint"] == f"{app.base}/token"
        tokens = redeem(app, signed_in_code(app, browser)).json()
        key = jwt.PyJWKClient(found["jwks_uri"]).get_signing_key_from_jwt(tokens["id_token"])
        jwt.decode(
            tokens["id_token"], key.key, algorithms=["RS256"], audience=POOL_CLIENT_ID, issuer=found["issuer"],
            # Another test has moved the pool's clock.
            options={"verify_iat": False},
        )

    @pytest.mark.parametrize(
        "wrong", [{"code_verifier": "x" * 43}, {"redirect_uri": LOGGED_OUT}, {"code_verifier": ""}], ids=str
    )
    def test_a_code_wants_its_proofs_and_is_good_once(self, app, browser, wrong):
        code = signed_in_code(app, browser)
        assert redeem(app, code, **wrong).json() == {"error": "invalid_grant"}
        assert redeem(app, code).json() == {"error": "invalid_grant"}

    def test_a_code_is_good_for_five_minutes(self, hosted_pool, app, browser):
        code = signed_in_code(app, browser)
        advance_clock(hosted_pool, 301)
        assert redeem(app, code).json() == {"error": "invalid_grant"}

    def test_a_client_with_a_secret_proves_it(self, app, browser):
        code = signed_in_code(app, browser)
        for answer in (app.redeem(code), app.redeem(code, client_secret="wrong"), app.redeem(code, client_id="x")):
            assert (answer.status_code, answer.json()) == (400, {"error": "invalid_client"})
        form = app.token_form(code)
        form.pop("client_id")
        basic = httpx.post(f"{app.base}/token", data=form, auth=(POOL_CLIENT_ID, POOL_CLIENT_SECRET), trust_env=False)
        assert basic.status_code == 200

    @pytest.mark.parametrize(
        ("grant", "error"),
        [("client_credentials", "unauthorized_client"), ("password", "unsupported_grant_type"), ("", "invalid_request")],
    )
    def test_other_grants_are_refused(self, app, grant, error):
        assert redeem(app, "x", grant_type=grant).json() == {"error": error}

    def test_user_info_is_for_tokens_with_openid(self, hosted_pool, app, browser):
        tokens = redeem(app, signed_in_code(app, browser)).json()
        headers = {"Authorization": f"Bearer {tokens['access_token']}"}
        for method in ("GET", "POST"):
            user = httpx.request(method, f"{app.base}/userInfo", headers=headers, trust_env=False).json()
            assert (user["email"], user["email_verified"], user["username"]) == (ADA[0], "true", user["sub"])
        refused = httpx.get(f"{app.base}/userInfo", headers={"Authorization": "Bearer x"}, trust_env=False)
        assert refused.status_code == 401 and refused.json()["error"] == "invalid_token"
        assert "invalid_token" in refused.headers["www-authenticate"]

    def test_a_revoked_token_is_good_for_nothing(self, app, browser):
        tokens = redeem(app, signed_in_code(app, browser)).json()
        auth = (POOL_CLIENT_ID, POOL_CLIENT_SECRET)
        wrong = httpx.post(f"{app.base}/revoke", data={"token": tokens["access_token"]}, auth=auth, trust_env=False)
        assert wrong.json() == {"error": "unsupported_token_type"}
        form = {"token": tokens["refresh_token"]}
        assert httpx.post(f"{app.base}/revoke", data=form, auth=(POOL_CLIENT_ID, "x"), trust_env=False).status_code == 400
        assert httpx.post(f"{app.base}/revoke", data=form, auth=auth, trust_env=False).status_code == 200
        headers = {"Authorization": f"Bearer {tokens['access_token']}"}
        assert httpx.get(f"{app.base}/userInfo", headers=headers, trust_env=False).status_code == 401


class TestIdentityProviders:
    def test_the_user_is_as_cognito_makes_one(self, hosted_pool, app, browser):
        page = browser.go(app.authorize_url(identity_provider="Google"))
        tokens = redeem(app, app.code(browser.fill_in(page, "unverified", **LIN))).json()
        access, identity = claims(tokens["access_token"]), claims(tokens["id_token"])
        assert access["username"] == identity["cognito:username"] == "Google_2001"
        assert access["sub"] != access["username"]
        assert access["cognito:groups"] == [f"{POOL_ID}_Google"]
        assert (identity["email"], identity["email_verified"]) == (LIN["email"], False)
        (entry,) = identity["identities"]
        assert (entry["userId"], entry["providerName"], entry["providerType"]) == ("2001", "Google", "Google")
        user = cognito(hosted_pool).get_user(AccessToken=tokens["access_token"])
        assert user["Username"] == "Google_2001"
        # The next sign-in is the same user's, with what the provider says now.
        page = browser.go(app.authorize_url(identity_provider="Google"))
        later = redeem(app, app.code(browser.fill_in(page, "verified", **{**LIN, "email": ADA[0]}))).json()
        identity = claims(later["id_token"])
        assert (identity["sub"], identity["email"], identity["email_verified"]) == (access["sub"], ADA[0], True)
        # Ada's own account is another one.
        assert claims(redeem(app, signed_in_code(app, browser)).json()["id_token"])["sub"] != access["sub"]

    def test_there_is_no_password(self, hosted_pool, app, browser):
        page = browser.go(app.authorize_url(identity_provider="Google"))
        assert app.code(browser.fill_in(page, "verified", **{**LIN, "user_id": "2002"}))
        page = browser.go(app.authorize_url(prompt="login"))
        page = browser.fill_in(page, username="Google_2002", password="Brand-New-Horse-1")
        assert "Incorrect username or password." in page.text

    def test_a_client_has_the_providers_that_it_is_given(self, hosted_pool, browser):
        app = App(f"{hosted_pool.url}/oauth2")
        page = browser.go(app.authorize_url(client_id=PUBLIC))
        assert "Okta" in page.text and "Google" not in page.text and "password" not in page.text
        page = browser.go(app.authorize_url(client_id=PUBLIC, identity_provider="Okta"))
        code = app.code(browser.fill_in(page, "verified", **LIN))
        assert app.redeem(code, client_id=PUBLIC).status_code == 200

    def test_a_sign_in_can_be_given_up(self, app, browser):
        page = browser.go(app.authorize_url(identity_provider="Okta"))
        assert parse(browser.fill_in(page, "cancel")) == {"error": "access_denied", "state": app.state}
