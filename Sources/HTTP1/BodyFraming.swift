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
    /// The framing of a request (RFC 9112 §6.3). What could be read two ways is refused.
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

    /// RFC 9112 §6.1: Transfer-Encoding is `chunked`, once, without Content-Length, and never in HTTP/1.0.
    private func checkChunkedAlone(minorVersion: Int) throws(HTTP1Fault) {
        guard contentLength == nil else { throw .conflictingFraming }
        guard minorVersion >= 1 else { throw .conflictingFraming }
        guard transferEncodingCount == 1, isChunked else { throw .unsupportedTransferCoding }
    }
}
