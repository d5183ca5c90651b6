package import HTTPTypes
package import NIOCore

/// A response's field lines for the next hop, validated and in wire format. Fields that are only passed on are not
/// converted to values, which would cost several percent of a proxied request's CPU.
///
/// The lines exclude connection-specific fields (RFC 9110 §7.6.1), Content-Length, which is stored separately, and
/// X-Request-Id, which the gateway sets itself.
package struct EndToEndLines: Sendable, Equatable {
    /// Complete lines, each ending in CRLF.
    package var bytes: ByteBuffer
    package var contentLength: Int?
    /// Whether the lines contain `Date`.
    package var hasDate: Bool

    /// The fields as values, in the order received, Content-Length first.
    package var fields: HTTPFields {
        var list: [HTTPField] = []
        if let contentLength { list.append(HTTPField(name: .contentLength, value: String(contentLength))) }
        unsafe bytes.withUnsafeReadableBytes { bytes in
            // The lines were validated before.
            if let lines = try? unsafe FieldLines(parsing: bytes) { list += lines.list }
        }
        return HTTPFields(list)
    }
}

extension EndToEndLines {
    /// Calls `body` with the name and the value of each line, in order.
    package func forEachField(_ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Void) {
        unsafe bytes.withUnsafeReadableBytes { bytes in
            var start = 0
            // The lines were validated before: each has a colon and ends in CRLF.
            while start < bytes.count, let feed = unsafe Grammar.firstLineFeed(in: bytes, from: start),
                let colon = unsafe bytes[start..<feed].firstIndex(of: Grammar.colon)
            {
                let value = unsafe UnsafeRawBufferPointer(rebasing: bytes[(colon + 1)..<(feed - 1)])
                unsafe body(UnsafeRawBufferPointer(rebasing: bytes[start..<colon]), Grammar.trimmed(value))
                start = feed + 1
            }
        }
    }
}

/// A head's fields in the requested form.
package enum HeadFields: Sendable {
    /// The fields as values, without Transfer-Encoding and Host, but with Content-Length.
    case list(HTTPFields)
    case lines(EndToEndLines)

    package var list: HTTPFields {
        switch self {
        case .list(let fields): fields
        case .lines(let lines): lines.fields
        }
    }
}
