"""Spans of requests and of what they call, as a collector gets them, and the ids in the logs."""

import json
import secrets
import signal
import socket
import time

import pytest
from harness import raw
from harness.account import Account, bearer
from harness.backend import answer
from harness.collector import Collector
from harness.gateway import ADA, gatehouse
from harness.process import free_port, wait_until


@pytest.fixture
def collector():
    collector = Collector()
    yield collector
    collector.stop()
    assert not collector.faults, collector.faults


@pytest.fixture
def traced(start_gateway, collector, own_recorder):
    """Starts a gateway that sends its spans to the collector."""

    def start(tracing: dict | None = None, changes: dict | None = None, **more):
        settings = {"endpoint": collector.url, "allow_insecure_http": True, **(tracing or {})}
        return start_gateway({**(changes or {}), "tracing": settings}, **more)

    return start


def parent(flags: str = "01") -> tuple[str, str, str]:
    """A client's trace: its id, the client's span, and the header."""
    trace, span = secrets.token_hex(16), secrets.token_hex(8)
    return trace, span, f"00-{trace}-{span}-{flags}"


def whole_lines(log: str) -> list[str]:
    """Without one that is being written."""
    return log[: log.rfind("\n") + 1].splitlines()


def test_each_export_is_told_at_debug(traced, collector, own_recorder, tmp_path):
    gateway = traced(changes={"logging": {"level": "debug", "file": str(tmp_path / "own.log")}})
    trace, _, header = parent()
    raw.exchange(gateway.port, "GET", "/recorded/public/x", {"traceparent": header})
    collector.trace(trace, 2)
    host = collector.url.split("/")[2]

    def told() -> list[dict]:
        found = [json.loads(line) for line in whole_lines((tmp_path / "own.log").read_text())]
        return [line for line in found if line.get("host") == host]

    wait_until(told, "the export")
    assert (told()[0]["message"], told()[0]["status"]) == ("outgoing call", 200)


def test_a_request_is_a_trace_of_the_clients(traced, collector, own_recorder, issuer):
    gateway = traced({"attributes": [{"name": "deployment.environment.name", "value": "test"}]})
    # A request that came before the key set would have its fetch among its spans.
    gateway.wait_until_ready()
    trace, span, header = parent()
    headers = {**bearer(issuer.access()), "traceparent": header, "tracestate": "vendor=value"}
    response = raw.exchange(gateway.port, "GET", "/recorded/required/x?code=hidden-value&b=1", headers)
    assert response.status == 200
    request, *parts = collector.trace(trace, 3)
    assert (request.kind, request.parent_id, request.name) == ("server", span, "GET required")
    line = gateway.access_line(response.header("x-request-id"))
    assert (line["trace_id"], line["span_id"]) == (trace, request.span_id)
    assert request.attributes == {
        "http.request.method": "GET",
        "url.path": "/recorded/required/x",
        "url.query": "code=&b=",
        "http.response.status_code": 200,
        "client.address": "127.0.0.1",
        "gatehouse.request_id": response.header("x-request-id"),
        "gatehouse.route": "required",
        "http.route": "/recorded/required/**",
        "url.scheme": "http",
    }
    resource = dict(request.resource)
    assert len(resource.pop("service.instance.id")) == 32
    version = gatehouse("--version").stdout.strip()
    assert resource == {"service.name": "gatehouse", "service.version": version, "deployment.environment.name": "test"}
    assert not request.is_error
    by_kind = {part.kind: part for part in parts}
    upstream, verification = by_kind["client"], by_kind["internal"]
    assert verification.name == "verify token"
    assert upstream.attributes["gatehouse.upstream"] == "recorder"
    assert upstream.attributes["gatehouse.server"] == own_recorder.url
    host, port = own_recorder.url.removeprefix("http://").split(":")
    assert (upstream.attributes["server.address"], upstream.attributes["server.port"]) == (host, int(port))
    assert upstream.attributes["http.response.status_code"] == 200
    for part in parts:
        assert part.parent_id == request.span_id
        assert request.start <= part.start <= part.end <= request.end
    assert abs(request.start / 1e9 - time.time()) < 60
    # The backend goes on under the span of its own part.
    recorded = own_recorder.last("/recorded/required/x")
    assert recorded.header("traceparent") == f"00-{trace}-{upstream.span_id}-01"
    assert recorded.header("tracestate") == "vendor=value"

    # A token that is known is not verified again.
    again, _, header = parent()
    raw.exchange(gateway.port, "GET", "/recorded/required/x", {**headers, "traceparent": header})
    # Which loop it came to is not told, so that it may have been verified there.
    wait_until(lambda: [each for each in collector.spans if each.trace_id == again], "its spans")


