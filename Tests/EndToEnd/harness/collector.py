"""A collector of OTLP over HTTP that keeps what it gets. The messages are read by OpenTelemetry's own definitions."""

import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from google.protobuf.unknown_fields import UnknownFieldSet
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span as Proto

from .process import wait_until


@dataclass
class Span:
    trace_id: str
    span_id: str
    parent_id: str
    name: str
    kind: str
    start: int
    end: int
    attributes: dict
    is_error: bool
    resource: dict = field(default_factory=dict)


@dataclass
class Delivery:
    """All metrics at one time: by name their unit, their description, and the points by their attributes' values."""

    kinds: dict[str, str] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    points: dict[str, dict[tuple, object]] = field(default_factory=dict)
    resource: dict = field(default_factory=dict)

    def value(self, name: str, *labels: str) -> float:
        point = self.points[name][labels]
        return getattr(point, point.WhichOneof("value"))


class Collector:
    """`answers` are statuses for the next deliveries, after which all are taken; `hold` keeps answers back."""

    def __init__(self):
        self.spans: list[Span] = []
        self.metrics: list[Delivery] = []
        self.headers: list[dict] = []
        self.answers: list[int] = []
        self.deliveries = 0
        self.rejects = 0
        self.faults: list[str] = []
        self.hold = threading.Event()
        self.hold.set()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Head and body are two writes, and the second must not wait for an acknowledgement of the first.
            disable_nagle_algorithm = True

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.deliveries += 1
                collector.hold.wait(30)
                status = collector.answers.pop(0) if collector.answers else 200
                answer = collector.take(self.path, dict(self.headers), body) if status == 200 else b""
                try:
                    self.send_response(status)
                    self.send_header("Content-Type", "application/x-protobuf")
                    self.send_header("Content-Length", str(len(answer)))
                    self.end_headers()
                    self.wfile.write(answer)
                except OSError:
                    # Whoever sent it has lost its patience, which is what a held answer is for.
                    self.close_connection = True

            def log_message(self, *arguments):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1/traces"
        self.metrics_url = f"http://127.0.0.1:{self.server.server_port}/v1/metrics"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self.hold.set()
        self.server.shutdown()
        self.server.server_close()

    def take(self, path: str, headers: dict, body: bytes) -> bytes:
        if path == "/v1/metrics":
            return self.take_metrics(headers, body)
        message = ExportTraceServiceRequest.FromString(body)
        # Nothing that the definitions do not know, and each field as their own code writes it.
        if message.SerializeToString(deterministic=True) != body:
            self.faults.append(f"not as protobuf writes it: {body.hex()}")
        if path != "/v1/traces" or headers.get("Content-Type") != "application/x-protobuf":
            self.faults.append(f"{path} {headers}")
        for resource in message.resource_spans:
            attributes = {each.key: each.value.string_value for each in resource.resource.attributes}
            for scope in resource.scope_spans:
                self.spans += [self.read(span, attributes) for span in scope.spans]
        self.headers.append({name.lower(): value for name, value in headers.items()})
        answer = ExportTraceServiceResponse()
        if self.rejects:
            answer.partial_success.rejected_spans = self.rejects
            answer.partial_success.error_message = "too many"
            self.rejects = 0
        return answer.SerializeToString()

    def take_metrics(self, headers: dict, body: bytes) -> bytes:
        message = ExportMetricsServiceRequest.FromString(body)
        if message.SerializeToString(deterministic=True) != body:
            self.faults.append(f"not as protobuf writes it: {body.hex()}")
        if headers.get("Content-Type") != "application/x-protobuf":
            self.faults.append(f"{headers}")
        (resource,) = message.resource_metrics
        (scope,) = resource.scope_metrics
        delivery = Delivery(resource={each.key: each.value.string_value for each in resource.resource.attributes})
        for metric in scope.metrics:
            kind = metric.WhichOneof("data")
            data = getattr(metric, kind)
            if len(UnknownFieldSet(metric)) or metric.name in delivery.kinds or not metric.description:
                self.faults.append(f"malformed: {metric}")
            if kind == "sum" and not data.is_monotonic:
                self.faults.append(f"not monotonic: {metric.name}")
            if kind != "gauge" and data.aggregation_temporality != 2:
                self.faults.append(f"not cumulative: {metric.name}")
            delivery.kinds[metric.name], delivery.units[metric.name] = kind, metric.unit
            delivery.points[metric.name] = {
                tuple(each.value.string_value for each in point.attributes): point for point in data.data_points
            }
        self.headers.append({name.lower(): value for name, value in headers.items()})
        self.metrics.append(delivery)
        answer = ExportMetricsServiceResponse()
        if self.rejects:
            answer.partial_success.rejected_data_points = self.rejects
            self.rejects = 0
        return answer.SerializeToString()

    def read(self, span: Proto, resource: dict) -> Span:
        if len(UnknownFieldSet(span)) or len(span.trace_id) != 16 or len(span.span_id) != 8:
            self.faults.append(f"malformed: {span}")
        if span.end_time_unix_nano < span.start_time_unix_nano:
            self.faults.append(f"ends before it begins: {span}")
        return Span(
            trace_id=span.trace_id.hex(),
            span_id=span.span_id.hex(),
            parent_id=span.parent_span_id.hex(),
            name=span.name,
            kind=Proto.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_").lower(),
            start=span.start_time_unix_nano,
            end=span.end_time_unix_nano,
            attributes={
                each.key: getattr(each.value, each.value.WhichOneof("value")) for each in span.attributes
            },
            is_error=span.status.code == 2,
            resource=resource,
        )

    def trace(self, trace_id: str, count: int) -> list[Span]:
        """The spans of a trace, the request's own first, when there are so many."""

        def found() -> list[Span]:
            return [span for span in self.spans if span.trace_id == trace_id]

        wait_until(lambda: len(found()) >= count, f"{count} spans of {trace_id}")
        assert not self.faults, self.faults
        assert len(found()) == count, found()
        return sorted(found(), key=lambda span: (span.kind != "server", span.start))
