"""`listeners[].redirect_to_https`: a listener that sends clients on to https, and nothing to backends."""

import pytest
from harness import raw
from harness.h2raw import H2Connection, request
from harness.gateway import check
from harness.process import accepts_connections, free_port, wait_until


@pytest.fixture
def redirecting(start_gateway, own_recorder):
    def start(port: int = 443, listener: dict | None = None, **changes):
        plain = {"address": f"127.0.0.1:{free_port()}", "redirect_to_https": port, **(listener or {})}
        return start_gateway({"listeners": [plain, {"address": f"127.0.0.1:{free_port()}"}], **changes})

    return start


PATH = "/recorded/public/a%20b?x=1&y=%2F"


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "DELETE"])
def test_every_request_is_sent_on_to_the_same_place(redirecting, own_recorder, method):
    gateway = redirecting()
    for host, expected in [
        ("api.example.com", "api.example.com"), ("api.example.com:8080", "api.example.com"), ("[::1]:80", "[::1]"),
        ("192.0.2.7", "192.0.2.7"),
    ]:  # fmt: skip
        answer = raw.exchange(gateway.port, method, PATH, {"Host": host}, b"body" if method == "POST" else None)
        assert answer.status == 308
        assert answer.header("location") == f"https://{expected}{PATH}"
        line = gateway.access_line(answer.header("x-request-id"))
        assert line["status"] == 308 and "route" not in line
    assert own_recorder.requests == []


def test_another_port_is_named(redirecting):
    gateway = redirecting(8443)
    assert raw.exchange(gateway.port, "GET", "/", {"Host": "a.test"}).header("location") == "https://a.test:8443/"
    with H2Connection(gateway.port) as connection:
        answer = connection.response(connection.open(request(path="/x")))
        assert answer.status == 308


def test_what_has_no_place_is_refused(redirecting, own_recorder):
    gateway = redirecting()
    with raw.RawConnection(gateway.port) as connection:
        connection.send(b"GET /recorded/public/x HTTP/1.0\r\n\r\n")
        assert connection.response().status == 400
    with raw.RawConnection(gateway.port) as connection:
        connection.send(b"OPTIONS * HTTP/1.1\r\nHost: a.test\r\n\r\n")
        assert connection.response().status in (400, 404)
    assert own_recorder.requests == []


def test_server_names_apply_before(redirecting):
    gateway = redirecting(listener={"server_names": ["api.example.com"]})
    assert raw.exchange(gateway.port, "GET", "/", {"Host": "api.example.com"}).status == 308
    assert raw.exchange(gateway.port, "GET", "/", {"Host": "evil.test"}).status == 421


def test_a_client_that_used_https_at_a_trusted_proxy_is_served(redirecting):
    gateway = redirecting(trusted_proxies=["127.0.0.1"])
    for proto, status in [("https", 200), ("http", 308)]:
        headers = {"Host": "a.test", "X-Forwarded-Proto": proto}
        assert raw.exchange(gateway.port, "GET", "/recorded/public/x", headers).status == status


def test_nobody_elses_word_for_it_counts(redirecting, own_recorder):
    gateway = redirecting()
    headers = {"Host": "a.test", "X-Forwarded-Proto": "https"}
    assert raw.exchange(gateway.port, "GET", "/recorded/public/x", headers).status == 308
    assert own_recorder.requests == []


def test_other_listeners_serve_and_a_reload_changes_it(redirecting):
    gateway = redirecting()
    other = int(gateway.config["listeners"][1]["address"].rpartition(":")[2])
    # The harness has waited for the first listener only.
    wait_until(lambda: accepts_connections(other), "the second listener")
    assert raw.exchange(other, "GET", "/recorded/public/x").status == 200
    with raw.RawConnection(gateway.port) as before:
        assert before.request("GET", "/recorded/public/x").status == 308
        first, second = gateway.config["listeners"]
        gateway.reload({"listeners": [{"address": first["address"]}, {**second, "redirect_to_https": 443}]})
        assert raw.exchange(gateway.port, "GET", "/recorded/public/x").status == 200
        assert raw.exchange(other, "GET", "/recorded/public/x").status == 308


def test_with_tls_it_is_an_error(redirecting, tmp_path):
    import json

    gateway = redirecting()
    listener = {**gateway.config["listeners"][0], "tls": {"certificates": []}}
    path = tmp_path / "gatehouse.json"
    path.write_text(json.dumps({**gateway.config, "listeners": [listener]}))
    assert "listeners[0].redirect_to_https: has no effect with tls" in check(path).stderr
