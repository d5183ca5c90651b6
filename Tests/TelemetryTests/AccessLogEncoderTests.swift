import Encoding
import Pipeline
import Testing

@testable import Telemetry

/// The record of a request that was answered by the gateway itself.
func record(
    time: Int64 = 1_769_903_999_123, requestID: String = "r1", method: String = "GET", target: String = "/",
    route: String? = nil, subject: String? = nil, denialReason: String? = nil
) -> AccessRecord {
    AccessRecord(
        time: time, requestID: requestID, clientAddress: "192.0.2.1", method: method, target: target, status: 200,
        bytesSent: 275, duration: 1234, route: route, subject: subject, denialReason: denialReason)
}

func line(_ record: AccessRecord, _ format: LogFormat = .json) -> String {
    var encoder = AccessLogEncoder(AuditLogTests.hashes, format)
    var bytes: [UInt8] = []
    encoder.encode(record, into: &bytes)
    return String(decoding: bytes, as: UTF8.self)
}

/// `target` as it is logged, behind something that isn't touched.
func redacted(_ target: String) -> String {
    var bytes = Array("?x=y\(target)".utf8)
    RedactedTarget.redact(&bytes, from: 4)
    return String(decoding: bytes.dropFirst(4), as: UTF8.self)
}

@Suite("Access log lines")
struct AccessLogEncoderTests {
    @Test("A line holds what is known of the request")
    func everything() {
        var record = record(target: "/api/items?page=2", route: "api", subject: "abc", denialReason: "expired")
        record.upstreamDuration = 1000
        (record.server, record.retries) = ("http://10.0.0.7:8000", 2)
        (record.host, record.userAgent) = ("api.test:8443", "App/1.0 \"x\"")
        (record.clientProtocol, record.bytesReceived) = (ClientProtocol(http: .http2, tls: .tls13), 12)
        (record.upstreamStatus, record.decisionFor) = (201, "nginx")
        #expect(
            line(record) == """
                {"time":"2026-01-31T23:59:59.123Z","type":"access","request_id":"r1","client_address":"192.0.2.1",\
                "method":"GET","host":"api.test:8443",\
                "path":"/api/items?page=","status":200,"upstream_status":201,"bytes_received":12,"bytes_sent":275,\
                "duration_us":1234,\
                "upstream_duration_us":1000,"server":"http://10.0.0.7:8000","retries":2,"route":"api",\
                "http_version":"2","tls_version":"1.3","user_agent":"App/1.0 \\"x\\"","subject_hash":"07d2f04510c4a58a5844ae0765b764c9","denial_reason":"expired","decision_for":"nginx"}

                """)
    }

    @Test("For people it is the time, the request, its answer, and the rest by name")
    func text() {
        var encoder = AccessLogEncoder(AuditLogTests.hashes, .text)
        var record = record(target: "/a b\u{1b}?code=1", route: "an api", subject: "abc", denialReason: "expired")
        record.upstreamDuration = 2_345_678
        (record.server, record.retries) = ("http://10.0.0.7:8000", 2)
        record.decisionFor = "nginx"
        var bytes: [UInt8] = []
        encoder.encode(record, into: &bytes)
        #expect(
            String(decoding: bytes, as: UTF8.self) == """
                2026-01-31T23:59:59.123Z GET /a b\\u001b?code= 200 1.2ms client_address=192.0.2.1 bytes_received=0 bytes_sent=275 \
                upstream=2.3s server=http://10.0.0.7:8000 retries=2 route="an api" subject_hash=07d2f04510c4a58a5844ae0765b764c9 denial_reason=expired decision_for=nginx request_id=r1

                """)
    }

    @Test("Subjects that are canonically equivalent are told apart")
    func equivalentSubjects() {
        var encoder = AccessLogEncoder(AuditLogTests.hashes)
        let hashes = ["\u{e9}", "e\u{301}", "\u{e9}", "K", "\u{212a}"].map { subject in
            var bytes: [UInt8] = []
            encoder.encode(record(subject: subject), into: &bytes)
            return String(decoding: bytes, as: UTF8.self).split(separator: "\"subject_hash\":\"")[1].prefix(16)
        }
        #expect(Set(hashes).count == 4 && hashes[0] == hashes[2])
    }

    @Test("What is not known is left out")
    func little() {
        #expect(
            line(record()) == """
                {"time":"2026-01-31T23:59:59.123Z","type":"access","request_id":"r1","client_address":"192.0.2.1",\
                "method":"GET","path":"/","status":200,"bytes_received":0,"bytes_sent":275,"duration_us":1234}

                """)
    }

    @Test(
        "Query values are not written",
        arguments: [
            ("/a", "/a"), ("/a?", "/a?"), ("/a?b=1", "/a?b="), ("/a?b=1&c=2", "/a?b=&c="), ("/a?b=1=2", "/a?b="),
            ("/a?b==", "/a?b="), ("/a?&b=1&", "/a?&b=&"), ("/a?secret", "/a?*"), ("/a?b=1&secret", "/a?b=&*"),
            ("/a?b=1?c=2", "/a?b="), ("/a?b=1;c=2", "/a?b="), ("/a?=x", "/a?="), ("/a?%62=1", "/a?%62="),
            ("/" + String(repeating: "x", count: 3000), "/" + String(repeating: "x", count: 2047) + "…"),
        ])
    func queries(target: String, expected: String) {
        #expect(redacted(target) == expected)
    }

    @Test(
        "A value can't end its string or its line, nor drive a terminal",
        arguments: [
            ("a\"b", #"a\"b"#), ("a\\b", #"a\\b"#), ("a\r\nb", #"a\r\nb"#), ("a\tb", #"a\tb"#), ("a\0b", #"a\u0000b"#),
            ("\u{1B}[2J", #"\u001b[2J"#), ("\u{7F}", #"\u007f"#), ("\u{9B}2J", #"\u009b2J"#), ("\u{85}", #"\u0085"#),
            ("\u{2028}", #"\u2028"#), ("\u{202E}x", #"\u202ex"#), ("\u{2066}x", #"\u2066x"#),
            ("\u{61C}x", #"\u061cx"#),
            ("Grüße 🙂", "Grüße 🙂"), ("a b", "a b"),
            (String(decoding: [0x61, 0xFF, 0x62] as [UInt8], as: UTF8.self), "a\u{FFFD}b"),
        ])
    func escaping(value: String, expected: String) {
        let line = line(record(requestID: value))
        #expect(line.contains(#""request_id":"\#(expected)","#), "\(line)")
        #expect(line.utf8.count { $0 == 0x0A } == 1)
    }

    @Test(
        "Bytes that are not UTF-8 are replaced",
        arguments: [
            ([0xFF], "\u{FFFD}"), ([0x61, 0xC3], "a\u{FFFD}"), ([0xED, 0xA0, 0x80], "\u{FFFD}\u{FFFD}\u{FFFD}"),
            ([0xC0, 0x80], "\u{FFFD}\u{FFFD}"),
        ] as [([UInt8], String)])
    func invalid(bytes: [UInt8], expected: String) {
        var escaped = bytes
        escaped.escape(from: 0)
        #expect(String(validating: escaped, as: UTF8.self) == expected)
    }

    @Test("A caller has the same hash on every line, also after many others")
    func subjects() {
        var encoder = AccessLogEncoder(AuditLogTests.hashes)
        var first: [UInt8] = []
        var last: [UInt8] = []
        encoder.encode(record(subject: "abc"), into: &first)
        var others: [UInt8] = []
        for number in 0..<5000 { encoder.encode(record(subject: "\(number)"), into: &others) }
        encoder.encode(record(subject: "abc"), into: &last)
        #expect(first == last)
        #expect(String(decoding: first, as: UTF8.self).contains(#""subject_hash":"07d2f04510c4a58a5844ae0765b764c9""#))
        #expect(!String(decoding: first, as: UTF8.self).contains("abc"))
    }

    @Test("An overlong name of a parameter is not written")
    func longName() {
        let target = "/a?" + String(repeating: "x", count: 65) + "=1&b=2"
        #expect(redacted(target) == "/a?*&b=")
    }

    @Test(
        "Times are written in UTC",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"), (951_868_800_001, "2000-03-01T00:00:00.001Z"),
            (1_709_164_799_999, "2024-02-28T23:59:59.999Z"), (1_709_251_199_000, "2024-02-29T23:59:59.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"), (1_798_761_599_050, "2026-12-31T23:59:59.050Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        ] as [(Int64, String)])
    func times(milliseconds: Int64, expected: String) {
        var encoder = TimestampEncoder()
        var bytes: [UInt8] = []
        encoder.append(milliseconds: milliseconds, to: &bytes)
        // A second time, from the kept text.
        encoder.append(milliseconds: milliseconds, to: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self) == expected + expected)
    }
}
