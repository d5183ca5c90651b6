"""Metrics as a collector gets them by OTLP, read by OpenTelemetry's own definitions, beside those of /metrics."""

import json
import math
import re
import signal
import time

import pytest
from harness import raw
from harness.collector import Collector
from harness.gateway import check
from harness.process import wait_until


def exports(gateway, result: str) -> float:
    return gateway.samples()[f'gatehouse_metrics_exports_total{{result="{result}"}}']


@pytest.fixture
def collector():
    collector = Collector()
    yield collector
    collector.stop()
    assert not collector.faults, collector.faults


@pytest.fixture
def measured(start_gateway, collector, own_recorder):
    """Starts a gateway that sends its metrics to the collector."""

    def start(**tracing):
        settings = {
            "endpoint": collector.url, "metrics_endpoint": collector.metrics_url, "metrics_interval": "1s",
            "allow_insecure_http": True, **tracing,
        }
        return start_gateway({"tracing": settings})

    return start


def next_delivery(collector: Collector):
    seen = len(collector.metrics)
    wait_until(lambda: len(collector.metrics) > seen, "a delivery")
    return collector.metrics[-1]


def samples(text: str) -> dict[tuple, float]:
    """Of Prometheus' text: by name and labels' values."""
    found = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        name, labels, value = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line).groups()
        values = tuple(re.findall(r'="((?:[^"\\]|\\.)*)"', labels or ""))
        found[(name, *values)] = float(value)
    return found


def test_all_metrics_arrive_with_the_values_of_the_text(measured, collector):
    gateway = measured()
    gateway.wait_until_ready()
    for number in range(7):
        raw.exchange(gateway.port, "GET", f"/recorded/public/{number}")
    raw.exchange(gateway.port, "GET", "/recorded/required/x")

    def counted() -> bool:
        delivery = next_delivery(collector)
        asked = [("public", "safe", "2xx"), ("required", "safe", "4xx")]
        return [delivery.value("gatehouse_requests_total", *labels) for labels in asked] == [7, 1]

    wait_until(counted, "the requests")
    delivery = collector.metrics[-1]
    text = gateway.admin("/metrics")[1]
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    told = {"counter": "sum", "gauge": "gauge", "histogram": "histogram"}
    values = samples(text)
    written = {name for name, *_ in values} | {re.sub("_(bucket|sum|count)$", "", name) for name, *_ in values}
    assert {name: told[kind] for name, kind in kinds.items() if name in written} == delivery.kinds
    # Those that stand still meanwhile.
    for name in ("gatehouse_requests_total", "gatehouse_denials_total", "gatehouse_build_info", "gatehouse_ready"):
        points = {(name, *labels): delivery.value(name, *labels) for labels in delivery.points[name]}
        assert points == {key: value for key, value in values.items() if key[0] == name}


def test_histograms_have_their_bounds_and_counts(measured, collector):
    gateway = measured()
    for number in range(5):
        raw.exchange(gateway.port, "GET", f"/recorded/public/{number}")
    name = "gatehouse_request_duration_seconds"

    def counted():
        point = next_delivery(collector).points[name].get(("public",))
        return point if point is not None and point.count == 5 else None

    point = wait_until(counted, "the requests")
    assert point.count == sum(point.bucket_counts) == 5
    assert len(point.bucket_counts) == len(point.explicit_bounds) + 1
    assert list(point.explicit_bounds) == sorted(point.explicit_bounds)
    values = samples(gateway.admin("/metrics")[1])
    assert [values[(f"{name}_bucket", "public", f"{bound:g}")] for bound in point.explicit_bounds] == [
        sum(point.bucket_counts[: place + 1]) for place in range(len(point.explicit_bounds))
    ]
    assert math.isclose(point.sum, values[(f"{name}_sum", "public")])


