package import HTTPTypes
package import NIOCore

/// The head of a backend's HTTP/1.1 response, and its consequences for the connection.
package struct ResponseHead: Sendable {
    package var status: HTTPResponse.Status
    package var fields: HeadFields
    package var framing: BodyFraming
    /// Whether the backend keeps the connection open after this response (RFC 9112 §9.3).
    package var keepAlive: Bool
    /// Whether a body may follow although none is allowed, as in the response to HEAD (RFC 9110 §9.3.2): not every
    /// backend observes that.
    package var mayStrayBody: Bool

    /// The status and the fields as values.
    package var response: HTTPResponse { HTTPResponse(status: status, headerFields: fields.list) }
}

/// Parses a backend's response heads as strictly as requests: an ambiguous response is a fault.
package struct ResponseHeadParser: Sendable {
    private let limits: HeadLimits
    private let copiesLines: Bool
    private var scanner = HeadScanner()

    /// - Parameter copiesLines: whether fields are returned as lines. If `Connection` names unusual options, they are
    ///   returned as a list even then.
    package init(limits: HeadLimits = HeadLimits(), copiesLines: Bool = false) {
        self.limits = limits
        self.copiesLines = copiesLines
    }

    /// Removes and returns the next head in `buffer`; nil if it is incomplete.
    ///
    /// - Parameter toHead: whether the request's method is HEAD, whose responses have no body.
    package mutating func next(
        from buffer: inout ByteBuffer, toHead: Bool
    ) throws(HTTP1Fault) -> ResponseHead? {
        guard buffer.readableBytes > 0 else { return nil }
        let outcome: Result<(ResponseHead, Int)?, HTTP1Fault> = unsafe buffer.withUnsafeReadableBytes { bytes in
            Result { () throws(HTTP1Fault) in
                guard let end = try unsafe scanner.end(of: bytes, limits: limits) else { return nil }
                let head = unsafe UnsafeRawBufferPointer(rebasing: bytes[..<end])
                return (try unsafe parse(head, toHead: toHead), end)
            }
        }
        guard let (head, length) = try outcome.get() else { return nil }
        buffer.moveReaderIndex(forwardBy: length)
        scanner = HeadScanner()
        return head
    }

    private func parse(_ head: UnsafeRawBufferPointer, toHead: Bool) throws(HTTP1Fault) -> ResponseHead {
        guard let feed = unsafe Grammar.firstLineFeed(in: head, from: 0) else { throw .malformedStatusLine }
        let line = unsafe UnsafeRawBufferPointer(rebasing: head[..<(feed - 1)])
        let (status, minorVersion) = try unsafe Self.statusLine(line)
        let fieldBytes = unsafe UnsafeRawBufferPointer(rebasing: head[(feed + 1)..<(head.count - 2)])
        let (framing, fields) = try unsafe fields(fieldBytes)
        let bodyFraming = try framing.responseFraming(status: status, toHead: toHead, minorVersion: minorVersion)
        return ResponseHead(
            status: .init(code: status), fields: fields, framing: bodyFraming,
            keepAlive: bodyFraming != .untilClose && !framing.connectionClose
                && (minorVersion == 1 || framing.connectionKeepAlive),
            mayStrayBody: bodyFraming == .none && framing.mayStrayBody(toHead: toHead))
    }

    private func fields(_ bytes: UnsafeRawBufferPointer) throws(HTTP1Fault) -> (FramingFields, HeadFields) {
        if copiesLines {
            let (framing, lines) = try unsafe FieldLines.endToEnd(in: bytes)
            if let lines { return (framing, .lines(lines)) }
        }
        let parsed = try unsafe FieldLines(parsing: bytes)
        return (parsed.framing, .list(parsed.fields))
    }

    /// Parses `HTTP-version SP status-code SP [reason-phrase]` (RFC 9112 §4). The reason phrase is validated and
    /// discarded.
    private static func statusLine(_ line: UnsafeRawBufferPointer) throws(HTTP1Fault) -> (Int, Int) {
        guard line.count >= 12, unsafe line[8] == Grammar.space,
            line.count == 12 || (unsafe line[12] == Grammar.space)
        else { throw .malformedStatusLine }
        let minorVersion: Int
        do {
            minorVersion = try unsafe RequestLine.version(UnsafeRawBufferPointer(rebasing: line[..<8]))
        } catch {
            throw error == .unsupportedVersion ? error : .malformedStatusLine
        }
        var status = 0
        for index in 9..<12 {
            let byte = unsafe line[index]
            guard Grammar.isDigit(byte) else { throw .malformedStatusLine }
            status = status * 10 + Int(byte - 0x30)
        }
        guard status >= 100, status <= 599,
            unsafe Grammar.isFieldContent(UnsafeRawBufferPointer(rebasing: line[12...]))
        else { throw .malformedStatusLine }
        return (status, minorVersion)
    }
}
