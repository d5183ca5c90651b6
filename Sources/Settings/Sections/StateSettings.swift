internal import Cryptography
package import Postgres
internal import SettingsReader

/// The location of the state that several gateways share. By default each gateway has a database in its state
/// directory.
package struct StateSettings: Sendable, Equatable {
    package var postgres: PostgresStateSettings
}

/// The PostgreSQL database that gateways share.
package struct PostgresStateSettings: Sendable, Equatable {
    package var connection: PostgresSettings
    /// The maximum number of this gateway's connections, besides one that listens for notifications.
    package var poolSize: Int
    /// The keys that seal the gateways' own keys in the database: the first seals, all open. At least one.
    package var sealingKeys: [SealingKeySettings]
    package var staleRevocations: StaleRevocationSettings
}

/// The time for which tokens are verified against a revocation list that cannot be refreshed, and the policy
/// afterwards.
package struct StaleRevocationSettings: Sendable, Equatable {
    package enum Policy: String, Sendable, CaseIterable {
        /// Requests with a token get 503.
        case closed
        /// Requests with a token are verified against the last known list.
        case open
    }

    package var after: Duration
    package var then: Policy

    package init(after: Duration, then: Policy) {
        self.after = after
        self.then = then
    }
}

extension StateSettings {
    init?(reading keys: SettingsMapping) {
        guard let postgres = keys.required("postgres")?.section(PostgresStateSettings.init(reading:)) ?? nil else {
            return nil
        }
        self.postgres = postgres
    }
}

extension PostgresStateSettings {
    fileprivate init?(reading keys: SettingsMapping) {
        for name in ["url", "password", "sealing_keys", "trusted_certificates"] { keys.notePlace(of: name) }
        let url = keys.required("url", .postgresURL)
        let passwordNode = keys.optional("password")
        let password = passwordNode?.readSecret()
        // libpq takes the password as a C string.
        if password?.expose().contains(0) == true { passwordNode?.error("must not hold a byte 0") }
        let certificates = keys.optional("trusted_certificates")
        let hasCertificates = certificates.map { $0.readCertificates() != nil } ?? true
        poolSize = keys.value("pool_size", .integer(1...256), default: 8)
        let hasPooler = keys.value("pooler", .boolean, default: false)
        let keysNode = keys.required("sealing_keys")
        sealingKeys = keysNode?.sealingKeys() ?? []
        if keys.isEmptyList("sealing_keys") {
            keys.error("sealing_keys", "must hold at least one, the same for all gateways")
        }
        staleRevocations = keys.section("stale_revocations", StaleRevocationSettings.init(reading:))
        guard let url, hasCertificates, !sealingKeys.isEmpty else { return nil }
        connection = PostgresSettings(
            hosts: url.hosts, database: url.database, user: url.user, password: password, hasPooler: hasPooler)
        if let path = certificates?.read(.text) {
            connection.trustedCertificates = keys.node.context.resolve(path: path)
        }
    }
}

extension StaleRevocationSettings {
    init(reading keys: SettingsMapping) {
        after = keys.value("after", .duration(.seconds(5) ... .seconds(7 * 86_400)), default: .seconds(300))
        then = keys.value("then", .oneOf, default: .closed)
    }
}
