package import HTTPTypes
package import NIOCore

/// A response's field lines as the next hop gets them, checked and in wire form: what is only to be passed on need not
/// become values in between, which costs a proxied request several per cent of its CPU.
///
/// Left out are the fields for this connection only (RFC 9110 §7.6.1), Content-Length, which is told apart, and
/// X-Request-Id, which the gateway sets itself.
package struct EndToEndLines: Sendable, Equatable {
    /// Whole lines, each ending in CRLF.
    package var bytes: ByteBuffer
    package var contentLength: Int?
    /// Whether `Date` is among them.
    package var hasDate: Bool

    /// The same fields one by one, in the order received, Content-Length first.
    package var fields: HTTPFields {
        var list: [HTTPField] = []
        if let contentLength { list.append(HTTPField(name: .contentLength, value: String(contentLength))) }
        unsafe bytes.withUnsafeReadableBytes { bytes in
            // They have been parsed before.
            if let lines = try? unsafe FieldLines(parsing: bytes) { list += lines.list }
        }
        return HTTPFields(list)
    }
}

extension EndToEndLines {
    /// Calls `body` with the name and the value of each line, in their order.
    package func forEachField(_ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Void) {
        unsafe bytes.withUnsafeReadableBytes { bytes in
            var start = 0
            // They have been parsed before: each has a colon and ends in CRLF.
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

/// A head's fields in the form that was asked for.
package enum HeadFields: Sendable {
    /// One by one; Transfer-Encoding and Host are not among them, Content-Length is.
    case list(HTTPFields)
    case lines(EndToEndLines)

    package var list: HTTPFields {
        switch self {
        case .list(let fields): fields
        case .lines(let lines): lines.fields
        }
    }
}
