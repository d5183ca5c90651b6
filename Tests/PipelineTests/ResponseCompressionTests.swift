import HTTPTypes
import Testing

@testable import Pipeline

@Suite("Compression of responses")
struct ResponseCompressionTests {
    private static func begins(
        _ response: HTTPFields = [.contentType: "application/json"], status: HTTPResponse.Status = .ok,
        _ request: HTTPFields = [.acceptEncoding: "gzip"]
    ) -> Bool {
        var head = HTTPResponse(status: status, headerFields: response)
        let request = HTTPRequest(method: .get, scheme: "https", authority: "h", path: "/", headerFields: request)
        let begins = ResponseCompression.begin(&head, for: request, by: ClientProtocol())
        #expect(head.headerFields.contains(.contentEncoding) == (begins || response.contains(.contentEncoding)))
        return begins
    }

    @Test(
        "What a client says of gzip counts, else what it says of all",
        arguments: [
            ("gzip", true), ("GZIP", true), ("x-gzip", true), ("br, gzip", true), ("gzip;q=0.001", true), ("*", true),
            ("gzip ; q=1.0", true), ("deflate,\tgzip;Q=0.5", true), ("*;q=0, gzip", true),
            ("", false), ("br", false), ("gzip;q=0", false), ("gzip;q=0.000", false), ("*, gzip;q=0", false),
            ("*;q=0", false), ("gzipped", false), ("gzip;q=", false), ("gzip;level=9", false), ("gzip;q=x1", false),
            ("identity", false), ("gzip;q=1;q=0", false), ("gzip;q=-1", false),
        ])
    func acceptEncoding(value: String, takes: Bool) {
        #expect(Self.begins([.contentType: "text/plain"], [.acceptEncoding: value]) == takes)
    }

    @Test(
        "Texts are compressed",
        arguments: [
            "text/html", "TEXT/HTML; charset=utf-8", "text/csv ;header=present", "application/json",
            "application/problem+json", "application/vnd.api+json;v=1", "image/svg+xml", "application/javascript",
        ])
    func types(type: String) { #expect(Self.begins([.contentType: type])) }

    @Test(
        "Other content is not",
        arguments: [
            "image/png", "video/mp4", "application/zip", "application/octet-stream", "+json", "json", "", "textual/x",
            "text/event-stream", "Text/Event-Stream; charset=utf-8", "multipart/mixed", "application/jsonx",
        ])
    func otherTypes(type: String) { #expect(!Self.begins([.contentType: type])) }

    @Test("A response with two types is of neither")
    func twoTypes() {
        var fields: HTTPFields = [.contentType: "application/json"]
        fields.append(HTTPField(name: .contentType, value: "text/plain"))
        #expect(!Self.begins(fields))
    }

    @Test(
        "A length that is none, or short, is left alone",
        arguments: ["x", "-5000", "0", "1023", "99999999999999999999"])
    func lengths(length: String) { #expect(!Self.begins([.contentType: "text/plain", .contentLength: length])) }

    @Test("Responses without a body of their own are left alone", arguments: [100, 101, 204, 205, 206])
    func statuses(code: Int) { #expect(!Self.begins(status: HTTPResponse.Status(code: code))) }

    @Test(
        "Nothing is compressed for credentials that a browser sends by itself",
        arguments: [
            ("Basic YTpi", false), ("Negotiate x", false), ("bearer x", true), ("BEARER x", true), ("Bearerx", false),
        ])
    func credentials(value: String, begins: Bool) {
        #expect(Self.begins([.contentType: "text/plain"], [.acceptEncoding: "gzip", .authorization: value]) == begins)
    }

    @Test("A backend that says what its response depends on is not repeated", arguments: ["accept-encoding", "A, *"])
    func vary(value: String) {
        var head = HTTPResponse(status: .ok, headerFields: [.contentType: "text/plain", .vary: value])
        let request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/")
        #expect(!ResponseCompression.begin(&head, for: request, by: ClientProtocol()))
        #expect(head.headerFields[values: .vary] == [value])
    }

    @Test(
        "A response that was compressed stays valid by its weak tag",
        arguments: [("W/\"1\"", "W/\"1\""), ("\"0\", W/\"1\"", "W/\"1\""), ("\"1\"", "\"1\""), ("*", "\"1\"")])
    func notModified(asked: String, tag: String) {
        var head = HTTPResponse(status: .notModified, headerFields: [.eTag: "\"1\""])
        let request = HTTPRequest(
            method: .get, scheme: nil, authority: nil, path: "/",
            headerFields: [.acceptEncoding: "gzip", .ifNoneMatch: asked])
        #expect(!ResponseCompression.begin(&head, for: request, by: ClientProtocol()))
        #expect(head.headerFields == [.eTag: tag, .vary: "Accept-Encoding"])
    }

    @Test(
        "A client certificate that a proxy in front has seen is one that a browser sends",
        arguments: ["Client-Cert", "X-Forwarded-Client-Cert", "X-SSL-Client-Verify", "x-amzn-mtls-clientcert-leaf"])
    func certificates(name: String) throws {
        let name = try #require(HTTPField.Name(name))
        #expect(!Self.begins([.contentType: "text/plain"], [.acceptEncoding: "gzip", name: "x"]))
    }

    @Test("Trailers that are of the backend's bytes do not pass")
    func trailers() {
        let fields: HTTPFields = [.known("Repr-Digest"): "x", .known("X-Status"): "done"]
        #expect(ResponseCompression.trailers(fields) == [.known("X-Status"): "done"])
        #expect(ResponseCompression.trailers([.known("Digest"): "x"]) == nil)
    }

    @Test("A weak entity tag stays as it is")
    func weakTag() {
        var head = HTTPResponse(status: .ok, headerFields: [.contentType: "text/plain", .eTag: "W/\"1\""])
        let request = HTTPRequest(
            method: .get, scheme: nil, authority: nil, path: "/", headerFields: [.acceptEncoding: "gzip"])
        #expect(ResponseCompression.begin(&head, for: request, by: ClientProtocol()))
        #expect(head.headerFields[.eTag] == "W/\"1\"")
    }
}
