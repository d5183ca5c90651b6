"""The rules of Apple's ASWebAuthenticationSession, as its documentation states them, around pages without script."""

import urllib.parse
from dataclasses import dataclass
from http.cookiejar import CookieJar

import httpx

from .hosted import Form
from .sanitizer import PATIENCE


@dataclass(frozen=True)
class CustomScheme:
    """`callback: .customScheme(_:)`: any URL of the scheme."""

    scheme: str

    def matches(self, url: str) -> bool:
        return urllib.parse.urlsplit(url).scheme == self.scheme.lower()


@dataclass(frozen=True)
class HTTPS:
    """`callback: .https(host:path:)`: URLs of this host and path, whatever their query."""

    host: str
    path: str

    def matches(self, url: str) -> bool:
        parts = urllib.parse.urlsplit(url)
        return (parts.scheme, parts.hostname, parts.path) == ("https", self.host.lower(), self.path)


class CanceledLogin(Exception):
    """`ASWebAuthenticationSessionError.canceledLogin`."""


class WebAuthenticationSession:
    """Begins at an HTTP or HTTPS URL, and ends at the first navigation that the callback matches. That URL goes to the
    app as it is and is not loaded. Nothing else leaves the browser."""

    def __init__(self, url: str, callback: CustomScheme | HTTPS, browser: CookieJar | None = None):
        """`browser` has the cookies of the browser, which the session shares; an ephemeral one has none."""
        assert urllib.parse.urlsplit(url).scheme in ("http", "https"), url
        if isinstance(callback, CustomScheme):
            assert callback.scheme.lower() not in ("http", "https"), "the system takes no web scheme for a custom one"
        self.callback = callback
        cookies = CookieJar() if browser is None else browser
        self.client = httpx.Client(timeout=20 * PATIENCE, trust_env=False, cookies=cookies)
        self.result: str | None = None
        # The URLs that were loaded.
        self.loaded: list[str] = []
        self.page: httpx.Response | None = None
        self._navigate("GET", url)

    def _navigate(self, method: str, url: str, form: dict[str, str] | None = None) -> None:
        for _ in range(20):
            if self.callback.matches(url):
                self.result, self.page = url, None
                return
            assert urllib.parse.urlsplit(url).scheme in ("http", "https"), f"the browser has no program for {url}"
            self.loaded.append(url)
            self.page = self.client.request(method, url, data=form)
            if not self.page.has_redirect_location:
                return
            # A redirect by 307 or 308 would send the password on.
            assert self.page.status_code in (302, 303), self.page.status_code
            url = urllib.parse.urljoin(url, self.page.headers["location"])
            method, form = "GET", None
        raise AssertionError(f"too many redirects: {self.loaded}")

    def fill_in(self, action: str = "", **values: str) -> None:
        """Sends the page's form with these values and by this button."""
        form = Form(self.page.text)
        target = urllib.parse.urljoin(self.loaded[-1], form.action)
        self._navigate("POST", target, {**form.values, **values, "action": action})

    def finish(self) -> str:
        """The URL that the completion handler gets. A user who closes the sheet first has cancelled."""
        self.client.close()
        if self.result is None:
            raise CanceledLogin
        return self.result
