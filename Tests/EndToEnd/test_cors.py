"""CORS per route, with a client that does what a browser does (Fetch standard, 3.2)."""

from dataclasses import dataclass, field

import pytest
from harness import raw
from harness.account import bearer

APP = "https://app.example"
ROUTES = [
    {
        "name": "open-to-the-app",
        "path": "/recorded/cors/**",
        "methods": ["GET", "POST"],
        "access": "required",
        "upstream": "recorder",
        "cors": {"origins": [APP], "credentials": True, "expose": ["X-Total"], "headers": ["Authorization", "Content-Type"]},
    },
    {"name": "closed", "path": "/recorded/closed", "methods": ["GET"], "access": "public", "upstream": "recorder"},
]


class BlockedByBrowser(Exception):
    pass


@dataclass
class Page:
    """A page of an origin, whose fetches a browser guards."""

    port: int
    origin: str
    preflights: list = field(default_factory=list)

    def fetch(self, method: str, target: str, headers: dict[str, str], body: bytes | None = None) -> raw.Response:
        unsafe = sorted(name.lower() for name in headers if name.lower() in ("authorization", "x-thing"))
        if unsafe or method not in ("GET", "HEAD", "POST"):
            asked = {"Origin": self.origin, "Access-Control-Request-Method": method}
            if unsafe:
                asked["Access-Control-Request-Headers"] = ",".join(unsafe)
            answer = raw.exchange(self.port, "OPTIONS", target, asked)
            self.preflights.append(answer)
            self._guard(answer)
            if not 200 <= answer.status < 300:
                raise BlockedByBrowser("the preflight failed")
            allowed = (answer.header("access-control-allow-headers") or "").lower().replace(" ", "").split(",")
            if method not in (answer.header("access-control-allow-methods") or "").split(", "):
                raise BlockedByBrowser("method")
            if any(name not in allowed for name in unsafe):
                raise BlockedByBrowser("header")
        response = raw.exchange(self.port, method, target, {"Origin": self.origin, **headers}, body)
        self._guard(response)
        return response

    def _guard(self, response: raw.Response) -> None:
        if response.all("access-control-allow-origin") != [self.origin]:
            raise BlockedByBrowser("origin")
        if response.all("access-control-allow-credentials") != ["true"]:
            raise BlockedByBrowser("credentials")


@pytest.fixture
def gateway(start_gateway):
    return start_gateway({"routes": ROUTES})


def test_a_page_of_the_app_calls_and_reads(gateway, own_recorder, issuer):
    star = {"Access-Control-Allow-Origin": "*", "X-Total": "7"}
    own_recorder.on("/recorded/cors/items", lambda exchange: exchange.respond(200, b"items", headers=star))
    page = Page(gateway.port, APP)
    response = page.fetch("POST", "/recorded/cors/items", bearer(issuer.access()), b"{}")
    assert response.body == b"items"
    assert response.header("access-control-expose-headers") == "x-total"
    assert "Origin" in response.all("vary")
    preflight = page.preflights[0]
    assert (preflight.status, preflight.body) == (204, b"")
    assert preflight.header("x-request-id")
    # The preflight, which has no token, was answered by the gateway alone.
    assert [each.method for each in own_recorder.requests] == ["POST"]


def test_the_app_can_read_why_it_was_refused(gateway):
    response = Page(gateway.port, APP).fetch("GET", "/recorded/cors/items", {"Authorization": "Bearer nonsense"})
    assert response.status == 401
    assert response.json()["error"] == "NotAuthorizedException"


@pytest.mark.parametrize("origin", ["https://evil.example", "http://app.example", "https://app.example.evil.example", "null"])
def test_another_page_is_kept_out(gateway, own_recorder, issuer, origin):
    with pytest.raises(BlockedByBrowser):
        Page(gateway.port, origin).fetch("GET", "/recorded/cors/items", bearer(issuer.access()))
    assert own_recorder.requests == []


def test_another_method_or_header_is_kept_out(gateway, own_recorder, issuer):
    page = Page(gateway.port, APP)
    for method, headers in (("DELETE", {}), ("GET", {"X-Thing": "1", **bearer(issuer.access())})):
        with pytest.raises(BlockedByBrowser):
            page.fetch(method, "/recorded/cors/items", headers)
    assert own_recorder.requests == []


def test_a_route_without_cors_answers_no_preflight(gateway, own_recorder):
    asked = {"Origin": APP, "Access-Control-Request-Method": "GET"}
    response = raw.exchange(gateway.port, "OPTIONS", "/recorded/closed", asked)
    assert response.status == 405
    assert response.header("access-control-allow-origin") is None
    assert own_recorder.requests == []
