"""Issue item "Operation": access log, health, metrics, and an orderly end."""

import hashlib
import json
import re
import signal
import socket
import threading
from datetime import datetime

import pytest
from harness import raw
from harness.account import bearer
from harness.keys import KeyServer
from harness.process import accepts_connections, free_port, wait_until

# The keys of an access-log line, as the configuration reference names them.
ALWAYS = {
    "time", "type", "request_id", "client_address", "method", "host", "path", "status", "bytes_received", "bytes_sent",
    "duration_us", "http_version",
}  # fmt: skip


def test_a_line_for_each_request(gateway, recorder, issuer):
    response = raw.exchange(gateway.port, "GET", "/recorded/required/log?q=hidden-query-value", bearer(issuer.access()))
    line = gateway.access_line(response.header("x-request-id"))
    assert ALWAYS <= line.keys()
    assert datetime.fromisoformat(line["time"]).tzinfo is not None
    assert (line["method"], line["status"], line["route"]) == ("GET", 200, "required")
    assert line["path"].split("?")[0] == "/recorded/required/log"
    assert line["bytes_sent"] == len(response.body)
    assert 0 < line["upstream_duration_us"] <= line["duration_us"] < 10_000_000
    assert line["subject_hash"] and "8c3b1c52" not in line["subject_hash"]
    assert not line.get("denial_reason")
    assert "hidden-query-value" not in gateway.log()


def test_the_subject_hash_is_the_same_for_the_same_subject_only(gateway, recorder, issuer):
    def subject(sub: str) -> str:
        response = raw.exchange(gateway.port, "GET", "/recorded/required/log", bearer(issuer.access(sub=sub)))
        return gateway.access_line(response.header("x-request-id"))["subject_hash"]

    assert subject("one") == subject("one") != subject("two")


@pytest.mark.parametrize(
    "target, status", [("/nowhere", 404), ("/recorded/required/log", 401), ("/down/x", 502), ("/recorded/public/%00", 400)]
)
def test_a_refusal_has_its_line_with_the_reason(gateway, target, status):
    response = raw.exchange(gateway.port, "GET", target)
    assert response.status == status
    line = gateway.access_line(response.header("x-request-id"))
    assert line["status"] == status
    if status != 502:
        assert line["denial_reason"]


def test_hostile_bytes_make_no_second_line(gateway):
    """Log injection: what a client sends stays inside its one escaped record."""
    hostile = '/nowhere/"},{"status":200}%0a%1b[31m'
    with raw.RawConnection(gateway.port) as connection:
        connection.send(f"GET {hostile} HTTP/1.1\r\nHost: gateway.test\r\nUser-Agent: \"}}\\\r\n\r\n".encode())
        connection.response()
    response = raw.exchange(gateway.port, "GET", "/nowhere/after")
    # Reads every line as JSON.
    assert gateway.access_line(response.header("x-request-id"))["status"] == 404
    assert "\x1b" not in gateway.log()


def test_the_access_log_can_be_switched_off(start_gateway, own_recorder):
    gateway = start_gateway({"logging": {"access_log": False}})
    response = raw.exchange(gateway.port, "GET", "/recorded/public/quiet")
    assert response.status == 200
    gateway.process.signal(signal.SIGTERM)
    assert gateway.process.wait(10) == 0
    assert response.header("x-request-id") not in gateway.log()


def test_health_and_readiness(gateway):
    assert gateway.admin("/healthz")[0] == 200
    gateway.wait_until_ready()
    assert gateway.admin("/nothing-here")[0] == 404


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics", "/status"])
def test_the_admin_pages_are_not_on_the_public_listener(gateway, path):
    assert raw.exchange(gateway.port, "GET", path).status == 404


def test_metrics_count_requests(gateway, recorder):
    def requests() -> float:
        return gateway.metric("gatehouse_requests_total")

    raw.exchange(gateway.port, "GET", "/recorded/public/counted")
    before = requests()
    for _ in range(5):
        raw.exchange(gateway.port, "GET", "/recorded/public/counted")
    wait_until(lambda: requests() == before + 5, "five more requests counted")


