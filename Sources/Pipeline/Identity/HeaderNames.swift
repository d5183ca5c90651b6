internal import Encoding

/// The request header names that the gateway knows.
enum HeaderNames {
    /// The gateway's treatment of a client's header, by its name alone.
    enum Kind: Equatable {
        /// It passes, unless another rule removes it.
        case ordinary
        /// It never passes; see ``own``.
        case own
        /// It passes only if a route or upstream lets it through. The value is its index in ``TrustedHeader/all``.
        case trusted(Int16)
        /// It never passes: backends that convert names into variables take it for another header (see
        /// ``isProtected(_:)``).
        case lookAlike
    }

    /// The kind of a header of this name, in any spelling.
    @inline(__always)
    static func kind(of name: borrowing Span<UInt8>, in trie: HeaderNameTrie = trie) -> Kind {
        let (value, isPlain) = trie.find(name)
        if value < 0 { return .ordinary }
        if value < firstTrusted { return value == ownValue ? .own : isPlain ? .ordinary : .lookAlike }
        return .trusted(value &- firstTrusted)
    }

    /// Names that the gateway reads or writes itself. Neither clients nor route settings can affect them:
    ///
    /// - hop-by-hop fields, RFC 9110 §7.6.1; `Expect` is answered by the gateway (§10.1.1), `Host` written by it;
    /// - the request's origin, its ID and its trace;
    /// - AWS request signing (`X-Amzn-…` is not `X-Amz-…`).
    private static let own = [
        "host", "te", "trailer", "transfer-encoding", "connection", "keep-alive", "upgrade", "expect",
        "proxy-connection", "proxy-authenticate", "proxy-authorization", "x-forwarded-for", "x-forwarded-proto",
        "x-forwarded-host", "x-request-id", "traceparent", "x-amz-*",
    ]

    /// Fields with a meaning for framing, credentials or caching. A name that equals one of them only after
    /// normalisation is a look-alike. No `Connection` option can remove them (RFC 9110 §7.6.1 forbids listing fields
    /// that are meant for all recipients).
    private static let protected: Set<String> = [
        "authorization", "cookie", "host", "content-length", "content-type", "content-encoding", "transfer-encoding",
        "cache-control", "origin", "range", "x-amzn-trace-id", "tracestate", "x-csrf-token", "x-xsrf-token",
        "x-api-key",
    ]

    private static let ownValue: Int16 = 0
    private static let protectedValue: Int16 = 1
    private static let firstTrusted: Int16 = 2

    /// Protected names of a single word are left out, because no other name normalises to them.
    static let trie = HeaderNameTrie(
        TrustedHeader.all.enumerated().map { ($0.element.pattern, Int16($0.offset) + firstTrusted) }
            + protected.filter { $0.utf8.contains(UInt8(ascii: "-")) }.map { ($0, protectedValue) }
            + own.map { ($0, ownValue) })

    /// Whether `name`, in lower case, is protected (see ``protected``).
    static func isProtected(_ name: String) -> Bool { protected.contains(name) }

    /// The name as backends that convert names into variables (CGI, WSGI, PHP) read it. They ignore letter case and
    /// treat all bytes but letters and digits as equal; here these become `-`.
    static func normalised(_ name: String) -> String {
        String(decoding: name.utf8.map { normalised($0) }, as: UTF8.self)
    }

    @inline(__always)
    static func normalised(_ byte: UInt8) -> UInt8 {
        let byte = asciiLowercased(byte)
        return isPlain(byte) ? byte : UInt8(ascii: "-")
    }

    /// Whether normalisation leaves this byte of a lower-case name unchanged.
    @inline(__always)
    static func isPlain(_ byte: UInt8) -> Bool {
        byte &- UInt8(ascii: "a") < 26 || byte &- UInt8(ascii: "0") < 10 || byte == UInt8(ascii: "-")
    }

    /// Whether the header is the gateway's own, or a trusted header with one of these meanings.
    static func isOwn(_ name: String, orMeans meanings: Set<TrustedHeader.Meaning>) -> Bool {
        switch kind(of: name.utf8.span) {
        case .own: true
        case .trusted(let row): meanings.contains(TrustedHeader.all[Int(row)].meaning)
        case .ordinary, .lookAlike: false
        }
    }
}
