/// How the end of a message's body is known (RFC 9112 §6).
package enum BodyFraming: Equatable, Sendable {
    case none
    /// Exactly this many bytes, more than none.
    case length(Int)
    case chunked
    /// Responses only: until the connection closes.
    case untilClose
}

extension FramingFields {
    /// The framing of a request (RFC 9112 §6.3). Ambiguous framing is refused.
    func requestFraming(minorVersion: Int) throws(HTTP1Fault) -> BodyFraming {
        guard transferEncodingCount == 0 else {
            try checkChunkedAlone(minorVersion: minorVersion)
            return .chunked
        }
        guard let contentLength, contentLength > 0 else { return .none }
        return .length(contentLength)
    }

    /// The framing of a response to a request with this method (RFC 9112 §6.3).
    func responseFraming(
        status: Int, toHead: Bool, minorVersion: Int
    ) throws(HTTP1Fault) -> BodyFraming {
        if transferEncodingCount > 0 { try checkChunkedAlone(minorVersion: minorVersion) }
        if toHead || status < 200 || status == 204 || status == 304 { return .none }
        if transferEncodingCount > 0 { return .chunked }
        guard let contentLength else { return .untilClose }
        return contentLength > 0 ? .length(contentLength) : .none
    }

    /// Whether a backend that does not know that this response must have no body may send one. It does after it has
    /// announced one; and in response to HEAD it may have left out whatever tells of one.
    func mayStrayBody(toHead: Bool) -> Bool {
        transferEncodingCount > 0 || (contentLength.map { $0 > 0 } ?? toHead)
    }

    /// RFC 9112 §6.1: Transfer-Encoding is `chunked`, once, without Content-Length, and never in HTTP/1.0.
    private func checkChunkedAlone(minorVersion: Int) throws(HTTP1Fault) {
        guard contentLength == nil else { throw .conflictingFraming }
        guard minorVersion >= 1 else { throw .conflictingFraming }
        guard transferEncodingCount == 1, isChunked else {
            // RFC 9112 §6.3: if chunked is not last, the length cannot be known; else the coding is only unknown here.
            throw transferEncodingCount == 1 && endsInChunked ? .unsupportedTransferCoding : .malformedTransferCoding
        }
    }
}
