/// Tracks the boundaries between frames in one direction of a WebSocket (RFC 6455 §5.2). A control frame may be
/// inserted there, also within a fragmented message (§5.4). It reads headers only and stores no bytes.
package struct WebSocketFrameTracker: Sendable, Equatable {
    private enum State: Equatable {
        /// The part of a frame's header that has been read, as far as it matters.
        case header(Header)
        case payload(left: UInt64, isClose: Bool)
        /// A Close frame was the last one of this direction (§5.5.1).
        case closed
        /// The bytes are not frames, or not of this direction: boundaries are unknown.
        case lost
    }

    private struct Header: Equatable {
        var seen = 0
        /// The length of the header in bytes, known from its second byte on.
        var size = 2
        var isControl = false
        var isClose = false
        /// The length of the payload, as far as it has been read.
        var length: UInt64 = 0
    }

    private var state = State.header(Header())
    /// Whether this direction's payloads are masked: a client's are, a server's are not (§5.1).
    private let isMasked: Bool

    package init(isMasked: Bool) {
        self.isMasked = isMasked
    }

    /// Whether a frame may be inserted now.
    package var isAtBoundary: Bool { state == .header(Header()) }

    /// Whether a boundary may still come.
    package var isTracking: Bool { state != .closed && state != .lost }

    /// Advances over bytes that are passed on.
    package mutating func advance(over bytes: borrowing Span<UInt8>) {
        var position = 0
        while position < bytes.count, isTracking { step(bytes, &position) }
    }

    /// Advances to the next boundary, which may be the current position.
    ///
    /// - Returns: the number of bytes before it, or nil if it does not come within these bytes.
    package mutating func advance(toBoundaryIn bytes: borrowing Span<UInt8>) -> Int? {
        var position = 0
        while !isAtBoundary {
            guard position < bytes.count, isTracking else { return nil }
            step(bytes, &position)
        }
        return position
    }

    /// Advances over one byte of a header, or over the available part of a payload.
    private mutating func step(_ bytes: borrowing Span<UInt8>, _ position: inout Int) {
        switch state {
        case .header(var header):
            state = take(bytes[position], &header)
            position += 1
        case .payload(let left, let isClose):
            let count = min(left, UInt64(bytes.count - position))
            position += Int(count)
            state = Self.payload(left - count, isClose)
        case .closed, .lost:
            position = bytes.count
        }
    }

    private static func payload(_ left: UInt64, _ isClose: Bool) -> State {
        if left > 0 { return .payload(left: left, isClose: isClose) }
        return isClose ? .closed : .header(Header())
    }

    private func take(_ byte: UInt8, _ header: inout Header) -> State {
        switch header.seen {
        case 0:
            let isFinal = byte & 0x80 != 0
            header.isControl = byte & 0x08 != 0
            header.isClose = byte & 0x0F == 0x8
            // Opcodes 3 to 7 and 11 to 15 are not defined, and control frames are never fragmented (§5.5).
            guard byte & 0x07 <= 2, isFinal || !header.isControl else { return .lost }
        case 1:
            let length = byte & 0x7F
            guard (byte & 0x80 != 0) == isMasked, !header.isControl || length <= 125 else { return .lost }
            let extra = length == 127 ? 8 : length == 126 ? 2 : 0
            header.size = 2 + extra + (isMasked ? 4 : 0)
            header.length = extra == 0 ? UInt64(length) : 0
        case 2..<(header.size - (isMasked ? 4 : 0)):
            header.length = header.length << 8 | UInt64(byte)
        default:
            // The masking key.
            break
        }
        header.seen += 1
        guard header.seen == header.size else { return .header(header) }
        // The most significant bit of a length is 0 (§5.2).
        return header.length >> 63 == 0 ? Self.payload(header.length, header.isClose) : .lost
    }
}
