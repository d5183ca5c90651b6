import HTTP1
import HTTPTypes
import NIOCore
import Pipeline
import Testing

@testable import Upstream

@Suite("Upstream: the request's head")
struct ForwardedRequestTests {
    static let added = """
        X-Forwarded-For: 203.0.113.7\r
        X-Forwarded-Proto: http\r
        X-Forwarded-Host: api.example.com\r
        X-Request-Id: id-1\r
        traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r
        \r

        """

    static func head(
        _ method: HTTPRequest.Method, _ path: String, _ fields: HTTPFields, _ framing: BodyFraming
    ) throws -> ForwardedRequest {
        let gate = try Gate(
            routes: RouteTable([
                Route(name: "all", pattern: RoutePattern("/**"), access: .public, destination: .upstream("api"))
            ]), verifier: TokenVerifier(issuers: []))
        return try ForwardedRequest.make(method, path, fields: fields, framing: framing, gate: gate)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var method = HTTPRequest.Method.get
        var path = "/"
        var fields: HTTPFields = [:]
        var framing = BodyFraming.none
        /// Between the `Host` line and what the gateway adds.
        var lines = ""
        var isRepeatable = false
        var takesTrailers = false

        var testDescription: String { "\(method) \(path) \(fields) \(framing)" }
    }

    static let rows = [
        Row(isRepeatable: true),
        Row(path: "/a%20b?q=%2F..&x", isRepeatable: true),
        Row(method: .head, isRepeatable: true),
        Row(method: .delete, isRepeatable: true),
        Row(method: .options, isRepeatable: true),
        // RFC 9110 §8.6: a method that expects content says that there is none.
        Row(method: .post, lines: "Content-Length: 0\r\n"),
        Row(method: .put, lines: "Content-Length: 0\r\n", isRepeatable: true),
        Row(method: .patch, lines: "Content-Length: 0\r\n"),
        Row(method: .post, fields: [.contentLength: "7"], framing: .length(7), lines: "Content-Length: 7\r\n"),
        // The understood framing is written, and never the received fields.
        Row(method: .post, fields: [.contentLength: "9"], framing: .length(7), lines: "Content-Length: 7\r\n"),
        Row(method: .post, framing: .chunked, lines: "Transfer-Encoding: chunked\r\n"),
        Row(
            method: .post, fields: [.contentLength: "9", .transferEncoding: "gzip"], framing: .chunked,
            lines: "Transfer-Encoding: chunked\r\n"),
        Row(
            fields: [
                .accept: "*/*", .cookie: "a=b", .connection: "keep-alive", .te: "gzip", .upgrade: "h2c",
                .expect: "100-continue", .userAgent: "x",
            ], lines: "Accept: */*\r\nCookie: a=b\r\nUser-Agent: x\r\n", isRepeatable: true),
        // RFC 9110 §10.1.4: the gateway's own word to the backend, in its own words.
        Row(
            fields: [.te: "gzip;q=0.5, Trailers", .connection: "te, close", .accept: "*/*"],
            lines: "Accept: */*\r\nTE: trailers\r\nConnection: TE\r\n", isRepeatable: true, takesTrailers: true),
        Row(fields: [.te: "trailersx, x=trailers, trailers;q=1"], isRepeatable: true),
        Row(fields: [.authorization: "Bearer x"], lines: "Authorization: Bearer x\r\n", isRepeatable: true),
        Row(method: .get, framing: .length(3), lines: "Content-Length: 3\r\n"),
    ]

    @Test(
        "The head is the request line, what passes of the client's fields, the framing, and what is added",
        arguments: rows)
    func heads(row: Row) throws {
        let request = try Self.head(row.method, row.path, row.fields, row.framing)
        #expect(
            String(buffer: request.head) == "\(row.method.rawValue) \(row.path) HTTP/1.1\r\n"
                + "Host: api.example.com\r\n\(row.lines)\(Self.added)")
        #expect(request.isHead == (row.method == .head))
        #expect(request.takesTrailers == row.takesTrailers)
        #expect((request.framing == .none && request.isIdempotent) == row.isRepeatable)
    }

    @Test("Requests for one path are alike, whatever their method and query")
    func paths() throws {
        let hashes = try [
            (.get, "/a/b?x"), (.head, "/a/b?y=%20"), (.post, "/a/b"), (.get, "/a/c"), (.get, "/a/"), (.get, "/a/b/"),
        ].map { method, path in try Self.head(method, path, [:], .none).pathHash }
        #expect(Set(hashes[..<3]).count == 1)
        #expect(Set(hashes[2...]).count == 4)
    }
}
