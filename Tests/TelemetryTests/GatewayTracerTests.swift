import Logging
import ServiceContextModule
import Testing
import Tracing

@testable import Telemetry

@Suite("Spans of libraries that use swift-distributed-tracing")
struct GatewayTracerTests {
    struct Failure: Error, CustomStringConvertible {
        var description: String { "ada@example.com has no such thing" }
    }

    /// Headers of a message, by their names.
    struct Headers: Injector, Extractor {
        func inject(_ value: String, forKey key: String, into carrier: inout [String: String]) { carrier[key] = value }
        func extract(key: String, from carrier: [String: String]) -> String? { carrier[key] }
    }

    let queue: SpanQueue
    let tracing = CurrentTracing()
    let request: SpanContext

    init() {
        queue = SpanQueue(capacity: 1000, tally: ExportTally()) {}
        let recorder = SpanRecorder(sampler: TraceSampler(share: 1, followsClient: true), queue: queue)
        tracing.recorder = recorder
        request = Self.request(recorder)
    }

    static func request(_ recorder: SpanRecorder, isSampled: Bool = true) -> SpanContext {
        SpanContext(ids: TraceIDs(traceID: 0xAB, spanID: 0xCD), isSampled: isSampled, recorder: recorder)
    }

    static func recorder(_ queue: SpanQueue, share: Double = 1, followsClient: Bool = true) -> SpanRecorder {
        SpanRecorder(sampler: TraceSampler(share: share, followsClient: followsClient), queue: queue)
    }

    /// Runs `body` as a library's code within a task of `request`, and returns the spans that wait to be sent then.
    func spans(below request: SpanContext?, _ body: () -> Void) -> [Telemetry.Span] {
        withTracer(GatewayTracer(tracing)) {
            ServiceContext.withValue(request?.serviceContext) { body() }
        }
        return queue.take(100).spans
    }

    // MARK: Below a request

