internal import Encoding
internal import HTTPTypes

/// Decides for each field of a client's request whether it may reach the backend, on every route and also in trailers.
///
/// It removes hop-by-hop fields, all fields in the namespace of the gateway's identity headers in any spelling, fields
/// that backends take for path, host, scheme, method, client address or identity (``TrustedHeader``), look-alikes, and
/// AWS request signing. All other fields pass, also those whose names merely contain `_`, `.` or another symbol.
final class InboundFields: Sendable {
    /// The identity headers' prefix, normalised; never empty.
    private let namespace: String
    private let namespaceFirst: UInt8
    /// The normalised names of further headers that the gateway sets.
    private let alsoSet: [String]
    /// One bit for each first letter that occurs in `alsoSet`, so that most names need no comparison.
    private let alsoSetFirst: UInt32
    /// A reference to the trie, so that it is not looked up for each field.
    private let names = HeaderNames.trie
    /// The names of trusted headers that pass nevertheless, in lower case.
    private let letThrough: [String]

    /// - Parameters:
    ///   - namespace: the prefix of the identity headers, for example `X-Auth-`; in any spelling.
    ///   - alsoSet: names outside the namespace that the gateway sets and a client must not.
    ///   - letThrough: names of ``TrustedHeader``s that pass, in this spelling but in any case. The namespace,
    ///     `alsoSet` and the gateway's own names are still removed.
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
    /// The usual `keep-alive` and `close` give an empty array without an allocation. Fields for framing, credentials
    /// and content cannot be removed this way. Fields that the gateway sets are added later and not affected. A list of
    /// more than 64 names counts as listing every field, which bounds the cost of a list.
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
    /// - Parameter connectionOptions: the result of ``connectionOptions(of:)`` for the request.
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

    /// Whether the gateway sets the header of this name.
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
    /// Whether the normalised name begins with a normalised prefix.
    fileprivate func beginsWith(normalised prefix: borrowing Span<UInt8>) -> Bool {
        guard count >= prefix.count else { return false }
        for index in prefix.indices where HeaderNames.normalised(self[index]) != prefix[index] { return false }
        return true
    }
}
