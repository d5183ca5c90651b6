package import HTTPTypes
package import NIOCore

/// Reads one response from a backend's bytes, part by part, regardless of how the bytes are split.
package struct ResponseReader: ~Copyable, Sendable {
    package enum Part: Sendable {
        /// `101 Switching Protocols` or a final response's head.
        case head(ResponseHead)
        case data(ByteBuffer)
        case end
    }

    private enum Phase { case head, body, ended }

    private let toHead: Bool
    private var phase = Phase.head
    private var parser: ResponseHeadParser
    private var decoder = BodyDecoder(.none)
    /// The received bytes that have not been parsed.
    private var input = ByteBuffer()
    /// Whether any byte has been received.
    package private(set) var hasBegun = false
    /// Whether the backend keeps the connection open after the response.
    package private(set) var keepAlive = false
    /// See ``ResponseHead/mayStrayBody``.
    package private(set) var mayStrayBody = false

    /// - Parameters:
    ///   - toHead: whether the request's method is HEAD.
    ///   - copiesLines: see ``ResponseHeadParser/init(limits:copiesLines:)``.
    package init(toHead: Bool, copiesLines: Bool = false) {
        self.toHead = toHead
        parser = ResponseHeadParser(copiesLines: copiesLines)
    }

    package var awaitsHead: Bool { phase == .head }

    /// Whether the end of the connection ends the body.
    package var isUntilClose: Bool { phase == .body && decoder.isUntilClose }

    /// The trailer fields, once the body is complete; see ``BodyDecoder/trailers``.
    package var trailers: HTTPFields? { decoder.trailers }

    /// Whether bytes are left that have not been parsed.
    package var hasRest: Bool { input.readableBytes > 0 }

    package mutating func receive(_ bytes: ByteBuffer) {
        hasBegun = true
        if input.readableBytes == 0 {
            input = bytes
        } else {
            input.writeImmutableBuffer(bytes)
        }
    }

    /// Returns the next part; nil if more bytes are needed.
    package mutating func next() throws(HTTP1Fault) -> Part? {
        switch phase {
        case .head: return try nextHead().map(Part.head)
        case .body:
            switch try decoder.next(from: &input) {
            case nil: return nil
            case .data(let data): return .data(data)
            case .end:
                phase = .ended
                return .end
            }
        case .ended: return nil
        }
    }

    /// Copies the unparsed rest, such as the beginning of a head or a chunk line, out of the larger receive buffer.
    package mutating func keepRest() {
        input = input.readableBytes > 0 ? ByteBuffer(bytes: input.readableBytesView) : ByteBuffer()
    }

    /// Discards the unparsed rest, and releases the receive buffer.
    package mutating func dropRest() { input = ByteBuffer() }

    /// Passes through all further bytes, after `101 Switching Protocols`.
    package mutating func becomeTunnel() {
        phase = .body
        decoder = BodyDecoder(.untilClose)
    }

    private mutating func nextHead() throws(HTTP1Fault) -> ResponseHead? {
        while let head = try parser.next(from: &input, toHead: toHead) {
            let code = head.status.code
            // RFC 9110 §15.2: interim responses; the gateway has sent its own 100.
            if code < 200, code != 101 { continue }
            keepAlive = head.keepAlive
            mayStrayBody = head.mayStrayBody
            decoder = BodyDecoder(head.framing)
            phase = .body
            return head
        }
        return nil
    }
}
