"""Sign-in on hosted pages: LocalPool's pages filled in as a browser without script does, and the app that waits."""

import base64
import hashlib
import secrets
import urllib.parse
from html.parser import HTMLParser

import httpx

from .gateway import POOL_CLIENT_ID, LocalPool
from .sanitizer import PATIENCE

APP = "com.example.app:/oauth"
LOGGED_OUT = "com.example.app:/logged-out"
PREFIX = "/api/v1/auth/oauth"
LOOPBACK = "http://127.0.0.1/back"
PROVIDERS = [{"name": "Google", "type": "Google"}, {"name": "Okta", "type": "OIDC"}]


def hosted_pool(gateway_port: int) -> dict:
    """The changes of a pool's configuration with which its pages serve the gateway at this port, and an app beside."""
    callback = f"http://127.0.0.1:{gateway_port}{PREFIX}/callback"
    return {
        "client": {"hosted": {"callback_urls": [callback, APP], "logout_urls": [LOGGED_OUT]}},
        "identity_providers": PROVIDERS,
    }


def hosted_settings(pool: LocalPool, gateway_port: int, **changes) -> dict:
    """`sign_in.cognito.hosted` for a gateway at this port."""
    return {
        "domain": pool.url,
        "public_url": f"http://127.0.0.1:{gateway_port}",
        "redirect_uris": [APP, "https://app.example.com/oauth?x=1", LOOPBACK],
        "logout_uris": [LOGGED_OUT],
        "identity_providers": ["Google", "COGNITO"],
        **changes,
    }


class Form(HTMLParser):
    """The one form of a page."""

    def __init__(self, page: str):
        super().__init__()
        self.action = ""
        self.values: dict[str, str] = {}
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list) -> None:
        found = dict(attributes)
        if tag == "form":
            self.action = found["action"]
        elif tag == "input":
            self.values[found["name"]] = found.get("value") or ""


class Browser:
    """Goes where responses lead, until there is a page or an app's own URI."""

    def __init__(self) -> None:
        self.client = httpx.Client(timeout=20 * PATIENCE, trust_env=False)
        self.visited: list[httpx.Response] = []

    def go(self, url: str) -> httpx.Response | str:
        """The page, or the URI outside of http that a response leads to."""
        return self._follow(self.client.get(url))

    def _follow(self, response: httpx.Response) -> httpx.Response | str:
        while True:
            self.visited.append(response)
            if response.status_code not in (302, 303):
                return response
            target = urllib.parse.urljoin(str(response.url), response.headers["location"])
            if urllib.parse.urlparse(target).hostname != "127.0.0.1" or target.startswith("http://127.0.0.1:1/"):
                return target
            response = self.client.get(target)

    def fill_in(self, page: httpx.Response, action: str = "", **values: str) -> httpx.Response | str:
        """Sends the page's form with these values and by this button."""
        form = Form(page.text)
        target = urllib.parse.urljoin(str(page.url), form.action)
        return self._follow(self.client.post(target, data={**form.values, **values, "action": action}))

    def close(self) -> None:
        self.client.close()


class App:
    """An app that signs its users in on hosted pages, with its own verifier and state."""

    def __init__(self, base: str, redirect_uri: str = APP):
        """`base` is the URL of the authorization server's endpoints."""
        self.base = base
        self.redirect_uri = redirect_uri
        self.verifier = secrets.token_urlsafe(48)
        self.state = secrets.token_urlsafe(16)

    @property
    def challenge(self) -> str:
        return base64.urlsafe_b64encode(hashlib.sha256(self.verifier.encode()).digest()).rstrip(b"=").decode()

    def authorize_url(self, **changes: str | None) -> str:
        """A `None` leaves a parameter out."""
        parameters = {
            "response_type": "code", "client_id": POOL_CLIENT_ID, "redirect_uri": self.redirect_uri,
            "state": self.state, "code_challenge": self.challenge, "code_challenge_method": "S256", **changes,
        }
        kept = {name: value for name, value in parameters.items() if value is not None}
        return f"{self.base}/authorize?{urllib.parse.urlencode(kept)}"

    def code(self, target: str) -> str:
        """The code in the URI that the browser handed over."""
        assert isinstance(target, str), f"a page and not the app: {target.status_code} {target.text}"
        assert target.startswith(self.redirect_uri), target
        parameters = parse(target)
        assert "error" not in parameters, parameters
        assert parameters["state"] == self.state
        return parameters["code"]

    def token_form(self, code: str, /, **changes: str) -> dict[str, str]:
        return {
            "grant_type": "authorization_code", "client_id": POOL_CLIENT_ID, "code": code,
            "redirect_uri": self.redirect_uri, "code_verifier": self.verifier, **changes,
        }

    def redeem(self, code: str, /, **changes: str) -> httpx.Response:
        return httpx.post(
            f"{self.base}/token", data=self.token_form(code, **changes), timeout=20 * PATIENCE, trust_env=False
        )


def parse(target: str) -> dict[str, str]:
    """The query's parameters, each of them there once."""
    pairs = urllib.parse.parse_qsl(urllib.parse.urlsplit(target).query, strict_parsing=True)
    assert len({name for name, _ in pairs}) == len(pairs), target
    return dict(pairs)
