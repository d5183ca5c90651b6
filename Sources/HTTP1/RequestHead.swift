package import HTTPTypes
package import NIOCore

/// The head of an HTTP/1.1 request, and its consequences for the connection.
package struct RequestHead: Sendable {
    /// The method, authority, path as received, and fields. `Host` becomes the authority, and is not among the fields.
    package var request: HTTPRequest
    /// `none`, `length` or `chunked`.
    package var framing: BodyFraming
    /// Whether the client would send another request on this connection (RFC 9112 §9.3).
    package var keepAlive: Bool
    /// Whether the client waits for `100 Continue` before it sends the body (RFC 9110 §10.1.1).
    package var expectsContinue: Bool
    /// The minor version of HTTP/1: 0 or 1.
    package var minorVersion: Int
}

/// Parses request heads from a connection's bytes, one after the other.
package struct RequestHeadParser: Sendable {
    private let limits: HeadLimits
    private let scheme: String
    private var scanner = HeadScanner()
    /// The bytes of complete lines in an incomplete head that have been validated.
    private var checked = 0
    private var hasSkippedLine = false
    private var repeated = RepeatedField()

    /// - Parameter scheme: the listener's scheme, `http` or `https`.
    package init(limits: HeadLimits, scheme: String) {
        self.limits = limits
        self.scheme = scheme
    }

    /// Whether a head has begun, so that a deadline for the rest makes sense.
    package private(set) var isInHead = false

    /// Whether a field is cached for the requests that follow.
    package private(set) var remembers = false

    package mutating func forget() {
        repeated.forget()
        remembers = false
    }

    /// Removes and returns the next head in `buffer`; nil if it is incomplete.
    ///
    /// - Throws: ``HTTP1Fault`` if the head is invalid; the connection is then unusable.
    package mutating func next(from buffer: inout ByteBuffer) throws(HTTP1Fault) -> RequestHead? {
        if !isInHead { try skipEmptyLine(&buffer) }
        guard buffer.readableBytes > 0 else { return nil }
        // This may be half of an empty line.
        if !isInHead, buffer.readableBytes == 1,
            buffer.getInteger(at: buffer.readerIndex, as: UInt8.self) == Grammar.carriageReturn
        {
            return nil
        }
        isInHead = true
        let outcome: Result<(RequestHead, Int)?, HTTP1Fault> = unsafe buffer.withUnsafeReadableBytes { bytes in
            Result { () throws(HTTP1Fault) in
                guard let end = try unsafe scanner.end(of: bytes, limits: limits) else {
                    try unsafe checkLines(bytes)
                    return nil
                }
                let head = unsafe UnsafeRawBufferPointer(rebasing: bytes[..<end])
                return (try unsafe parse(head), end)
            }
        }
        guard let (head, length) = try outcome.get() else { return nil }
        buffer.moveReaderIndex(forwardBy: length)
        scanner = HeadScanner()
        checked = 0
        hasSkippedLine = false
        isInHead = false
        remembers = repeated.keepsField
        return head
    }

    /// Rejects an incomplete head with an invalid line, instead of waiting for its rest. Heads that arrive in one
    /// piece, as nearly all do, never get here; in others each line is validated one additional time.
    private mutating func checkLines(_ bytes: UnsafeRawBufferPointer) throws(HTTP1Fault) {
        var start = checked
        let end = scanner.lineStart
        guard start < end else { return }
        if start == 0, let feed = unsafe Grammar.firstLineFeed(in: bytes, from: 0) {
            _ = try unsafe RequestLine(parsing: UnsafeRawBufferPointer(rebasing: bytes[..<(feed - 1)]))
            start = feed + 1
        }
        _ = try unsafe FieldLines(parsing: UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
        checked = end
    }

    /// Skips one empty line before a request line (RFC 9112 §2.2).
    private mutating func skipEmptyLine(_ buffer: inout ByteBuffer) throws(HTTP1Fault) {
        guard !hasSkippedLine,
            buffer.getInteger(at: buffer.readerIndex, as: UInt8.self) == Grammar.carriageReturn,
            let second = buffer.getInteger(at: buffer.readerIndex + 1, as: UInt8.self)
        else { return }
        guard second == Grammar.lineFeed else { throw .malformedRequestLine }
        buffer.moveReaderIndex(forwardBy: 2)
        hasSkippedLine = true
    }

    private mutating func parse(_ head: UnsafeRawBufferPointer) throws(HTTP1Fault) -> RequestHead {
        guard let feed = unsafe Grammar.firstLineFeed(in: head, from: 0) else { throw .malformedRequestLine }
        let line = try unsafe RequestLine(parsing: UnsafeRawBufferPointer(rebasing: head[..<(feed - 1)]))
        let fieldBytes = unsafe UnsafeRawBufferPointer(rebasing: head[(feed + 1)..<(head.count - 2)])
        let parsed = try unsafe FieldLines(parsing: fieldBytes, repeating: &repeated)
        let framing = parsed.framing
        guard !framing.otherExpectation else { throw .unsupportedExpectation }
        let authority = try Self.authority(of: line, framing)
        var request = HTTPRequest(
            method: line.method, scheme: scheme, authority: authority, path: line.path, headerFields: parsed.fields)
        if framing.connectionUpgrade { request.noteUpgrade(line) }
        return RequestHead(
            request: request,
            framing: try framing.requestFraming(minorVersion: line.minorVersion),
            keepAlive: !framing.connectionClose && (line.minorVersion == 1 || framing.connectionKeepAlive),
            expectsContinue: framing.expectContinue && line.minorVersion == 1,
            minorVersion: line.minorVersion)
    }

    /// RFC 9112 §3.2: HTTP/1.1 requires exactly one valid Host. A target with an authority replaces Host (§3.2.2) and
    /// must be the same: a difference could be used to evade one host's rules by naming another.
    private static func authority(of line: RequestLine, _ framing: FramingFields) throws(HTTP1Fault) -> String? {
        guard framing.hostCount <= 1 else { throw .malformedHost }
        // HTTP/1.0 does not require Host, and an empty one names no host.
        guard let host = framing.host, line.minorVersion == 1 || !host.isEmpty else {
            guard line.minorVersion == 0 else { throw .missingHost }
            return line.authority
        }
        guard Authority.isValid(host) else { throw .malformedHost }
        guard let named = line.authority else { return host }
        guard Authority.isSame(named, host, defaultPort: line.defaultPort) else { throw .malformedHost }
        return named
    }
}
