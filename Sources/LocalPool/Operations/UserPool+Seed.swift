internal import Cryptography
internal import Pipeline
internal import Store

extension UserPool {
    /// Puts the configured users in, or brings them in line with the configuration.
    func seed(_ users: [LocalPoolConfiguration.SeededUser]) throws {
        for seeded in users {
            let now = clock()
            try store.writeBlocking { database in
                if let stored = try UserRecord.find(seeded.email, in: database) {
                    try record(seeded, over: stored).update(in: database)
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
            throw ConfigurationFaults(
                faults: ["the database has \(seeded.email) with another sub; remove the database or the key"])
        }
        var hash = stored?.passwordHash
        if let known = hash, !passwords.matches(seeded.password, known) { hash = nil }
        let attributes = seeded.attributes.sorted { $0.key < $1.key }
        return UserRecord(
            sub: stored?.sub ?? seeded.sub ?? uuid(), email: seeded.email,
            passwordHash: try hash ?? passwords.make(seeded.password),
            // Who has confirmed stays confirmed.
            isConfirmed: seeded.isConfirmed || stored?.isConfirmed == true,
            attributes: JSONObject(attributes.map { ($0.key, JSON.string($0.value)) }), groups: seeded.groups)
    }
}
