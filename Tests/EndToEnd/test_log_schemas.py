"""The access log's fields, `type` in each line, and `logging.schema`."""

import json
import ssl
import socket

import pytest
from harness import raw
from harness.backend import answer
from harness.certificates import Authority
from harness.gateway import check
from harness.h2raw import PREFACE, SETTINGS, H2Connection, frame, request
from harness.process import accepts_connections, free_port, wait_until

PATH = "/recorded/public/log"


def test_a_line_says_who_asked_whom_and_how(start_gateway, own_recorder):
    own_recorder.on(PATH, answer(201, b"made"))
    gateway = start_gateway()
    headers = {"Host": "api.test:8080", "User-Agent": 'App/1.0 "x"', "Content-Length": "11"}
    response = raw.exchange(gateway.port, "POST", PATH, headers, b"hello world")
    line = gateway.access_line(response.header("x-request-id"))
    assert (line["type"], line["host"], line["user_agent"]) == ("access", "api.test:8080", headers["User-Agent"])
    assert (line["bytes_received"], line["bytes_sent"], line["status"], line["upstream_status"]) == (11, 4, 201, 201)
    assert line["http_version"] == "1.1" and "tls_version" not in line


def test_the_versions_are_those_that_were_spoken(start_gateway, own_recorder, tmp_path):
    authority = Authority(tmp_path)
    port = free_port()
    secure = {"address": f"127.0.0.1:{port}", "tls": {"certificates": [authority.issue("api.test").settings()]}}
    gateway = start_gateway({"listeners": [{"address": f"127.0.0.1:{free_port()}"}, secure]})
    # The harness has waited for the first listener only.
    wait_until(lambda: accepts_connections(port), "the second listener")

    def spoken(expected: int) -> list[tuple]:
        lines = wait_until(lambda: len(gateway.access_log()) >= expected and gateway.access_log(), "the lines")
        # Lines of requests on two event loops may be written in another order than the requests came.
        lines = sorted(lines, key=lambda line: line["time"])
        return [(line["http_version"], line.get("tls_version")) for line in lines]

    with raw.RawConnection(gateway.port) as connection:
        connection.send(f"GET {PATH} HTTP/1.0\r\nHost: a.test\r\n\r\n".encode())
        connection.response()
    with H2Connection(gateway.port) as connection:
        connection.response(connection.open(request(path=PATH)))
    for version, protocol in [(ssl.TLSVersion.TLSv1_2, "http/1.1"), (ssl.TLSVersion.TLSv1_3, "h2")]:
        context = ssl.create_default_context(cafile=str(authority.pem))
        context.minimum_version = context.maximum_version = version
        context.set_alpn_protocols([protocol])
        plain = socket.create_connection(("127.0.0.1", port), timeout=10)
        with context.wrap_socket(plain, server_hostname="api.test") as tls:
            if protocol == "h2":
                connection = H2Connection.on(tls)
                connection.send(PREFACE + frame(SETTINGS, 0, 0))
                connection.response(connection.open(request(path=PATH)))
            else:
                tls.sendall(raw.request_bytes("GET", PATH))
                assert tls.recv(65536).startswith(b"HTTP/1.1 200")
    assert spoken(4) == [("1.0", None), ("2", None), ("1.1", "1.2"), ("2", "1.3")]


def test_a_refusal_has_no_upstream_status_and_a_long_user_agent_an_end(start_gateway, own_recorder):
    gateway = start_gateway()
    response = raw.exchange(gateway.port, "GET", "/nowhere", {"User-Agent": "x" * 5000})
    line = gateway.access_line(response.header("x-request-id"))
    assert "upstream_status" not in line and line["user_agent"] == "x" * 256


SCHEMAS = {
    "gatehouse": ("time", "type", "status", "message", ""),
    "ecs": ("@timestamp", "event.dataset", "http.response.status_code", "message", "gatehouse."),
    "otel": ("timestamp", "event.name", "http.response.status_code", "body", "gatehouse."),
}


@pytest.mark.parametrize("schema", SCHEMAS)
def test_each_schema_tells_the_three_logs_apart(start_gateway, own_recorder, pool, schema):
    time, kind, status, message, prefix = SCHEMAS[schema]
    gateway = start_gateway({"logging": {"schema": schema}}, pool=pool)
    raw.exchange(gateway.port, "GET", PATH)
    body = json.dumps({"email": "nobody@example.com", "password": "wrong-password-1"}).encode()
    raw.exchange(gateway.port, "POST", "/api/v1/auth/login", {"Content-Type": "application/json"}, body)

    def lines(text: str) -> list[dict]:
        return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]

    def kinds() -> set[str]:
        return {line[kind] for line in lines(gateway.process.output())}

    wait_until(lambda: kinds() == {prefix + "access", prefix + "audit"}, "both kinds of lines")
    for line in lines(gateway.process.output()):
        assert line[time].endswith("Z")
        if line[kind] == prefix + "access":
            assert isinstance(line[status], int)

    def own() -> list[dict]:
        return lines(gateway.process.errors())

    # The gateway serves before it has said so.
    wait_until(lambda: any(line[message] == "listening" for line in own()), "the line of the listener")
    assert {line[kind] for line in own()} == {prefix + "application"}


def test_numbers_are_numbers_in_the_gateways_own_lines(start_gateway, own_recorder):
    gateway = start_gateway()
    gateway.reload({"routes": [{"path": "/a", "upstream": "nothing"}]}, result="failure")
    own = [json.loads(line) for line in gateway.process.errors().splitlines()]
    refused = [line for line in own if line["message"].startswith("configuration not reloaded")]
    assert [line["faults"] for line in refused] == [1]
    assert all(isinstance(line["milliseconds"], int) for line in own if line["message"] == "ready")


def test_a_schema_is_for_json(tmp_path, start_gateway):
    gateway = start_gateway()
    path = tmp_path / "gatehouse.json"
    path.write_text(json.dumps({**gateway.config, "logging": {"format": "text", "schema": "ecs"}}))
    assert "logging.schema: has no effect with format: text" in check(path).stderr
