"""`routes[].hosts`: one gateway for several APIs, chosen by the host that a request names."""

import json

import pytest
from harness import raw
from harness.account import Account, assert_refusal, bearer
from harness.assertions import ISSUER, JWKS_PATH
from harness.gateway import ADA, check, gatehouse
from harness.h2raw import H2Connection, request

PATH = "/recorded/hosts"


def route(name: str, hosts: list[str] | None, path: str = "/recorded/**", **settings) -> dict:
    named = {"hosts": hosts} if hosts else {}
    return {"name": name, "path": path, "access": "public", "upstream": "recorder", **named, **settings}


def marked(name: str, hosts: list[str] | None, path: str = "/recorded/**", **settings) -> dict:
    """Its backend sees which route it was."""
    return route(name, hosts, path, request_headers={"add": {"X-Route": name}}, **settings)


@pytest.fixture
def hosted(start_gateway, own_recorder):
    routes = [
        marked("shop", ["shop.example.com"]),
        marked("partner", ["*.partners.example.com"]),
        marked("health", None, "/recorded/health"),
        route("strict", ["strict.example.com"], access="required"),
    ]
    return start_gateway({"routes": routes})


CASES = [
    ("shop.example.com", PATH, "shop"),
    ("SHOP.example.com:8443", PATH, "shop"),
    ("shop.example.com.", PATH, "shop"),
    ("a.partners.example.com", PATH, "partner"),
    ("shop.example.com", "/recorded/health", "shop"),
    ("elsewhere.test", "/recorded/health", "health"),
    ("127.0.0.1", "/recorded/health", "health"),
]


@pytest.mark.parametrize("host,path,expected", CASES)
def test_the_host_chooses_the_route(hosted, own_recorder, host, path, expected):
    assert raw.exchange(hosted.port, "GET", path, {"Host": host}).status == 200
    assert own_recorder.last(path).header("X-Route") == expected
    own_recorder.forget()
    with H2Connection(hosted.port) as connection:
        fields = [(name, host if name == ":authority" else value) for name, value in request(path=path)]
        assert connection.response(connection.open(fields)).status == 200
    assert own_recorder.last(path).header("X-Route") == expected
    own_recorder.forget()
    with raw.RawConnection(hosted.port) as connection:
        connection.send(f"GET http://{host}{path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        assert connection.response().status == 200
    assert own_recorder.last(path).header("X-Route") == expected


def test_other_hosts_reach_nobody(hosted, own_recorder):
    for host in ("example.com", "partners.example.com", "a.b.partners.example.com", "shop.example.com.evil.test"):
        answer = raw.exchange(hosted.port, "GET", PATH, {"Host": host})
        assert_refusal(answer, 404, "NotFoundException")
    assert own_recorder.requests == []


def test_another_host_is_no_way_around_a_policy(hosted, own_recorder, issuer):
    for host in ("strict.example.com", "STRICT.example.com.", "strict.example.com:1"):
        assert raw.exchange(hosted.port, "GET", PATH, {"Host": host}).status == 401
    assert own_recorder.requests == []
    assert raw.exchange(hosted.port, "GET", PATH, {"Host": "strict.example.com", **bearer(issuer.access())}).status == 200


def test_two_hosts_cannot_be_named(hosted, own_recorder):
    with raw.RawConnection(hosted.port) as connection:
        connection.send(f"GET {PATH} HTTP/1.1\r\nHost: shop.example.com\r\nHost: strict.example.com\r\n\r\n".encode())
        assert connection.response().status == 400
    assert own_recorder.requests == []


def test_routes_that_share_host_path_and_method_are_an_error(hosted, tmp_path):
    config = {**hosted.config, "routes": [route("a", ["x.test", "y.test"]), route("b", ["y.test"])]}
    path = tmp_path / "gatehouse.json"
    path.write_text(json.dumps(config))
    result = check(path)
    assert result.returncode == 78
    assert 'routes[1]: another route, "a", has the same path and methods' in result.stderr


@pytest.mark.parametrize("host", ["shop.example.com", "a.partners.example.com", "elsewhere.test"])
def test_a_wide_route_of_a_host_takes_no_call_of_the_gateways_own(start_gateway, own_recorder, pool, ledger, host):
    routes = [route("shop", ["shop.example.com"], "/**"), route("partner", ["*.partners.example.com"], "/**")]
    gateway = start_gateway({"routes": routes, "identity": {"assertion": {"issuer": ISSUER}}}, pool=pool)
    assert Account(gateway.port, ledger, headers={"Host": host}).login(*ADA).status == 200
    keys = raw.exchange(gateway.port, "GET", JWKS_PATH, {"Host": host})
    assert keys.status == 200
    assert keys.json()["keys"]
    assert own_recorder.requests == []


def test_a_hosts_route_for_a_call_of_the_gateways_own_is_an_error(start_gateway, pool, tmp_path):
    gateway = start_gateway({"routes": [route("shop", ["shop.example.com"], "/**")]}, pool=pool)
    mine = route("mine", ["shop.example.com"], "/api/v1/auth/login", methods=["POST"])
    path = tmp_path / "gatehouse.json"
    path.write_text(json.dumps({**gateway.config, "routes": [*gateway.config["routes"], mine]}))
    result = check(path)
    assert result.returncode == 78
    both = 'routes "mine" and "gatehouse:login" both take "shop.example.com/api/v1/auth/login"'
    assert f"routes[1]: {both}" in result.stderr


def test_token_verify_takes_a_host(hosted, issuer):
    def verify(*options: str) -> str:
        import subprocess

        from harness.gateway import binary

        arguments = [str(binary()), "token", "verify", "--config", str(hosted.config_path), "--path", PATH, *options]
        found = subprocess.run(arguments, input=issuer.access(), capture_output=True, text=True, timeout=60)
        return found.stdout + found.stderr

    assert "no route takes this path" in verify()
    assert "accepted" in verify("--host", "strict.example.com")
    assert 'the route "shop" is public' in verify("--host", "shop.example.com:443")
    assert gatehouse("token", "verify", "--host", "a.test").returncode != 0
