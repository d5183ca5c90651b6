internal import Cryptography
internal import Encoding
internal import Store

extension UserPool {
    /// Creates the configured users, or updates them to match the configuration.
    func seed(_ users: [LocalPoolConfiguration.SeededUser]) throws {
        for seeded in users {
            let now = clock()
            try store.writeBlocking { database in
                let name = seeded.name(by: configuration.naming) ?? seeded.email
                if let stored = try UserRecord.find(name, in: database) {
                    try record(seeded, over: stored).update(in: database, now: now)
                } else {
                    try record(seeded, over: nil).insert(in: database, now: now)
                }
            }
        }
    }

    private func record(
        _ seeded: LocalPoolConfiguration.SeededUser, over stored: UserRecord?
    ) throws -> UserRecord {
        if let stored, let sub = seeded.sub, stored.sub != sub {
            throw SeedError(name: seeded.name(by: configuration.naming) ?? seeded.email)
        }
        let sub = stored?.sub ?? seeded.sub ?? uuid()
        let attributes = seeded.attributes.sorted { $0.key < $1.key }
        // Confirmed users stay confirmed.
        let isConfirmed = seeded.isConfirmed || stored?.isConfirmed == true
        return UserRecord(
            sub: sub, email: seeded.email,
            credentials: try credentials(seeded, seeded.username ?? sub, stored?.credentials),
            status: isConfirmed ? .confirmed : .unconfirmed, isEmailVerified: isConfirmed && !seeded.email.isEmpty,
            isPhoneVerified: isConfirmed && seeded.attributes["phone_number"] != nil,
            attributes: JSONObject(attributes.map { ($0.key, JSON.string($0.value)) }), groups: seeded.groups,
            secondFactors: stored?.secondFactors ?? SecondFactors(), chosenName: seeded.username)
    }

    /// The stored credentials if they match the configured password and are complete, otherwise new ones.
    private func credentials(
        _ seeded: LocalPoolConfiguration.SeededUser, _ username: String, _ stored: UserRecord.Credentials?
    ) throws -> UserRecord.Credentials {
        if let stored, stored.srp != nil, passwords.matches(seeded.password, stored.passwordHash) { return stored }
        let identity = SRPIdentity(poolID: configuration.poolID, userID: username)
        return try passwords.credentials(seeded.password, identity: identity, salt: random(16))
    }
}