def test_times_units_and_the_resource(measured, collector):
    before = time.time_ns()
    measured(service_name="edge", attributes=[{"name": "deployment.environment.name", "value": "test"}])
    delivery = next_delivery(collector)
    assert delivery.resource["service.name"] == "edge"
    assert delivery.resource["deployment.environment.name"] == "test"
    units = delivery.units
    assert units["gatehouse_request_duration_seconds"] == units["process_cpu_seconds_total"] == "s"
    assert units["process_resident_memory_bytes"] == "By"
    assert units["gatehouse_requests_total"] == ""
    (point,) = delivery.points["gatehouse_client_connections_total"].values()
    # The start in whole seconds.
    assert before - 60_000_000_000 < point.start_time_unix_nano <= point.time_unix_nano
    assert before < point.time_unix_nano <= time.time_ns()
    (gauge,) = delivery.points["gatehouse_client_connections_open"].values()
    assert gauge.start_time_unix_nano == 0
    # The same instance as of the spans.
    assert re.fullmatch("[0-9a-f]{32}", delivery.resource["service.instance.id"])


def test_deliveries_come_in_their_interval_and_once_at_the_end(measured, collector):
    gateway = measured(metrics_interval="1h")
    raw.exchange(gateway.port, "GET", "/recorded/public/x")
    gateway.process.signal(signal.SIGTERM)
    assert gateway.process.wait(10) == 0
    (last,) = collector.metrics
    assert last.value("gatehouse_requests_total", "public", "safe", "2xx") == 1


@pytest.mark.parametrize("trouble", ["an error", "silence", "rejected points"])
def test_a_collector_in_trouble_is_counted_and_told_once(measured, collector, trouble):
    if trouble == "an error":
        collector.answers = [500] * 3
    elif trouble == "silence":
        collector.hold.clear()
    else:
        collector.rejects = 3
    # Without spans, which would meet the same trouble. A collector that answers may take its time on a busy machine.
    gateway = measured(timeout="1s" if trouble == "silence" else "20s", sampling=0)
    wanted = 1 if trouble == "rejected points" else 3
    wait_until(lambda: exports(gateway, "failure") >= wanted, "failures", 20)
    assert raw.exchange(gateway.port, "GET", "/recorded/public/x").status == 200
    collector.hold.set()
    wait_until(lambda: exports(gateway, "success") > 0, "a success")
    wait_until(lambda: "the collector accepts metrics again" in gateway.log(), "the line")
    assert gateway.log().count("metrics are not sent") == 1


def test_headers_are_sent_with_metrics_too(measured, collector):
    gateway = measured(headers={"Authorization": "Bearer collector-secret"})
    next_delivery(collector)
    assert collector.headers[0]["authorization"] == "Bearer collector-secret"
    assert "collector-secret" not in gateway.log()


def test_it_comes_and_goes_with_a_reload(start_gateway, collector, own_recorder):
    gateway = start_gateway()
    tracing = {"endpoint": collector.url, "allow_insecure_http": True, "sampling": 0}
    gateway.reload({"tracing": tracing})
    raw.exchange(gateway.port, "GET", "/recorded/public/x")
    gateway.reload({"tracing": {**tracing, "metrics_endpoint": collector.metrics_url, "metrics_interval": "1s"}})
    next_delivery(collector)
    gateway.reload({"tracing": ...})
    # The last one is sent when the service ends, with the counters from before.
    assert collector.metrics[-1].value("gatehouse_requests_total", "public", "safe", "2xx") == 1


@pytest.mark.parametrize(
    ("tracing", "expected"),
    [
        ({"metrics_endpoint": "http://collector.example/v1/metrics"}, "https only"),
        ({"metrics_endpoint": "collector"}, "metrics_endpoint"),
        ({"metrics_interval": "10ms"}, "metrics_interval"),
    ],
)
def test_mistakes_are_told(start_gateway, tmp_path, tracing, expected):
    gateway = start_gateway()
    gateway.config["tracing"] = {"endpoint": "https://collector.example/v1/traces", **tracing}
    path = tmp_path / "gatehouse.json"
    path.write_text(json.dumps(gateway.config))
    result = check(path)
    assert result.returncode != 0
    assert expected in result.stdout + result.stderr
