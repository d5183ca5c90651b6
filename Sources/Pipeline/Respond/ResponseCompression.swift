internal import Encoding
package import HTTPTypes

/// Decides whether the body of a backend's response is compressed on its way to the client, on routes that want it.
///
/// The length of a compressed body reveals something about its content. An attacker who can place text beside a secret,
/// and make the holder of the credentials repeat the request, finds the secret from the lengths (BREACH, 2013).
/// Responses to requests with credentials that browsers send automatically, which another site's page can trigger, are
/// therefore not compressed; nor is a response that sets a cookie.
package enum ResponseCompression {
    /// The minimum length in bytes. Shorter bodies fit in a packet or two uncompressed.
    static let leastLength = 1024

    /// Whether the response may be compressed for some client, or is a 304 for one that may have been compressed.
    package static func isCompressible(_ head: HTTPResponse) -> Bool {
        let fields = head.headerFields
        guard head.status != .notModified else { return true }
        switch head.status.code {
        // Responses without a body, or with a part of one.
        case ..<200, 204, 205, 206: return false
        default: break
        }
        guard !fields.contains(where: { excluding.contains($0.name) }) else { return false }
        // RFC 9111 §5.2.2.6.
        guard !elements(of: .cacheControl, in: fields).contains(where: { $0.isText("no-transform") }) else {
            return false
        }
        if let length = fields[.contentLength] {
            guard let length = Int(length), length >= leastLength else { return false }
        }
        let types = fields[values: .contentType]
        return types.count == 1 && isText(types[0])
    }

    /// Prepares the head of a response for the client.
    ///
    /// - Parameters:
    ///   - request: the request as the client sent it.
    ///   - clientProtocol: the client's protocol.
    /// - Returns: whether the head now announces a body in gzip.
    package static func begin(
        _ head: inout HTTPResponse, for request: HTTPRequest, by clientProtocol: ClientProtocol
    ) -> Bool {
        guard isCompressible(head) else { return false }
        head.headerFields.addVary("Accept-Encoding")
        guard head.status != .notModified else {
            revalidate(&head.headerFields, for: request.headerFields)
            return false
        }
        guard !clientProtocol.hasCertificate, !hasAmbientCredentials(request.headerFields),
            takesGzip(request.headerFields)
        else { return false }
        head.headerFields[.contentEncoding] = "gzip"
        head.headerFields[.contentLength] = nil
        // Ranges refer to the backend's bytes.
        head.headerFields[.acceptRanges] = nil
        // The bytes differ now but mean the same (RFC 9110 §8.8.1).
        if let tag = head.headerFields[.eTag], isStrong(tag) { head.headerFields[.eTag] = "W/\(tag)" }
        return true
    }

    /// Weakens the tag of a 304 if the cache has the weak tag of a compressed response, which no strong one matches
    /// (RFC 9111 §4.3.4).
    private static func revalidate(_ response: inout HTTPFields, for request: HTTPFields) {
        guard let tag = response[.eTag], isStrong(tag) else { return }
        let weak = "W/\(tag)"
        if elements(of: .ifNoneMatch, in: request).contains(where: { $0.elementsEqual(weak.utf8) }) {
            response[.eTag] = weak
        }
    }

    private static func isStrong(_ tag: String) -> Bool { tag.utf8.first == UInt8(ascii: "\"") }

    /// The trailers of a compressed body; nil if none remain.
    package static func trailers(_ fields: HTTPFields) -> HTTPFields? {
        let passed = fields.filter { !excluding.contains($0.name) }
        return passed.isEmpty ? nil : HTTPFields(passed)
    }

    /// Fields that refer to the backend's bytes, or that carry a secret.
    private static let excluding: Set<HTTPField.Name> = [
        .contentEncoding, .contentRange, .setCookie, .known("Content-MD5"), .known("Digest"), .known("Content-Digest"),
        .known("Repr-Digest"), .known("Signature"), .known("Signature-Input"),
    ]

    /// Whether bodies of the media type are text. Event streams are not: their events are short and must not wait.
    private static func isText(_ value: String) -> Bool {
        let type = Array(value.utf8).prefix { $0 != UInt8(ascii: ";") }.withoutOuterBlanks.map(asciiLowercased)
        if type.starts(with: "text/".utf8) { return !type.elementsEqual("text/event-stream".utf8) }
        return types.contains { type.elementsEqual($0.utf8) }
            || suffixes.contains { type.count > $0.utf8.count && type.suffix($0.utf8.count).elementsEqual($0.utf8) }
    }

    private static let types = [
        "application/json", "application/xml", "application/javascript", "application/x-javascript",
        "application/x-ndjson", "application/wasm",
    ]
    private static let suffixes = ["+json", "+xml"]

    /// Whether the client accepts gzip. An element for gzip takes precedence over `*` (RFC 9110 §12.5.3).
    private static func takesGzip(_ fields: HTTPFields) -> Bool {
        var (gzip, any): (Bool?, Bool?)
        for element in elements(of: .acceptEncoding, in: fields) {
            let parts = element.split(separator: UInt8(ascii: ";"), maxSplits: 1, omittingEmptySubsequences: false)
            let name = parts[0].withoutOuterBlanks
            let isTaken = parts.count < 2 || isPositive(weight: parts[1].withoutOuterBlanks)
            if name.isText("gzip") || name.isText("x-gzip") {
                gzip = isTaken
            } else if name.isText("*") {
                any = isTaken
            }
        }
        return gzip ?? any ?? false
    }

    /// Whether this is a weight above zero (RFC 9110 §12.4.2). An invalid weight is not.
    private static func isPositive(weight: ArraySlice<UInt8>) -> Bool {
        guard weight.prefix(2).isText("q=") else { return false }
        let digits = weight.dropFirst(2)
        return digits.contains { (UInt8(ascii: "1")...UInt8(ascii: "9")).contains($0) }
            && digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || $0 == UInt8(ascii: ".") }
    }

    /// Whether the request has credentials that browsers send automatically: a cookie; HTTP authentication other than a
    /// bearer token, which only an app's own code sends; or a client certificate, as a proxy in front reports it (RFC
    /// 9440 and earlier headers of proxies).
    private static func hasAmbientCredentials(_ fields: HTTPFields) -> Bool {
        fields.contains { field in
            switch field.name {
            case .cookie: true
            case .authorization: !Array(field.value.utf8).prefix(7).isText("bearer ")
            default: certificates.contains { field.name.canonicalName.utf8.starts(with: $0.utf8) }
            }
        }
    }

    private static let certificates = ["client-cert", "x-forwarded-client-cert", "x-ssl-client-", "x-amzn-mtls-"]

    fileprivate static func elements(of name: HTTPField.Name, in fields: HTTPFields) -> [ArraySlice<UInt8>] {
        fields.filter { $0.name == name }.flatMap { $0.elements(separatedBy: ",") }
    }
}

extension ArraySlice<UInt8> {
    /// Whether this equals a lower-case text, ignoring case.
    fileprivate func isText(_ text: String) -> Bool { lazy.map(asciiLowercased).elementsEqual(text.utf8) }
}

extension HTTPFields {
    /// Adds a request header to `Vary` (RFC 9110 §12.5.5), unless it is listed already.
    fileprivate mutating func addVary(_ name: String) {
        let said = ResponseCompression.elements(of: .vary, in: self)
        if said.contains(where: { $0.isText(name.asciiLowercased) || $0.isText("*") }) { return }
        append(HTTPField(name: .vary, value: name))
    }
}
