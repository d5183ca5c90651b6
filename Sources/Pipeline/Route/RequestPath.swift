/// A request target in origin form, parsed once: the bytes to forward and the normal form to match.
///
/// The normal form is the path fully percent-decoded, without the query and without a trailing slash (`/` itself
/// stays). It is case-sensitive and not normalised as Unicode. ``parse(_:)`` refuses ambiguous targets instead of
/// repairing them, so that the target can be forwarded byte for byte. The query is neither decoded nor matched: its
/// escapes, also invalid ones, are left to the backend.
package struct RequestPath: Sendable {
    /// The maximum length of a target, in bytes; a longer one is ``PathFault/tooLong``.
    package static let maximumLength = 8192

    /// Path and query exactly as received.
    package let target: String
    /// The decoded path if it differs from the received one; else nil.
    private let decoded: String?
    /// The length of the normal form, in bytes: of `decoded`, or of `target` if `decoded` is nil.
    private let length: Int
    /// The number of bytes of `target` before the query.
    private let receivedLength: Int
    /// Whether some software reads another path, that is, whether ``otherReadings()`` is worth calling.
    let hasOtherReading: Bool

    /// Parses a target as it stood in the request line or in `:path`. RFC 9112 §3.2.1, RFC 3986 §3.3 and §3.4.
    package static func parse(_ target: String) throws(PathFault) -> RequestPath {
        let bytes = target.utf8.span
        let scan = try PathScan.scan(bytes)
        guard scan.hasEscapes else {
            return RequestPath(
                target: target, decoded: nil, length: withoutTrailingSlash(bytes, scan.end),
                receivedLength: scan.end, hasOtherReading: scan.hasParameters || scan.endsInDots)
        }
        guard !scan.endsInDots else { throw .dotSegment }
        let decoded = try PathDecoding.decode(bytes, upTo: scan.end)
        let decodedBytes = decoded.utf8.span
        return RequestPath(
            target: target, decoded: decoded, length: withoutTrailingSlash(decodedBytes, decodedBytes.count),
            receivedLength: scan.end, hasOtherReading: PathDecoding.mayBeCut(decodedBytes))
    }

    /// The normal form, which is matched against routes.
    package var path: String {
        if let decoded {
            return length == decoded.utf8.count ? decoded : String(Substring(decoded.utf8.prefix(length)))
        }
        return String(Substring(target.utf8.prefix(length)))
    }

    /// The path as received, without the query: for the access log.
    package var received: Substring {
        Substring(target.utf8.prefix(receivedLength))
    }

    /// Calls `body` with the bytes of the normal form, without copying them.
    @inline(__always)
    func withBytes<Result>(_ body: (borrowing Span<UInt8>) -> Result) -> Result {
        if let decoded {
            return body(decoded.utf8.span.extracting(first: length))
        }
        return body(target.utf8.span.extracting(first: length))
    }

    private static func withoutTrailingSlash(_ bytes: borrowing Span<UInt8>, _ end: Int) -> Int {
        end > 1 && bytes[end - 1] == UInt8(ascii: "/") ? end - 1 : end
    }
}