@pytest.mark.parametrize("given", [None, "00-junk", "00-" + "0" * 32 + "-" + "1" * 16 + "-01"])
def test_a_trace_begins_where_the_client_has_none(traced, collector, own_recorder, given):
    gateway = traced()
    headers = {"tracestate": "of=another", **({"traceparent": given} if given else {})}
    response = raw.exchange(gateway.port, "GET", "/recorded/public/x", headers)
    line = gateway.access_line(response.header("x-request-id"))
    request, upstream = collector.trace(line["trace_id"], 2)
    assert request.parent_id == ""
    recorded = own_recorder.last("/recorded/public/x")
    assert recorded.header("traceparent") == f"00-{request.trace_id}-{upstream.span_id}-01"
    # It belongs to a trace that is not this one (Trace Context, 3.3).
    assert recorded.header("tracestate") is None


VALID = "00-" + "1" * 32 + "-" + "2" * 16 + "-01"


# A client's `traceparent`, and whether its trace goes on.
PARENTS = [
    ([VALID], True),
    (["01" + VALID[2:] + "-later"], True),
    ([], False),
    ([""], False),
    (["00-junk"], False),
    (["ff" + VALID[2:]], False),
    ([VALID + "-more"], False),
    ([VALID.replace("1" * 32, "0" * 32)], False),
    ([VALID.replace("2" * 16, "0" * 16)], False),
    ([VALID, VALID], False),
]


@pytest.mark.parametrize("spans", [False, True])
def test_state_without_a_valid_trace_is_dropped(start_gateway, collector, own_recorder, spans):
    """Trace Context, 3.3 and 4.3: also where the gateway makes no spans of its own, it begins a trace then."""
    tracing = {"tracing": {"endpoint": collector.url, "allow_insecure_http": True}} if spans else {}
    gateway = start_gateway(tracing)
    with raw.RawConnection(gateway.port) as connection:
        for number, (given, follows) in enumerate(PARENTS):
            headers = [("Tracestate", "one=1"), *(("traceparent", each) for each in given), ("tracestate", "two=2")]
            lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
            connection.send(f"GET /recorded/public/{number} HTTP/1.1\r\nHost: gateway.test\r\n{lines}\r\n".encode())
            assert connection.response().status == 200
            recorded = own_recorder.last(f"/recorded/public/{number}")
            version, trace, span, _ = recorded.header("traceparent").split("-")
            assert (version, len(trace), len(span)) == ("00", 32, 16)
            if follows:
                assert (trace, recorded.all("tracestate")) == ("1" * 32, ["one=1", "two=2"]), given
            else:
                assert trace not in ("1" * 32, "0" * 32) and recorded.all("tracestate") == [], given


def test_what_the_client_does_not_sample_is_not_sent_but_its_ids_are_logged(traced, collector, own_recorder):
    gateway = traced()
    trace, span, header = parent("00")
    response = raw.exchange(gateway.port, "GET", "/recorded/public/x", {"traceparent": header})
    line = gateway.access_line(response.header("x-request-id"))
    assert line["trace_id"] == trace and line["span_id"] != span
    assert own_recorder.last("/recorded/public/x").header("traceparent") == f"00-{trace}-{line['span_id']}-00"
    other, _, header = parent()
    raw.exchange(gateway.port, "GET", "/recorded/public/x", {"traceparent": header})
    collector.trace(other, 2)
    assert trace not in {each.trace_id for each in collector.spans}


