internal import Encoding

/// The reason why PostgreSQL returned no result. The text is for an operator's log: it contains no parameter of a
/// statement, no value of a row and no password.
package struct PostgresError: Error, Equatable, CustomStringConvertible {
    package enum Kind: Sendable, Equatable {
        /// libpq is not installed, or too old.
        case libraryMissing
        /// No server could be reached, or the connection was lost, also within TLS. A statement that was sent may have
        /// been executed.
        case connection
        /// A server refuses the user, the password or the database.
        case refused
        /// The server's certificate cannot be verified, or the server does not support TLS.
        case tls
        /// The caller's deadline has passed. A statement that was sent may have been executed.
        case deadline
        /// The caller's task was cancelled. A statement that was sent may have been executed.
        case cancelled
        /// Too many callers already wait for a connection.
        case tooManyWaiting
        /// The response exceeds the size limit.
        case tooLarge
        /// The server returned an error for a statement.
        case statement
        /// The connection or the pool is closed, or another statement is running on the connection.
        case unusable
        /// The type of a value or a column is not supported.
        case type
    }

    /// A server error, classified by what the caller can do, from the SQLSTATE (PostgreSQL, appendix A).
    package enum Condition: Sendable, Equatable {
        /// 25006: the server accepts no writes, as a standby or a former primary.
        case readOnly
        /// 08, 53, 57P and 58: the server cannot work now. The statement may succeed later, or on another connection.
        case unavailable
        /// 40: a conflict with concurrent writes. The transaction can be repeated.
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
    /// Five characters; nil if the server sent none.
    package let sqlState: String?
    /// The constraint that a row violates.
    package let constraint: String?

    init(_ kind: Kind, _ message: String, sqlState: String? = nil, constraint: String? = nil) {
        self.kind = kind
        self.message = message
        self.sqlState = sqlState
        self.constraint = constraint
    }

    /// The class of the error; nil if it is not from a server.
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

    /// Substrings of libpq's messages about errors that need a correction; other TLS errors may disappear with the next
    /// connection. Host names cannot match, since they contain no spaces.
    private static let certificateFaults = [
        "certificate verify failed", "server certificate", "root certificate file", "server does not support SSL",
    ]

    /// Substrings of libpq's messages about a server that accepts no writes. libpq detects this by the server's
    /// parameters and closes the connection itself, so there is no SQLSTATE; a write would have been refused with
    /// 25006.
    private static let readOnlyServers = ["session is read-only", "server is in hot standby mode"]

    /// - Parameter text: libpq's message about a failed connection, with all details.
    init(ofConnecting text: String) {
        // "connection to server at … failed: FATAL:  28P01: password authentication failed …", followed by lines with
        // the location in the server's source.
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

    /// The SQLSTATE, which follows the first severity and two spaces, and the text without it.
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
