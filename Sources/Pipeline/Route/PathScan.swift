/// The result of one pass over a target's raw bytes.
struct PathScan {
    /// The end of the path: the position of the first `?`, else the length.
    var end = 0
    var hasEscapes = false
    var hasParameters = false
    /// Whether the last segment is an unencoded `.` or `..` and not the only segment.
    var endsInDots = false

    /// Checks every byte of path and query, and the segments as far as they are not encoded.
    static func scan(_ bytes: borrowing Span<UInt8>) throws(PathFault) -> PathScan {
        guard bytes.count <= RequestPath.maximumLength else { throw .tooLong }
        guard bytes.count > 0, bytes[0] == UInt8(ascii: "/") else { throw .notOriginForm }
        var scan = PathScan()
        var index = 0
        scanning: while index < bytes.count {
            let byte = bytes[index]
            if PathBytes.isPlain(byte) {
                index += 1
                continue
            }
            switch byte {
            case UInt8(ascii: "/"):
                scan.endsInDots = index > 0 && isFinalDotSegment(bytes, at: index + 1)
                if !scan.endsInDots { try checkSegment(bytes, at: index + 1) }
            case UInt8(ascii: "%"): scan.hasEscapes = true
            case UInt8(ascii: ";"): scan.hasParameters = true
            case UInt8(ascii: "?"): break scanning
            default: throw .forbiddenByte
            }
            index += 1
        }
        scan.end = index
        try checkQuery(bytes, from: index)
        return scan
    }

    /// Refuses the segment that starts at `start` if it is empty or a dot segment. An empty last segment is a trailing
    /// slash and allowed.
    @inline(__always)
    static func checkSegment(_ bytes: borrowing Span<UInt8>, at start: Int) throws(PathFault) {
        guard start < bytes.count else { return }
        switch bytes[start] {
        // `/;x/` is an empty segment to software that drops parameters.
        case UInt8(ascii: "/"), UInt8(ascii: ";"): throw .emptySegment
        case UInt8(ascii: "."): if isDotSegment(bytes, at: start) { throw .dotSegment }
        default: return
        }
    }

    /// Whether the segment that starts at `start` is `.` or `..` and the last one. Only this one is left to
    /// ``RequestPath/otherReadings()``: dots further in could climb out of the prefix that a route puts in place of
    /// another, and no URL library leaves either kind in a path.
    private static func isFinalDotSegment(_ bytes: borrowing Span<UInt8>, at start: Int) -> Bool {
        guard start < bytes.count, bytes[start] == UInt8(ascii: ".") else { return false }
        var end = start + 1
        if end < bytes.count, bytes[end] == UInt8(ascii: ".") { end += 1 }
        return end == bytes.count || bytes[end] == UInt8(ascii: "?")
    }

    /// Whether the segment is a dot segment (RFC 3986 §3.3), also if a parameter, query or fragment is cut off.
    private static func isDotSegment(_ bytes: borrowing Span<UInt8>, at start: Int) -> Bool {
        var end = start + 1
        if end < bytes.count, bytes[end] == UInt8(ascii: ".") { end += 1 }
        guard end < bytes.count else { return true }
        switch bytes[end] {
        case UInt8(ascii: "/"), UInt8(ascii: ";"), UInt8(ascii: "?"), UInt8(ascii: "#"): return true
        default: return false
        }
    }

    private static func checkQuery(_ bytes: borrowing Span<UInt8>, from start: Int) throws(PathFault) {
        var index = start
        while index < bytes.count {
            if !PathBytes.isQuery(bytes[index]) { throw .forbiddenQueryByte }
            index += 1
        }
    }
}