@pytest.mark.parametrize("sampling, flags, sampled", [(0, "01", False), (1, "00", True)])
def test_the_client_need_not_be_followed(traced, collector, own_recorder, sampling, flags, sampled):
    gateway = traced({"follow_client": False, "sampling": sampling})
    trace, _, header = parent(flags)
    response = raw.exchange(gateway.port, "GET", "/recorded/public/x", {"traceparent": header})
    forwarded = own_recorder.last("/recorded/public/x").header("traceparent")
    assert forwarded.split("-")[1] == trace and forwarded.endswith("-01" if sampled else "-00")
    assert gateway.access_line(response.header("x-request-id"))["trace_id"] == trace
    if sampled:
        collector.trace(trace, 2)
    else:
        gateway.process.signal(signal.SIGTERM)
        assert gateway.process.wait(10) == 0
        assert collector.spans == []


@pytest.mark.parametrize(
    "target, status, reason, is_error",
    [
        ("/recorded/required/x", 401, "token-missing", False),
        ("/nowhere", 404, "no-route", False),
        ("/down/x", 502, "upstream-unreachable", True),
    ],
)
def test_a_refusal_says_why(traced, collector, target, status, reason, is_error):
    gateway = traced()
    trace, _, header = parent()
    assert raw.exchange(gateway.port, "GET", target, {"traceparent": header}).status == status
    request, *parts = collector.trace(trace, 2 if is_error else 1)
    assert request.attributes["http.response.status_code"] == status
    assert request.attributes["error.type"] == reason
    assert request.is_error is is_error
    for part in parts:
        assert part.is_error and part.attributes["error.type"] == reason


def test_a_request_that_is_turned_away_has_a_span_and_its_ids_in_the_log(traced, collector):
    gateway = traced(changes={"limits": {"requests": 1, "requests_per_address": 1}})
    trace, _, header = parent()
    with raw.RawConnection(gateway.port) as held:
        held.send(b"POST /recorded/public/x HTTP/1.1\r\nHost: gateway.test\r\nContent-Length: 5\r\n\r\n")
        wait_until(lambda: gateway.metric("gatehouse_requests_in_flight") == 1, "the request to be held")
        response = raw.exchange(gateway.port, "GET", "/recorded/public/x", {"traceparent": header})
    assert response.status == 503
    (request,) = collector.trace(trace, 1)
    assert request.attributes["error.type"] == "overloaded" and request.is_error
    line = gateway.access_line(response.header("x-request-id"))
    assert (line["trace_id"], line["span_id"], line["denial_reason"]) == (trace, request.span_id, "overloaded")


def test_a_request_for_a_foreign_host_has_a_span(traced, collector):
    listener = {"address": f"127.0.0.1:{free_port()}", "server_names": ["api.example.com"]}
    gateway = traced(changes={"listeners": [listener]})
    trace, _, header = parent()
    response = raw.exchange(gateway.port, "GET", "/recorded/public/x", {"Host": "evil.test", "traceparent": header})
    assert response.status == 421
    (request,) = collector.trace(trace, 1)
    assert gateway.access_line(response.header("x-request-id"))["span_id"] == request.span_id


