internal import Cryptography
internal import Encoding
internal import Store

extension UserPool {
    /// A user as described by an identity provider.
    struct ProvidedUser: Sendable {
        var identity: FederatedIdentity
        var email: String
        var isEmailVerified: Bool
        var name: String?
    }

    /// The user of an identity provider, created at the first sign-in and updated at each.
    ///
    /// - Returns: the user's `sub`; nil if the user is disabled.
    func federate(_ provided: ProvidedUser) async throws -> String? {
        let (new, now) = (uuid(), clock())
        return try await store.write { database in
            let known = try UserRecord.find(provided.identity.username, in: database)
            // No password has this hash.
            var user =
                known
                ?? UserRecord(
                    sub: new, email: provided.email, credentials: .init(passwordHash: decoyHash),
                    status: .externalProvider,
                    isEmailVerified: false, attributes: [:],
                    groups: ["\(configuration.poolID)_\(provided.identity.provider)"], createdAt: now, changedAt: now,
                    chosenName: provided.identity.username, identity: provided.identity)
            guard user.isEnabled else { return nil }
            user.email = provided.email
            user.isEmailVerified = provided.isEmailVerified
            if let name = provided.name { user.attributes["name"] = .string(name) }
            if known == nil { try user.insert(in: database, now: now) } else { try user.update(in: database, now: now) }
            return user.sub
        }
    }
}
