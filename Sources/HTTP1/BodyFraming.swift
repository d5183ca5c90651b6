/// The framing of a message's body, which determines its end (RFC 9112 §6).
package enum BodyFraming: Equatable, Sendable {
    case none
    /// The length in bytes, greater than 0.
    case length(Int)
    case chunked
    /// Responses only: until the connection closes.
    case untilClose
}

extension FramingFields {
    /// Returns the framing of a request (RFC 9112 §6.3). Ambiguous framing is rejected.
    func requestFraming(minorVersion: Int) throws(HTTP1Fault) -> BodyFraming {
        guard transferEncodingCount == 0 else {
            try checkChunkedAlone(minorVersion: minorVersion)
            return .chunked
        }
        guard let contentLength, contentLength > 0 else { return .none }
        return .length(contentLength)
    }

    /// Returns the framing of a response (RFC 9112 §6.3).
    func responseFraming(
        status: Int, toHead: Bool, minorVersion: Int
    ) throws(HTTP1Fault) -> BodyFraming {
        if transferEncodingCount > 0 { try checkChunkedAlone(minorVersion: minorVersion) }
        if toHead || status < 200 || status == 204 || status == 304 { return .none }
        if transferEncodingCount > 0 { return .chunked }
        guard let contentLength else { return .untilClose }
        return contentLength > 0 ? .length(contentLength) : .none
    }

    /// Returns whether a backend that ignores that this response must not have a body may send one. It may after
    /// announcing one; in response to HEAD it may also have omitted the fields that would announce it.
    func mayStrayBody(toHead: Bool) -> Bool {
        transferEncodingCount > 0 || (contentLength.map { $0 > 0 } ?? toHead)
    }

    /// Verifies that Transfer-Encoding is `chunked`, once, without Content-Length, and not in HTTP/1.0 (RFC 9112 §6.1).
    private func checkChunkedAlone(minorVersion: Int) throws(HTTP1Fault) {
        guard contentLength == nil else { throw .conflictingFraming }
        guard minorVersion >= 1 else { throw .conflictingFraming }
        guard transferEncodingCount == 1, isChunked else {
            // RFC 9112 §6.3: if chunked is not last, the length is unknown; otherwise only the coding is unsupported.
            throw transferEncodingCount == 1 && endsInChunked ? .unsupportedTransferCoding : .malformedTransferCoding
        }
    }
}
