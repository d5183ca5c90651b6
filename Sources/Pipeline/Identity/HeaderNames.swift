internal import Encoding

/// The request header names that the gateway knows.
enum HeaderNames {
    /// How the gateway treats a client's header for its name alone.
    enum Kind: Equatable {
        /// It passes, unless something else speaks against it.
        case ordinary
        /// It never passes; see ``own``.
        case own
        /// It passes only where a route or upstream lets it through: the number in ``TrustedHeader/all``.
        case trusted(Int16)
        /// It never passes: backends that turn names into variables take it for another header (see
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

    /// Names that the gateway reads or writes itself, so that neither clients nor route settings have a say:
    ///
    /// - hop-by-hop fields, RFC 9110 §7.6.1; `Expect` is answered by the gateway (§10.1.1), `Host` written by it;
    /// - what it says of the request's origin, its id and its trace;
    /// - AWS request signing (`X-Amzn-…` is not `X-Amz-…`).
    private static let own = [
        "host", "te", "trailer", "transfer-encoding", "connection", "keep-alive", "upgrade", "expect",
        "proxy-connection", "proxy-authenticate", "proxy-authorization", "x-forwarded-for", "x-forwarded-proto",
        "x-forwarded-host", "x-request-id", "traceparent", "x-amz-*",
    ]

    /// Fields with a meaning for framing, credentials or caching: a name that only becomes one of them by
    /// normalising is a look-alike, and no `Connection` option can take them away (RFC 9110 §7.6.1 forbids to list
    /// fields that are meant for all recipients).
    private static let protected: Set<String> = [
        "authorization", "cookie", "host", "content-length", "content-type", "content-encoding", "transfer-encoding",
        "cache-control", "origin", "range", "x-amzn-trace-id", "tracestate", "x-csrf-token", "x-xsrf-token",
        "x-api-key",
    ]

    private static let ownValue: Int16 = 0
    private static let protectedValue: Int16 = 1
    private static let firstTrusted: Int16 = 2

    /// Names that nothing looks like, being one word, are not among its protected ones.
    static let trie = HeaderNameTrie(
        TrustedHeader.all.enumerated().map { ($0.element.pattern, Int16($0.offset) + firstTrusted) }
            + protected.filter { $0.utf8.contains(UInt8(ascii: "-")) }.map { ($0, protectedValue) }
            + own.map { ($0, ownValue) })

    /// Whether `name`, in lower case, is protected (see ``protected``).
    static func isProtected(_ name: String) -> Bool { protected.contains(name) }

    /// How backends that turn names into variables read a name (CGI, WSGI, PHP): case aside, every byte but letters and
    /// digits is the same to them. Here it becomes `-`.
    static func normalised(_ name: String) -> String {
        String(decoding: name.utf8.map { normalised($0) }, as: UTF8.self)
    }

    @inline(__always)
    static func normalised(_ byte: UInt8) -> UInt8 {
        let byte = asciiLowercased(byte)
        return isPlain(byte) ? byte : UInt8(ascii: "-")
    }

    /// Whether the byte stays itself when a lower-case name is normalised.
    @inline(__always)
    static func isPlain(_ byte: UInt8) -> Bool {
        byte &- UInt8(ascii: "a") < 26 || byte &- UInt8(ascii: "0") < 10 || byte == UInt8(ascii: "-")
    }

    /// Whether the header is the gateway's own, or is taken for one of these.
    static func isOwn(_ name: String, orMeans meanings: Set<TrustedHeader.Meaning>) -> Bool {
        switch kind(of: name.utf8.span) {
        case .own: true
        case .trusted(let row): meanings.contains(TrustedHeader.all[Int(row)].meaning)
        case .ordinary, .lookAlike: false
        }
    }
}
