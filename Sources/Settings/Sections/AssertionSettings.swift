package import Pipeline
internal import SettingsReader

/// The signed assertion about the caller that backends receive.
package struct AssertionSettings: Sendable {
    package var assertion: Assertion
    /// The age at which the signing key is replaced.
    package var rotateEvery: Duration
    /// The time for which a key is published before it signs.
    package var publishAhead: Duration
    /// The time for which a key stays published after its last use. It covers differences between clocks and processes
    /// that have not yet seen a rotation.
    package var keysStay: Duration { max(.seconds(86_400), publishAhead) }
}

extension AssertionSettings {
    /// - Parameters:
    ///   - identity: the identity headers that the assertion's header must not collide with.
    ///   - upstreams: the names of the upstreams that may have their own audience.
    init?(reading keys: SettingsMapping, identity: IdentitySettings, upstreams: [String]) {
        let issuer = keys.required("issuer", .identifier)
        let header = Self.header(keys, identity)
        let audiences = Self.audiences(keys, upstreams)
        let lifetime = keys.value("lifetime", .duration(.seconds(10) ... .seconds(600)), default: .seconds(60))
        let day = Duration.seconds(86_400)
        let ahead = keys.value("publish_ahead", .duration(.seconds(600)...day * 7), default: .seconds(3600))
        let age = keys.optional("rotate_every")
        let rotateEvery = age?.read(.duration(.seconds(3600)...day * 3650)) ?? day * 30
        if rotateEvery < ahead { age?.refuse("must not be shorter than publish_ahead") }
        guard let issuer else { return nil }
        self.init(
            assertion: Assertion(
                header: header, issuer: issuer, audiences: audiences, lifetime: lifetime.components.seconds,
                claims: identity.claims),
            rotateEvery: rotateEvery, publishAhead: ahead)
    }

    private static func header(_ keys: SettingsMapping, _ identity: IdentitySettings) -> String {
        let node = keys.optional("header")
        let header = node?.read(.assertionHeader) ?? "X-Auth-Assertion"
        if IdentityClaim.isReserved(header, identityNamespace: identity.namespace) {
            node?.refuse("this header has another use; choose another name")
        }
        if identity.claims.contains(where: { IdentityClaim.isSameHeader($0.header, header) }) {
            (node ?? keys.node).error("\(header) is the header of a claim as well")
        }
        return header
    }

    private static func audiences(_ keys: SettingsMapping, _ upstreams: [String]) -> [String: String] {
        var audiences: [String: String] = [:]
        for (name, entry) in keys.optional("audiences")?.entries() ?? [] {
            if !upstreams.contains(name) { entry.error("\"\(name)\" names no upstream") }
            audiences[name] = entry.read(.identifier)
        }
        return audiences
    }
}

extension ScalarFormat where Value == String {
    fileprivate static var assertionHeader: Self {
        Self { (text) throws(ScalarRefusal) in
            guard (1...64).contains(text.utf8.count), text.first?.isLetter == true,
                text.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") })
            else { throw ScalarRefusal("must be 1 to 64 letters, digits or \"-\", such as X-Auth-Assertion") }
            return text
        }
    }
}
