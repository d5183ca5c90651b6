package import Cryptography

/// The parameters for connecting to PostgreSQL.
package struct PostgresSettings: Sendable, Equatable {
    /// A server: a name or an address, or the directory of its Unix domain socket.
    package struct Host: Sendable, Hashable {
        package var name: String
        package var port: Int

        package init(_ name: String, port: Int = 5432) {
            self.name = name
            self.port = port
        }

        var isSocket: Bool { name.hasPrefix("/") }

        /// Whether the connection stays on this machine.
        var isLocal: Bool {
            isSocket || name == "localhost" || name == "::1" || name.hasPrefix("127.") && name.allSatisfy(Self.isOfIPv4)
        }

        private static func isOfIPv4(_ character: Character) -> Bool { "0123456789.".contains(character) }
    }

    /// The servers, tried in order; the first one that accepts writes is used.
    package var hosts: [Host]
    package var database: String
    package var user: String
    package var password: Secret?
    /// A file of PEM certificates: the authorities trusted to sign the servers' certificates.
    package var trustedCertificates: String
    /// Whether a pooler rejects startup parameters, as pgbouncer 1.18 does. The time limits must then be set for the
    /// role: `ALTER ROLE … SET statement_timeout = '2s'`.
    package var hasPooler: Bool
    /// Whether TLS and a valid certificate are required of servers on this machine too.
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

/// The time and size limits of statements and connections.
package struct PostgresTimeLimits: Sendable, Equatable {
    /// For a statement in the server.
    package var statement = Duration.seconds(2)
    /// For the wait for a row lock.
    package var lock = Duration.seconds(1)
    /// For a statement as seen by the caller, including the wait for a connection; also for establishing a connection.
    package var response = Duration.seconds(3)
    /// For the wait for a connection while the server is unreachable.
    package var whileAway = Duration.milliseconds(250)
    /// The maximum size of a response in bytes.
    package var responseSize = 16 << 20

    package init() {}
}

extension PostgresSettings {
    /// The parameters of one connection, by libpq's names.
    ///
    /// - Parameter address: the host's address; nil for a Unix domain socket.
    func parameters(_ host: Host, address: String?) -> [(name: String, value: String)] {
        var parameters = [
            (name: "host", value: host.name), ("port", String(host.port)), ("dbname", database), ("user", user),
            ("target_session_attrs", "read-write"), ("client_encoding", "UTF8"), ("application_name", "gatehouse"),
            // A server that is gone is detected within 5 + 3 · 2 seconds when nothing is sent, and within 3 otherwise.
            ("keepalives", "1"), ("keepalives_idle", "5"), ("keepalives_interval", "2"), ("keepalives_count", "3"),
            ("tcp_user_timeout", "3000"),
            ("sslmode", sslMode(of: host)), ("sslrootcert", trustedCertificates),
            // Uses no files of the home directory, and nothing that blocks: libpq tries Kerberos by default.
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
    /// PostgreSQL's own defaults, which the statements and the parsing of values assume. An operator may have set
    /// others for a server, a database or a role.
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
