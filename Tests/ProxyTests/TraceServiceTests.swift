import Cryptography
import HTTPClient
import HTTPTypes
import Logging
import NIOCore
import NIOPosix
import Pipeline
import ServiceContextModule
import Settings
import TestSupport
import Testing
import Tracing

@testable import Proxy
@testable import Telemetry

@Suite("Sampling of traces, and their way to the collector")
struct TraceServiceTests {
    static func service(
        sampling: Double, followsClient: Bool = true, fetcher: any Fetcher = RepeatingFetcher([]),
        tallies: ExportTallies = ExportTallies()
    ) throws -> TraceService {
        let yaml = """
            listeners: [{address: "127.0.0.1:8080"}]
            upstreams: {api: {url: "http://127.0.0.1:8000"}}
            routes: [{path: /, upstream: api, access: public}]
            tracing:
              endpoint: https://collector.test/v1/traces
              sampling: \(sampling)
              follow_client: \(followsClient)
            """
        let settings = try GatewaySettings.load(path: "x.yaml", environment: [:]) { _ in Array(yaml.utf8) }
        return TraceService(
            try #require(settings.tracing), fetcher: fetcher, tallies: tallies,
            metrics: MetricsRegistry(labels: MetricsLabels(routes: [], upstreams: [], denialReasons: [])),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    @Test("Of the traces that begin here the share is sampled", arguments: [0, 0.05, 0.5, 1])
    func share(sampling: Double) throws {
        let service = try Self.service(sampling: sampling)
        var random = FastRandom()
        let sampled = (0..<20_000).count { _ in
            service.recorder.sampler.samples(UInt128(random.next()) << 64 | UInt128(random.next()))
        }
        // Four standard deviations.
        let deviation = 4 * (20_000 * sampling * (1 - sampling)).squareRoot()
        #expect(abs(Double(sampled) - 20_000 * sampling) <= deviation)
    }

    @Test(
        "A client's trace is sampled where the client has it so, unless it is not followed",
        arguments: [(true, true, 0), (true, false, 1), (false, true, 0), (false, false, 1)] as [(Bool, Bool, Double)])
    func clients(follows: Bool, isSampled: Bool, sampling: Double) throws {
        let service = try Self.service(sampling: sampling, followsClient: follows)
        let context = TraceContext(traceID: 99, parentID: 1, isSampled: isSampled)
        #expect(service.recorder.sampler.samples(context, random: 99) == (follows ? isSampled : sampling == 1))
    }

    @Test("A client that is not followed cannot choose by its trace's id that the trace is sampled")
    func chosenIDs() throws {
        let service = try Self.service(sampling: 0.05, followsClient: false)
        let tracer = LoopTracer(service, eventLoop: MultiThreadedEventLoopGroup.singleton.any())
        let sampled = (1...1000).count { id in
            let digits = String(id, radix: 16)
            let trace = String(repeating: "0", count: 32 - digits.count) + digits
            let fields: HTTPFields = [.traceparent: "00-\(trace)-00000000000000cd-01"]
            let head = HTTPRequest(method: .get, scheme: "https", authority: "a.test", path: "/", headerFields: fields)
            return tracer.begin(head).isSampled
        }
        #expect((1..<500).contains(sampled))
    }

    static func request(_ service: TraceService, isSampled: Bool = true) -> SpanContext {
        SpanContext(ids: TraceIDs(traceID: 0xAB, spanID: 0xCD), isSampled: isSampled, recorder: service.recorder)
    }

    static func fetch(_ tracing: CurrentTracing? = nil) async throws {
        let fetcher = TracedFetcher(RecordedFetcher(FetchResponse(status: 404)), tracing: tracing)
        let headers = [(name: "X-Amz-Target", value: "Service.GetUser")]
        _ = try await fetcher.fetch(FetchRequest(method: "POST", url: "https://a.test/b?c=d", headers: headers))
    }

    @Test("A library's span and a fetch within it are sent as spans below the request's")
    func libraries() async throws {
        let (collector, tallies) = (RecordedFetcher(FetchResponse(status: 200)), ExportTallies())
        let service = try Self.service(sampling: 0, fetcher: collector, tallies: tallies)
        try await withTracer(GatewayTracer(CurrentTracing())) {
            try await ServiceContext.withValue(Self.request(service).serviceContext) {
                try await withSpan("library's") { _ in try await Self.fetch() }
            }
        }
        let spans = service.recorder.queue.take(10).spans
        #expect(spans.map(\.name) == ["Cognito GetUser", "library's"])
        #expect(spans.map(\.ids.traceID) == [0xAB, 0xAB] && spans.map(\.parentID) == [spans[1].ids.spanID, 0xCD])
        for span in spans { service.recorder.queue.add(span) }
        // Its end has it send what waits.
        let sending = Task { await service.run() }
        sending.cancel()
        await sending.value
        let sent = await collector.requests.compactMap(\.body)
        #expect(sent.count == 1 && tallies.spans.exported == 2 && tallies.spans.lost == 0)
        let text = String(decoding: sent.first ?? [], as: UTF8.self)
        #expect(text.contains("library's") && text.contains("Cognito GetUser"))
    }

    @Test(
        "However many spans a collector says it rejected, those exported and those lost are the ones sent",
        arguments: [
            // -1 and the greatest number of an int64.
            ([0x0A, 0x0B, 0x08, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01], 600, 0),
            ([0x0A, 0x0A, 0x08, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F], 0, 600),
            // Of deliveries of 512 spans and 88.
            ([0x0A, 0x03, 0x08, 0xF4, 0x03], 12, 588),
        ] as [([UInt8], Int, Int)])
    func rejected(answer: [UInt8], exported: Int, lost: Int) async throws {
        let collector = RepeatingFetcher([.success(FetchResponse(status: 200, body: answer))])
        let tallies = ExportTallies()
        let service = try Self.service(sampling: 0, fetcher: collector, tallies: tallies)
        for number in 1...600 {
            service.recorder.queue.add(
                Telemetry.Span(
                    ids: TraceIDs(traceID: 1, spanID: UInt64(number)), parentID: 0, name: "n", kind: .internal,
                    start: 1, status: .ok))
        }
        let sending = Task { await service.run() }
        sending.cancel()
        await sending.value
        #expect(tallies.spans.exported == exported && tallies.spans.lost == lost)
    }

    @Test("A fetch is a span below the task's; where there is none, a trace begins with it if the fetcher may")
    func fetches() async throws {
        let service = try Self.service(sampling: 1)
        let tracing = CurrentTracing()
        tracing.recorder = service.recorder
        try await ServiceContext.withValue(Self.request(service).serviceContext) { try await Self.fetch(tracing) }
        let child = try #require(service.recorder.queue.take(10).spans.first)
        #expect((child.ids.traceID, child.parentID, child.kind, child.status) == (0xAB, 0xCD, .client, .error(nil)))
        let wanted: Telemetry.Span.Attributes = [
            ("http.request.method", .text("POST")), ("url.full", .text("https://a.test/b")),
            ("server.address", .text("a.test")), ("server.port", .number(443)), ("rpc.method", .text("GetUser")),
            ("http.response.status_code", .number(404)),
        ]
        #expect(child.attributes.map(\.name) == wanted.map(\.name))
        #expect(child.attributes.map(\.value) == wanted.map(\.value))
        try await Self.fetch(tracing)
        let root = try #require(service.recorder.queue.take(10).spans.first)
        #expect(root.parentID == 0 && root.ids.traceID != 0xAB)
        let unsampled = Self.request(service, isSampled: false)
        try await ServiceContext.withValue(unsampled.serviceContext) { try await Self.fetch(tracing) }
        try await Self.fetch()
        #expect(service.recorder.queue.take(10).isEmpty)
    }
}
