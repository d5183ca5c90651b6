internal import Encoding
internal import HTTPTypes

/// Decides for each field of a client's request whether it may reach the backend: on every route, also in trailers.
///
/// Removed are hop-by-hop fields, everything in the namespace of the gateway's identity headers however it is spelt,
/// what backends take for path, host, scheme, method, client address or identity (``TrustedHeader``), look-alikes, and
/// AWS request signing. Everything else passes, also names that merely contain `_`, `.` or another symbol.
final class InboundFields: Sendable {
    /// The identity headers' prefix, normalised; never empty.
    private let namespace: String
    private let namespaceFirst: UInt8
    /// The names of further headers the gateway sets, normalised.
    private let alsoSet: [String]
    /// One bit for each first letter that occurs in `alsoSet`, so that most names need no comparison.
    private let alsoSetFirst: UInt32
    /// At hand, so that it need not be looked for at each field.
    private let names = HeaderNames.trie
    /// The names of trusted headers that pass all the same, in lower case.
    private let letThrough: [String]

    /// - Parameters:
    ///   - namespace: the prefix of the identity headers, for example `X-Auth-`; in any spelling.
    ///   - alsoSet: names outside the namespace that the gateway sets and a client must not.
    ///   - letThrough: names of ``TrustedHeader``s that pass, in this spelling but in any case. The namespace,
    ///     `alsoSet` and what is the gateway's own stay removed.
    init(namespace: String = "X-Auth-", alsoSet: [String] = [], letThrough: [String] = []) {
        let prefix = HeaderNames.normalised(namespace)
        self.namespace = prefix.isEmpty ? "x-auth-" : prefix
        self.namespaceFirst = self.namespace.utf8.first ?? 0
        self.alsoSet = alsoSet.map(HeaderNames.normalised)
        self.alsoSetFirst = self.alsoSet.reduce(0) { $0 | Self.bit($1.utf8.first ?? 0) }
        self.letThrough = letThrough.map { $0.lowercased() }
    }

    /// The field names that `Connection` fields list (RFC 9110 §7.6.1) and that are among `fields`, in lower case.
    ///
    /// Empty, without allocating, for the usual `keep-alive` and `close`. Fields for framing, credentials and content
    /// can't be listed away; what the gateway itself sets is set afterwards and untouched by this. A list of more
    /// than 64 names is taken to list everything, so that no list costs much to look through.
    func connectionOptions(of fields: HTTPFields) -> [String] {
        guard fields.contains(.connection) else { return [] }
        var options: Set<String> = []
        var isEndless = false
        for field in fields where field.name == .connection {
            if Self.isOrdinary(field.value.utf8.span) { continue }
            let parts = field.elements(separatedBy: ",")
            isEndless = parts.count + options.count > Self.maximumOptions
            if isEndless { break }
            for part in parts {
                if let option = part.asName { options.insert(option) }
            }
        }
        guard isEndless || !options.isEmpty else { return [] }
        let present = Set(fields.map(\.name.canonicalName))
        return present.filter { (isEndless || options.contains($0)) && !HeaderNames.isProtected($0) }
    }

    private static let maximumOptions = 64

    /// Whether the field may be forwarded.
    /// - Parameter connectionOptions: what ``connectionOptions(of:)`` gave for the request.
    func passes(_ field: HTTPField, connectionOptions: [String]) -> Bool {
        let name = field.name.canonicalName
        let bytes = name.utf8.span
        if isSetByGateway(bytes) { return false }
        switch HeaderNames.kind(of: bytes, in: names) {
        case .ordinary: break
        case .own, .lookAlike: return false
        case .trusted: guard letThrough.contains(name) else { return false }
        }
        if bytes.count == 13, name == "authorization", Self.isAWSSigned(field.value.utf8.span) { return false }
        return connectionOptions.isEmpty || !connectionOptions.contains(name)
    }

    /// Whether the name is the gateway's to set here.
    @inline(__always)
    private func isSetByGateway(_ name: borrowing Span<UInt8>) -> Bool {
        guard name.count > 0 else { return false }
        let first = HeaderNames.normalised(name[0])
        if first == namespaceFirst, name.beginsWith(normalised: namespace.utf8.span) { return true }
        guard alsoSetFirst & Self.bit(first) != 0 else { return false }
        return alsoSet.contains { name.count == $0.utf8.count && name.beginsWith(normalised: $0.utf8.span) }
    }

    private static func bit(_ first: UInt8) -> UInt32 { 1 &<< UInt32(first & 31) }

    private static func isOrdinary(_ value: borrowing Span<UInt8>) -> Bool {
        let isKeepAlive = value.count == 10 && value.matchesIgnoringCase("keep-alive".utf8.span)
        return isKeepAlive || value.count == 5 && value.matchesIgnoringCase("close".utf8.span)
    }

    /// Signature Version 4 and 4A: `AWS4-HMAC-SHA256 …`, `AWS4-ECDSA-P256-SHA256 …`.
    private static func isAWSSigned(_ value: borrowing Span<UInt8>) -> Bool {
        value.matchesIgnoringCase("aws4-".utf8.span, at: value.leadingSpaces)
    }
}

extension Span where Element == UInt8 {
    /// Whether the name begins with a prefix once it is normalised, as the prefix is.
    fileprivate func beginsWith(normalised prefix: borrowing Span<UInt8>) -> Bool {
        guard count >= prefix.count else { return false }
        for index in prefix.indices where HeaderNames.normalised(self[index]) != prefix[index] { return false }
        return true
    }
}
