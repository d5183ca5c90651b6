import Encoding
import Testing

@testable import Telemetry

@Suite("Spans that wait to be sent, and how they are written")
struct SpanTests {
    static func spans(_ number: Int, upstream: Bool = true) -> RequestSpans {
        RequestSpans(
            record: record(requestID: "\(number)"), ids: TraceIDs(traceID: 1, spanID: UInt64(number)), parentID: 0,
            upstream: upstream ? .init(spanID: 7, start: 0, duration: 1) : nil)
    }

    static let span = Span(
        ids: TraceIDs(traceID: 0x0102, spanID: 3), parentID: 4, name: "n", kind: .client, start: 1, end: 2)

    @Test("What is beyond the capacity is lost and counted by its spans, and what waits comes out in order")
    func capacity() {
        let tally = ExportTally()
        let queue = SpanQueue(capacity: 3, tally: tally) {}
        var requests = [Self.spans(1), Self.spans(2)]
        queue.add(&requests)
        #expect(requests.isEmpty)
        queue.add(Self.span)
        queue.add(Self.span)
        requests = [Self.spans(3, upstream: false), Self.spans(4)]
        queue.add(&requests)
        #expect(tally.lost == 4)
        let first = queue.take(1)
        #expect(first.requests.map(\.record.requestID) == ["1"] && first.spans.isEmpty && first.spanCount == 2)
        let rest = queue.take(10)
        #expect(rest.requests.map(\.record.requestID) == ["2"] && rest.spans.count == 1)
        #expect(queue.take(10).isEmpty)
    }

    @Test("A queue that is closed loses what comes")
    func closing() {
        let tally = ExportTally()
        let queue = SpanQueue(capacity: 3, tally: tally) {}
        queue.close()
        var requests = [Self.spans(1)]
        queue.add(&requests)
        queue.add(Self.span)
        #expect(tally.lost == 3 && queue.take(10).isEmpty)
    }

    @Test("Ids are written with all of their digits")
    func digits() {
        let ids = TraceIDs(traceID: 0xABC << 64 | 0xDEF, spanID: 0x1F)
        #expect(ids.traceText == "0000000000000abc0000000000000def" && ids.spanText == "000000000000001f")
        var line: [UInt8] = []
        line.appendFields(ids, LogNames(.own, .access))
        #expect(
            String(decoding: line, as: UTF8.self)
                == #","trace_id":"0000000000000abc0000000000000def","span_id":"000000000000001f""#)
        line = []
        line.appendTextFields(ids)
        #expect(
            String(decoding: line, as: UTF8.self)
                == " trace_id=0000000000000abc0000000000000def span_id=000000000000001f")
    }

    @Test("A message's length is written in front of it, however long it is", arguments: [0, 127, 128, 20_000])
    func lengths(count: Int) {
        var bytes: [UInt8] = []
        bytes.appendMessage(field: 1) { $0 += [UInt8](repeating: 5, count: count) }
        var expected: [UInt8] = []
        expected.appendBytes(field: 1, [UInt8](repeating: 5, count: count))
        #expect(bytes == expected)
    }

    @Test(
        "An answer says how many spans were rejected; what is no message says nothing",
        arguments: [
            ([], 0), ([0x0A, 0x00], 0), ([0x0A, 0x02, 0x08, 0x07], 7),
            ([0x0A, 0x07, 0x12, 0x02, 0x68, 0x69, 0x08, 0xAC, 0x02], 300), ([0x0A, 0x7F, 0x08], 0), ([0xFF], 0),
            // -1, and the least and the greatest number of an int64.
            ([0x0A, 0x0B, 0x08, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01], 0),
            ([0x0A, 0x0B, 0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01], 0),
            ([0x0A, 0x0A, 0x08, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F], .max),
        ] as [([UInt8], Int)])
    func rejected(answer: [UInt8], count: Int) {
        #expect(SpanEncoder.rejected(in: answer) == count)
    }

    /// The message as OpenTelemetry's own definitions write it (opentelemetry-proto 1.45.2 for Python).
    static let message = """
        0abe020a150a130a0c736572766963652e6e616d6512030a016712a4020a0b0a0967617465686f75736512da010a10000000\
        0000000000000000000000010212080000000000000003220800000000000000042a016e3005390100000000000000410200\
        0000000000004a080a016112030a01784a070a0162120210014a100a0163120b18ffffffffffffffffff014a0e0a01641209\
        21000000000000e03f4a0f0a0165120a2a080a0218010a02100050015a1e0907000000000000001209657863657074696f6e\
        1a080a017412030a014560c8016a260a10000000000000000000000000000000051208000000000000000622080a016b1203\
        18ac0270037a0612026e6f180212380a1000000000000000000000000000000001120800000000000000022a026f6b300139\
        01000000000000004101000000000000007a021801
        """

    @Test("Every part of a span is written as OTLP has it")
    func everything() {
        var full = Span(
            ids: TraceIDs(traceID: 0x0102, spanID: 3), parentID: 4, name: "n", kind: .consumer, start: 1, end: 2,
            attributes: [
                ("a", .text("x")), ("b", .boolean(true)), ("c", .number(-1)), ("d", .real(0.5)),
                ("e", .list([.number(1), .boolean(false)])),
            ], status: .error("no"))
        full.events = [Span.Event(name: "exception", time: 7, attributes: [("t", .text("E"))])]
        full.links = [Span.Link(ids: TraceIDs(traceID: 5, spanID: 6), attributes: [("k", .number(300))])]
        full.dropped = Span.Dropped(attributes: 1, events: 200, links: 3)
        let fine = Span(
            ids: TraceIDs(traceID: 1, spanID: 2), parentID: 0, name: "ok", kind: .internal, start: 1, status: .ok)
        let encoder = SpanEncoder(attributes: [("service.name", "g")])
        #expect(Hexadecimal.encode(encoder.encode([], [full, fine])) == Self.message)
    }
}
