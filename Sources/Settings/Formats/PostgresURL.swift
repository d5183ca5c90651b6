internal import Encoding
package import Postgres
internal import SettingsReader

/// The servers, database and role of a `postgresql://` URL (PostgreSQL, 34.1.1.2 Connection URIs). Other parameters are
/// rejected: the gateway sets them itself or has a key for them.
package struct PostgresURL: Sendable, Equatable {
    /// In the order of connection attempts; at least one.
    package let hosts: [PostgresSettings.Host]
    package let database: String
    package let user: String
}

extension ScalarFormat where Value == PostgresURL {
    /// `postgresql://user@host:port,host:port/database`.
    static var postgresURL: Self {
        let schema = ScalarSchema(
            .pattern("^postgres(ql)?://"), "A URL such as postgresql://gatehouse@db.example.com/gatehouse.")
        return Self(schema: schema) { (text) throws(ScalarRefusal) in try parse(text) }
    }

    private static func parse(_ text: String) throws(ScalarRefusal) -> PostgresURL {
        let example = "must be a URL like postgresql://gatehouse@db.example.com:5432/gatehouse"
        guard let scheme = ["postgresql://", "postgres://"].first(where: text.hasPrefix) else {
            throw ScalarRefusal(example)
        }
        guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { throw ScalarRefusal(example) }
        let rest = text.dropFirst(scheme.count)
        guard !rest.contains("?"), !rest.contains("#") else {
            throw ScalarRefusal("must have no parameters: TLS, time limits and retries are the gateway's own")
        }
        let parts = rest.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        let authority = parts[0].split(separator: "@", omittingEmptySubsequences: false)
        guard authority.count <= 2 else { throw ScalarRefusal(example) }
        guard authority.count == 2, let user = decoded(authority[0]) else {
            throw ScalarRefusal("must name the role that the gateway signs in as: postgresql://ROLE@…")
        }
        guard !authority[0].contains(":") else {
            throw ScalarRefusal("must not hold a password: that is the key password")
        }
        guard parts.count == 2, !parts[1].contains("/"), let database = decoded(parts[1]) else {
            throw ScalarRefusal("must name the database: …/gatehouse")
        }
        var hosts: [PostgresSettings.Host] = []
        for part in authority[1].split(separator: ",", omittingEmptySubsequences: false) {
            guard let host = host(part) else {
                throw ScalarRefusal(
                    "must name hosts like db.example.com:5432, or the percent-encoded directory of a socket")
            }
            hosts.append(host)
        }
        return PostgresURL(hosts: hosts, database: database, user: user)
    }

    private static func host(_ text: Substring) -> PostgresSettings.Host? {
        if text.lowercased().hasPrefix("%2f") {
            let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard let directory = decoded(parts[0]) else { return nil }
            guard parts.count == 2 else { return PostgresSettings.Host(directory) }
            guard let port = HostAndPort(address: "localhost:\(parts[1])")?.port, port != 0 else { return nil }
            return PostgresSettings.Host(directory, port: port)
        }
        guard let (name, port) = HostAndPort.split(text), port != 0 else { return nil }
        return PostgresSettings.Host(name, port: port ?? 5432)
    }

    /// The decoded text; nil if it is empty, malformed, not UTF-8 or has control characters.
    private static func decoded(_ text: Substring) -> String? {
        guard let decoded = PercentEncoding.decode(text), !decoded.isEmpty,
            decoded.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
        else { return nil }
        return decoded
    }
}
