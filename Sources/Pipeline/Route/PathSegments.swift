internal import Encoding

extension RequestPath {
    /// Whether the decoded segment at this position, from 0, has these bytes.
    ///
    /// If some software reads the path differently, the segment must be the same in every reading, so that the backend
    /// cannot act on another one. A backend that ignores case may take a text that folding changes for another one, so
    /// no segment equals such a text.
    func hasSegment(_ position: Int, equalTo text: String, ignoringCase: Bool = false) -> Bool {
        guard withBytes({ Self.segment(position, of: $0, equals: text.utf8.span) }) else { return false }
        guard !ignoringCase || PathFolding.keeps(text) else { return false }
        guard hasOtherReading else { return true }
        return otherReadings().allSatisfy { Self.segment(position, of: $0.span, equals: text.utf8.span) }
    }

    /// Whether the segment that the route reserves for the caller's subject is this one; true if the route reserves
    /// none.
    package func isOf(subject: String, in route: Route) -> Bool {
        route.pattern.subjectSegment.map { hasSegment($0, equalTo: subject, ignoringCase: route.ignoresCase) } ?? true
    }

    private static func segment(
        _ position: Int, of path: borrowing Span<UInt8>, equals text: borrowing Span<UInt8>
    ) -> Bool {
        let slash = UInt8(ascii: "/")
        var start = 1
        for _ in 0..<position {
            while start < path.count, path[start] != slash { start += 1 }
            start += 1
        }
        var end = start
        while end < path.count, path[end] != slash { end += 1 }
        return start < end && end - start == text.count && path.matches(text, at: start)
    }
}
