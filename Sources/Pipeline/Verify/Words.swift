extension String {
    /// The words between spaces, such as the scopes of a `scope` claim (RFC 6749, 3.3).
    ///
    /// By bytes: to split the text itself is to look for the borders of its characters, which takes longer than all
    /// else about a token's claims.
    var words: [String] {
        utf8.split(separator: UInt8(ascii: " ")).map { String(Substring($0)) }
    }
}
