package import Cryptography

/// How PostgreSQL is reached.
package struct PostgresSettings: Sendable, Equatable {
    /// A server: a name or an address, or the directory of its unix socket.
    package struct Host: Sendable, Hashable {
        package var name: String
        package var port: Int

        package init(_ name: String, port: Int = 5432) {
            self.name = name
            self.port = port
        }

        var isSocket: Bool { name.hasPrefix("/") }

        /// Whether nothing of what is sent leaves the machine.
        var isLocal: Bool {
            isSocket || name == "localhost" || name == "::1" || name.hasPrefix("127.") && name.allSatisfy(Self.isOfIPv4)
        }

        private static func isOfIPv4(_ character: Character) -> Bool { "0123456789.".contains(character) }
    }

    /// Tried in their order; of them the first that takes writes is used.
    package var hosts: [Host]
    package var database: String
    package var user: String
    package var password: Secret?
    /// A file of PEM certificates: those that may have signed the servers'.
    package var trustedCertificates: String
    /// Whether a pooler is in between that takes no settings when a connection is made, as pgbouncer 1.18 does. Then
    /// the time limits must be the role's: `ALTER ROLE … SET statement_timeout = '2s'`.
    package var hasPooler: Bool
    /// Whether servers on this machine must have TLS and a certificate as well.
    package var verifiesLocalServers = false
    package var timeLimits = PostgresTimeLimits()

    package init(
        hosts: [Host], database: String, user: String, password: Secret?,
        trustedCertificates: String = "/etc/ssl/certs/ca-certificates.crt", hasPooler: Bool = false
    ) {
        self.hosts = hosts
        self.database = database
        self.user = user
        self.password = password
        self.trustedCertificates = trustedCertificates
        self.hasPooler = hasPooler
    }
}

/// How long PostgreSQL and the connections to it may take.
package struct PostgresTimeLimits: Sendable, Equatable {
    /// For a statement in the server.
    package var statement = Duration.seconds(2)
    /// For the wait for a row that others have locked.
    package var lock = Duration.seconds(1)
    /// For a statement as its caller sees it, with the wait for a connection; also for a connection to be made.
    package var response = Duration.seconds(3)
    /// For the wait for a connection while the server is away.
    package var whileAway = Duration.milliseconds(250)
    /// The most bytes that a response may have.
    package var responseSize = 16 << 20

    package init() {}
}

extension PostgresSettings {
    /// The settings of one connection, by libpq's names.
    ///
    /// - Parameter address: of the host; nil for a unix socket.
    func parameters(_ host: Host, address: String?) -> [(name: String, value: String)] {
        var parameters = [
            (name: "host", value: host.name), ("port", String(host.port)), ("dbname", database), ("user", user),
            ("target_session_attrs", "read-write"), ("client_encoding", "UTF8"), ("application_name", "gatehouse"),
            // A server that is gone is noticed within 5 + 3 · 2 seconds when nothing is sent, and within 3 otherwise.
            ("keepalives", "1"), ("keepalives_idle", "5"), ("keepalives_interval", "2"), ("keepalives_count", "3"),
            ("tcp_user_timeout", "3000"),
            ("sslmode", sslMode(of: host)), ("sslrootcert", trustedCertificates),
            // Nothing of the process's home directory, and nothing that blocks: libpq asks for Kerberos by itself.
            ("gssencmode", "disable"), ("passfile", "/nonexistent/pgpass"), ("sslcert", "/nonexistent/certificate"),
        ]
        if let address { parameters.append(("hostaddr", address)) }
        if let password { parameters.append(("password", password.exposeText())) }
        if !hasPooler {
            let limits =
                "-c statement_timeout=\(timeLimits.statement.milliseconds)"
                + " -c lock_timeout=\(timeLimits.lock.milliseconds)"
                + " -c idle_in_transaction_session_timeout=\(timeLimits.response.milliseconds)"
            parameters.append(("options", limits + Self.defaults))
        }
        return parameters
    }
}

extension PostgresSettings {
    /// Those of PostgreSQL itself, by which statements are written and values are read. An operator may have set others
    /// for a server, a database or a role.
    private static let defaults = [
        "default_transaction_isolation=read\\ committed", "bytea_output=hex", "array_nulls=on",
        "standard_conforming_strings=on",
    ].map { " -c \($0)" }.joined()

    private func sslMode(of host: Host) -> String {
        if host.isSocket { return "disable" }
        return host.isLocal && !verifiesLocalServers ? "allow" : "verify-full"
    }
}

extension Duration {
    var milliseconds: Int64 { components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 }
}