def test_a_sign_in_has_spans_of_cognito_and_the_store_and_ids_in_every_log(traced, collector, pool, ledger):
    gateway = traced(pool=pool)
    trace, _, header = parent()
    login = Account(gateway.port, ledger, headers={"traceparent": header}).login(*ADA)
    assert login.status == 200
    line = gateway.access_line(login.header("x-request-id"))

    def found() -> list:
        return [each for each in collector.spans if each.trace_id == trace]

    # They come in batches: what was called may be in an earlier one than the request, or in a later one.
    wanted = {"POST gatehouse:login", "Cognito InitiateAuth", "store write"}
    wait_until(lambda: wanted <= {each.name for each in found()}, "its spans")
    spans = found()
    request = next(span for span in spans if span.kind == "server")
    cognito = [span for span in spans if span.name == "Cognito InitiateAuth"]
    assert len(cognito) == 1
    assert cognito[0].attributes["url.full"].rstrip("/") == pool.url
    assert cognito[0].attributes["http.response.status_code"] == 200
    stored = [span for span in spans if span.attributes.get("db.system.name") == "sqlite"]
    assert {span.name for span in stored} <= {"store read", "store write"} and stored
    for span in [*cognito, *stored]:
        assert (span.kind, span.parent_id) == ("client", request.span_id)
        assert request.start <= span.start + 1_000_000 and span.end <= request.end + 1_000_000
    (event,) = wait_until(
        lambda: [each for each in gateway.audit_log("signed_in") if each["request_id"] == line["request_id"]], "the event"
    )
    assert (event["trace_id"], event["span_id"]) == (trace, request.span_id) == (line["trace_id"], line["span_id"])


def test_a_span_of_a_message_has_not_the_path_that_may_be_all_the_secret_there_is(traced, collector, own_recorder, pool, ledger):
    own_recorder.on("/hooks", answer(200))
    secret = "hook-T0ken-of-a-chat"
    ledger.note(secret)
    webhook = {"url": f"{own_recorder.url}/hooks/{secret}", "allow_insecure_http": True, "events": ["signed_in"]}
    gateway = traced(changes={"audit": {"webhook": webhook}}, pool=pool)
    trace, _, header = parent()
    assert Account(gateway.port, ledger, headers={"traceparent": header}).login(*ADA).status == 200
    span = wait_until(
        lambda: next((each for each in collector.spans if each.trace_id == trace and each.name == "POST"), None),
        "the message's span",
    )
    assert span.attributes["url.full"] == own_recorder.url
    assert not any(secret in str(each.attributes) for each in collector.spans)


def test_lines_of_its_own_have_the_ids_of_the_request(traced, collector, pool, ledger):
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        down = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        sign_in = {"cognito": pool.sign_in_settings("pool", endpoint=down)}
        gateway = traced(changes={"sign_in": sign_in}, pool=pool)
        trace, _, header = parent()
        assert Account(gateway.port, ledger, headers={"traceparent": header}).login(*ADA).status == 503

    def told() -> list[dict]:
        return [line for line in map(json.loads, whole_lines(gateway.process.errors())) if line.get("trace_id") == trace]

    assert wait_until(told, "a line with its trace")[0]["span_id"]


def test_fetching_keys_is_a_span_of_who_asks_for_them(traced, collector, issuer):
    gateway = traced(changes={"key_sets": {"unknown_key_interval": "1s"}})
    # The first fetch is nobody's.
    wait_until(lambda: [each for each in collector.spans if each.name == "fetch key set"], "the first fetch")
    first = next(each for each in collector.spans if each.name == "fetch key set")
    assert first.parent_id == "" and first.attributes["url.full"] == issuer.server.url
    token = issuer.sign(issuer.access_claims(), issuer.access_key, kid="made-up")

    def of_a_request() -> bool:
        trace, _, header = parent()
        headers = {**bearer(token), "traceparent": header}
        assert raw.exchange(gateway.port, "GET", "/recorded/required/x", headers).status == 401
        requests = {each.span_id for each in collector.spans if each.kind == "server"}
        return any(each.name == "fetch key set" and each.parent_id in requests for each in collector.spans)

    wait_until(of_a_request, "a fetch that belongs to a request", interval=0.1)


# ---- A collector in trouble


def lost(gateway) -> float:
    return gateway.metric("gatehouse_spans_lost_total")


def exported(gateway) -> float:
    return gateway.metric("gatehouse_spans_exported_total")


def test_what_a_collector_takes_is_counted(traced, collector, own_recorder):
    gateway = traced()
    for _ in range(10):
        raw.exchange(gateway.port, "GET", "/recorded/public/x")
    # With the fetch of the key set.
    wait_until(lambda: exported(gateway) == 21, "all of them")
    assert len(collector.spans) == 21 and lost(gateway) == 0


