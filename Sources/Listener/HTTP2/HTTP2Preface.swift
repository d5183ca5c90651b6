internal import Glibc
internal import NIOCore

/// The first bytes of an HTTP/2 connection (RFC 9113 §3.4). No HTTP/1.1 request begins with them.
enum HTTP2Preface {
    private static let text: StaticString = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

    enum Comparison {
        case same
        /// All bytes so far are the same.
        case incomplete
        case different
    }

    /// Compares the first bytes that a client has sent with the preface.
    static func compare(_ input: ByteBuffer) -> Comparison {
        let length = text.utf8CodeUnitCount
        let count = min(input.readableBytes, length)
        let isSame = unsafe input.withUnsafeReadableBytes { bytes in
            guard count > 0, let start = bytes.baseAddress else { return true }
            return unsafe memcmp(start, text.utf8Start, count) == 0
        }
        guard isSame else { return .different }
        return count == length ? .same : .incomplete
    }
}
