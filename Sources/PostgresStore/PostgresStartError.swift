internal import Encoding
internal import Postgres
internal import Store

/// The reason why a gateway cannot use its database at startup, for an operator: the problem and the remedy.
package struct PostgresStartError: Error, Equatable, CustomStringConvertible {
    package enum Kind: Sendable, Equatable {
        case libraryMissing
        /// No server responds.
        case unreachable
        /// The server refuses the role or its password.
        case refused
        case noDatabase
        case tls
        case serverTooOld
        /// The database's encoding lacks characters.
        case encoding
        /// A pooler that rejects startup parameters.
        case pooler
        /// None of the servers accepts writes.
        case readOnly
        case missingRight
        case newerSchema
        case other
    }

    /// The setting at fault, unless it is the server itself.
    package enum Setting: Sendable, Equatable {
        case url, password, trustedCertificates
    }

    package let kind: Kind
    package let setting: Setting
    package let description: String

    init(_ kind: Kind, at setting: Setting = .url, _ reason: String, _ advice: String) {
        self.kind = kind
        self.setting = setting
        description = "\(reason); \(advice)"
    }
}

extension PostgresStartError {
    /// Converts any error of opening the database.
    init(_ error: any Error, _ settings: PostgresSettings) {
        switch error {
        case let error as PostgresStartError: self = error
        case let error as PostgresError: self.init(error, settings)
        case StoreError.newerSchema(let names, _):
            self.init(
                .newerSchema,
                "the schema of the database \(settings.database) was made by a newer version of gatehouse, which has "
                    + names.joined(separator: ", "),
                "start that version or a later one; this one does not work with it")
        default: self.init(.other, "the database cannot be used: \(error)", "see the log of PostgreSQL")
        }
    }

    private init(_ error: PostgresError, _ settings: PostgresSettings) {
        switch (error.kind, error.condition) {
        case (.libraryMissing, _): self.init(.libraryMissing, "\(error)", "gatehouse needs it for PostgreSQL alone")
        case (.tls, _):
            self.init(
                .tls, at: .trustedCertificates, "the certificate of PostgreSQL cannot be verified: \(error)",
                "the file \(settings.trustedCertificates) must hold the authority that signed it, the certificate must "
                    + "name the host of the URL, and the server must have ssl = on")
        case (.refused, _): self.init(refusal: error, settings)
        case (_, .missingRight): self.init(missingRight: error, settings)
        case (_, .readOnly): self.init(readOnly: error)
        case (.connection, _) where Self.refusesSettings(error):
            self.init(
                .pooler, "a pooler is between this machine and PostgreSQL: \(error)",
                "set state.postgres.pooler to true, and the time limits at the role")
        case (.connection, _), (.deadline, _), (_, .unavailable):
            self.init(
                .unreachable, "no server responds: \(error)",
                "make sure that PostgreSQL runs at the hosts and ports of the URL, and takes connections from here")
        default: self.init(.other, "the database cannot be used: \(error)", "see the log of PostgreSQL")
        }
    }

    private init(refusal error: PostgresError, _ settings: PostgresSettings) {
        let (role, database) = (settings.user, settings.database)
        switch error.sqlState {
        case "28P01":
            self.init(
                .refused, at: .password, "the server refuses the password of the role \(role): \(error)",
                "set the role's password to that of the settings: ALTER ROLE \(role) PASSWORD '…'")
        case "3D000":
            self.init(
                .noDatabase, "there is no database \(database): \(error)",
                "make it: CREATE DATABASE \(database) OWNER \(role)")
        case "42501":
            self.init(
                .missingRight, "the role \(role) may not use the database \(database): \(error)",
                "let it: GRANT CONNECT ON DATABASE \(database) TO \(role)")
        default:
            self.init(
                .refused, "the server refuses the role \(role): \(error)",
                "make the role (CREATE ROLE \(role) LOGIN PASSWORD '…'), and let it in by pg_hba.conf")
        }
    }

    private init(readOnly error: PostgresError) {
        self.init(
            .readOnly, "the servers take no writes: \(error)",
            "name the primary in the URL, and set default_transaction_read_only to off")
    }

    private init(missingRight error: PostgresError, _ settings: PostgresSettings) {
        self.init(
            .missingRight, "the role \(settings.user) lacks a right: \(error)", Self.advice(settings))
    }

    /// Whether the error is pgbouncer's refusal of startup parameters.
    private static func refusesSettings(_ error: PostgresError) -> Bool {
        error.sqlState.hasSameBytes(as: "08P01") && error.message.contains("unsupported startup parameter")
    }

    // MARK: Findings

    static func serverTooOld(_ version: Int) -> PostgresStartError {
        PostgresStartError(
            .serverTooOld, "PostgreSQL \(version / 10_000) is too old",
            "use version \(PostgresInspection.oldestServer / 10_000) or later")
    }

    static func encoding(_ name: String, _ settings: PostgresSettings) -> PostgresStartError {
        let (role, database) = (settings.user, settings.database)
        return PostgresStartError(
            .encoding, "the database \(database) has the encoding \(name), which lacks characters that names have",
            "make one that has all: CREATE DATABASE \(database) OWNER \(role) ENCODING 'UTF8' TEMPLATE template0")
    }

    static func missingRights(on tables: [String], _ settings: PostgresSettings) -> PostgresStartError {
        PostgresStartError(
            .missingRight, "the role \(settings.user) may not read or write \(tables.joined(separator: ", "))",
            "let it: GRANT SELECT, INSERT, UPDATE, DELETE ON \(tables.joined(separator: ", ")) TO \(settings.user)")
    }

    static func mayNotMakeTables(_ settings: PostgresSettings) -> PostgresStartError {
        PostgresStartError(
            .missingRight, "the role \(settings.user) may not make tables in \(settings.database)", advice(settings))
    }

    private static func advice(_ settings: PostgresSettings) -> String {
        "make it the owner of the database (ALTER DATABASE \(settings.database) OWNER TO \(settings.user)), or let it "
            + "make tables in its schema (GRANT CREATE, USAGE ON SCHEMA public TO \(settings.user))"
    }
}
