/// Finds the end of a message head as its bytes arrive, examining each byte once.
///
/// Only CRLF ends a line. RFC 9112 §2.2 allows recipients to accept a bare LF, but two recipients that differ in this
/// make request smuggling possible, so it is rejected here.
struct HeadScanner {
    private var scanned = 0
    /// The index of the first incomplete line.
    private(set) var lineStart = 0
    private var lineCount = 0

    /// Returns the number of bytes of the head including its final empty line; nil if more bytes are needed.
    ///
    /// - Throws: ``HTTP1Fault`` for a bare LF, or if a complete or incomplete head exceeds `limits`.
    mutating func end(of bytes: UnsafeRawBufferPointer, limits: HeadLimits) throws(HTTP1Fault) -> Int? {
        while let feed = unsafe Grammar.firstLineFeed(in: bytes, from: scanned) {
            guard feed > lineStart, unsafe bytes[feed - 1] == Grammar.carriageReturn else { throw .bareLineFeed }
            let length = feed - 1 - lineStart
            if length == 0 {
                guard feed < limits.head else { throw .fieldsTooLarge }
                return feed + 1
            }
            try check(lineLength: length, limits: limits)
            lineCount += 1
            guard lineCount <= limits.fieldCount + 1 else { throw .tooManyFields }
            scanned = feed + 1
            lineStart = scanned
        }
        scanned = bytes.count
        // A CR at the end may be part of the CRLF, which does not count.
        let ending = unsafe bytes.last == Grammar.carriageReturn ? 1 : 0
        try check(lineLength: max(0, bytes.count - lineStart - ending), limits: limits)
        guard bytes.count <= limits.head else { throw .fieldsTooLarge }
        return nil
    }

    private func check(lineLength: Int, limits: HeadLimits) throws(HTTP1Fault) {
        if lineCount == 0 {
            guard lineLength <= limits.requestLine else { throw .targetTooLong }
        } else {
            guard lineLength <= limits.fieldLine else { throw .fieldsTooLarge }
        }
    }
}
