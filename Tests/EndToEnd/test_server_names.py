"""`server_names`: which hosts a listener serves, and which host the backend gets where the client names none."""

import json

import pytest
from harness import raw
from harness.account import assert_refusal
from harness.gateway import gatehouse
from harness.h2raw import H2Connection, request
from harness.process import free_port

TARGET = "/recorded/public/names"


def listener(*names: str) -> dict:
    return {"listeners": [{"address": f"127.0.0.1:{free_port()}", "server_names": list(names)}]}


def host_of(backend) -> list[str]:
    return backend.last(TARGET).all("host")


def named_request(authority: str) -> list[tuple[str, str]]:
    return [(name, authority if name == ":authority" else value) for name, value in request(path=TARGET)]


@pytest.fixture
def named(start_gateway):
    return start_gateway(listener("api.example.com", "*.apps.example.com", "127.0.0.1", "::1"))


def test_the_hosts_of_the_list_are_served_on_every_port(named, own_recorder):
    for host in ("api.example.com", "API.example.com:8443", "api.example.com.", "x.apps.example.com", "127.0.0.1:1", "[::1]:9"):
        assert raw.exchange(named.port, "GET", TARGET, {"Host": host}).status == 200, host
        assert host_of(own_recorder) == [host]
        own_recorder.forget()


OTHERS = ["evil.test", "example.com", "apps.example.com", "a.b.apps.example.com", "api.example.com.evil.test", "127.0.0.2"]


@pytest.mark.parametrize("target", [TARGET, "/recorded/required/x", "/nowhere"])
def test_others_get_421_and_reach_nobody(named, own_recorder, target):
    for host in [*OTHERS, "cognito-idp.eu-central-1.amazonaws.com"]:
        answer = raw.exchange(named.port, "GET", target, {"Host": host})
        assert_refusal(answer, 421, "MisdirectedRequestException")
        assert named.access_line(answer.header("x-request-id"))["denial_reason"] == "host-not-served"
    assert own_recorder.requests == []
    assert f'gatehouse_denials_total{{reason="host-not-served"}} {len(OTHERS) + 1}\n' in named.admin("/metrics")[1]


def test_an_absolute_target_and_a_body_are_no_way_around(named, own_recorder):
    with raw.RawConnection(named.port) as connection:
        connection.send(f"GET http://evil.test{TARGET} HTTP/1.1\r\nHost: evil.test\r\n\r\n".encode())
        assert connection.response().status == 421
    assert raw.exchange(named.port, "POST", TARGET, {"Host": "evil.test"}, b"x" * 1000).status == 421
    with raw.RawConnection(named.port) as connection:
        connection.send(f"GET {TARGET} HTTP/1.0\r\nHost: evil.test\r\n\r\n".encode())
        assert connection.response().status == 421
    assert own_recorder.requests == []


def test_the_connection_serves_the_next_request(named):
    with raw.RawConnection(named.port) as connection:
        for host, status in (("evil.test", 421), ("api.example.com", 200)):
            assert connection.request("GET", TARGET, {"Host": host}).status == status


def test_http2_is_held_to_the_list_as_well(named, own_recorder):
    with H2Connection(named.port) as connection:
        for authority, status in (("evil.test", 421), ("api.example.com:443", 200), ("a.apps.example.com", 200)):
            assert connection.response(connection.open(named_request(authority))).status == status
    assert len(own_recorder.requests) == 2


@pytest.mark.parametrize("line", ["", "Host:\r\n", "Host: \r\n"], ids=["none", "empty", "blank"])
@pytest.mark.parametrize("names", [[], ["api.example.com"]], ids=["any", "named"])
def test_http10_without_a_host_gets_the_upstreams(start_gateway, own_recorder, names, line):
    gateway = start_gateway(listener(*names) if names else None)
    with raw.RawConnection(gateway.port) as connection:
        connection.send(f"GET {TARGET} HTTP/1.0\r\n{line}\r\n".encode())
        assert connection.response().status == 200
    assert host_of(own_recorder) == [own_recorder.url.removeprefix("http://")]
    assert "x-forwarded-host" not in own_recorder.last(TARGET).names


@pytest.mark.parametrize("line", ["", "Host:\r\n"], ids=["none", "empty"])
def test_http11_must_name_a_host(start_gateway, own_recorder, line):
    gateway = start_gateway()
    with raw.RawConnection(gateway.port) as connection:
        connection.send(f"GET {TARGET} HTTP/1.1\r\n{line}\r\n".encode())
        assert connection.response().status == 400
    assert own_recorder.requests == []


def test_a_reload_changes_the_names(named):
    assert raw.exchange(named.port, "GET", TARGET, {"Host": "new.example.com"}).status == 421
    named.config["listeners"][0]["server_names"] = ["new.example.com"]
    named.reload()
    assert raw.exchange(named.port, "GET", TARGET, {"Host": "new.example.com"}).status == 200
    assert raw.exchange(named.port, "GET", TARGET, {"Host": "api.example.com"}).status == 421


def test_check_says_which_listener_serves_any_host(named, tmp_path):
    path = tmp_path / "gatehouse.yaml"
    address = named.config["listeners"][0]["address"]
    path.write_text(json.dumps(named.config))
    assert json.loads(gatehouse("check", "--config", path, "--json").stdout)["notes"] == []
    del named.config["listeners"][0]["server_names"]
    path.write_text(json.dumps(named.config))
    note = f"{address} serves requests for any Host: server_names keeps others from the backends"
    assert json.loads(gatehouse("check", "--config", path, "--json").stdout)["notes"] == [note]
    assert f"note: {note}\n" in gatehouse("check", "--config", path).stdout


@pytest.mark.parametrize("names", [[], ["api.example.com:443"], ["*"], ["a.*.com"], ["http://a.test"], [""], ["[::1]"], "x"])
def test_what_is_no_list_of_hosts_is_a_fault(named, tmp_path, names):
    named.config["listeners"][0]["server_names"] = names
    path = tmp_path / "gatehouse.yaml"
    path.write_text(json.dumps(named.config))
    result = gatehouse("check", "--config", path)
    assert result.returncode == 78 and "listeners[0].server_names" in result.stderr, result.stderr
