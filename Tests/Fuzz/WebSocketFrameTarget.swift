// Compiled by run.sh into one module with the frame tracker.

/// Where frames end, read from the whole stream at once: the plainest reading of RFC 6455 §5.2. Nil in the end where
/// something is no frame.
private func boundaries(_ bytes: ArraySlice<UInt8>, isMasked: Bool) -> (ends: [Int], isTracking: Bool) {
    var ends = [bytes.startIndex]
    while true {
        var rest = bytes[(ends.last ?? bytes.startIndex)...]
        guard let first = rest.popFirst() else { return (ends, true) }
        let opcode = first & 0x0F
        guard [0, 1, 2, 8, 9, 10].contains(opcode), opcode < 8 || first >= 0x80 else { return (ends, false) }
        guard let second = rest.popFirst() else { return (ends, true) }
        var length = UInt64(second & 0x7F)
        guard (second >= 0x80) == isMasked, opcode < 8 || length < 126 else { return (ends, false) }
        if length >= 126 {
            let size = length == 126 ? 2 : 8
            guard rest.count >= size else { return (ends, true) }
            length = rest.prefix(size).reduce(0) { $0 << 8 | UInt64($1) }
            rest = rest.dropFirst(size)
        }
        if isMasked {
            guard rest.count >= 4 else { return (ends, true) }
            rest = rest.dropFirst(4)
        }
        guard length >> 63 == 0 else { return (ends, false) }
        guard length <= UInt64(rest.count) else { return (ends, true) }
        let end = rest.startIndex + Int(length)
        guard opcode != 8 else { return (ends, false) }
        ends.append(end)
    }
}

/// Input: how the bytes are cut (one byte), the direction (one bit), then the stream.
@_cdecl("fuzzWebSocketFrame")
public func fuzzWebSocketFrame(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let input = Array(UnsafeBufferPointer(start: start, count: count))
    guard count >= 2 else { return 0 }
    let (step, isMasked, stream) = (Int(input[0]) + 1, input[1] & 1 == 1, input[2...])
    let (ends, isTracking) = boundaries(stream, isMasked: isMasked)
    var tracker = WebSocketFrameTracker(isMasked: isMasked)
    var position = stream.startIndex
    while position < stream.endIndex {
        let next = min(position + step, stream.endIndex)
        let expected = ends.first { $0 >= position && $0 <= next }
        var finder = tracker
        let found = finder.advance(toBoundaryIn: Array(stream[position..<next]).span)
        precondition(found == expected.map { $0 - position }, "another boundary")
        tracker.advance(over: Array(stream[position..<next]).span)
        position = next
        precondition(tracker.isAtBoundary == ends.contains(position), "a boundary that is none, or the other way round")
    }
    precondition(tracker.isTracking == isTracking, "track was lost, or kept, without a reason")
    return 0
}
