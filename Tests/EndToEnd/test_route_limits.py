"""`routes[].allow`, `deny` and `rate_limit`: from where and how often a route may be called."""

import pytest
from harness import raw
from harness.account import assert_refusal, bearer
from harness.process import wait_until

OPEN = "/recorded/open"


def route(path: str, access: str = "public", **settings) -> dict:
    return {"name": path.rsplit("/", 1)[1], "path": path, "access": access, "upstream": "recorder", **settings}


def ask(gateway, path: str, client: str = "192.0.2.1", **headers) -> raw.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return raw.exchange(gateway.port, "GET", path, {"X-Forwarded-For": client, **named})


def assert_limited(gateway, answer: raw.Response, seconds: range) -> None:
    assert_refusal(answer, 429, "TooManyRequestsException")
    assert int(answer.header("retry-after")) in seconds
    assert gateway.access_line(answer.header("x-request-id"))["denial_reason"] == "rate-limited-route"


@pytest.fixture
def start(start_gateway, own_recorder):
    def start(*routes: dict):
        return start_gateway({"trusted_proxies": ["127.0.0.1"], "routes": list(routes)})

    return start


# ---- Networks


def test_others_are_kept_out_before_their_token_is_looked_at(start, own_recorder, issuer):
    gateway = start(route("/recorded/in", "required", allow=["10.0.0.0/8", "2001:db8::/32"], deny=["10.9.0.0/16"]))
    token = bearer(issuer.access())
    for client, status in [
        ("10.1.1.1", 200), ("2001:db8::1", 200), ("10.9.1.1", 403), ("192.0.2.1", 403), ("2001:db9::1", 403),
        ("10.9.1.1, 192.0.2.1", 403),
    ]:  # fmt: skip
        answer = ask(gateway, "/recorded/in", client, **token)
        assert answer.status == status, client
        if status == 403:
            assert gateway.access_line(answer.header("x-request-id"))["denial_reason"] == "address-not-allowed"
            assert gateway.access_line(answer.header("x-request-id"))["route"] == "in"
    assert len(own_recorder.requests) == 2
    # Without a token it is the same, and an address that the client invents is none.
    assert_refusal(ask(gateway, "/recorded/in"), 403, "AccessDeniedException")
    assert ask(gateway, "/recorded/in", "10.1.1.1").status == 401


def test_the_connection_counts_where_no_proxy_is_trusted(start_gateway, own_recorder):
    gateway = start_gateway({"routes": [route("/recorded/own", deny=["127.0.0.0/8"]), route(OPEN, allow=["127.0.0.1"])]})
    assert ask(gateway, "/recorded/own", "10.1.1.1").status == 403
    assert ask(gateway, OPEN, "10.1.1.1").status == 200


# ---- Rates


def test_a_burst_passes_and_then_429_with_retry_after(start, own_recorder):
    gateway = start(route(OPEN, rate_limit={"rate": "1/1h", "burst": 3}), route("/recorded/free"))
    assert [ask(gateway, OPEN).status for _ in range(3)] == [200] * 3
    assert_limited(gateway, ask(gateway, OPEN), range(3500, 3601))
    assert len(own_recorder.requests) == 3
    # Another address, another route.
    assert ask(gateway, OPEN, "192.0.2.2").status == 200
    assert ask(gateway, "/recorded/free").status == 200
    assert gateway.samples()['gatehouse_denials_total{reason="rate-limited-route"}'] == 1


def test_the_rate_is_one_for_all_event_loops(start, own_recorder):
    """Connections are dealt out to two loops in turns."""
    gateway = start(route(OPEN, rate_limit={"rate": "10/1h"}))
    statuses = [ask(gateway, OPEN).status for _ in range(16)]
    assert statuses == [200] * 10 + [429] * 6


def test_tokens_come_back(start, own_recorder):
    gateway = start(route(OPEN, rate_limit={"rate": "20/1s", "burst": 1}))
    assert ask(gateway, OPEN).status == 200
    # However many are asked in the meantime, the next one is there after 50 ms.
    wait_until(lambda: ask(gateway, OPEN).status == 200, "a token to come back")
    answer = next(answer for answer in iter(lambda: ask(gateway, OPEN), None) if answer.status == 429)
    assert_limited(gateway, answer, range(1, 2))


def test_by_subject(start, own_recorder, issuer):
    limit = {"rate": "1/1h", "burst": 2, "by": "subject"}
    gateway = start(route(OPEN, "optional", rate_limit=limit))
    ada, bob = bearer(issuer.access(sub="ada")), bearer(issuer.access(sub="bob"))
    assert [ask(gateway, OPEN, f"192.0.2.{number}", **ada).status for number in range(3)] == [200, 200, 429]
    assert ask(gateway, OPEN, **bob).status == 200
    # Another token of the same subject; and without one the address counts.
    again = bearer(issuer.access(sub="ada", jti="other"))
    assert_limited(gateway, ask(gateway, OPEN, **again), range(3500, 3601))
    assert [ask(gateway, OPEN).status for _ in range(3)] == [200, 200, 429]


def test_a_refused_token_takes_nothing_from_its_address(start, own_recorder, issuer):
    gateway = start(route(OPEN, "required", rate_limit={"rate": "1/1h"}))
    assert [ask(gateway, OPEN, **bearer("x.y.z")).status for _ in range(3)] == [401] * 3
    assert [ask(gateway, OPEN, **bearer(issuer.access())).status for _ in range(2)] == [200, 429]


def test_by_the_header_of_an_api_key(start, own_recorder):
    limit = {"rate": "1/1h", "by": "header", "header": "X-Api-Key"}
    gateway = start(route(OPEN, rate_limit=limit))
    assert [ask(gateway, OPEN, client, X_Api_Key="one").status for client in ("192.0.2.1", "192.0.2.2")] == [200, 429]
    assert ask(gateway, OPEN, X_Api_Key="two").status == 200
    assert [ask(gateway, OPEN).status for _ in range(2)] == [200, 429]


def test_a_reload_keeps_the_counts_of_limits_that_stay(start, own_recorder):
    kept, changed = route(OPEN, rate_limit={"rate": "1/1h"}), route("/recorded/other", rate_limit={"rate": "1/1h"})
    gateway = start(kept, changed)
    paths = [OPEN, "/recorded/other"]
    assert [ask(gateway, path).status for path in paths] == [200, 200]
    gateway.reload({"routes": [route("/recorded/new"), kept, {**changed, "rate_limit": {"rate": "2/1h", "burst": 1}}]})
    assert [ask(gateway, path).status for path in paths] == [429, 200]
