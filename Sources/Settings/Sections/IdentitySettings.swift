package import Pipeline
internal import SettingsReader

/// How the backend is told who the caller is.
package struct IdentitySettings: Sendable {
    /// The prefix of the identity headers' names, such as `X-Auth-`. A client's headers with this prefix are removed.
    package var namespace: String
    /// Claims that have headers beside those that every token's identity has.
    package var claims: [IdentityClaim]
    /// Nil: backends get none.
    package var assertion: AssertionSettings?
    /// Nil: access tokens have the claims that are in them.
    package var userAttributes: UserAttributeSettings?
}

extension IdentitySettings {
    init(reading keys: SettingsMapping, known: KnownNames) {
        namespace = keys.value("namespace", .headerNamespace, default: "X-Auth-")
        claims = Self.claims(keys, namespace: namespace)
        let identity = self
        assertion =
            keys.optional("assertion")?.section {
                AssertionSettings(reading: $0, identity: identity, upstreams: known.upstreams)
            } ?? nil
        userAttributes =
            keys.optional("user_attributes")?.section { UserAttributeSettings(reading: $0, known: known) } ?? nil
    }

    /// So many headers a backend can be told claims in.
    private static let maximumClaims = 32

    private static func claims(_ keys: SettingsMapping, namespace: String) -> [IdentityClaim] {
        var claims: [IdentityClaim] = []
        for (name, entry) in keys.optional("claims")?.entries() ?? [] {
            if IdentityClaim.isReserved(name, identityNamespace: namespace) {
                entry.error("this header has another use; choose another name")
            }
            if claims.contains(where: { IdentityClaim.isSameHeader($0.header, name) }) {
                entry.error("is given more than once, as backends read names")
            }
            if let claim = entry.readClaimPath() { claims.append(IdentityClaim(header: name, claim: claim)) }
        }
        if claims.count > maximumClaims { keys.error("claims", "must not hold more than \(maximumClaims)") }
        return claims
    }

    /// Whether the header's name begins as those of identity headers do, in whichever spelling.
    func covers(_ header: String) -> Bool { IdentityClaim.isInNamespace(header, namespace) }

    /// Whether the gateway sets this header on every request of a caller it knows.
    func sets(_ header: String) -> Bool {
        let headers = claims.map(\.header) + [assertion?.assertion.header].compactMap { $0 }
        return headers.contains { IdentityClaim.isSameHeader($0, header) }
    }
}

/// Headers that requests need; a namespace that covers one of them would remove it from every request.
private let neededHeaders = [
    "accept-encoding", "content-length", "content-type", "if-none-match", "sec-websocket-key", "transfer-encoding",
    "x-amzn-trace-id", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-real-ip", "x-request-id",
]

extension ScalarFormat where Value == String {
    fileprivate static var headerNamespace: Self {
        Self(show: { $0 }) { (text) throws(ScalarRefusal) in
            guard (3...32).contains(text.utf8.count), text.first?.isLetter == true, text.hasSuffix("-"),
                text.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") })
            else {
                throw ScalarRefusal("must be 3 to 32 letters, digits or \"-\", ending in \"-\", such as X-Auth-")
            }
            if let header = neededHeaders.first(where: { $0.hasPrefix(text.lowercased()) }) {
                throw ScalarRefusal("must not cover headers that requests need, such as \(header)")
            }
            return text
        }
    }
}
