import Testing

@testable import Pipeline

@Suite("ForwardedLines, RequestID and TraceContext")
struct IdentityForwardingTests {
    static let traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    static func lines(authority: String?, peer: String = "203.0.113.7") throws -> String {
        let trace = try #require(TraceContext(parsing: traceparent))
        var head: [UInt8] = Array("GET / HTTP/1.1\r\n".utf8)
        ForwardedLines(peer: peer, scheme: "https", authority: authority, requestID: "id-1", trace: trace)
            .append(to: &head)
        return String(decoding: head, as: UTF8.self)
    }

    @Test("The backend learns peer, scheme, authority, request id and trace")
    func allLines() throws {
        #expect(
            try Self.lines(authority: "API.example.com:8443", peer: "2001:db8::1") == """
                GET / HTTP/1.1\r
                X-Forwarded-For: 2001:db8::1\r
                X-Forwarded-Proto: https\r
                X-Forwarded-Host: API.example.com:8443\r
                X-Request-Id: id-1\r
                traceparent: \(Self.traceparent)\r

                """)
    }

    @Test("A value that could break a line gives no line", arguments: ["a\r\nX: y", "a b", "", "é", "a\0", "a\u{7f}"])
    func unsafeValues(authority: String) throws {
        #expect(try !Self.lines(authority: authority).contains("X-Forwarded-Host"))
        #expect(try !Self.lines(authority: nil).contains("X-Forwarded-Host"))
    }

    @Test("A client's request id is kept if it is 1 to 128 safe characters")
    func acceptedIDs() {
        let longest = String(repeating: "a", count: 128)
        for id in ["a", "01J.x_y-Z", longest] { #expect(RequestID.accepted(id) == id) }
        for id in ["", longest + "a", "a b", "a\n", "é", "a/b", "a\u{1b}", "{\"a\":1}"] {
            #expect(RequestID.accepted(id) == nil, "\(id.debugDescription)")
        }
        #expect(RequestID.accepted(nil) == nil)
    }

    @Test("A made request id is the ULID of its time and randomness")
    func madeIDs() {
        // The example of the ULID specification, and the ends of the range.
        #expect(RequestID.make(milliseconds: 1_469_918_176_385, random: (0, 0)) == "01ARYZ6S410000000000000000")
        #expect(RequestID.make(milliseconds: 0, random: (0, 0)) == "00000000000000000000000000")
        #expect(RequestID.make(milliseconds: .max, random: (.max, .max)) == "7ZZZZZZZZZZZZZZZZZZZZZZZZZ")
        // Every digit of Crockford's alphabet, twelve at a time.
        #expect(RequestID.make(milliseconds: 0, random: (0, 0x443214c74254b)).hasSuffix("0123456789AB"))
        #expect(RequestID.make(milliseconds: 0, random: (0, 0x635cf84653a56d7)).hasSuffix("CDEFGHJKMNPQ"))
        #expect(RequestID.make(milliseconds: 0, random: (0, 0xbe33adf3bef8000)).hasSuffix("QRSTVWXYZ000"))
    }

    @Test("A later request id sorts after an earlier one")
    func sorting() {
        let earlier = RequestID.make(milliseconds: 1_000, random: (.max, .max))
        let later = RequestID.make(milliseconds: 1_001, random: (0, 0))
        #expect(earlier < later)
    }

    @Test(
        "A valid traceparent is passed on; a later version is read as 00",
        arguments: [
            (traceparent, traceparent),
            (
                "00-00000000000000000000000000000001-0000000000000001-00",
                "00-00000000000000000000000000000001-0000000000000001-00"
            ),
            ("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-ff-what", traceparent),
            ("01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", traceparent),
        ])
    func validTrace(sent: String, passed: String) throws {
        let trace = try #require(TraceContext(parsing: sent))
        let bytes = [UInt8](capacity: 55) { trace.append(to: &$0) }
        #expect(String(decoding: bytes, as: UTF8.self) == passed)
    }

    @Test(
        "Any other traceparent is ignored",
        arguments: [
            "", "00", "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
            "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01x",
            "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
            // Two fields, joined.
            "\(traceparent), \(traceparent)",
        ])
    func invalidTrace(sent: String) {
        #expect(TraceContext(parsing: sent) == nil)
    }

    @Test("A new trace is valid even when the random numbers are zero")
    func newTrace() {
        let bytes = [UInt8](capacity: 55) { TraceContext(random: (0, 0, 0)).append(to: &$0) }
        #expect(TraceContext(parsing: String(decoding: bytes, as: UTF8.self)) == TraceContext(random: (0, 0, 0)))
    }
}