def test_a_collector_that_is_busy_is_tried_again(traced, collector, own_recorder):
    collector.answers = [503, 429]
    gateway = traced()
    raw.exchange(gateway.port, "GET", "/recorded/public/x")
    wait_until(lambda: exported(gateway) == 3, "all of them", 20)
    assert lost(gateway) == 0 and collector.deliveries >= 3


def test_what_a_collector_does_not_take_is_lost_and_said_once(traced, collector, own_recorder):
    collector.answers = [400] * 5
    gateway = traced()
    trace, _, header = parent()
    for number in range(2):
        raw.exchange(gateway.port, "GET", "/recorded/public/x")
        wait_until(lambda: lost(gateway) >= 2 * number + 2, "lost spans")
    wait_until(lambda: "spans are lost" in gateway.log(), "a line about it")
    collector.answers = []
    raw.exchange(gateway.port, "GET", "/recorded/public/x", {"traceparent": header})
    collector.trace(trace, 2)
    wait_until(lambda: "the collector accepts spans again" in gateway.log(), "a line about it")
    assert gateway.log().count("spans are lost") == 1


def test_what_a_collector_rejects_of_a_delivery_is_lost(traced, collector, own_recorder):
    collector.rejects = 1
    gateway = traced()
    raw.exchange(gateway.port, "GET", "/recorded/public/x")
    wait_until(lambda: exported(gateway) + lost(gateway) == 3, "all of them")
    assert lost(gateway) == 1


@pytest.mark.parametrize("trouble", ["down", "silent"])
def test_requests_do_not_wait_for_a_collector_in_trouble(traced, collector, own_recorder, trouble):
    if trouble == "down":
        collector.stop()
    else:
        collector.hold.clear()
    gateway = traced({"timeout": "1s", "queue": 64})
    with raw.RawConnection(gateway.port) as connection:
        began = time.monotonic()
        for _ in range(300):
            assert connection.request("GET", "/recorded/public/x").status == 200
        # Without it they take a fraction of a second; each that waited would take one.
        assert time.monotonic() - began < 30
    wait_until(lambda: lost(gateway) > 0, "lost spans")
    gateway.process.signal(signal.SIGTERM)
    assert gateway.process.wait(10) == 0


def test_at_the_end_what_was_traced_is_sent(traced, collector, own_recorder):
    gateway = traced()
    trace, _, header = parent()
    raw.exchange(gateway.port, "GET", "/recorded/public/x", {"traceparent": header})
    gateway.process.signal(signal.SIGTERM)
    assert gateway.process.wait(10) == 0
    collector.trace(trace, 2)


def test_tracing_comes_and_goes_with_a_reload(start_gateway, collector, own_recorder):
    gateway = start_gateway()
    response = raw.exchange(gateway.port, "GET", "/recorded/public/x")
    assert "trace_id" not in gateway.access_line(response.header("x-request-id"))
    gateway.reload({"tracing": {"endpoint": collector.url, "allow_insecure_http": True}})
    trace, _, header = parent()
    raw.exchange(gateway.port, "GET", "/recorded/public/x", {"traceparent": header})
    gateway.reload({"tracing": ...})
    # Those from before the change are sent all the same.
    collector.trace(trace, 2)
    other, _, header = parent()
    response = raw.exchange(gateway.port, "GET", "/recorded/public/x", {"traceparent": header})
    assert own_recorder.last("/recorded/public/x").header("traceparent") == header
    assert "trace_id" not in gateway.access_line(response.header("x-request-id"))
    assert other not in {each.trace_id for each in collector.spans}


def test_headers_for_the_collector_are_sent_and_secret(traced, collector, own_recorder):
    gateway = traced({"headers": {"Authorization": "Bearer collector-secret"}})
    raw.exchange(gateway.port, "GET", "/recorded/public/x")
    wait_until(lambda: collector.headers, "a delivery")
    assert collector.headers[0]["authorization"] == "Bearer collector-secret"
    assert "collector-secret" not in gateway.log()
