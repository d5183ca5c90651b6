package import Keys
package import Pipeline
package import PostgresStore
package import Settings
internal import SettingsReader
package import Store

/// The state of a gateway: stored in its own state directory, or shared by several gateways in PostgreSQL.
package enum GatewayState {
    /// Opens the state for a gateway that serves.
    ///
    /// - Throws: ``SettingsErrors`` for an error that the operator must correct first; ``StartupError`` otherwise.
    package static func openToServe(_ settings: GatewaySettings) async throws -> any StateStore {
        guard settings.state == nil else { return try await open(settings) }
        return try await GatewayStore.openToServe(in: settings.stateDirectory)
    }

    /// Opens the state for a command while gateways may have it open.
    ///
    /// - Throws: as ``openToServe(_:)``
    package static func open(_ settings: GatewaySettings) async throws -> any StateStore {
        guard let state = settings.state else { return try GatewayStore.open(in: settings.stateDirectory) }
        return try await openPostgres(state.postgres, settings)
    }

    /// The revocations; empty if no gateway has stored any. A state directory is only read. PostgreSQL is opened as by
    /// ``open(_:)``, which migrates an older schema to the current one.
    ///
    /// - Parameter now: seconds since 1970.
    /// - Throws: as ``openToServe(_:)``
    package static func revocations(_ settings: GatewaySettings, now: Int64) async throws -> RevocationList {
        guard settings.state != nil else {
            return try await GatewayStore.revocations(in: settings.stateDirectory, now: now)
        }
        let records = try await open(settings).records.revocations.all(now: now)
        return RevocationList.empty.adding(records.compactMap(Revocation.init))
    }

    /// The storage of the gateway's own keys, for a command. Keys in files need no database.
    ///
    /// - Throws: as ``openToServe(_:)``
    package static func keyRings(_ settings: GatewaySettings) async throws -> KeyRings {
        try KeyRings(settings, settings.state == nil ? nil : await open(settings))
    }

    /// - Throws: as ``openToServe(_:)``
    package static func openPostgres(
        _ state: PostgresStateSettings, _ settings: GatewaySettings
    ) async throws -> PostgresState {
        do throws(PostgresStartError) {
            return try await PostgresState.open(state.connection, poolSize: state.poolSize)
        } catch {
            let found = settings.error(of: error.keyPath, error.description)
            guard error.mayPass else { throw SettingsErrors(errors: [found]) }
            throw StartupError(description: "\(found)")
        }
    }
}

extension PostgresStartError {
    /// The key path of the setting that causes the error.
    package var keyPath: String {
        switch setting {
        case .url: "state.postgres.url"
        case .password: "state.postgres.password"
        case .trustedCertificates: "state.postgres.trusted_certificates"
        }
    }

    /// Whether a later start may succeed without any change by the operator.
    fileprivate var mayPass: Bool {
        switch kind {
        case .unreachable, .readOnly, .other: true
        case .libraryMissing, .refused, .noDatabase, .tls, .serverTooOld, .encoding, .pooler, .missingRight,
            .newerSchema:
            false
        }
    }
}
