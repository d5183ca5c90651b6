extension Span where Element == UInt8 {
    /// Calls `body` with each of the words between spaces, such as the scopes of a `scope` claim (RFC 6749, 3.3).
    ///
    /// Works on bytes: splitting a text means finding the boundaries of its characters, which takes longer than
    /// everything else about a token's claims.
    func forEachWord(_ body: (borrowing Span<UInt8>) -> Void) {
        var start = 0
        for index in 0...count where index == count || self[index] == UInt8(ascii: " ") {
            if index > start { body(extracting(start..<index)) }
            start = index + 1
        }
    }
}

extension String {
    /// Copies UTF-8 bytes into a text.
    init(utf8 bytes: borrowing Span<UInt8>) {
        self = unsafe bytes.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
    }
}
