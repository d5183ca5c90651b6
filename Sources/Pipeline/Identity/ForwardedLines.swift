internal import Encoding

/// Writes the header lines that describe a request's origin to the backend, directly into the buffer of its head.
///
/// Fields of these names from a client never pass (``InboundFields`` removes them). The client is the peer of the
/// connection, unless that is a trusted proxy: see ``TrustedProxies``.
struct ForwardedLines: ~Copyable {
    /// The client's IP address as text.
    var peer: String
    /// `http` or `https`.
    var scheme: String
    /// The `Host` or `:authority` as received; nil if there was none.
    var authority: String?
    var requestID: String
    var trace: TraceContext

    init(peer: String, scheme: String, authority: String?, requestID: String, trace: TraceContext) {
        self.peer = peer
        self.scheme = scheme
        self.authority = authority
        self.requestID = requestID
        self.trace = trace
    }

    /// Appends `X-Forwarded-For`, `-Proto`, `-Host`, `X-Request-Id` and `traceparent`, each ended by CR LF.
    ///
    /// A value that is empty or not all visible ASCII produces no line.
    func append(to head: inout [UInt8]) {
        let texts = peer.utf8.count + scheme.utf8.count + (authority?.utf8.count ?? 0) + requestID.utf8.count
        head.append(addingCapacity: texts + Self.roomBesideTexts) { lines in
            Self.append("X-Forwarded-For: ", peer, to: &lines)
            Self.append("X-Forwarded-Proto: ", scheme, to: &lines)
            if let authority { Self.append("X-Forwarded-Host: ", authority, to: &lines) }
            Self.append("X-Request-Id: ", requestID, to: &lines)
            lines.append("traceparent: ")
            trace.append(to: &lines)
            lines.append("\r\n")
        }
    }

    /// The bytes for the names, the line ends and `traceparent`.
    private static let roomBesideTexts = 160

    @inline(__always)
    private static func append(_ name: StaticString, _ value: String, to lines: inout OutputSpan<UInt8>) {
        let value = value.utf8.span
        guard isVisible(value) else { return }
        lines.append(name)
        lines.append(value)
        lines.append("\r\n")
    }

    private static func isVisible(_ value: borrowing Span<UInt8>) -> Bool {
        var index = 0
        while index < value.count {
            if value[index] <= 0x20 || value[index] >= 0x7F { return false }
            index += 1
        }
        return value.count > 0
    }
}
