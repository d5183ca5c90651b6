internal import Encoding

/// Why PostgreSQL gave no result. The text is for an operator's log: it holds no parameter of a statement, no value of
/// a row and no password.
package struct PostgresError: Error, Equatable, CustomStringConvertible {
    package enum Kind: Sendable, Equatable {
        /// libpq is not installed, or too old.
        case libraryMissing
        /// No server could be reached, or the connection was lost, also within TLS. A statement that was sent may have been carried out.
        case connection
        /// A server refuses the user, the password or the database.
        case refused
        /// The server's certificate cannot be verified, or it has no TLS.
        case tls
        /// The caller's deadline has passed. A statement that was sent may have been carried out.
        case deadline
        /// The caller's task was cancelled. A statement that was sent may have been carried out.
        case cancelled
        /// Too many wait for a connection already.
        case tooManyWaiting
        /// The response is larger than is taken.
        case tooLarge
        /// The server responds with an error to a statement.
        case statement
        /// The connection or the pool was closed, or is used by someone else at the same time.
        case unusable
        /// A value or a column has a type that is not supported.
        case type
    }

    /// An error of the server by what its caller can do, from the SQLSTATE (PostgreSQL, appendix A).
    package enum Condition: Sendable, Equatable {
        /// 25006: the server takes no writes, as a standby or a former primary.
        case readOnly
        /// 08, 53, 57P and 58: the server cannot work now. The same may succeed later, or on another connection.
        case unavailable
        /// 40: others have written at the same time. The transaction can be repeated.
        case conflict
        /// 55P03, and 57014 by `statement_timeout`.
        case timeLimit
        /// 23505.
        case uniqueViolation
        /// 42501.
        case missingRight
        case other
    }

    package let kind: Kind
    package let message: String
    /// Five characters, where a server gave them.
    package let sqlState: String?
    /// The constraint that a row violates.
    package let constraint: String?

    init(_ kind: Kind, _ message: String, sqlState: String? = nil, constraint: String? = nil) {
        self.kind = kind
        self.message = message
        self.sqlState = sqlState
        self.constraint = constraint
    }

    /// Nil where no server has said anything.
    package var condition: Condition? {
        guard let state = sqlState else { return nil }
        switch state {
        case "25006": return .readOnly
        case "55P03", "57014": return .timeLimit
        case "23505": return .uniqueViolation
        case "42501": return .missingRight
        default: break
        }
        if state.hasPrefix("40") { return .conflict }
        let unavailable = ["08", "53", "57P", "58"].contains { state.hasPrefix($0) }
        return unavailable ? .unavailable : .other
    }

    package var description: String { sqlState.map { "\(message) (SQLSTATE \($0))" } ?? message }
}

extension PostgresError {
    static let cancelled = PostgresError(.cancelled, "the call was cancelled")
    static let deadline = PostgresError(.deadline, "PostgreSQL did not respond in time")
    static let closed = PostgresError(.unusable, "the connection is closed")

    /// libpq's words for what somebody must correct; all other errors of TLS may be gone with the next connection. No
    /// name of a host holds a space.
    private static let certificateFaults = [
        "certificate verify failed", "server certificate", "root certificate file", "server does not support SSL",
    ]

    /// libpq's words for a server that takes no writes. It goes by the server's settings and closes the connection
    /// itself, so that there is no SQLSTATE; a write would have been refused with 25006.
    private static let readOnlyServers = ["session is read-only", "server is in hot standby mode"]

    /// - Parameter text: libpq's, of a connection that could not be made, with all details.
    init(ofConnecting text: String) {
        // "connection to server at … failed: FATAL:  28P01: password authentication failed …", and lines of where in
        // the server's source that is.
        let line = String(text.split(separator: "\n").first ?? "no reason is given")
        guard let found = Self.sqlState(in: line) else {
            let isFaulty = Self.certificateFaults.contains { line.holds($0) }
            let isReadOnly = Self.readOnlyServers.contains { line.holds($0) }
            self.init(isFaulty ? .tls : .connection, line, sqlState: isReadOnly ? "25006" : nil)
            return
        }
        let isRefusal = ["28", "3D", "42"].contains { found.state.hasPrefix($0) }
        self.init(isRefusal ? .refused : .connection, found.rest, sqlState: found.state)
    }

    /// The SQLSTATE behind the first severity, which it follows after two spaces, and the text without it.
    private static func sqlState(in line: String) -> (state: String, rest: String)? {
        let bytes = Array(line.utf8)
        for start in bytes.indices where bytes[start...].starts(with: ":  ".utf8) {
            let state = bytes[(start + 3)...].prefix(5)
            let isState = state.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) }
            guard state.count == 5, isState, bytes[(start + 8)...].starts(with: ": ".utf8) else { continue }
            let rest = bytes[..<start] + ": ".utf8 + bytes[(start + 10)...]
            return (String(decoding: state, as: UTF8.self), String(decoding: rest, as: UTF8.self))
        }
        return nil
    }
}