def test_metrics_are_prometheus_text_with_bounded_labels(gateway, recorder):
    raw.exchange(gateway.port, "GET", "/nowhere/unbounded-client-text")
    _, text = gateway.admin("/metrics")
    sample = re.compile(r'^[a-zA-Z_:][\w:]*(\{\w+="[^"\n]*"(,\w+="[^"\n]*")*,?\})? (\+Inf|-?[\d.]+(e[+-]?\d+)?)$')
    for line in text.splitlines():
        assert not line or line.startswith(("# HELP ", "# TYPE ")) or sample.match(line), f"not Prometheus text: {line!r}"
    assert "unbounded-client-text" not in text


def test_sigterm_finishes_what_is_in_flight_and_exits_0(start_gateway, own_recorder):
    gateway = start_gateway({"upstreams": {"recorder": {"first_byte_timeout": "20s"}}})
    release = threading.Event()

    def slow(exchange):
        assert release.wait(20)
        exchange.respond(200, b"finished")

    own_recorder.on("/recorded/public/slow", slow)
    idle = raw.RawConnection(gateway.port)
    assert idle.request("GET", "/recorded/public/x").status == 200
    with raw.RawConnection(gateway.port) as connection:
        connection.send(raw.request_bytes("GET", "/recorded/public/slow"))
        own_recorder.last("/recorded/public/slow")
        gateway.process.signal(signal.SIGTERM)
        wait_until(lambda: not accepts_connections(gateway.port), "new connections to be refused")
        assert gateway.process.exit_status is None, "ended with a request in flight"
        assert idle.is_closed_by_peer(), "an idle connection is kept open while draining"
        release.set()
        response = connection.response()
        assert (response.status, response.body) == (200, b"finished")
    assert gateway.process.wait(10) == 0


def test_sigterm_ends_an_idle_gateway_at_once(start_gateway, own_recorder):
    gateway = start_gateway()
    with raw.RawConnection(gateway.port) as connection:
        assert connection.request("GET", "/recorded/public/x").status == 200
        gateway.process.signal(signal.SIGTERM)
        assert gateway.process.wait(10) == 0


def test_sigterm_does_not_wait_for_ever(start_gateway, own_recorder):
    gateway = start_gateway({"drain_timeout": "1s", "upstreams": {"recorder": {"first_byte_timeout": "60s"}}})
    own_recorder.on("/recorded/public/endless", lambda exchange: exchange.wait_for_close())
    with raw.RawConnection(gateway.port) as connection:
        connection.send(raw.request_bytes("GET", "/recorded/public/endless"))
        own_recorder.last("/recorded/public/endless")
        gateway.process.signal(signal.SIGTERM)
        assert gateway.process.wait(8) == 0


def test_a_gateway_that_drains_is_not_ready(start_gateway, own_recorder):
    gateway = start_gateway({"upstreams": {"recorder": {"first_byte_timeout": "20s"}}})
    release = threading.Event()
    own_recorder.on("/recorded/public/slow", lambda exchange: (release.wait(20), exchange.respond(200, b"")))
    with raw.RawConnection(gateway.port) as connection:
        connection.send(raw.request_bytes("GET", "/recorded/public/slow"))
        own_recorder.last("/recorded/public/slow")
        gateway.process.signal(signal.SIGTERM)
        try:
            wait_until(lambda: gateway.admin("/readyz")[0] != 200, "readiness to end")
        finally:
            release.set()
        connection.response()
    assert gateway.process.wait(10) == 0


def test_sigint_ends_it_like_sigterm(start_gateway):
    gateway = start_gateway()
    gateway.process.signal(signal.SIGINT)
    assert gateway.process.wait(10) == 0


def own_lines(gateway, message: str | None = None) -> list[dict]:
    """Its own log so far, or the lines with one message."""
    lines = [json.loads(line) for line in gateway.process.errors().splitlines()]
    return [line for line in lines if message in (None, line["message"])]


def test_the_log_tells_of_the_start_and_of_readiness(start_gateway):
    gateway = start_gateway()
    (ready,) = wait_until(lambda: own_lines(gateway, "ready"), "readiness")
    assert 0 < int(ready["milliseconds"]) < 20_000 and ready["level"] == "info"
    first = own_lines(gateway)[0]
    assert first.pop("time") and re.fullmatch(r"\d+\.\d+\.\d+", first.pop("version"))
    digest = hashlib.sha256(gateway.config_path.read_bytes()).hexdigest()[:16]
    assert first == {
        "type": "application", "level": "info", "message": "starting", "configuration": str(gateway.config_path),
        "digest": digest,
    }  # fmt: skip
    # It is told where a start takes five seconds, as on a busy machine.
    assert not own_lines(gateway, "not ready yet") or int(ready["milliseconds"]) >= 5000


