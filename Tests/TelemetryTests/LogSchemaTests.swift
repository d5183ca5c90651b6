import Encoding
import Foundation
import Logging
import Pipeline
import Testing

@testable import Telemetry

@Suite("Schemas of log lines")
struct LogSchemaTests {
    static func object(_ line: String) throws -> [String: JSON] {
        guard case .object(let object) = try JSON.parse(Array(line.utf8)) else { return [:] }
        return Dictionary(uniqueKeysWithValues: object.map { ($0.name, $0.value) })
    }

    static func audit(_ format: LogFormat) throws -> [String: JSON] {
        var (encoder, line) = (AuditEncoder(AuditLogTests.hashes, format), [UInt8]())
        encoder.encode(LogFields.completeEvent, into: &line)
        return try object(String(decoding: line, as: UTF8.self))
    }

    @Test("The Elastic Common Schema")
    func ecs() throws {
        var record = LogFields.completeRecord
        (record.target, record.host) = ("/a/b?c=secret&d=1", "[2001:db8::1]:8443")
        let access = try Self.object(line(record, .otherJSON(.ecs)))
        let expected: [String: JSON] = [
            "@timestamp": "1970-01-01T00:00:00.000Z", "event.dataset": "gatehouse.access", "ecs.version": "8.17.0",
            "http.request.id": "1", "client.ip": "192.0.2.1", "http.request.method": "GET",
            "url.domain": "2001:db8::1", "url.path": "/a/b", "url.query": "c=&d=", "http.version": "2",
            "http.response.status_code": .number(JSONNumber(200)), "http.request.body.bytes": .number(JSONNumber(1)),
            "http.response.body.bytes": .number(JSONNumber(1)), "tls.version": "1.3",
            "user_agent.original": "App/1.0", "event.reason": "no-route", "gatehouse.route": "api",
            "trace.id": "00000000000000000000000000000001", "span.id": "0000000000000001",
        ]
        for (name, value) in expected { #expect(access[name] == value, "\(name)") }
        #expect(try Self.audit(.otherJSON(.ecs))["event.action"] == "sign_in_failed")
        let own = try Self.object(
            ApplicationLogTests.line(.otherJSON(.ecs), "m", ["error": "e", "attempts": .stringConvertible(3)]))
        #expect(own["log.level"] == "warning" && own["message"] == "m" && own["error.message"] == "e")
        #expect(own["gatehouse.attempts"] == .number(JSONNumber(3)))
        #expect(own["event.dataset"] == "gatehouse.application")
    }

    @Test("OpenTelemetry's conventions")
    func otel() throws {
        var record = LogFields.completeRecord
        (record.target, record.host) = ("/a/b", "api.test:8443")
        let access = try Self.object(line(record, .otherJSON(.otel)))
        let expected: [String: JSON] = [
            "timestamp": "1970-01-01T00:00:00.000Z", "event.name": "gatehouse.access", "server.address": "api.test",
            "url.path": "/a/b", "network.protocol.version": "2", "tls.protocol.version": "1.3",
            "http.request.body.size": .number(JSONNumber(1)), "http.request.resend_count": .number(JSONNumber(1)),
            "error.type": "no-route", "trace_id": "00000000000000000000000000000001",
        ]
        for (name, value) in expected { #expect(access[name] == value, "\(name)") }
        #expect(access["url.query"] == nil)
        #expect(try Self.audit(.otherJSON(.otel))["gatehouse.event"] == "sign_in_failed")
        let own = try Self.object(ApplicationLogTests.line(.otherJSON(.otel), "m", ["issuer": "pool"]))
        #expect(own["severity_text"] == "warning" && own["body"] == "m" && own["gatehouse.issuer"] == "pool")
    }

    @Test("No line has a member twice, whatever its schema", arguments: [LogSchema.own, .ecs, .otel])
    func unique(schema: LogSchema) throws {
        let format = schema == .own ? LogFormat.json : .otherJSON(schema)
        let metadata: Logger.Metadata = ["error": "e", "time": "t", "type": "t", "message": "m", "request_id": "r"]
        var (encoder, event) = (AuditEncoder(AuditLogTests.hashes, format), [UInt8]())
        encoder.encode(LogFields.completeEvent, into: &event)
        for line in [
            line(LogFields.completeRecord, format), String(decoding: event, as: UTF8.self),
            ApplicationLogTests.line(format, "m", metadata),
        ] {
            // The parser refuses a member that is there twice.
            #expect(throws: Never.self) { try JSON.parse(Array(line.utf8)) }
        }
    }

    @Test("The host is without its port, and the user agent has an end")
    func bounds() {
        for (authority, host) in [("a.test", "a.test"), ("a.test:1", "a.test"), ("[::1]", "::1"), ("[::1]:1", "::1")] {
            #expect(AccessRecord.withoutPort(authority) == host)
        }
        var record = record()
        record.userAgent = String(repeating: "x", count: 300)
        #expect(record.loggedUserAgent?.utf8.count == 256)
        record.userAgent = "short"
        #expect(record.loggedUserAgent == "short")
    }

    @Test(
        "A server's address and port, as spans name it",
        arguments: [
            ("http://10.0.0.7:8000", nil, "10.0.0.7", 8000), ("https://api.test", nil, "api.test", 443),
            ("http://[2001:db8::1]:81/x", nil, "2001:db8::1", 81), ("http://[::1]", nil, "::1", 80),
            ("http://localhost", "/run/api.sock", "/run/api.sock", nil), ("https://a.test:9/p?q", nil, "a.test", 9),
        ] as [(String, String?, String, Int?)])
    func addresses(url: String, socket: String?, host: String, port: Int?) {
        let address = ServerAddress(url: url, socket: socket)
        #expect(address?.host == host && address?.port == port)
        #expect(ServerAddress(url: nil) == nil && ServerAddress(url: "none") == nil)
    }
}
