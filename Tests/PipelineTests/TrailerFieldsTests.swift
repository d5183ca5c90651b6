import HTTPTypes
import Testing

@testable import Pipeline

@Suite("A response's trailers")
struct TrailerFieldsTests {
    private func passed(_ names: [String], rules: HeaderRules? = nil) throws -> [String] {
        let fields = HTTPFields(try names.map { HTTPField(name: try #require(HTTPField.Name($0)), value: "1") })
        let inbound = InboundFields(namespace: "X-Auth-")
        return TrailerFields.forClient(fields, inbound: inbound, rules: rules)?.map(\.name.rawName) ?? []
    }

    @Test("What says something of the whole response passes")
    func passes() throws {
        let names = [
            "grpc-status", "grpc-message", "grpc-status-details-bin", "Server-Timing", "Content-Digest", "Repr-Digest",
            "X-Checksum", "ETag", "Authentication-Info",
        ]
        #expect(try passed(names) == names)
    }

    @Test(
        "What means something in a head, or is the gateway's own, does not",
        arguments: [
            "Content-Length", "Transfer-Encoding", "Trailer", "Host", "Connection", "Keep-Alive", "TE", "Upgrade",
            "Authorization", "Set-Cookie", "WWW-Authenticate", "Proxy-Authenticate", "Proxy-Connection", "Cookie",
            "Cache-Control", "Expires", "Age", "Date", "Location", "Retry-After", "Vary", "Pragma", "If-None-Match",
            "Content-Type", "Content-Encoding", "Content-Range", "Content-Security-Policy", "Content-Disposition",
            "Access-Control-Allow-Origin", "Strict-Transport-Security", "Clear-Site-Data", "X-Request-Id",
            "X-Auth-Subject", "x_auth_subject", "X.Auth.Subject", "X-Forwarded-For", "Forwarded", "set-COOKIE",
            "content_length",
        ])
    func refused(name: String) throws {
        #expect(try passed([name, "X-Checksum"]) == ["X-Checksum"])
        #expect(try passed([name]) == [])
    }

    @Test("What the route removes from heads, or sets there, does not")
    func rules() throws {
        let name = try #require(HTTPField.Name("X-Powered-By")), other = try #require(HTTPField.Name("X-Region"))
        let rules = HeaderRules(set: [HTTPField(name: other, value: "eu")], remove: [name])
        #expect(try passed(["x-powered-by", "X-Region", "X-Checksum"], rules: rules) == ["X-Checksum"])
    }
}