def test_the_log_tells_once_what_a_start_waits_for(start_gateway, issuer):
    server = KeyServer(issuer.access_key)
    server.open.clear()
    try:
        gateway = start_gateway({"key_sets": {"timeout": "60s"}}, jwks_url=server.url)
        (told,) = wait_until(lambda: own_lines(gateway, "not ready yet"), "the notice", seconds=20)
        assert (told["level"], told["reason"], told["issuers"]) == ("notice", "waiting for key sets", "own")
        assert int(told["milliseconds"]) >= 5000 and not own_lines(gateway, "ready")
        server.open.set()
        (ready,) = wait_until(lambda: own_lines(gateway, "ready"), "readiness")
        assert int(ready["milliseconds"]) >= int(told["milliseconds"])
        assert len(own_lines(gateway, "not ready yet")) == 1
    finally:
        server.open.set()
        server.stop()


def test_a_stop_that_ends_a_fetch_warns_of_nothing(start_gateway, issuer):
    server = KeyServer(issuer.access_key)
    server.open.clear()
    try:
        gateway = start_gateway({"key_sets": {"timeout": "60s"}}, jwks_url=server.url)
        wait_until(lambda: server.fetches, "the fetch")
        gateway.process.signal(signal.SIGTERM)
        assert gateway.process.wait(10) == 0
        assert own_lines(gateway, "stopped")
        assert [line for line in own_lines(gateway) if line["level"] != "info"] == []
        assert not own_lines(gateway, "ready")
    finally:
        server.open.set()
        server.stop()


def test_the_port_is_free_again_at_once(start_gateway, own_recorder):
    port = free_port()
    changes = {"listeners": [{"address": f"127.0.0.1:{port}"}]}
    gateway = start_gateway(changes)
    assert raw.exchange(port, "GET", "/recorded/public/x").status == 200
    gateway.process.signal(signal.SIGTERM)
    assert gateway.process.wait(10) == 0
    again = start_gateway(changes)
    assert raw.exchange(again.port, "GET", "/recorded/public/x").status == 200


def test_it_listens_on_ipv6_when_told_to(start_gateway, own_recorder):
    if not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    port = free_port()
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", port))
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    second = f"127.0.0.1:{free_port()}"
    start_gateway({"listeners": [{"address": second}, {"address": f"[::1]:{port}"}]})

    def connected() -> socket.socket | None:
        try:
            return socket.create_connection(("::1", port), timeout=10)
        except ConnectionRefusedError:
            return None

    # The harness has waited for the first listener only.
    with wait_until(connected, "the second listener") as connection:
        connection.sendall(raw.request_bytes("GET", "/recorded/public/x", {"Connection": "close"}))
        assert connection.recv(100).startswith(b"HTTP/1.1 200")
    assert own_recorder.last("/recorded/public/x").header("x-forwarded-for") == "::1"


def test_a_malformed_body_is_one_line_with_its_request_id(gateway, recorder):
    recorder.on("/recorded/public/cut", lambda exchange: exchange.wait_for_close())
    with raw.RawConnection(gateway.port) as connection:
        head = {"Transfer-Encoding": "chunked", "X-Request-Id": "cut-in-the-middle"}
        connection.send(raw.request_bytes("POST", "/recorded/public/cut", head) + b"2\r\nab\r\n")
        # A request that is still on its way at the test's end would be counted in the next one.
        wait_until(lambda: recorder.requests_to("/recorded/public/cut"), "the request at the backend")
        connection.send(b"zz\r\n")
        response = connection.response()
        assert (response.status, response.header("x-request-id")) == (400, "cut-in-the-middle")
        assert connection.is_closed_by_peer()
    line = gateway.access_line("cut-in-the-middle")
    assert (line["status"], line["denial_reason"], line["route"]) == (400, "malformed-chunk", "public")
    assert sum(each["request_id"] == "cut-in-the-middle" for each in gateway.access_log()) == 1
