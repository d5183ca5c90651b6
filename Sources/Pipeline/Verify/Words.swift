extension Span where Element == UInt8 {
    /// Calls `body` with each of the words between spaces, such as the scopes of a `scope` claim (RFC 6749, 3.3).
    ///
    /// By bytes: to split a text itself is to look for the borders of its characters, which takes longer than all else
    /// about a token's claims.
    func forEachWord(_ body: (borrowing Span<UInt8>) -> Void) {
        var start = 0
        for index in 0...count where index == count || self[index] == UInt8(ascii: " ") {
            if index > start { body(extracting(start..<index)) }
            start = index + 1
        }
    }
}

extension String {
    /// A copy of UTF-8 that is somewhere already.
    init(utf8 bytes: borrowing Span<UInt8>) {
        self = unsafe bytes.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
    }
}