    @Test("A span is the child of the request's, and one within it is its own child")
    func children() async throws {
        try await withTracer(GatewayTracer(tracing)) {
            try await ServiceContext.withValue(request.serviceContext) {
                await withSpan("outer", ofKind: .producer) { outer in
                    await withSpan("inner", ofKind: .client) { inner in
                        #expect(SpanContext.current?.ids == inner.context.span?.ids)
                        await Task.yield()
                    }
                    #expect(outer.isRecording && outer.operationName == "outer")
                }
                // The gateway's own spans come below a library's as well, and the other way round.
                try await withSpan("library's") { _ in
                    try await SpanContext.withClientSpan("own", attributes: []) {
                        InstrumentationSystem.tracer.startSpan("last").end()
                    }
                }
            }
        }
        let spans = Dictionary(uniqueKeysWithValues: queue.take(100).spans.map { ($0.name, $0) })
        let parents: [(String, String?)] = [
            ("outer", nil), ("inner", "outer"), ("library's", nil), ("own", "library's"), ("last", "own"),
        ]
        #expect(spans.count == parents.count)
        for (name, parent) in parents {
            let span = try #require(spans[name])
            #expect(span.ids.traceID == 0xAB, "\(name)")
            #expect(span.parentID == (parent.map { spans[$0]?.ids.spanID } ?? 0xCD), "\(name)")
            #expect(span.start > 0 && span.end >= span.start && span.status == .unset, "\(name)")
        }
        #expect(Set(spans.values.map(\.ids.spanID)).count == parents.count)
        #expect(
            spans["outer"]?.kind == .producer && spans["inner"]?.kind == .client && spans["last"]?.kind == .internal)
    }

    @Test("What a library says of a span is in it, attributes by name")
    func contents() throws {
        let recorded = spans(below: request) {
            let other = InstrumentationSystem.tracer.startSpan("other")
            let span = InstrumentationSystem.tracer.startSpan(
                "first", at: DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: 5))
            span.operationName = "renamed"
            span.attributes["text"] = "a"
            span.attributes["number"] = 1
            span.updateAttributes { attributes in
                attributes["real"] = 0.5
                attributes["is"] = true
                attributes["list"] = ["a", "b"]
                attributes.set("convertible", value: .stringConvertible(Failure()))
            }
            #expect(span.attributes.get("number") == .int64(1) && span.operationName == "renamed")
            span.addEvent(
                SpanEvent(
                    name: "event", at: DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: 6), attributes: ["n": 2])
            )
            span.addLink(SpanLink(context: other.context, attributes: ["k": "v"]))
            span.addLink(SpanLink(context: .topLevel, attributes: [:]))
            span.setStatus(SpanStatus(code: .error, message: "early"))
            span.setStatus(SpanStatus(code: .ok))
            span.setStatus(SpanStatus(code: .error))
            span.end(at: DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: 9))
            // It has ended: nothing changes it, and it comes once.
            #expect(!span.isRecording)
            span.attributes["late"] = 1
            span.operationName = "late"
            span.addEvent("late")
            span.end()
        }
        let span = try #require(recorded.first)
        #expect((span.name, span.start, span.end) == ("renamed", 5, 9))
        #expect(span.attributes.map(\.name) == ["convertible", "is", "list", "number", "real", "text"])
        #expect(
            span.attributes.map(\.value) == [
                .text("\(Failure())"), .boolean(true), .list([.text("a"), .text("b")]), .number(1), .real(0.5),
                .text("a"),
            ])
        #expect(span.status == .ok)
        #expect(span.events.map(\.name) == ["event"] && span.events.map(\.time) == [6])
        #expect(span.events.first?.attributes.map(\.value) == [.number(2)])
        #expect(span.links.count == 1 && span.links.first?.ids.traceID == 0xAB)
        #expect(span.links.first?.attributes.map(\.value) == [.text("v")])
        #expect(span.dropped == Telemetry.Span.Dropped() && queue.take(100).isEmpty)
    }

    @Test("An error sets the status; its type is recorded, its text is not")
    func errors() async throws {
        let failed = spans(below: request) {
            #expect(throws: Failure.self) { try withSpan("fails") { _ in throw Failure() } }
        }
        let library = try #require(failed.first)
        #expect(library.status == .error(nil) && library.events.map(\.name) == ["exception"])
        #expect(library.events.first?.attributes.map(\.name) == ["exception.type"])
        #expect(library.events.first?.attributes.map(\.value) == [.text("Failure")])
        await #expect(throws: Failure.self) {
            try await ServiceContext.withValue(request.serviceContext) {
                try await SpanContext.withClientSpan("own", attributes: []) { throw Failure() }
            }
        }
        let own = try #require(queue.take(100).spans.first)
        #expect(own.status == .error(nil) && own.events.isEmpty)
    }

    @Test("A span has room for so many attributes, events and links, and counts the others")
    func limits() throws {
        let most = SpanRecording.limit
        let recorded = spans(below: request) {
            let span = InstrumentationSystem.tracer.startSpan("much")
            for number in 0..<most + 3 {
                span.attributes["\(1000 + number)"] = number
                if number > 0 { span.addEvent(SpanEvent(name: "\(number)")) }
                if number > 1 { span.addLink(SpanLink(context: span.context, attributes: [:])) }
            }
            span.end()
        }
        let span = try #require(recorded.first)
        #expect(span.attributes.count == most && span.events.count == most && span.links.count == most)
        #expect(span.attributes.last?.name == "\(1000 + most - 1)")
        #expect(span.dropped == Telemetry.Span.Dropped(attributes: 3, events: 2, links: 1))
    }

    // MARK: Sampling

    @Test(
        "Where nothing is sampled there are no spans, and names and attributes are not evaluated",
        arguments: [true, false])
    func unsampled(isTraced: Bool) async throws {
        let request = isTraced ? Self.request(Self.recorder(queue, share: 0), isSampled: false) : nil
        tracing.recorder = request?.recorder
        var evaluated = 0
        func count<Value>(_ value: Value) -> Value {
            evaluated += 1
            return value
        }
        let recorded = spans(below: request) {
            let span = InstrumentationSystem.tracer.startSpan("library's", at: count(DefaultTracerClock.now))
            if span.isRecording { span.attributes["a"] = count("a") }
            span.attributes["b"] = 1
            span.recordError(Failure(), attributes: [:], at: count(DefaultTracerClock.now))
            #expect(span.attributes.isEmpty && span.context.span?.ids == request?.ids)
            span.end(at: count(DefaultTracerClock.now))
        }
        #expect(recorded.isEmpty)
        let value = try await ServiceContext.withValue(request?.serviceContext) {
            try await SpanContext.withClientSpan(
                count("own"), attributes: [(name: count("a"), value: .text(count("b")))]
            ) { 5 }
        }
        #expect(value == 5 && queue.take(100).isEmpty && evaluated == 0)
    }

    @Test("Where something is sampled, names and attributes are evaluated once")
    func sampled() async throws {
        var evaluated = 0
        func count<Value>(_ value: Value) -> Value {
            evaluated += 1
            return value
        }
        try await ServiceContext.withValue(request.serviceContext) {
            try await SpanContext.withClientSpan(
                count("own"), attributes: [(name: count("a"), value: .text(count("b")))]
            ) {}
        }
        let span = try #require(queue.take(100).spans.first)
        #expect((span.name, span.kind, span.parentID, evaluated) == ("own", .client, 0xCD, 3))
        #expect(span.attributes.map(\.name) == ["a"] && span.attributes.map(\.value) == [.text("b")])
    }

    @Test("Below no request a trace begins, by the tracing in use, and the sampler decides once for all of it")
    func roots() throws {
        func root(_ contexts: inout [SpanContext?]) -> [Telemetry.Span] {
            spans(below: nil) {
                withSpan("root") { root in
                    contexts = [root.context.span]
                    withSpan("child") { contexts.append($0.context.span) }
                }
            }
        }
        var contexts: [SpanContext?] = []
        let first = root(&contexts)
        #expect(first.map(\.name) == ["child", "root"])
        #expect(first.map(\.ids) == contexts.reversed().compactMap { $0?.ids } && first.map(\.parentID).last == 0)
        #expect(first.first?.parentID == first.last?.ids.spanID && first.first?.ids.traceID == first.last?.ids.traceID)
        // Other settings take over.
        let second = SpanQueue(capacity: 10, tally: ExportTally()) {}
        tracing.recorder = Self.recorder(second)
        #expect(root(&contexts).isEmpty && second.take(100).spans.count == 2)
        // A request ends by the settings that it began with.
        #expect(spans(below: request) { withSpan("child") { _ in } }.count == 1 && second.take(100).isEmpty)
        // A trace that is not sampled has ids for logs all the same.
        tracing.recorder = Self.recorder(second, share: 0)
        #expect(root(&contexts).isEmpty)
        #expect(contexts.map { $0?.isSampled } == [false, false] && contexts.first??.ids == contexts.last??.ids)
        tracing.recorder = nil
        #expect(root(&contexts).isEmpty && contexts.count { $0 == nil } == 2 && second.take(100).isEmpty)
    }

    // MARK: Trace Context, and logs

    @Test("A trace goes out and comes in as Trace Context writes it")
    func propagation() throws {
        let tracer = GatewayTracer(tracing)
        var headers: [String: String] = [:]
        tracer.inject(request.serviceContext, into: &headers, using: Headers())
        let trace = String(repeating: "0", count: 30) + "ab"
        #expect(headers == ["traceparent": "00-\(trace)-00000000000000cd-01"])

        headers["tracestate"] = "vendor=value"
        var context = ServiceContext.topLevel
        tracer.extract(headers, into: &context, using: Headers())
        let span = try #require(context.span)
        #expect(span.ids == request.ids && span.isSampled && span.state == "vendor=value")

        // The receiver of a library's call goes on below the library's span.
        let child = tracer.startSpan("call", context: context, ofKind: .client)
        var next: [String: String] = [:]
        tracer.inject(child.context, into: &next, using: Headers())
        let own = try #require(child.context.span?.ids.spanText)
        #expect(next == ["traceparent": "00-\(trace)-\(own)-01", "tracestate": "vendor=value"])
        #expect(own != request.ids.spanText)

        next = [:]
        tracer.inject(.topLevel, into: &next, using: Headers())
        #expect(next.isEmpty)
    }

    @Test(
        "A sender's trace is sampled as a client's is, and an invalid one is ignored",
        arguments: [
            ("00-000000000000000000000000000000ab-00000000000000cd-01", true, true),
            ("00-000000000000000000000000000000ab-00000000000000cd-00", true, false),
            ("00-000000000000000000000000000000ab-00000000000000cd-01", false, false),
            ("00-00000000000000000000000000000000-00000000000000cd-01", true, nil), ("junk", true, nil),
            (nil, true, nil),
        ] as [(String?, Bool, Bool?)])
    func extraction(parent: String?, followsClient: Bool, isSampled: Bool?) {
        tracing.recorder = Self.recorder(queue, share: 0, followsClient: followsClient)
        var headers = ["tracestate": "vendor=value"]
        headers["traceparent"] = parent
        var context = ServiceContext.topLevel
        GatewayTracer(tracing).extract(headers, into: &context, using: Headers())
        #expect(context.span?.isSampled == isSampled)
        // Where nothing is traced there is nothing to carry on.
        tracing.recorder = nil
        context = .topLevel
        GatewayTracer(tracing).extract(headers, into: &context, using: Headers())
        #expect(context.span == nil)
    }

    @Test("A sender that is not followed cannot choose by its trace's id that the trace is sampled")
    func chosenIDs() {
        tracing.recorder = Self.recorder(queue, share: 0.05, followsClient: false)
        let sampled = (0..<1000).count { _ in
            var context = ServiceContext.topLevel
            let headers = ["traceparent": "00-000000000000000000000000000000ab-00000000000000cd-01"]
            GatewayTracer(tracing).extract(headers, into: &context, using: Headers())
            return context.span?.isSampled == true
        }
        #expect((1..<500).contains(sampled))
    }

    @Test("Lines have the ids of the span that the task belongs to, sampled or not")
    func logs() {
        for isSampled in [true, false] {
            let request = Self.request(Self.recorder(queue), isSampled: isSampled)
            ServiceContext.withValue(request.serviceContext) {
                #expect(
                    SpanContext.metadata.get() == [
                        "trace_id": .string(request.ids.traceText), "span_id": .string(request.ids.spanText),
                    ])
            }
        }
        #expect(SpanContext.metadata.get().isEmpty)
        ServiceContext.withValue(.topLevel) { #expect(SpanContext.metadata.get().isEmpty) }
    }
}
