package import Pipeline
internal import SettingsReader

/// The identity of the caller that the backend receives.
package struct IdentitySettings: Sendable {
    /// The prefix of the identity headers' names, such as `X-Auth-`. A client's headers with this prefix are removed.
    package var namespace: String
    /// Claims with their own headers, besides the headers that every identity has.
    package var claims: [IdentityClaim]
    /// Nil: backends receive no assertion.
    package var assertion: AssertionSettings?
    /// Nil: identities have only the claims of the access token.
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

    /// The maximum number of claims with their own headers.
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

    /// Whether the header's name is in the namespace of identity headers, in any spelling.
    func covers(_ header: String) -> Bool { IdentityClaim.isInNamespace(header, namespace) }

    /// Whether the gateway sets this header on each request of an authenticated caller.
    func sets(_ header: String) -> Bool {
        let headers = claims.map(\.header) + [assertion?.assertion.header].compactMap { $0 }
        return headers.contains { IdentityClaim.isSameHeader($0, header) }
    }
}

/// Headers that requests need. A namespace must not cover any of them, since it would remove the header from every
/// request.
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
